#include "chakra/sim/kernel_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chakra/work/work.h"

namespace chakra::sim {

namespace {

/// Attention that is not the whole of forward: by the rate that the whole reaches at its sizes.
///
/// Backward does 2.5 times the operations of forward at 0.80 of its rate: FlashAttention 2 on the A100 230 and 190
/// TFLOP/s (T. Dao, 2023), FlashAttention 3 on the H100 740 and 580 (J. Shah et al., 2024). The trace counts twice
/// forward's, since activation recomputation is not work of the model.
struct Variant {
  std::string_view name;
  double time;  ///< of an operation that the trace counts, over forward's
};
constexpr double kBackwardTime = 2.5 / 2 / 0.8, kVariantError = 0.15;
constexpr std::array<Variant, 5> kVariants{{{"attention.backward", kBackwardTime},
                                            {"attention.part", 1},
                                            {"attention.part_backward", kBackwardTime},
                                            {"latent_attention.part", 1},
                                            {"experts.backward", 1}}};

/// A GEMM that was measured in a slower element type keeps the share of the peak that it reaches there. One that was
/// measured in a faster type takes more by the difference that the class of GEMMs has: what does not depend on
/// the type (waves, launch) stays as it was. Another kernel takes more by its wider elements at the memory's bandwidth.
constexpr double kTypeError = 0.25;

const device::KernelTable* table_of_any_type(const device::Device& device, std::string_view name) {
  for (const device::KernelTable& table : device.kernels)
    if (table.name() == name) return &table;
  return nullptr;
}

/// Another way to compute the kernel, the one without a name first: its error is kTypeError more.
const device::KernelTable* table_of_any_way(const device::Device& device, const work::KernelKind& kind,
                                            device::DType type) {
  if (const device::KernelTable* table = device::find_table(device, kind.name, type)) return table;
  for (const device::KernelTable& table : device.kernels)
    if (&table.kind() == &kind)
      if (const device::KernelTable* same = device::find_table(device, table.name(), type)) return same;
  return nullptr;
}

/// Tables of experts were measured with equal numbers of tokens for each expert, unless their name has a distribution
/// (docs/reference/formats/measured_kernels.md): few tokens then meet as many experts as they have choices. Tokens of a
/// model choose without regard to each other and meet fewer, and few tokens take the time of the matrices that are
/// read. For 2,121 shapes of the H100 with few tokens, that were measured in both ways, this is 10 % off, and the table
/// 24 % (docs/explanation/calibration.md).
double chosen_of_even(const device::KernelTable& table, const work::KernelShape& shape) {
  constexpr std::string_view kUneven = ".power_law";
  if (shape.kind->name != "experts" || table.name().find(kUneven) != std::string::npos) return 1;
  const auto& [tokens, hidden, width, experts, choices, ranks] = shape.sizes;
  if (choices >= experts) return 1;
  return experts * -std::expm1(tokens * std::log1p(-choices / experts)) / std::min(experts, tokens * choices);
}
/// Of the time that the choices save, this share is not sure.
constexpr double kChoiceError = 0.5;

device::RooflineParts roofline(const device::Device& device, device::DType type, const work::KernelShape& shape) {
  return device::roofline_parts(device, *shape.kind, type, shape.sizes);
}
double longer(const device::RooflineParts& parts) { return std::max(parts.ops_s, parts.bytes_s()); }

/// By the sum of what is not sure: error + more.
double with(double error, double more) { return error > 0 ? (1 + error) * (1 + more) - 1 : 0; }

KnownShapes::Known predict(const device::Device& device, device::DType type, std::string_view text) {
  KnownShapes::Known known{&device, type, {}, 0, 0};
  const std::optional<work::KernelShape> shape = work::parse_kernel(text);
  if (!shape) return known;
  known.ops = shape->kind->ops(shape->sizes);
  known.bytes = work::sum_of(shape->kind->elements(shape->sizes)) * work::bytes_of(type);
  if (const double rate = device.stack.attention_ops_per_s; rate > 0 && shape->kind->name == "attention") {
    known.time = {known.ops / rate, false, false, device.stack.error, nullptr};
    known.by_ops = true;
    return known;
  }
  const device::KernelTable* table = device::find_table(device, shape->name, type);
  const Variant* const variant = table ? nullptr : find_row(kVariants, shape->name);
  if (variant) table = device::find_table(device, shape->kind->name, type);
  const bool same_way = table != nullptr;
  if (!table && shape->kind->is_own) table = table_of_any_way(device, *shape->kind, type);
  const bool same_type = table != nullptr;
  if (!table) table = table_of_any_type(device, variant ? shape->kind->name : shape->name);
  if (!table) return known;
  const device::KernelTable::Prediction predicted = table->predict(shape->sizes);
  known.time = {predicted.seconds, predicted.extrapolated, predicted.unaligned, 0, table};
  known.time.error = table->error_of(predicted);
  if (!same_type) {
    const double here = longer(roofline(device, type, *shape)), there = longer(roofline(device, table->type(), *shape));
    const device::ClassPrices& prices = device.prices ? *device.prices : device::kUsualPrices;
    if (known.ops > 0 && here < there) known.time.seconds *= here / there;
    else known.time.seconds += std::max(0.0, here - there) * (known.ops > 0 ? prices.compute.times : 1);
    known.time.error = with(known.time.error, kTypeError);
    known.time.extrapolated = true;
  } else if (!same_way) {
    known.time.error = with(known.time.error, kTypeError);
    known.time.extrapolated = true;
  }
  if (const double chosen = chosen_of_even(*table, *shape); chosen < 1) {
    known.time.seconds *= chosen;
    known.time.error = with(known.time.error, kChoiceError * (1 - chosen));
  }
  known.time.seconds *= known.ops > 0
                            ? device::sustained(device, type, roofline(device, type, *shape).ops_s / known.time.seconds)
                            : device.stack.elementwise_time;
  if (variant) {
    known.time.seconds *= variant->time;
    known.time.error = with(known.time.error, kVariantError);
    known.by_ops = true;
  }
  return known;
}

}  // namespace

const KnownShapes::Known& KnownShapes::look_up(const device::Device& device, device::DType type,
                                               std::string_view shape) {
  std::vector<Known>& same = known_[std::string(shape)];
  for (const Known& known : same)
    if (known.device == &device && known.type == type) return known;
  return same.emplace_back(predict(device, type, shape));
}

std::optional<KernelTime> KernelTimes::on(const device::Device& device, trace::NodeId node) {
  if (attr_ == 0 || (device.kernels.empty() && device.stack.attention_ops_per_s == 0)) return std::nullopt;
  std::string_view text;
  const trace::Attrs::Range attrs = t_.attrs_of(node);
  for (auto at = attrs.begin(); at != attrs.end(); ++at)
    if (const trace::Attr attr = *at; attr.name == attr_) text = attr.text().value_or("");
  if (text.empty()) return std::nullopt;
  const work::NodeWork work = work::work_of(t_, node);
  const KnownShapes::Known& known = shapes_.look_up(device, work.type, text);
  if (known.time.seconds == 0) return std::nullopt;
  KernelTime time = known.time;
  const double part = known.ops > 0 ? static_cast<double>(work.ops) / known.ops : 0;
  if (part > 0) time.seconds *= known.by_ops ? part : std::min(1.0, part);
  else if (work.bytes > 0 && known.ops == 0)
    time.seconds *= std::min(1.0, static_cast<double>(work.bytes) / known.bytes);
  if (known.by_ops)  // few operations take what their bytes take, or what every kernel does
    time.seconds = std::max({time.seconds, static_cast<double>(work.bytes) / device.memory_bytes_per_s,
                             device.prices.value_or(device::kUsualPrices).fixed_s});
  return time;
}

double part_of_expert_layer(const device::Device& device, std::string_view node) {
  constexpr std::array<std::string_view, 4> kMoves{".dispatch", ".combine", ".dispatch.grad", ".combine.grad"};
  if (device.stack.expert_layer_s == 0) return 0;
  const bool moves = std::any_of(kMoves.begin(), kMoves.end(), [&](auto ending) { return node.ends_with(ending); });
  return moves ? device.stack.expert_layer_s / static_cast<double>(kMoves.size()) : 0;
}

void TableUse::add(const TableUse& more, int64_t times) {
  for (Picoseconds TableUse::*const part : {&TableUse::all_ps, &TableUse::extrapolated_ps, &TableUse::unaligned_ps})
    this->*part = add_saturated(this->*part, multiply_saturated(more.*part, times));
}

std::string describe(const device::Device& device, const device::KernelTable& table, const TableUse& use) {
  const auto [least, most] = table.range();
  std::string sizes;
  for (size_t i = 0; i < table.kind().size(); ++i)
    sizes += fmt::format("{}{} {:g} to {:g}", i == 0 ? "" : ", ", table.kind().sizes[i], least[i], most[i]);
  std::string text = fmt::format("{}, {} in {}: {} of device time from measured {}", device.name, table.name(),
                                 trace::name(table.type()), show_time(use.all_ps), sizes);
  std::string unaligned;
  if (use.unaligned_ps > 0)
    unaligned = fmt::format(
        "; {} of the time is in unmeasured shapes whose rows are not a multiple of {:g} bytes: {}",
        show_percent(static_cast<double>(use.unaligned_ps) / static_cast<double>(use.all_ps)), device::kPieceBytes,
        device.unaligned_time > 1
            ? fmt::format("scaled by {:g} (unaligned-time), with an unknown error", device.unaligned_time)
            : "the device file has no unaligned-time for them");
  if (!table.error) return text + "; its error is unknown" + unaligned;
  text += fmt::format("; off by {} on held-out shapes", show_percent(table.error->random));
  if (use.extrapolated_ps > 0)
    text += fmt::format("; {} of it is extrapolated: off by {} where a whole size was held out, {} at worst ({})",
                        show_percent(static_cast<double>(use.extrapolated_ps) / static_cast<double>(use.all_ps)),
                        show_percent(table.error->block), show_percent(table.error->worst), table.error->worst_of);
  return text + unaligned;
}

}  // namespace chakra::sim
