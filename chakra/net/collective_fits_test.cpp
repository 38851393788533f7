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
  const auto time = fitted_time(f.fits, "all_gather", {0, 8}, 2048);
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
    return fitted_time(f.fits, "all_gather", {0, members}, bytes)->protocol->name;
  };
  EXPECT_EQ(protocol(8, 4096), "LL");      // up to its limit, although Simple would take 5.4 us and LL 5.3 us or more
  EXPECT_EQ(protocol(8, 4097), "Simple");  // beyond
  EXPECT_EQ(protocol(4, 4097), "LL");      // no limit: 5.2 us against 5.4 us
  EXPECT_EQ(protocol(4, 8192), "Simple");
}

TEST(CollectiveFits, SayWhereTheyGoBeyondWhatWasMeasured) {
  const Fabric f = fabric();
  EXPECT_TRUE(fitted_time(f.fits, "all_gather", {0, 8}, 1023)->other_bytes);
  EXPECT_TRUE(fitted_time(f.fits, "all_gather", {0, 8}, 1048577)->other_bytes);
  EXPECT_TRUE(fitted_time(f.fits, "all_gather", {0, 5}, 2048)->other_ranks);
  // Five members: nearest to four, so LL has no limit; steps and shares are those of five.
  EXPECT_DOUBLE_EQ(fitted_time(f.fits, "all_gather", {0, 5}, 1024)->ns,
                   1000 + 4 * 100 + 4.0 / 5 * 1024 / kGiB * 1e9 + 1.0 / 5 * 1024 / (2 * kGiB) * 1e9);
  EXPECT_FALSE(fitted_time(f.fits, "all_reduce", {0, 8}, 2048));
  EXPECT_FALSE(fitted_time(f.fits, "all_gather", {1, 8}, 2048));
  EXPECT_FALSE(fitted_time(f.fits, "all_gather", {0, 1}, 2048));
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
          EXPECT_LE(fitted_time(faster.fits, "all_gather", {0, n}, bytes)->ns,
                    fitted_time(f.fits, "all_gather", {0, n}, bytes)->ns);
    }
}

TEST(CollectiveFits, FormsSendWhatTheOperationNeeds) {
  // Of n members each must get the (n - 1) / n that it has not; a ring all-reduce moves that twice, a tree all of it.
  for (const CollectiveForm& form : kCollectiveForms) {
    const bool rooted = form.operation == "broadcast" || form.operation == "reduce";
    for (const double n : {2.0, 3.0, 8.0}) {
      const double once = (n - 1) / n;
      const double needed = form.algorithm == "tree"             ? 2
                            : rooted || form.algorithm == "nvls" ? 1
                            : form.operation == "all_reduce"     ? 2 * once
                                                                 : once;
      EXPECT_DOUBLE_EQ(form.wire({n}), needed) << form.operation << " " << form.algorithm;
      EXPECT_GE(form.steps({n}), 1);
      EXPECT_EQ(form.rail({n}), 0);
      EXPECT_EQ(form.node_steps({n}), 0);
    }
    EXPECT_EQ(find_collective_form(form.operation, form.algorithm), &form);
  }
}

TEST(CollectiveFits, FormsSendAcrossNodesWhatTheOperationNeeds) {
  // What all rails of a node carry together: of gathers what the other nodes have, of an all-to-all what is for them.
  for (const CollectiveForm& form : kCollectiveForms)
    for (const double per_node : {1.0, 2.0, 8.0})
      for (const double nodes : {2.0, 3.0, 10.0}) {
        const Members m{per_node, nodes};
        const double others = (nodes - 1) / nodes, rails = form.rail(m) * per_node;
        const double once = form.operation == "all_to_all" ? per_node * others : others;
        EXPECT_GE(rails, once - 1e-12) << form.operation << " " << form.algorithm;
        EXPECT_LE(rails, (form.operation == "all_reduce" ? 2 : once == others ? 1 : per_node) + 1e-12);
        EXPECT_GE(form.node_steps(m), 1);
        if (per_node == 1 && form.algorithm != "nvls") {
          EXPECT_EQ(form.wire(m), 0);  // nothing stays inside
        }
        // A ring takes each of its steps once.
        if (form.algorithm == "ring") {
          EXPECT_DOUBLE_EQ(form.steps(m) + form.node_steps(m),
                           (form.operation == "all_reduce" ? 2 : 1) * (per_node * nodes - 1));
        }
      }
}

/// Nodes of four: an all-to-all measured on two nodes, an all-gather from parts.
const char* const kAcross =
    "topology: [ Switch, Switch ]\nnpus_count: [ 4, 10 ]\nbandwidth: [ 100, 40 ]\nlatency: [ 500, 7000 ]\n"
    "collectives:\n"
    "  - operation: all_gather\n    algorithm: ring\n    ranks: [ 4 ]\n    nodes: any\n    bytes: [ 1024, 1048576 ]\n"
    "    protocols:\n"
    "      - { protocol: Simple, op_ns: 5000, step_ns: 100, wire_bandwidth: 100, node_step_ns: 1000, rail_bandwidth: "
    "40 }\n"
    "  - operation: all_to_all\n    algorithm: direct\n    ranks: [ 1 ]\n    nodes: [ 2 ]\n"
    "    protocols:\n      - { protocol: all, rail_bandwidth: 40, peer_bandwidth: 30 }\n"
    "    corrections:\n      - { ranks: 1, bytes: [ 1000, 3000 ], factors: [ 2, 1 ] }\n";

TEST(CollectiveFits, AcrossNodesTheSlowerOfLinksAndRailsCounts) {
  const Fabric f = *parse_fabric(*parse_spec(kAcross, "net.yml"));
  const double bytes = 1 << 20;
  const auto gather = [&](int64_t per_node) {
    return *fitted_time(f.fits, "all_gather", {0, per_node, 10, true}, 1 << 20);
  };
  // Four rails carry 160 together, but the links of a node 100; one rail carries 40.
  EXPECT_DOUBLE_EQ(gather(4).ns, 5000 + 30 * 100 + 9 * 1000 + 39.0 / 40 * bytes / (100 * kGiB) * 1e9);
  EXPECT_DOUBLE_EQ(gather(1).ns, 5000 + 9 * 1000 + 0.9 * bytes / (40 * kGiB) * 1e9);
  EXPECT_TRUE(gather(4).other_ranks);  // not measured across nodes
  EXPECT_FALSE(fitted_time(f.fits, "all_gather", {0, 4}, 1 << 20));
  EXPECT_FALSE(fitted_time(f.fits, "all_gather", {0, 1, 1, true}, 1 << 20));
}

TEST(CollectiveFits, OnePeerGetsLessThanTheRailCarries) {
  const Fabric f = *parse_fabric(*parse_spec(kAcross, "net.yml"));
  const auto time = [&](int64_t nodes, uint64_t bytes) {
    return *fitted_time(f.fits, "all_to_all", {0, 1, nodes, true}, bytes);
  };
  const double one = 0.5 / (30 * kGiB) * 1e9;  // ns of a byte, among two
  EXPECT_FALSE(time(2, 5000).other_ranks);
  EXPECT_DOUBLE_EQ(time(2, 5000).ns, 5000 * one);
  EXPECT_DOUBLE_EQ(time(2, 500).ns, 500 * one * 2);
  EXPECT_DOUBLE_EQ(time(2, 1000).ns, 1000 * one * 2);
  EXPECT_DOUBLE_EQ(time(2, 2000).ns, (1000 * one * 2 + 3000 * one) / 2);  // a straight line between corrected times
  EXPECT_DOUBLE_EQ(time(3, 3000).ns, 2000 / (40 * kGiB) * 1e9);           // another number: no correction
  EXPECT_TRUE(time(3, 3000).other_ranks);
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
  EXPECT_EQ(tag_of(with("[ 1024, 1048576 ]", "[ 1048576, 1024 ]")), "net.file.value");
  EXPECT_EQ(tag_of(with("algorithm: ring", "dimension: 1\n    algorithm: ring")), "net.file.value");
  EXPECT_EQ(tag_of(with("protocols:", "nodes: any\n    protocols:")), "net.file.value");  // one dimension
  const std::string across = kAcross;
  const auto but = [&](std::string_view from, std::string_view to) {
    std::string text = across;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(tag_of(across), "");
  EXPECT_EQ(tag_of(but("nodes: [ 2 ]", "nodes: [ 1 ]")), "net.file.value");
  EXPECT_EQ(tag_of(but("nodes: [ 2 ]", "nodes: 2")), "net.file.key");
  EXPECT_EQ(tag_of(but("nodes: any", "nodes: any\n    dimension: 0")), "net.file.value");
  EXPECT_EQ(tag_of(but("{ ranks: 1,", "{ ranks: 2,")), "net.file.value");
  EXPECT_EQ(tag_of(but("[ 1000, 3000 ]", "[ 3000, 1000 ]")), "net.file.value");
  EXPECT_EQ(tag_of(but("[ 1000, 3000 ]", "[ 1000 ]")), "net.file.value");
  EXPECT_EQ(tag_of(but("[ 2, 1 ]", "[ 2, 0 ]")), "net.file.value");
  EXPECT_EQ(tag_of(but("[ 2, 1 ]", "[ 2, 1 ], size: 3")), "net.file.key");
  EXPECT_EQ(tag_of(good + "slow_links: [{from: 0, to: 8, latency: 9}]\n"), "net.file.value");
}

}  // namespace
}  // namespace chakra::net
