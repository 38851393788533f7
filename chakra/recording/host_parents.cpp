#include "chakra/recording/host_parents.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include "chakra/base/row_map.h"
#include "chakra/recording/open_parents.h"

namespace chakra::recording {
namespace {

/// Of nodes with equal ids the first stays.
void leave_hostdoubles(HostTrace& host, std::vector<Parents>& parents, Salvage& salvage) {
  absl::flat_hash_set<uint64_t> ids;
  size_t kept = 0;
  for (size_t row = 0; row < host.ops.size(); ++row) {
    const HostOp op = host.ops[row];
    if (ids.insert(op.id).second) {
      host.ops[kept] = op;
      parents[kept++] = parents[row];
      continue;
    }
    host.op_count -= op.kind == HostOp::Kind::op;
    salvage.note({Code::bad_input,
                  "pytorch.host.duplicate_id",
                  fmt::format("duplicate node id {}", op.id),
                  {host.file, op.byte}});
  }
  host.ops.resize(kept);
}

Failure cycle(const HostTrace& host, const HostOp& op) {
  return fail(Code::bad_input, "pytorch.host.parent_cycle", fmt::format("node {} is its own ancestor", op.id),
              {host.file, op.byte});
}

/// Walks up from each node until a node known to reach the root.
Result<void> check_cycles(const HostTrace& host) {
  const std::vector<HostOp>& ops = host.ops;
  std::vector<uint32_t> seen(ops.size(), 0);
  for (uint32_t start = 0; start < ops.size(); ++start) {
    uint32_t row = start;
    while (row != trace::kNoRow && seen[row] == 0) {
      seen[row] = start + 1;
      row = ops[row].parent_row;
      if (row != trace::kNoRow && seen[row] == start + 1) return cycle(host, ops[row]);
    }
  }
  return {};
}

}  // namespace

Result<void> link_parents(HostTrace& host, std::vector<Parents>& parents, const StringPool& strings, Salvage* salvage) {
  std::vector<HostOp>& ops = host.ops;
  if (salvage) leave_hostdoubles(host, parents, *salvage);
  RowMap row_of(ops, [](const HostOp& op) { return std::optional(op.id); });
  for (uint32_t row = 0; row < ops.size(); ++row) {
    uint32_t& first = row_of[ops[row].id];
    if (first != RowMap::kNoRow)
      return fail(Code::bad_input, "pytorch.host.duplicate_id",
                  fmt::format("duplicate node id {}, also of {}", ops[row].id, quote(strings[ops[first].name])),
                  {host.file, ops[row].byte});
    first = row;
  }
  std::vector<Orphan> orphans;
  for (uint32_t row = 0; row < ops.size(); ++row) {
    HostOp& op = ops[row];
    if (parents[row].forward != 0) op.fw_parent_row = row_of.find(parents[row].forward);
    const uint32_t caller = row_of.find(parents[row].caller);
    if (caller == trace::kNoRow) orphans.push_back({row, parents[row].caller});
    else if (caller != row) op.parent_row = caller;
    else if (op.kind != HostOp::Kind::process_root) return cycle(host, op);
  }
  parents = std::vector<Parents>();  // frees its memory; = {} would not
  CHAKRA_TRY(check_cycles(host));
  return hang_orphans(host, strings, orphans, salvage != nullptr);
}

}  // namespace chakra::recording
