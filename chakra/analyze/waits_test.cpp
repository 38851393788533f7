// Waiting with a known cause, against times by hand: bubbles of a pipeline, experts whose load moves, loads of data.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "chakra/analyze/analyze.h"
#include "chakra/analyze/testing/numbers.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::NodeType;

constexpr Picoseconds kUs = kPsPerUs;

/// A rank with measured times on a device, in order.
struct Recorder {
  trace::Builder b;
  NodeId last = trace::kNoNode;

  Recorder(int64_t rank, int64_t base_us) {
    b.trace.rank = rank;
    b.trace.base_ns = base_us * 1000;
  }
  NodeId add(NodeType type, int64_t start_us, int64_t end_us, int64_t stream) {
    const NodeId n = b.add(b.trace.size() + 1, b.trace.strings.intern("node"), type);
    b.trace.flags.edit(n) |= trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot;
    b.trace.start_ps.edit(n) = start_us * kUs;
    b.trace.dur_ps.edit(n) = (end_us - start_us) * kUs;
    b.trace.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, stream});
    if (last != trace::kNoNode) b.dep(n, last, static_cast<uint8_t>(trace::EdgeKind::given));
    return last = n;
  }
  void message(NodeType type, int64_t peer, int64_t start_us, int64_t end_us) {
    trace::Comm& comm = b.comm(add(type, start_us, end_us, type == NodeType::send ? 3 : 4));
    comm.bytes = 1000;
    (type == NodeType::send ? comm.dst : comm.src) = peer;
    comm.tag = 0;
  }
  void all_to_all(int64_t start_us, int64_t end_us, uint64_t sent) {
    trace::Comm& comm = b.comm(add(NodeType::coll, start_us, end_us, 5));
    comm.type = trace::CommType::all_to_all;
    comm.bytes = sent;
    comm.group = b.trace.strings.intern("ep");
  }
};

DiagnosisNumbers numbers_of_job(std::vector<Recorder> ranks, const match::GroupTable& groups) {
  trace::TraceSet set;
  for (Recorder& rank : ranks) set.ranks.push_back(std::move(rank.b).finish());
  return testing::numbers_of_job(set, groups);
}

/// Two stages: all micro-batches forward, then all backward, each of 100 us; a message takes no time. Clocks differ.
DiagnosisNumbers pipeline(int64_t batches, int64_t ahead_us) {
  constexpr int64_t kPass = 100;
  std::vector<Recorder> ranks;
  ranks.emplace_back(0, 0);
  ranks.emplace_back(1, ahead_us);
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t end = (i + 1) * kPass;
    ranks[0].add(NodeType::comp, i * kPass, end, 7);
    ranks[0].message(NodeType::send, 1, end, end);
    ranks[1].message(NodeType::recv, 0, i * kPass, end);
    ranks[1].add(NodeType::comp, end, end + kPass, 7);
  }
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t begin = (batches + 1 + i) * kPass, end = begin + kPass;
    ranks[1].add(NodeType::comp, begin, end, 7);
    ranks[1].message(NodeType::send, 0, end, end);
    ranks[0].message(NodeType::recv, 1, i == 0 ? batches * kPass : begin, end);
    ranks[0].add(NodeType::comp, end, end + kPass, 7);
  }
  return numbers_of_job(std::move(ranks), {});
}

TEST(Waits, BubblesOfAPipeline) {
  for (const int64_t batches : {2, 4, 8})
    for (const int64_t ahead_us : {0, 250}) {
      const DiagnosisNumbers n = pipeline(batches, ahead_us);
      ASSERT_EQ(n.message_waits.size(), 2u);
      EXPECT_NEAR(static_cast<double>(n.message_waits[0].time), 200.0 * kUs, 1.0 * kUs) << batches;
      EXPECT_NEAR(static_cast<double>(n.message_waits[1].time), 100.0 * kUs, 1.0 * kUs) << batches;
      const Diagnosis first = diagnose(n).rows[0];
      EXPECT_EQ(first.kind, "pipeline_bubbles") << first.sentence;
      EXPECT_EQ(first.place, "all ranks");
      EXPECT_NEAR(first.share, 2.0 / static_cast<double>(2 * batches + 2), 0.01);  // the stages wait for each other
    }
}

TEST(Waits, ManyMicroBatchesHaveNoBubblesThatCount) {
  for (const Diagnosis& d : diagnose(pipeline(64, 0)).rows) EXPECT_NE(d.kind, "pipeline_bubbles");
}

/// Four ranks exchange tokens; in each layer another rank has twice the work and twice the bytes to send back.
/// `related`: else the bytes of a layer are those of another rank.
DiagnosisNumbers experts(bool related) {
  std::vector<Recorder> ranks;
  for (int64_t r = 0; r < 4; ++r) ranks.emplace_back(r, 0);
  for (int64_t layer = 0; layer < 8; ++layer) {
    const int64_t begin = layer * 400;
    for (int64_t r = 0; r < 4; ++r) {
      Recorder& rank = ranks[static_cast<size_t>(r)];
      const bool busy = layer % 4 == r, sends = related ? busy : (layer + 1 + layer / 4) % 4 == r;
      rank.all_to_all(begin, begin + 10, 1000);
      rank.add(NodeType::comp, begin + 10, begin + (busy ? 210 : 110), 7);
      rank.all_to_all(begin + (busy ? 210 : 110), begin + 220, sends ? 2000 : 1000);
      rank.add(NodeType::comp, begin + 220, begin + 400, 7);
    }
  }
  return numbers_of_job(std::move(ranks), {{"ep", {0, 1, 2, 3}}});
}

TEST(Waits, BusyExpertsThatChangeFromLayerToLayer) {
  const DiagnosisNumbers n = experts(true);
  ASSERT_EQ(n.uneven.size(), 4u);
  for (const DiagnosisNumbers::Uneven& u : n.uneven) EXPECT_EQ(u.late, 2 * 75 * kUs) << u.rank;
  const Diagnosis first = diagnose(n).rows[0];
  EXPECT_EQ(first.kind, "skewed_expert") << first.sentence;
  EXPECT_EQ(first.place, "group ep");
  EXPECT_NEAR(first.share, 75.0 / 400, 0.001);
}

TEST(Waits, LateRanksWithoutMostBytesAreNoBusyExperts) {
  for (const Diagnosis& d : diagnose(experts(false)).rows) EXPECT_NE(d.kind, "skewed_expert") << d.sentence;
}

TEST(Waits, ALoadFromStorageIsALateLoader) {
  std::vector<Recorder> ranks;
  for (int64_t r = 0; r < 2; ++r) {
    Recorder& rank = ranks.emplace_back(r, 0);
    rank.add(NodeType::mem_load, 0, 100, 11);
    rank.b.attr({rank.b.trace.strings.intern("io_kind"), std::string_view("dataloader")});
    rank.add(NodeType::comp, 100, 1000, 7);
  }
  const Diagnosis first = diagnose(numbers_of_job(std::move(ranks), {})).rows[0];
  EXPECT_EQ(first.kind, "late_data_loader") << first.sentence;
  EXPECT_EQ(first.place, "all ranks");
  EXPECT_NEAR(first.share, 0.1, 0.001);
}

/// One rank reads its batch on the host, before the device begins: the time is in no step of a profiler.
TEST(Waits, ALoaderBeforeTheFirstDeviceWorkOfOneRank) {
  std::vector<Recorder> ranks;
  for (int64_t r = 0; r < 3; ++r) {
    Recorder& rank = ranks.emplace_back(r, 0);
    const int64_t begin = r == 1 ? 200 : 0;
    if (begin > 0) {
      rank.add(NodeType::comp, 0, begin, 0);
      rank.b.trace.name.edit(rank.last) = rank.b.trace.strings.intern("enumerate(DataLoader)#next");
      rank.b.trace.flags.edit(rank.last) |= trace::kOnCpu;
      rank.b.trace.lane.edit(rank.last) = rank.b.lane({trace::Lane::Kind::thread, 1, 1});
    }
    rank.add(NodeType::comp, begin, begin + 790, 7);
    rank.all_to_all(begin + 790, 1000, 1000);
  }
  const Diagnosis first = diagnose(numbers_of_job(std::move(ranks), {{"ep", {0, 1, 2}}})).rows[0];
  EXPECT_EQ(first.kind, "late_data_loader") << first.sentence;
  EXPECT_EQ(first.place, "rank 1");
  EXPECT_NEAR(first.share, 0.2, 0.001);
}

/// Messages 0 -> 1 -> 2 -> 3 and back, six times, each with a transfer of 1 ms, those of the last pair of `last_us`.
/// The ends of that pair are late in turns, by 10 ms.
DiagnosisNumbers messages(int64_t last_us) {
  std::vector<Recorder> ranks;
  for (int64_t r = 0; r < 4; ++r) ranks.emplace_back(r, 0);
  const auto send = [&](int64_t from, int64_t to, int64_t begin, int64_t sends, int64_t receives, int64_t end) {
    ranks[static_cast<size_t>(from)].message(NodeType::send, to, begin + sends, end);
    ranks[static_cast<size_t>(to)].message(NodeType::recv, from, begin + receives, end);
  };
  for (int64_t i = 0; i < 6; ++i) {
    int64_t at = i * 60'000;
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2)}) send(from, to, at, 0, 0, at + 1000), at += 12'000;
    const int64_t sends = i % 2 == 0 ? 10'000 : 0;
    send(2, 3, at, sends, 10'000 - sends, at + 10'000 + last_us), at += 20'000;
    for (const int64_t from : {3, 2, 1}) send(from, from - 1, at, 0, 0, at + 1000), at += 3000;
  }
  return numbers_of_job(std::move(ranks), {});
}

TEST(Waits, EndsThatAreLateInTurnsAreNoSlowLink) {
  const DiagnosisNumbers n = messages(1000);
  ASSERT_EQ(n.messages.size(), 6u);
  for (const DiagnosisNumbers::Message& m : n.messages) EXPECT_EQ(m.time, 6 * 1000 * kUs) << m.from << " to " << m.to;
  for (const Diagnosis& d : diagnose(n).rows) EXPECT_NE(d.kind, "slow_link") << d.sentence;
}

TEST(Waits, ASlowLinkIsFoundBehindEndsThatAreLate) {
  const Diagnoses found = diagnose(messages(4000));
  const auto link =
      std::find_if(found.rows.begin(), found.rows.end(), [](const Diagnosis& d) { return d.kind == "slow_link"; });
  ASSERT_NE(link, found.rows.end());
  EXPECT_EQ(link->place, "link 2 to 3");
  EXPECT_EQ(link->cost, 6 * 3000 * kUs);
}

}  // namespace
}  // namespace chakra::analyze
