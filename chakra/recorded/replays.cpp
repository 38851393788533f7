#include "chakra/recorded/replays.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/io/io.h"
#include "chakra/options/options.h"
#include "chakra/recorded/transfers.h"

namespace chakra::recorded {
namespace {

using options::no_effect;

constexpr double kMostDriftPpm = 1e5;

/// The reference of most ranks' clocks; of several that of the lowest rank.
int64_t main_reference(const std::vector<analyze::Clock>& clocks) {
  std::map<int64_t, size_t> count;
  for (const analyze::Clock& c : clocks) ++count[c.reference];
  return std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// What a simulation does not look at goes: tensors, attributes, and texts other than those of communication.
void drop_texts(trace::Trace& t) {
  Arena texts;
  for (trace::Comm& c : t.comms.edit()) {
    c.in_split = texts.add(c.in_split);
    c.out_split = texts.add(c.out_split);
  }
  for (trace::Attr& attr : t.metadata)
    if (const auto text = attr.text()) attr.value = texts.add(*text);
  t.attrs = {};
  t.attr_begin.assign(t.size() + size_t{1}, 0);
  t.ios = {};
  t.io_row.assign(t.size(), trace::kNoRow);
  t.texts = std::move(texts);
  trace::assert_whole(t);
}

Result<void> give_transfers(const RecordingOptions& o, sim::SimInput& input, Findings& findings) {
  constexpr std::string_view kOption = "--transfers recorded";
  if (const int64_t lost = comms_without_duration(input.job); lost > 0)
    return fail(Code::bad_input, "comm.no_kernel",
                fmt::format("{} communications have no recorded duration, because their kernels are missing; without "
                            "{}, the network prices them by size",
                            show_count(lost), kOption),
                {o.path});
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  CHAKRA_ASSIGN(sim::Transfers transfers, recorded_transfers(input.job, *input.matching));
  const int64_t all = transfers.known + transfers.unknown;
  if (transfers.known == 0)
    findings.push_back(no_effect(kOption, all == 0 ? "the job has no collectives or messages"
                                                   : "no collective or message has measured times of all members by "
                                                     "one clock ('chakra link' of the whole job gives them)"));
  else if (transfers.unknown > 0)
    findings.push_back(
        no_effect(fmt::format("{}, on {} of {} collectives and messages,", kOption, transfers.unknown, all),
                  "their members have no measured times by one clock; the network prices them"));
  else
    for (const std::string& option : o.network_options)
      findings.push_back(no_effect(option, "all transfers keep their recorded duration"));
  input.transfers = std::move(transfers);
  return {};
}

}  // namespace

net::Fabric any_fabric(const trace::TraceSet& job) {
  net::Fabric fabric;
  fabric.dimensions.push_back({net::TopologyKind::switch_, std::max<int64_t>(2, job.ranks.back().rank + 1), 1, 0});
  return fabric;
}

void put_starts(trace::TraceSet& job, const std::vector<Span>& spans, const analyze::JobTimes& times,
                Findings& findings) {
  const int64_t reference = main_reference(times.clocks);
  Picoseconds longest = 0;
  double first_ns = INFINITY;
  const auto start_ns = [&](size_t r) {
    return times.clocks[r].start_ns + static_cast<double>(spans[r].begin) / static_cast<double>(kPsPerNs);
  };
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const Span& span = spans[r];
    if (span.empty()) continue;
    longest = std::max(longest, span.end - span.begin);
    if (times.clocks[r].reference == reference) first_ns = std::min(first_ns, start_ns(r));
  }
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    if (spans[r].empty()) continue;
    const analyze::Clock& clock = times.clocks[r];
    const double since_ns = std::isfinite(first_ns) ? start_ns(r) - first_ns : 0;
    const bool apart = clock.reference != reference;
    const bool left_out = !(std::abs(clock.drift_ppm) < kMostDriftPpm) ||
                          (apart ? std::abs(since_ns) > static_cast<double>(longest / kPsPerNs)
                                 : !(std::abs(since_ns) < static_cast<double>(kLongestPs / kPsPerNs)));
    if (apart || left_out)
      findings.push_back(
          {"sim.start.clock", Severity::warning, clock.rank, -1,
           fmt::format(
               "{}: {}",
               apart ? "no collective connects the rank to most other ranks, so the offset of its clock is unknown"
                     : "the collectives contradict the clock of the rank",
               left_out ? "its start is left out" : "its start is by its local clock")});
    if (!left_out)
      sim::set_recorded_start(job.ranks[r], {std::llround(since_ns), std::llround(clock.drift_ppm * 1000)});
  }
  analyze::join_ranks(findings);
}

std::optional<JobReplay> replay_linked(trace::TraceSet&& job, Findings& findings) {
  if (!JobReplay::possible(job)) return std::nullopt;
  const auto run = [&]() -> Result<JobReplay> {
    CHAKRA_ASSIGN(JobReplay replay, JobReplay::measure(job));
    sim::SimInput input;
    input.fabric = any_fabric(job);
    for (trace::Trace& t : job.ranks) drop_texts(t);
    input.job = std::move(job);
    CHAKRA_TRY(replay_recorded(std::move(input), replay, findings));
    return replay;
  };
  Result<JobReplay> replay = run();
  if (!replay) {
    findings.push_back(
        {"sim.job.not_replayed", Severity::warning, -1, -1,
         fmt::format("the job cannot run as a whole: {} ({})", replay.error().text, replay.error().tag)});
    return std::nullopt;
  }
  const Findings of_replay = replay->findings();
  findings.insert(findings.end(), of_replay.begin(), of_replay.end());
  return std::move(*replay);
}

Result<std::optional<JobReplay>> use_recording(const RecordingOptions& o, sim::SimInput& input, Findings& findings) {
  const bool starts = input.classes ? sim::has_recorded_starts(*input.classes) : sim::has_recorded_starts(input.job);
  if (o.compat) {
    if (starts)
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          "the recorded starts of the ranks have no effect: as in ASTRA-sim, all ranks start at 0"});
    return std::optional<JobReplay>();
  }
  input.align_starts = o.align_starts;
  if (o.align_starts && !starts)
    findings.push_back(no_effect("--align-starts", "no trace has the start time of its rank"));
  if (input.classes && (starts || o.recorded_transfers)) {
    CHAKRA_ASSIGN(input.job, io::expand(*input.classes, o.path));
    input.classes.reset();
  }
  if (o.recorded_transfers) CHAKRA_TRY(give_transfers(o, input, findings));
  if (!JobReplay::possible(input.job)) return std::optional<JobReplay>();
  CHAKRA_ASSIGN(JobReplay replay, JobReplay::measure(input.job));
  sim::SimInput again;
  for (const trace::Trace& t : input.job.ranks) again.job.ranks.push_back(t);
  again.fabric = input.fabric;
  again.groups = input.groups;
  again.matching = input.matching;
  again.stop = input.stop;
  CHAKRA_TRY(replay_recorded(std::move(again), replay, findings));
  const Findings of_replay = replay.findings();
  findings.insert(findings.end(), of_replay.begin(), of_replay.end());
  input.node_times = true;
  return std::optional(std::move(replay));
}

}  // namespace chakra::recorded
