#include "chakra/cli/sim_delays.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "chakra/cli/no_effect.h"
#include "chakra/io/io.h"

namespace chakra::cli {
namespace {

using table::Table;

constexpr size_t kRowsShown = 24;

/// The same run again; what only the caller's run is for (timeline, progress) is left out.
sim::SimInput copy_of(const sim::SimInput& input) {
  sim::SimInput copy;
  for (const trace::Trace& t : input.job.ranks) copy.job.ranks.push_back(trace::copy(t));
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

std::string who(const sim::DelayRule& rule) {
  return rule.rank ? fmt::format("rank {}: {}", *rule.rank, rule.pattern) : rule.pattern;
}

/// "+144.6 ms (+56.48 %)".
std::string signed_text(Picoseconds change, Picoseconds before) {
  const std::string time = fmt::format("{}{}", change > 0 ? "+" : "", show_time(change));
  if (before == 0) return time;
  return fmt::format("{} ({:+.2f} %)", time, 100 * static_cast<double>(change) / static_cast<double>(before));
}

}  // namespace

Option delay_option(std::vector<std::string>& delays) {
  return {.names = "--delay",
          .target = &delays,
          .help =
              "Delay each node of the rank (of all ranks without RANK:) whose name matches PATTERN (* any text, ? "
              "any character) by TIME (ps, ns, us, ms, s), and say how the total changes. A recorded job keeps its "
              "recorded transfers unless --transfers says otherwise. May be given several times",
          .value = "[RANK:]PATTERN=TIME",
          .one_each = true};
}

Result<DelayStudy> DelayStudy::begin(const std::vector<std::string>& delays, const std::string& path,
                                     sim::SimInput& input, Findings& findings) {
  DelayStudy study;
  for (const std::string& text : delays) {
    CHAKRA_ASSIGN(sim::DelayRule rule, sim::parse_delay(text));
    study.rules_.push_back(std::move(rule));
  }
  if (input.classes) {
    CHAKRA_ASSIGN(input.job, io::expand(*input.classes, path));
    input.classes.reset();
  }
  sim::Delays found = sim::find_delays(input.job, study.rules_, study.nodes_);
  for (size_t r = 0; r < delays.size(); ++r) {
    const sim::DelayRule& rule = study.rules_[r];
    const std::string option = "--delay " + delays[r];
    if (rule.rank && !input.job.find(*rule.rank))
      findings.push_back(no_effect(option, fmt::format("the job has no rank {}", *rule.rank)));
    else if (study.nodes_[r] == 0)
      findings.push_back(
          no_effect(option, fmt::format("no node{} has a name that matches {}",
                                        rule.rank ? fmt::format(" of rank {}", *rule.rank) : "", quote(rule.pattern))));
    else if (rule.time_ps == 0) findings.push_back(no_effect(option, "the time is 0"));
  }
  const bool measured = sim::JobReplay::possible(input.job);
  for (const trace::Trace& t : input.job.ranks) {
    study.ranks_.push_back({t.rank, {}, {}});
    if (measured) study.steps_.push_back(sim::find_steps(t));
    if (measured) study.ranks_.back().steps.resize(study.steps_.back().names.size());
  }
  input.node_times = input.node_times || measured;
  CHAKRA_ASSIGN(const sim::SimReport before, sim::simulate(copy_of(input)));
  study.take(before, &Change::before_ps);
  input.delays = std::move(found);
  return study;
}

void DelayStudy::add(const sim::SimReport& report) { take(report, &Change::after_ps); }

void DelayStudy::take(const sim::SimReport& report, Picoseconds Change::*when) {
  job_.*when = report.makespan_ps;
  for (size_t i = 0; i < ranks_.size() && i < report.ranks.size(); ++i) {  // both ascending, and of the same job
    const sim::RankReport& r = report.ranks[i];
    ranks_[i].finish.*when = r.finish_ps;
    if (steps_.empty() || r.actor >= report.times.size()) continue;
    const sim::NodeTimes& times = report.times[r.actor];
    const std::vector<sim::StepSpan> spans = sim::step_spans(
        steps_[i], [&](trace::NodeId n) { return times.start[n]; }, [&](trace::NodeId n) { return times.end[n]; });
    for (size_t s = 0; s < spans.size(); ++s) ranks_[i].steps[s].*when = spans[s].length();
  }
}

Json DelayStudy::Change::to_json(Json json) const {
  json["before_ps"] = before_ps;
  json["after_ps"] = after_ps;
  json["change_ps"] = change();
  return json;
}

Json DelayStudy::to_json() const {
  Json rules = Json::array(), ranks = Json::array();
  for (size_t r = 0; r < rules_.size(); ++r)
    rules.push_back({{"rank", rules_[r].rank ? Json(*rules_[r].rank) : Json(nullptr)},
                     {"pattern", rules_[r].pattern},
                     {"time_ps", rules_[r].time_ps},
                     {"nodes", nodes_[r]}});
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Json steps = Json::array();
    for (size_t s = 0; s < ranks_[i].steps.size(); ++s)
      steps.push_back(ranks_[i].steps[s].to_json({{"name", steps_[i].names[s]}}));
    Json rank = ranks_[i].finish.to_json({{"rank", ranks_[i].rank}});
    rank["steps"] = std::move(steps);
    ranks.push_back(std::move(rank));
  }
  Json json = job_.to_json({{"rules", std::move(rules)}});
  json["ranks"] = std::move(ranks);
  return json;
}

Table DelayStudy::rule_table() const {
  Table table{"",
              {{"delayed", Table::Kind::text},
               {"nodes", Table::Kind::count},
               {"each", Table::Kind::time_ps},
               {"added up", Table::Kind::time_ps}},
              {}};
  for (size_t r = 0; r < rules_.size(); ++r) {
    const double sum = static_cast<double>(rules_[r].time_ps) * static_cast<double>(nodes_[r]) / kPsPerSecond;
    table.rows.push_back({who(rules_[r]), nodes_[r], rules_[r].time_ps, picoseconds(sum)});
  }
  return table;
}

Table DelayStudy::change_table() const {
  Table table{"",
              {{"predicted", Table::Kind::text},
               {"before", Table::Kind::time_ps},
               {"after", Table::Kind::time_ps},
               {"change", Table::Kind::text}},
              {}};
  const auto add = [&](std::string label, const Change& c) {
    table.rows.push_back({std::move(label), c.before_ps, c.after_ps, signed_text(c.change(), c.before_ps)});
  };
  add("job", job_);
  struct Most {
    const Change* change;
    int64_t rank;
  };
  std::map<std::string_view, Most> most;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    add(fmt::format("rank {}", ranks_[i].rank), ranks_[i].finish);
    for (size_t s = 0; s < ranks_[i].steps.size(); ++s) {
      const Change& change = ranks_[i].steps[s];
      if (change.before_ps == 0 && change.after_ps == 0) continue;
      const auto [known, added] = most.try_emplace(steps_[i].names[s], Most{&change, ranks_[i].rank});
      if (added) names.push_back(known->first);
      else if (std::abs(change.change()) > std::abs(known->second.change->change()))
        known->second = {&change, ranks_[i].rank};
    }
  }
  for (const std::string_view name : names)
    add(fmt::format("{} (most: rank {})", name, most[name].rank), *most[name].change);
  return table;
}

std::string DelayStudy::to_text() const {
  return fmt::format("\n  delayed: the job takes {} instead of {}, {}\n", show_time(job_.after_ps),
                     show_time(job_.before_ps), signed_text(job_.change(), job_.before_ps)) +
         show_some(rule_table(), kRowsShown, "rules") + show_some(change_table(), kRowsShown, "rows");
}

}  // namespace chakra::cli
