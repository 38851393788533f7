// Operators by the shapes of their arguments: how often, how long, how fast, and the bottleneck (TraceLens has such a
// table for each kind of operator). The roofline of each row (S. Williams et al., "Roofline", 2009), and the share of
// the time that no row places on it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

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
using Cell = Table::Cell;

struct ShapeSums {
  int64_t count = 0;       ///< operators
  int64_t operations = 0;  ///< that they launched
  Picoseconds time = 0;
  Picoseconds with_work = 0;  ///< of that: of what says its work
  work::WorkSum work;
  double compute_s = 0, memory_s = 0;  ///< at the device's peaks
  bool fewer = false;                  ///< an algorithm with fewer FLOPs than the formula counts
  bool limited = true;                 ///< the device's peaks are known for all of the work
  bool link = false;                   ///< copies whose limit is a link
  bool has_limit() const { return limited && !link && with_work > 0; }
  double limit_s() const { return std::max(compute_s, memory_s); }
  double part() const { return limit_s() / (static_cast<double>(with_work) / kPsPerSecond); }
  double intensity() const { return static_cast<double>(work.all_ops()) / static_cast<double>(work.bytes); }
  /// Whether the row has a place in a figure of FLOP/s over FLOPs per byte.
  bool placed() const { return with_work > 0 && work.all_ops() > 0 && work.bytes > 0; }
};

/// Convolutions by Winograd's algorithm or by Fourier transforms multiply less than the formula for their shapes
/// counts.
bool does_fewer(std::string_view kernel) {
  return contains_ignoring_case(kernel, "winograd") || contains_ignoring_case(kernel, "fft2d");
}

/// Shapes in one form: recorders differ in spaces and line breaks.
std::string plain_shapes(std::string_view shapes) {
  if (shapes.empty()) return "not recorded";
  std::string plain;
  for (const char c : shapes) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    plain += c;
    if (c == ',') plain += ' ';
  }
  return plain;
}

class ShapeTable {
 public:
  ShapeTable(const Trace& t, const Schedule& s, const DeviceWork& work)
      : t_(t), s_(s), work_(work), on_(device::recorded_device(t)), shapes_(t.strings.find("shapes")) {
    for (const NodeId n : t.nodes())
      if (work.whole[n] != n) pieces_.emplace_back(work.whole[n], n);
    std::sort(pieces_.begin(), pieces_.end());
  }

  using Rows = std::map<std::pair<std::string_view, std::string>, ShapeSums>;
  Rows run() {
    std::vector<char> counted(t_.size(), 0);
    for (const DeviceOperation& operation : work_.operations) {
      time_ = add_saturated(time_, operation.time());
      if (operation.kind == OperationKind::communication)
        communication_ = add_saturated(communication_, operation.time());
      const NodeId op = launching_operator(t_, work_, operation);
      if (op == kNoNode || is_step(t_.name_of(op))) continue;
      ShapeSums& sums = of(op);
      sums.count += !counted[op];
      counted[op] = 1;
      ++sums.operations;
      sums.fewer = sums.fewer || does_fewer(t_.name_of(operation.node));
      sums.link = sums.link || work::uses_link(work::copy_route(t_.name_of(operation.node)));
      add(sums, operation.node, operation.time(), true);
    }
    for (const NodeId n : t_.nodes()) {  // computation of the host itself
      if (!work_.is_operator[n] || counted[n] || trace::is_comm(t_.type[n]) || !says_work(t_, n)) continue;
      ShapeSums& sums = of(n);
      ++sums.count;
      const Picoseconds time = own_time(n);
      add(sums, n, time, false);
      time_ = add_saturated(time_, time);
    }
    return std::move(rows_);
  }
  const std::optional<device::Device>& device() const { return on_; }
  Picoseconds time() const { return time_; }
  Picoseconds communication() const { return communication_; }
  const std::set<trace::DType>& types() const { return types_; }

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
  ShapeSums& of(NodeId op) { return rows_[{t_.name_of(op), plain_shapes(shapes_of(op))}]; }

  void add(ShapeSums& sums, NodeId n, Picoseconds time, bool on_device) {
    sums.time = add_saturated(sums.time, time);
    if (!says_work(t_, n)) return;
    sums.with_work = add_saturated(sums.with_work, time);
    add_work(sums, n, on_device);
    for (const auto& [whole, piece] : pieces_of(n)) add_work(sums, piece, on_device);
  }

  using Pieces = std::span<const std::pair<NodeId, NodeId>>;
  Pieces pieces_of(NodeId n) const {
    const auto [first, last] = std::equal_range(pieces_.begin(), pieces_.end(), std::pair(n, NodeId(0)),
                                                [](const auto& a, const auto& b) { return a.first < b.first; });
    return {first, last};
  }

  /// Of an operator on the host: between the operators that it calls, it goes on in further pieces.
  Picoseconds own_time(NodeId n) const {
    Picoseconds time = s_.end[n] - s_.start[n];
    for (const auto& [whole, piece] : pieces_of(n)) time = add_saturated(time, s_.end[piece] - s_.start[piece]);
    return time;
  }

  void add_work(ShapeSums& sums, NodeId n, bool on_device) {
    const work::NodeWork work = work::work_of(t_, n);
    sums.work.add(work);
    if (!on_ || !on_device) return void(sums.limited = false);
    const double peak = work.ops > 0 ? device::peak(*on_, work.type).ops_per_s : 0;
    if (work.ops > 0) types_.insert(work.type);
    if (peak > 0) sums.compute_s += static_cast<double>(work.ops) / peak;
    if (on_->memory_bytes_per_s > 0) sums.memory_s += static_cast<double>(work.bytes) / on_->memory_bytes_per_s;
    if ((work.ops > 0 && !(peak > 0)) || !(on_->memory_bytes_per_s > 0)) sums.limited = false;
  }

  const Trace& t_;
  const Schedule& s_;
  const DeviceWork& work_;
  std::optional<device::Device> on_;
  StringId shapes_;
  std::vector<std::pair<NodeId, NodeId>> pieces_;  ///< of a whole node; without the first piece
  Rows rows_;
  Picoseconds time_ = 0, communication_ = 0;  ///< of all device operations, and of all rows
  std::set<trace::DType> types_;              ///< of the FLOPs on the device
};

/// Return the bottleneck of a row.
std::string bound_of_row(const ShapeSums& sums) {
  if (sums.with_work <= 0) return "unknown work";
  if (sums.link) return "link";
  if (!sums.limited) return "unknown device";
  return std::string(sums.compute_s > sums.memory_s ? "compute" : "memory") + (sums.fewer ? " as counted" : "");
}

/// The element types with FLOPs.
std::string types_of(const ShapeSums& sums) {
  std::string types;
  for (size_t i = 0; i < sums.work.ops.size(); ++i)
    if (sums.work.ops[i] > 0) types += (types.empty() ? "" : ", ") + std::string(trace::kDTypeNames[i]);
  return types;
}

// `analyze.shapes.counted` (finding): convolutions by Winograd's algorithm or by Fourier transforms, by the names of
// their kernels, do fewer FLOPs than are counted: their FLOP/s and shares of the roofline are too high.
// `analyze.shapes.above` (finding): other operators are faster than the roofline: their kernels do less than is
// counted, run in a faster element type or at a higher clock, or find data in a cache.
void note_too_fast(const ShapeTable::Rows& rows, int64_t rank, Findings& findings) {
  int64_t fewer = 0, above = 0;
  double most_fewer = 0, most_above = 0;
  for (const auto& [key, sums] : rows) {
    if (sums.with_work <= 0) continue;
    const double part = sums.has_limit() ? sums.part() : 0;
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

Table shape_table() {
  return {
      "Operators by the shapes of their arguments",
      {{"rank", Kind::id, "rank", "the rank"},
       {"operator", Kind::text, "operator", "name of the operator"},
       {"shapes", Kind::text, "shapes", "shapes of its arguments"},
       {"count", Kind::count, "count", "how many there are"},
       {"operations", Kind::count, "operations", "device operations launched right under them"},
       {"time", Kind::time_ps, "time_ps", "their time"},
       {"mean", Kind::time_ps, "mean_ps", "time / count"},
       {"", Kind::time_ps, "with_work_ps", "part of that time in nodes with known work"},
       {"", Kind::ops, "flop", "FLOPs of these nodes; causal attention counts the full square of positions"},
       {"", Kind::bytes, "bytes",
        "bytes of these nodes: inputs read once, outputs written once. Memory moves more if a kernel reads twice or "
        "has a workspace, and less if data are in a cache; for Triton's kernels an upper bound"},
       {"", Kind::text, "types", "element types of the FLOPs"},
       {"intensity", Kind::ops_per_byte, "intensity", "FLOPs / bytes, with the bytes of the arguments alone"},
       {"FLOP/s", Kind::rate_ops_per_s, "flop_s", "FLOP/s, over the time of nodes with known work", Missing::unknown},
       {"bytes/s", Kind::rate_bytes_per_s, "bytes_s", "bytes/s, over the time of nodes with known work",
        Missing::unknown},
       {"", Kind::rate_ops_per_s, "limit_flop_s",
        "FLOP/s if these nodes took the time of the roofline: the longer of FLOPs at the peaks of their element types "
        "and bytes at the memory bandwidth of the recorded device"},
       {"bound", Kind::text, "bound",
        "compute or memory, whichever needs longer at the device's peaks; link: copies between memories, without a "
        "limit here; as counted: the kernels do fewer FLOPs than are counted"},
       {"of the roofline", Kind::share, "of_the_roofline", "that time by the measured one"}},
      {}};
}

void add_rows(const ShapeTable::Rows& rows, int64_t rank, Table& table) {
  std::vector<ShapeTable::Rows::const_iterator> order;
  for (auto at = rows.begin(); at != rows.end(); ++at) order.push_back(at);
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a->second.time > b->second.time; });
  const auto cell_if = [](bool known, double value, const char* otherwise = "") {
    return known ? Cell(value) : Cell(std::string(otherwise));
  };
  for (const auto& at : order) {
    const ShapeSums& sums = at->second;
    const device::Rates rates = device::rates(sums.work, sums.with_work, nullptr);
    const bool known = sums.with_work > 0, limited = sums.has_limit() && sums.work.all_ops() > 0;
    table.rows.push_back({rank, std::string(at->first.first), at->first.second, sums.count, sums.operations, sums.time,
                          sums.time / std::max<int64_t>(1, sums.count), sums.with_work, cell(sums.work.all_ops()),
                          cell(sums.work.bytes), types_of(sums),
                          cell_if(known && sums.work.bytes > 0, sums.work.bytes > 0 ? sums.intensity() : 0),
                          cell_if(known, rates.ops_per_s, "unknown"), cell_if(known, rates.bytes_per_s, "unknown"),
                          cell_if(limited, limited ? static_cast<double>(sums.work.all_ops()) / sums.limit_s() : 0),
                          bound_of_row(sums), cell_if(sums.has_limit(), sums.has_limit() ? sums.part() : 0)});
  }
}

Table coverage_table() {
  return {
      "Time of operators on the roofline, and time without a place there",
      {{"rank", Kind::id, "rank", "the rank"},
       {"device", Kind::text, "device", "the recorded device"},
       {"time", Kind::time_ps, "time_ps", "time of all device operations, and of host operators with known work"},
       {"placed", Kind::share, "placed",
        "share of that time in rows of 'shapes' with FLOPs and bytes: nodes with known work"},
       {"bytes only", Kind::share, "bytes_only", "share in rows that move bytes without FLOPs: nodes with known work"},
       {"communication", Kind::share, "communication", "share in kernels of collectives and messages"},
       {"no formula", Kind::share, "no_formula",
        "the rest: operators without a formula or without recorded shapes, and operations without a recorded "
        "operator"}},
      {}};
}

/// The shares of a rank's time add up to 1.
void add_coverage(const ShapeTable& maker, const ShapeTable::Rows& rows, int64_t rank, Table& table) {
  Picoseconds placed = 0, bytes_only = 0;
  for (const auto& [key, sums] : rows) {
    if (sums.placed()) placed = add_saturated(placed, sums.with_work);
    else if (sums.work.all_ops() == 0) bytes_only = add_saturated(bytes_only, sums.with_work);
  }
  const Picoseconds all = maker.time();
  if (all <= 0) return;
  const Picoseconds rest = std::max<Picoseconds>(all - placed - bytes_only - maker.communication(), 0);
  table.rows.push_back({rank, maker.device() ? maker.device()->name : std::string("not known"), all, share(placed, all),
                        share(bytes_only, all), share(maker.communication(), all), share(rest, all)});
}

Table limit_table() {
  return {
      "Limits of the recorded devices, by their data sheets",
      {{"device", Kind::text, "device", "the recorded device"},
       {"type", Kind::text, "type", "element type of FLOPs in 'shapes'"},
       {"as", Kind::text, "as", "element type of the number in the data sheet"},
       {"peak", Kind::rate_ops_per_s, "peak_flop_s", "dense peak of the fastest unit of the device"},
       {"memory", Kind::rate_bytes_per_s, "memory_bytes_s", "memory bandwidth"},
       {"ridge", Kind::ops_per_byte, "ridge", "intensity from which the peak is the limit: peak / memory bandwidth"}},
      {}};
}

void add_limits(const ShapeTable& maker, std::set<std::pair<std::string, trace::DType>>& known, Table& table) {
  if (!maker.device() || !(maker.device()->memory_bytes_per_s > 0)) return;
  const device::Device& on = *maker.device();
  for (const trace::DType type : maker.types()) {
    const device::Peak peak = device::peak(on, type);
    if (!(peak.ops_per_s > 0) || !known.emplace(on.name, type).second) continue;
    table.rows.push_back({on.name, std::string(trace::name(type)), std::string(trace::name(peak.as)), peak.ops_per_s,
                          on.memory_bytes_per_s, peak.ops_per_s / on.memory_bytes_per_s});
  }
}

}  // namespace

Result<std::vector<NamedTable>> shapes(const Job& job, Findings& findings) {
  Table table = shape_table(), coverage = coverage_table(), limits = limit_table();
  std::set<std::pair<std::string, trace::DType>> known;
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    ShapeTable maker(t, job.schedules[r], device_work(job, r));
    const ShapeTable::Rows rows = maker.run();
    note_too_fast(rows, t.rank, findings);
    add_rows(rows, t.rank, table);
    add_coverage(maker, rows, t.rank, coverage);
    add_limits(maker, known, limits);
  }
  return std::vector<NamedTable>{
      {"shapes", std::move(table)}, {"roofline", std::move(coverage)}, {"roofline_limits", std::move(limits)}};
}

}  // namespace chakra::analyze
