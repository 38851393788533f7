// Scaled time by devices, and what ranks do per second.
#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Table;

namespace {

/// Of what was measured on another device, or stays as it is, nothing says an error.
Table::Cell error_of(const sim::ScaledTime& row) {
  if (row.error() > 0) return row.error();
  return std::string(sim::is_predicted(row.how) ? "not known" : "-");
}

}  // namespace

Table device_table(const sim::SimReport& report) {
  Table table{"",
              {{"device time", Table::Kind::text},
               {"from", Table::Kind::text},
               {"to", Table::Kind::text},
               {"nodes", Table::Kind::count},
               {"before", Table::Kind::time_ps},
               {"", Table::Kind::share},
               {"after", Table::Kind::time_ps},
               {"error", Table::Kind::share}},
              {}};
  Picoseconds all = 0;
  for (const sim::ScaledTime& row : report.devices) all = add_saturated(all, row.before_ps);
  for (const sim::ScaledTime& row : report.devices)
    table.rows.push_back({std::string(sim::kScalings[static_cast<size_t>(row.how)].text), row.from, row.to, row.nodes,
                          row.before_ps, all ? static_cast<double>(row.before_ps) / static_cast<double>(all) : 0.0,
                          row.after_ps, error_of(row)});
  return table;
}

Throughput throughput_of(const SimulateResult& result) {
  Throughput of;
  const sim::SimReport& report = result.report;
  if (result.tokens <= 0 || report.makespan_ps <= 0 || report.ranks.empty()) return of;
  const double seconds = static_cast<double>(report.makespan_ps) / kPsPerSecond;
  of.tokens_per_s = static_cast<double>(result.tokens) / seconds;
  of.tokens_per_s_per_rank = of.tokens_per_s / static_cast<double>(report.ranks.size());
  of.model_ops_per_s = static_cast<double>(result.model_operations) / seconds;
  double ops = 0, used = 0;  // of all ranks: operations, and peaks used for them, in ranks
  for (const sim::ActorReport& actor : report.actors) {
    const auto ranks = static_cast<double>(actor.ranks);
    ops += ranks * actor.rates.ops_per_s;
    if (actor.work.all_ops() > 0 && !actor.rates.mfu) return of;
    used += ranks * actor.rates.mfu.value_or(0);
  }
  if (ops > 0) of.mfu = used / ops * of.model_ops_per_s;
  return of;
}

}  // namespace chakra::job
