// Valid random jobs give no finding; each of these mutations is named with its rank, group and index, or message.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <set>

#include "chakra/check/check.h"
#include "chakra/trace/testing/random_job.h"

namespace chakra::check {
namespace {

using trace::CommType;
using trace::NodeType;
using trace::testing::JobNode;
using trace::testing::RandomJob;

/// What the first error must say. Where two are equally likely to be wrong, either may be named.
struct Expected {
  std::set<std::string> tags;
  std::set<int64_t> ranks;
  std::set<std::pair<std::string, int64_t>> collectives;              // group and index
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> messages;  // sender, receiver, tag, index
};

struct Spot {
  size_t rank, at;
};

std::vector<Spot> spots(const RandomJob& job, auto&& wanted) {
  std::vector<Spot> all;
  for (size_t r = 0; r < job.ranks.size(); ++r)
    for (size_t i = 0; i < job.ranks[r].size(); ++i)
      if (wanted(job.ranks[r][i])) all.push_back({r, i});
  return all;
}
std::optional<Spot> pick(const RandomJob& job, Prng& random, auto&& wanted) {
  const std::vector<Spot> all = spots(job, wanted);
  if (all.empty()) return std::nullopt;
  return all[random.below(all.size())];
}
bool is_coll(const JobNode& n) { return n.is_coll(); }
bool is_send(const JobNode& n) { return n.type == NodeType::send; }
bool is_recv(const JobNode& n) { return n.type == NodeType::recv; }

/// The position in its group, or in its channel and end, on its rank.
int64_t index_of(const RandomJob& job, Spot s) {
  const JobNode& node = job.ranks[s.rank][s.at];
  int64_t index = 0;
  for (size_t i = 0; i < s.at; ++i) {
    const JobNode& n = job.ranks[s.rank][i];
    index += node.is_coll() ? n.is_coll() && n.group == node.group
                            : n.type == node.type && n.src == node.src && n.dst == node.dst && n.tag == node.tag;
  }
  return index;
}
bool equal_calls(const JobNode& a, const JobNode& b) {
  return a.comm == b.comm && (a.bytes == b.bytes || !a.in_split.empty() || !b.in_split.empty()) &&
         (a.dtype.empty() || b.dtype.empty() || a.dtype == b.dtype) && a.root == b.root && a.sequence == b.sequence;
}
std::vector<JobNode> calls_of(const RandomJob& job, size_t rank, const std::string& group) {
  std::vector<JobNode> calls;
  for (const JobNode& n : job.ranks[rank])
    if (n.is_coll() && n.group == group) calls.push_back(n);
  return calls;
}
/// The lowest index at which what a rank does in a group is no longer what it was.
int64_t first_difference(const RandomJob& before, const RandomJob& after, size_t rank, const std::string& group) {
  const auto a = calls_of(before, rank, group), b = calls_of(after, rank, group);
  size_t i = 0;
  while (i < a.size() && i < b.size() && equal_calls(a[i], b[i])) ++i;
  return static_cast<int64_t>(i);
}
/// Of a group of two, either may be named.
std::set<int64_t> blamed(const RandomJob& job, const std::string& group, size_t rank) {
  const auto& members = job.groups.at(group);
  if (members.size() == 2) return {members[0], members[1]};
  return {static_cast<int64_t>(rank)};
}
Expected on_collective(const RandomJob& job, Spot s, std::set<std::string> tags) {
  const JobNode& n = job.ranks[s.rank][s.at];
  return {std::move(tags), blamed(job, n.group, s.rank), {{n.group, index_of(job, s)}}, {}};
}
std::tuple<int64_t, int64_t, int64_t, int64_t> message_of(const RandomJob& job, Spot s) {
  const JobNode& n = job.ranks[s.rank][s.at];
  const auto rank = static_cast<int64_t>(s.rank);
  return is_send(n) ? std::tuple(rank, n.dst, n.tag, index_of(job, s))
                    : std::tuple(n.src, rank, n.tag, index_of(job, s));
}
Expected on_message(const RandomJob& job, Spot s, std::set<std::string> tags) {
  const auto message = message_of(job, s);
  return {std::move(tags), {std::get<0>(message), std::get<1>(message)}, {}, {message}};
}
/// Waits for the request of a dropped node also go.
void forget_request(RandomJob& job, size_t rank, int64_t request) {
  for (size_t i = job.ranks[rank].size(); i-- > 0;)
    if (request >= 0 && job.ranks[rank][i].wait == request) job.remove(rank, i);
}

using Mutate = std::optional<Expected> (*)(RandomJob& job, Prng& random);

std::optional<Expected> drop(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  const RandomJob before = job;
  Expected expected = on_collective(job, *s, {"match.collective.count"});
  const JobNode gone = job.remove(s->rank, s->at);
  forget_request(job, s->rank, gone.request);
  expected.collectives = {{gone.group, first_difference(before, job, s->rank, gone.group)}};
  return expected;
}
std::optional<Expected> duplicate(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  const RandomJob before = job;
  JobNode copy = job.ranks[s->rank][s->at];
  Expected expected = on_collective(job, *s, {"match.collective.count"});
  const uint32_t original = copy.key;
  copy.key = job.new_key(s->rank);
  copy.request = -1;
  copy.deps.push_back(original);
  job.ranks[s->rank].insert(job.ranks[s->rank].begin() + static_cast<ptrdiff_t>(s->at) + 1, copy);
  if (job.chained) job.chain(s->rank);
  expected.collectives = {{copy.group, first_difference(before, job, s->rank, copy.group)}};
  if (job.numbered) expected.collectives = {{copy.group, index_of(before, *s) + 1}};
  return expected;
}
/// Two of a group change places; their numbers stay where they were.
std::optional<Expected> swap_in_group(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  auto& nodes = job.ranks[s->rank];
  for (size_t i = s->at + 1; i < nodes.size(); ++i) {
    JobNode &a = nodes[s->at], &b = nodes[i];
    if (!b.is_coll() || b.group != a.group) continue;
    std::swap(a.sequence, b.sequence);
    const bool same = equal_calls(a, b) || (!a.in_split.empty() && !b.in_split.empty());
    std::swap(a.sequence, b.sequence);
    JobNode probe = b;
    probe.sequence = a.sequence;
    if (same || equal_calls(a, probe)) return std::nullopt;
    std::swap(a.comm, b.comm);
    std::swap(a.bytes, b.bytes);
    std::swap(a.dtype, b.dtype);
    std::swap(a.root, b.root);
    std::swap(a.in_split, b.in_split);
    std::swap(a.out_split, b.out_split);
    return on_collective(job, *s,
                         {"match.collective.order", "match.collective.type", "match.collective.bytes",
                          "match.collective.dtype", "match.collective.root"});
  }
  return std::nullopt;
}
/// Neighbours of two groups change places on one rank: others run them the other way round.
std::optional<Expected> swap_across_groups(RandomJob& job, Prng& random) {
  for (size_t r = 0; r < job.ranks.size(); ++r) job.chain(r);
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  auto& nodes = job.ranks[s->rank];
  for (size_t i = s->at + 1; i < nodes.size(); ++i) {
    if (!trace::is_comm(nodes[i].type)) {
      if (nodes[i].wait >= 0) return std::nullopt;  // would wait before its request
      continue;
    }
    JobNode &a = nodes[s->at], &b = nodes[i];
    if (!b.is_coll() || b.group == a.group) return std::nullopt;
    Expected e{{"check.deadlock"}, {}, {{a.group, index_of(job, *s)}, {b.group, index_of(job, {s->rank, i})}}, {}};
    for (const int64_t m : job.groups.at(a.group))
      for (const int64_t o : job.groups.at(b.group))
        if (m == o) e.ranks.insert(m);
    if (e.ranks.size() < 2) return std::nullopt;
    if (e.ranks.size() > 2) e.ranks = {static_cast<int64_t>(s->rank)};
    std::swap(a, b);
    std::swap(a.lane, b.lane);
    job.chain(s->rank);
    return e;
  }
  return std::nullopt;
}
/// The same on one stream, without any dependency: the row decides.
std::optional<Expected> opposite_on_a_stream(RandomJob& job, Prng& random) {
  const auto first = static_cast<int64_t>(random.below(job.ranks.size()));
  const auto second = static_cast<int64_t>((static_cast<size_t>(first) + 1) % job.ranks.size());
  job.groups["a"] = job.groups["b"] = {std::min(first, second), std::max(first, second)};
  const bool behind = random.chance(0.5);  // both behind one node
  for (const int64_t rank : {first, second}) {
    const auto r = static_cast<size_t>(rank);
    JobNode node;
    node.type = NodeType::coll;
    node.comm = CommType::all_reduce;
    node.bytes = 64;
    node.lane = 50;
    if (behind && !job.ranks[r].empty()) node.deps = {job.ranks[r][random.below(job.ranks[r].size())].key};
    for (const char* group : {rank == first ? "a" : "b", rank == first ? "b" : "a"}) {
      node.group = group;
      node.key = job.new_key(r);
      job.ranks[r].push_back(node);
    }
  }
  return Expected{{"check.deadlock"}, {first, second}, {{"a", 0}, {"b", 0}}, {}};
}
std::optional<Expected> resize(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.is_coll() && n.comm != CommType::barrier; });
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  n.bytes += n.in_split.empty() ? 4 * (1 + random.below(1000)) : 3;
  return on_collective(job, *s, {"match.collective.bytes"});
}
std::optional<Expected> retype(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  n.comm = static_cast<CommType>((static_cast<uint64_t>(n.comm) + 1 + random.below(9)) % 10);
  return on_collective(job, *s, {"match.collective.type"});
}
std::optional<Expected> redtype(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.is_coll() && !n.dtype.empty(); });
  if (!s) return std::nullopt;
  job.ranks[s->rank][s->at].dtype = "Half";
  return on_collective(job, *s, {"match.collective.dtype"});
}
std::optional<Expected> reroot(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.is_coll() && n.root >= 0; });
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  const auto& members = job.groups.at(n.group);
  const int64_t before = n.root;
  while (n.root == before) n.root = random.chance(0.3) ? 999 : members[random.below(members.size())];
  Expected expected = on_collective(job, *s, {"match.collective.root"});
  return expected;
}
/// In another group of the rank, or one that nobody knows.
std::optional<Expected> regroup(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  const RandomJob before = job;
  JobNode& n = job.ranks[s->rank][s->at];
  std::vector<std::string> others{"nobody's"};
  for (const auto& [name, members] : job.groups)
    if (name != n.group && std::find(members.begin(), members.end(), static_cast<int64_t>(s->rank)) != members.end())
      others.push_back(name);
  const std::string from = n.group, to = others[random.below(others.size())];
  Expected expected = on_collective(job, *s, {"match.collective.group", "match.collective.count", "match.group.size"});
  n.group = to;
  if (job.numbered)  // a number of its own
    n.sequence = 1000;
  expected.collectives = {{from, first_difference(before, job, s->rank, from)}};
  if (job.groups.contains(to)) {  // in a group of two, a finding of one too many is as true
    expected.collectives.insert({to, job.numbered ? static_cast<int64_t>(calls_of(before, s->rank, to).size())
                                                  : first_difference(before, job, s->rank, to)});
    const std::set<int64_t> there = blamed(job, to, s->rank);
    expected.ranks.insert(there.begin(), there.end());
  }
  return expected;
}
std::optional<Expected> leave_group(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  const std::string group = job.ranks[s->rank][s->at].group;
  std::erase(job.groups.at(group), static_cast<int64_t>(s->rank));
  return Expected{{"match.rank.not_in_group"}, {static_cast<int64_t>(s->rank)}, {{group, 0}}, {}};
}
std::optional<Expected> change_split(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return !n.in_split.empty(); });
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  auto& split = random.chance(0.5) ? n.in_split : n.out_split;
  Expected expected = on_collective(job, *s, {"match.collective.split"});
  const size_t at = random.below(split.size());
  const bool own_size = &split == &n.in_split;
  split[at] += 1 + random.below(100);
  // What is sent has a size to be held against; of what is expected, either side may be wrong.
  if (!own_size) expected.ranks.insert(job.groups.at(n.group)[at]);
  return expected;
}
std::optional<Expected> drop_message(RandomJob& job, Prng& random, bool send) {
  const auto s = pick(job, random, send ? is_send : is_recv);
  if (!s) return std::nullopt;
  const RandomJob before = job;
  Expected expected =
      on_message(job, *s, {send ? "match.message.no_send" : "match.message.no_recv", "match.message.bytes"});
  expected.tags = {send ? "match.message.no_send" : "match.message.no_recv"};
  const JobNode gone = job.remove(s->rank, s->at);
  forget_request(job, s->rank, gone.request);
  expected.ranks = {static_cast<int64_t>(s->rank)};
  // Among equal ones, the last is the first that is missing.
  auto [from, to, tag, index] = *expected.messages.begin();
  const auto channel = [&](const RandomJob& of) {
    std::vector<JobNode> list;
    for (const JobNode& n : of.ranks[s->rank])
      if (n.type == gone.type && n.src == gone.src && n.dst == gone.dst && n.tag == gone.tag) list.push_back(n);
    return list;
  };
  const auto a = channel(before), b = channel(job);
  size_t i = 0;
  while (i < b.size() && a[i].bytes == b[i].bytes &&
         (a[i].dtype == b[i].dtype || a[i].dtype.empty() || b[i].dtype.empty()))
    ++i;
  expected.messages = {{from, to, tag, static_cast<int64_t>(i)}};
  return expected;
}
std::optional<Expected> drop_send(RandomJob& job, Prng& random) { return drop_message(job, random, true); }
std::optional<Expected> drop_recv(RandomJob& job, Prng& random) { return drop_message(job, random, false); }
std::optional<Expected> change_message(RandomJob& job, Prng& random, std::set<std::string> tags, auto&& change) {
  const auto s = pick(job, random, [](const JobNode& n) { return is_send(n) || is_recv(n); });
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  // The only one of its channel: whatever else is there could be meant.
  for (size_t i = 0; i < job.ranks[s->rank].size(); ++i)
    if (const JobNode& o = job.ranks[s->rank][i];
        i != s->at && o.type == n.type && o.src == n.src && o.dst == n.dst && o.tag == n.tag && o.bytes == n.bytes)
      return std::nullopt;
  Expected expected = on_message(job, *s, std::move(tags));
  if (!change(n, static_cast<int64_t>(s->rank))) return std::nullopt;
  return expected;
}
std::optional<Expected> retag(RandomJob& job, Prng& random) {
  auto expected = change_message(job, random, {"match.message.tag"}, [](JobNode& n, int64_t) {
    n.tag = 77;
    return true;
  });
  if (expected) {  // a tag that is used once is as good as the other
    auto [from, to, tag, index] = *expected->messages.begin();
    expected->messages.insert({from, to, 77, 0});
  }
  return expected;
}
std::optional<Expected> re_peer(RandomJob& job, Prng& random) {
  const auto ranks = static_cast<int64_t>(job.ranks.size());
  int64_t wrong = -1;
  auto expected = change_message(job, random, {"match.message.peer"}, [&](JobNode& n, int64_t rank) {
    int64_t& peer = is_send(n) ? n.dst : n.src;
    const int64_t before = peer;
    wrong = rank;
    for (peer = 0; peer == before || peer == rank;) ++peer;
    return peer < ranks;
  });
  if (expected) expected->ranks = {wrong};
  return expected;
}
std::optional<Expected> resize_message(RandomJob& job, Prng& random) {
  return change_message(job, random, {"match.message.bytes"}, [](JobNode& n, int64_t) {
    n.bytes += 1'000'000;
    return true;
  });
}
std::optional<Expected> redtype_message(RandomJob& job, Prng& random) {
  // The other end must also say a type.
  return change_message(job, random, {"match.message.dtype"}, [](JobNode& n, int64_t) {
    if (n.dtype.empty()) return false;
    n.dtype = "Half";
    return true;
  });
}
std::optional<Expected> cycle_in_rank(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  auto& nodes = job.ranks[s->rank];
  Expected e = on_collective(job, *s, {"check.dep.cycle"});
  e.ranks = {static_cast<int64_t>(s->rank)};
  JobNode node;  // waits for the collective, which waits for it
  node.key = job.new_key(s->rank);
  node.deps = {nodes[s->at].key};
  nodes[s->at].deps.push_back(node.key);
  nodes.insert(nodes.begin() + static_cast<ptrdiff_t>(s->at) + 1, node);
  return e;
}
std::optional<Expected> cycle_through_two(RandomJob& job, Prng& random) {
  const auto a = static_cast<int64_t>(random.below(job.ranks.size()));
  const auto b = static_cast<int64_t>((static_cast<size_t>(a) + 1) % job.ranks.size());
  for (const auto& [rank, peer] : {std::pair(a, b), std::pair(b, a)}) {
    const auto r = static_cast<size_t>(rank);
    JobNode recv, send;
    recv.type = NodeType::recv;
    recv.src = peer;
    send.type = NodeType::send;
    send.dst = peer;
    recv.tag = send.tag = 55;
    recv.bytes = send.bytes = 8;
    recv.key = job.new_key(r);
    job.ranks[r].push_back(recv);
    send.key = job.new_key(r);
    send.deps = {recv.key};
    job.ranks[r].push_back(send);
  }
  return Expected{{"check.deadlock"}, {a, b}, {}, {{a, b, 55, 0}, {b, a, 55, 0}}};
}
std::optional<Expected> on_request(RandomJob& job, Prng& random, auto&& change, const char* tag) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.request >= 0; });
  if (!s) return std::nullopt;
  Expected e = job.ranks[s->rank][s->at].is_coll() ? on_collective(job, *s, {tag}) : on_message(job, *s, {tag});
  e.ranks = {static_cast<int64_t>(s->rank)};
  auto& nodes = job.ranks[s->rank];
  size_t wait = 0;
  while (nodes[wait].wait != nodes[s->at].request) ++wait;
  change(*s, wait);
  return e;
}
std::optional<Expected> drop_wait(RandomJob& job, Prng& random) {
  return on_request(
      job, random, [&](Spot s, size_t wait) { job.remove(s.rank, wait); }, "check.wait.missing");
}
std::optional<Expected> wait_for_nothing(RandomJob& job, Prng& random) {
  return on_request(
      job, random, [&](Spot s, size_t wait) { job.ranks[s.rank][wait].wait = 5000; }, "check.wait.unknown");
}
std::optional<Expected> wait_before(RandomJob& job, Prng& random) {
  return on_request(
      job, random,
      [&](Spot s, size_t wait) {
        auto& nodes = job.ranks[s.rank];
        JobNode moved = job.remove(s.rank, wait);
        moved.deps.clear();
        nodes.insert(nodes.begin() + static_cast<ptrdiff_t>(s.at), moved);
        if (job.chained) job.chain(s.rank);
      },
      "check.wait.early");
}
std::optional<Expected> renumber(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.is_coll() && n.sequence >= 0; });
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  // Without a call in common, a wrong number cannot be detected.
  if (calls_of(job, s->rank, n.group).size() < 2) return std::nullopt;
  n.sequence = random.chance(0.5) ? 500 + n.sequence : n.sequence + 1;
  return on_collective(job, *s, {"match.collective.number", "match.collective.count"});
}
std::optional<Expected> drop_rank(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  const std::string group = job.ranks[s->rank][s->at].group;
  for (size_t i = job.ranks[s->rank].size(); i-- > 0;)
    if (job.ranks[s->rank][i].is_coll() && job.ranks[s->rank][i].group == group)
      forget_request(job, s->rank, job.remove(s->rank, i).request);
  return Expected{{"match.collective.count"}, blamed(job, group, s->rank), {{group, 0}}, {}};
}

std::optional<Expected> wait_twice(RandomJob& job, Prng& random) {
  return on_request(
      job, random,
      [&](Spot s, size_t wait) {
        JobNode again;
        again.key = job.new_key(s.rank);
        again.wait = job.ranks[s.rank][s.at].request;
        again.deps = {job.ranks[s.rank][wait].key};
        job.ranks[s.rank].push_back(again);
      },
      "check.wait.twice");
}
/// A member gathers or scatters other sizes than the other members.
std::optional<Expected> change_side(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.out_bytes != 0; });
  if (!s) return std::nullopt;
  JobNode& n = job.ranks[s->rank][s->at];
  (random.chance(0.5) ? n.in_bytes : n.out_bytes) += 1;
  return on_collective(job, *s, {"match.collective.bytes"});
}
/// All members state the sizes of a group with another number of ranks, or of no number of ranks.
std::optional<Expected> change_all_sides(RandomJob& job, Prng& random) {
  const bool other_group = random.chance(0.5);
  const uint64_t odd = random.below(2);
  const auto s = pick(job, random, [](const JobNode& n) { return n.comm == CommType::all_gather && n.out_bytes != 0; });
  if (!s) return std::nullopt;
  const std::string group = job.ranks[s->rank][s->at].group;
  const int64_t index = index_of(job, *s);
  const std::vector<int64_t>& members = job.groups.at(group);
  for (const int64_t member : members) {
    const auto r = static_cast<size_t>(member);
    for (size_t i = 0; i < job.ranks[r].size(); ++i)
      if (JobNode& n = job.ranks[r][i]; n.is_coll() && n.group == group && index_of(job, {r, i}) == index)
        n.out_bytes = other_group ? n.out_bytes + n.in_bytes : n.in_bytes / 2 + odd;
  }
  return Expected{{other_group ? "match.group.size" : "match.collective.bytes"},
                  {members.begin(), members.end()},
                  {{group, index}},
                  {}};
}
/// A described group that the rank does not know.
std::optional<Expected> forget_group(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, [](const JobNode& n) { return n.is_coll() && n.group != "0"; });
  if (!s) return std::nullopt;
  const std::string group = job.ranks[s->rank][s->at].group;
  const std::vector<int64_t> members = job.groups.at(group);
  job.groups.erase(group);
  return Expected{{"match.group.unknown"}, {members.begin(), members.end()}, {{group, 0}}, {}};
}
/// A member outside the job: a warning, because the traces may be a part of a job.
std::optional<Expected> add_member(RandomJob& job, Prng& random) {
  const auto s = pick(job, random, is_coll);
  if (!s) return std::nullopt;
  const std::string group = job.ranks[s->rank][s->at].group;
  const std::vector<int64_t> members = job.groups.at(group);
  for (auto& nodes : job.ranks)
    for (JobNode& n : nodes) n.in_bytes = n.out_bytes = 0;  // sizes would be evidence of the right number of members
  job.groups.at(group).push_back(static_cast<int64_t>(job.ranks.size() + random.below(100)));
  return Expected{{"match.rank.missing"}, {members.begin(), members.end()}, {{group, 0}}, {}};
}

/// The constraints C1 to C8 stand in docs/explanation/checking.md.
struct Row {
  const char* name;
  int constraint;
  Mutate mutate;
  Severity severity = Severity::error;
};
constexpr std::array<Row, 30> kMutations{{{"drop", 1, drop},
                                          {"duplicate", 1, duplicate},
                                          {"regroup", 1, regroup},
                                          {"renumber", 1, renumber},
                                          {"drop_rank", 1, drop_rank},
                                          {"swap_in_group", 2, swap_in_group},
                                          {"retype", 2, retype},
                                          {"redtype", 2, redtype},
                                          {"reroot", 2, reroot},
                                          {"resize", 3, resize},
                                          {"change_side", 3, change_side},
                                          {"change_all_sides", 3, change_all_sides},
                                          {"change_split", 4, change_split},
                                          {"drop_send", 5, drop_send},
                                          {"drop_recv", 5, drop_recv},
                                          {"retag", 5, retag},
                                          {"re_peer", 5, re_peer},
                                          {"resize_message", 5, resize_message},
                                          {"redtype_message", 5, redtype_message},
                                          {"drop_wait", 6, drop_wait},
                                          {"wait_before", 6, wait_before},
                                          {"wait_for_nothing", 6, wait_for_nothing},
                                          {"wait_twice", 6, wait_twice},
                                          {"swap_across_groups", 7, swap_across_groups},
                                          {"opposite_on_a_stream", 7, opposite_on_a_stream},
                                          {"cycle_in_rank", 7, cycle_in_rank},
                                          {"cycle_through_two", 7, cycle_through_two},
                                          {"leave_group", 8, leave_group},
                                          {"forget_group", 8, forget_group},
                                          {"add_member", 8, add_member, Severity::warning}}};

int rounds() {
  const char* given = std::getenv("CHAKRA_TEST_ROUNDS");  // 1000 for the full test
  return given ? std::atoi(given) : 200;
}
template <class T>
T fact(const Finding& finding, std::string_view name, T otherwise) {
  for (const Fact& known : finding.facts)
    if (known.name == name) {
      if constexpr (std::same_as<T, std::string>) return known.number ? otherwise : known.text;
      else return static_cast<T>(known.number.value_or(otherwise));
    }
  return otherwise;
}
std::string show(const Findings& findings) {
  std::string out;
  for (const Finding& f : findings)
    if (f.severity != Severity::note)
      out += fmt::format("  {} rank {} group {} index {}: {}\n", f.tag, f.rank, fact<std::string>(f, "group", "-"),
                         fact<int64_t>(f, "index", -1), f.text);
  return out;
}

/// A random job whose gathers and scatters state the bytes of both sides.
RandomJob random_job(Prng& random) {
  RandomJob job = trace::testing::random_job(random);
  for (auto& nodes : job.ranks)
    for (JobNode& n : nodes) {
      if (n.comm != CommType::all_gather && n.comm != CommType::reduce_scatter) continue;
      const auto [in, out] =
          n.comm == CommType::all_gather ? std::pair(&n.in_bytes, &n.out_bytes) : std::pair(&n.out_bytes, &n.in_bytes);
      *in = n.bytes;
      *out = n.bytes * job.groups.at(n.group).size();
      if (n.comm == CommType::reduce_scatter) n.bytes = n.in_bytes;  // comm_size: what a rank sends
    }
  return job;
}

TEST(Mutations, EachConstraintIsViolated) {
  std::set<int> violated;
  for (const Row& row : kMutations) violated.insert(row.constraint);
  EXPECT_EQ(violated, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Mutations, ValidJobsGiveNoFinding) {
  Prng random(1);
  for (int round = 0; round < 10 * rounds(); ++round) {
    const RandomJob job = random_job(random);
    const Findings findings = check(job.build(), job.groups);
    for (const Finding& f : findings) ASSERT_EQ(f.severity, Severity::note) << round << "\n" << show(findings);
  }
}

class Mutation : public ::testing::TestWithParam<Row> {};

TEST_P(Mutation, IsNamed) {
  Prng random(2);
  int done = 0, failed = 0;
  for (int64_t tries = 0; done < rounds(); ++tries) {
    ASSERT_LT(tries, 1000 * int64_t{rounds()}) << "never possible";
    RandomJob job = random_job(random);
    const auto expected = GetParam().mutate(job, random);
    if (!expected) continue;
    ++done;
    const Findings findings = check(job.build(), job.groups);
    const auto reported = std::count_if(findings.begin(), findings.end(),
                                        [](const Finding& f) { return f.severity >= GetParam().severity; });
    bool right = reported >= 1 && reported <= 2;  // no cascades
    if (right) {
      const Finding& first = findings[0];
      const std::pair collective(fact<std::string>(first, "group", "-"), fact<int64_t>(first, "index", -1));
      const std::tuple message(fact<int64_t>(first, "sender", -1), fact<int64_t>(first, "receiver", -1),
                               fact<int64_t>(first, "message_tag", -1), fact<int64_t>(first, "index", -1));
      right = expected->tags.contains(first.tag) && expected->ranks.contains(first.rank) &&
              (expected->collectives.contains(collective) || expected->messages.contains(message));
    }
    if (right) continue;
    std::string wanted;
    for (const auto& tag : expected->tags) wanted += tag + " ";
    for (const int64_t rank : expected->ranks) wanted += fmt::format("rank {} ", rank);
    for (const auto& [group, index] : expected->collectives) wanted += fmt::format("group {} index {} ", group, index);
    for (const auto& [from, to, tag, index] : expected->messages)
      wanted += fmt::format("message {} {}->{} tag {} ", index, from, to, tag);
    if (++failed <= 3)
      ADD_FAILURE() << "try " << tries << (job.numbered ? ", numbered" : "") << (job.chained ? ", chained" : "")
                    << ": expected " << wanted << "\n"
                    << show(findings);
  }
  EXPECT_EQ(failed, 0) << "of " << done;
}

INSTANTIATE_TEST_SUITE_P(All, Mutation, ::testing::ValuesIn(kMutations),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace chakra::check
