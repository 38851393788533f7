#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/device/device.h"

namespace chakra::device {
namespace {

TEST(System, RefusesWhatCannotBe) {
  chakra::testing::TemporaryFolder folder;
  const auto tag = [&](const std::string& text) {
    Findings findings;
    auto system = load_system(folder.write("system.json", text), findings);
    return system ? (findings.empty() ? "" : findings[0].tag) : system.error().tag;
  };
  EXPECT_EQ(tag("{\"peak-perf\": 900, \"local-mem-bw\": 1600, \"roofline-enabled\": 1}"), "");
  EXPECT_EQ(tag("{\"roofline-enabled\": 1}"), "sim.system.key");
  EXPECT_EQ(tag("{\"scheduling-policy\": \"RANDOM\"}"), "sim.system.value");
  EXPECT_EQ(tag("{\"active-chunks-per-dimension\": 0}"), "sim.system.value");
  EXPECT_EQ(tag("{\"preferred-dataset-splits\": 0}"), "sim.system.value");
  EXPECT_EQ(tag("{\"local-mem-bw\": \"fast\"}"), "base.spec.type");
  EXPECT_EQ(tag("{\"peak_perf\": 900}"), "sim.system.unknown_key");
  EXPECT_EQ(tag("[1]"), "sim.system.value");
}

}  // namespace
}  // namespace chakra::device
