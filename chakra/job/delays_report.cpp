// What delays change, as tables.
#include <fmt/core.h>

#include <cmath>
#include <map>

#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Table;

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

}  // namespace chakra::job
