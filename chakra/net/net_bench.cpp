// Events per second of the networks with shared links, on traffic whose outcome is known: a changed finish time or
// number of events is a changed model.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "chakra/net/net.h"

namespace {

using namespace chakra;
using namespace chakra::net;

constexpr double kBytePerPs = 1e12 / 1073741824.0;  // in GB/s of the file

struct Outcome {
  Picoseconds finish = 0;
  uint64_t events = 0;
  bool operator==(const Outcome&) const = default;
};

struct Traffic {
  Fabric fabric;
  std::vector<std::pair<Picoseconds, Message>> messages;  ///< by time
};

template <class Network>
Outcome carry(const Traffic& traffic, Network network) {
  std::vector<Delivery> done;
  Outcome outcome;
  size_t next = 0;
  while (next < traffic.messages.size() || network.next_event_time() != kNever) {
    const Picoseconds send = next < traffic.messages.size() ? traffic.messages[next].first : kNever;
    const Picoseconds now = network.advance_to(send, done);
    if (now == send)
      for (; next < traffic.messages.size() && traffic.messages[next].first == now; ++next)
        network.send(now, traffic.messages[next].second);
    for (const Delivery& d : done) outcome.finish = std::max(outcome.finish, d.arrived_ps);
    done.clear();
  }
  outcome.events = network.events();
  return outcome;
}

/// Each rank sends to the rank 8 places on: identical messages, many events at each time.
Traffic ring_shift() {
  Traffic t{{{{TopologyKind::ring, 64, kBytePerPs, 1000}}}, {}};
  for (int64_t r = 0; r < 64; ++r) t.messages.push_back({0, {r, (r + 8) % 64, 1 << 20, 0}});
  return t;
}

/// Everyone sends to everyone, by one switch.
Traffic switch_all_to_all() {
  Traffic t{{{{TopologyKind::switch_, 64, kBytePerPs, 1000}}}, {}};
  for (int64_t k = 1; k < 64; ++k)
    for (int64_t r = 0; r < 64; ++r) t.messages.push_back({0, {r, (r + k) % 64, 1 << 16, 0}});
  return t;
}

/// A permutation on a torus, of different sizes, begun at different times: hardly two events at one time.
Traffic torus_permutation() {
  Traffic t{{{{TopologyKind::torus, 16, 50, 500}, {TopologyKind::torus, 16, 40, 700}}}, {}};
  t.fabric.routing.kind = Routing::single;
  Prng random(1);
  std::vector<int64_t> to(256);
  std::iota(to.begin(), to.end(), 0);
  for (size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
  for (int64_t r = 0; r < 256; ++r)
    t.messages.push_back({random.between(0, 10'000'000), {r, to[r], (1 << 20) + random.below(1 << 20), 0}});
  std::sort(t.messages.begin(), t.messages.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return t;
}

/// The same with 4096 ranks: more links than the caches hold.
Traffic large_torus_permutation() {
  Traffic t{{{{TopologyKind::torus, 64, 50, 500}, {TopologyKind::torus, 64, 40, 700}}}, {}};
  t.fabric.routing.kind = Routing::single;
  Prng random(2);
  for (int64_t r = 0; r < 4096; ++r)
    t.messages.push_back({random.between(0, 10'000'000), {r, random.between(0, 4095), 1 << 17, 0}});
  std::sort(t.messages.begin(), t.messages.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return t;
}

/// Messages of one packet to the next rank, as many as 20 ring all-reduces of 1024 ranks have in 10 rounds each.
Traffic small_messages() {
  Traffic t{{{{TopologyKind::ring, 1024, 50, 500}}}, {}};
  for (int64_t k = 0; k < 200; ++k)
    for (int64_t r = 0; r < 1024; ++r) t.messages.push_back({k * 1'000'000 + r, {r, (r + 1) % 1024, 4096, 0}});
  return t;
}

template <class Network>
void measure(benchmark::State& state, const Traffic& traffic, const Outcome& expected) {
  uint64_t events = 0;
  for (auto _ : state) {
    const Outcome outcome = carry(traffic, Network(traffic.fabric));
    if (outcome != expected)
      return state.SkipWithError(fmt::format("wrong answer: {{{}, {}}}", outcome.finish, outcome.events).c_str());
    events += outcome.events;
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void BM_PacketRingShift(benchmark::State& state) { measure<PacketNetwork>(state, ring_shift(), {9602176, 131072}); }
void BM_PacketSwitchAllToAll(benchmark::State& state) {
  measure<PacketNetwork>(state, switch_all_to_all(), {6132864, 129024});
}
void BM_PacketTorusPermutation(benchmark::State& state) {
  measure<PacketNetwork>(state, torus_permutation(), {208206183, 776163});
}
void BM_PacketLargeTorus(benchmark::State& state) {
  measure<PacketNetwork>(state, large_torus_permutation(), {83817673, 4191649});
}
void BM_PacketSmallMessages(benchmark::State& state) {
  measure<PacketNetwork>(state, small_messages(), {199577317, 204800});
}
void BM_FluidSmallMessages(benchmark::State& state) {
  measure<FluidNetwork>(state, small_messages(), {199577317, 409600});
}
void BM_FluidTorusPermutation(benchmark::State& state) {
  measure<FluidNetwork>(state, torus_permutation(), {207523324, 511});
}
BENCHMARK(BM_PacketRingShift)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PacketSwitchAllToAll)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PacketTorusPermutation)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PacketLargeTorus)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PacketSmallMessages)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FluidSmallMessages)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FluidTorusPermutation)->Unit(benchmark::kMillisecond);

}  // namespace
