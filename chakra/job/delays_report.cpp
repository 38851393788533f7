// What delays change, as tables.
#include <fmt/core.h>

#include <cmath>
#include <map>

#include "chakra/job/report_parts.h"

namespace chakra::job {
namespace {

using result::Report;
using result::Table;

constexpr size_t kChangesShown = 24;

std::string who(const sim::DelayRule& rule) {
  return rule.rank ? fmt::format("rank {}: {}", *rule.rank, rule.pattern) : rule.pattern;
}

Table rule_table(const DelayStudy& study) {
  Table table{"",
              {{"delayed", Table::Kind::text},
               {"nodes", Table::Kind::count},
               {"each", Table::Kind::time_ps},
               {"added up", Table::Kind::time_ps}},
              {}};
  for (size_t r = 0; r < study.rules.size(); ++r) {
    const double sum = static_cast<double>(study.rules[r].time_ps) * static_cast<double>(study.nodes[r]) / kPsPerSecond;
    table.rows.push_back({who(study.rules[r]), study.nodes[r], study.rules[r].time_ps, picoseconds(sum)});
  }
  return table;
}

}  // namespace

std::string signed_text(Picoseconds change, Picoseconds before) {
  const std::string time = fmt::format("{}{}", change > 0 ? "+" : "", show_time(change));
  if (before == 0) return time;
  return fmt::format("{} ({:+.2f} %)", time, 100 * static_cast<double>(change) / static_cast<double>(before));
}

Table change_table(const RunChange& study) {
  Table table{"",
              {{"predicted", Table::Kind::text},
               {"before", Table::Kind::time_ps},
               {"after", Table::Kind::time_ps},
               {"change", Table::Kind::text}},
              {}};
  const auto add = [&](std::string label, const RunChange::Change& c) {
    table.rows.push_back({std::move(label), c.before_ps, c.after_ps, signed_text(c.change(), c.before_ps)});
  };
  add("job", study.job);
  struct Most {
    const RunChange::Change* change;
    int64_t rank;
  };
  std::map<std::string_view, Most> most;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < study.ranks.size(); ++i) {
    add(fmt::format("rank {}", study.ranks[i].rank), study.ranks[i].finish);
    for (size_t s = 0; s < study.ranks[i].steps.size(); ++s) {
      const RunChange::Change& change = study.ranks[i].steps[s];
      if (change.before_ps == 0 && change.after_ps == 0) continue;
      const auto [known, added] = most.try_emplace(study.steps[i].names[s], Most{&change, study.ranks[i].rank});
      if (added) names.push_back(known->first);
      else if (std::abs(change.change()) > std::abs(known->second.change->change()))
        known->second = {&change, study.ranks[i].rank};
    }
  }
  for (const std::string_view name : names)
    add(fmt::format("{} (most: rank {})", name, most[name].rank), *most[name].change);
  return table;
}

void add_parts(const DelayStudy& study, Report& report) {
  report.parts.emplace_back(fmt::format("\n  delayed: the job takes {} instead of {}, {}\n",
                                        show_time(study.job.after_ps), show_time(study.job.before_ps),
                                        signed_text(study.job.change(), study.job.before_ps)));
  report.parts.emplace_back(result::first_rows(rule_table(study), kChangesShown, "rules"));
  report.parts.emplace_back(result::first_rows(change_table(study), kChangesShown, "rows"));
}

}  // namespace chakra::job
