#include "chakra/synth/communication.h"

#include <map>

namespace chakra::synth {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Role;
using trace::Trace;

uint8_t kind_of(const Trace& t, NodeId n) {
  if (t.type[n] != NodeType::coll) return kCommKinds.size() - 1;
  switch (t.comm(n) ? t.comm(n)->type : CommType::unknown) {
    case CommType::all_reduce: return 0;
    case CommType::reduce: return 1;
    case CommType::all_gather: return 2;
    case CommType::gather: return 3;
    case CommType::scatter: return 4;
    case CommType::broadcast: return 5;
    case CommType::all_to_all: return 6;
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block: return 7;
    case CommType::barrier: return 8;
    case CommType::unknown: return 9;
  }
  return 9;
}

}  // namespace

std::vector<Communication> communications(const Trace& t, const trace::RolesByName& roles) {
  std::map<StringId, Role> role_of;
  for (const trace::ProcessGroup& group : t.groups)
    if (const StringId name = t.strings.find(group.name); name != 0) role_of[name] = trace::role_of(group);
  for (const auto& [group, role] : roles)
    if (const StringId name = t.strings.find(group); name != 0) role_of[name] = role;
  std::vector<Communication> all;
  for (const NodeId n : t.nodes()) {
    if (t.type[n] != NodeType::coll && t.type[n] != NodeType::send) continue;
    const trace::Comm* const c = t.comm(n);
    const auto role = c ? role_of.find(c->group) : role_of.end();
    all.push_back({n, kind_of(t, n),
                   role != role_of.end() ? role->second
                   : c                   ? trace::role_named(t.strings[c->group])
                                         : Role::unknown,
                   c ? c->bytes : 0});
  }
  return all;
}

}  // namespace chakra::synth
