// The bandwidths of nccl-tests.
#include "chakra/trace/trace.h"

namespace chakra::trace {

double algorithm_factor(CommType type, uint32_t members) {
  return type == CommType::all_gather || type == CommType::gather ? members : 1;
}

double bus_factor(CommType type, uint32_t members) {
  const double n = members;
  switch (type) {
    case CommType::all_reduce: return 2 * (n - 1) / n;
    case CommType::all_gather:
    case CommType::gather:
    case CommType::scatter:
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block:
    case CommType::all_to_all: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace chakra::trace
