#include "chakra/recorded/transfers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "chakra/sim/sim.h"

namespace chakra::recorded {
namespace {

using sim::Transfers;
using trace::NodeId;
using trace::Trace;

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

Result<JobClock> JobClock::of(const Trace& t) {
  JobClock clock;
  CHAKRA_ASSIGN(const auto start, sim::recorded_start(t));
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
    if (sim::has_recorded_start(t))
      for (const NodeId n : t.nodes()) count += is_without_duration(t, n);
  return count;
}

Result<Transfers> recorded_transfers(const trace::TraceSet& job, const match::Matching& matching) {
  return TransferReader(job, matching).run();
}

}  // namespace chakra::recorded
