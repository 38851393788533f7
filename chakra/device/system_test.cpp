#include <fmt/core.h>
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
  EXPECT_EQ(tag("{\"peak-perf\": 0, \"local-mem-bw\": 0}"), "");
  EXPECT_EQ(tag("{\"peak-perf\": -1}"), "sim.system.value");
  EXPECT_EQ(tag("{\"peak-perf\": 400e12}"), "sim.system.value");  // FLOP/s
  EXPECT_EQ(tag("{\"local-mem-bw\": 2000e9}"), "sim.system.value");
  EXPECT_EQ(tag("{\"devices\": {\"a\": {\"peak-perf\": 400e12, \"local-mem-bw\": 2000, \"ranks\": [0]}}}"),
            "sim.system.value");
  EXPECT_EQ(tag("{\"devices\": {\"a\": {\"peak-perf\": 400, \"local-mem-bw\": 2e12, \"ranks\": [0]}}}"),
            "sim.system.value");
  EXPECT_EQ(tag("{\"devices\": {\"a\": {\"peak-perf\": 400, \"local-mem-bw\": 0, \"ranks\": [0]}}}"),
            "sim.system.value");
}

TEST(System, NamesTheUnitOfARateThatIsTooHigh) {
  chakra::testing::TemporaryFolder folder;
  Findings findings;
  const auto system = load_system(folder.write("system.json", "{\"peak-perf\": 4e14}"), findings);
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().text,
            "'peak-perf' is '4e14'; it must be 0 or more and at most 1e+09 TFLOP/s (not in FLOP/s)");
}

TEST(System, ReadsTiers) {
  chakra::testing::TemporaryFolder folder;
  Findings findings;
  const auto system =
      load_system(folder.write("system.yml",
                               "tier-of: {ckpt_write: pfs, load: nvme}\n"
                               "tiers:\n"
                               "  nvme: {bandwidth: 6, latency-ns: 80000, scope: node, ranks-per-node: 8}\n"
                               "  pfs: {bandwidth: 0.5, latency-ns: 1.5, scope: all}\n"),
                  findings);
  ASSERT_TRUE(system) << system.error().message();
  ASSERT_EQ(system->tiers.size(), 2u);
  EXPECT_EQ(system->tiers[0].name, "nvme");
  EXPECT_EQ(system->tiers[0].bytes_per_s, 6e9);
  EXPECT_EQ(system->tiers[0].latency_ps, 80'000'000);
  EXPECT_EQ(system->tiers[0].ranks_per_node, 8);
  EXPECT_EQ(system->tiers[1].scope, TierScope::all);
  EXPECT_EQ(system->tiers[1].latency_ps, 1500);
  EXPECT_EQ(system->tier_of.at("ckpt_write"), 1u);
  EXPECT_EQ(system->tier_of.at("load"), 0u);
  EXPECT_EQ(system->native_keys, (std::vector<std::string>{"tier-of", "tiers"}));
  EXPECT_TRUE(findings.empty());
}

TEST(System, RefusesTiersThatCannotBe) {
  chakra::testing::TemporaryFolder folder;
  const auto place = [&](const std::string& text) {  // tag and line
    Findings findings;
    auto system = load_system(folder.write("system.yml", text), findings);
    return system ? "" : fmt::format("{} {}", system.error().tag, system.error().place.line);
  };
  const std::string good = "tiers:\n  a: {bandwidth: 6, latency-ns: 0, scope: all}\n";
  EXPECT_EQ(place(good), "");
  EXPECT_EQ(place("tiers: 3"), "sim.system.value 1");
  EXPECT_EQ(place("tiers:\n  a: 3"), "sim.system.value 2");
  EXPECT_EQ(place("tiers:\n  a: {bandwidth: 6, latency-ns: 0}"), "sim.system.key 2");
  EXPECT_EQ(place("tiers:\n  a: {bandwidth: 6, scope: all}"), "sim.system.key 2");
  EXPECT_EQ(place("tiers:\n  a: {latency-ns: 6, scope: all}"), "sim.system.key 2");
  EXPECT_EQ(place("tiers:\n  a:\n    scope: some\n    bandwidth: 6\n    latency-ns: 0"), "sim.system.value 3");
  EXPECT_EQ(place("tiers:\n  a:\n    scope: all\n    bandwidth: 0\n    latency-ns: 0"), "sim.system.value 4");
  EXPECT_EQ(place("tiers:\n  a:\n    scope: all\n    bandwidth: inf\n    latency-ns: 0"), "base.spec.type 4");
  EXPECT_EQ(place("tiers:\n  a:\n    scope: all\n    bandwidth: fast\n    latency-ns: 0"), "base.spec.type 4");
  EXPECT_EQ(place("tiers:\n  a:\n    scope: all\n    bandwidth: 1\n    latency-ns: -1"), "sim.system.value 5");
  EXPECT_EQ(place("tiers:\n  a:\n    scope: all\n    bandwidth: 1\n    latency-ns: 1e16"), "sim.system.value 5");
  EXPECT_EQ(place("tiers:\n  a: {bandwidth: 6, latency-ns: 0, scope: node}"), "sim.system.key 2");
  EXPECT_EQ(place("tiers:\n  a: {bandwidth: 6, latency-ns: 0, scope: all, ranks-per-node: 2}"), "sim.system.key 2");
  EXPECT_EQ(place("tiers:\n  a: {bandwidth: 6, latency-ns: 0, scope: node, ranks-per-node: 0}"), "sim.system.value 2");
  EXPECT_EQ(place("tiers:\n  a: {bandwidth: 6, latency-ns: 0, scope: all, colour: 2}"), "sim.system.key 2");
  EXPECT_EQ(place(good + "  a: {bandwidth: 6, latency-ns: 0, scope: all}"), "base.spec.duplicate_key 3");
  EXPECT_EQ(place(good + "tier-of: a"), "sim.system.value 3");
  EXPECT_EQ(place(good + "tier-of: {load: b}"), "sim.system.value 3");
  EXPECT_EQ(place(good + "tier-of: {read: a}"), "sim.system.value 3");
  EXPECT_EQ(place("tier-of: {load: a}"), "sim.system.value 1");
}

}  // namespace
}  // namespace chakra::device
