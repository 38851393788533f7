// Tiers of storage: the table and the JSON.
#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Json;
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

Json tiers_json(const sim::SimReport& report) {
  Json tiers = Json::array();
  for (const sim::TierReport& tier : report.tiers) {
    Json kinds = Json::array();
    for (const sim::TierReport::Kind& kind : tier.kinds)
      kinds.push_back({{"io_kind", kind.io_kind},
                       {"count", kind.count},
                       {"bytes", kind.bytes},
                       {"total_ps", kind.total_ps},
                       {"bytes_per_s", kind.bytes_per_s}});
    tiers.push_back({{"tier", tier.name},
                     {"scope", scope_name(tier)},
                     {"places", tier.places},
                     {"bytes", tier.bytes},
                     {"busy_ps", tier.busy_ps},
                     {"kinds", std::move(kinds)}});
  }
  return tiers;
}

}  // namespace chakra::job
