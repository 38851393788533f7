// Dumps: both forms say the same, and damage has a tag and a place.
#include "chakra/flight/flight.h"

#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/flight/testing/hanging_job.h"

namespace chakra::flight {
namespace {

std::string tag_of(std::string_view bytes) {
  const auto dump = parse_dump(std::string(bytes), "x", 0);
  return dump ? "" : dump.error().tag;
}

TEST(Dump, BothFormsSayTheSame) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const testing::HangingJob job = testing::JobMaker(seed).make();
    for (const testing::MadeDump& made : job.dumps) {
      const auto a = parse_dump(to_json(made), "a", made.rank), b = parse_dump(to_pickle(made), "b", made.rank);
      ASSERT_TRUE(a && b);
      ASSERT_EQ(a->entries.size(), made.entries.size());
      ASSERT_EQ(b->entries.size(), made.entries.size());
      ASSERT_EQ(a->groups.size(), made.groups.size());
      for (size_t i = 0; i < made.entries.size(); ++i) {
        const Entry &x = a->entries[i], &y = b->entries[i];
        EXPECT_EQ(x.record, made.entries[i].record);
        EXPECT_EQ(y.record, made.entries[i].record);
        EXPECT_EQ("nccl:" + x.operation, made.entries[i].name.substr(0, made.entries[i].name.find(' ')));
        EXPECT_EQ(x.operation, y.operation);
        EXPECT_EQ(x.state, y.state);
        EXPECT_EQ(x.created_ns, made.entries[i].created_ns);
        EXPECT_EQ(y.created_ns, made.entries[i].created_ns);
        EXPECT_EQ(x.in.sizes, made.entries[i].in);
        EXPECT_EQ(y.out.sizes, made.entries[i].out);
        EXPECT_EQ(x.in.dtypes, y.in.dtypes);
        EXPECT_EQ(x.src, y.src);
        EXPECT_EQ(y.caller, "train.py:34 (main)");
      }
    }
  }
}

TEST(Dump, NamesSayRanks) {
  EXPECT_EQ(rank_of_name("/tmp/nccl_trace_rank_12"), 12);
  EXPECT_EQ(rank_of_name("comm_lib_trace_rank_0"), 0);
  EXPECT_EQ(rank_of_name("d/fr0.json"), 0);
  EXPECT_EQ(rank_of_name("rank_3_20250101.pickle.gz"), 3);
  EXPECT_EQ(rank_of_name("rank-007.json"), 7);
  EXPECT_EQ(rank_of_name("host4/dump"), -1);
  EXPECT_EQ(rank_of_name("rank99999999999999999999"), -1);
}

TEST(Dump, OpcodesThatDoThingsAreRefused) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(tag_of("\x80\x02"
                   "cposix\nsystem\nX\x02\0\0\0id\x85R."sv),
            "flight.pickle.opcode");
  EXPECT_EQ(tag_of("\x80\x04\x8c\x05posix\x8c\x06system\x93."sv), "flight.pickle.opcode");
  for (const char code : {'c', 'i', 'o', 'R', 'b', 'P', 'Q', '\x81', '\x82', '\x92', '\x93', '\x97', 'V', 'I', 'B'})
    EXPECT_EQ(tag_of(std::string("\x80\x02") + code + "."), "flight.pickle.opcode") << code;
}

TEST(Dump, DamageHasATag) {
  using std::string_view_literals::operator""sv;
  const testing::MadeDump made = testing::JobMaker(3).make().dumps[0];
  const std::string whole = to_pickle(made);
  for (size_t size = 2; size < whole.size(); size += 7)
    EXPECT_EQ(tag_of(whole.substr(0, size)), "flight.pickle.damaged");
  EXPECT_EQ(tag_of(whole + "."), "flight.pickle.damaged");
  EXPECT_EQ(tag_of("\x80\x02]q\0h\1."sv), "flight.pickle.damaged");
  EXPECT_EQ(tag_of("\x80\x02"
                   "a."sv),
            "flight.pickle.damaged");
  EXPECT_EQ(tag_of("\x80\x02}K\1s."sv), "flight.pickle.damaged");
  EXPECT_EQ(tag_of("\x80\x02"
                   "e."sv),
            "flight.pickle.damaged");
  EXPECT_EQ(tag_of("\x80\x02r\xff\xff\xff\xff."sv), "flight.pickle.damaged");
  EXPECT_EQ(tag_of("\x80\x02K\1."sv), "flight.dump.field");
  EXPECT_EQ(tag_of(""), "flight.json.empty");
  EXPECT_EQ(tag_of("{\"version\": \"2.4\", \"entries\": [{"), "flight.json.truncated");
  EXPECT_EQ(tag_of("{\"version\": \"2.4\", \"entries\": ]"), "flight.json.syntax");
  EXPECT_EQ(tag_of(std::string(100, '[') + std::string(100, ']')), "flight.dump.large");
  EXPECT_EQ(tag_of("{\"version\": \"1.5\"}"), "flight.dump.version");
  EXPECT_EQ(tag_of("{\"version\": \"2.4\", \"entries\": [{\"state\": \"x\"}]}"), "flight.dump.field");
}

/// A list that holds itself, and lists of lists that would be 10^9 values if they were copied out.
TEST(Dump, SharedListsAreCounted) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(tag_of("\x80\x02]q\0h\0a."sv), "flight.dump.field");
  std::string bomb = "\x80\x02}(X\x07";
  bomb += std::string(3, '\0') + "version";
  bomb += std::string("X\x03\0\0\0", 5) + "2.4";
  bomb += std::string("X\x07\0\0\0", 5) + "entries](";
  bomb += std::string("}q\0", 3) + "(";
  bomb += std::string("X\x0b\0\0\0", 5) + "input_sizes](";
  bomb += std::string("](K\1K\1K\1K\1eq\1", 13);
  for (int i = 0; i < 30000; ++i) bomb += "h\x01";
  bomb += "eu";
  for (int i = 0; i < 30000; ++i) bomb += std::string("h\0", 2);
  bomb += "eu.";
  const std::string tag = tag_of(bomb);
  EXPECT_TRUE(tag == "flight.dump.large" || tag == "flight.dump.field") << tag;
}

TEST(Dump, FormsOfThePublicReports) {
  CHAKRA_NEEDS_DATA();
  const std::string forms = chakra::testing::data_folder() + "/reports/forms/";
  for (const char* name : {"fr0.json", "nccl_trace_rank_0"}) {
    ASSERT_TRUE(is_dump_path(forms + name));
    const auto dump = read_dump(forms + name, 0);
    ASSERT_TRUE(dump) << dump.error().message();
    ASSERT_EQ(dump->entries.size(), 1U);
    EXPECT_EQ(dump->entries[0].operation, "all_reduce");
    EXPECT_EQ(dump->entries[0].in.elements(), 1024U);
    EXPECT_EQ(dump->groups[0].ranks, (std::vector<int64_t>{0, 1}));
  }
  for (const char* name : {"ncclprof.json", "infra.json", "x.et", "nsys.sqlite"})
    EXPECT_FALSE(is_dump_path(forms + name));
}

}  // namespace
}  // namespace chakra::flight
