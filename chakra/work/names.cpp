// What names alone show: copies on a device, kernels that compute in tf32, nodes of generated traces.
#include <algorithm>
#include <array>

#include "chakra/base/base.h"
#include "chakra/work/work.h"

namespace chakra::work {
namespace {

struct RouteName {
  std::string_view part;
  CopyRoute route;
};
/// CUPTI's names and ROCm's; the first row whose text is in the name.
constexpr std::array<RouteName, 10> kRoutes{{{"HtoD", CopyRoute::host_to_device},
                                             {"HostToDevice", CopyRoute::host_to_device},
                                             {"DtoH", CopyRoute::device_to_host},
                                             {"DeviceToHost", CopyRoute::device_to_host},
                                             {"DtoD", CopyRoute::within_device},
                                             {"DeviceToDevice", CopyRoute::within_device},
                                             {"PtoP", CopyRoute::between_devices},
                                             {"PeerToPeer", CopyRoute::between_devices},
                                             {"HtoH", CopyRoute::within_host},
                                             {"HostToHost", CopyRoute::within_host}}};

/// In the names of kernels that multiply floats as tf32.
constexpr std::array<std::string_view, 4> kTf32{"tf32", "s1688", "xf32", "TF32"};

struct NameEnding {
  std::string_view name;
  WorkKind kind;
};
/// How names of generated nodes without a kernel end; the first that fits.
constexpr std::array<NameEnding, 23> kEndings{{{".dgrad", WorkKind::matrix},
                                               {".wgrad", WorkKind::matrix},
                                               {"experts.gate", WorkKind::matrix},
                                               {"experts.up", WorkKind::matrix},
                                               {"experts.down", WorkKind::matrix},
                                               {".cast", WorkKind::copy},
                                               {".optimizer", WorkKind::optimizer},
                                               {"gradients.norm", WorkKind::reduction},
                                               {"norm", WorkKind::normalization},
                                               {"loss.max", WorkKind::reduction},
                                               {"loss.sum", WorkKind::reduction},
                                               {"loss.target", WorkKind::reduction},
                                               {"loss", WorkKind::loss},
                                               {"attention", WorkKind::attention},
                                               {"embedding", WorkKind::lookup},
                                               {"positions", WorkKind::lookup},
                                               {"dispatch", WorkKind::copy},
                                               {"combine", WorkKind::copy},
                                               {".activation", WorkKind::elementwise},
                                               {".modulate", WorkKind::elementwise},
                                               {"residual", WorkKind::elementwise},
                                               {".sum", WorkKind::elementwise},
                                               {".scale", WorkKind::elementwise}}};
/// What backward adds to the name of what it undoes or does again.
constexpr std::array<std::string_view, 2> kBackward{".grad", ".again"};

}  // namespace

CopyRoute copy_route(std::string_view device_op) {
  if (contains(device_op, "cpy") || contains(device_op, "opy"))  // Memcpy, Copy, copy
    for (const RouteName& row : kRoutes)
      if (contains(device_op, row.part)) return row.route;
  return device_op.starts_with("Memcpy") ? CopyRoute::unknown : CopyRoute::none;
}

bool is_communication_kernel(std::string_view device_op) {
  if (device_op.starts_with("void ")) device_op.remove_prefix(5);
  for (const std::string_view library : {"nccl", "rccl", "msccl"})
    if (device_op.starts_with(library)) return true;
  return false;
}

trace::DType computed_in(WorkKind kind, trace::DType type, std::string_view kernel) {
  if (type != trace::DType::f32 || !row_of(kind).product) return type;
  const bool tf32 =
      std::any_of(kTf32.begin(), kTf32.end(), [&](std::string_view part) { return contains(kernel, part); });
  return tf32 ? trace::DType::tf32 : type;
}

std::optional<WorkKind> kind_of_generated(std::string_view name) {
  const auto* const row =
      std::find_if(kEndings.begin(), kEndings.end(), [&](const NameEnding& r) { return name.ends_with(r.name); });
  return row == kEndings.end() ? std::nullopt : std::optional(row->kind);
}

bool remove_backward(std::string_view& name) {
  const size_t before = name.size();
  for (const std::string_view ending : kBackward)
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return name.size() < before;
}

}  // namespace chakra::work
