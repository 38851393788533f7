#include "chakra/recorded/compare_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "chakra/link/link.h"
#include "chakra/recorded/replays.h"
#include "chakra/sim/sim.h"

namespace chakra::recorded {
namespace {

Span span_of(const trace::Trace& t) {
  Span span;
  for (const trace::NodeId n : t.nodes()) {
    if (!t.has_start(n)) continue;
    span.begin = std::min(span.begin, t.start_ps[n]);
    span.end = std::max(span.end, add_saturated(t.start_ps[n], t.dur_ps[n]));
  }
  return span;
}

/// Which part of the job a rank recorded.
match::RankWindow window_of(const trace::Trace& whole, const trace::Trace& communication, const Span& span) {
  match::RankWindow window;
  window.steps.assign(communication.size(), -1);
  if (span.empty()) return window;
  window.begin_ns = span.begin / kPsPerNs;
  window.end_ns = std::max<int64_t>(0, span.end / kPsPerNs);
  const analyze::Steps steps = analyze::find_steps(whole);
  std::vector<int64_t> numbers;
  for (const std::string& name : steps.names) numbers.push_back(trace::step_number(name).value_or(-1));
  std::unordered_map<uint64_t, int64_t> step_of;
  for (const trace::NodeId n : whole.nodes())
    if (whole.comm(n) && steps.of[n] >= 0) step_of.emplace(whole.id[n], numbers[static_cast<size_t>(steps.of[n])]);
  for (const trace::NodeId n : communication.nodes())
    if (const auto found = step_of.find(communication.id[n]); found != step_of.end()) window.steps[n] = found->second;
  return window;
}

class RankComparison {
 public:
  explicit RankComparison(Findings& findings) : findings_(findings) {}

  ComparedRanks run(std::vector<RankFacts>&& ranks) {
    std::vector<match::RankWindow> windows;
    std::vector<Span> spans;
    compare_iterations(ranks);
    for (RankFacts& rank : ranks) {
      spans.push_back(rank.span);
      windows.push_back(std::move(rank.window));
      out_.communication.ranks.push_back(std::move(rank.communication));
    }
    out_.mismatches = settle(out_.communication, windows).findings;
    put_starts(out_.communication, spans, out_.times, findings_);
    return std::move(out_);
  }

 private:
  // `recorded.iterations` (warning): ranks are linked in different iterations of the job.
  void compare_iterations(const std::vector<RankFacts>& ranks) {
    const auto other = std::find_if(ranks.begin(), ranks.end(),
                                    [&](const RankFacts& r) { return r.iteration != ranks.front().iteration; });
    if (other == ranks.end()) return;
    const auto shown = [](const RankFacts& r) {
      return fmt::format("rank {}: {}", r.communication.rank,
                         r.iteration < 0 ? "all" : fmt::format("iteration {}", r.iteration));
    };
    findings_.push_back(
        {"recorded.iterations", Severity::warning, other->communication.rank, -1,
         fmt::format("the ranks are linked in different iterations ({}; {}), so clocks and waiting are not "
                     "those of one iteration; --iteration N links the same one",
                     shown(ranks.front()), shown(*other))});
  }

  /// Who communicates with whom: groups, windows, clocks, senders. Barriers whose group only times tell need clocks.
  match::Matching settle(trace::TraceSet& communication, const std::vector<match::RankWindow>& windows) {
    match::choose_peers(communication, windows);
    trace::TraceSet settled = communication;
    Findings findings;
    // Without the barriers first: groups of which some barriers are open would seem to have other collectives.
    const bool open = put_barriers_aside(settled);
    match::Matching matching = match_once(settled, windows, findings);
    if (open) {
      name_barriers(communication, settled, windows);
      settled = communication;
      findings.clear();
      matching = match_once(settled, windows, findings);
    }
    if (analyze::find_sources(settled, matching, out_.times, findings) > 0) {
      matching = match::match(settled);
      out_.times = analyze::job_times(settled, matching);
    }
    findings_.insert(findings_.end(), findings.begin(), findings.end());
    communication = std::move(settled);
    return matching;
  }

  /// Names the groups of open barriers by the sequences of their groups, then by times; times may decide where several
  /// ways are left, and fewer ways are left then. The other collectives of `settled` have the groups chosen for them.
  void name_barriers(trace::TraceSet& communication, const trace::TraceSet& settled,
                     const std::vector<match::RankWindow>& windows) const {
    trace::TraceSet named = settled;
    const auto is_barrier = [](const trace::Comm& comm) { return comm.type == trace::CommType::barrier; };
    for (const trace::RankIndex r : named.indices())
      for (size_t row = 0; row < named.ranks[r].comms.size(); ++row)
        if (is_barrier(named.ranks[r].comms[row]))
          named.ranks[r].comms.edit(row).group = communication.ranks[r].comms[row].group;
    for (bool again = true; again;) {
      match::choose_barriers(named, windows, link::kOpenBarrier);
      const auto barriers = analyze::find_barrier_groups(named, out_.times, link::kOpenBarrier);
      for (const analyze::BarrierGroup& barrier : barriers) {
        trace::Trace& t = named.ranks[barrier.rank];
        t.comms.edit(t.comm_row[barrier.node]).group = t.strings.intern(barrier.group);
      }
      again = !barriers.empty();
    }
    for (const trace::RankIndex r : named.indices()) {
      trace::Trace& t = communication.ranks[r];
      for (size_t row = 0; row < t.comms.size(); ++row)
        if (is_barrier(t.comms[row]))
          t.comms.edit(row).group = t.strings.intern(named.ranks[r].strings[named.ranks[r].comms[row].group]);
    }
  }

  /// Whether there are open ones.
  static bool put_barriers_aside(trace::TraceSet& job) {
    const auto is_open = [](const trace::Trace& t) { return t.strings.find(link::kOpenBarrier) != 0; };
    if (std::none_of(job.ranks.begin(), job.ranks.end(), is_open)) return false;
    for (trace::Trace& t : job.ranks) {
      const StringId aside = t.strings.intern(link::kOpenBarrier);
      for (trace::Comm& comm : t.comms.edit())
        if (comm.type == trace::CommType::barrier) comm.group = aside;
    }
    return true;
  }

  match::Matching match_once(trace::TraceSet& job, std::vector<match::RankWindow> windows, Findings& findings) {
    for (Finding& finding : match::choose_groups(job, windows)) findings.push_back(std::move(finding));
    for (match::RankWindow& window : windows) window.open.emplace_back(link::kOpenBarrier);
    for (Finding& finding : match::align_windows(job, windows)) findings.push_back(std::move(finding));
    match::Matching matching = match::match(job);
    out_.times = analyze::job_times(job, matching);
    return matching;
  }

  Findings& findings_;
  ComparedRanks out_;
};

}  // namespace

RankFacts RankFacts::of(const trace::Trace& trace) {
  RankFacts rank;
  rank.span = span_of(trace);
  rank.communication = analyze::communication_of(trace);
  rank.window = window_of(trace, rank.communication, rank.span);
  return rank;
}

ComparedRanks compare_ranks(std::vector<RankFacts> ranks, Findings& findings) {
  return RankComparison(findings).run(std::move(ranks));
}

void complete(const trace::Trace& communication, trace::Trace& whole) {
  match::copy_windows(communication, whole);
  if (const auto start = sim::recorded_start(communication); start && *start) sim::set_recorded_start(whole, **start);
}

}  // namespace chakra::recorded
