#include "chakra/recorded/job_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/recorded/transfers.h"
#include "chakra/trace/starts.h"

namespace chakra::recorded {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr double kJobErrorToName = 0.01;

Picoseconds measured_end(const Trace& t, NodeId n) { return add_saturated(t.start_ps[n], t.dur_ps[n]); }

template <class List>
auto worst(const List& list, TransferKind kind) {
  decltype(list.data()) found = nullptr;
  for (const auto& item : list)
    if (item.times.has(kind) && item.times.measured_ps > 0 &&
        (!found || std::abs(item.times.error(kind)) > std::abs(found->times.error(kind))))
      found = &item;
  return found;
}

}  // namespace

double Compared::error(TransferKind kind) const {
  return measured_ps == 0 ? 0 : static_cast<double>(run(kind)) / static_cast<double>(measured_ps) - 1;
}

bool JobReplay::possible(const trace::TraceSet& job) {
  return !job.ranks.empty() && std::all_of(job.ranks.begin(), job.ranks.end(), [](const Trace& t) {
    return sim::has_recorded_start(t) && trace::has_starts(t);
  });
}

Result<JobReplay> JobReplay::measure(const trace::TraceSet& job) {
  JobReplay out;
  Picoseconds first = INT64_MAX, last = INT64_MIN;
  for (const Trace& t : job.ranks) {
    CHAKRA_ASSIGN(const JobClock clock, JobClock::of(t));
    Picoseconds begin = INT64_MAX, end = 0;
    for (const NodeId n : t.nodes()) {
      if (!t.has_start(n)) continue;
      begin = std::min(begin, t.start_ps[n]);
      end = std::max(end, measured_end(t, n));
    }
    first = std::min(first, clock.at(begin));
    last = std::max(last, clock.at(end));
    Rank& rank = out.ranks_.emplace_back();
    rank.rank = t.rank;
    rank.times.measured_ps = end - begin;
    const analyze::Steps& steps = out.steps_.emplace_back(analyze::find_steps(t));
    const std::vector<analyze::StepSpan> spans = analyze::step_spans(
        steps, [&](NodeId n) { return t.start_ps[n]; }, [&](NodeId n) { return measured_end(t, n); });
    for (size_t s = 0; s < spans.size(); ++s) rank.steps.push_back({steps.names[s], {spans[s].length(), {-1, -1}}});
  }
  out.job_.measured_ps = last - first;
  return out;
}

void JobReplay::add(TransferKind kind, const sim::SimReport& report) {
  const auto at = static_cast<size_t>(kind);
  job_.run_ps[at] = report.makespan_ps;
  for (const sim::RankReport& r : report.ranks) {
    const auto rank = std::lower_bound(ranks_.begin(), ranks_.end(), r.rank,
                                       [](const Rank& known, int64_t number) { return known.rank < number; });
    if (rank == ranks_.end() || rank->rank != r.rank || r.actor >= report.times.size()) continue;
    const sim::NodeTimes& times = report.times[r.actor];
    const analyze::Steps& steps = steps_[static_cast<size_t>(rank - ranks_.begin())];
    if (times.start.size() != steps.of.size() || times.start.empty()) continue;
    rank->times.run_ps[at] = r.finish_ps - *std::min_element(times.start.begin(), times.start.end());
    const std::vector<analyze::StepSpan> spans = analyze::step_spans(
        steps, [&](NodeId n) { return times.start[n]; }, [&](NodeId n) { return times.end[n]; });
    for (size_t s = 0; s < spans.size(); ++s) rank->steps[s].times.run_ps[at] = spans[s].length();
  }
}

const JobReplay::Rank* JobReplay::worst_rank(TransferKind kind) const { return worst(ranks_, kind); }

const JobReplay::Step* JobReplay::worst_step(TransferKind kind) const {
  const Step* found = nullptr;
  for (const Rank& rank : ranks_)
    if (const Step* step = worst(rank.steps, kind);
        step && (!found || std::abs(step->times.error(kind)) > std::abs(found->times.error(kind))))
      found = step;
  return found;
}

Findings JobReplay::findings() const {
  if (!job_.has(TransferKind::recorded) || std::abs(job_.error(TransferKind::recorded)) <= kJobErrorToName) return {};
  return {{"sim.job.error", Severity::warning, -1, -1,
           fmt::format("with recorded transfers the job takes {}, but {} were measured: the graph has an error of "
                       "{:+.2f} %, which also affects predictions from the graph",
                       show_time(job_.run(TransferKind::recorded)), show_time(job_.measured_ps),
                       100 * job_.error(TransferKind::recorded))}};
}

Result<void> replay_recorded(sim::SimInput input, JobReplay& replay, Findings& findings) {
  if (const int64_t lost = comms_without_duration(input.job); lost > 0) {
    findings.push_back({"comm.no_kernel", Severity::warning, -1, -1,
                        fmt::format("{} communications have no recorded duration, because their kernels are missing: "
                                    "the job is not compared with its measurement",
                                    show_count(lost))});
    return {};
  }
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  CHAKRA_ASSIGN(sim::Transfers transfers, recorded_transfers(input.job, *input.matching));
  if (transfers.unknown > 0)
    findings.push_back({"sim.transfer.unknown", Severity::warning, -1, -1,
                        fmt::format("{} of {} collectives and messages have no measured times of all members: with "
                                    "recorded transfers they take no time",
                                    show_count(transfers.unknown), show_count(transfers.known + transfers.unknown))});
  for (size_t r = 0; r < transfers.rows.size(); ++r)
    for (const NodeId n : input.job.ranks[r].nodes())
      if (trace::is_comm(input.job.ranks[r].type[n]))
        if (sim::Transfers::Row& row = transfers.rows[r][input.job.ranks[r].comm_row[n]]; !row.known())
          row = {0, input.job.ranks[r].type[n] == trace::NodeType::send ? 0 : -1, -1, 1};
  input.transfers = std::move(transfers);
  input.system = {};
  input.align_starts = input.timeline = input.fold = input.partial = false;
  input.congestion = sim::Congestion::closed;
  input.node_times = true;
  CHAKRA_ASSIGN(const sim::SimReport report, sim::simulate(std::move(input)));
  replay.add(TransferKind::recorded, report);
  return {};
}

Result<std::optional<Picoseconds>> measured_time(const trace::TraceSet& job) {
  if (recorded::JobReplay::possible(job)) {
    CHAKRA_ASSIGN(const recorded::JobReplay replay, recorded::JobReplay::measure(job));
    return std::optional(replay.job().measured_ps);
  }
  if (job.ranks.size() != 1) return std::optional<Picoseconds>();
  const auto replay = analyze::self_replay(job.ranks.front());
  return replay ? std::optional(replay->measured_ps) : std::nullopt;
}

}  // namespace chakra::recorded
