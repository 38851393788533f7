// What a change makes of a job, and what less of each kind of time would save, as text.
#include <fmt/core.h>

#include "chakra/job/report_parts.h"
#include "chakra/job/what_if.h"

namespace chakra::job {
namespace {

using result::Report;
using result::Table;

constexpr size_t kChangeRowsShown = 24;

/// "unchanged: 22.00 ms measured, 21.90 ms simulated, off by -0.45 %".
std::string trust(const WhatIf& result) {
  const std::string simulated = show_time(result.change.job.before_ps);
  const std::optional<double> error = result.error();
  if (!error) return fmt::format("unchanged: {} simulated, not measured, so the error is not known", simulated);
  return fmt::format("unchanged: {} measured, {} simulated, off by {:+.2f} %", show_time(*result.measured_ps),
                     simulated, 100 * *error);
}

std::string answer(const WhatIf& result) {
  const RunChange::Change& job = result.change.job;
  if (result.changed)
    return fmt::format("{}: {} -> {}, {}", result.path, show_time(job.before_ps), show_time(job.after_ps),
                       signed_text(job.change(), job.before_ps));
  if (!result.sensitivity)
    return fmt::format("{}: {} -> {} by jitter (median)", result.path, show_time(job.before_ps),
                       show_time(result.noise->quantile_ps[2]));
  const whatif::Sensitivity& s = *result.sensitivity;
  if (s.rows.empty() || s.rows.front().saved_ps <= 0)
    return fmt::format("{}: 10 % less of any one kind of time saves nothing of {}", result.path, show_time(s.total_ps));
  const whatif::Sensitivity::Row& most = s.rows.front();
  return fmt::format("{}: 10 % less {} saves most, {} of {} ({})", result.path, most.name, show_time(most.saved_ps),
                     show_time(s.total_ps), show_percent(share(most.saved_ps, s.total_ps)));
}

Table sensitivity_table(const whatif::Sensitivity& sensitivity) {
  Table table{"",
              {{"10 % less", Table::Kind::text},
               {"on the path", Table::Kind::time_ps},
               {"share", Table::Kind::share},
               {"slope saves", Table::Kind::time_ps},
               {"simulation saves", Table::Kind::time_ps},
               {"", Table::Kind::text}},
              {}};
  for (const whatif::Sensitivity::Row& row : sensitivity.rows)
    table.rows.push_back({row.name, row.on_path_ps, share(row.on_path_ps, sensitivity.total_ps),
                          static_cast<int64_t>(row.slope_ps), row.saved_ps,
                          std::string(row.path_changes ? "the path changes" : "")});
  return table;
}

/// "least 21.00 ms, 5 % 21.50 ms, ...".
std::string noise_line(const whatif::Noise& noise) {
  std::string line = fmt::format("  with jitter, {} runs: mean {}, least {}", noise.repeats,
                                 show_time(static_cast<Picoseconds>(noise.mean_ps)), show_time(noise.least_ps));
  for (size_t q = 0; q < noise.kQuantiles.size(); ++q)
    line += fmt::format(", {:g} % {}", 100 * noise.kQuantiles[q], show_time(noise.quantile_ps[q]));
  return line + fmt::format(", most {}\n", show_time(noise.most_ps));
}

}  // namespace

Report report_of(const WhatIf& result) {
  Report out;
  out.parts.emplace_back(fmt::format("{}; {}\n", answer(result), trust(result)));
  out.parts.emplace_back(fmt::format("  transfers of the unchanged job: {}{}\n",
                                     result.transfers == "none"       ? "none"
                                     : result.transfers == "recorded" ? "as recorded"
                                                                      : "by the network file",
                                     result.network.empty() ? "" : "; of the changed one: " + result.network));
  for (const WhatIf::Applied& a : result.applied)
    out.parts.emplace_back(fmt::format("  --{} {}: {} nodes{}. {}\n", a.row->name, a.value, show_count(a.reached.nodes),
                                       a.reached.time_ps > 0 ? " of " + show_time(a.reached.time_ps) : "",
                                       a.row->assumes));
  if (result.changed) {
    out.parts.emplace_back(result::first_rows(change_table(result.change), kChangeRowsShown, "rows"));
    if (const Table devices = device_table(result.report); !devices.rows.empty())
      out.parts.emplace_back(result::first_rows(devices, kChangeRowsShown, "rows"));
  }
  if (result.noise) out.parts.emplace_back(noise_line(*result.noise));
  if (result.sensitivity)
    out.parts.emplace_back(result::first_rows(sensitivity_table(*result.sensitivity), kChangeRowsShown, "kinds"));
  out.parts.emplace_back(Report::Found{result.findings, false});
  return out;
}

}  // namespace chakra::job
