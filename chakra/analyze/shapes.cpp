// Operators by the shapes of their arguments: how often, how long, how fast, and the bottleneck (TraceLens has such a
// table for each kind of operator).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/host_tree.h"
#include "chakra/analyze/rows.h"
#include "chakra/device/device.h"
#include "chakra/work/work.h"

namespace chakra::analyze {
namespace {

using answer::Missing;
using result::Table;
using trace::kNoNode;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

struct ShapeSums {
  int64_t count = 0;       ///< operators
  int64_t operations = 0;  ///< that they launched
  Picoseconds time = 0;
  Picoseconds with_work = 0;  ///< of that: of what says its work
  work::WorkSum work;
  double compute_s = 0, memory_s = 0;  ///< at the device's peaks
  bool fewer = false;                  ///< an algorithm with fewer FLOPs than the formula counts
  double part() const { return std::max(compute_s, memory_s) / (static_cast<double>(with_work) / kPsPerSecond); }
};

/// Convolutions by Winograd's algorithm or by Fourier transforms multiply less than the formula for their shapes
/// counts.
bool does_fewer(std::string_view kernel) {
  return contains_ignoring_case(kernel, "winograd") || contains_ignoring_case(kernel, "fft2d");
}

class ShapeTable {
 public:
  ShapeTable(const Trace& t, const Schedule& s, const DeviceWork& work)
      : t_(t), s_(s), work_(work), on_(device::recorded_device(t)), shapes_(t.strings.find("shapes")) {}

  using Rows = std::map<std::pair<std::string_view, std::string_view>, ShapeSums>;
  Rows run() {
    std::vector<char> counted(t_.size(), 0);
    for (const DeviceOperation& operation : work_.operations) {
      const NodeId op = launching_operator(t_, work_, operation);
      if (op == kNoNode || is_step(t_.name_of(op))) continue;
      ShapeSums& sums = of(op);
      sums.count += !counted[op];
      counted[op] = 1;
      ++sums.operations;
      sums.fewer = sums.fewer || does_fewer(t_.name_of(operation.node));
      add(sums, operation.node, operation.time());
    }
    for (const NodeId n : t_.nodes()) {  // computation of the host itself
      if (!work_.is_operator[n] || counted[n] || trace::is_comm(t_.type[n]) || !says_work(t_, n)) continue;
      ShapeSums& sums = of(n);
      ++sums.count;
      add(sums, n, s_.end[n] - s_.start[n]);
    }
    return std::move(rows_);
  }
  const std::optional<device::Device>& device() const { return on_; }

 private:
  /// Of the host trace, else of the Kineto trace.
  std::string_view shapes_of(NodeId op) const {
    if (t_.io_row[op] != trace::kNoRow) {
      const trace::Io io = t_.ios[t_.io_row[op]];
      if (const std::string_view shapes = t_.strings[io.inputs.shapes]; !shapes.empty()) return shapes;
    }
    const std::optional<trace::Attr> attr = attr_of(t_, op, shapes_);
    return attr ? attr->text().value_or("") : "";
  }
  ShapeSums& of(NodeId op) { return rows_[{t_.name_of(op), shapes_of(op)}]; }

  void add(ShapeSums& sums, NodeId n, Picoseconds time) const {
    sums.time = add_saturated(sums.time, time);
    if (!says_work(t_, n)) return;
    const work::NodeWork work = work::work_of(t_, n);
    sums.with_work = add_saturated(sums.with_work, time);
    sums.work.add(work);
    if (!on_) return;
    const double peak = work.ops > 0 ? device::peak(*on_, work.type).ops_per_s : 0;
    if (peak > 0) sums.compute_s += static_cast<double>(work.ops) / peak;
    if (on_->memory_bytes_per_s > 0) sums.memory_s += static_cast<double>(work.bytes) / on_->memory_bytes_per_s;
  }

  const Trace& t_;
  const Schedule& s_;
  const DeviceWork& work_;
  std::optional<device::Device> on_;
  StringId shapes_;
  Rows rows_;
};

/// Return the bottleneck of a row, and the part of its time that the device's peaks explain.
std::pair<std::string, std::string> bound_of_row(const ShapeSums& sums, bool device_known) {
  if (sums.with_work <= 0) return {"unknown work", ""};
  if (!device_known) return {"unknown device", ""};
  const std::string bound = sums.compute_s > sums.memory_s ? "compute" : "memory";
  return {bound + (sums.fewer ? " as counted" : ""), show_percent(sums.part())};
}

// `analyze.shapes.counted` (finding): convolutions by Winograd's algorithm or by Fourier transforms, by the names of
// their kernels, do fewer FLOPs than are counted: their FLOP/s and shares of the roofline are too high.
// `analyze.shapes.above` (finding): other operators are faster than the roofline: their kernels do less than is
// counted, run in a faster element type or at a higher clock, or find data in a cache.
void note_too_fast(const ShapeTable::Rows& rows, bool device_known, int64_t rank, Findings& findings) {
  int64_t fewer = 0, above = 0;
  double most_fewer = 0, most_above = 0;
  for (const auto& [key, sums] : rows) {
    if (sums.with_work <= 0) continue;
    const double part = device_known ? sums.part() : 0;
    fewer += sums.fewer;
    if (sums.fewer) most_fewer = std::max(most_fewer, part);
    above += !sums.fewer && part > 1;
    if (!sums.fewer) most_above = std::max(most_above, part);
  }
  if (fewer > 0)
    findings.push_back({"analyze.shapes.counted", Severity::note, rank, -1,
                        fmt::format("{} rows of 'shapes' are convolutions by Winograd's algorithm or by Fourier "
                                    "transforms, which do fewer FLOPs than are counted; their FLOP/s and shares of the "
                                    "roofline (up to {}) are too high",
                                    fewer, show_percent(most_fewer))});
  if (above > 0)
    findings.push_back(
        {"analyze.shapes.above", Severity::note, rank, -1,
         fmt::format("{} rows of 'shapes' are above the roofline (up to {}): their kernels do less than "
                     "is counted, run in a faster element type or at a higher clock, or find data in a cache",
                     above, show_percent(most_above))});
}

}  // namespace

Result<std::vector<NamedTable>> shapes(const Job& job, Findings& findings) {
  Table table{"Operators by the shapes of their arguments",
              {{"rank", Kind::id, "rank", "the rank"},
               {"operator", Kind::text, "operator", "name of the operator"},
               {"shapes", Kind::text, "shapes", "shapes of its arguments"},
               {"count", Kind::count, "count", "how many there are"},
               {"operations", Kind::count, "operations", "device operations launched right under them"},
               {"time", Kind::time_ps, "time_ps", "their time"},
               {"mean", Kind::time_ps, "mean_ps", "time / count"},
               {"FLOP/s", Kind::count, "flop_s", "FLOP/s, over the time of nodes with known work", Missing::unknown},
               {"bytes/s", Kind::rate_bytes_per_s, "bytes_s", "bytes/s, over the time of nodes with known work",
                Missing::unknown},
               {"bound", Kind::text, "bound",
                "compute or memory, whichever needs longer at the device's peaks; as counted: the kernels do fewer "
                "FLOPs than are counted"},
               {"of the roofline", Kind::text, "of_the_roofline", "that time by the measured one"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    const DeviceWork& work = device_work(job, r);
    ShapeTable maker(t, job.schedules[r], work);
    const ShapeTable::Rows rows = maker.run();
    note_too_fast(rows, maker.device().has_value(), t.rank, findings);
    std::vector<ShapeTable::Rows::const_iterator> order;
    for (auto at = rows.begin(); at != rows.end(); ++at) order.push_back(at);
    std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a->second.time > b->second.time; });
    for (const auto& at : order) {
      const ShapeSums& sums = at->second;
      const device::Rates rates = device::rates(sums.work, sums.with_work, nullptr);
      const bool known = sums.with_work > 0;
      auto [bound, part] = bound_of_row(sums, maker.device().has_value());
      table.rows.push_back({t.rank, std::string(at->first.first),
                            at->first.second.empty() ? std::string("not recorded") : std::string(at->first.second),
                            sums.count, sums.operations, sums.time, sums.time / std::max<int64_t>(1, sums.count),
                            known ? Table::Cell(static_cast<int64_t>(std::llround(std::min(rates.ops_per_s, 9e18))))
                                  : Table::Cell(std::string("unknown")),
                            known ? Table::Cell(rates.bytes_per_s) : Table::Cell(std::string("unknown")),
                            std::move(bound), std::move(part)});
    }
  }
  return std::vector<NamedTable>{{"shapes", std::move(table)}};
}

}  // namespace chakra::analyze
