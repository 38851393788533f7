#include "chakra/sim/kernel_times.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::sim {

namespace {

KnownShapes::Known predict(const device::Device& device, device::DType type, std::string_view text) {
  KnownShapes::Known known{&device, type, {}, 0, 0};
  const std::optional<device::KernelShape> shape = device::parse_kernel(text);
  if (!shape) return known;
  known.time.table = device::find_table(device, shape->name, type);
  if (!known.time.table) return known;
  const device::KernelTable::Prediction predicted = known.time.table->predict(shape->sizes);
  known.time = {predicted.seconds, predicted.extrapolated, predicted.unaligned, known.time.table};
  known.ops = shape->kind->ops(shape->sizes);
  known.bytes = device::sum_of(shape->kind->elements(shape->sizes)) * device::bytes_of(type);
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
  if (attr_ == 0 || device.kernels.empty()) return std::nullopt;
  std::string_view text;
  const trace::Attrs::Range attrs = t_.attrs_of(node);
  for (auto at = attrs.begin(); at != attrs.end(); ++at)
    if (const trace::Attr attr = *at; attr.name == attr_) text = attr.text().value_or("");
  if (text.empty()) return std::nullopt;
  const device::Work work = device::work_of(t_, node);
  const KnownShapes::Known& known = shapes_.look_up(device, work.type, text);
  if (!known.time.table) return std::nullopt;
  KernelTime time = known.time;
  if (work.ops > 0 && known.ops > 0) time.seconds *= std::min(1.0, static_cast<double>(work.ops) / known.ops);
  else if (work.bytes > 0 && known.ops == 0)
    time.seconds *= std::min(1.0, static_cast<double>(work.bytes) / known.bytes);
  return time;
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
        "; {} of it is in shapes whose rows are not a multiple of {:g} bytes, and none of those was measured: {}",
        show_percent(static_cast<double>(use.unaligned_ps) / static_cast<double>(use.all_ps)), device::kPieceBytes,
        device.unaligned_time > 1
            ? fmt::format("times {:g} (unaligned-time), whose error is not known", device.unaligned_time)
            : "the device file has no unaligned-time for them");
  if (!table.error) return text + "; its error is not known" + unaligned;
  text += fmt::format("; off by {} on shapes kept out", show_percent(table.error->random));
  if (use.extrapolated_ps > 0)
    text += fmt::format("; {} of it is extrapolated: by {} where a whole size was kept out, {} at worst ({})",
                        show_percent(static_cast<double>(use.extrapolated_ps) / static_cast<double>(use.all_ps)),
                        show_percent(table.error->block), show_percent(table.error->worst), table.error->worst_of);
  return text + unaligned;
}

}  // namespace chakra::sim
