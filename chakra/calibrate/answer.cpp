// The answers of calibrations, and what people read of them.
#include <algorithm>

#include "chakra/answer/rows.h"
#include "chakra/calibrate/calibrate.h"

namespace chakra::calibrate {
namespace {

using answer::column;
using answer::column_if;
using answer::joined;
using answer::kNumberRows;
using answer::Missing;
using answer::rows;
using answer::Unit;

// ---- devices -------------------------------------------------------------------------------------------------

struct Kernel {
  const device::KernelTable* table = nullptr;
  const KernelFit* fit = nullptr;
};
struct Constant {
  double value = 0, error = 0;

  /// Null where it is not determined.
  std::optional<double> known_error() const { return error < kUndetermined ? std::optional(error) : std::nullopt; }
};

constexpr std::array kDevice{
    column<FittedDevice>("device", Unit::none, "the device", [](const auto& d) { return d.device.name; })};
template <class Get>
constexpr auto value_of(std::string_view key, std::string_view meaning, Get) {
  return column<Kernel>(key, Unit::none, meaning, [](const Kernel& k) -> std::optional<double> {
    const std::optional<Constant> constant = Get{}(k);
    return constant ? std::optional(constant->value) : std::nullopt;
  });
}
template <class Get>
constexpr auto error_of(std::string_view key, Get) {
  return column<Kernel>(key, Unit::share, "its standard error; null where it is not determined",
                        [](const Kernel& k) -> std::optional<double> {
                          const std::optional<Constant> constant = Get{}(k);
                          return constant ? constant->known_error() : std::nullopt;
                        });
}
constexpr auto kOpsTime = [](const Kernel& k) -> std::optional<Constant> {
  if (k.table->kind().ops(k.table->measured()[0].sizes) <= 0) return std::nullopt;
  return Constant{k.table->constants().ops_time, k.fit->accuracy.ops_time};
};
constexpr auto kFixed = [](const Kernel& k) -> std::optional<Constant> {
  return Constant{k.table->constants().fixed_s * 1e6, k.fit->accuracy.fixed_s};
};
constexpr auto kStep = [](const Kernel& k) -> std::optional<Constant> {
  if (k.table->constants().step_s <= 0) return std::nullopt;
  return Constant{k.table->constants().step_s * 1e9, k.fit->accuracy.step_s};
};
template <class Get>
constexpr auto judged(std::string_view key, std::string_view meaning, Get, Unit unit = Unit::share) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Get, const Kernel&, const device::KernelError&>>;
  return column<Kernel>(key, unit, meaning, [](const Kernel& k) {
    return k.table->error ? std::optional<Value>(Get{}(k, *k.table->error)) : std::nullopt;
  });
}
constexpr std::array kKernels{
    column<Kernel>("kernel", Unit::none, "the kernel", [](const auto& k) { return std::string(k.table->name()); }),
    column<Kernel>("type", Unit::none, "the element type",
                   [](const auto& k) { return std::string(trace::name(k.table->type())); }),
    column<Kernel>("rows", Unit::count, "rows that were measured", [](const auto& k) { return k.fit->rows; }),
    column<Kernel>("shapes", Unit::count, "their shapes", [](const auto& k) { return k.table->measured().size(); }),
    value_of("ops_time.value", "time of operations by that at the peak", kOpsTime),
    error_of("ops_time.error", kOpsTime),
    rows<Kernel>("bytes_time", "of each tensor: time of its bytes by that at the rate of memory"),
    value_of("fixed_us.value", "microseconds that each takes", kFixed),
    error_of("fixed_us.error", kFixed),
    value_of("step_ns.value", "nanoseconds that a step takes", kStep),
    error_of("step_ns.error", kStep),
    column<Kernel>("overlap", Unit::none, "the parts overlap; else they add up",
                   [](const auto& k) { return k.table->constants().overlap; }),
    judged("judged.random", "mean error on a held-out random third of shapes",
           [](const Kernel&, const auto& e) { return e.random; }),
    judged("judged.random_95", "what 95 % of these errors do not exceed",
           [](const Kernel& k, const auto&) { return k.fit->random_95; }),
    judged("judged.block", "mean error if all shapes with one value of a size are held out",
           [](const Kernel&, const auto& e) { return e.block; }),
    judged("judged.worst", "the worst of these errors", [](const Kernel&, const auto& e) { return e.worst; }),
    judged(
        "judged.worst_of", "the value of a size where that is", [](const Kernel&, const auto& e) { return e.worst_of; },
        Unit::none),
    judged("judged.extrapolated", "share of these shapes that are marked as extrapolated",
           [](const Kernel& k, const auto&) { return k.fit->extrapolated; }),
    judged("judged.roofline", "mean error of the data sheet on the random third",
           [](const Kernel&, const auto& e) { return e.roofline; })};
constexpr std::array kConstants{
    column<&Constant::value>("value", Unit::none, "the constant"),
    column<Constant>("error", Unit::share, "its standard error; null where it is not determined",
                     [](const auto& c) { return c.known_error(); })};

std::vector<Constant> bytes_times(const Kernel& k) {
  std::vector<Constant> times;
  for (size_t t = 0; t < k.table->kind().tensor_count(); ++t)
    times.push_back({k.table->constants().bytes_time[t], k.fit->accuracy.bytes_time[t]});
  return times;
}

// ---- networks ------------------------------------------------------------------------------------------------

/// Null where nothing was judged.
template <class Row, class Get>
constexpr auto of_error(std::string_view key, Unit unit, std::string_view meaning, Get) {
  using Value = std::invoke_result_t<Get, const FitError&>;
  return column<Row>(key, unit, meaning, [](const Row& row) {
    const FitError* error = nullptr;
    if constexpr (std::same_as<Row, FitError>) error = &row;
    else error = &row.held_out;
    return error->points > 0 ? std::optional<Value>(Get{}(*error)) : std::nullopt;
  });
}
template <class Row>
constexpr std::array<answer::Column<Row>, 3> error_columns(std::string_view points, std::string_view error,
                                                           std::string_view worst) {
  return {of_error<Row>(points, Unit::count, "times that were predicted", [](const FitError& e) { return e.points; }),
          of_error<Row>(error, Unit::share, "mean of |ln(predicted / measured)|, as a share",
                        [](const FitError& e) { return e.mean; }),
          of_error<Row>(worst, Unit::share, "the worst of them", [](const FitError& e) { return e.worst; })};
}
constexpr auto kError = error_columns<FitError>("points", "error", "worst");
constexpr std::array kMostOf95{of_error<FitError>("most_of_95", Unit::share, "what 95 % of them do not exceed",
                                                  [](const FitError& e) { return e.most_of_95; })};
template <class Get>
constexpr auto of_fit(std::string_view key, Unit unit, std::string_view meaning, Get) {
  return column<FittedOperation>(key, unit, meaning, [](const FittedOperation& o) { return Get{}(o.fit); });
}
constexpr auto kOperations = joined(
    std::array{of_fit("operation", Unit::none, "the operation", [](const auto& f) { return f.form->operation; }),
               of_fit("algorithm", Unit::none, "the algorithm", [](const auto& f) { return f.form->algorithm; }),
               rows<FittedOperation>("ranks", "numbers of members, of a node, that were measured"),
               rows<FittedOperation>(
                   "nodes", "numbers of nodes that were measured; null on one node",
                   [](const FittedOperation& o) { return o.fit.across; }, Missing::null),
               of_fit("from_bytes", Unit::bytes, "the smallest size", [](const auto& f) { return f.from_bytes; }),
               of_fit("to_bytes", Unit::bytes, "the largest size", [](const auto& f) { return f.to_bytes; }),
               column_if<FittedOperation>([](const FittedOperation& o) { return o.fit.across; }, "from_parts",
                                          Unit::none, "across nodes: put together from parts, not measured",
                                          [](const FittedOperation& o) { return o.fit.nodes.empty(); })},
    error_columns<FittedOperation>("held_out.points", "held_out.error", "held_out.worst"));
constexpr std::array kSamples{
    column<&FittedNetwork::samples>("samples", Unit::count, "measured times: medians of equal rows")};
constexpr std::array kParts{
    column<&FittedNetwork::rail_bytes_per_s>("from_parts.rail_bytes_per_s", Unit::bytes_per_s,
                                             "what a rail between nodes carries"),
    column<&FittedNetwork::node_step_ns>(
        "from_parts.step_ns", Unit::ns,
        "what a step of Simple between nodes takes, by NCCL's own model and measured all-to-alls")};
constexpr std::array kOneNumber{column<FittedNetwork>(
    "one_number_of_ranks", Unit::none, "an operation was measured with one number of ranks: others are a guess",
    [](const auto& fitted) {
      return std::any_of(fitted.operations.begin(), fitted.operations.end(),
                         [](const FittedOperation& o) { return !o.fit.across && o.fit.ranks.size() == 1; });
    })};

// ---- as text -------------------------------------------------------------------------------------------------

constexpr std::array<view::ShowColumn, 15> kShowKernels{{
    {.key = "kernel", .heading = "kernel"},
    {.key = "type", .heading = "type"},
    {.key = "rows", .heading = "rows"},
    {.key = "shapes", .heading = "shapes"},
    {.key = "{ops_time.value}[ +- {ops_time.error}|, undetermined]", .heading = "ops time"},
    {.key = "{bytes_time*}", .heading = "bytes time, error"},
    {.key = "{fixed_us.value}[ +- {fixed_us.error}|, undetermined]", .heading = "fixed us"},
    {.key = "{step_ns.value}[ +- {step_ns.error}|, undetermined]", .heading = "step ns"},
    {.key = "[{?overlap}overlap|add up]", .heading = "parts"},
    {.key = "[{judged.random}|not judged]", .heading = "random third"},
    {.key = "judged.random_95", .heading = "p95"},
    {.key = "judged.block", .heading = "blocks"},
    {.key = "{judged.worst} ({judged.worst_of})", .heading = "worst block"},
    {.key = "judged.extrapolated", .heading = "marked"},
    {.key = "judged.roofline", .heading = "roofline"},
}};
constexpr std::array<view::Show, 3> kDeviceText{{
    {.line = "{subject}: {device}"},
    {.table = "kernels", .first = view::kAllRows, .columns = kShowKernels},
    {.findings = true},
}};

constexpr std::array<view::ShowColumn, 7> kShowOperations{{
    {.key = "{operation} {algorithm}", .heading = "operation"},
    {.key = "{ranks*}[{?from_parts} x any| x {nodes*}]", .heading = "ranks"},
    {.key = "from_bytes", .heading = "from"},
    {.key = "to_bytes", .heading = "to"},
    {.key = "held_out.points", .heading = "points"},
    {.key = "held_out.error", .heading = "error"},
    {.key = "held_out.worst", .heading = "worst"},
}};
constexpr std::string_view kHeldOutLine =
    "[Error on held-out sizes, each eighth predicted from the others: {held_out.error} over {held_out.points} points, "
    "worst {held_out.worst}|Error: unknown, too few sizes were measured to hold any out]";
constexpr std::string_view kJudgedLine =
    "\nError on the measurements of --judge: {judged.error} over {judged.points} points, p95 {judged.most_of_95}, "
    "worst {judged.worst}";
constexpr std::string_view kPartsLine =
    "\n'x any': put together from parts, not measured across nodes. Inside a node they are as fitted there; between "
    "nodes, a rail carries {from_parts.rail_bytes_per_s}, and a step takes at most {from_parts.step_ns}, by NCCL's "
    "model.";
constexpr std::string_view kScaleLine =
    "\nSeveral nodes: times with more ranks per node, predicted from the fewest and from one node: {scale.error} over "
    "{scale.points} points, worst {scale.worst}";
constexpr std::string_view kOneNumberLine =
    "\n{?one_number_of_ranks}Measurements with a single number of ranks do not separate steps and local bytes from "
    "the rest; predictions for another number of ranks are a guess.";
constexpr std::array<view::Show, 11> kNetworkText{{
    {.line = "{samples} measured times (medians of equal rows)"},
    {.line = kHeldOutLine},
    {.table = "operations", .first = view::kAllRows, .columns = kShowOperations},
    {.line = kJudgedLine},
    {.table = "judged.*", .first = 24},
    {.table = "parameters*", .first = view::kAllRows},
    {.line = "\n{?#operations.nodes}Across nodes (ranks of a node x nodes), 'per step' is a step between nodes, 'wire' "
             "the rate of a rail."},
    {.line = kPartsLine},
    {.line = kScaleLine},
    {.line = kOneNumberLine},
    {.findings = true},
}};

}  // namespace

answer::Answer answer_of(const FittedDevice& fitted) {
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < fitted.device.kernels.size(); ++i)
    kernels.push_back({&fitted.device.kernels[i], &fitted.fits[i]});
  answer::Builder to("calibrate device");
  to.values("", &fitted, kDevice);
  to.table("kernels", "kernels by element type", kernels, kKernels);
  to.children("kernels", "bytes_time", kernels, bytes_times, kConstants);
  return std::move(to).finish(fitted.findings);
}

answer::Answer answer_of(const FittedNetwork& fitted) {
  answer::Builder to("calibrate network");
  to.values("", &fitted, kSamples);
  to.values("held_out.", &fitted.held_out, kError);
  to.values("scale.", &fitted.scale, kError);
  to.values("judged.", &fitted.judged, kError);
  to.values("judged.", fitted.judged.points > 0 ? &fitted.judged : nullptr, kMostOf95);
  result::add_table(to, "judged.groups", fitted.judged_table, fitted.judged.points > 0, "by operation and ranks");
  to.table("operations", "operations that were fitted", fitted.operations, kOperations);
  to.children(
      "operations", "ranks", fitted.operations, [](const auto& o) -> const auto& { return o.fit.ranks; }, kNumberRows);
  to.children(
      "operations", "nodes", fitted.operations, [](const auto& o) -> const auto& { return o.fit.nodes; }, kNumberRows);
  to.values("", fitted.node_step_ns > 0 ? &fitted : nullptr, kParts);
  to.values("", &fitted, kOneNumber);
  result::add_table(to, "parameters", fitted.table, true, "the fitted parameters, with standard errors");
  return std::move(to).finish(fitted.findings);
}

view::Text text_of(const FittedDevice& fitted) { return {kDeviceText, fitted.output}; }
view::Text text_of(const FittedNetwork&) { return {kNetworkText}; }

}  // namespace chakra::calibrate
