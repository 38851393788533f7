#include "chakra/fleet/journals.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"

namespace chakra::fleet {
namespace {

using testing::TemporaryFolder;

TEST(Shard, IsParsedOrRefused) {
  EXPECT_EQ(*parse_shard("3/16"), (Shard{3, 16}));
  EXPECT_TRUE(parse_shard("1/1")->is_all());
  for (const char* text :
       {"", "/", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/4", "a/b", "1/ 4", "1/1000001", "99999999999999999999/3"})
    EXPECT_EQ(parse_shard(text).error().tag, "cli.usage") << text;
}

TEST(Shard, ShardsHaveEachTaskOnce) {
  for (int64_t count = 1; count <= 7; ++count)
    for (const char* const name : {"", "job", "another job"})
      for (uint64_t number = 0; number < 50; ++number) {
        int owners = 0;
        for (int64_t index = 1; index <= count; ++index) owners += Shard{index, count}.has(name, number);
        EXPECT_EQ(owners, 1);
      }
}

TEST(Shard, SpreadsTheTasksOfAJobEvenly) {
  for (int64_t index = 1; index <= 4; ++index) {
    int mine = 0;
    for (uint64_t number = 0; number < 100; ++number) mine += Shard{index, 4}.has("job", number);
    EXPECT_EQ(mine, 25);
  }
}

TEST(Journal, LinesAreReadAsWritten) {
  const std::string hostile = "a \"key\"\n\x01 \xc3\xa4 \\";
  const Outcome outcome{hostile, State::failed, "some.tag", hostile, 7, {{"ranks", "2"}, {hostile, hostile}}};
  const std::optional<Outcome> read = parse_line(line_of(outcome));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->key, outcome.key);
  EXPECT_EQ(read->state, outcome.state);
  EXPECT_EQ(read->tag, outcome.tag);
  EXPECT_EQ(read->text, outcome.text);
  EXPECT_EQ(read->wall_us, outcome.wall_us);
  EXPECT_EQ(read->values, outcome.values);
  for (const char* line : {"", "{", "[]", "{}", "{\"key\":\"a\"}", "{\"key\":\"a\",\"state\":\"lost\"}",
                           "{\"key\":[1],\"state\":\"done\"}", "7"})
    EXPECT_FALSE(parse_line(line).has_value()) << line;
}

TEST(Journals, EachProcessReadsTheOutcomesOfAll) {
  const TemporaryFolder scratch;
  auto first = Journals::open(scratch.path(), {1, 2}), second = Journals::open(scratch.path(), {2, 2});
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->add({"a"}) && first->add({"a", State::done}) && second->add({"b"}));
  EXPECT_FALSE(second->find("a").has_value());  // not read yet
  EXPECT_TRUE(*second->refresh());
  EXPECT_FALSE(*second->refresh());
  EXPECT_EQ(second->find("a")->state, State::done);
  EXPECT_FALSE(second->find("b").has_value());  // begun is no outcome
  EXPECT_EQ(second->attempts("b"), 1);
  EXPECT_EQ(second->attempts("a"), 0);
  EXPECT_EQ(Journals::look(scratch.path())->find("a")->state, State::done);
  EXPECT_EQ(Journals::open(scratch.path(), {2, 2}).error().tag, "base.file.busy");
}

TEST(Journals, CountAttemptsThatWereKilled) {
  const TemporaryFolder scratch;
  for (int attempt = 0; attempt < 3; ++attempt) ASSERT_TRUE(Journals::open(scratch.path(), {})->add({"a"}));
  auto journals = Journals::open(scratch.path(), {});
  EXPECT_EQ(journals->attempts("a"), 3);
  ASSERT_TRUE(journals->add({"a", State::again, "base.file.open", "gone"}));
  EXPECT_EQ(journals->attempts("a"), 0);
  EXPECT_EQ(journals->find("a")->state, State::again);
}

TEST(Journals, PreferTheResultOfAnyProcess) {
  const TemporaryFolder scratch;
  ASSERT_TRUE(Journals::open(scratch.path(), {1, 2})->add({"a", State::done}));
  ASSERT_TRUE(Journals::open(scratch.path(), {2, 2})->add({"a", State::failed, "x", "y"}));
  EXPECT_EQ(Journals::look(scratch.path())->find("a")->state, State::done);
  EXPECT_EQ(Journals::open(scratch.path(), {2, 2})->find("a")->state, State::done);
}

TEST(Journals, IgnoreDamagedLinesAndUnfinishedOnes) {
  const TemporaryFolder scratch;
  const std::string path = scratch.path() + "/outcomes.3-of-4.jsonl";
  ASSERT_TRUE(write_file(path, line_of({"a", State::done}) + "\nnonsense\n" + line_of({"b", State::done})));
  const auto journals = Journals::look(scratch.path());
  EXPECT_EQ(journals->damaged(), 1);
  EXPECT_TRUE(journals->find("a").has_value());
  EXPECT_FALSE(journals->find("b").has_value());  // the line has no end yet
}

TEST(Journals, OnlyJournalsOfTheStemCount) {
  const TemporaryFolder scratch;
  for (const char* name : {"points.jsonl", "points.1-of-2.jsonl", "points.3-of-2.jsonl", "points.x-of-2.jsonl",
                           "points.jsonl.bak", "pointsjsonl", "other.jsonl", "points.1-of-2.json"})
    ASSERT_TRUE(write_file(scratch.path() + "/" + name, "{}\n"));
  const auto paths = journals_in(scratch.path(), "points", Shard{2, 2});
  ASSERT_TRUE(paths);
  EXPECT_EQ(*paths, (std::vector{scratch.path() + "/points.1-of-2.jsonl", scratch.path() + "/points.jsonl"}));
}

}  // namespace
}  // namespace chakra::fleet
