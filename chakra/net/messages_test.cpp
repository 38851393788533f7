// Messages over shared links: both networks against written-out runs, and against each other.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>

#include "chakra/net/testing/fabrics.h"
#include "chakra/net/testing/fair_rates.h"

namespace chakra::net {
namespace {

using testing::fill;
using testing::Problem;
using testing::random_fabric;
using testing::random_graph;

struct Sent {
  Picoseconds at;
  Message message;
};

/// All deliveries, in the order in which they came.
template <class Network>
std::vector<Delivery> carry(Network& network, const std::vector<Sent>& sent) {
  std::vector<Delivery> all, done;
  size_t next = 0;
  Picoseconds before = 0;
  while (next < sent.size() || network.next_event_time() != kNever) {
    const Picoseconds send = next < sent.size() ? sent[next].at : kNever;
    const Picoseconds event = network.next_event_time();
    const Picoseconds now = network.advance_to(send, done);
    EXPECT_GE(now, before);
    EXPECT_LE(now, send);
    EXPECT_GE(now, std::min(event, send));
    before = now;
    for (const Delivery& d : done) EXPECT_TRUE(d.left_ps == now || d.arrived_ps == now);
    all.insert(all.end(), done.begin(), done.end());
    done.clear();
    if (now == send)
      for (; next < sent.size() && sent[next].at == now; ++next) network.send(now, sent[next].message);
  }
  return all;
}

template <class Network>
std::vector<Delivery> by_token(Network network, const std::vector<Sent>& sent) {
  std::vector<Delivery> all = carry(network, sent);
  EXPECT_EQ(all.size(), sent.size());
  std::sort(all.begin(), all.end(), [](const Delivery& a, const Delivery& b) { return a.token < b.token; });
  return all;
}

Picoseconds last_arrival(const std::vector<Delivery>& all) {
  Picoseconds last = 0;
  for (const Delivery& d : all) last = std::max(last, d.arrived_ps);
  return last;
}

std::vector<Sent> random_traffic(Prng& random, const Fabric& fabric, uint64_t most_bytes, Picoseconds longest) {
  std::vector<Sent> sent;
  for (int64_t i = random.between(1, 60); i-- > 0;)
    sent.push_back({random.chance(0.3) ? 0 : random.between(0, longest),
                    {random.between(0, fabric.size() - 1), random.between(0, fabric.size() - 1),
                     random.chance(0.1) ? 0 : random.below(most_bytes), 0}});
  std::stable_sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return a.at < b.at; });
  for (size_t i = 0; i < sent.size(); ++i) sent[i].message.token = i;
  return sent;
}

Fabric random_network(Prng& random) {
  return random.chance(0.3) ? random_graph(random, false) : random_fabric(random, 40, random.chance(0.5));
}

/// What links have carried is what the routes say.
template <class Network>
void check_totals(const Fabric& fabric, const Network& network, const std::vector<Sent>& sent, uint64_t packet_bytes) {
  std::map<LinkId, uint64_t> bytes;
  std::vector<LinkId> route;
  for (const Sent& s : sent) {
    route.clear();
    fabric.route(s.message.from, s.message.to, route);
    for (const LinkId id : route)
      if (s.message.bytes > 0) bytes[id] += s.message.bytes;
  }
  const std::vector<LinkTotal> totals = network.totals();
  ASSERT_EQ(totals.size(), bytes.size());
  auto expected = bytes.begin();
  for (const LinkTotal& total : totals) {
    EXPECT_EQ(total.link, expected->first);
    EXPECT_EQ(total.bytes, expected->second);
    const auto busy = static_cast<double>(serialization(total.bytes, fabric.link(total.link).bytes_per_s));
    // The push of each packet is rounded, and so is that of each message.
    const uint64_t roundings = sent.size() + (packet_bytes > 0 ? total.bytes / packet_bytes : 0);
    EXPECT_NEAR(static_cast<double>(total.busy_ps), busy, 1 + 0.5 * static_cast<double>(roundings));
    ++expected;
  }
}

/// The history of a link adds up to its bytes, and no interval has more than the rate allows.
template <class Network>
void check_history(const Fabric& fabric, Network network, const std::vector<Sent>& sent) {
  network.keep_history();
  carry(network, sent);
  std::map<LinkId, double> totals;
  double all = 0, kept = 0;
  for (const LinkTotal& total : network.totals()) {
    totals[total.link] = static_cast<double>(total.bytes);
    all += totals[total.link];
  }
  const LinkHistory history = network.history();
  for (const LinkHistory::Row& row : history.rows) {
    const double bytes = std::accumulate(row.bytes.begin(), row.bytes.end(), 0.0);
    kept += bytes;
    if (row.links == 1) EXPECT_NEAR(bytes, totals[row.link], 1e-6 * bytes + 1);
    const double most = fabric.link(row.link).bytes_per_s * static_cast<double>(row.links) *
                        static_cast<double>(history.interval_ps) / kPsPerSecond;
    for (const double each : row.bytes) EXPECT_LE(each, most * (1 + 1e-6) + 8192);
  }
  EXPECT_NEAR(kept, all, 1e-6 * all + static_cast<double>(history.rows.size()));
}

TEST(History, AddsUpToTheBytesOfLinks) {
  Prng random(77);
  for (int trial = 0; trial < 200; ++trial) {
    const Fabric fabric = random_network(random);
    const std::vector<Sent> sent = random_traffic(random, fabric, uint64_t{1} << random.between(4, 22), 1'000'000'000);
    check_history(fabric, FluidNetwork(fabric), sent);
    check_history(fabric, PacketNetwork(fabric), sent);
  }
}

TEST(History, HasTheTimesOfTransfers) {
  const Fabric ring{{{TopologyKind::ring, 8, 1e12 / 1073741824.0, 0}}};  // a byte per picosecond
  FluidNetwork network(ring);
  network.keep_history();
  carry(network, {{0, {0, 1, 24, 0}}, {36, {0, 1, 12, 1}}});
  const LinkHistory history = network.history();
  ASSERT_EQ(history.rows.size(), 1u);
  EXPECT_EQ(history.interval_ps, 2);  // 48 ps end in the first interval of width 2 that 48 of width 1 lack
  std::vector<double> bytes(48, 0);
  std::fill(bytes.begin(), bytes.begin() + 12, 2.0);
  std::fill(bytes.begin() + 18, bytes.begin() + 24, 2.0);
  EXPECT_EQ(history.rows[0].bytes, bytes);
}

TEST(Fluid, AloneIsTheClosedForm) {
  Prng random(7);
  for (int trial = 0; trial < 500; ++trial) {
    const Fabric fabric = random_network(random);
    const Message message{random.between(0, fabric.size() - 1), random.between(0, fabric.size() - 1),
                          random.chance(0.1) ? 0 : random.below(uint64_t{1} << random.between(1, 40)), 5};
    const Picoseconds start = random.between(0, 1'000'000'000'000);
    const auto all = by_token(FluidNetwork(fabric), {{start, message}});
    const Path path = fabric.path(message.from, message.to);
    const Picoseconds left = start + serialization(message.bytes, path.bytes_per_s);
    EXPECT_EQ(all[0], (Delivery{5, left, left + path.latency_ps}));
  }
}

const double kBytePerPs = 1e12 / 1073741824.0;  // in the file's GB/s

TEST(Fluid, FlowsShareALink) {
  const Fabric ring{{{TopologyKind::ring, 8, kBytePerPs, 1}}};
  // Two at once take twice the time; those elsewhere do not notice.
  EXPECT_EQ(by_token(FluidNetwork(ring), {{0, {0, 1, 1000, 0}}, {0, {0, 1, 1000, 1}}, {0, {4, 5, 1000, 2}}}),
            (std::vector<Delivery>{{0, 2000, 3000}, {1, 2000, 3000}, {2, 1000, 2000}}));
  // The second comes when half of the first is through: 500 + 1000, then its last 500 bytes alone.
  EXPECT_EQ(by_token(FluidNetwork(ring), {{0, {0, 1, 1000, 0}}, {500, {0, 1, 1000, 1}}}),
            (std::vector<Delivery>{{0, 1500, 2500}, {1, 2000, 3000}}));
  // 0 -> 2 and 1 -> 3 meet on 1 -> 2; 2 -> 3 carries 1 -> 3 and another, whose rate 1 -> 3 leaves.
  EXPECT_EQ(by_token(FluidNetwork(ring), {{0, {0, 2, 1000, 0}}, {0, {1, 3, 1000, 1}}, {0, {2, 3, 500, 2}}}),
            (std::vector<Delivery>{{0, 2000, 4000}, {1, 2000, 4000}, {2, 1000, 2000}}));
  EXPECT_EQ(by_token(FluidNetwork(ring), {{7, {3, 3, 1000, 0}}, {7, {0, 1, 0, 1}}}),
            (std::vector<Delivery>{{0, 7, 7}, {1, 7, 1007}}));
}

TEST(Fluid, IdleLinksPassABurstAtOnce) {
  Fabric ring{{{TopologyKind::ring, 8, kBytePerPs, 1}}};
  ring.burst_bytes = 400;
  const auto carried = [&](const std::vector<Sent>& sent) { return by_token(FluidNetwork(ring), sent); };
  // All of a message that is no larger; of two links as much as each has.
  EXPECT_EQ(carried({{5, {0, 1, 400, 0}}, {5, {2, 4, 1000, 1}}}),
            (std::vector<Delivery>{{0, 5, 1005}, {1, 605, 2605}}));
  // What follows at once gets nothing; after 100 ps without work the link has 100 bytes again, and never above 400.
  EXPECT_EQ(carried({{0, {0, 1, 1000, 0}}, {600, {0, 1, 1000, 1}}, {1700, {0, 1, 1000, 2}}, {9999, {0, 1, 1000, 3}}}),
            (std::vector<Delivery>{{0, 600, 1600}, {1, 1600, 2600}, {2, 2600, 3600}, {3, 10599, 11599}}));
  // Two at once: what the first one leaves is for the second one.
  EXPECT_EQ(carried({{0, {0, 1, 300, 0}}, {0, {0, 1, 1000, 1}}}),
            (std::vector<Delivery>{{0, 0, 1000}, {1, 900, 1900}}));
  // A link that carries less than it could saves the rest: 2 -> 3 carries half of its rate, since 1 -> 2 is shared.
  EXPECT_EQ(carried({{0, {1, 3, 1000, 0}}, {0, {1, 2, 1000, 1}}, {400, {2, 3, 500, 2}}})[2], (Delivery{2, 1000, 2000}));
}

TEST(Fluid, NoLinkPassesMoreThanItsRateAndABurst) {
  Prng random(23);
  for (int trial = 0; trial < 300; ++trial) {
    Fabric fabric = random_network(random);
    fabric.routing.kind = Routing::single;
    fabric.burst_bytes = static_cast<double>(random.below(uint64_t{1} << random.between(1, 20)));
    std::vector<Sent> sent;
    Picoseconds at = 0;
    for (uint64_t i = 0; i < 30; ++i) {
      at += random.chance(0.5) ? 0 : random.between(0, 1'000'000);
      sent.push_back({at,
                      {random.between(0, fabric.size() - 1), random.between(0, fabric.size() - 1),
                       random.below(uint64_t{1} << random.between(1, 20)), i}});
    }
    const auto all = by_token(FluidNetwork(fabric), sent);
    std::map<LinkId, std::vector<size_t>> users;
    std::vector<LinkId> route;
    for (size_t i = 0; i < sent.size(); ++i) {
      route.clear();
      fabric.route(sent[i].message.from, sent[i].message.to, route);
      for (const LinkId link : route) users[link].push_back(i);
    }
    // What begins and ends in a span of time has passed in it.
    for (const auto& [link, messages] : users)
      for (const size_t first : messages)
        for (const size_t last : messages) {
          const Picoseconds from = sent[first].at, to = all[last].left_ps;
          double bytes = 0;
          for (const size_t i : messages)
            if (sent[i].at >= from && all[i].left_ps <= to) bytes += static_cast<double>(sent[i].message.bytes);
          if (bytes == 0) continue;
          const double most =
              fabric.burst_bytes + fabric.link(link).bytes_per_s * static_cast<double>(to - from + 2) / 1e12;
          ASSERT_LE(bytes, most * (1 + 1e-9)) << "link " << link;
        }
  }
}

/// All rates anew at each event, for all flows.
std::vector<Delivery> fluid_oracle(const Fabric& fabric, const std::vector<Sent>& sent) {
  struct Flow {
    const Sent* sent;
    std::vector<LinkId> route;
    double remaining;
  };
  std::vector<Delivery> all(sent.size());
  std::vector<Flow> flows;
  double now = 0;
  size_t next = 0;
  while (next < sent.size() || !flows.empty()) {
    std::map<LinkId, uint32_t> number;
    Problem p;
    for (const Flow& flow : flows) {
      for (const LinkId id : flow.route) {
        const auto [found, added] = number.emplace(id, static_cast<uint32_t>(number.size()));
        if (added) p.capacity.push_back(fabric.link(id).bytes_per_s / 1e12);
        p.uses.push_back(found->second);
      }
      p.first.push_back(static_cast<uint32_t>(p.uses.size()));
    }
    const std::vector<double> rate = fill(p);
    double until = next < sent.size() ? static_cast<double>(sent[next].at) : INFINITY;
    for (size_t f = 0; f < flows.size(); ++f) until = std::min(until, now + flows[f].remaining / rate[f]);
    for (size_t f = 0; f < flows.size(); ++f) flows[f].remaining -= rate[f] * (until - now);
    now = until;
    std::erase_if(flows, [&](const Flow& flow) {
      if (flow.remaining > 1e-6) return false;
      const Message& m = flow.sent->message;
      const auto left = static_cast<Picoseconds>(std::llround(now));
      all[m.token] = {m.token, left, left + fabric.path(m.from, m.to).latency_ps};
      return true;
    });
    for (; next < sent.size() && static_cast<double>(sent[next].at) <= now; ++next) {
      const Message& m = sent[next].message;
      flows.push_back({&sent[next], {}, static_cast<double>(m.bytes)});
      fabric.route(m.from, m.to, flows.back().route);
      if (m.bytes > 0 && m.from != m.to) continue;
      all[m.token] = {m.token, sent[next].at, sent[next].at + fabric.path(m.from, m.to).latency_ps};
      flows.pop_back();
    }
  }
  return all;
}

TEST(Fluid, EqualsRatesTakenAnewEachTime) {
  Prng random(8);
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_network(random);
    const auto sent = random_traffic(random, fabric, 1 << 20, 20'000'000);
    FluidNetwork network(fabric);
    const auto all = by_token(std::move(network), sent);
    const auto expected = fluid_oracle(fabric, sent);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(all[i].left_ps), static_cast<double>(expected[i].left_ps), 100);  // of 1e7
      EXPECT_EQ(all[i].arrived_ps - all[i].left_ps, expected[i].arrived_ps - expected[i].left_ps);
    }
    FluidNetwork counted(fabric);
    (void)carry(counted, sent);
    check_totals(fabric, counted, sent, 0);
  }
}

TEST(Packet, AloneIsStoreAndForward) {
  const Fabric fabric{{{TopologyKind::mesh, 4, kBytePerPs, 1}, {TopologyKind::switch_, 2, kBytePerPs / 2, 3}}};
  // 10,000 bytes are packets of 4096, 4096 and 1808.
  EXPECT_EQ(by_token(PacketNetwork(fabric), {{10, {0, 1, 10'000, 0}}})[0], (Delivery{0, 10'010, 11'010}));
  // Then over two more links of half the rate; the last of them pushes all packets without a pause.
  EXPECT_EQ(by_token(PacketNetwork(fabric), {{0, {0, 5, 10'000, 0}}})[0],
            (Delivery{0, 10'000, 4096 + 1000 + 8192 + 3000 + 8192 + 8192 + 3616 + 3000}));
  EXPECT_EQ(by_token(PacketNetwork(fabric, {0}), {{0, {0, 5, 10'000, 0}}})[0],
            (Delivery{0, 10'000, 10'000 + 1000 + 20'000 + 3000 + 20'000 + 3000}));
  EXPECT_EQ(by_token(PacketNetwork(fabric), {{7, {3, 3, 1000, 0}}, {7, {0, 1, 0, 1}}}),
            (std::vector<Delivery>{{0, 7, 7}, {1, 7, 1007}}));
}

TEST(Packet, TheWindowNeverHoldsUpAMessageAlone) {
  Prng random(9);
  for (int trial = 0; trial < 200; ++trial) {
    const Fabric fabric = random_network(random);
    const int64_t from = random.between(0, fabric.size() - 1), to = random.between(0, fabric.size() - 1);
    if (from == to) continue;
    const uint64_t packets = 500;
    const auto all = by_token(PacketNetwork(fabric), {{0, {from, to, packets * 4096, 0}}});
    // The first packet goes through; the others follow at the pace of the slowest link.
    std::vector<LinkId> route;
    fabric.route(from, to, route);
    Picoseconds through = 0, slowest = 0;
    for (const LinkId id : route) {
      const Picoseconds push = serialization(4096, fabric.link(id).bytes_per_s);
      through += push + fabric.link(id).latency_ps;
      slowest = std::max(slowest, push);
    }
    EXPECT_EQ(all[0].arrived_ps, through + (static_cast<Picoseconds>(packets) - 1) * slowest);
  }
}

/// The same rules with an event for each thing that happens: links that become free, packets that come.
std::vector<Delivery> packet_oracle(const Fabric& fabric, const std::vector<Sent>& sent, uint64_t size) {
  struct Flow {
    const Sent* sent;
    std::vector<LinkId> route;
    uint64_t packets, unsent, window, under_way = 0;
    Picoseconds left = 0;
  };
  struct Waiting {
    size_t flow;
    uint64_t from_packet;
  };
  struct State {
    std::deque<size_t> turns;                        // flows
    std::map<size_t, std::deque<uint64_t>> packets;  // by flow
    bool busy = false;
  };
  enum class What { free, come, send };
  struct Event {
    What what;
    LinkId link = 0;
    size_t flow = 0, hop = 0;
    uint64_t packet = 0;
  };
  std::vector<Delivery> all(sent.size());
  std::vector<Flow> flows;
  std::map<LinkId, State> links;
  std::multimap<std::pair<Picoseconds, What>, Event> events;  // of one time, links become free first
  const auto bytes_of = [&](const Flow& flow, uint64_t packet) {
    return packet + 1 < flow.packets ? size : flow.sent->message.bytes - (flow.packets - 1) * size;
  };
  const auto start = [&](Picoseconds now, LinkId id) {
    State& link = links[id];
    if (link.busy || link.turns.empty()) return;
    const size_t f = link.turns.front();
    link.turns.pop_front();
    auto& packets = link.packets[f];
    const uint64_t packet = packets.front();
    packets.pop_front();
    if (!packets.empty()) link.turns.push_back(f);
    link.busy = true;
    Flow& flow = flows[f];
    const Picoseconds free = now + serialization(bytes_of(flow, packet), fabric.link(id).bytes_per_s);
    const auto hop = static_cast<size_t>(std::find(flow.route.begin(), flow.route.end(), id) - flow.route.begin());
    if (hop == 0 && packet + 1 == flow.packets) flow.left = free;
    events.insert({{free, What::free}, {What::free, id, 0, 0, 0}});
    events.insert({{free + fabric.link(id).latency_ps, What::come}, {What::come, id, f, hop + 1, packet}});
  };
  const auto join = [&](Picoseconds now, size_t f, size_t hop, uint64_t packet) {
    State& link = links[flows[f].route[hop]];
    if (link.packets[f].empty()) link.turns.push_back(f);
    link.packets[f].push_back(packet);
    start(now, flows[f].route[hop]);
  };
  for (size_t i = 0; i < sent.size(); ++i) {
    const Message& m = sent[i].message;
    const uint64_t packets = m.bytes == 0 ? 1 : (m.bytes + size - 1) / size;
    flows.push_back({&sent[i], {}, packets, 0, 0, 0, 0});
    fabric.route(m.from, m.to, flows.back().route);
    if (m.from == m.to) all[i] = {m.token, sent[i].at, sent[i].at};
    else events.insert({{sent[i].at, What::send}, {What::send, 0, i, 0, 0}});
    Picoseconds travel = 0, slowest = 1;
    for (const LinkId id : flows.back().route) {
      const Picoseconds push = serialization(size, fabric.link(id).bytes_per_s);
      travel += push + fabric.link(id).latency_ps;
      slowest = std::max(slowest, push);
    }
    flows.back().window = static_cast<uint64_t>(travel / slowest) + 2;
  }
  while (!events.empty()) {
    const auto now = events.begin()->first.first;
    const Event event = events.begin()->second;
    events.erase(events.begin());
    Flow& flow = flows[event.flow];
    if (event.what == What::free) {
      links[event.link].busy = false;
      start(now, event.link);
    } else if (event.what == What::send) {
      for (; flow.unsent < std::min(flow.window, flow.packets); ++flow.unsent) join(now, event.flow, 0, flow.unsent);
    } else if (event.hop < flow.route.size()) {
      join(now, event.flow, event.hop, event.packet);
    } else if (event.packet + 1 == flow.packets) {
      all[event.flow] = {flow.sent->message.token, flow.left, now};
    } else if (flow.unsent < flow.packets) {
      join(now, event.flow, 0, flow.unsent++);
    }
  }
  return all;
}

TEST(Packet, EqualsAnEventForEverything) {
  Prng random(10);
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_graph(random, false);  // all links differ: no two things happen at one time
    auto sent = random_traffic(random, fabric, 200'000, 20'000'000);
    for (Sent& s : sent) s.at += static_cast<Picoseconds>(s.message.token);
    std::stable_sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return a.at < b.at; });
    for (size_t i = 0; i < sent.size(); ++i) sent[i].message.token = i;
    EXPECT_EQ(by_token(PacketNetwork(fabric), sent), packet_oracle(fabric, sent, 4096));
  }
}

TEST(Packet, ReportsWhatLeavesInTime) {
  Prng random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_network(random);
    const auto sent = random_traffic(random, fabric, 1 << 17, 5'000'000);
    const PacketOptions options{random.chance(0.2) ? 0 : 1 + random.below(9000), false};
    PacketNetwork plain(fabric, options), reporting(fabric, {options.packet_bytes, true});
    const auto once = carry(plain, sent);
    std::vector<Delivery> twice = carry(reporting, sent);
    std::map<uint64_t, Picoseconds> left;
    for (const Delivery& d : twice) {
      if (d.arrived_ps == kNever) EXPECT_TRUE(left.emplace(d.token, d.left_ps).second);
      else if (const auto found = left.find(d.token); found != left.end()) EXPECT_EQ(found->second, d.left_ps);
      else EXPECT_EQ(d.left_ps, d.arrived_ps);  // it leaves and arrives at once
    }
    std::erase_if(twice, [](const Delivery& d) { return d.arrived_ps == kNever; });
    EXPECT_EQ(twice, once);
    check_totals(fabric, plain, sent, options.packet_bytes);
  }
}

/// Finish times of fluid and packet differ by less than 5 % where transfers are long against latencies.
TEST(Packet, AgreesWithFluid) {  // with one route each; Routing.* compares others
  std::vector<Fabric> fabrics{{{{TopologyKind::ring, 16, 50, 500}}},
                              {{{TopologyKind::switch_, 16, 50, 500}}},
                              {{{TopologyKind::fully_connected, 16, 50, 500}}},
                              {{{TopologyKind::torus, 4, 50, 500}, {TopologyKind::torus, 8, 25, 700}}},
                              {{{TopologyKind::mesh, 5, 50, 500}, {TopologyKind::mesh, 5, 50, 500}}},
                              {{{TopologyKind::fully_connected, 8, 400, 100}, {TopologyKind::switch_, 4, 50, 900}}}};
  Prng random(12);
  for (Fabric& fabric : fabrics) {
    fabric.routing.kind = Routing::single;
    const int64_t n = fabric.size();
    std::vector<std::vector<Sent>> patterns(5);
    for (int64_t r = 0; r < n; ++r) patterns[0].push_back({0, {r, (r + 5) % n, 4 << 20, 0}});
    for (size_t p : {1, 2}) {
      std::vector<int64_t> to(static_cast<size_t>(n));
      std::iota(to.begin(), to.end(), 0);
      for (size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
      for (int64_t r = 0; r < n; ++r) patterns[p].push_back({0, {r, to[static_cast<size_t>(r)], 4 << 20, 0}});
    }
    for (int64_t r = 1; r < n; ++r) patterns[3].push_back({0, {r, 0, 2 << 20, 0}});
    for (int64_t k = 1; k < n; ++k)
      for (int64_t r = 0; r < n; ++r) patterns[4].push_back({0, {r, (r + k) % n, 1 << 19, 0}});
    for (size_t p = 0; p < patterns.size(); ++p) {
      for (size_t i = 0; i < patterns[p].size(); ++i) patterns[p][i].message.token = i;
      const auto fluid = by_token(FluidNetwork(fabric), patterns[p]);
      const auto packet = by_token(PacketNetwork(fabric), patterns[p]);
      SCOPED_TRACE(fmt::format("pattern {} on {}", p, fabric.describe()));
      const auto finish = static_cast<double>(last_arrival(fluid));
      EXPECT_NEAR(static_cast<double>(last_arrival(packet)), finish, 0.05 * finish);
      // Except for the all-to-all, each message also agrees.
      for (size_t i = 0; p < 4 && i < fluid.size(); ++i) {
        const auto arrived = static_cast<double>(fluid[i].arrived_ps);
        EXPECT_NEAR(static_cast<double>(packet[i].arrived_ps), arrived, 0.05 * arrived);
      }
    }
  }
}

TEST(Networks, MayBeAdvancedInAnySteps) {
  Prng random(13);
  for (int trial = 0; trial < 50; ++trial) {
    const Fabric fabric = random_network(random);
    const auto sent = random_traffic(random, fabric, 1 << 18, 0);
    const auto steps = [&](auto network, Picoseconds step) {
      std::vector<Delivery> all;
      for (const Sent& s : sent) network.send(0, s.message);
      for (Picoseconds time = 0; network.next_event_time() != kNever;)
        if (network.advance_to(time, all) == time) time += step;
      return all;
    };
    EXPECT_EQ(steps(FluidNetwork(fabric), 50'000), steps(FluidNetwork(fabric), 777'777));
    EXPECT_EQ(steps(PacketNetwork(fabric), 50'000), steps(PacketNetwork(fabric), 777'777));
  }
}

TEST(Networks, StandHugeSizes) {
  const Fabric fabric{{{TopologyKind::ring, 4, 1e-9, 1e12}}};
  FluidNetwork fluid(fabric);
  PacketNetwork packet(fabric, {0});
  std::vector<Delivery> done;
  for (uint64_t i = 0; i < 3; ++i) {
    fluid.send(0, {0, 2, UINT64_MAX, i});
    packet.send(0, {0, 2, UINT64_MAX, i});
  }
  while (fluid.next_event_time() != kNever) fluid.advance_to(kNever, done);
  while (packet.next_event_time() != kNever) packet.advance_to(kNever, done);
  ASSERT_EQ(done.size(), 6u);
  for (const Delivery& d : done) EXPECT_EQ(d.arrived_ps, kLongestPs);
  // 2^52 packets: no memory for each, and the caller gets to look around.
  PacketNetwork many(fabric);
  many.send(0, {0, 1, UINT64_MAX, 0});
  done.clear();
  EXPECT_LT(many.advance_to(kNever, done), kNever);
  EXPECT_TRUE(done.empty());
}

}  // namespace
}  // namespace chakra::net
