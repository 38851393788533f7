#include "chakra/match/match.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/match/sequences.h"

namespace chakra::match {
namespace {

using trace::Builder;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;

struct Call {
  CommType type;
  uint64_t bytes;
  std::string group;
  std::string dtype = "Float";
  int64_t sequence = -1;
};

trace::TraceSet job(const std::vector<std::vector<Call>>& ranks) {
  trace::TraceSet set;
  for (size_t r = 0; r < ranks.size(); ++r) {
    Builder b;
    b.trace.rank = static_cast<int64_t>(r);
    for (const Call& call : ranks[r]) {
      const NodeId n = b.add(b.trace.size() + 1, 0, NodeType::coll);
      if (n > 0) b.dep(n, n - 1, 0);
      trace::Comm& comm = b.comm(n);
      comm.type = call.type;
      comm.bytes = call.bytes;
      comm.group = b.trace.strings.intern(call.group);
      comm.dtype = b.trace.strings.intern(call.dtype);
      comm.sequence = call.sequence;
    }
    set.ranks.push_back(std::move(b).finish());
  }
  return set;
}

const Call kReduce{CommType::all_reduce, 1024, "0"};

std::string tags(const Matching& m) {
  std::string out;
  for (const Finding& f : m.findings) out += (out.empty() ? "" : " ") + f.tag;
  return out;
}

TEST(Match, InOrderPerGroup) {
  const Call other{CommType::all_gather, 64, "1"};
  const trace::TraceSet set = job({{kReduce, other, kReduce}, {other, kReduce, kReduce}});
  const Matching m = match(set, {{"1", {0, 1}}});
  EXPECT_EQ(tags(m), "");
  ASSERT_EQ(m.collectives.size(), 3u);
  for (const Collective& c : m.collectives) {
    ASSERT_EQ(c.members.size(), 2u);
    for (const NodeRef& ref : c.members) EXPECT_EQ(set.ranks[ref.rank].comm(ref.node)->type, c.type);
  }
  EXPECT_EQ(m.of_comm[0].size(), 3u);
}

TEST(Match, SequenceNumbersGoBeforeTheOrderOfRows) {
  Call first = kReduce, second = kReduce;
  first.sequence = 1, second.sequence = 2;
  first.bytes = 10, second.bytes = 20;
  EXPECT_EQ(tags(match(job({{first, second}, {second, first}}))), "");
}

TEST(Match, MutationsAreNamed) {
  const auto mutated = [](auto change) {
    std::vector<std::vector<Call>> ranks(3, std::vector<Call>(4, kReduce));
    change(ranks);
    return match(job(ranks));
  };
  const auto at = [](const Matching& m) {
    return m.findings.empty() ? std::string() : fmt::format("{} {}", m.findings[0].rank, m.findings[0].node);
  };
  Matching m = mutated([](auto& r) { r[1][2].type = CommType::all_gather; });
  EXPECT_EQ(tags(m), "match.collective.type");
  EXPECT_EQ(at(m), "1 3");
  m = mutated([](auto& r) { r[2][0].bytes = 4096; });
  EXPECT_EQ(tags(m), "match.collective.bytes");
  EXPECT_EQ(at(m), "2 1");
  m = mutated([](auto& r) { r[2][1].dtype = "Half"; });
  EXPECT_EQ(tags(m), "match.collective.dtype");
  m = mutated([](auto& r) { r[1].pop_back(); });
  EXPECT_EQ(tags(m), "match.collective.count");
  m = mutated([](auto& r) { r[1].clear(); });
  EXPECT_EQ(tags(m), "match.collective.count");
  m = mutated([](auto& r) { r[0][0].group = "secret"; });
  EXPECT_EQ(tags(m), "match.collective.group");
  m = mutated([](auto& r) {
    for (auto& calls : r) calls[0].group = "secret";
  });
  EXPECT_EQ(tags(m), "match.group.unknown");
  m = mutated([](auto& r) { r[1][1].type = CommType::unknown; });
  EXPECT_NE(tags(m).find("match.collective.type_unknown"), std::string::npos);
}

/// "0": no doubt, "c": content, "e": ends.
std::string doubts(const Matching& m) {
  std::string out;
  for (const Collective& c : m.collectives) out += "0ce"[static_cast<size_t>(c.doubt)];
  return out;
}

TEST(Match, DoubtfulCollectivesAreMarked) {
  const Call large{CommType::all_reduce, 4096, "0"}, gather{CommType::all_gather, 1024, "0"};
  const auto number = [](Call call, int64_t sequence) { return call.sequence = sequence, call; };
  EXPECT_EQ(doubts(match(job({{kReduce, large}, {kReduce, large}}))), "00");
  // Those in place do not make others doubtful.
  EXPECT_EQ(doubts(match(job({{kReduce, large, kReduce}, {kReduce, kReduce, kReduce}}))), "0c0");
  EXPECT_EQ(doubts(match(job({{kReduce, gather, kReduce}, {kReduce, kReduce, kReduce}}))), "0e0");
  // One that is missing or in another order does, where only the order says which belong together.
  EXPECT_EQ(doubts(match(job({{kReduce, large}, {large, kReduce}}))), "ee");
  EXPECT_EQ(doubts(match(job({{kReduce, kReduce}, {kReduce}}))), "ee");
  EXPECT_EQ(doubts(match(job({{number(kReduce, 1), number(kReduce, 2)}, {number(kReduce, 2)}}))), "00");
  EXPECT_EQ(doubts(match(job({{number(kReduce, 1), number(kReduce, 2)}, {number(large, 1), number(kReduce, 2)}}))),
            "c0");
  // The parts of an all-to-all may be uneven.
  EXPECT_EQ(doubts(match(job({{{CommType::all_to_all, 8, "0"}}, {{CommType::all_to_all, 16, "0"}}}))), "0");
  // A group whose members are not sure; the other groups are.
  trace::TraceSet set = job({{kReduce, {CommType::all_reduce, 8, "1"}}, {kReduce, {CommType::all_reduce, 8, "1"}}});
  set.ranks[0].groups = {{"1", "", "", {0, 1}, 2}};
  set.ranks[1].groups = {{"1", "", "", {1, 2}, 2}};
  EXPECT_EQ(doubts(match(set)), "0c");
}

TEST(Match, AMemberThatIsThereTwiceCountsOnce) {
  trace::TraceSet set = job({{{CommType::all_reduce, 8, "1"}}, {{CommType::all_reduce, 8, "1"}}});
  for (trace::Trace& t : set.ranks) t.groups = {{"1", "", "", {0, 1, 1}, 3}};
  const Matching m = match(set);
  EXPECT_EQ(tags(m), "match.group.repeated match.group.repeated");
  EXPECT_EQ(m.groups[0].ranks, (std::vector<int64_t>{0, 1}));
}

TEST(Match, PartsMayHaveSizesOfTheirOwn) {
  const auto scatter = [](uint64_t bytes) { return Call{CommType::scatter, bytes, "0"}; };
  EXPECT_EQ(tags(match(job({{scatter(0)}, {scatter(512)}, {scatter(0)}}))), "");
  EXPECT_EQ(tags(match(job({{scatter(256)}, {scatter(512)}, {scatter(0)}}))), "match.collective.bytes");
  const auto exchange = [](uint64_t in, uint64_t out, uint64_t other_in, uint64_t other_out) {
    trace::TraceSet set = job({{{CommType::all_to_all, in, "0"}}, {{CommType::all_to_all, other_in, "0"}}});
    for (trace::Trace& t : set.ranks) {
      trace::Comm& comm = t.comms.edit(0);
      comm.in_bytes = comm.bytes;
      comm.out_bytes = t.rank == 0 ? out : other_out;
    }
    return tags(match(set));
  };
  EXPECT_EQ(exchange(256, 512, 512, 256), "");
  EXPECT_EQ(exchange(256, 512, 512, 128), "match.collective.bytes");
  EXPECT_EQ(exchange(256, 256, 512, 512), "match.collective.bytes");  // nothing says that the parts differ
}

TEST(Match, SizesTellHowManyMembers) {
  const auto gather = [](uint64_t in, uint64_t out) {
    trace::TraceSet set = job({{{CommType::all_gather, in, "0"}}, {{CommType::all_gather, in, "0"}}});
    for (trace::Trace& t : set.ranks) {
      t.comms.edit(0).in_bytes = in;
      t.comms.edit(0).out_bytes = out;
    }
    return tags(match(set, {{"0", {0, 1}}}));
  };
  EXPECT_EQ(gather(64, 128), "");
  EXPECT_EQ(gather(64, 0), "");
  EXPECT_EQ(gather(64, 256), "match.group.size");
}

TEST(Match, ReceivesFromAnySourceTakeWhatIsLeft) {
  const auto messages = [](std::initializer_list<int> senders) {
    trace::TraceSet set;
    Builder receiver;
    receiver.trace.rank = 0;
    std::map<int, Builder> builders;
    for (const int sender : senders) {
      trace::Comm& comm = receiver.comm(receiver.add(receiver.trace.size() + 1, 0, NodeType::recv));
      comm.bytes = 8;
      comm.tag = 1;
      Builder& b = builders[sender];
      b.trace.rank = sender;
      trace::Comm& sent = b.comm(b.add(b.trace.size() + 1, 0, NodeType::send));
      sent.bytes = 8;
      sent.tag = 1;
      sent.dst = 0;
    }
    set.ranks.push_back(std::move(receiver).finish());
    for (auto& [rank, b] : builders) set.ranks.push_back(std::move(b).finish());
    return tags(match(set));
  };
  EXPECT_EQ(messages({1, 1}), "");
  EXPECT_EQ(messages({1, 2}),
            "match.message.peer_unknown match.message.peer_unknown match.message.no_recv "
            "match.message.no_recv");
}

TEST(Match, MembersThatAreNotThere) {
  EXPECT_EQ(tags(match(job({{kReduce}, {kReduce}}), {{"0", {0, 1, 2}}})), "match.rank.missing");
  EXPECT_EQ(tags(match(job({{kReduce}, {kReduce}}), {{"0", {0}}})), "match.rank.not_in_group");
}

TEST(Match, Messages) {
  const auto messages = [](const std::vector<std::tuple<int, NodeType, int, uint64_t>>& list) {
    std::vector<Builder> builders(2);
    for (const auto& [rank, type, tag, bytes] : list) {
      Builder& b = builders[static_cast<size_t>(rank)];
      trace::Comm& comm = b.comm(b.add(b.trace.size() + 1, 0, type));
      (type == NodeType::send ? comm.dst : comm.src) = 1 - rank;
      comm.tag = tag;
      comm.bytes = bytes;
    }
    trace::TraceSet set;
    for (int r = 0; r < 2; ++r) {
      builders[static_cast<size_t>(r)].trace.rank = r;
      set.ranks.push_back(std::move(builders[static_cast<size_t>(r)]).finish());
    }
    return tags(match(set));
  };
  EXPECT_EQ(messages({{0, NodeType::send, 1, 8}, {1, NodeType::recv, 1, 8}}), "");
  EXPECT_EQ(
      messages(
          {{0, NodeType::send, 1, 8}, {0, NodeType::send, 1, 9}, {1, NodeType::recv, 1, 8}, {1, NodeType::recv, 1, 9}}),
      "");
  EXPECT_EQ(messages({{0, NodeType::send, 1, 8}}), "match.message.no_recv");
  EXPECT_EQ(messages({{1, NodeType::recv, 1, 8}}), "match.message.no_send");
  EXPECT_EQ(messages({{0, NodeType::send, 1, 8}, {1, NodeType::recv, 2, 8}}), "match.message.tag");
  EXPECT_EQ(messages({{0, NodeType::send, 1, 8}, {1, NodeType::recv, 1, 9}}), "match.message.bytes");
}

/// The table that every textbook has.
uint32_t changes_by_table(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<uint32_t>> table(a.size() + 1, std::vector<uint32_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j)
      table[i][j] = static_cast<uint32_t>(i == 0 || j == 0 ? i + j
                                                           : std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                                                                       table[i - 1][j - 1] + (a[i - 1] != b[j - 1])}));
  return table[a.size()][b.size()];
}

TEST(Sequences, FewestChanges) {
  Prng random(3);
  for (int round = 0; round < 5000; ++round) {
    std::vector<int> a(random.below(40)), b;
    for (int& x : a) x = static_cast<int>(random.below(4));
    for (const int x : a) {
      if (!random.chance(0.2)) b.push_back(x);
      if (random.chance(0.2)) b.push_back(static_cast<int>(random.below(4)));
    }
    const auto same = [&](uint32_t i, uint32_t j) { return a[i] == b[j]; };
    EXPECT_EQ(sequences::changes(static_cast<uint32_t>(a.size()), static_cast<uint32_t>(b.size()), same),
              std::min(changes_by_table(a, b), sequences::kMostChanges + 1));
  }
}

TEST(Sequences, DeviationsEndWhateverComes) {
  Prng random(4);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<int>> all(1 + random.below(20));
    for (auto& sequence : all) {
      sequence.resize(random.below(12));
      for (int& x : sequence) x = static_cast<int>(random.below(1 + random.below(6)));
    }
    std::vector<uint32_t> lengths;
    bool equal = true;
    for (const auto& sequence : all) {
      lengths.push_back(static_cast<uint32_t>(sequence.size()));
      equal &= sequence == all[0];
    }
    const auto found = find_deviations(
        lengths, [&](uint32_t a, uint32_t i, uint32_t b, uint32_t j) { return all[a].at(i) == all[b].at(j); });
    EXPECT_EQ(found.empty(), equal);
    for (size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i - 1].index, found[i].index);
  }
}

TEST(Groups, File) {
  chakra::testing::TemporaryFolder folder;
  const auto tag = [&](const char* text) { return chakra::testing::tag_of(load_groups(folder.write("g.json", text))); };
  auto groups = load_groups(folder.write("g.json", "{\"1\": [0, 1], \"tp\": [2, 3]}"));
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->at("tp"), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tag("[1, 2]"), "match.groups.form");
  EXPECT_EQ(tag("{\"1\": 5}"), "match.groups.form");
  EXPECT_EQ(tag("{\"1\": [0, 0]}"), "match.groups.rank");
  EXPECT_EQ(tag("{\"1\": [-1]}"), "match.groups.rank");
  EXPECT_EQ(tag("{\"1\": [a]}"), "base.spec.type");
}

struct End {
  bool sends;
  int64_t peer;  ///< below 0: one of `ranks`
  std::vector<int64_t> ranks = {};
  uint64_t bytes = 64;
};
/// The peers of each rank's messages when choose_peers() has run: "2 2 -1".
std::vector<std::string> peers(const std::vector<std::vector<End>>& ranks) {
  trace::TraceSet set;
  std::vector<RankWindow> windows(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    Builder b;
    b.trace.rank = static_cast<int64_t>(r);
    for (const End& end : ranks[r]) {
      const NodeId n = b.add(b.trace.size() + 1, 0, end.sends ? NodeType::send : NodeType::recv);
      trace::Comm& comm = b.comm(n);
      (end.sends ? comm.dst : comm.src) = end.peer;
      comm.bytes = end.bytes;
      if (!end.ranks.empty()) windows[r].peers[b.trace.id[n]] = end.ranks;
    }
    set.ranks.push_back(std::move(b).finish());
  }
  choose_peers(set, windows);
  std::vector<std::string> out;
  for (const trace::Trace& t : set.ranks) {
    std::string& text = out.emplace_back();
    for (const NodeId n : t.nodes())
      text +=
          fmt::format("{}{}", text.empty() ? "" : " ", t.type[n] == NodeType::send ? t.comm(n)->dst : t.comm(n)->src);
  }
  return out;
}

TEST(Peers, AreThoseThatHaveTheOtherEnd) {
  using Peers = std::vector<std::string>;
  const End open{true, -1, {1, 2}};
  // Rank 1 gets nothing; rank 2 gets two.
  EXPECT_EQ(peers({{open, open}, {}, {{false, 0}, {false, 0}}}), Peers({"2 2", "", "0 0"}));
  // The known send to rank 1 leaves nothing there.
  EXPECT_EQ(peers({{open, {true, 1}}, {{false, 0}}, {{false, 0}}}), Peers({"2 1", "0", "0"}));
  // Both ends are open, and other ranks leave one way.
  EXPECT_EQ(peers({{open}, {}, {{false, -1, {0, 1}}}}), Peers({"2", "", "0"}));
  // Sizes differ.
  EXPECT_EQ(peers({{open}, {{false, 0, {}, 32}}, {{false, 0}}}), Peers({"2", "0", "0"}));
}

TEST(Peers, StayOpenWhereSeveralFit) {
  using Peers = std::vector<std::string>;
  const End open{true, -1, {1, 2}};
  EXPECT_EQ(peers({{open, open}, {{false, 0}}, {{false, 0}}}), Peers({"-1 -1", "0", "0"}));
  EXPECT_EQ(peers({{open}, {}, {}}), Peers({"-1", "", ""}));
  EXPECT_EQ(peers({{{true, -1}}, {}, {{false, 0}}}), Peers({"-1", "", "0"}));  // any rank, as of any source
}

}  // namespace
}  // namespace chakra::match
