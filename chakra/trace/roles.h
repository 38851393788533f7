// The role of a process group, from the group's description or name. One table of words
// decides the role, for every rule that treats gradients unlike activations.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::trace {

enum class Role : uint8_t { unknown, world, dp, shard, replica, edp, tp, etp, cp, ep, pp, tables };

/// The data that collectives of a group move: activations grow with the batch, parameters and their gradients do not.
enum class Moves : uint8_t { unknown, activations, parameters };

struct RoleRow {
  std::string_view name, description;
  Moves moves;
};
inline constexpr std::array<RoleRow, 12> kRoles{{
    {"unknown", "unknown from both description and name", Moves::unknown},
    {"world", "all ranks: barriers, losses, norms of gradients", Moves::parameters},
    {"dp", "data parallel: ranks with other samples", Moves::parameters},
    {"shard", "data-parallel ranks that share parameters out", Moves::parameters},
    {"replica", "data-parallel ranks that hold copies of the same share", Moves::parameters},
    {"edp", "data parallel, of experts", Moves::parameters},
    {"tp", "tensor parallel", Moves::activations},
    {"etp", "tensor parallel, of experts", Moves::activations},
    {"cp", "context parallel", Moves::activations},
    {"ep", "expert parallel", Moves::activations},
    {"pp", "pipeline stages: gradients of parameters shared by two stages", Moves::parameters},
    {"tables", "owners of embedding tables, and users of their rows", Moves::activations},
}};
constexpr const RoleRow& row_of(Role role) { return kRoles[static_cast<size_t>(role)]; }
constexpr std::string_view name(Role role) { return row_of(role).name; }

/// Return the role named by a text: "dp", "dp-cp3", "mesh_dp_shard",
/// "TENSOR_MODEL_PARALLEL_GROUP". Numbers and words such as "group" are ignored.
Role role_named(std::string_view text);
/// Return the role by the description, else by the name.
Role role_of(const ProcessGroup& group);

/// Roles of groups by name.
using RolesByName = std::map<std::string, Role>;
/// Return the roles of the group slots of each class, by its first rank; empty for a class without ranks.
std::vector<RolesByName> roles_of_slots(const ClassJob& job);

/// The roles of the groups that the communications of a trace name.
class RolesOfTrace {
 public:
  /// `named`: roles of groups that the trace does not describe, such as slots. The role of a group is the first known
  /// one: in `named`, in the trace, by the name of the group. The group "" of all ranks has no role. Cost: O(groups +
  /// communications).
  explicit RolesOfTrace(const Trace& trace, const RolesByName& named = {});
  /// Requires a communication of the trace.
  Role of(const Comm& comm) const { return by_text_[comm.group]; }

 private:
  std::vector<Role> by_text_;
};

/// The roles of the groups of a job by name, also of groups that no trace describes.
class GroupRoles {
 public:
  explicit GroupRoles(const TraceSet& job);
  Role of(std::string_view group) const;

 private:
  std::map<std::string, Role, std::less<>> described_;
};

/// Remove the members of the groups that the trace records, for a job whose members come
/// from a table. Names and descriptions stay, since they determine the roles.
void forget_members(Trace& trace);

}  // namespace chakra::trace
