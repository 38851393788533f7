#include "chakra/sim/recorded.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "chakra/base/times.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/metadata.h"

namespace chakra::sim {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr std::string_view kStart = "rank_start_ns", kDrift = "clock_drift_ppb";
constexpr int64_t kMostStartNs = kLongestPs / kPsPerNs;
constexpr int64_t kMostDriftPpb = 100'000'000;
constexpr size_t kUnknownRanksNamed = 6;

/// An attribute of the metadata; nothing where there is none of that name.
Result<std::optional<int64_t>> number(const Trace& t, std::string_view name, int64_t most) {
  const auto attr = trace::metadata(t, name);
  if (!attr) return std::optional<int64_t>();
  const auto value = attr->integer();
  if (!value || *value > most || *value < -most)
    return fail(Code::bad_input, "sim.start",
                fmt::format("{} of rank {} is not a whole number from {} to {}", name, t.rank, -most, most), {t.file});
  return value;
}

void put_number(Trace& t, std::string_view name, int64_t value) {
  const StringId id = t.strings.intern(name);
  const auto known =
      std::find_if(t.metadata.begin(), t.metadata.end(), [&](const trace::Attr& attr) { return attr.name == id; });
  if (known != t.metadata.end()) known->value = value;
  else t.metadata.push_back({id, value});
}

/// Neither measured nor given, as communication whose kernel was not recorded.
bool is_without_duration(const Trace& t, NodeId n) {
  return t.comm_row[n] != trace::kNoRow && (t.flags[n] & (trace::kHasStart | trace::kHasDuration)) == 0;
}

/// When communication began and ended, by its rank's clock. Its pieces belong to it: `first_start` and `last_end` are
/// those of all of it, `end` is when what waits for it could go on.
struct Times {
  bool known = false;
  Picoseconds start = 0, end = 0, first_start = 0, last_end = 0;
};

class TransferReader {
 public:
  TransferReader(const trace::TraceSet& job, const match::Matching& matching) : job_(job), matching_(matching) {}

  Result<Transfers> run() {
    for (const Trace& t : job_.ranks) {
      CHAKRA_ASSIGN(JobClock clock, JobClock::of(t));
      clocks_.push_back(clock);
      spans_.push_back(trace::communication_spans(t));
      out_.rows.emplace_back(t.comms.size());
    }
    for (const match::Collective& c : matching_.collectives) read(c.members, match::waits_for_all(job_, c));
    for (const match::Message& m : matching_.messages) {
      read(std::array{m.send, m.recv}, false);
      if (m.recv.node == trace::kNoNode || row(m.recv).waits()) continue;  // what the clocks say it did
      row(m.recv).own_ps = -1;
      row(m.recv).after_ps = 0;
    }
    return std::move(out_);
  }

 private:
  Times times_of(const match::NodeRef& ref) const {
    const Trace& t = job_.ranks[ref.rank];
    if (t.has_start(ref.node)) {
      const Picoseconds end = add_saturated(t.start_ps[ref.node], t.dur_ps[ref.node]);
      const trace::CommSpan& span = spans_[ref.rank][t.comm_row[ref.node]];
      return {true, t.start_ps[ref.node], end, span.start, span.end};
    }
    if (is_without_duration(t, ref.node)) return {};
    Times times;
    for (uint32_t e = t.deps.begin[ref.node]; e < t.deps.begin[ref.node + 1]; ++e) {
      const NodeId dep = t.deps.node[e];
      if (!t.has_start(dep)) continue;
      const Picoseconds end = add_saturated(add_saturated(t.start_ps[dep], t.dur_ps[dep]), t.deps.lag_of(e));
      const Picoseconds last = std::max(times.end, end);
      times = {true, last, last, last, last};
    }
    return times;
  }
  Times times(const match::NodeRef& ref) const {
    if (ref.node == trace::kNoNode || !clocks_[ref.rank].known()) return {};
    Times times = times_of(ref);
    for (Picoseconds* time : {&times.start, &times.end, &times.first_start, &times.last_end})
      *time = clocks_[ref.rank].at(*time);
    return times;
  }
  Transfers::Row& row(const match::NodeRef& ref) {
    return out_.rows[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]];
  }

  /// The members of a collective, or the ends of a message.
  void read(std::span<const match::NodeRef> members, bool waits) {
    Picoseconds last_start = INT64_MIN, last_first = INT64_MIN, last_end = INT64_MIN;
    bool known = !members.empty();
    read_.clear();
    for (const match::NodeRef& member : members) {
      const Times& t = read_.emplace_back(times(member));
      known &= t.known;
      last_start = std::max(last_start, t.start);
      last_first = std::max(last_first, t.first_start);
      last_end = std::max(last_end, t.last_end);
    }
    ++(known ? out_.known : out_.unknown);
    if (!known) return;
    for (size_t m = 0; m < members.size(); ++m) {
      const Times& t = read_[m];
      const bool in_pieces = t.last_end > t.end;  // a later one may have waited, and takes what it took
      const bool alone = (!waits || in_pieces) && t.end <= last_start;
      row(members[m]) = {std::max<Picoseconds>(0, last_end - last_first), alone ? t.end - t.start : -1,
                         alone ? -1 : std::max<Picoseconds>(0, t.end - last_start), 1};
    }
  }

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  std::vector<JobClock> clocks_;
  std::vector<std::vector<trace::CommSpan>> spans_;
  std::vector<Times> read_;
  Transfers out_;
};

}  // namespace

void Transfers::Row::scale(double factor) {
  for (Picoseconds* time : {&transfer_ps, &own_ps, &after_ps})
    if (*time >= 0) *time = times(*time, factor);
  pieces *= factor;
}

Result<std::optional<RecordedStart>> recorded_start(const Trace& trace) {
  CHAKRA_ASSIGN(const auto start, number(trace, kStart, kMostStartNs));
  CHAKRA_ASSIGN(const auto drift, number(trace, kDrift, kMostDriftPpb));
  if (!start) return std::optional<RecordedStart>();
  return std::optional<RecordedStart>({*start, drift.value_or(0)});
}

void set_recorded_start(Trace& trace, const RecordedStart& start) {
  put_number(trace, kStart, start.start_ns);
  put_number(trace, kDrift, start.drift_ppb);
}

bool has_recorded_start(const Trace& t) {
  return std::any_of(t.metadata.begin(), t.metadata.end(),
                     [&](const trace::Attr& attr) { return t.strings[attr.name] == kStart; });
}
bool has_recorded_starts(const trace::TraceSet& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(), has_recorded_start);
}
bool has_recorded_starts(const trace::ClassJob& job) {
  return std::any_of(job.classes.begin(), job.classes.end(), has_recorded_start);
}

Result<void> begin_as_recorded(SimInput& input, Findings& findings) {
  if (input.align_starts) return {};
  std::vector<std::pair<int64_t, const Trace*>> ranks;
  if (input.classes && has_recorded_starts(*input.classes))
    for (const trace::ClassJob::Rank& r : input.classes->ranks)
      ranks.emplace_back(r.rank, &input.classes->classes[r.cls]);
  else if (!input.classes && has_recorded_starts(input.job))
    for (const Trace& t : input.job.ranks) ranks.emplace_back(t.rank, &t);
  std::vector<std::optional<RecordedStart>> starts;
  int64_t first_ns = INT64_MAX;
  for (const auto& [rank, trace] : ranks) {
    CHAKRA_ASSIGN(std::optional<RecordedStart> start, recorded_start(*trace));
    if (start) first_ns = std::min(first_ns, start->start_ns);
    starts.push_back(start);
  }
  std::string unknown;
  size_t without = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const device::RankTraits& known = input.system.traits(ranks[i].first);
    if (known.start_given) continue;
    if (starts[i]) input.system.unlike[ranks[i].first].start_ps = (starts[i]->start_ns - first_ns) * kPsPerNs;
    else if (++without <= kUnknownRanksNamed)
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", ranks[i].first);
  }
  if (without > 0)
    findings.push_back({"sim.start.unknown", Severity::warning, -1, -1,
                        fmt::format("{} of {} ranks have no recorded start and begin with the first rank: {}{}",
                                    without, ranks.size(), unknown, without > kUnknownRanksNamed ? ", ..." : "")});
  return {};
}

Result<JobClock> JobClock::of(const Trace& t) {
  JobClock clock;
  CHAKRA_ASSIGN(const auto start, recorded_start(t));
  clock.first_ = INT64_MAX;
  for (const NodeId n : t.nodes())
    if (t.has_start(n)) clock.first_ = std::min(clock.first_, t.start_ps[n]);
  if (clock.first_ == INT64_MAX) clock.first_ = 0;
  if (!start) return clock;
  clock.known_ = true;
  clock.start_ = start->start_ns * kPsPerNs;
  clock.rate_ = 1 / (1 + static_cast<double>(start->drift_ppb) * 1e-9);
  return clock;
}

Picoseconds JobClock::at(Picoseconds time) const {
  const Picoseconds passed = time - first_;
  if (rate_ == 1) return add_saturated(start_, passed);
  return add_saturated(start_, static_cast<Picoseconds>(std::llround(static_cast<double>(passed) * rate_)));
}

int64_t comms_without_duration(const trace::TraceSet& job) {
  int64_t count = 0;
  for (const Trace& t : job.ranks)
    if (has_recorded_start(t))
      for (const NodeId n : t.nodes()) count += is_without_duration(t, n);
  return count;
}

Result<Transfers> recorded_transfers(const trace::TraceSet& job, const match::Matching& matching) {
  return TransferReader(job, matching).run();
}

}  // namespace chakra::sim
