#include "chakra/recording/comm_kernels.h"

#include <algorithm>

#include "chakra/recording/vendors.h"

namespace chakra::recording {
std::string function_name(std::string_view kernel) {
  constexpr std::string_view kUnnamed[] = {"(anonymous namespace)::", "<unnamed>::"};
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  std::string name;
  while (!kernel.empty()) {
    const auto unnamed = std::find_if(std::begin(kUnnamed), std::end(kUnnamed),
                                      [&](std::string_view space) { return kernel.starts_with(space); });
    if (unnamed != std::end(kUnnamed)) {
      kernel.remove_prefix(unnamed->size());
      continue;
    }
    if (kernel[0] == '<' || kernel[0] == '(') break;
    name += kernel[0];
    kernel.remove_prefix(1);
  }
  return name;
}

const CommKernelRow* comm_kernel(std::string_view kernel_name) {
  const std::string name = function_name(kernel_name);
  const auto row = std::find_if(kCommKernels.begin(), kCommKernels.end(),
                                [&](const CommKernelRow& r) { return fits(r.kernel, name); });
  return row == kCommKernels.end() ? nullptr : &*row;
}

bool calls(std::string_view operator_name, const CommKernelRow& row) {
  return !row.caller.empty() && fits(row.caller, operator_name);
}

bool is_comm_caller(std::string_view operator_name) {
  return std::any_of(kCommKernels.begin(), kCommKernels.end(),
                     [&](const CommKernelRow& row) { return calls(operator_name, row); });
}

}  // namespace chakra::recording
