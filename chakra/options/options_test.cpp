#include "chakra/options/options.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

namespace chakra::options {
namespace {

enum class Fruit : uint8_t { apple, pear };
constexpr std::array<std::string_view, 2> kFruits{"apple", "pear"};

struct Asked {
  std::string path;
  Fruit fruit = Fruit::apple;
  std::optional<Fruit> other;
  int64_t count = 3;
  double share = 0.5;
  bool ripe = false;
  std::vector<int64_t> sizes;
  Steps steps;
  Picoseconds time = 0;
  uint64_t bytes = 0;
};
Options rows_of(Asked& a) {
  Option share{"--share", &a.share, "How much of it", "X", real_number(0, 1)};
  share.needs = "--fruit pear";
  Option other{"--other", choice(a.other, kFruits), "Another one"};
  other.excludes = "--count, --fruit pear";
  Option sizes{"--sizes", &a.sizes, "Of each", "N,...", whole_number(1, 9)};
  sizes.delimiter = ',';
  return {required({"path", &a.path, "Where it is", "PATH"}),
          {"-f,--fruit", choice(a.fruit, kFruits), "Which fruit"},
          std::move(other),
          {"--count,--how-many", &a.count, "How many", "N", whole_number(1, 1024)},
          std::move(share),
          {"--ripe", &a.ripe, "It is ripe"},
          std::move(sizes),
          {"--steps", steps_form(a.steps), "Only these", "A:B"},
          {"--time", time_form(a.time), "How long", "TIME"},
          {"--bytes", bytes_form(a.bytes), "How much", "BYTES"}};
}

std::string refused(const Result<void>& done) {
  return done ? "accepted" : fmt::format("{} [{}]", done.error().text, done.error().tag);
}

TEST(Options, AreSetByName) {
  Asked a;
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{{"path", "x"},
                                                                                             {"-f", "pear"},
                                                                                             {"--how-many", "7"},
                                                                                             {"share", "0.25"},
                                                                                             {"ripe", "true"},
                                                                                             {"sizes", "1,2"},
                                                                                             {"sizes", "9"},
                                                                                             {"steps", "3:"},
                                                                                             {"time", "250ns"},
                                                                                             {"bytes", "64 KiB"}})
    EXPECT_EQ(refused(set(a, name, text)), "accepted") << name;
  EXPECT_EQ(a.path, "x");
  EXPECT_EQ(a.fruit, Fruit::pear);
  EXPECT_EQ(a.count, 7);
  EXPECT_EQ(a.share, 0.25);
  EXPECT_TRUE(a.ripe);
  EXPECT_EQ(a.sizes, (std::vector<int64_t>{1, 2, 9}));
  EXPECT_EQ(a.steps->first, 3);
  EXPECT_EQ(a.steps->second, INT64_MAX);
  EXPECT_EQ(a.time, 250 * kPsPerNs);
  EXPECT_EQ(a.bytes, 65536U);
  EXPECT_EQ(refused(check_call(a)), "accepted");
  EXPECT_EQ(refused(set(a, "how_many", "8")), "accepted");  // as members are called
  EXPECT_EQ(a.count, 8);
  EXPECT_NE(refused(set(a, "--how_many", "8")), "accepted");
  Asked fresh;
  EXPECT_EQ(given(rows_of(a), rows_of(fresh)).size(), 9U);
}

TEST(Options, RefuseWithTheRange) {
  Asked a;
  EXPECT_EQ(refused(set(a, "--count", "0")), "--count: '0' is not a decimal whole number from 1 to 1024 [cli.usage]");
  EXPECT_EQ(refused(set(a, "fruit", "peer")),
            "--fruit: 'peer' is not one of {apple,pear}; did you mean pear? [cli.usage]");
  EXPECT_EQ(refused(set(a, "--frut", "pear")), "unknown option '--frut'; did you mean --fruit? [cli.usage]");
  EXPECT_EQ(refused(set(a, "sizes", "1,,2")), "--sizes: '' is not a decimal whole number from 1 to 9 [cli.usage]");
  EXPECT_EQ(refused(set(a, "steps", "5:3")),
            "--steps: '5:3' is not of the form A:B, A: or A, with A up to B [cli.usage]");
  EXPECT_EQ(refused(set(a, "time", "-1us")), "--time: '-1us' is not a time such as 7us or 250ns [cli.usage]");
  EXPECT_EQ(refused(set(a, "bytes", "0")),
            "--bytes: '0' is not a number of bytes, such as 5000000 or 64GiB [cli.usage]");
  EXPECT_EQ(refused(set(a, "ripe", "maybe")), "--ripe: 'maybe' is not true or false [cli.usage]");
  EXPECT_EQ(refused(check_call(a)), "path is required [cli.usage]");
  a.path = "x";
  a.fruit = static_cast<Fruit>(9);
  EXPECT_EQ(refused(check_call(a)), "--fruit: value 9 is not one of {apple,pear} [cli.usage]");
  a.fruit = Fruit::apple;
  a.sizes = {10};
  EXPECT_EQ(refused(check_call(a)), "--sizes: '10' is not a decimal whole number from 1 to 9 [cli.usage]");
}

TEST(Options, GoTogether) {
  Asked a;
  a.path = "x";
  a.share = 1;
  EXPECT_EQ(refused(check_call(a)), "--share is for --fruit pear [cli.usage]");
  a.fruit = Fruit::pear;
  EXPECT_EQ(refused(check_call(a)), "accepted");
  a.other = Fruit::apple;
  EXPECT_EQ(refused(check_call(a)), "--other cannot be given together with --fruit pear [cli.usage]");
  a.fruit = Fruit::apple;
  a.share = 0.5;
  a.count = 4;
  EXPECT_EQ(refused(check_call(a)), "--other cannot be given together with --count [cli.usage]");
}

TEST(Options, KnowTheirTypes) {
  Asked a;
  std::string types;
  for (const Option& row : rows_of(a)) types += fmt::format("{}: {}\n", key_of(row), type_of(row));
  EXPECT_EQ(types,
            "path: text\nfruit: name\nother: name\ncount: whole number\nshare: number\nripe: flag\n"
            "sizes: list of whole numbers\nsteps: text\ntime: text\nbytes: text\n");
}

TEST(Options, FindTheNearestWord) {
  const std::vector<std::string> known{"--network", "--no-fold", "--json", "--no-check"};
  EXPECT_EQ(nearest("--netwrok", known), "--network");
  EXPECT_EQ(nearest("--jsn", known), "--json");
  EXPECT_EQ(nearest("--net", known), "--network");  // by its beginning
  EXPECT_EQ(nearest("--entirely", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), known), "");
}

TEST(Options, AreShown) {
  Asked a;
  const std::string help = help_of(rows_of(a), "Options");
  EXPECT_EQ(help.substr(0, help.find("  --share")),
            "Options:\n"
            "  PATH                        Where it is\n"
            "  -f, --fruit NAME            Which fruit {apple, pear} [default: apple]\n"
            "  --other NAME                Another one {apple, pear}\n"
            "  --count, --how-many N       How many [default: 3]\n");
  EXPECT_EQ(usage_of(rows_of(a)), "[OPTIONS] PATH");
  EXPECT_EQ(wrapped("aa bb cc", 5, 0), "aa bb\ncc");
  EXPECT_EQ(wrapped("aa bb cc", 8, 3), "aa bb\n   cc");
}

}  // namespace
}  // namespace chakra::options
