#include "chakra/sim/engine/account.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace chakra::sim {
namespace {

struct Span {
  Picoseconds begin, end;
  uint32_t kind;
};

/// At most `most` nodes; their numbers are those of their begins.
std::vector<Span> random_spans(Prng& random, uint64_t most, Picoseconds longest) {
  std::vector<Span> spans;
  for (uint64_t n = 1 + random.below(most); n-- > 0;) {
    const auto begin = static_cast<Picoseconds>(random.below(40));
    spans.push_back({begin, begin + 1 + static_cast<Picoseconds>(random.below(static_cast<uint64_t>(longest))),
                     static_cast<uint32_t>(random.below(4))});
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return spans;
}

/// The kind of each exposed picosecond, found for this picosecond alone.
std::map<uint32_t, Picoseconds> expected(const std::vector<Span>& moving, const std::vector<Span>& computing) {
  std::map<uint32_t, Picoseconds> of;
  const auto runs = [](const Span& s, Picoseconds at) { return s.begin <= at && at < s.end; };
  for (Picoseconds at = 0; at < 100; ++at) {
    if (std::any_of(computing.begin(), computing.end(), [&](const Span& s) { return runs(s, at); })) continue;
    Picoseconds next = INT64_MAX;
    for (const Span& s : computing)
      if (s.begin > at) next = std::min(next, s.begin);
    const Span* best = nullptr;
    for (const Span& s : moving) {
      if (!runs(s, at)) continue;
      const auto rank = [&](const Span& m) { return m.end <= next ? m.end : -1; };
      if (!best || rank(s) > rank(*best) || (rank(s) == rank(*best) && rank(s) >= 0)) best = &s;
    }
    if (best) of[best->kind] += 1;
  }
  return of;
}

TEST(Account, ExposedTimeBelongsToTheCommunicationThatEndsLastBeforeComputation) {
  Prng random(91);
  for (int round = 0; round < 5'000; ++round) {
    const std::vector<Span> moving = random_spans(random, 6, 30), computing = random_spans(random, 4, 8);
    using Event = std::tuple<Picoseconds, int, uint64_t, uint32_t>;  // at one time: ends, begins, then computation
    std::set<Event> events;
    for (uint32_t m = 0; m < moving.size(); ++m) {
      events.emplace(moving[m].end, 0, random.below(9), m);
      events.emplace(moving[m].begin, 2, m, m);
    }
    for (uint32_t c = 0; c < computing.size(); ++c) {
      events.emplace(computing[c].end, 1, c, c);
      events.emplace(computing[c].begin, 3, c, c);
    }
    Account account;
    for (const auto& [at, what, order, which] : events) {
      account.up_to(at);
      if (what == 0) account.stop_moving(trace::NodeId(which));
      if (what == 1) --account.computing;
      if (what == 2) account.start_moving(trace::NodeId(which), moving[which].kind);
      if (what == 3) account.start_computing();
    }
    account.end_stretch();
    ASSERT_EQ(account.total(), std::get<0>(*events.rbegin()));
    std::map<uint32_t, Picoseconds> found;
    for (uint32_t kind = 0; kind < account.exposed.size(); ++kind)
      if (account.exposed[kind] > 0) found[kind] = account.exposed[kind];
    ASSERT_EQ(found, expected(moving, computing)) << "round " << round;
  }
}

}  // namespace
}  // namespace chakra::sim
