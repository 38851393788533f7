#include "chakra/edit/members.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "chakra/base/join.h"

namespace chakra::edit {
namespace {

using trace::Comm;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

Failure refuse(const Trace& t, NodeId n, const char* tag, const std::string& why) {
  return fail(Code::bad_input, tag,
              fmt::format("node {} ({}) of rank {}: {}", t.id[n], quote(t.name_of(n)), t.rank, why), {t.file});
}

uint64_t sum(const std::vector<uint64_t>& list) { return std::accumulate(list.begin(), list.end(), uint64_t{0}); }

/// Bytes of an element, by a list and what it adds up to; 0: not known.
uint64_t element_of(const std::vector<uint64_t>& list, uint64_t bytes) {
  const uint64_t elements = sum(list);
  return elements == 0 ? 0 : bytes / elements;
}

}  // namespace

uint64_t part_of(uint64_t bytes, uint64_t members, uint64_t element_bytes) {
  CHAKRA_ASSERT(members > 0 && element_bytes > 0);
  const uint64_t whole = bytes % element_bytes == 0 ? element_bytes : 1, elements = bytes / whole;
  return (elements / members + (elements % members != 0)) * whole;
}

// `edit.parts` (exit 1): an all-to-all without split sizes, in a group that gets other members
Result<Parts> parts_of(const Trace& t, NodeId n, size_t members) {
  const Comm& comm = *t.comm(n);
  Parts parts;
  const auto read = [&](std::string_view text, std::vector<uint64_t>& list) {
    if (text.empty()) return true;
    return trace::parse_split(text, list) && list.size() == members;
  };
  if (!read(comm.in_split, parts.in) || !read(comm.out_split, parts.out))
    return refuse(t, n, "edit.parts",
                  fmt::format("its parts {} and {} are not lists of {} sizes", quote(comm.in_split),
                              quote(comm.out_split), members));
  const uint64_t in_bytes = comm.in_bytes > 0 ? comm.in_bytes : comm.bytes;
  uint64_t out_bytes = comm.out_bytes;
  parts.element_bytes = element_of(parts.in, in_bytes);
  if (parts.element_bytes == 0) parts.element_bytes = element_of(parts.out, out_bytes > 0 ? out_bytes : in_bytes);
  if (out_bytes == 0)
    out_bytes = sum(parts.in) > 0 && !parts.out.empty() ? parts.element_bytes * sum(parts.out) : in_bytes;
  for (const auto& [list, bytes] : {std::pair(&parts.in, in_bytes), std::pair(&parts.out, out_bytes)}) {
    const uint64_t elements = parts.element_bytes == 0 ? 0 : bytes / parts.element_bytes;
    if (list->empty() && elements % members == 0) list->assign(members, elements / members);
    if (list->empty() ||
        (parts.element_bytes > 0 && (sum(*list) != elements || elements * parts.element_bytes != bytes)))
      return refuse(t, n, "edit.parts",
                    fmt::format("its parts {} and {} are not those of {} and {} bytes", quote(comm.in_split),
                                quote(comm.out_split), in_bytes, out_bytes));
  }
  return parts;
}

void set_parts(Trace& t, NodeId n, const Parts& parts) {
  Comm& comm = t.comms.edit(t.comm_row[n]);
  const uint64_t in = sum(parts.in) * parts.element_bytes, out = sum(parts.out) * parts.element_bytes;
  comm.bytes = in;
  if (comm.in_bytes > 0) comm.in_bytes = in;
  if (comm.out_bytes > 0 || in == 0) comm.out_bytes = out;
  comm.in_split = t.texts.add(fmt::format("[{}]", join(parts.in, ", ")));
  comm.out_split = t.texts.add(fmt::format("[{}]", join(parts.out, ", ")));
}

// `edit.root` (exit 1): a root that is not in its group, which gets other members
Result<int64_t> root_of(const Trace& t, NodeId n, const match::Group& group) {
  const int64_t root = t.comm(n)->root;
  if (root < 0 || !trace::has_root(t.comm(n)->type)) return -1;
  if (std::find(group.ranks.begin(), group.ranks.end(), root) != group.ranks.end()) return root;
  if (root < static_cast<int64_t>(group.ranks.size())) return group.ranks[static_cast<size_t>(root)];
  return refuse(t, n, "edit.root", fmt::format("its root {} is not in group {}", root, quote(group.name)));
}

GroupLists listed_groups(const trace::TraceSet& job, const match::GroupTable& groups, const match::Matching& matching) {
  GroupLists listed;
  for (const match::Group& group : matching.groups)
    if (group.known && !group.assumed) listed.emplace(group.name, group.ranks);
  for (const auto& [name, ranks] : groups) listed.emplace(name, ranks);
  for (const Trace& t : job.ranks)
    for (const trace::ProcessGroup& group : t.groups)
      if (!group.ranks.empty()) listed.emplace(group.name, group.ranks);
  return listed;
}

void describe_groups(Trace& t, const NewGroups& known, int64_t before, int64_t ranks) {
  std::set<std::string, std::less<>> described;
  for (const trace::ProcessGroup& group : t.groups) described.insert(group.name);
  std::set<StringId> used;
  for (const NodeId n : t.nodes())
    if (t.type[n] == NodeType::coll && t.comm_row[n] != trace::kNoRow) used.insert(t.comm(n)->group);
  for (const StringId name : used)
    if (known.contains(t.strings[name]) && !described.contains(t.strings[name])) {
      trace::ProcessGroup group;
      group.name = t.strings[name];
      t.groups.push_back(std::move(group));
    }
  std::erase_if(t.groups, [&](trace::ProcessGroup& group) {
    if (const auto now = known.find(group.name); now != known.end()) {
      group.name = now->second.name;
      group.ranks = now->second.ranks;
      group.size = static_cast<int64_t>(group.ranks.size());
      return group.ranks.empty();
    }
    if (!group.ranks.empty() || (group.size > 0 && group.size < before)) return true;
    if (group.size > 0) group.size = ranks;
    return false;
  });
}

}  // namespace chakra::edit
