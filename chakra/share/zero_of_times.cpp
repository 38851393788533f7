#include "chakra/share/zero_of_times.h"

#include <algorithm>
#include <string_view>

#include "chakra/trace/starts.h"

namespace chakra::share {

namespace {

constexpr int64_t kDayNs = 86'400'000'000'000;

/// The start of the first node with a start; 0 for a rank without times.
Result<int64_t> start_of(const io::RankFile& file) {
  CHAKRA_ASSIGN(const io::RecordSourcePtr source, io::open_records(file));
  std::string_view message;
  io::NodeRecord node;
  CHAKRA_ASSIGN(bool more, source->next(message));  // the metadata
  while (more) {
    CHAKRA_ASSIGN(more, source->next(message));
    if (!more) break;
    CHAKRA_TRY(io::decode(message, node));
    int64_t start_ns = 0;
    for (const io::AttrRecord& attr : node.attrs)
      if (attr.name == "ts_ns") (void)attr.as_integer(start_ns);
    if (start_ns == 0 && node.start_micros < INT64_MAX / 1000)
      start_ns = static_cast<int64_t>(node.start_micros) * 1000;
    if (start_ns != 0) return start_ns;
  }
  return 0;
}

/// A day before a start of the job: starts of a job lie near together.
int64_t zero_before(int64_t start_ns) { return std::max<int64_t>(0, start_ns - kDayNs); }

}  // namespace

int64_t zero_of(const trace::Trace& trace) {
  for (const trace::NodeId n : trace.nodes())
    if (trace.has_start(n)) return zero_before(trace.base_ns + trace.start_ps[n] / kPsPerNs);
  return 0;
}

Result<int64_t> ZeroOfTimes::operator()(const trace::Trace& trace) {
  if (trace.base_ns == 0 && !trace::has_starts(trace)) return 0;
  const std::lock_guard lock(mutex_);
  for (; zero_ns_ == 0 && next_ < files_.size(); ++next_) {
    CHAKRA_ASSIGN(const int64_t start_ns, start_of(files_[next_]));
    zero_ns_ = zero_before(start_ns);
  }
  return zero_ns_;
}

}  // namespace chakra::share
