// Which recordings belong together: every host trace with every Kineto trace of the recordings that we have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/pytorch/matching.h"
#include "chakra/pytorch/pytorch.h"

namespace chakra::pytorch {
namespace {

TEST(NamesAgree, AsKinetoWritesThem) {
  EXPECT_TRUE(names_agree("aten::mm", "aten::mm"));
  EXPECT_TRUE(names_agree("two\nlines\n", "twolines"));
  EXPECT_TRUE(names_agree("back\\slash \"x\"", "back/slash 'x'"));
  EXPECT_TRUE(names_agree("back\\slash \"x\"", "back/slash \"x\""));
  EXPECT_TRUE(names_agree("f\xc3\xbcr", "unknown"));
  EXPECT_TRUE(names_agree("tab\tx", "unknown"));
  EXPECT_TRUE(names_agree("", ""));
  EXPECT_FALSE(names_agree("plain", "unknown"));
  EXPECT_FALSE(names_agree("aten::mm", "aten::mm_"));
  EXPECT_FALSE(names_agree("aten::mm_", "aten::mm"));
  EXPECT_FALSE(names_agree("a/b", "a\\b"));
  EXPECT_FALSE(names_agree("a", ""));
}

struct Recorded {
  std::string job;
  int rank;
};

/// Ranks of jobs of several kinds, and two runs of one script.
const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> all{{"Pasync_base-2.6.0", 0},   {"Pasync_base-2.6.0", 1}, {"Pasync_delay1-2.6.0", 0},
                                         {"Pasync_delay1-2.6.0", 1}, {"async-2.6.0", 0},       {"batchp2p-2.6.0", 0},
                                         {"batchp2p-2.6.0", 1},      {"funcol-2.6.0", 0},      {"mesh-2.6.0", 0},
                                         {"mesh-2.6.0", 3},          {"moe-2.6.0", 0},         {"moe-2.6.0", 2},
                                         {"pp-2.6.0", 0},            {"threads-2.6.0", 0},     {"tp-2.6.0", 0}};
  return all;
}

RankInput input_of(const Recorded& host, const Recorded& device) {
  const std::string folder = chakra::testing::data_folder() + "/recorded/";
  RankInput input;  // whose names say nothing about ranks
  input.host = fmt::format("{}{}/host.{}.json.gz", folder, host.job, host.rank);
  input.device = fmt::format("{}{}/device.{}.json.gz", folder, device.job, device.rank);
  return input;
}

bool has(const LinkReport& report, std::string_view tag) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return f.tag == tag; });
}

TEST(WrongPairs, AreRefusedOrNamed) {
  if (chakra::testing::data_folder().empty()) GTEST_SKIP() << "CHAKRA_TEST_DATA is not set";
  int refused = 0, named = 0;
  for (const Recorded& host : recorded())
    for (const Recorded& device : recorded()) {
      const std::string which = fmt::format("{} {} with {} {}", host.job, host.rank, device.job, device.rank);
      const Result<Linked> linked = link(input_of(host, device));
      if (host.job == device.job && host.rank == device.rank) {
        EXPECT_TRUE(linked) << which << ": " << linked.error().message();
        continue;
      }
      if (!linked) {
        const std::string& tag = linked.error().tag;
        EXPECT_TRUE(tag == "pytorch.match.low" || tag == "pytorch.pair.process" || tag == "pytorch.pair.rank")
            << which << ": " << linked.error().message();
        ++refused;
        continue;
      }
      // Another run of the same program, at another time: all operators match.
      EXPECT_TRUE(host.job != device.job && host.job.starts_with("Pasync") && device.job.starts_with("Pasync")) << which;
      EXPECT_TRUE(has(linked->report, "pytorch.pair.other_process")) << which;
      ++named;
    }
  EXPECT_EQ(refused + named, 15 * 14);
  EXPECT_LE(named, 8);
}

/// Ranks of one job may be named in a way that nobody understands: what is in the files has to do.
TEST(WrongPairs, RankThatTheUserNames) {
  if (chakra::testing::data_folder().empty()) GTEST_SKIP() << "CHAKRA_TEST_DATA is not set";
  const RankInput input = input_of({"Pasync_base-2.6.0", 0}, {"Pasync_base-2.6.0", 1});
  EXPECT_EQ(chakra::testing::tag_of(link(input)), "pytorch.pair.process");
  LinkOptions options;
  options.rank = 0;
  const Result<Linked> linked = link(input, options);
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_TRUE(has(linked->report, "pytorch.pair.other_process"));
}

}  // namespace
}  // namespace chakra::pytorch
