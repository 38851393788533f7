#include <gtest/gtest.h>

#include "chakra/net/net.h"

namespace chakra::net {
namespace {

constexpr double kGiB = 1073741824.0;

/// Two protocols of an all-gather: of 8 ranks the first one ends at 4 KiB.
const char* const kFile =
    "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 100 ]\nlatency: [ 500 ]\n"
    "collectives:\n"
    "  - operation: all_gather\n    algorithm: ring\n    ranks: [ 4, 8 ]\n    bytes: [ 1024, 1048576 ]\n"
    "    error_percent: 2.5\n"
    "    protocols:\n"
    "      - { protocol: LL, op_ns: 1000, step_ns: 100, wire_bandwidth: 1, local_bandwidth: 2, up_to_bytes: [ any, "
    "4096 ] }\n"
    "      - { protocol: Simple, op_ns: 5000, wire_bandwidth: 8 }\n";

Fabric fabric() { return *parse_fabric(*parse_spec(kFile, "net.yml")); }

TEST(CollectiveFits, PriceStepsWireAndLocalBytes) {
  const Fabric f = fabric();
  const auto time = fitted_time(f.fits, "all_gather", 0, 8, 2048);
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->ns, 1000 + 7 * 100 + 7.0 / 8 * 2048 / kGiB * 1e9 + 1.0 / 8 * 2048 / (2 * kGiB) * 1e9);
  EXPECT_EQ(time->protocol->name, "LL");
  EXPECT_EQ(time->fit->error_percent, 2.5);
  EXPECT_EQ(time->fit->worst_percent, -1);
  EXPECT_FALSE(time->other_ranks || time->other_bytes);
}

TEST(CollectiveFits, TakeTheLeastTimeWithinTheLimits) {
  const Fabric f = fabric();
  const auto protocol = [&](int64_t members, uint64_t bytes) {
    return fitted_time(f.fits, "all_gather", 0, members, bytes)->protocol->name;
  };
  EXPECT_EQ(protocol(8, 4096), "LL");      // up to its limit, although Simple would take 5.4 us and LL 5.3 us or more
  EXPECT_EQ(protocol(8, 4097), "Simple");  // beyond
  EXPECT_EQ(protocol(4, 4097), "LL");      // no limit: 5.2 us against 5.4 us
  EXPECT_EQ(protocol(4, 8192), "Simple");
}

TEST(CollectiveFits, SayWhereTheyGoBeyondWhatWasMeasured) {
  const Fabric f = fabric();
  EXPECT_TRUE(fitted_time(f.fits, "all_gather", 0, 8, 1023)->other_bytes);
  EXPECT_TRUE(fitted_time(f.fits, "all_gather", 0, 8, 1048577)->other_bytes);
  EXPECT_TRUE(fitted_time(f.fits, "all_gather", 0, 5, 2048)->other_ranks);
  // Five members: nearest to four, so LL has no limit; steps and shares are those of five.
  EXPECT_DOUBLE_EQ(fitted_time(f.fits, "all_gather", 0, 5, 1024)->ns,
                   1000 + 4 * 100 + 4.0 / 5 * 1024 / kGiB * 1e9 + 1.0 / 5 * 1024 / (2 * kGiB) * 1e9);
  EXPECT_FALSE(fitted_time(f.fits, "all_reduce", 0, 8, 2048));
  EXPECT_FALSE(fitted_time(f.fits, "all_gather", 1, 8, 2048));
  EXPECT_FALSE(fitted_time(f.fits, "all_gather", 0, 1, 2048));
}

TEST(CollectiveFits, FasterPartsAreNeverSlower) {
  const Fabric f = fabric();
  for (const auto part :
       {&ProtocolFit::op_ns, &ProtocolFit::step_ns, &ProtocolFit::wire_gib_per_s, &ProtocolFit::local_gib_per_s})
    for (size_t k = 0; k < 2; ++k) {
      Fabric faster = f;
      const bool is_rate = part == &ProtocolFit::wire_gib_per_s || part == &ProtocolFit::local_gib_per_s;
      faster.fits[0].protocols[k].*part *= is_rate ? 1.1 : 0.9;
      for (const int64_t n : {2, 4, 5, 8, 64})
        for (uint64_t bytes = 1; bytes < uint64_t{1} << 40; bytes *= 3)
          EXPECT_LE(fitted_time(faster.fits, "all_gather", 0, n, bytes)->ns,
                    fitted_time(f.fits, "all_gather", 0, n, bytes)->ns);
    }
}

TEST(CollectiveFits, FormsSendWhatTheOperationNeeds) {
  // Of n members each must get the (n - 1) / n that it has not; a ring all-reduce moves that twice.
  for (const CollectiveForm& form : kCollectiveForms) {
    const bool rooted = form.operation == "broadcast" || form.operation == "reduce";
    for (const double n : {2.0, 3.0, 8.0}) {
      const double once = (n - 1) / n;
      const double needed = rooted || form.algorithm == "nvls" ? 1 : form.operation == "all_reduce" ? 2 * once : once;
      EXPECT_DOUBLE_EQ(form.wire(n), needed) << form.operation << " " << form.algorithm;
      EXPECT_GE(form.steps(n), 1);
    }
    EXPECT_EQ(find_collective_form(form.operation, form.algorithm), &form);
  }
}

std::string tag_of(std::string text) {
  const auto spec = parse_spec(text, "net.yml");
  if (!spec) return spec.error().tag;
  const auto fabric = parse_fabric(*spec);
  return fabric ? "" : fabric.error().tag;
}

TEST(CollectiveFits, RefuseWhatCannotBe) {
  const std::string good = kFile;
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_EQ(tag_of(good), "");
  EXPECT_EQ(tag_of(with("all_gather", "all_gathre")), "net.file.value");
  EXPECT_EQ(tag_of(with("ring", "tree")), "net.file.value");
  EXPECT_EQ(tag_of(with("[ 4, 8 ]", "[ 8, 4 ]")), "net.file.value");
  EXPECT_EQ(tag_of(with("[ 4, 8 ]", "[ 1, 8 ]")), "net.file.value");
  EXPECT_EQ(tag_of(with("[ 4, 8 ]", "4")), "net.file.key");
  EXPECT_EQ(tag_of(with("[ any, 4096 ]", "[ 4096 ]")), "net.file.value");
  EXPECT_EQ(tag_of(with("[ any, 4096 ]", "[ any, -1 ]")), "net.file.value");
  EXPECT_EQ(tag_of(with("op_ns: 5000", "op_ns: -5")), "net.file.value");
  EXPECT_EQ(tag_of(with("op_ns: 5000", "op: 5")), "net.file.key");
  EXPECT_EQ(tag_of(with("[ 1024, 1048576 ]", "[ 1024 ]")), "net.file.value");
  EXPECT_EQ(tag_of(with("algorithm: ring", "dimension: 1\n    algorithm: ring")), "net.file.value");
  EXPECT_EQ(tag_of(good + "slow_links: [{from: 0, to: 8, latency: 9}]\n"), "net.file.value");
}

}  // namespace
}  // namespace chakra::net
