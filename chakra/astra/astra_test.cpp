#include "chakra/astra/astra.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::astra {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::testing::Job;

constexpr uint64_t kMiB = 1 << 20;

Input golden_input(size_t ranks, CommType type, uint64_t bytes, const std::string& network, const std::string& system) {
  Job job(ranks);
  for (size_t r = 0; r < ranks; ++r) job.collective(r, type, bytes);
  Input in;
  in.job = job.finish();
  Findings findings;
  auto fabric = net::load_fabric(network);
  auto loaded = device::load_system(system, findings);
  EXPECT_TRUE(fabric) << network;
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message());
  if (fabric) in.fabric = *fabric;
  if (loaded) in.system = *loaded;
  return in;
}

CommType type_named(const std::string& collective) {
  return collective == "all_reduce"   ? CommType::all_reduce
         : collective == "all_gather" ? CommType::all_gather
         : collective == "all_to_all" ? CommType::all_to_all
                                      : CommType::reduce_scatter;
}

void compare_with_golden(const Input& in, const std::string& exit_code, int64_t least, int64_t most) {
  auto report = simulate(in);
  if (exit_code != "0") {
    EXPECT_TRUE(!report && report.error().tag.starts_with("sim.compat."));
    return;
  }
  ASSERT_TRUE(report) << report.error().message();
  Picoseconds first = kLongestPs, last = 0;
  for (const Report::Rank& r : report->ranks) {
    first = std::min(first, r.finish_ps);
    last = std::max(last, r.finish_ps);
  }
  EXPECT_EQ(first, least * kPsPerNs);
  EXPECT_EQ(last, most * kPsPerNs);
}

TEST(Astra, GoldenAlgorithms) {
  const std::string golden = chakra::testing::golden_folder();
  if (golden.empty()) GTEST_SKIP() << "no golden data";
  std::ifstream rows(golden + "/astra/algorithms.tsv");
  std::string line;
  int compared = 0;
  while (std::getline(rows, line)) {
    std::istringstream cells(line);
    std::string collective, algorithm, splits, topology, backend, exit_code;
    int64_t least = 0, most = 0;
    if (!(cells >> collective >> algorithm >> splits >> topology >> backend >> exit_code) || collective == "#" ||
        collective == "collective")
      continue;
    cells >> least >> most;
    SCOPED_TRACE(line);
    Input in = golden_input(8, type_named(collective), kMiB, golden + "/astra/cfg/" + topology + "_8.yml",
                            golden + "/astra/cfg/" + algorithm + "1d_s" + splits + ".json");
    in.options.congestion_aware = backend == "aware";
    compare_with_golden(in, exit_code, least, most);
    ++compared;
  }
  EXPECT_GE(compared, 120);
}

TEST(Astra, GoldenDimensions) {
  const std::string golden = chakra::testing::golden_folder();
  if (golden.empty()) GTEST_SKIP() << "no golden data";
  std::ifstream rows(golden + "/astra/multidim.tsv");
  std::string line;
  int compared = 0;
  while (std::getline(rows, line)) {
    std::istringstream cells(line);
    std::string collective, network, system, backend, exit_code;
    int64_t queues = 0, least = 0, most = 0;
    if (!(cells >> collective >> network >> system >> queues >> backend >> exit_code)) continue;
    cells >> least >> most;
    SCOPED_TRACE(line);
    const auto fabric = net::load_fabric(golden + "/astra/cfg/" + network + ".yml");
    ASSERT_TRUE(fabric);
    Input in = golden_input(static_cast<size_t>(fabric->size()), type_named(collective), kMiB,
                            golden + "/astra/cfg/" + network + ".yml", golden + "/astra/cfg/" + system + ".json");
    in.options.queues_per_dimension = queues;
    compare_with_golden(in, exit_code, least, most);
    ++compared;
  }
  EXPECT_GE(compared, 96);
}

/// Examples of docs/reference/compat.md: its numbers follow from its rules by hand.
Input ring_of_eight(size_t ranks = 8) {
  Input in;
  in.fabric = {{{net::TopologyKind::ring, static_cast<int64_t>(ranks), 50, 500}}};
  in.system.splits_given = true;
  in.system.splits = 4;
  in.system.memory_bytes_per_s = 1600e9;
  in.system.all_reduce = in.system.all_gather = in.system.reduce_scatter = in.system.all_to_all = {"ring"};
  return in;
}

Picoseconds makespan(const Input& in) {
  auto report = simulate(in);
  EXPECT_TRUE(report) << report.error().message();
  return report ? report->makespan_ps : -1;
}

TEST(Astra, ChunksAndRemainders) {
  Input in = ring_of_eight();
  const auto all_reduce = [&](uint64_t bytes) {
    Job job(8);
    for (size_t r = 0; r < 8; ++r) job.collective(r, CommType::all_reduce, bytes);
    in.job = job.finish();
    return makespan(in);
  };
  EXPECT_EQ(all_reduce(kMiB), 64'440 * kPsPerNs);
  EXPECT_EQ(all_reduce(1'000'003), 78'485 * kPsPerNs);  // the three bytes too many cost a whole chunk
}

/// Four ranks on a switch: leaf, top, root and back, each way one message and one bundle per step.
TEST(Astra, ATreeByHand) {
  Input in = ring_of_eight(4);
  in.fabric.dimensions[0].kind = net::TopologyKind::switch_;
  in.system.splits = 1;
  in.system.all_reduce = in.system.all_gather = {"doubleBinaryTree"};
  for (const CommType type : {CommType::all_reduce, CommType::all_gather}) {  // it does not look at the type
    Job job(4);
    for (size_t r = 0; r < 4; ++r) job.collective(r, type, kMiB);
    in.job = job.finish();
    constexpr int64_t kMessage = 20'531, kReduction = 3 * 655;  // trunc(1000 + 2^20 / 53.687), 3 trunc(2^20 / 1600)
    EXPECT_EQ(makespan(in), (10 + 4 * kMessage + 3 * (10 + kReduction) + 10) * kPsPerNs);
  }
}

TEST(Astra, SeveralDimensionsRendezvousAndScale) {
  Input in = ring_of_eight(8);
  Job job(8);
  for (size_t r = 0; r < 8; ++r) job.collective(r, CommType::all_reduce, kMiB);
  in.job = job.finish();
  in.options.rendezvous = true;
  EXPECT_EQ(makespan(in), 100'952 * kPsPerNs);  // a request of 652 ns before each of 56 messages
  in.options.rendezvous = false;
  in.options.injection_scale = 2;
  EXPECT_EQ(makespan(in), 65'040 * kPsPerNs);

  Input grid = ring_of_eight(2);
  grid.fabric.dimensions = {{net::TopologyKind::ring, 2, 200, 500}, {net::TopologyKind::switch_, 2, 50, 1000}};
  for (const auto& [to, ns] : {std::pair(1, 5'382), std::pair(2, 21'531), std::pair(3, 5'382)}) {
    Job pair(4);
    pair.message(0, NodeType::send, to, kMiB);
    pair.message(static_cast<size_t>(to), NodeType::recv, 0, kMiB);
    grid.job = pair.finish();
    EXPECT_EQ(makespan(grid), ns * kPsPerNs) << to;
  }
}

/// Whatever the algorithm, collective, number of ranks and back end: it ends, or is refused beforehand.
TEST(Astra, EveryAlgorithmEnds) {
  for (const char* algorithm : {"ring", "oneRing", "direct", "direct2", "oneDirect", "oneDirect3", "halvingDoubling",
                                "oneHalvingDoubling", "doubleBinaryTree"})
    for (const CommType type :
         {CommType::all_reduce, CommType::all_gather, CommType::reduce_scatter, CommType::all_to_all})
      for (size_t ranks = 2; ranks <= 17; ++ranks)
        for (const bool aware : {false, true}) {
          Input in = ring_of_eight(ranks);
          in.system.all_reduce = in.system.all_gather = in.system.reduce_scatter = in.system.all_to_all = {algorithm};
          in.options.congestion_aware = aware;
          in.options.queues_per_dimension = 1 + static_cast<int64_t>(ranks % 4);
          Job job(ranks);
          for (int twice = 0; twice < 2; ++twice)
            for (size_t r = 0; r < ranks; ++r) job.collective(r, type, 100'000);
          in.job = job.finish();
          SCOPED_TRACE(fmt::format("{}, {}, {} ranks", algorithm, trace::name(type), ranks));
          auto report = simulate(in);
          if (report) EXPECT_GT(report->makespan_ps, 0);
          else EXPECT_EQ(report.error().tag, "sim.compat.algorithm");
        }
}

/// Rings priced at once give what their messages give one by one: random starts, groups, dimensions and queues; with
/// congestion, too, where messages that follow show in which order the ranks left the ring.
TEST(Astra, RingsAtOnceEqualRingsMessageByMessage) {
  Prng random(11);
  int aware = 0, shorter = 0;
  for (int round = 0; round < 1200; ++round) {
    Input in = ring_of_eight(2);
    in.fabric.dimensions.clear();
    const size_t dims = random.below(2) == 0 ? 1 : 1 + random.below(3);
    size_t ranks = 1;
    for (size_t d = 0; d < dims; ++d) {
      const auto size = static_cast<int64_t>(2 + random.below(dims == 1 ? 7 : 3));
      in.fabric.dimensions.push_back({static_cast<net::TopologyKind>(random.below(3)), size,
                                      static_cast<double>(10 + random.below(200)),
                                      static_cast<double>(random.below(2000))});
      ranks *= static_cast<size_t>(size);
    }
    in.system.splits = static_cast<int64_t>(1 + random.below(5));
    in.system.active_chunks = static_cast<int64_t>(random.below(2) == 0 ? 1 : 1 + random.below(4));
    in.system.local_bw_aware = random.below(2) == 0;
    in.system.scheduling = random.below(2) == 0 ? "LIFO" : "FIFO";
    in.options.queues_per_dimension = static_cast<int64_t>(random.below(2) == 0 ? 1 : 1 + random.below(4));
    in.system.all_reduce = in.system.all_gather = in.system.reduce_scatter = in.system.all_to_all =
        std::vector<std::string>(dims, random.below(4) == 0 ? "oneRing" : "ring");
    in.options.congestion_aware = dims == 1 && random.below(4) != 0;
    const bool competing = in.options.congestion_aware && random.below(2) == 0;  // who is first at a link shows
    if (competing) in.system.all_to_all = {"direct"};
    in.groups = {{"1", {}}, {"2", {}}};
    const bool halves = random.below(2) == 0;
    const auto group = [&](size_t r) { return (halves ? r * 2 < ranks : r % 2 == 0) ? "1" : "2"; };
    for (size_t r = 0; r < ranks; ++r) in.groups[group(r)].push_back(static_cast<int64_t>(r));
    Job job(ranks);
    const uint64_t collectives = 1 + random.below(4);
    for (uint64_t c = 0; c < collectives; ++c) {
      const auto type = std::array{CommType::all_reduce, CommType::all_gather, CommType::reduce_scatter,
                                   CommType::all_to_all}[random.below(4)];
      const uint64_t bytes = 1 + random.below(1 << 20);
      const bool grouped = ranks >= 4 && random.below(3) == 0, alike = random.below(2) == 0;
      const uint64_t most = random.below(2) == 0 ? 20 : 200, wait = random.below(most);
      for (size_t r = 0; r < ranks; ++r) {
        const NodeId n = job.compute(r, static_cast<Picoseconds>(alike ? wait : random.below(most)) * kPsPerUs);
        const NodeId last = job.collective(r, type, bytes, {n}, grouped ? group(r) : "");
        if (!competing || r == 0) continue;
        job.message(r, NodeType::send, 0, kMiB, {last}, static_cast<int64_t>(c));
        job.message(0, NodeType::recv, static_cast<int64_t>(r), kMiB, {}, static_cast<int64_t>(c));
      }
    }
    in.job = job.finish();
    auto at_once = simulate(in);
    in.options.every_message = true;
    auto one_by_one = simulate(in);
    ASSERT_EQ(at_once.has_value(), one_by_one.has_value()) << round;
    if (at_once && in.options.congestion_aware) {
      ++aware;
      shorter += at_once->events < one_by_one->events ? 1 : 0;
    }
    if (!at_once) {
      EXPECT_EQ(at_once.error().tag, one_by_one.error().tag);
      continue;
    }
    for (size_t r = 0; r < ranks; ++r)
      EXPECT_EQ(at_once->ranks[r].finish_ps, one_by_one->ranks[r].finish_ps) << "round " << round << ", rank " << r;
  }
  EXPECT_GT(shorter, 100);
  EXPECT_LT(shorter, aware);
}

TEST(Astra, ACustomCollectiveAndOthersInOneJob) {
  Input in = ring_of_eight(2);
  in.system.splits = 1;
  const auto all_gathers = [&](bool with_custom) {
    Job job(2);
    for (size_t r = 0; r < 2; ++r) {
      std::vector<NodeId> after;
      if (with_custom) after.push_back(job.collective(r, CommType::all_reduce, kMiB));
      job.collective(r, CommType::all_gather, kMiB, after);
    }
    in.job = job.finish();
    return makespan(in);
  };
  const Picoseconds alone = all_gathers(false);
  Job exchange(2);
  for (size_t r = 0; r < 2; ++r) {
    exchange.message(r, NodeType::send, 1 - static_cast<int64_t>(r), kMiB);
    exchange.message(r, NodeType::recv, 1 - static_cast<int64_t>(r), kMiB);
  }
  in.custom.emplace(CommType::all_reduce, exchange.finish());
  EXPECT_EQ(all_gathers(true), alone + 20'031 * kPsPerNs);  // one message over one link, then as before
}

/// The number of a group says how its messages are numbered; the highest are refused rather than mixed up.
TEST(Astra, GroupsOfHighNumbers) {
  const auto run = [](const char* group, bool custom, int64_t tag) {
    Input in = ring_of_eight(2);
    in.system.splits = 1;
    in.groups = {{group, {0, 1}}};
    Job job(2), exchange(2);
    for (size_t r = 0; r < 2; ++r) {
      job.collective(r, CommType::all_reduce, kMiB, {}, group);
      for (const NodeType type : {NodeType::send, NodeType::recv})
        exchange.message(r, type, 1 - static_cast<int64_t>(r), kMiB, {}, tag);
    }
    in.job = job.finish();
    if (custom) in.custom.emplace(CommType::all_reduce, exchange.finish());
    const auto report = simulate(in);
    return report ? fmt::format("{}", report->makespan_ps) : report.error().tag;
  };
  const std::string ring = run("1", false, 0), exchanged = run("1", true, 0);
  EXPECT_EQ(run("2147483647", false, 0), ring);
  EXPECT_EQ(run("18000", true, 0), exchanged);
  EXPECT_EQ(run("18000", true, INT64_MAX), exchanged);
  EXPECT_EQ(run("18447", true, 0), "sim.compat.group");
  EXPECT_EQ(run("2147483647", true, 0), "sim.compat.group");
}

TEST(Astra, MessagesOneAfterTheOther) {
  Input in = ring_of_eight(4);
  Job job(4);
  job.message(0, NodeType::send, 1, kMiB);
  job.message(0, NodeType::send, 2, kMiB);
  job.message(1, NodeType::recv, 0, kMiB);
  job.message(2, NodeType::recv, 0, kMiB);
  in.job = job.finish();
  auto report = simulate(in);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->ranks[1].finish_ps, 20'031 * kPsPerNs);
  EXPECT_EQ(report->ranks[2].finish_ps, 40'562 * kPsPerNs);  // two links away
  EXPECT_EQ(report->ranks[0].finish_ps, 40'562 * kPsPerNs);
}

TEST(Astra, RooflineAndOneComputeAtATime) {
  Input in = ring_of_eight(2);
  in.system.roofline = true;
  in.system.peak_flop_per_s = 900e12;
  Job job(2);
  for (size_t r = 0; r < 2; ++r)
    for (const auto& [ops, bytes] : {std::pair(1e12, 1e9), std::pair(1e9, 1e9)}) {
      const NodeId n = job.compute(r, 0);
      Trace& t = job.builders[r].trace;
      t.num_ops.resize(n + 1);
      t.tensor_bytes.resize(n + 1);
      t.num_ops.edit(n) = static_cast<uint64_t>(ops);
      t.tensor_bytes.edit(n) = static_cast<uint64_t>(bytes);
    }
  in.job = job.finish();
  EXPECT_EQ(makespan(in), 1'736'111 * kPsPerNs);
}

TEST(Astra, WhereThePeerHangsThereIsAnError) {
  const auto tag = [](const Input& in) {
    auto report = simulate(in);
    return report ? std::string() : fmt::format("{} {}", static_cast<int>(report.error().code), report.error().tag);
  };
  Input in = ring_of_eight(2);
  {  // ranks that disagree
    Job job(2);
    job.collective(0, CommType::all_reduce, kMiB);
    job.collective(1, CommType::all_reduce, 2 * kMiB);
    in.job = job.finish();
    EXPECT_EQ(tag(in), "4 sim.stuck");
  }
  {  // a receive that no rank sends
    Job job(2);
    job.message(1, NodeType::recv, 0, 5);
    in.job = job.finish();
    EXPECT_EQ(tag(in), "4 sim.stuck");
  }
  {  // operations it does not have
    Job job(2);
    for (size_t r = 0; r < 2; ++r) job.collective(r, CommType::gather, kMiB);
    in.job = job.finish();
    EXPECT_EQ(tag(in), "1 sim.compat.collective");
  }
  {  // a group of one, a group that is not there, a group by name, numbers that ASTRA-sim does not take
    for (const char* group : {"1", "9", "tp", "-5", "00", "2147483648", "9223372036855", "9223372036854775807"}) {
      Job job(2);
      for (size_t r = 0; r < 2; ++r) job.collective(r, CommType::all_reduce, kMiB, {}, group);
      in.job = job.finish();
      in.groups = {{"1", {0}}};
      if (std::string_view(group).size() > 1) in.groups[group] = {0, 1};
      EXPECT_EQ(tag(in), "1 sim.compat.group");
    }
  }
  {  // no splits
    Job job(2);
    for (size_t r = 0; r < 2; ++r) job.collective(r, CommType::all_reduce, kMiB);
    in.job = job.finish();
    in.system.splits_given = false;
    EXPECT_EQ(tag(in), "1 sim.compat.splits");
  }
  {  // remote memory that is not there
    Job job(2);
    job.add(0, NodeType::mem_load, {});
    in.job = job.finish();
    EXPECT_EQ(tag(in), "1 sim.compat.memory");
  }
}

TEST(Astra, RemoteMemory) {
  Input in = ring_of_eight(4);
  in.system.memory = device::MemoryKind::per_rank;
  in.system.remote_memory_latency_ns = 100;
  in.system.remote_memory_bytes_per_ns = 50;
  const auto run = [&] {
    Job job(4);
    for (size_t r = 0; r < 4; ++r) {
      const NodeId load = job.add(r, NodeType::mem_load, {});
      const NodeId store = job.add(r, NodeType::mem_store, {load});
      job.builders[r].trace.tensor_bytes.resize(store + 1, kMiB);
    }
    in.job = job.finish();
    return makespan(in);
  };
  EXPECT_EQ(run(), 2 * 21'071 * kPsPerNs);
  in.system.memory = device::MemoryKind::pool;
  EXPECT_EQ(run(), 8 * 21'071 * kPsPerNs);
  in.system.memory = device::MemoryKind::per_node;
  in.system.remote_memory_ranks_per_node = 2;
  EXPECT_EQ(run(), 4 * 21'071 * kPsPerNs);
}

/// Each rank has one communication at a time, in whatever group.
TEST(Astra, GroupsRunOneAfterTheOther) {
  const auto run = [](std::vector<const char*> groups) {
    Input in = ring_of_eight(2);
    in.groups = {{"1", {0, 1}}, {"2", {0, 1}}};
    Job job(2);
    for (size_t r = 0; r < 2; ++r)
      for (const char* group : groups) job.collective(r, CommType::all_reduce, kMiB, {}, group);
    in.job = job.finish();
    return makespan(in);
  };
  EXPECT_EQ(run({"1", "1", "2"}), 3 * run({"1"}));
}

}  // namespace
}  // namespace chakra::astra
