// A job against its own measurement, as a table.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <map>

#include "chakra/job/report_parts.h"

namespace chakra::job {
namespace {

using result::Table;

constexpr std::array<recorded::TransferKind, 2> kRuns{recorded::TransferKind::recorded,
                                                      recorded::TransferKind::simulated};
constexpr size_t kReplaysShown = 16;

}  // namespace

double badness(const recorded::Compared& times) {
  for (const recorded::TransferKind kind : kRuns)
    if (times.has(kind)) return std::abs(times.error(kind));
  return 0;
}

result::Report::Rows rows_of(const recorded::JobReplay& replay) {
  Table table{"", {{"measured / simulated", Table::Kind::text}, {"measured", Table::Kind::time_ps}}, {}};
  for (const recorded::TransferKind kind : kRuns)
    if (replay.job().has(kind)) {
      const std::string_view name = recorded::kTransferKinds[static_cast<size_t>(kind)];
      table.columns.push_back({fmt::format("{} transfers", name), Table::Kind::time_ps});
      table.columns.push_back({kind == recorded::TransferKind::recorded ? "error" : "difference", Table::Kind::text});
    }
  const auto add = [&](std::string label, const recorded::Compared& times) {
    std::vector<Table::Cell> row{std::move(label), times.measured_ps};
    for (const recorded::TransferKind kind : kRuns)
      if (replay.job().has(kind)) {
        row.emplace_back(times.has(kind) ? times.run(kind) : Picoseconds{0});
        row.emplace_back(times.has(kind) ? fmt::format("{:+.2f} %", 100 * times.error(kind)) : std::string("-"));
      }
    table.rows.push_back(std::move(row));
  };
  add("job", replay.job());
  std::map<std::string_view, std::pair<const recorded::JobReplay::Step*, int64_t>>
      worst;  // by name: the step, and of which rank
  std::vector<std::string_view> names;
  for (const recorded::JobReplay::Rank& rank : replay.ranks()) {
    add(fmt::format("rank {}", rank.rank), rank.times);
    for (const recorded::JobReplay::Step& step : rank.steps) {
      if (step.times.measured_ps == 0 || step.name == "recording") continue;
      auto& [known, of] = worst[step.name];
      if (!known) names.push_back(step.name);
      if (!known || badness(step.times) > badness(known->times)) known = &step, of = rank.rank;
    }
  }
  for (const std::string_view name : names)
    add(fmt::format("{} (worst: rank {})", name, worst[name].second), worst[name].first->times);
  return result::first_rows(table, kReplaysShown, "rows");
}

}  // namespace chakra::job
