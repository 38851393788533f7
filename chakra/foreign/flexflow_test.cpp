// FlexFlow graphs: counted and timed by a second, simpler reading of the file.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <tuple>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/testing/testing.h"

namespace chakra::foreign {
namespace {

using testing::read_memory;
using testing::tag_of_memory;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

/// What can be seen line by line.
struct Oracle {
  size_t computations = 0, transfers = 0, arrows = 0;
  uint64_t bytes = 0;
  double longest_ms = 0;
};

Oracle second_reading(const std::string& text) {
  Oracle out;
  std::map<int64_t, double> duration;
  std::map<int64_t, std::vector<int64_t>> before;
  const auto behind = [](std::string_view line, std::string_view word, size_t from = 0) -> std::string {
    const size_t at = line.find(word, from);
    return at == std::string_view::npos ? "" : std::string(line.substr(at + word.size()));
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const size_t arrow = line.find(" -> ");
    if (contains(line, "|COMP_NODE|")) {
      ++out.computations;
      duration[std::stoll(behind(line, "node"))] = std::stod(behind(line, "simulated_run_time="));
    } else if (contains(line, "|COMM_SEND_RECV_NODE|")) {
      ++out.transfers;
      duration[std::stoll(behind(line, "node"))] = 0;
      out.bytes += std::stoull(behind(line, "comm_size="));
    } else if (arrow != std::string_view::npos) {
      ++out.arrows;
      before[std::stoll(behind(line, "node", arrow))].push_back(std::stoll(behind(line, "node")));
    }
  }
  std::map<int64_t, double> ends;
  const std::function<double(int64_t)> end_of = [&](int64_t node) {
    if (const auto found = ends.find(node); found != ends.end()) return found->second;
    double start = 0;
    for (const int64_t on : before[node]) start = std::max(start, end_of(on));
    return ends[node] = start + duration[node];
  };
  for (const auto& [node, unused] : duration) out.longest_ms = std::max(out.longest_ms, end_of(node));
  return out;
}

/// When the last node of a job ends if messages take no time: over all ranks, a receive behind its send.
struct Unrolled {
  Picoseconds end = 0;
  size_t computations = 0, sends = 0, receives = 0;
  uint64_t bytes = 0;
  bool cycle = false;
};

Unrolled unroll(const TraceSet& job) {
  Unrolled out;
  std::vector<std::pair<size_t, NodeId>> nodes;
  std::map<std::pair<size_t, NodeId>, NodeId> row;
  for (size_t r = 0; r < job.ranks.size(); ++r)
    for (const NodeId n : job.ranks[r].nodes()) {
      row[{r, n}] = NodeId(nodes.size());
      nodes.emplace_back(r, n);
    }
  std::map<std::tuple<int64_t, int64_t, int64_t>, NodeId> sends;
  for (const auto& [r, n] : nodes) {
    const Trace& t = job.ranks[r];
    out.computations += t.type[n] == NodeType::comp;
    if (t.type[n] == NodeType::send) {
      ++out.sends;
      out.bytes += t.comm(n)->bytes;
      EXPECT_EQ(t.comm(n)->src, t.rank);
      EXPECT_TRUE(sends.emplace(std::tuple(t.comm(n)->src, t.comm(n)->dst, t.comm(n)->tag), row[{r, n}]).second);
    }
    EXPECT_TRUE(t.defects.empty());
  }
  const trace::Edges edges = trace::make_edges(static_cast<uint32_t>(nodes.size()), true, [&](const auto& visit) {
    for (const auto& [r, n] : nodes) {
      const Trace& t = job.ranks[r];
      const NodeId at = row.at({r, n});
      for (const NodeId on : t.deps.of(n)) visit(at, row.at({r, on}), 0, 0);
      if (t.type[n] != NodeType::recv) continue;
      EXPECT_EQ(t.comm(n)->dst, t.rank);
      const auto found = sends.find({t.comm(n)->src, t.comm(n)->dst, t.comm(n)->tag});
      EXPECT_NE(found, sends.end());
      if (found != sends.end()) visit(at, found->second, 0, 0);
    }
  });
  for (const auto& [r, n] : nodes) out.receives += job.ranks[r].type[n] == NodeType::recv;
  const trace::Order order = trace::topological_order(edges);
  out.cycle = !order.cycle.empty();
  std::vector<Picoseconds> ends(nodes.size());
  for (const NodeId n : order.order) {
    for (const NodeId on : edges.of(n)) ends[n] = std::max(ends[n], ends[on]);
    ends[n] += job.ranks[nodes[n].first].dur_ps[nodes[n].second];
    out.end = std::max(out.end, ends[n]);
  }
  return out;
}

TEST(FlexFlow, EveryGraphKeepsItsTasksTransfersAndLongestPath) {
  CHAKRA_NEEDS_DATA();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(chakra::testing::data_folder() + "/flexflow")) {
    const std::string text = chakra::testing::must_read(entry.path().string());
    const Oracle oracle = second_reading(text);
    Findings findings;
    const auto job = read("", entry.path().string(), {}, findings);
    ASSERT_TRUE(job) << job.error().message();
    const Unrolled ours = unroll(*job);
    EXPECT_FALSE(ours.cycle);
    EXPECT_EQ(ours.computations, oracle.computations) << entry.path();
    EXPECT_EQ(ours.sends, oracle.transfers) << entry.path();
    EXPECT_EQ(ours.receives, oracle.transfers) << entry.path();
    EXPECT_EQ(ours.bytes, oracle.bytes) << entry.path();
    // Each duration is rounded to a nanosecond.
    EXPECT_NEAR(static_cast<double>(ours.end) / 1e9, oracle.longest_ms,
                0.5e-6 * static_cast<double>(oracle.computations));
    if (entry.path().filename() == "mnist_mlp.4.graph.gz") {
      EXPECT_EQ(oracle.computations, 46U);
      EXPECT_EQ(oracle.transfers, 36U);
      EXPECT_EQ(oracle.arrows, 134U);
      EXPECT_EQ(oracle.bytes, 16072944U);
    }
    ++files;
  }
  EXPECT_GE(files, 10);
}

std::string comp(int64_t node, int64_t device, double ms) {
  return fmt::format(
      "  node{} "
      "[color=red,label=\"{{device_id={}|Dense_{}|Forward|COMP_NODE|simulated_run_time={}}}\",shape=record];\n",
      node, device, node, ms);
}
std::string comm(int64_t node, int64_t src, int64_t dst, int64_t bytes) {
  return fmt::format(
      "  node{} [label=\"{{device_id=12|Comm from A to "
      "B|Comm|COMM_SEND_RECV_NODE|src_device_id={}|dst_device_id={}|comm_size={}|"
      "run_time=0.5}}\",shape=record];\n",
      node, src, dst, bytes);
}
std::string arrow(int64_t from, int64_t to) { return fmt::format("  node{} -> node{};\n", from, to); }
std::string graph(const std::string& inside) { return "digraph taskgraph {" + inside + "}"; }

TEST(FlexFlow, RandomGraphsLoseNoParent) {
  Prng prng(7);
  for (int i = 0; i < 500; ++i) {
    const int64_t nodes = prng.between(1, 25), devices = prng.between(1, 4);
    std::string text, arrows;
    double free_of_orders = 0;
    for (int64_t n = 0; n < nodes; ++n) {
      if (prng.chance(0.6)) text += comp(n, prng.between(0, devices - 1), static_cast<double>(prng.between(0, 50)) / 8);
      else text += comm(n, prng.between(0, devices - 1), prng.between(0, devices - 1), prng.between(0, 1000));
      for (int64_t before = 0; before < n; ++before)
        if (prng.chance(0.15)) arrows += arrow(before, n);
    }
    const std::string whole = graph(prng.chance(0.5) ? text + arrows : arrows + text);  // forward references, too
    const Oracle oracle = second_reading(whole);
    Findings findings;
    const auto job = read_memory("flexflow", whole, {}, &findings);
    ASSERT_TRUE(job) << job.error().message() << whole;
    const Unrolled ours = unroll(*job);
    EXPECT_FALSE(ours.cycle) << whole;
    EXPECT_EQ(ours.computations, oracle.computations);
    EXPECT_GE(ours.sends, oracle.transfers);
    EXPECT_EQ(ours.sends, ours.receives);
    EXPECT_EQ(ours.bytes, oracle.bytes);
    if (findings.empty()) EXPECT_EQ(ours.sends, oracle.transfers);
    free_of_orders = static_cast<double>(ours.end) / 1e9;
    // Exact: the times are whole nanoseconds. Two transfers of one sender in a row wait for the first to be sent, which
    // on a network without delay is when it arrives.
    EXPECT_NEAR(free_of_orders, oracle.longest_ms, 1e-9) << whole;
  }
}

TEST(FlexFlow, StreamsOrderOnlyWhatTheGraphOrders) {
  // Two chains of three on one device: two streams, whatever their order in the file.
  const std::string text = graph(comp(0, 0, 1) + comp(1, 0, 1) + comp(2, 0, 1) + comp(3, 0, 1) + comp(4, 0, 1) +
                                 comp(5, 0, 1) + arrow(0, 2) + arrow(2, 4) + arrow(1, 3) + arrow(3, 5));
  const auto job = read_memory("flexflow", text);
  ASSERT_TRUE(job);
  const Trace& t = job->ranks[0];
  EXPECT_EQ(t.lanes.size(), 2U);
  EXPECT_EQ(t.lane[0], t.lane[2]);
  EXPECT_EQ(t.lane[2], t.lane[4]);
  EXPECT_NE(t.lane[0], t.lane[1]);
  EXPECT_EQ(t.lane[1], t.lane[5]);
}

TEST(FlexFlow, TimeUnit) {
  Options options;
  for (const auto& [unit, ps] : std::map<std::string, Picoseconds>{
           {"", 1'500'000'000}, {"ms", 1'500'000'000}, {"us", 1'500'000}, {"s", 1'500'000'000'000}, {"ns", 2000}}) {
    options.time_unit = unit;
    const auto job = read_memory("flexflow", graph(comp(0, 0, 1.5)), options);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->ranks[0].dur_ps[0], ps) << unit;
  }
}

TEST(FlexFlow, RefusesByTag) {
  const std::string one = comp(0, 0, 1);
  const std::vector<std::pair<std::string, std::string>> all{
      {graph(one + one), "foreign.flexflow.duplicate"},
      {graph(one + arrow(0, 1)), "foreign.flexflow.dangling"},
      {graph(one + arrow(1, 0)), "foreign.flexflow.dangling"},
      {graph(one + arrow(0, 0)), "foreign.flexflow.cycle"},
      {graph(one + comp(1, 0, 1) + arrow(0, 1) + arrow(1, 0)), "foreign.flexflow.cycle"},
      {graph(""), "foreign.flexflow.empty"},
      {"", "foreign.flexflow.truncated"},
      {"graph {}", "foreign.flexflow.syntax"},
      {graph(one) + "x", "foreign.flexflow.syntax"},
      {graph("node0 -- node1;"), "foreign.flexflow.syntax"},
      {graph("node [];"), "foreign.flexflow.syntax"},
      {graph("node0 [color=red];"), "foreign.flexflow.syntax"},
      {graph("node99999999999999999999 -> node1;"), "foreign.flexflow.syntax"},
      {graph("node0 [label=\"{}\"];"), "foreign.flexflow.label"},
      {graph("node0 [label=\"{device_id=0|a|b|OTHER|x=1}\"];"), "foreign.flexflow.label"},
      {graph("node0 [label=\"{device_id=-1|a|b|COMP_NODE|simulated_run_time=1}\"];"), "foreign.flexflow.label"},
      {graph("node0 [label=\"{device_id=0|a|b|COMP_NODE|simulated_run_time=-1}\"];"), "foreign.flexflow.label"},
      {graph("node0 [label=\"{device_id=0|a|b|COMP_NODE|simulated_run_time=nan}\"];"), "foreign.flexflow.label"},
      {graph("node0 [label=\"{device_id=0|a|b|COMP_NODE|simulated_run_time=1e300}\"];"), "foreign.flexflow.label"},
      {graph("node0 [label=\"{device_id=0|a|b|COMP_NODE}\"];"), "foreign.flexflow.label"},
  };
  for (const auto& [text, tag] : all) EXPECT_EQ(tag_of_memory("flexflow", text), tag) << text;
}

TEST(FlexFlow, EveryPrefixIsRefused) {
  const std::string text = graph(comp(0, 0, 1.25) + arrow(0, 1) + comm(1, 0, 1, 64) + arrow(1, 2) + comp(2, 1, 3e-3));
  testing::expect_prefixes_refused("flexflow", text, text.size());
  if (chakra::testing::data_folder().empty()) return;
  const std::string real =
      chakra::testing::must_read(chakra::testing::data_folder() + "/flexflow/mnist_mlp.4.graph.gz");
  testing::expect_prefixes_refused("flexflow", real, real.size(), {}, 7);
}

}  // namespace
}  // namespace chakra::foreign
