// Files of results appear together.
#include "chakra/job/outputs.h"

#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/job/view.h"

namespace chakra::job {
namespace {

using chakra::testing::TemporaryFolder;

TEST(Outputs, AppearWhenTheyAreCommitted) {
  const TemporaryFolder folder;
  Outputs outputs;
  ASSERT_TRUE(add_text(outputs, folder.path("a.svg"), "picture"));
  ASSERT_TRUE(add_answer(outputs, folder.path("b.json"), answer_of(ViewedJob())));
  ASSERT_TRUE(add_answer(outputs, "-", answer_of(ViewedJob())));
  answer::Series rank(answer::Info{"rank", answer::Type::whole, answer::Unit::id, "the rank"});
  rank.add(int64_t{3});
  std::vector<answer::Series> columns;
  columns.push_back(std::move(rank));
  answer::Builder to("test");
  to.table("ranks", "the ranks", std::move(columns));
  ASSERT_TRUE(add_tables(outputs, {.csv = folder.path("c"), .arrow = folder.path("c")}, std::move(to).finish()));
  EXPECT_FALSE(is_file(folder.path("a.svg")));
  ASSERT_TRUE(outputs.commit());
  for (const char* name : {"a.svg", "b.json", "c.ranks.csv", "c.ranks.arrow"})
    EXPECT_TRUE(is_file(folder.path(name))) << name;
  EXPECT_EQ(chakra::testing::must_read(folder.path("c.ranks.csv")), "rank\n3\n");
  EXPECT_FALSE(is_file("-"));
}

}  // namespace
}  // namespace chakra::job
