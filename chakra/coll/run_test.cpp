// Running without contention must agree with an event-driven run written from the definition.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>

#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using net::TopologyKind;
using testing::expand;
using testing::fabric;
using testing::first_ranks;
using testing::Pairs;
using testing::random_fabric;
using testing::types_of;
using trace::CommType;

/// A link of a dimension: which row of it, from which place, which way.
using LinkKey = std::tuple<size_t, int64_t, int64_t, int64_t>;

struct Way {
  std::vector<std::pair<LinkKey, long double>> links;  ///< with the share of the message that passes
  long double latency = 0;
};

/// Dimension by dimension, the inner first; round a ring, both ways where they are equally long.
Way way_of(const net::Fabric& net, int64_t from, int64_t to) {
  Way way;
  int64_t size = 1, at = from;
  for (size_t d = 0; d < net.dimensions.size(); ++d) {
    const net::Dimension& dim = net.dimensions[d];
    const int64_t n = dim.ranks, a = at / size % n, b = to / size % n;
    const int64_t row = at - a * size, on = (b - a + n) % n;
    at = row + b * size;
    size *= n;
    if (a == b) continue;
    int64_t hops = 1;
    if (dim.kind == TopologyKind::ring) {
      hops = std::min(on, n - on);
      const bool both = 2 * on == n && n > 2;
      if (2 * on <= n)
        for (int64_t k = 0; k < on; ++k) way.links.push_back({{d, row, (a + k) % n, 1}, both ? 0.5L : 1.0L});
      if (2 * on > n || both)
        for (int64_t k = 0; k < n - on; ++k) way.links.push_back({{d, row, (a - k + n) % n, -1}, both ? 0.5L : 1.0L});
    } else if (dim.kind == TopologyKind::switch_) {
      hops = 2;
      way.links.push_back({{d, row, a, 1}, 1});
      way.links.push_back({{d, row, b, -1}, 1});
    } else {
      way.links.push_back({{d, row, a * n + b, 0}, 1});
    }
    way.latency += std::round(static_cast<long double>(hops) * dim.latency_ns * 1000);
  }
  return way;
}

/// What links carry, and how long the busiest one of some takes.
struct Carried {
  const net::Fabric* net;
  std::map<LinkKey, long double> bytes;

  void add(const Way& way, uint64_t sent) {
    for (const auto& [link, share] : way.links) bytes[link] += share * static_cast<long double>(sent);
  }
  long double time(const LinkKey& link) const {
    const long double rate = static_cast<long double>(net->dimensions[std::get<0>(link)].gib_per_s) * 1073741824.0L;
    return bytes.at(link) / rate * 1e12L;
  }
  long double busiest(const Way& way) const {
    long double most = 0;
    for (const auto& [link, share] : way.links) most = std::max(most, time(link));
    return most;
  }
  long double busiest() const {
    long double most = 0;
    for (const auto& [link, sum] : bytes) most = std::max(most, time(link));
    return most;
  }
};

/// One event at a time: a transfer has left, a transfer has arrived.
std::vector<long double> run_events(const Plan& plan, const Place& place, const std::vector<Picoseconds>& ready) {
  struct Send {
    uint32_t to;
    uint64_t bytes;
    Way way;
  };
  struct Part {  // of a member in a round
    std::vector<Send> sends;
    int waits = 0;     // events that must still happen, its own sends included
    int blockers = 0;  // parts that must end before it begins
    std::vector<std::pair<uint32_t, uint32_t>> blocks;
  };
  std::map<std::pair<uint32_t, uint32_t>, Part> parts;  // round, member
  std::vector<Carried> carried(plan.rounds.size(), {place.fabric, {}});
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const auto add = [&](uint32_t from, uint32_t to, uint64_t bytes) {
      Part& sender = parts[{k, from}];
      sender.sends.push_back({to, bytes, way_of(*place.fabric, place.ranks[from], place.ranks[to])});
      carried[k].add(sender.sends.back().way, bytes);
      ++sender.waits;
      ++parts[{k, to}].waits;
    };
    const Round& round = plan.rounds[k];
    if (!round.list.empty()) {
      for (const Transfer& t : round.list) add(t.from, t.to, t.bytes);
    } else if (round.shift > 0) {
      const uint32_t extent = round.extent ? round.extent : plan.members;
      for (uint32_t i = 0; i < plan.members; ++i)
        for (uint64_t q = 0; q < round.shifts; ++q) {
          const uint64_t c = i / round.stride % extent, to = (c + round.shift + q * round.apart) % extent;
          add(i, static_cast<uint32_t>(i - c * round.stride + to * round.stride), round.bytes);
        }
    }
  }
  // A part waits for the part before it in its lane, and for the last one up to `after` in that lane.
  for (auto& [at, part] : parts) {
    const auto [k, member] = at;
    const auto wait_for = [&, k = k, member = member](int64_t last, uint32_t lane) {
      for (int64_t r = last; r >= 0; --r)
        if (plan.rounds[static_cast<size_t>(r)].lane == lane)
          if (const auto found = parts.find({static_cast<uint32_t>(r), member}); found != parts.end()) {
            found->second.blocks.emplace_back(k, member);
            ++parts[{k, member}].blockers;
            return;
          }
    };
    wait_for(int64_t{k} - 1, plan.rounds[k].lane);
    if (const int32_t after = plan.rounds[k].after; after >= 0)
      wait_for(after, plan.rounds[static_cast<size_t>(after)].lane);
  }
  struct Event {
    long double time;
    std::pair<uint32_t, uint32_t> part;
    bool starts;
    bool operator<(const Event& other) const { return time > other.time; }
  };
  std::priority_queue<Event> events;
  std::vector<long double> end(ready.begin(), ready.end());
  for (const auto& [at, part] : parts)
    if (part.blockers == 0) events.push({static_cast<long double>(ready[at.second]), at, true});
  size_t ended = 0;
  std::map<std::pair<uint32_t, uint32_t>, bool> begun;
  const auto finish = [&](std::pair<uint32_t, uint32_t> at, long double now) {
    ++ended;
    end[at.second] = std::max(end[at.second], now);
    for (const auto& next : parts[at].blocks)
      if (--parts[next].blockers == 0) events.push({now, next, true});
  };
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    Part& part = parts[event.part];
    if (event.starts) {
      begun[event.part] = true;
      for (const Send& send : part.sends) {
        const long double left = event.time + (send.bytes ? carried[event.part.first].busiest(send.way) : 0);
        events.push({left, event.part, false});
        events.push({left + send.way.latency, {event.part.first, send.to}, false});
      }
      if (part.waits == 0) finish(event.part, event.time);  // all has come before it began
    } else if (--part.waits == 0 && begun[event.part]) {
      finish(event.part, event.time);
    }
  }
  EXPECT_EQ(ended, parts.size());
  return end;
}

/// What the busiest link of all rounds takes beyond a run in which all begin together.
long double extra_of(const Plan& plan, const Place& place) {
  Carried all{place.fabric, {}};
  long double latency = INFINITY;
  for (const Round& round : plan.rounds)
    each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
      const Way way = way_of(*place.fabric, place.ranks[from], place.ranks[to]);
      all.add(way, bytes);
      latency = std::min(latency, way.latency);
    });
  const auto together = run_events(plan, place, std::vector<Picoseconds>(plan.members, 0));
  const long double end = *std::max_element(together.begin(), together.end());
  return all.busiest() > 0 ? std::max(0.0L, all.busiest() + latency - end) : 0;
}

Plan random_plan(Prng& random, uint32_t n) {
  Plan plan{n, static_cast<uint32_t>(random.between(1, 3)), {}};
  std::vector<int32_t> last(plan.lanes, -1);
  const auto rounds = random.between(0, 12);
  for (int64_t k = 0; k < rounds; ++k) {
    Round round;
    round.lane = static_cast<uint32_t>(random.below(plan.lanes));
    if (const auto other = random.below(plan.lanes); random.chance(0.5) && other != round.lane)
      round.after = last[other];
    // Rounds tend to repeat what was before them.
    if (k > 0 && random.chance(0.4)) {
      const Round& before = plan.rounds.back();
      round.shift = before.shift;
      round.shifts = before.shifts;
      round.apart = before.apart;
      round.stride = before.stride;
      round.extent = before.extent;
      round.list = before.list;
    } else if (n > 1 && random.chance(0.5)) {
      std::vector<std::pair<uint32_t, uint32_t>> grids;
      for (uint32_t stride = 1; stride <= n; ++stride)
        for (uint32_t extent = 2; stride * extent <= n; ++extent)
          if (n % (stride * extent) == 0) grids.emplace_back(stride, extent);
      std::tie(round.stride, round.extent) = grids[random.below(grids.size())];
      const uint32_t extent = round.extent;
      round.shift = static_cast<uint32_t>(random.between(1, extent - 1));
      round.apart = static_cast<uint32_t>(random.between(1, extent));
      // As many as do not meet the sender or a target again.
      std::set<uint32_t> met{0};
      uint32_t most = 0;
      for (uint32_t at = round.shift; met.insert(at).second; at = (at + round.apart) % extent) ++most;
      round.shifts = static_cast<uint32_t>(random.between(1, most));
      if (round.stride == 1 && extent == n && random.chance(0.5)) round.extent = 0;
    } else if (n > 1) {
      std::set<std::pair<uint32_t, uint32_t>> pairs;
      for (int64_t i = random.between(0, 2 * n); i > 0; --i) {
        const auto from = static_cast<uint32_t>(random.below(n)), to = static_cast<uint32_t>(random.below(n));
        if (from != to && pairs.emplace(from, to).second) round.list.push_back({from, to, random.below(1 << 22)});
      }
    }
    round.bytes = random.chance(0.2) ? 0 : random.below(1 << 22);
    last[round.lane] = static_cast<int32_t>(k);
    plan.rounds.push_back(std::move(round));
  }
  return plan;
}

void compare(const Plan& plan, const Place& place, const std::vector<Picoseconds>& starts) {
  std::vector<Picoseconds> ready = starts;
  run_closed(plan, place, ready);
  const std::vector<long double> expected = run_events(plan, place, starts);
  const long double extra = plan.members < 2 ? 0 : extra_of(plan, place);
  for (size_t i = 0; i < ready.size(); ++i) {
    const auto end = static_cast<double>(std::max(static_cast<long double>(starts[i]), expected[i] + extra));
    ASSERT_NEAR(static_cast<double>(ready[i]), end, 1 + 1e-6 * static_cast<double>(extra)) << "member " << i;
  }
}

std::vector<Picoseconds> random_starts(Prng& random, size_t n) {
  std::vector<Picoseconds> starts(n, random.between(-1000, 1'000'000'000));
  if (random.chance(0.6))
    for (Picoseconds& start : starts) start += random.between(0, random.chance(0.5) ? 100'000'000 : 5);
  return starts;
}

TEST(RunClosed, AgreesWithAnEventDrivenRunOnRandomPlans) {
  Prng random(3);
  for (int i = 0; i < 4000; ++i) {
    const net::Fabric net = random_fabric(random, 24);
    std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net.size()));
    for (size_t k = ranks.size(); k > 1 && random.chance(0.3); --k) std::swap(ranks[k - 1], ranks[random.below(k)]);
    if (random.chance(0.3)) ranks.resize(static_cast<size_t>(random.between(1, net.size())));
    const Place place{&net, ranks};
    const Plan plan = random_plan(random, place.members());
    for (const Round& round : plan.rounds) {
      Pairs pairs;
      each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) { pairs[{from, to}] += bytes; });
      ASSERT_EQ(pairs, expand(plan, round));
    }
    compare(plan, place, random_starts(random, ranks.size()));
    if (HasFailure()) FAIL() << "plan " << i << " on " << net.describe();
  }
}

TEST(RunClosed, AgreesWithAnEventDrivenRunOnEveryAlgorithm) {
  Prng random(5);
  for (int i = 0; i < 40; ++i)
    for (const AlgorithmRow& row : kAlgorithms)
      for (const CommType type : types_of(row)) {
        const net::Fabric net = random_fabric(random, 24);
        std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net.size()));
        if (random.chance(0.3)) std::erase_if(ranks, [&](int64_t r) { return r > 0 && random.chance(0.4); });
        const Place place{&net, ranks};
        const Operation op{type, random.below(4 << 20), static_cast<uint32_t>(random.below(ranks.size())), {}};
        if (!row.can(op, place)) continue;
        compare(row.plan(op, place), place, random_starts(random, ranks.size()));
        if (HasFailure()) FAIL() << row.name << " " << trace::name(type) << " on " << net.describe();
      }
}

}  // namespace
}  // namespace chakra::coll
