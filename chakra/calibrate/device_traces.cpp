// Measured kernels of linked traces: their nodes have shapes.
#include <filesystem>

#include "chakra/calibrate/device_rows.h"
#include "chakra/work/work.h"

namespace chakra::calibrate {
namespace {

constexpr double kWhole = 0.99;  ///< the share of its kernel's work from which on a node does all of it

std::string_view text_of(const trace::Trace& t, trace::NodeId n, StringId name) {
  const trace::Attrs::Range attrs = t.attrs_of(n);
  for (auto at = attrs.begin(); at != attrs.end(); ++at)
    if (const trace::Attr attr = *at; attr.name == name) return attr.text().value_or("");
  return "";
}

/// Whether a node does all that its kernel does: backward passes and kernels in several pieces do parts.
bool is_whole(const work::NodeWork& work, const work::KernelShape& shape) {
  const double ops = shape.kind->ops(shape.sizes);
  if (ops > 0) return static_cast<double>(work.ops) >= kWhole * ops;
  return static_cast<double>(work.bytes) >=
         kWhole * work::sum_of(shape.kind->elements(shape.sizes)) * work::bytes_of(work.type);
}

}  // namespace

void add_measured_kernels(const trace::Trace& t, MeasuredRows& rows) {
  const std::string name = std::filesystem::path(t.file).filename().string();
  rows.source += (rows.source.empty() ? "" : ", ") + name;
  const StringId attr = t.strings.find("kernel");
  for (trace::NodeId n{0}; attr != 0 && n < t.size(); ++n) {
    if (t.type[n] != trace::NodeType::comp || t.on_cpu(n) || !t.has_start(n) || t.dur_ps[n] <= 0) continue;
    const std::optional<work::KernelShape> shape = work::parse_kernel(text_of(t, n, attr));
    if (!shape) continue;
    const work::NodeWork work = work::work_of(t, n);
    if (work.type == device::DType::unknown || !is_whole(work, *shape)) {
      ++rows.skipped[work.type == device::DType::unknown ? "nodes without an element type"
                                                         : "nodes that cover only a part of their kernel"];
      continue;
    }
    const int64_t device = t.lane[n] == trace::kNoLane ? -1 : t.lanes[t.lane[n]].process;
    rows.kernels[std::string(device::recorded_name(t, device))][{std::string(shape->name), work.type}].push_back(
        {shape->sizes, static_cast<double>(t.dur_ps[n]) / kPsPerSecond});
  }
}

}  // namespace chakra::calibrate
