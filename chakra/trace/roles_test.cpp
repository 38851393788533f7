// Which role the names and descriptions of frameworks tell, and which tell none.
#include "chakra/trace/roles.h"

#include <gtest/gtest.h>

namespace chakra::trace {
namespace {

TEST(Roles, ByTheWordsOfFrameworks) {
  const std::map<const char*, Role> expected{
      {"dp3", Role::dp},
      {"dp-cp0", Role::dp},
      {"FSDP", Role::dp},
      {"shard1", Role::shard},
      {"mesh_dp_shard", Role::shard},
      {"mesh_dp_replicate", Role::replica},
      {"edp2", Role::edp},
      {"EXPERT_DATA_PARALLEL_GROUP", Role::edp},
      {"data parallel, of experts", Role::edp},
      {"mesh_tp", Role::tp},
      {"TENSOR_MODEL_PARALLEL_GROUP", Role::tp},
      {"tensor parallel", Role::tp},
      {"EXPERT_TENSOR_PARALLEL_GROUP", Role::etp},
      {"CONTEXT_PARALLEL_GROUP", Role::cp},
      {"EXPERT_MODEL_PARALLEL_GROUP", Role::ep},
      {"PIPELINE_MODEL_PARALLEL_GROUP", Role::pp},
      {"EMBEDDING_GROUP", Role::pp},
      {"tied0", Role::pp},
      {"tables0", Role::tables},
      {"default_pg", Role::world},
      {"DATA_PARALLEL_GROUP_WITH_CP", Role::dp},
  };
  for (const auto& [text, role] : expected) EXPECT_EQ(role_named(text), role) << text;
  for (const char* none : {"", "0", "17", "MODEL_PARALLEL_GROUP", "TENSOR_AND_DATA_PARALLEL_GROUP", "dptp", "mesh"})
    EXPECT_EQ(role_named(none), Role::unknown) << none;
}

TEST(Roles, EveryRoleIsTheNameOfItself) {
  for (size_t role = 1; role < kRoles.size(); ++role)
    EXPECT_EQ(role_named(kRoles[role].name), static_cast<Role>(role)) << kRoles[role].name;
}

TEST(Roles, TheDescriptionCountsBeforeTheName) {
  EXPECT_EQ(role_of({"dp0", "mesh_tp", "", {}, 0}), Role::tp);
  EXPECT_EQ(role_of({"dp0", "nobody knows", "", {}, 0}), Role::dp);
  EXPECT_EQ(role_of({"", "", "", {}, 0}), Role::world);
}

TEST(Roles, OfAJobAlsoWithoutMembers) {
  TraceSet job;
  job.ranks.resize(1);
  job.ranks[0].groups = {{"5", "mesh_tp", "", {0, 1}, 2}};
  forget_members(job.ranks[0]);
  EXPECT_TRUE(job.ranks[0].groups[0].ranks.empty());
  const GroupRoles roles(job);
  EXPECT_EQ(roles.of("5"), Role::tp);
  EXPECT_EQ(roles.of("ep4"), Role::ep);
  EXPECT_EQ(roles.of("6"), Role::unknown);
}

}  // namespace
}  // namespace chakra::trace
