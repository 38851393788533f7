// The default algorithm against what no algorithm can beat: bytes over the narrowest cut of the network.
// CHAKRA_SHOW_BOUNDS=1 prints each ratio.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "chakra/coll/coll.h"
#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using net::TopologyKind;
using testing::first_ranks;
using trace::CommType;

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr int64_t kGpus = 8;  // of a node
constexpr double kInNode = 450, kNic = 50;

net::Fabric parsed(const std::string& text) {
  auto fabric = net::parse_fabric(*parse_spec(text, "net.yml"));
  EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message());
  return *std::move(fabric);
}

/// The same machine in each form of network file: nodes of eight GPUs, each GPU with a separate network card.
std::string rails(int64_t nodes) {
  return fmt::format(
      "topology: Rails\nranks_per_node: 8\nnodes: {}\npods: 1\nspines: 8\nbandwidth: [450, 50, 50]\nlatency: [250, "
      "500, "
      "500]",
      nodes);
}
std::string fat_tree(int64_t nodes) {
  return fmt::format("topology: FatTree\ndown: [8, {}]\nup: [1, 8]\nbandwidth: [450, 50]\nlatency: [250, 500]", nodes);
}
std::string switches(int64_t nodes) {
  return fmt::format("topology: [Switch, Switch]\nnpus_count: [8, {}]\nbandwidth: [450, 50]\nlatency: [250, 500]",
                     nodes);
}
/// Rank numbers go round the nodes, so that those that follow each other are on different ones.
std::string by_hand(int64_t nodes) {
  std::string text = fmt::format("ranks: {}\nswitches: {}\nlinks:\n", kGpus * nodes, nodes + kGpus);
  for (int64_t r = 0; r < kGpus * nodes; ++r) {
    text += fmt::format("- {{from: {}, to: {}, bandwidth: 450, latency: 250}}\n", r, kGpus * nodes + r % nodes);
    text += fmt::format("- {{from: {}, to: {}, bandwidth: 50, latency: 500}}\n", r, kGpus * nodes + nodes + r / nodes);
  }
  return text;
}
struct Form {
  const char* name;
  std::string (*text)(int64_t nodes);
  double port;
};
/// In a fat tree a GPU has one port for both.
constexpr Form kForms[] = {{"Rails", rails, kInNode + kNic},
                           {"FatTree", fat_tree, kInNode},
                           {"[Switch, Switch]", switches, kInNode + kNic},
                           {"by hand", by_hand, kInNode + kNic}};

/// Bytes of comm_size for a buffer.
uint64_t size_of(CommType type, uint64_t buffer, size_t members) {
  return type == CommType::all_gather ? buffer / members : buffer;
}

double seconds(const net::Fabric& fabric, CommType type, uint64_t buffer, std::string* what = nullptr) {
  const std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(fabric.size()));
  const Operation op{type, size_of(type, buffer, ranks.size()), 0, {}};
  const Place place{&fabric, ranks};
  const Choice choice = choose({}, op, place);
  if (what) *what = fmt::format("{}{}", choice.algorithm->name, choice.order.empty() ? "" : " (near)");
  const Reordered seen(op, place, choice.order);
  return static_cast<double>(price(choice.plan, seen.place).together_ps) * 1e-12;
}

void show(const std::string& what) {
  static const bool shown = std::getenv("CHAKRA_SHOW_BOUNDS") != nullptr;
  if (shown) fmt::print("{}\n", what);
}

constexpr CommType kSumsAndGathers[] = {CommType::all_reduce, CommType::reduce_scatter, CommType::all_gather};

/// `port`: all that a GPU sends at a time.
double nodes_bound(CommType type, double buffer, double nodes, double port) {
  const double n = kGpus * nodes, twice = type == CommType::all_reduce ? 2 : 1, gib = 1073741824.0;
  return twice * buffer / gib * std::max((nodes - 1) / nodes / (kGpus * kNic), (n - 1) / n / port);
}

TEST(Bounds, NodesOnRails) {
  const bool all = std::getenv("CHAKRA_TEST_FULL") != nullptr;
  const std::vector<int64_t> counts =
      all ? std::vector<int64_t>{2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 24, 32, 33, 64, 100, 128, 129, 256, 511, 512}
          : std::vector<int64_t>{2, 3, 9, 10, 24};
  for (const int64_t nodes : counts)
    for (const CommType type : kSumsAndGathers) {
      double least = 1e9, most = 0;  // seconds
      std::string line = fmt::format("{} nodes, {}:", nodes, trace::name(type));
      for (const Form& form : kForms) {
        std::string taken;
        const net::Fabric fabric = parsed(form.text(nodes));
        const double time = seconds(fabric, type, kGiB, &taken);
        const double ratio = time / nodes_bound(type, kGiB, static_cast<double>(nodes), form.port);
        line += fmt::format("  {} {:.3f} {:.3f} ms {}", form.name, ratio, time * 1e3, taken);
        EXPECT_GE(ratio, 1) << line;
        EXPECT_LE(ratio, 1.2) << line;
        least = std::min(least, time);
        most = std::max(most, time);
      }
      show(line);
      if (nodes >= 8) {  // else a GPU's port is the narrowest, which a fat tree has one of
        EXPECT_LE(most, 1.05 * least) << line;
      }
    }
}

/// One more node never makes an operation of 1 MiB and more much slower.
TEST(Bounds, OneMoreNode) {
  for (const Form& form : kForms) {
    std::map<std::pair<CommType, uint64_t>, double> before;
    const int64_t last = std::getenv("CHAKRA_TEST_FULL") ? 40 : 10;
    for (int64_t nodes = 2; nodes <= last; ++nodes) {
      const net::Fabric fabric = parsed(form.text(nodes));
      for (const CommType type : kSumsAndGathers)
        for (const uint64_t bytes : {uint64_t{1} << 20, uint64_t{1} << 23, uint64_t{1} << 26, kGiB}) {
          std::string taken;
          const double now = seconds(fabric, type, bytes, &taken);
          if (nodes == last)
            show(
                fmt::format("{} {} {} {}: {:.1f} us {}", form.name, nodes, trace::name(type), bytes, now * 1e6, taken));
          double& was = before[{type, bytes}];
          if (nodes > 3) {
            const auto n = static_cast<double>(nodes);
            const double more = nodes_bound(type, 1, n, form.port) / nodes_bound(type, 1, n - 1, form.port);
            EXPECT_LE(now, 1.1 * was * more)
                << nodes << " nodes of " << form.name << ", " << trace::name(type) << " of " << bytes << ", " << taken;
          }
          was = now;
        }
    }
  }
}

TEST(Bounds, ToriAndMeshes) {
  struct Torus {
    std::vector<net::Dimension> dimensions;
    double ports;  ///< GB/s of a rank, of a mesh that of a corner
  };
  const auto torus = [](std::vector<int64_t> extents, std::vector<double> rates,
                        TopologyKind kind = TopologyKind::torus) {
    Torus made{{}, 0};
    for (size_t d = 0; d < extents.size(); ++d) {
      made.dimensions.push_back({kind, extents[d], rates[d % rates.size()], 500});
      made.ports += rates[d % rates.size()] * (kind == TopologyKind::torus ? 2 : 1);
    }
    return made;
  };
  const std::vector<Torus> tori{torus({8, 8}, {50}),
                                torus({4, 4, 4}, {50}),
                                torus({8, 8, 8}, {50}),
                                torus({16, 16, 16}, {50}),
                                torus({8, 16}, {50}),
                                torus({4, 8, 16}, {50}),
                                torus({8, 8}, {50, 200}),
                                torus({8, 8}, {50, 100}),
                                torus({8, 8, 8}, {50, 75, 100}),
                                torus({8, 8}, {50}, TopologyKind::mesh)};
  for (const Torus& t : tori)
    for (const CommType type : kSumsAndGathers) {
      const net::Fabric fabric{t.dimensions};
      std::string taken;
      const auto n = static_cast<double>(fabric.size());
      const double bound = (type == CommType::all_reduce ? 2 : 1) * (n - 1) / n / t.ports;
      const double ratio = seconds(fabric, type, kGiB, &taken) / bound;
      const std::string what = fmt::format("{} {}: {:.3f} {}", fabric.describe(), trace::name(type), ratio, taken);
      show(what);
      EXPECT_GE(ratio, 0.999) << what;
      EXPECT_LE(ratio, 1.3) << what;
    }
}

/// Each of n members sends 1 GiB / n to each other.
TEST(Bounds, ExchangesOfAnySize) {
  const auto check = [](const net::Fabric& fabric, double bound_ms, double most) {
    std::string taken;
    const double ratio = seconds(fabric, CommType::all_to_all, kGiB, &taken) * 1e3 / bound_ms;
    const std::string what = fmt::format("{}: {:.3f} of {} ms, {}", fabric.describe(), ratio, bound_ms, taken);
    show(what);
    EXPECT_GE(ratio, 0.99) << what;
    EXPECT_LE(ratio, most) << what;
  };
  // Of a leaf of 16, all that goes to other leaves, over 4 cables of 50 GB/s.
  const auto leaves = [](int64_t count) {
    return parsed(fmt::format("topology: FatTree\ndown: [16, {}]\nup: [1, 4]\nbandwidth: 50\nlatency: 500", count));
  };
  const auto leaf_bound = [](double ranks) { return 16 * (ranks - 16) / ranks / 200 * 1e3; };
  const bool all = std::getenv("CHAKRA_TEST_FULL") != nullptr;
  for (const int64_t count : all ? std::vector<int64_t>{64, 128, 256} : std::vector<int64_t>{128})
    check(leaves(count), leaf_bound(16.0 * static_cast<double>(count)), 1.1);
  const auto cube = [](std::vector<int64_t> extents) {
    net::Fabric fabric;
    for (const int64_t extent : extents) fabric.dimensions.push_back({TopologyKind::torus, extent, 50, 500});
    return fabric;
  };
  check(cube({8, 16, 16}), 40.0, 1.1);  // extent / 8 GiB over each link of 50 GB/s
  check(cube({16, 16, 16}), 40.0, 1.1);
  // Between any two of 33 groups of 64 one cable.
  check(parsed(
            "topology: Dragonfly\nranks_per_router: 8\nrouters: 8\nglobal: 8\ngroups: 33\nbandwidth: 50\nlatency: 500"),
        64.0 * 64 / 2112 / 50 * 1e3, 1.3);
}

/// What large groups are priced at is what small ones are, transfer by transfer.
TEST(Bounds, ExchangesBySymmetryEqualThoseByTransfers) {
  Prng random(5);
  const AlgorithmRow& direct = *find_algorithm("direct");
  for (int i = 0; i < 200; ++i) {
    const net::Fabric fabric = i % 4 ? testing::random_fabric(random, 40) : parsed(fat_tree(random.between(2, 5)));
    if (fabric.size() < 2) continue;
    const std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(fabric.size()));
    const Place place{&fabric, ranks};
    const Plan plan = direct.plan({CommType::all_to_all, 1 << 26, 0, {}}, place);
    const auto by_transfers = static_cast<double>(price(plan, place).together_ps);
    const auto together = price(plan, place, ranks.size());
    ASSERT_TRUE(together);
    EXPECT_NEAR(static_cast<double>(together->together_ps) / by_transfers, 1, 0.02) << fabric.describe();
  }
}

}  // namespace
}  // namespace chakra::coll
