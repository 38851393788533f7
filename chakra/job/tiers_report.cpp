// Tiers of storage: the table.
#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Table;

namespace {

std::string_view scope_name(const sim::TierReport& tier) {
  return device::kTierScopeNames[static_cast<size_t>(tier.scope)];
}

}  // namespace

Table tier_table(const sim::SimReport& report) {
  Table table{"",
              {{"tier", Table::Kind::text},
               {"scope", Table::Kind::text},
               {"places", Table::Kind::count},
               {"operations", Table::Kind::count},
               {"moved", Table::Kind::bytes},
               {"busy", Table::Kind::time_ps},
               {"", Table::Kind::share}},
              {}};
  for (const sim::TierReport& tier : report.tiers) {
    int64_t operations = 0;
    for (const sim::TierReport::Kind& kind : tier.kinds) operations += kind.count;
    table.rows.push_back(
        {tier.name, std::string(scope_name(tier)), tier.places, operations, static_cast<double>(tier.bytes),
         tier.busy_ps,
         report.makespan_ps ? static_cast<double>(tier.busy_ps) / static_cast<double>(report.makespan_ps) : 0.0});
  }
  return table;
}

}  // namespace chakra::job
