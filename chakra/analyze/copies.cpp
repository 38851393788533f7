// Copies of memory by direction: how many bytes, and how fast.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/rows.h"
#include "chakra/work/work.h"

namespace chakra::analyze {
namespace {

using answer::Missing;
using result::Table;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

/// By work::CopyRoute; empty for operations other than copies.
constexpr std::string_view kDirections[] = {
    "", "not known", "host to device", "device to host", "within a device", "device to device", "within the host"};

std::string_view direction_of(std::string_view name) {
  return kDirections[static_cast<size_t>(work::copy_route(name))];
}

struct Copies {
  int64_t count = 0, without_size = 0;
  uint64_t bytes = 0;
  Picoseconds time = 0;  ///< of those with a size
  double slowest = 0, fastest = 0;
};

/// The attribute that linking writes; -1: none.
int64_t bytes_of(const Trace& t, NodeId n, StringId name) {
  const std::optional<trace::Attr> attr = attr_of(t, n, name);
  return attr ? attr->integer().value_or(-1) : -1;
}

}  // namespace

// `analyze.copy.size` (finding): copies whose size is not recorded; they are counted without bytes and time.
Result<std::vector<NamedTable>> copies(const Job& job, Findings& findings) {
  Table table{"Copies of memory by direction",
              {{"rank", Kind::id, "rank", "the rank"},
               {"direction", Kind::text, "direction", "from where to where"},
               {"copy", Kind::text, "copy", "name of the copy"},
               {"count", Kind::count, "count", "how many there are"},
               {"bytes", Kind::bytes, "bytes", "what they copied"},
               {"time", Kind::time_ps, "time_ps", "sum of their times"},
               {"bandwidth", Kind::rate_bytes_per_s, "bandwidth", "bytes divided by time", Missing::unknown},
               {"slowest", Kind::rate_bytes_per_s, "slowest", "that of the slowest copy", Missing::unknown},
               {"fastest", Kind::rate_bytes_per_s, "fastest", "that of the fastest copy", Missing::unknown}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    if (!job.schedules[r].measured) continue;
    const StringId name = t.strings.find("bytes");
    std::map<std::pair<std::string_view, std::string_view>, Copies> rows;
    int64_t without_size = 0;
    for (const DeviceOperation& operation : device_work(job, r).operations) {
      if (operation.kind != OperationKind::memory) continue;
      const std::string_view copy = t.name_of(operation.node), direction = direction_of(copy);
      if (direction.empty()) continue;
      Copies& row = rows[{direction, copy}];
      ++row.count;
      const int64_t bytes = bytes_of(t, operation.node, name);
      if (bytes < 0) {
        ++without_size;
        continue;
      }
      row.bytes = add_bytes(row.bytes, static_cast<uint64_t>(bytes));
      row.time = add_saturated(row.time, operation.time());
      if (operation.time() <= 0) continue;
      const double rate = static_cast<double>(bytes) / (static_cast<double>(operation.time()) / kPsPerSecond);
      row.slowest = row.fastest == 0 ? rate : std::min(row.slowest, rate);
      row.fastest = std::max(row.fastest, rate);
    }
    for (const auto& [key, row] : rows) {
      const bool known = row.time > 0;
      const auto rate = [&](double value) { return known ? Table::Cell(value) : Table::Cell(std::string("unknown")); };
      table.rows.push_back({t.rank, std::string(key.first), std::string(key.second), row.count, cell(row.bytes),
                            row.time,
                            rate(static_cast<double>(row.bytes) / (static_cast<double>(row.time) / kPsPerSecond)),
                            rate(row.slowest), rate(row.fastest)});
    }
    if (without_size > 0)
      findings.push_back({"analyze.copy.size", Severity::note, t.rank, -1,
                          fmt::format("{} copies have no recorded size: their bytes and time are left out",
                                      show_count(without_size))});
  }
  return std::vector<NamedTable>{{"copies", std::move(table)}};
}

}  // namespace chakra::analyze
