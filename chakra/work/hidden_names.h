// Names that stand for hidden names, such as "kernel.gemm.123" and "label.45": a kind, a point and digits. The kind is
// the part of a name that simulations and what-ifs read.
#pragma once

#include <string>
#include <string_view>

namespace chakra::work {

/// Return the kind that stands for a node's name: the route of a copy, "nccl_kernel" for kernels of communication,
/// "optimizer", for other device operations the class of kernel, else "label". copy_route() and is_memset() of the
/// hidden name are those of the name.
std::string hidden_kind(std::string_view name, bool on_device);
/// Return whether the text is such a name.
bool is_hidden_name(std::string_view text);

}  // namespace chakra::work
