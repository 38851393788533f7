#include "chakra/work/hidden_names.h"

#include <algorithm>
#include <array>

#include "chakra/trace/roles.h"
#include "chakra/work/work.h"

namespace chakra::work {
namespace {

struct KernelClass {
  std::string_view word;  ///< in the name of a kernel, in any case
  std::string_view kind;
};
/// The first word that a kernel's name contains decides.
constexpr std::array<KernelClass, 23> kKernelClasses{
    {{"gemm", "kernel.gemm"},           {"conv", "kernel.conv"},
     {"attention", "kernel.attention"}, {"flash", "kernel.flash"},
     {"softmax", "kernel.softmax"},     {"layer_norm", "kernel.layer_norm"},
     {"rms_norm", "kernel.rms_norm"},   {"batch_norm", "kernel.batch_norm"},
     {"norm", "kernel.norm"},           {"elementwise", "kernel.elementwise"},
     {"reduce", "kernel.reduce"},       {"embedding", "kernel.embedding"},
     {"index", "kernel.index"},         {"sort", "kernel.sort"},
     {"scan", "kernel.scan"},           {"topk", "kernel.topk"},
     {"copy", "kernel.copy"},           {"cat", "kernel.cat"},
     {"dropout", "kernel.dropout"},     {"adam", "kernel.adam"},
     {"loss", "kernel.loss"},           {"rope", "kernel.rope"},
     {"triton", "kernel.triton"}}};

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

std::string_view hidden_kind(std::string_view name, bool on_device) {
  const CopyRoute route = copy_route(name);
  for (const CopyKind& copy : kCopies)
    if (copy.route == route) return copy.kind;
  if (is_memset(name)) return kFill;
  if (is_communication_kernel(name)) return kCommunication;
  if (contains_ignoring_case(name, kOptimizer)) return kOptimizer;
  if (!on_device) return kLabel;
  const auto* const found = std::find_if(kKernelClasses.begin(), kKernelClasses.end(), [&](const KernelClass& row) {
    return contains_ignoring_case(name, row.word);
  });
  return found == kKernelClasses.end() ? kKernel : found->kind;
}

bool is_hidden_name(std::string_view text) {
  const size_t point = text.rfind('.');
  if (point == text.npos || point + 1 == text.size()) return false;
  if (text.find_first_not_of("0123456789", point + 1) != text.npos) return false;
  const std::string_view kind = text.substr(0, point);
  const auto is = [&](const auto& row) { return row.kind == kind; };
  for (const std::string_view other : {kFill, kCommunication, kOptimizer, kKernel, kLabel, kGroup, kTier, kRun})
    if (kind == other) return true;
  return std::any_of(kKernelClasses.begin(), kKernelClasses.end(), is) ||
         std::any_of(kCopies.begin(), kCopies.end(), is) ||
         std::any_of(trace::kRoles.begin() + 1, trace::kRoles.end(),
                     [&](const trace::RoleRow& role) { return role.name == kind; });
}

}  // namespace chakra::work
