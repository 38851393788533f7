#include "chakra/recording/broken_times.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace chakra::recording {
namespace {

// ---- records without a time
// ------------------------------------------------------------------------------------------

/// The rest of a recording must be at least this far from time 0, and farther than it is long: a recording may begin at
/// 0, and a program may pause.
constexpr int64_t kApartNs = 10'000'000;

struct Window {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  bool empty() const { return begin > end; }
  /// Whether a time is so far from the window that it can't be one of this recording.
  bool is_apart(int64_t time) const {
    const __int128 length = __int128{end} - begin;
    const __int128 distance = time < begin ? __int128{begin} - time : __int128{time} - end;
    return !empty() && distance > std::max<__int128>(kApartNs, length);
  }
};

class TimeCheck {
 public:
  explicit TimeCheck(Profile& profile) : p_(profile) {}

  void run() {
    extend(p_.ops);
    extend(p_.calls);
    extend(p_.device_ops);
    if (!any_) return;
    // A device operation takes time: one of no length at time 0 was never filled, wherever the others are.
    remove(p_.ops, p_.no_time.host, [](const CpuOp&) { return false; });
    remove(p_.calls, p_.no_time.host, [](const RuntimeCall&) { return false; });
    remove(p_.device_ops, p_.no_time.device, [](const DeviceOp& op) { return op.dur_ns == 0; });
  }

 private:
  /// 0 as the file has it, or 0 from which the base was subtracted.
  bool at_zero(const Record& record) const {
    int64_t absolute = 0;
    return record.start_ns == 0 || (!__builtin_add_overflow(record.start_ns, p_.base_ns, &absolute) && absolute == 0);
  }

  template <class Records>
  void extend(const Records& records) {
    for (const Record& record : records) {
      if (at_zero(record)) {
        any_ = true;
        continue;
      }
      window_.begin = std::min(window_.begin, record.start_ns);
      window_.end = std::max(window_.end, record.end_ns());
    }
  }

  template <class Records, class Always>
  void remove(Records& records, int64_t& count, const Always& always) {
    std::erase_if(records, [&](const auto& record) {
      if (!at_zero(record) || !(always(record) || window_.is_apart(record.start_ns))) return false;
      if (p_.no_time.host + p_.no_time.device == 0) p_.no_time.name = record.name, p_.no_time.byte = record.byte;
      ++count;
      return true;
    });
  }

  Profile& p_;
  Window window_;  ///< of the records that have a time
  bool any_ = false;
};

// ---- operations that outlast their successors
// -------------------------------------------------------------------------

/// Kernels overlap by up to about 30 us where one announces its end (programmatic dependent launch).
constexpr int64_t kOverrunNs = 50'000;

/// What follows in a stream, seen from its end.
struct Followers {
  /// The earliest end, the call that launched that operation, and the earliest end of operations of all other calls.
  int64_t end = std::numeric_limits<int64_t>::max(), call = -1;
  int64_t other_end = std::numeric_limits<int64_t>::max();

  /// Operations without a call share none with any other.
  void add(const DeviceOp& op) {
    if (op.correlation >= 0 && op.correlation == call) {
      end = std::min(end, op.end_ns());
    } else if (op.end_ns() < end) {
      other_end = std::exchange(end, op.end_ns());
      call = op.correlation;
    } else {
      other_end = std::min(other_end, op.end_ns());
    }
  }
  int64_t earliest_end_beside(const DeviceOp& op) const {
    return op.correlation >= 0 && op.correlation == call ? other_end : end;
  }
};

/// Whether an operation of a stream ends where one that was waiting begins: then its end is right, whatever ran inside
/// it.
bool ends_where_next_begins(const Profile& p, const std::vector<uint32_t>& stream, size_t at) {
  constexpr int64_t kRoundingNs = 500, kGapNs = 10'000;
  const int64_t end = p.device_ops[stream[at]].end_ns();
  const auto next = std::partition_point(stream.begin() + static_cast<ptrdiff_t>(at), stream.end(),
                                         [&](uint32_t op) { return p.device_ops[op].start_ns < end - kRoundingNs; });
  if (next == stream.end() || p.device_ops[*next].start_ns > add_saturated(end, kGapNs)) return false;
  const uint32_t before = *std::prev(next);
  return before == stream[at] || p.device_ops[before].end_ns() <= add_saturated(end, kRoundingNs);
}

void clip_stream(Profile& p, const std::vector<uint32_t>& stream) {
  Followers followers;
  int64_t next_start = std::numeric_limits<int64_t>::max();  // of another call than the operation after this one
  int64_t next_call = -1, after_start = next_start;
  for (size_t i = stream.size(); i-- > 0;) {
    DeviceOp& op = p.device_ops[stream[i]];
    const bool same_call = op.correlation >= 0 && op.correlation == next_call;
    const int64_t limit = same_call ? after_start : next_start;
    const int64_t first_end = followers.earliest_end_beside(op);
    if (limit < op.end_ns() && op.end_ns() > add_saturated(first_end, kOverrunNs) &&
        !ends_where_next_begins(p, stream, i)) {
      Profile::Overrun& o = p.overruns;
      if (o.count++ == 0 || op.dur_ns > o.dur_ns)
        o.name = op.name, o.lane = op.lane, o.byte = op.byte, o.dur_ns = op.dur_ns, o.clipped_ns = limit - op.start_ns;
      op.dur_ns = limit - op.start_ns;
    }
    if (!same_call) after_start = next_start;
    next_start = op.start_ns;
    next_call = op.correlation;
    followers.add(op);
  }
}

}  // namespace

void remove_without_time(Profile& profile) { TimeCheck(profile).run(); }

void clip_overruns(Profile& profile) {
  const std::vector<DeviceOp>& ops = profile.device_ops;
  std::vector<std::vector<uint32_t>> streams(profile.streams.size());
  for (uint32_t i = 0; i < ops.size(); ++i) streams[ops[i].lane].push_back(i);
  const auto before = [&](uint32_t a, uint32_t b) {  // where starts tie, the shorter came first
    return std::pair(ops[a].start_ns, ops[a].dur_ns) < std::pair(ops[b].start_ns, ops[b].dur_ns);
  };
  for (std::vector<uint32_t>& stream : streams) {
    if (!std::is_sorted(stream.begin(), stream.end(), before)) std::stable_sort(stream.begin(), stream.end(), before);
    clip_stream(profile, stream);
  }
}

}  // namespace chakra::recording
