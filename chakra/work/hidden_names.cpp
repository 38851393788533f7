#include "chakra/work/hidden_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/trace/roles.h"
#include "chakra/work/work.h"

namespace chakra::work {
namespace {

/// Classes of kernels: the first that a kernel's name contains, in any case, decides.
constexpr auto kKernelClasses = std::to_array<std::string_view>(
    {"gemm", "conv",        "attention", "flash",     "softmax", "layer_norm", "rms_norm", "batch_norm",
     "norm", "elementwise", "reduce",    "embedding", "index",   "sort",       "scan",     "topk",
     "copy", "cat",         "dropout",   "adam",      "loss",    "rope",       "triton"});

struct CopyKind {
  CopyRoute route;
  std::string_view kind;
};
constexpr std::array<CopyKind, 6> kCopies{{{CopyRoute::host_to_device, "Memcpy HtoD"},
                                           {CopyRoute::device_to_host, "Memcpy DtoH"},
                                           {CopyRoute::within_device, "Memcpy DtoD"},
                                           {CopyRoute::between_devices, "Memcpy PtoP"},
                                           {CopyRoute::within_host, "Memcpy HtoH"},
                                           {CopyRoute::unknown, "Memcpy"}}};

constexpr std::string_view kFill = "Memset", kCommunication = "nccl_kernel", kOptimizer = "optimizer",
                           kKernel = "kernel", kLabel = "label", kGroup = "group", kTier = "tier", kRun = "run";

}  // namespace

std::string hidden_kind(std::string_view name, bool on_device) {
  const CopyRoute route = copy_route(name);
  for (const CopyKind& copy : kCopies)
    if (copy.route == route) return std::string(copy.kind);
  if (is_memset(name)) return std::string(kFill);
  if (is_communication_kernel(name)) return std::string(kCommunication);
  if (contains_ignoring_case(name, kOptimizer)) return std::string(kOptimizer);
  if (!on_device) return std::string(kLabel);
  for (const std::string_view kernel_class : kKernelClasses)
    if (contains_ignoring_case(name, kernel_class)) return fmt::format("{}.{}", kKernel, kernel_class);
  return std::string(kKernel);
}

bool is_hidden_name(std::string_view text) {
  const size_t point = text.rfind('.');
  if (point == text.npos || point + 1 == text.size()) return false;
  if (text.find_first_not_of("0123456789", point + 1) != text.npos) return false;
  const std::string_view kind = text.substr(0, point);
  const auto is_one_of = [](std::string_view wanted, const auto& names) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
  };
  if (kind.starts_with(kKernel) && kind.substr(kKernel.size()).starts_with('.'))
    return is_one_of(kind.substr(kKernel.size() + 1), kKernelClasses);
  return is_one_of(kind, std::to_array({kFill, kCommunication, kOptimizer, kKernel, kLabel, kGroup, kTier, kRun})) ||
         std::any_of(kCopies.begin(), kCopies.end(), [&](const CopyKind& copy) { return copy.kind == kind; }) ||
         std::any_of(trace::kRoles.begin() + 1, trace::kRoles.end(),
                     [&](const trace::RoleRow& role) { return role.name == kind; });
}

}  // namespace chakra::work
