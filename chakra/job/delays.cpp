#include "chakra/job/delays.h"

#include <fmt/core.h>

#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"

namespace chakra::job {
namespace {

/// The same run again; what only the caller's run is for (timeline, progress) is left out.
sim::SimInput copy_of(const sim::SimInput& input) {
  sim::SimInput copy;
  for (const trace::Trace& t : input.job.ranks) copy.job.ranks.push_back(t);
  copy.fabric = input.fabric;
  copy.system = input.system;
  copy.groups = input.groups;
  copy.matching = input.matching;
  copy.collectives = input.collectives;
  copy.congestion = input.congestion;
  copy.packets = input.packets;
  copy.align_starts = input.align_starts;
  copy.transfers = input.transfers;
  copy.node_times = input.node_times;
  copy.fold = input.fold;
  copy.stop = input.stop;
  return copy;
}

}  // namespace

Result<DelayStudy> DelayStudy::begin(const std::vector<std::string>& delays, const std::string& path,
                                     sim::SimInput& input, Findings& findings) {
  DelayStudy study;
  for (const std::string& text : delays) {
    CHAKRA_ASSIGN(sim::DelayRule rule, sim::parse_delay(text));
    study.rules.push_back(std::move(rule));
  }
  if (input.classes) {
    CHAKRA_ASSIGN(input.job, io::expand(*input.classes, path));
    input.classes.reset();
  }
  sim::Delays found = sim::find_delays(input.job, study.rules, study.nodes);
  for (size_t r = 0; r < delays.size(); ++r) {
    const sim::DelayRule& rule = study.rules[r];
    const std::string option = "--delay " + delays[r];
    if (rule.rank && !input.job.find(*rule.rank))
      findings.push_back(no_effect(option, fmt::format("the job has no rank {}", *rule.rank)));
    else if (study.nodes[r] == 0)
      findings.push_back(
          no_effect(option, fmt::format("no node{} has a name that matches {}",
                                        rule.rank ? fmt::format(" of rank {}", *rule.rank) : "", quote(rule.pattern))));
    else if (rule.time_ps == 0) findings.push_back(no_effect(option, "the time is 0"));
  }
  const bool measured = sim::JobReplay::possible(input.job);
  for (const trace::Trace& t : input.job.ranks) {
    study.ranks.push_back({t.rank, {}, {}});
    if (measured) study.steps.push_back(sim::find_steps(t));
    if (measured) study.ranks.back().steps.resize(study.steps.back().names.size());
  }
  input.node_times = input.node_times || measured;
  CHAKRA_ASSIGN(const sim::SimReport before, sim::simulate(copy_of(input)));
  study.take(before, &Change::before_ps);
  input.delays = std::move(found);
  return study;
}

void DelayStudy::add(const sim::SimReport& report) { take(report, &Change::after_ps); }

void DelayStudy::take(const sim::SimReport& report, Picoseconds Change::*when) {
  job.*when = report.makespan_ps;
  for (size_t i = 0; i < ranks.size() && i < report.ranks.size(); ++i) {  // both ascending, and of the same job
    const sim::RankReport& r = report.ranks[i];
    ranks[i].finish.*when = r.finish_ps;
    if (steps.empty() || r.actor >= report.times.size()) continue;
    const sim::NodeTimes& times = report.times[r.actor];
    const std::vector<sim::StepSpan> spans = sim::step_spans(
        steps[i], [&](trace::NodeId n) { return times.start[n]; }, [&](trace::NodeId n) { return times.end[n]; });
    for (size_t s = 0; s < spans.size(); ++s) ranks[i].steps[s].*when = spans[s].length();
  }
}

}  // namespace chakra::job
