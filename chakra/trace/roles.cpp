// Words of frameworks, and which role each names.
#include "chakra/trace/roles.h"

#include <algorithm>

namespace chakra::trace {
namespace {

struct Named {
  std::string_view words;  ///< joined by '_', in small letters, without those of kFiller
  Role role;
};
/// Our generator's, then those of DeviceMesh and FSDP, Megatron-LM, SimAI.
constexpr auto kNamed = std::to_array<Named>({
    {"dp", Role::dp},
    {"dp_cp", Role::dp},
    {"shard", Role::shard},
    {"replica", Role::replica},
    {"edp", Role::edp},
    {"tp", Role::tp},
    {"etp", Role::etp},
    {"cp", Role::cp},
    {"ep", Role::ep},
    {"pp", Role::pp},
    {"tied", Role::pp},
    {"copy", Role::pp},
    {"tables", Role::tables},
    {"world", Role::world},
    {"default", Role::world},
    {"ddp", Role::dp},
    {"fsdp", Role::dp},
    {"data", Role::dp},
    {"dp_shard", Role::shard},
    {"dp_shard_cp", Role::shard},
    {"dp_replicate", Role::replica},
    {"replicate", Role::replica},
    {"data_with_cp", Role::dp},
    {"intra_partial_data", Role::shard},
    {"intra_partial_data_with_cp", Role::shard},
    {"inter_partial_data_with_cp", Role::replica},
    {"expert_data", Role::edp},
    {"expt_dp", Role::edp},
    {"tensor", Role::tp},
    {"expert_tensor", Role::etp},
    {"expt_tp", Role::etp},
    {"context", Role::cp},
    {"expert", Role::ep},
    {"pipeline", Role::pp},
    {"embedding", Role::pp},
    {"embd", Role::pp},
    {"position_embedding", Role::pp},
    {"pos_embd", Role::pp},
    {"data_of_experts", Role::edp},
    {"tensor_of_experts", Role::etp},
});

constexpr auto kFiller = std::to_array<std::string_view>({"group", "parallel", "model", "mesh", "pg", "gloo", "nccl"});

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

/// "data_with_cp" of "DATA_PARALLEL_GROUP_WITH_CP".
std::string words_of(std::string_view text) {
  const std::string small = to_lower(text);
  std::string words;
  for (size_t at = 0; at < small.size();) {
    size_t end = at;
    while (end < small.size() && is_letter(small[end])) ++end;
    const std::string_view word = std::string_view(small).substr(at, end - at);
    if (!word.empty() && std::find(kFiller.begin(), kFiller.end(), word) == kFiller.end())
      words.append(words.empty() ? "" : "_").append(word);
    at = std::max(end, at + 1);
  }
  return words;
}

}  // namespace

Role role_named(std::string_view text) {
  const std::string words = words_of(text);
  const auto* const row = std::find_if(kNamed.begin(), kNamed.end(), [&](const Named& n) { return n.words == words; });
  return row == kNamed.end() ? Role::unknown : row->role;
}

Role role_of(const ProcessGroup& group) {
  const Role described = role_named(group.description);
  if (described != Role::unknown) return described;
  return group.name.empty() ? Role::world : role_named(group.name);
}

std::vector<RolesByName> roles_of_slots(const ClassJob& job) {
  std::vector<RolesByName> roles(job.classes.size());
  for (const ClassJob::Rank& rank : job.ranks) {
    const std::vector<std::string>& slots = job.group_slots[rank.cls];
    if (!roles[rank.cls].empty()) continue;
    for (size_t s = 0; s < slots.size(); ++s)
      roles[rank.cls][slots[s]] = role_of(job.groups[job.group_of[rank.first_group + s]]);
  }
  return roles;
}

RolesOfTrace::RolesOfTrace(const Trace& t, const RolesByName& named) : by_text_(t.strings.size(), Role::unknown) {
  std::vector<bool> known(by_text_.size(), false);
  const auto set = [&](std::string_view name, Role role) {
    const StringId id = t.strings.find(name);
    if (role == Role::unknown || id == 0) return;  // no communication names the group, or it is that of all ranks
    by_text_[id] = role;
    known[id] = true;
  };
  for (const ProcessGroup& group : t.groups) set(group.name, role_of(group));
  for (const auto& [name, role] : named) set(name, role);
  for (const Comm& comm : t.comms)
    if (!known[comm.group]) {
      by_text_[comm.group] = role_named(t.strings[comm.group]);
      known[comm.group] = true;
    }
}

GroupRoles::GroupRoles(const TraceSet& job) {
  for (const Trace& t : job.ranks)
    for (const ProcessGroup& group : t.groups) {
      Role& role = described_.emplace(group.name, Role::unknown).first->second;
      if (role == Role::unknown) role = role_of(group);
    }
}

Role GroupRoles::of(std::string_view group) const {
  const auto found = described_.find(group);
  return found != described_.end() ? found->second : role_of({std::string(group), "", "", {}, 0});
}

void forget_members(Trace& trace) {
  for (ProcessGroup& group : trace.groups) group.ranks.clear(), group.size = 0;
}

}  // namespace chakra::trace
