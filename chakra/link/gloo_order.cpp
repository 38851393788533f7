// Gloo's records in recordings without ids: the host trace has them on the thread of the caller, in the order in which
// they began, the Kineto trace on Gloo's own threads.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

constexpr int16_t kUserScope = 7;

/// By name, the records of both files in the order in which they began.
struct Records {
  std::vector<uint32_t> host, kineto;
};

}  // namespace

bool is_host_comm(const Linking& l, const HostOp& op) {
  return op.scope == kUserScope && is_host_comm(l.text(op.name));
}

void match_host_comm(Linking& l, uint64_t first, uint64_t last) {
  CHAKRA_ASSERT(l.report.matched_host_ops > 0);
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (uint32_t i = 0; i < l.profile().ops.size(); ++i)
    if (l.match.host_of_op[i] != kNone) begin = std::min(begin, l.profile().ops[i].start_ns);
  absl::flat_hash_map<StringId, Records> by_name;  // looked up, not iterated
  std::vector<StringId> names;
  const auto records = [&](StringId name) -> Records& {
    const auto [at, added] = by_name.try_emplace(name);
    if (added) names.push_back(name);
    return at->second;
  };
  for (const uint32_t h : ops_by_id(l.host())) {
    const HostOp& op = l.host().ops[h];
    if (op.id >= first && op.id <= last && is_host_comm(l, op) && l.match.op_of_host[h] == kNone)
      records(op.name).host.push_back(h);
  }
  for (uint32_t i = 0; i < l.profile().ops.size(); ++i)
    if (l.profile().ops[i].host_comm && l.profile().ops[i].start_ns >= begin && l.match.host_of_op[i] == kNone)
      records(l.profile().ops[i].name).kineto.push_back(i);
  for (const StringId name : names) {
    Records& of = by_name[name];
    std::stable_sort(of.kineto.begin(), of.kineto.end(),
                     [&](uint32_t a, uint32_t b) { return l.profile().ops[a].start_ns < l.profile().ops[b].start_ns; });
    for (size_t i = 0; i < std::min(of.host.size(), of.kineto.size()); ++i) {
      l.match.host_of_op[of.kineto[i]] = of.host[i];
      l.match.op_of_host[of.host[i]] = of.kineto[i];
      ++l.report.matched_host_ops;
    }
  }
}

}  // namespace chakra::link
