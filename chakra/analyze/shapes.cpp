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
};

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
  const double least = std::max(sums.compute_s, sums.memory_s);
  const double part = least / (static_cast<double>(sums.with_work) / kPsPerSecond);
  return {sums.compute_s > sums.memory_s ? "compute" : "memory", show_percent(part)};
}

}  // namespace

Result<std::vector<NamedTable>> shapes(const Job& job, Findings&) {
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
               {"bound", Kind::text, "bound", "compute or memory, whichever needs longer at the device's peaks"},
               {"of the roofline", Kind::text, "of_the_roofline", "that time by the measured one"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    const DeviceWork& work = device_work(job, r);
    ShapeTable maker(t, job.schedules[r], work);
    const ShapeTable::Rows rows = maker.run();
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
