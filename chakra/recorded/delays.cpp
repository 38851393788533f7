#include "chakra/recorded/delays.h"

#include <fmt/core.h>

#include "chakra/io/io.h"
#include "chakra/options/options.h"
#include "chakra/recorded/job_replay.h"

namespace chakra::recorded {

using options::no_effect;

RunChange RunChange::of(const trace::TraceSet& job) {
  RunChange out;
  const bool measured = JobReplay::possible(job);
  for (const trace::Trace& t : job.ranks) {
    out.ranks.push_back({t.rank, {}, {}});
    if (measured) out.steps.push_back(analyze::find_steps(t));
    if (measured) out.ranks.back().steps.resize(out.steps.back().names.size());
  }
  return out;
}

Result<DelayStudy> DelayStudy::begin(const std::vector<std::string>& delays, const std::string& path,
                                     sim::SimInput& input, Findings& findings) {
  DelayStudy study;
  for (const std::string& text : delays) {
    CHAKRA_ASSIGN(DelayRule rule, parse_delay(text));
    study.rules.push_back(std::move(rule));
  }
  if (input.classes) {
    CHAKRA_ASSIGN(input.job, io::expand(*input.classes, path));
    input.classes.reset();
  }
  sim::Delays found = find_delays(input.job, study.rules, study.nodes);
  for (size_t r = 0; r < delays.size(); ++r) {
    const DelayRule& rule = study.rules[r];
    const std::string option = "--delay " + delays[r];
    if (rule.rank && !input.job.find(*rule.rank))
      findings.push_back(no_effect(option, fmt::format("the job has no rank {}", *rule.rank)));
    else if (study.nodes[r] == 0)
      findings.push_back(
          no_effect(option, fmt::format("no node{} has a name that matches {}",
                                        rule.rank ? fmt::format(" of rank {}", *rule.rank) : "", quote(rule.pattern))));
    else if (rule.time_ps == 0) findings.push_back(no_effect(option, "the time is 0"));
  }
  static_cast<RunChange&>(study) = RunChange::of(input.job);
  input.node_times = input.node_times || study.has_steps();
  CHAKRA_ASSIGN(const sim::SimReport before, sim::simulate(sim::copy_of(input)));
  study.take(before, &Change::before_ps);
  input.congestion = before.congestion;  // both runs share links in the same way
  study.congestion_reason = before.congestion_reason;
  input.delays = std::move(found);
  return study;
}

void DelayStudy::add(const sim::SimReport& report) { take(report, &Change::after_ps); }

void RunChange::take(const sim::SimReport& report, Picoseconds Change::*when) {
  job.*when = report.makespan_ps;
  for (size_t i = 0; i < ranks.size() && i < report.ranks.size(); ++i) {  // both ascending, and of the same job
    const sim::RankReport& r = report.ranks[i];
    CHAKRA_ASSERT(r.rank == ranks[i].rank);
    ranks[i].finish.*when = r.finish_ps;
    if (steps.empty() || r.actor >= report.times.size()) continue;
    const sim::NodeTimes& times = report.times[r.actor];
    const std::vector<analyze::StepSpan> spans = analyze::step_spans(
        steps[i], [&](trace::NodeId n) { return times.start[n]; }, [&](trace::NodeId n) { return times.end[n]; });
    for (size_t s = 0; s < spans.size(); ++s) ranks[i].steps[s].*when = spans[s].length();
  }
}

}  // namespace chakra::recorded
