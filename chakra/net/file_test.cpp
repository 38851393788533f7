// Network files.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/net/testing/fabrics.h"

namespace chakra::net {
namespace {

using testing::must_parse;
using testing::tag_of;

TEST(File, ReadsTheEcosystemsFile) {
  const Fabric fabric =
      must_parse("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n");
  EXPECT_EQ(fabric.size(), 8);
  EXPECT_EQ(fabric.path(0, 7).links, 1u);
  EXPECT_EQ(fabric.path(0, 4).links, 4u);
  EXPECT_EQ(fabric.path(0, 3).latency_ps, 1'500'000);
  EXPECT_EQ(serialization(50'000'000'000, fabric.path(0, 1).bytes_per_s), 931'322'574'615);  // GB are 2^30 bytes there
  EXPECT_EQ(serialization(UINT64_MAX, 1e-3), kLongestPs);
  EXPECT_EQ(fabric.describe(), "Ring of 8, 50 GiB/s (53.7 GB/s), 500 ns per link");
}

TEST(File, ChargesEveryDimensionAndHop) {
  const Fabric fabric = must_parse(
      "topology: [FullyConnected, Torus, Switch]\nnpus_count: [2, 5, 3]\nbandwidth: [200, 100, 50]\n"
      "latency: [50, 500, 2000]\n");
  EXPECT_EQ(fabric.path(0, 1).latency_ps, 50'000);
  EXPECT_EQ(fabric.path(0, 2 * 2 + 1).latency_ps, 50'000 + 2 * 500'000);
  EXPECT_EQ(fabric.path(0, 2 * 2 + 1).bytes_per_s, 100 * 1073741824.0);
  EXPECT_EQ(fabric.path(0, 29).latency_ps, 50'000 + 500'000 + 2 * 2'000'000);
  EXPECT_EQ(fabric.path(0, 29).bytes_per_s, 50 * 1073741824.0);
  EXPECT_EQ(fabric.path(7, 7), Path{});
}

TEST(File, SlowLinks) {
  const std::string torus = "topology: [Torus, Torus]\nnpus_count: [4, 4]\nbandwidth: [50, 50]\nlatency: [500, 500]\n";
  const Fabric fabric = must_parse(torus +
                                   "slow_links:\n- {from: 1, to: 2, bandwidth: 5, latency: 900}\n"
                                   "- {from: 5, to: 9, latency: 100, both: false}\n");
  EXPECT_EQ(fabric.path(0, 2).latency_ps, 1'400'000);
  EXPECT_EQ(fabric.path(0, 2).bytes_per_s, 5 * 1073741824.0);
  EXPECT_EQ(fabric.path(2, 1).latency_ps, 900'000);
  EXPECT_EQ(fabric.path(5, 9).latency_ps, 100'000);
  EXPECT_EQ(fabric.path(5, 9).bytes_per_s, 50 * 1073741824.0);
  EXPECT_EQ(fabric.path(9, 5).latency_ps, 500'000);
  EXPECT_EQ(fabric.path(4, 6).latency_ps, 1'000'000);  // the other rows are as they were
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 2, latency: 9}]\n"), "net.file.link");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 16, latency: 9}]\n"), "net.file.link");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1, latency: 9}, {from: 1, to: 0, latency: 9}]\n"),
            "net.file.link");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1}]\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1, latncy: 9}]\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, latency: 9}]\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: {from: 0, to: 1, latency: 9}\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1, latency: -9}]\n"), "net.file.value");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: x, latency: 9}]\n"), "base.spec.type");
}

/// Rates by switch; 0: it does not reduce.
std::vector<double> reductions_of(const std::string& text) {
  const Fabric fabric = must_parse(text);
  std::vector<double> rates;
  for (int64_t device = fabric.size(); device < fabric.devices(); ++device) {
    const Reduction* reduction = fabric.reduction(device);
    rates.push_back(reduction ? reduction->bytes_per_s / 1073741824.0 : 0);
  }
  EXPECT_EQ(fabric.reduction(0), nullptr);
  return rates;
}

TEST(File, SwitchesThatReduce) {
  const std::string grid =
      "topology: [Switch, Ring, Switch]\nnpus_count: [2, 2, 2]\nbandwidth: [9, 9, 9]\nlatency: [9, 9, 9]\n";
  using Rates = std::vector<double>;
  EXPECT_EQ(reductions_of(grid), Rates(8, 0));
  EXPECT_EQ(reductions_of(grid + "reduction: [{bandwidth: 5, latency: 7}, none, {bandwidth: 3}]\n"),
            (Rates{5, 5, 5, 5, 3, 3, 3, 3}));
  EXPECT_EQ(reductions_of(grid + "reduction: {bandwidth: 4}\n"), Rates(8, 4));
  EXPECT_EQ(must_parse(grid + "reduction: {bandwidth: 4, latency: 7}\n").reduction(8)->latency_ps, 7000);
  const std::string tree = "topology: FatTree\ndown: [2, 2]\nup: [1, 2]\nbandwidth: 9\nlatency: 9\n";
  EXPECT_EQ(reductions_of(tree + "reduction: [none, {bandwidth: 3}]\n"), (Rates{0, 0, 3, 3}));
  EXPECT_EQ(reductions_of("topology: Rails\nranks_per_node: 2\nnodes: 2\npods: 1\nspines: 1\nbandwidth: 9\nlatency: 9\n"
                          "reduction: [{bandwidth: 7}, {bandwidth: 5}, none]\n"),
            (Rates{7, 7, 5, 5, 0}));
  const std::string graph =
      "ranks: 2\nswitches: [a, b]\nlinks:\n- {from: 0, to: a, bandwidth: 5, latency: 5}\n"
      "- {from: a, to: b, bandwidth: 5, latency: 5}\n- {from: b, to: 1, bandwidth: 5, latency: 5}\n";
  EXPECT_EQ(reductions_of(graph + "reduction: [{switch: b, bandwidth: 5}]\n"), (Rates{0, 5}));
  EXPECT_EQ(reductions_of(graph + "reduction: {bandwidth: 5}\n"), (Rates{5, 5}));

  const auto wrong = [&](const std::string& text, const char* tag, const char* message) {
    const auto fabric = parse_fabric(*parse_spec(text, "net.yml"));
    ASSERT_FALSE(fabric) << text;
    EXPECT_EQ(fabric.error().tag, tag) << text;
    EXPECT_NE(fabric.error().message().find(message), std::string::npos) << fabric.error().message();
  };
  wrong(grid + "reduction: [none, none]\n", "net.file.value", "net.yml:5: 2 entries");
  wrong(grid + "reduction: []\n", "net.file.value", "0 entries in 'reduction'; expected one for all, or 3");
  wrong(grid + "reduction:\n- none\n- {bandwidth: 5}\n- none\n", "net.file.value", "net.yml:7: a Ring has no switch");
  wrong(grid + "reduction: {latency: 5}\n", "net.file.key", "a reduction needs 'bandwidth'");
  wrong(grid + "reduction:\n- none\n- none\n- {bandwith: 5}\n", "net.file.key",
        "net.yml:8: unknown key 'bandwith' of a reduction");
  wrong(grid + "reduction: {bandwidth: 0}\n", "net.file.value", "a bandwidth of 0");
  wrong(grid + "reduction: {bandwidth: 5, latency: -1}\n", "net.file.value", "a latency of -1");
  wrong(grid + "reduction: {bandwidth: x}\n", "base.spec.type", "x");
  wrong(grid + "reduction: 5\n", "net.file.key", "a reduction must have the form");
  wrong(grid + "reduction: {bandwidth: 5, switch: 8}\n", "net.file.key", "a network given as a graph");
  wrong("topology: [Ring]\nnpus_count: [2]\nbandwidth: [9]\nlatency: [9]\nreduction: {bandwidth: 5}\n",
        "net.file.value", "no dimension has a switch");
  wrong(tree + "reduction: [none]\n", "net.file.value", "1 entries in 'reduction'; expected one for all, or 2");
  wrong(
      "topology: Dragonfly\nranks_per_router: 2\nrouters: 2\nglobal: 1\ngroups: 3\nbandwidth: 9\nlatency: 9\n"
      "reduction: {bandwidth: 5}\n",
      "net.file.key", "a Dragonfly has no 'reduction'");
  wrong(graph + "reduction: [{bandwidth: 5}]\n", "net.file.key", "needs 'switch'");
  wrong(graph + "reduction: [{switch: c, bandwidth: 5}]\n", "net.graph.device", "unknown device 'c'");
  wrong(graph + "reduction: [{switch: 1, bandwidth: 5}]\n", "net.graph.device", "1 is a rank");
  wrong(graph + "reduction: [{switch: a, bandwidth: 5}, {switch: 2, bandwidth: 5}]\n", "net.file.value",
        "a second reduction of '2'");
  wrong("ranks: 2\nlinks: [{from: 0, to: 1, bandwidth: 5, latency: 5}]\nreduction: {bandwidth: 5}\n", "net.file.value",
        "'reduction', but no switches");
}

TEST(File, NamesKeysWithoutEffect) {
  Findings findings;
  const auto fabric = parse_fabric(*parse_spec("topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n"
                                               "slow_link: [{from: 3, to: 4, latency: 9}]\n",
                                               "net.yml"),
                                   &findings);
  ASSERT_TRUE(fabric);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "net.file.unknown_key");
}

TEST(File, KnowsBurstsInEachForm) {
  const std::string row = "topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n";
  EXPECT_EQ(must_parse(row).burst_bytes, 0);
  EXPECT_EQ(must_parse(row + "burst: 5e4\n").burst_bytes, 5e4);
  EXPECT_EQ(must_parse("ranks: 2\nlinks: [{from: 0, to: 1, bandwidth: 5, latency: 5}]\nburst: 7\n").burst_bytes, 7);
  for (const char* wrong : {"burst: -1\n", "burst: 2e12\n"}) EXPECT_EQ(tag_of(row + wrong), "net.file.value");
  EXPECT_EQ(tag_of(row + "burst: much\n"), "base.spec.type");
}

TEST(File, RefusesWhatCannotBe) {
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\n"), "net.file.key");
  EXPECT_EQ(tag_of("topology: Ring\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.key");
  EXPECT_EQ(tag_of("topology: [ Star ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 0 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ -1 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ -5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ tbd ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "base.spec.type");
  EXPECT_EQ(tag_of("topology: [ Ring, Switch ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 5, 5 ]\nlatency: [ 5, 5 ]"), "");
  EXPECT_EQ(tag_of("topology: [Ring, Ring]\nnpus_count: [ 9999999, 9999999 ]\nbandwidth: [ 5, 5 ]\nlatency: [ 5, 5 ]"),
            "net.file.value");
  EXPECT_EQ(tag_of("topology: [FullyConnected]\nnpus_count: [16777216]\nbandwidth: [5]\nlatency: [5]"),
            "net.file.value");
  EXPECT_EQ(tag_of("topology: [FullyConnected]\nnpus_count: [65536]\nbandwidth: [5]\nlatency: [5]"), "");
}

TEST(File, RefusesBadGraphs) {
  const std::string link = "{from: 0, to: 1, bandwidth: 5, latency: 5}";
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [" + link + "]"), "");
  EXPECT_EQ(tag_of("links: [" + link + "]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: 7"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [7]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nbandwidth: 8\nlinks: [" + link + "]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: 1, bandwidth: 5}]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 0\nlinks: [" + link + "]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: -3\nlinks: [" + link + "]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: [a, a]\nlinks: [{from: a, to: a, bandwidth: 5, latency: 5}]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: [a, 1]\nlinks: [" + link + "]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: b, bandwidth: 5, latency: 5}]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: 2, bandwidth: 5, latency: 5}]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 1, to: 1, bandwidth: 5, latency: 5}]"), "net.graph.link");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [" + link + ", {from: 1, to: 0, bandwidth: 5, latency: 5}]"), "net.graph.link");
  EXPECT_EQ(tag_of("ranks: 3\nlinks: [" + link + "]"), "net.graph.unreachable");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: 1, bandwidth: 5, latency: 5, both: false}]"),
            "net.graph.unreachable");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 1, to: 0, bandwidth: 5, latency: 5, both: false}]"),
            "net.graph.unreachable");
  EXPECT_EQ(tag_of("ranks: 999999999999\nlinks: [" + link + "]"), "net.graph.unreachable");
  std::string large = "ranks: 8200\nlinks:\n";
  for (int r = 1; r < 8200; ++r) large += fmt::format("- {{from: 0, to: {}, bandwidth: 5, latency: 5}}\n", r);
  EXPECT_EQ(tag_of(large), "net.graph.large");
}

/// The examples of the page that describes the format.
TEST(File, ReadsWhatItsPageShows) {
  const std::string page = chakra::testing::must_read("docs/reference/formats/network.md");
  std::vector<Fabric> fabrics;
  for (size_t at = page.find("```yaml\n"); at != std::string::npos; at = page.find("```yaml\n", at)) {
    at += 8;
    fabrics.push_back(must_parse(page.substr(at, page.find("```", at) - at)));
  }
  ASSERT_EQ(fabrics.size(), 8u);
  ASSERT_EQ(fabrics[2].fits.size(), 1u);
  EXPECT_EQ(fabrics[2].fits[0].protocols.size(), 3u);
  EXPECT_EQ(std::erase_if(fabrics, [](const Fabric& fabric) { return !fabric.fits.empty(); }), 2u);
  EXPECT_EQ(fabrics[0].size(), 8);
  EXPECT_EQ(fabrics[1].size(), 32);
  EXPECT_EQ(fabrics[1].odd_links.size(), 3u);
  EXPECT_EQ(fabrics[2].describe(), "FatTree of 32 ranks, 6 switches, 80 links");
  const Fabric& graph = fabrics[3];
  EXPECT_EQ(graph.describe(), "graph of 4 ranks, 4 switches, 17 links");
  EXPECT_EQ(graph.device_name(4), "leaf0");
  EXPECT_EQ(graph.path(0, 1).latency_ps, 1'000'000);
  EXPECT_EQ(graph.path(0, 2).latency_ps, 2'400'000);  // 0, leaf0, spine0, leaf1, 2
  std::vector<Use> uses;
  EXPECT_EQ(graph.uses(0, 2, 0, uses), 2'420'000);  // and over spine1
  EXPECT_EQ(uses.size(), 6u);
  EXPECT_EQ(fabrics[4].reductions, (std::vector<Reduction>{{285 * 1073741824.0, 59'000'000}, {}}));
  EXPECT_EQ(fabrics[5].routing.kind, Routing::ecmp);
  EXPECT_EQ(fabrics[5].routing.channels, 4u);
  EXPECT_EQ(fabrics[5].routing.seed, 7u);
  EXPECT_EQ(graph.path(0, 2).bytes_per_s, 50 * 1073741824.0);
  EXPECT_EQ(graph.path(0, 3).latency_ps, 1'800'000);  // the link of their own
  EXPECT_EQ(graph.path(3, 0).links, 4u);              // that leads one way only
}

}  // namespace
}  // namespace chakra::net
