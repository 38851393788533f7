// The work of nodes, as their columns have it.
#include "chakra/base/base.h"
#include "chakra/work/work.h"

namespace chakra::work {

NodeWork work_of(const trace::Trace& t, trace::NodeId n) {
  return {t.num_ops.empty() ? 0 : t.num_ops[n], t.tensor_bytes.empty() ? 0 : t.tensor_bytes[n], t.dtype_of(n)};
}

void WorkSum::add(const NodeWork& work) {
  uint64_t& sum = ops[static_cast<size_t>(work.type)];
  sum = add_bytes(sum, work.ops);
  bytes = add_bytes(bytes, work.bytes);
}

uint64_t WorkSum::all_ops() const {
  uint64_t sum = 0;
  for (const uint64_t of_type : ops) sum = add_bytes(sum, of_type);
  return sum;
}

}  // namespace chakra::work
