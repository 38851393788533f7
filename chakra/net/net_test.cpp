#include "chakra/net/net.h"

#include <gtest/gtest.h>

namespace chakra::net {
namespace {

std::string tag_of(const char* text) {
  auto fabric = parse_fabric(*parse_spec(text, "net.yml"));
  return fabric ? "" : fabric.error().tag;
}

TEST(Topologies, EveryPairHasARoute) {
  for (const TopologyRow& row : kTopologies)
    for (int64_t n = 2; n <= 17; ++n)
      for (int64_t a = 0; a < n; ++a)
        for (int64_t b = 0; b < n; ++b) {
          EXPECT_EQ(row.hops(a, b, n), row.hops(b, a, n));
          EXPECT_EQ(row.hops(a, b, n) == 0, a == b);
          EXPECT_LE(row.hops(a, b, n), std::max<int64_t>(2, n - 1));
        }
}

TEST(Fabric, ReadsTheEcosystemsFile) {
  auto fabric = parse_fabric(*parse_spec(
      "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n", "net.yml"));
  ASSERT_TRUE(fabric) << fabric.error().message();
  EXPECT_EQ(fabric->size(), 8);
  EXPECT_EQ(fabric->path(0, 7).links, 1);
  EXPECT_EQ(fabric->path(0, 4).links, 4);
  EXPECT_EQ(fabric->latency(0, 3), 1'500'000);
  EXPECT_EQ(serialization(50'000'000'000, fabric->path(0, 4).bytes_per_s), 931'322'574'615);  // GB are 2^30 bytes there
  EXPECT_EQ(fabric->describe(), "Ring of 8, 53.7 GB/s, 500 ns per link");
}

TEST(Fabric, RefusesWhatCannotBe) {
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
}

}  // namespace
}  // namespace chakra::net
