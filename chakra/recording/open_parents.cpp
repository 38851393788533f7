#include "chakra/recording/open_parents.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace chakra::recording {
namespace {

constexpr uint32_t kNone = trace::kNoRow;

enum class Below : uint8_t { unknown, orphan, root };

/// Whether each node is an orphan or below one.
std::vector<Below> find_below(const HostTrace& host, const std::vector<Orphan>& orphans) {
  std::vector<Below> below(host.ops.size(), Below::unknown);
  for (const Orphan& orphan : orphans) below[orphan.row] = Below::orphan;
  std::vector<uint32_t> path;
  for (uint32_t start = 0; start < host.ops.size(); ++start) {
    uint32_t row = start;
    for (; row != kNone && below[row] == Below::unknown; row = host.ops[row].parent_row) path.push_back(row);
    const Below what = row == kNone ? Below::root : below[row];
    for (const uint32_t passed : path) below[passed] = what;
    path.clear();
  }
  return below;
}

/// Per thread, the least id of a parent that is not in the file.
std::vector<uint64_t> first_open(const HostTrace& host, const std::vector<Orphan>& orphans) {
  std::vector<uint64_t> first(host.threads.size(), UINT64_MAX);
  for (const Orphan& orphan : orphans) {
    uint64_t& least = first[host.ops[orphan.row].thread];
    least = std::min(least, orphan.parent);
  }
  return first;
}

/// Per thread, and after them of the process: a root that is below nothing but a root.
std::vector<uint32_t> find_roots(const HostTrace& host) {
  std::vector<uint32_t> roots(host.threads.size() + 1, kNone);
  const auto is_process = [&](uint32_t row) { return host.ops[row].kind == HostOp::Kind::process_root; };
  for (uint32_t row = 0; row < host.ops.size(); ++row) {
    const HostOp& op = host.ops[row];
    const uint32_t parent = op.parent_row;
    if (op.kind == HostOp::Kind::process_root && parent == kNone) roots.back() = row;
    if (op.kind == HostOp::Kind::thread_root && (parent == kNone || is_process(parent)) && roots[op.thread] == kNone)
      roots[op.thread] = row;
  }
  return roots;
}

Failure missing(const HostTrace& host, const Orphan& orphan, const char* why) {
  const HostOp& op = host.ops[orphan.row];
  return fail(Code::bad_input, "pytorch.host.missing_parent",
              fmt::format("the parent {} of node {} is not in the file{}; --salvage attaches such nodes to the root",
                          orphan.parent, op.id, why),
              {host.file, op.byte});
}

/// Per thread, whether records of communication stand on it that other threads carried out: one that ends takes what
/// is innermost there off the observer's stack, so that what follows may hang on anything.
std::vector<char> find_mixed(const HostTrace& host, const StringPool& strings) {
  std::vector<char> mixed(host.threads.size(), 0);
  for (const HostOp& op : host.ops)
    if (is_host_comm(strings[op.name])) mixed[op.thread] = 1;
  return mixed;
}

Result<void> check_open(const HostTrace& host, const StringPool& strings, const std::vector<Orphan>& orphans) {
  for (const Orphan& orphan : orphans) {
    const HostOp& op = host.ops[orphan.row];
    if (op.kind != HostOp::Kind::op) return missing(host, orphan, "");
    if (orphan.parent >= op.id) return missing(host, orphan, ", and its number is not that of an earlier node");
  }
  const std::vector<uint64_t> first = first_open(host, orphans);
  const std::vector<Below> below = find_below(host, orphans);
  const std::vector<char> mixed = find_mixed(host, strings);
  for (uint32_t row = 0; row < host.ops.size(); ++row) {
    const HostOp& op = host.ops[row];
    if (op.kind != HostOp::Kind::op || op.id < first[op.thread] || below[row] == Below::orphan || mixed[op.thread])
      continue;
    for (const Orphan& orphan : orphans)
      if (orphan.parent == first[op.thread] && host.ops[orphan.row].thread == op.thread)
        return missing(
            host, orphan,
            fmt::format(", although it ended before the recording: node {} began later, outside of it", op.id).c_str());
  }
  return {};
}

}  // namespace

Result<void> hang_orphans(HostTrace& host, const StringPool& strings, const std::vector<Orphan>& orphans, bool any) {
  if (orphans.empty()) return {};
  const Result<void> open = check_open(host, strings, orphans);
  if (!open && !any) return open;
  const std::vector<uint32_t> roots = find_roots(host);
  std::set<uint64_t> parents;
  for (const Orphan& orphan : orphans) {
    HostOp& op = host.ops[orphan.row];
    parents.insert(orphan.parent);
    if (op.kind != HostOp::Kind::op) continue;
    const uint32_t root = roots[op.thread];
    op.parent_row = root != kNone ? root : roots.back();
  }
  host.open = {static_cast<int64_t>(orphans.size()), static_cast<int64_t>(parents.size()), *parents.begin(), !open};
  return {};
}

}  // namespace chakra::recording
