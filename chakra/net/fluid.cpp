#include <algorithm>
#include <cmath>

#include "chakra/net/fluid_solver.h"
#include "chakra/net/link_table.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

struct FluidNetwork::State {
  /// A flow's place among the flows of one of its links.
  struct Use {
    uint32_t link;
    uint32_t place;
    double share;  ///< of the flow that passes it
  };
  struct Flow {
    Message message;
    uint64_t number = 0;   ///< in the order of sending
    double remaining = 0;  ///< bytes at the time `since`
    double rate = 0;       ///< bytes per second from then on; 0: none yet
    Picoseconds since = 0;
    Picoseconds end = kNever;
    Picoseconds latency = 0;
    std::vector<Use> uses;
    uint32_t heap_place = kNone;
    uint32_t visit = 0;      ///< the last search that came by
    uint32_t local = 0;      ///< its number in that search
    uint32_t whole = kNone;  ///< of a part of a message
  };
  /// A message in several parts.
  struct Whole {
    uint32_t parts_left;
    Picoseconds arrives;
  };
  struct Member {
    uint32_t flow;
    uint32_t use;  ///< which of the flow's links this is
  };
  struct LinkState {
    double bytes_per_s;
    std::vector<Member> flows;
    uint32_t visit = 0;
    uint32_t local = 0;
    bool changed = false;  ///< its flows are others than when rates were shared out
  };

  explicit State(const Fabric& f)
      : fabric(f), spreads(f.routing.kind == Routing::spread), one_way(f.single_way()), table(f, spreads) {}

  const Fabric& fabric;
  const bool spreads;  ///< links are trunks
  const bool one_way;  ///< no message has a choice: it passes each of its links as a whole
  LinkTable table;
  std::vector<LinkState> links;
  std::vector<Whole> wholes;
  std::vector<uint32_t> unused_wholes;
  std::vector<Flow> flows;
  std::vector<uint32_t> unused;   ///< flows
  std::vector<uint32_t> heap;     ///< flows with a rate, the one to end first on top
  std::vector<uint32_t> changed;  ///< links
  std::vector<Delivery> at_once;  ///< messages that need no link or no time, sent at `now`
  Picoseconds now = 0;
  uint64_t sent = 0;
  uint64_t events = 0;

  // What share_out works with.
  FluidSolver solver;
  uint32_t visit = 0;
  std::vector<uint32_t> near_links, near_flows, first, uses;
  std::vector<double> capacity, rates, parts;
  std::vector<net::Use> route;
  Ways ways;

  // ---- the heap: flows by end, then by number; each knows its place, so that its end may change -----------

  bool sooner(uint32_t a, uint32_t b) const {
    const Flow &fa = flows[a], &fb = flows[b];
    return fa.end != fb.end ? fa.end < fb.end : fa.number < fb.number;
  }
  void put(size_t place, uint32_t flow) {
    heap[place] = flow;
    flows[flow].heap_place = static_cast<uint32_t>(place);
  }
  void settle(size_t place, uint32_t flow) {
    while (place > 0 && sooner(flow, heap[(place - 1) / 2])) {
      put(place, heap[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    for (size_t child; (child = 2 * place + 1) < heap.size(); place = child) {
      if (child + 1 < heap.size() && sooner(heap[child + 1], heap[child])) ++child;
      if (!sooner(heap[child], flow)) break;
      put(place, heap[child]);
    }
    put(place, flow);
  }
  void end_changed(uint32_t flow) {
    if (flows[flow].heap_place == kNone) {
      heap.push_back(flow);
      settle(heap.size() - 1, flow);
    } else {
      settle(flows[flow].heap_place, flow);
    }
  }
  uint32_t pop() {
    const uint32_t top = heap.front(), last = heap.back();
    heap.pop_back();
    if (!heap.empty()) settle(0, last);
    flows[top].heap_place = kNone;
    return top;
  }

  // ---- flows -------------------------------------------------------------------------------------------

  void mark(uint32_t link) {
    if (links[link].changed) return;
    links[link].changed = true;
    changed.push_back(link);
  }

  void send(Picoseconds time, const Message& message) {
    CHAKRA_ASSERT(time >= now);
    CHAKRA_ASSERT(time <= next_event_time());
    CHAKRA_ASSERT(fabric.has(message.from) && fabric.has(message.to));
    now = time;
    ++sent;
    route.clear();
    const RoutingOptions& routing = fabric.routing;
    const bool in_parts = routing.kind == Routing::adaptive || routing.channels > 1;
    const Picoseconds latency = fabric.uses(message.from, message.to, message.flow, route);
    if (route.empty() || message.bytes == 0) {
      ++events;
      at_once.push_back({message.token, now, add_saturated(now, latency)});
      return;
    }
    if (!in_parts) return begin(message, static_cast<double>(message.bytes), latency, kNone);
    const auto load = [&](LinkId id) {
      const LinkState& link = links[slot_of(id)];
      return static_cast<double>(link.flows.size()) / link.bytes_per_s;
    };
    fabric.ways(message.from, message.to, message.flow, 1, sent, load, ways);
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(ways.parts(), message.bytes));
    const uint32_t whole = count == 1 ? kNone : new_whole(count);
    for (uint32_t i = 0; i < count; ++i) {
      route.clear();
      Picoseconds way = 0;
      for (uint32_t k = ways.first[i]; k < ways.first[i + 1]; ++k) {
        route.push_back({ways.links[k], 1});
        way = add_saturated(way, fabric.link(ways.links[k]).latency_ps);
      }
      begin(message, static_cast<double>(message.bytes / count + (i < message.bytes % count)), way, whole);
    }
  }

  uint32_t slot_of(TrunkId id) {
    return table.slot(id, [&](double rate, Picoseconds) { links.push_back({rate, {}}); });
  }

  uint32_t new_whole(uint32_t parts_left) {
    if (unused_wholes.empty()) {
      wholes.push_back({parts_left, 0});
      return static_cast<uint32_t>(wholes.size() - 1);
    }
    const uint32_t whole = unused_wholes.back();
    unused_wholes.pop_back();
    wholes[whole] = {parts_left, 0};
    return whole;
  }

  /// A flow over `route`, of a message or of a part of it.
  void begin(const Message& message, double bytes, Picoseconds latency, uint32_t whole) {
    ++events;
    uint32_t number;
    if (unused.empty()) {
      number = static_cast<uint32_t>(flows.size());
      flows.emplace_back();
    } else {
      number = unused.back();
      unused.pop_back();
    }
    Flow& flow = flows[number];
    flow.message = message;
    flow.message.bytes = static_cast<uint64_t>(bytes);
    flow.number = events;
    flow.remaining = bytes;
    flow.rate = 0;
    flow.since = now;
    flow.end = kNever;
    flow.latency = latency;
    flow.whole = whole;
    flow.uses.clear();
    for (const net::Use& use : route) {
      const uint32_t link = slot_of(use.trunk);
      mark(link);
      flow.uses.push_back({link, static_cast<uint32_t>(links[link].flows.size()), use.share});
      links[link].flows.push_back({number, static_cast<uint32_t>(flow.uses.size() - 1)});
    }
  }

  void finish(uint32_t number, std::vector<Delivery>& done) {
    Flow& flow = flows[number];
    ++events;
    for (const Use& use : flow.uses) {
      LinkState& link = links[use.link];
      const Member moved = link.flows.back();
      link.flows[use.place] = moved;
      flows[moved.flow].uses[moved.use].place = use.place;
      link.flows.pop_back();
      mark(use.link);
      LinkTotal& total = table.total(use.link);
      const uint64_t bytes = use.share == 1
                                 ? flow.message.bytes
                                 : static_cast<uint64_t>(static_cast<double>(flow.message.bytes) * use.share + 0.5);
      total.bytes += bytes;
      total.busy_ps = add_saturated(total.busy_ps, serialization(bytes, link.bytes_per_s));
    }
    unused.push_back(number);
    Picoseconds arrives = add_saturated(now, flow.latency);
    if (flow.whole != kNone) {
      Whole& whole = wholes[flow.whole];
      arrives = whole.arrives = std::max(whole.arrives, arrives);
      if (--whole.parts_left > 0) return;
      unused_wholes.push_back(flow.whole);
    }
    done.push_back({flow.message.token, now, arrives});
  }

  // ---- rates -------------------------------------------------------------------------------------------

  void visit_link(uint32_t link) {
    if (links[link].visit == visit) return;
    links[link].visit = visit;
    links[link].local = static_cast<uint32_t>(near_links.size());
    near_links.push_back(link);
  }

  /// New rates for the flows that share links with what has changed, directly or through others.
  void share_out() {
    ++visit;
    near_links.clear();
    near_flows.clear();
    for (const uint32_t link : changed) {
      links[link].changed = false;
      if (!links[link].flows.empty()) visit_link(link);
    }
    changed.clear();
    for (size_t at = 0; at < near_links.size(); ++at)
      for (const Member& member : links[near_links[at]].flows) {
        Flow& flow = flows[member.flow];
        if (flow.visit == visit) continue;
        flow.visit = visit;
        near_flows.push_back(member.flow);
        for (const Use& use : flow.uses) visit_link(use.link);
      }
    if (near_flows.empty()) return;
    capacity.clear();
    for (const uint32_t link : near_links) capacity.push_back(links[link].bytes_per_s);
    first.assign(1, 0);
    uses.clear();
    parts.clear();
    bool whole = true;
    for (const uint32_t flow : near_flows) {
      for (const Use& use : flows[flow].uses) {
        uses.push_back(links[use.link].local);
        if (one_way) continue;
        parts.push_back(use.share);
        whole &= use.share == 1;
      }
      first.push_back(static_cast<uint32_t>(uses.size()));
    }
    if (whole) parts.clear();
    rates.resize(near_flows.size());
    solver.solve(capacity, first, uses, parts, rates);
    for (size_t i = 0; i < near_flows.size(); ++i) {
      Flow& flow = flows[near_flows[i]];
      if (std::abs(rates[i] - flow.rate) <= 1e-12 * rates[i]) continue;  // as it was: no rounding creeps in
      flow.remaining -= flow.rate * (static_cast<double>(now - flow.since) / kPsPerSecond);
      flow.remaining = std::max(flow.remaining, 0.0);
      flow.since = now;
      flow.rate = rates[i];
      flow.end = add_saturated(now, picoseconds(flow.remaining / flow.rate));
      end_changed(near_flows[i]);
    }
  }

  Picoseconds next_event_time() const {
    if (!at_once.empty() || !changed.empty()) return now;
    return heap.empty() ? kNever : flows[heap.front()].end;
  }

  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& done) {
    if (!changed.empty()) share_out();
    if (at_once.empty() && (heap.empty() || flows[heap.front()].end > time)) {
      if (time != kNever) now = std::max(now, time);
      return time;
    }
    if (at_once.empty()) now = flows[heap.front()].end;
    done.insert(done.end(), at_once.begin(), at_once.end());
    at_once.clear();
    while (!heap.empty() && flows[heap.front()].end == now) finish(pop(), done);
    return now;
  }
};

FluidNetwork::FluidNetwork(const Fabric& fabric) : state_(std::make_unique<State>(fabric)) {}
FluidNetwork::~FluidNetwork() = default;
FluidNetwork::FluidNetwork(FluidNetwork&&) noexcept = default;
FluidNetwork& FluidNetwork::operator=(FluidNetwork&&) noexcept = default;

void FluidNetwork::send(Picoseconds now, const Message& message) { state_->send(now, message); }
Picoseconds FluidNetwork::next_event_time() const { return state_->next_event_time(); }
Picoseconds FluidNetwork::advance_to(Picoseconds time, std::vector<Delivery>& done) {
  return state_->advance_to(time, done);
}
uint64_t FluidNetwork::events() const { return state_->events; }
std::vector<LinkTotal> FluidNetwork::totals() const { return state_->table.totals(); }

}  // namespace chakra::net
