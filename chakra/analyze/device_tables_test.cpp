// The tables of device operations of random traces, against looking at every moment and every caller.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;

struct Launch {
  NodeId call{0}, operation{0};
  int64_t call_start = 0, start = 0, dur = 0, stream = 0;
  size_t kind = 0;
};

struct Random {
  trace::TraceSet set;
  std::vector<Launch> launches;
  std::vector<NodeId> caller;  ///< of each node; kNoNode: none
  uint32_t operators = 0;
};

constexpr int64_t kMoments = 120;
constexpr std::array<std::string_view, 3> kKinds{"computation", "communication", "memory"};
constexpr std::array<std::string_view, 3> kNames{"gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD"};

/// Operators call each other at random, also in circles; each launch is a call in one of them.
Random random_trace(uint64_t seed) {
  Prng random(seed);
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.next() % limit); };
  Random r;
  Builder b;
  const auto place = [&](NodeId n, int64_t start, int64_t dur) {
    b.trace.flags.edit(n) |= trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot;
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = dur;
  };
  r.operators = static_cast<uint32_t>(3 + below(12));
  for (const NodeId n : ids<NodeId>(r.operators)) {
    b.add(n + 1, b.trace.strings.intern("aten::" + std::to_string(below(4))), NodeType::comp);
    b.trace.flags.edit(n) |= trace::kOnCpu;
    place(n, below(kMoments), below(10));
    r.caller.push_back(below(4) == 0 ? trace::kNoNode : NodeId(below(r.operators)));
    if (r.caller[n] != trace::kNoNode) b.ctrl(n, r.caller[n]);
  }
  const int64_t launches = 1 + below(20);
  for (int64_t i = 0; i < launches; ++i) {
    Launch l;
    l.call = b.add(b.trace.id.size() + 1, b.trace.strings.intern("cudaLaunchKernel"), NodeType::comp);
    b.trace.flags.edit(l.call) |= trace::kOnCpu;
    l.call_start = below(kMoments / 2);
    place(l.call, l.call_start, below(5));
    r.caller.push_back(NodeId(below(r.operators)));
    b.ctrl(l.call, r.caller.back());
    l.kind = static_cast<size_t>(below(3));
    l.stream = 7 + below(2);
    l.start = below(kMoments / 2);
    l.dur = below(kMoments / 2);
    const auto operation = [&](int64_t start, int64_t dur) {
      const NodeId n = b.add(b.trace.id.size() + 1, b.trace.strings.intern(kNames[l.kind]), NodeType::comp);
      b.trace.flags.edit(n) = 0;
      place(n, start, dur);
      b.trace.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, l.stream});
      b.dep(n, l.call, static_cast<uint8_t>(trace::EdgeKind::launch));
      r.caller.push_back(r.caller[l.call]);
      b.ctrl(n, r.caller.back());
      return n;
    };
    const int64_t cut = below(2) == 0 ? l.dur : below(static_cast<uint64_t>(l.dur) + 1);
    l.operation = operation(l.start, cut);
    if (cut < l.dur) b.trace.part_of.edit(operation(l.start + cut, l.dur - cut)) = l.operation;
    r.launches.push_back(l);
  }
  r.set.ranks.push_back(std::move(b).finish());
  return r;
}

int64_t number(const std::vector<result::Table::Cell>& cells, size_t column) {
  return std::get<int64_t>(cells[column]);
}
/// A table's rows, by the text in one column.
std::map<std::string, std::vector<result::Table::Cell>> rows_of(const Job& job, std::string_view analysis, size_t which,
                                                                size_t column) {
  std::map<std::string, std::vector<result::Table::Cell>> rows;
  Findings findings;
  for (const AnalysisRow& row : kAnalyses) {
    if (row.name != analysis) continue;
    auto tables = row.run(job, findings);
    EXPECT_TRUE(tables) << tables.error().text;
    if (!tables) continue;
    for (auto& cells : (*tables)[which].table.rows)
      rows[std::holds_alternative<std::string>(cells[column]) ? std::get<std::string>(cells[column])
                                                              : std::to_string(number(cells, column))] = cells;
  }
  return rows;
}

TEST(DeviceTables, EqualWhatLookingAtEveryMomentFinds) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Random r = random_trace(seed);
    Findings findings;
    auto job = prepare(r.set, {}, findings);
    ASSERT_TRUE(job);
    std::map<std::string, int64_t> kinds, names, lengths;
    for (int64_t moment = 0; moment < 2 * kMoments; ++moment) {
      std::array<bool, 3> runs{};
      for (const Launch& l : r.launches) runs[l.kind] |= l.start <= moment && moment < l.start + l.dur;
      std::string kind;
      for (size_t k = 0; k < 3; ++k)
        if (runs[k]) kind += (kind.empty() ? "" : " and ") + std::string(kKinds[k]);
      if (!kind.empty()) ++kinds[kind];
    }
    auto found = rows_of(*job, "kernels", 1, 2);
    EXPECT_EQ(found.size(), kinds.size()) << seed;
    for (const auto& [kind, time] : kinds) EXPECT_EQ(number(found[kind], 3), time) << seed << kind;
    for (const Launch& l : r.launches) names[std::string(kNames[l.kind])] += l.dur;
    found = rows_of(*job, "kernels", 0, 1);
    for (const auto& [name, sum] : names) EXPECT_EQ(number(found[name], 4), sum) << seed << name;
    // The longest queue of a stream: at each moment launches come before starts.
    for (const Launch& at : r.launches) {
      int64_t length = 0;
      for (const Launch& l : r.launches)
        if (l.stream == at.stream) length += (l.call_start <= at.call_start) - (l.start < at.call_start);
      auto& longest = lengths.try_emplace(std::to_string(at.stream), length).first->second;
      longest = std::max(longest, length);
    }
    found = rows_of(*job, "queues", 0, 2);
    for (const auto& [stream, longest] : lengths) EXPECT_EQ(number(found[stream], 10), longest) << seed;
  }
}

TEST(DeviceTables, OperatorsHaveWhatIsLaunchedUnderThem) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Random r = random_trace(seed);
    const trace::Trace& t = r.set.ranks[0];
    Findings findings;
    auto job = prepare(r.set, {}, findings);
    ASSERT_TRUE(job);
    std::map<std::string, int64_t> right_under, under;
    bool circle = false;
    for (const Launch& l : r.launches) {
      right_under[std::string(t.name_of(r.caller[l.operation]))] += l.dur;
      std::set<NodeId> around;
      std::set<std::string_view> names;
      for (NodeId n = r.caller[l.operation]; n != trace::kNoNode && !circle;
           n = r.caller[n] == n ? trace::kNoNode : r.caller[n]) {
        circle = !around.insert(n).second;
        if (names.insert(t.name_of(n)).second) under[std::string(t.name_of(n))] += l.dur;
      }
    }
    auto found = rows_of(*job, "operators", 0, 1);
    for (const auto& [name, time] : right_under) EXPECT_EQ(number(found[name], 5), time) << seed << name;
    if (circle) continue;  // where one begins is not said
    for (const auto& [name, time] : under) EXPECT_EQ(number(found[name], 7), time) << seed << name;
  }
}

/// An operation that linking has cut has the work of all of its pieces, over the time of all of them.
TEST(DeviceTables, AddsUpTheWorkOfPieces) {
  Builder b;
  const auto place = [&](NodeId n, int64_t start, int64_t dur) {
    b.trace.flags.edit(n) |= trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot;
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = dur;
  };
  const NodeId op = b.add(1, b.trace.strings.intern("aten::mm"), NodeType::comp);
  b.trace.flags.edit(op) |= trace::kOnCpu;
  place(op, 0, 10);
  const NodeId call = b.add(2, b.trace.strings.intern("cudaLaunchKernel"), NodeType::comp);
  b.trace.flags.edit(call) |= trace::kOnCpu;
  place(call, 1, 2);
  b.ctrl(call, op);
  std::array<NodeId, 2> pieces{};
  for (size_t i = 0; i < 2; ++i) {
    const NodeId n = pieces[i] = b.add(3 + i, b.trace.strings.intern("gemm"), NodeType::comp);
    b.trace.flags.edit(n) = 0;
    place(n, i == 0 ? 10 : 40, i == 0 ? 30 : 10);
    b.trace.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, 7});
    b.trace.num_ops.resize(n + 1), b.trace.tensor_bytes.resize(n + 1);
    b.trace.num_ops.edit(n) = i == 0 ? 300 : 100;
    b.trace.tensor_bytes.edit(n) = i == 0 ? 30 : 10;
    b.dep(n, call, static_cast<uint8_t>(trace::EdgeKind::launch));
    b.ctrl(n, op);
  }
  b.trace.part_of.edit(pieces[1]) = pieces[0];
  trace::TraceSet set;
  set.ranks.push_back(std::move(b).finish());
  Findings findings;
  auto job = prepare(set, {}, findings);
  ASSERT_TRUE(job);
  const auto rows = rows_of(*job, "shapes", 0, 1);
  ASSERT_EQ(rows.size(), 1u);
  const std::vector<result::Table::Cell>& row = rows.at("aten::mm");
  EXPECT_EQ(number(row, 7), 40);
  EXPECT_EQ(number(row, 8), 400);
  EXPECT_EQ(number(row, 9), 40);
  EXPECT_EQ(std::get<double>(row[11]), 10);
}

}  // namespace
}  // namespace chakra::analyze
