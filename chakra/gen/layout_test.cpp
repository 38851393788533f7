// The layout that a generated trace has in its metadata is that of the step, and gives its groups again.
#include "chakra/gen/layout.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/gen/gen.h"
#include "chakra/trace/roles.h"

namespace chakra::gen {
namespace {

StepOptions some_step(const char* order) {
  StepOptions o;
  o.tp = 2, o.cp = 2, o.dp = 4, o.pp = 2;
  o.zero = 3, o.zero_ranks = 2;
  o.context = ContextKind::gather;
  o.order = order;
  return o;
}

TEST(Layout, GivesTheGroupsOfTheStep) {
  for (const char* order : {"tp-cp-ep-dp-pp", "pp-dp-tp-cp"}) {
    const auto job = step(some_step(order));
    ASSERT_TRUE(job) << job.error().message();
    const auto layout = layout_of(job->classes[1]);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->order, order);
    EXPECT_EQ(layout->zero_ranks, 2);
    for (const std::string& name : job->group_slots[1]) {
      const auto slot = slot_named(*layout, name);
      ASSERT_TRUE(slot) << name;
      const auto made = groups(layout->mesh, *slot);
      for (const trace::ProcessGroup& group : job->groups) {
        if (!group.name.starts_with(name) || group.name.find_first_of("0123456789") != name.size()) continue;
        EXPECT_EQ(made.at(std::stoul(group.name.substr(name.size()))), group.ranks) << group.name;
        EXPECT_EQ(group.description, trace::name(trace::role_named(name)));
        EXPECT_NE(trace::role_of(group), trace::Role::unknown) << group.name;
      }
    }
  }
}

/// Damaged numbers in the metadata give no layout, and no assertion fails.
TEST(Layout, OfOtherMetadataIsNone) {
  const auto job = step(some_step("tp-cp-ep-dp-pp"));
  const trace::Trace& t = job->classes[0];
  ASSERT_TRUE(layout_of(t));
  for (size_t i = 0; i < t.metadata.size(); ++i) {
    const std::string_view name = t.strings[t.metadata[i].name];
    if (!t.metadata[i].integer() || name == "stage" || name == "chunks" || name == "experts") continue;
    if (name == "tokens" || name == "model_operations_per_rank" || name == "model_fp8_operations_per_rank") continue;
    trace::Trace gone = t, wrong = t, large = t;
    gone.metadata.erase(gone.metadata.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(layout_of(gone)) << name;
    wrong.metadata[i].value = int64_t{-1};
    EXPECT_FALSE(layout_of(wrong)) << name;
    large.metadata[i].value = INT64_MAX;
    EXPECT_FALSE(layout_of(large)) << name;
  }
  trace::Trace order = t;
  for (trace::Attr& attr : order.metadata)
    if (order.strings[attr.name] == "order") attr.value = std::string_view("tp-tp");
  EXPECT_FALSE(layout_of(order));
}

}  // namespace
}  // namespace chakra::gen
