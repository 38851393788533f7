// The streaming feeder against a plain oracle: every node once, never before what it waits for, whatever the
// order of the file, the window, the policy and the order in which nodes are done.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/feed/feed.h"

namespace chakra::feed {
namespace {

using testing::tag_of;
using trace::StreamedNode;

trace::NodeSource source_of(std::vector<StreamedNode> nodes) {
  return [nodes = std::move(nodes), next = size_t{0}](StreamedNode& node) mutable -> Result<bool> {
    if (next == nodes.size()) return false;
    node = nodes[next++];
    return true;
  };
}

StreamedNode node(uint64_t id, std::vector<uint64_t> deps, Picoseconds duration = 0) {
  return {id, std::move(deps), duration, "message of " + std::to_string(id)};
}

template <class T>
void shuffle(std::vector<T>& rows, Prng& random) {
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
}

/// A graph without cycles; ids dense or far apart, the file in order, reversed, or in any order.
std::vector<StreamedNode> random_graph(Prng& random) {
  const size_t size = 1 + random.below(random.chance(0.2) ? 1500 : 60);
  std::vector<uint64_t> ids(size);
  const uint64_t base = random.chance(0.3) ? random.next() : 0;
  const bool scattered = random.chance(0.3);
  for (size_t i = 0; i < size; ++i) ids[i] = scattered ? random.next() : base + i;
  const uint64_t reach = 1 + random.below(size);
  const uint64_t most = random.below(5);
  std::vector<StreamedNode> nodes;
  for (size_t i = 0; i < size; ++i) {
    std::vector<uint64_t> deps;
    if (i > 0)
      for (uint64_t e = random.below(most + 1); e > 0; --e)
        deps.push_back(ids[i - 1 - random.below(std::min<uint64_t>(i, reach))]);
    nodes.push_back(node(ids[i], deps, static_cast<Picoseconds>(random.below(100))));
    if (random.chance(0.01)) nodes.back().message.assign(random.below(5000), 'x');
  }
  if (random.chance(0.3)) std::reverse(nodes.begin(), nodes.end());
  else if (random.chance(0.5)) shuffle(nodes, random);
  return nodes;
}

FeedOptions random_options(Prng& random) {
  FeedOptions options;
  options.budget_bytes = random.chance(0.2) ? random.below(3) : random.chance(0.8) ? random.below(20'000) : 1 << 30;
  options.policy = static_cast<Policy>(random.below(kPolicies.size()));
  options.priority = [](const StreamedNode& n) { return static_cast<int64_t>(n.id % 7); };
  return options;
}

TEST(StreamFeeder, HandsOutEachNodeOnceAfterItsDependencies) {
  Prng random(7);
  uint64_t spilled = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::vector<StreamedNode> graph = random_graph(random);
    std::map<uint64_t, const StreamedNode*> by_id;
    for (const StreamedNode& n : graph) by_id[n.id] = &n;
    // Some nodes that nothing in the file waits for are added while the rest runs.
    std::set<uint64_t> waited;
    for (const StreamedNode& n : graph) waited.insert(n.deps.begin(), n.deps.end());
    std::vector<StreamedNode> file, later;
    for (const StreamedNode& n : graph) (!waited.contains(n.id) && random.chance(0.2) ? later : file).push_back(n);

    const FeedOptions options = random_options(random);
    StreamFeeder feeder(source_of(file), options);
    const uint64_t at_once = 1 + random.below(10);
    std::vector<uint64_t> running;
    std::set<uint64_t> done;
    for (;;) {
      if (!later.empty() && random.chance(0.3)) {
        ASSERT_TRUE(feeder.add(later.back()));
        later.pop_back();
      }
      const StreamedNode* next = nullptr;
      if (running.size() < at_once) {
        const auto got = feeder.next();
        ASSERT_TRUE(got) << got.error().message();
        next = *got;
      }
      if (next) {
        ASSERT_TRUE(by_id.contains(next->id));
        const StreamedNode& expected = *by_id[next->id];
        ASSERT_FALSE(done.contains(next->id)) << "twice";
        EXPECT_EQ(next->message, expected.message);
        EXPECT_EQ(next->duration, expected.duration);
        EXPECT_EQ(next->deps, expected.deps);
        for (const uint64_t dep : expected.deps) ASSERT_TRUE(done.contains(dep)) << "before its dependency";
        if (random.chance(0.1)) {
          ASSERT_TRUE(feeder.put_back(next->id));
        } else {
          running.push_back(next->id);
          EXPECT_EQ(feeder.find(running.back()), next);
        }
      } else if (!running.empty()) {
        const size_t pick = random.below(running.size());
        EXPECT_FALSE(feeder.finished());
        ASSERT_TRUE(feeder.done(running[pick]));
        EXPECT_TRUE(feeder.is_done(running[pick]));
        done.insert(running[pick]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(pick));
      } else if (later.empty()) {
        break;
      }
      ASSERT_EQ(feeder.running(), running.size());
    }
    EXPECT_TRUE(feeder.finished());
    EXPECT_EQ(done.size(), graph.size());
    EXPECT_EQ(feeder.stats().read, graph.size());
    // The window is never larger than the budget and what one node, or those made ready at once, add to it.
    spilled += feeder.stats().spilled;
  }
  EXPECT_GT(spilled, 10'000u);
}

/// The longest path of durations from each node to the end of the graph.
std::map<uint64_t, Picoseconds> tails(const std::vector<StreamedNode>& graph) {
  std::map<uint64_t, Picoseconds> tail;
  for (bool changed = true; changed;) {  // as slow as it is plain
    changed = false;
    std::map<uint64_t, Picoseconds> behind;
    for (const StreamedNode& n : graph)
      for (const uint64_t dep : n.deps) behind[dep] = std::max(behind[dep], tail[n.id]);
    for (const StreamedNode& n : graph)
      if (const Picoseconds longest = behind[n.id] + n.duration; longest != tail[n.id])
        tail[n.id] = longest, changed = true;
  }
  return tail;
}

TEST(StreamFeeder, WithRoomForAllThePolicyOrdersTheWholeTrace) {
  Prng random(8);
  for (int round = 0; round < 300; ++round) {
    std::vector<StreamedNode> graph = random_graph(random);
    if (graph.size() > 200) continue;
    const auto tail = tails(graph);
    FeedOptions options = random_options(random);
    options.budget_bytes = 1 << 30;
    StreamFeeder feeder(source_of(graph), options);

    // The oracle looks at every node every time.
    std::set<uint64_t> done;
    std::vector<const StreamedNode*> ready;
    std::set<uint64_t> listed;
    const auto list_ready = [&] {
      for (const StreamedNode& n : graph)
        if (!listed.contains(n.id) &&
            std::all_of(n.deps.begin(), n.deps.end(), [&](uint64_t d) { return done.contains(d); })) {
          listed.insert(n.id);
          ready.push_back(&n);
        }
    };
    const auto before = [&](const StreamedNode* a, const StreamedNode* b) {
      const auto key = [&](const StreamedNode* n) -> int64_t {
        switch (options.policy) {
          case Policy::critical_path: return -tail.at(n->id);
          case Policy::user: return options.priority(*n);
          default: return 0;
        }
      };
      if (options.policy == Policy::fifo) return false;
      if (options.policy == Policy::file) return a < b;
      return key(a) != key(b) ? key(a) < key(b) : a->id < b->id;
    };
    std::vector<uint64_t> running;
    for (list_ready(); done.size() < graph.size();) {
      const auto got = feeder.next();
      ASSERT_TRUE(got);
      if (!*got) {
        ASSERT_TRUE(ready.empty());
        const size_t pick = random.below(running.size());
        ASSERT_TRUE(feeder.done(running[pick]));
        done.insert(running[pick]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(pick));
        list_ready();
        continue;
      }
      const auto first = std::min_element(ready.begin(), ready.end(), before);
      ASSERT_NE(first, ready.end());
      ASSERT_EQ((*got)->id, (*first)->id) << kPolicies[static_cast<size_t>(options.policy)].name;
      running.push_back((*first)->id);
      ready.erase(first);
    }
    EXPECT_EQ(feeder.stats().spilled, 0u);
  }
}

/// Runs everything; the tag of the error, or how many were done.
std::string run_all(std::vector<StreamedNode> nodes, uint64_t budget) {
  StreamFeeder feeder(source_of(std::move(nodes)), {.budget_bytes = budget});
  for (;;) {
    const auto next = feeder.next();
    if (!next) {
      EXPECT_EQ(tag_of(feeder.next()), next.error().tag) << "an error stays";
      EXPECT_FALSE(feeder.finished());
      return next.error().tag + ": " + next.error().text;
    }
    if (!*next) return std::to_string(feeder.stats().done);
    EXPECT_TRUE(feeder.done((*next)->id));
  }
}

TEST(StreamFeeder, WhatCannotFinishIsAnErrorInEveryWindow) {
  Prng random(9);
  for (int round = 0; round < 600; ++round) {
    std::vector<StreamedNode> graph = random_graph(random);
    std::set<uint64_t> ids;
    for (const StreamedNode& n : graph) ids.insert(n.id);
    StreamedNode& broken = graph[random.below(graph.size())];
    std::string expected;
    switch (random.below(4)) {
      case 0: {
        uint64_t absent = random.below(2) ? random.next() : *ids.rbegin() + 1;
        while (ids.contains(absent)) ++absent;
        broken.deps.push_back(absent);
        expected = "feed.dep.dangling";
        break;
      }
      case 1:
        broken.deps.push_back(broken.id);
        expected = "feed.dep.cycle";
        break;
      case 2: {
        graph.push_back(graph[random.below(graph.size())]);
        if (random.chance(0.5)) std::swap(graph.back(), graph[random.below(graph.size())]);
        expected = "feed.id.duplicate";
        break;
      }
      default: {
        if (graph.size() < 3) continue;
        StreamedNode& other = graph[random.below(graph.size())];
        if (&other == &broken) continue;
        broken.deps.push_back(other.id);
        other.deps.push_back(broken.id);
        expected = "feed.dep.cycle";
      }
    }
    const uint64_t budget = random.chance(0.3) ? 1 << 30 : random.below(10'000);
    const std::string got = run_all(graph, budget);
    EXPECT_EQ(got.substr(0, got.find(':')), expected) << got;
  }
}

TEST(StreamFeeder, SaysWhoWaitsForWhom) {
  for (const uint64_t budget : {0, 1'000'000}) {
    EXPECT_EQ(run_all({node(1, {}), node(5, {1, 9}), node(9, {7}), node(7, {5})}, budget),
              "feed.dep.cycle: node 5 waits for node 9, and so on in a cycle of 3 nodes back to it; 3 nodes are left");
    EXPECT_EQ(
        run_all({node(1, {}), node(5, {1, 9}), node(6, {8})}, budget),
        "feed.dep.dangling: node 6 waits for node 8, which is missing; run 'chakra check' to list all missing nodes");
    EXPECT_EQ(run_all({}, budget), "0");
    EXPECT_EQ(run_all({node(0, {}), node(UINT64_MAX, {0, 0})}, budget), "2");
  }
}

TEST(StreamFeeder, RefusesWhatMakesNoSense) {
  StreamFeeder feeder(source_of({node(1, {}), node(2, {1})}));
  EXPECT_FALSE(feeder.finished());
  EXPECT_EQ(tag_of(feeder.done(1)), "feed.not_running");
  ASSERT_EQ((*feeder.next())->id, 1u);
  EXPECT_EQ(*feeder.next(), nullptr);
  EXPECT_FALSE(feeder.finished());
  EXPECT_EQ(tag_of(feeder.done(2)), "feed.not_running");
  EXPECT_EQ(tag_of(feeder.put_back(2)), "feed.not_running");
  ASSERT_TRUE(feeder.done(1));
  EXPECT_EQ(tag_of(feeder.done(1)), "feed.not_running");
  EXPECT_EQ(tag_of(feeder.add(node(2, {}))), "feed.id.duplicate");
  EXPECT_EQ(tag_of(feeder.add(node(3, {4}))), "feed.dep.dangling");
  ASSERT_TRUE(feeder.add(node(3, {1, 2})));
  ASSERT_EQ((*feeder.next())->id, 2u);
  ASSERT_TRUE(feeder.done(2));
  ASSERT_EQ((*feeder.next())->id, 3u);
  EXPECT_EQ(feeder.find(3)->message, "message of 3");
  ASSERT_TRUE(feeder.done(3));
  EXPECT_EQ(*feeder.next(), nullptr);
  EXPECT_TRUE(feeder.finished());
}

TEST(StreamFeeder, PassesOnWhatIsWrongWithTheSourceAndTheDisk) {
  StreamFeeder broken([n = uint64_t{0}](StreamedNode& to) mutable -> Result<bool> {
    if (n == 2) return fail(Code::bad_input, "io.et.truncated", "cut");
    to = node(n++, {});
    return true;
  });
  for (uint64_t id = 0; id < 2; ++id) ASSERT_EQ((*broken.next())->id, id);
  EXPECT_EQ(tag_of(broken.next()), "io.et.truncated");
  StreamFeeder no_room(source_of({node(1, {2}), node(2, {})}), {.budget_bytes = 1, .spill_folder = "/nowhere"});
  EXPECT_EQ(tag_of(no_room.next()), "base.file.create");
}

constexpr uint64_t kBudget = 200'000;

/// Walks a ladder in file order: each node waits for the two before it, and some for one far behind, so that only one
/// node is ready at a time. `window_peak`: the largest window, in bytes.
void walk_ladder(Policy policy, uint64_t& window_peak) {
  constexpr uint64_t kNodes = 50'000;
  Prng random(3);
  StreamFeeder feeder(
      [n = uint64_t{0}, &random](StreamedNode& to) mutable -> Result<bool> {
        if (n == kNodes) return false;
        to = {n, {}, 1, std::string(100, 'x')};
        for (uint64_t back = 1; back <= 2 && back <= n; ++back) to.deps.push_back(n - back);
        if (n > 0 && random.chance(0.1)) to.deps.push_back(random.below(n));
        ++n;
        return true;
      },
      {.budget_bytes = kBudget, .policy = policy});
  uint64_t expected = 0;
  for (;;) {
    const auto next = feeder.next();
    ASSERT_TRUE(next);
    if (!*next) break;
    ASSERT_EQ((*next)->id, expected++);
    ASSERT_TRUE(feeder.done((*next)->id));
  }
  EXPECT_EQ(expected, kNodes);
  EXPECT_EQ(feeder.stats().spilled, 0u);
  window_peak = feeder.stats().window_peak;
}

TEST(StreamFeeder, TheWindowKeepsToItsBudget) {
  for (const PolicyRow& row : kPolicies) {
    uint64_t peak = 0;
    walk_ladder(row.policy, peak);
    EXPECT_LE(peak, kBudget + 1000) << row.name;
  }
}

TEST(StreamFeeder, InTheOrderOfTheFileOneNodeIsInMemory) {
  uint64_t peak = 0;
  walk_ladder(Policy::file, peak);
  EXPECT_GT(peak, 100u);
  EXPECT_LE(peak, 1000u);
}

}  // namespace
}  // namespace chakra::feed
