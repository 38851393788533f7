#include <algorithm>
#include <cmath>

#include "chakra/net/flows.h"
#include "chakra/net/fluid_solver.h"
#include "chakra/net/link_table.h"
#include "chakra/net/net.h"

namespace chakra::net {
struct FluidNetwork::State {
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
    // Of a link with a burst:
    double bucket = 0;  ///< bytes that it passes at once when it was idle
    double tokens = 0;  ///< the same at the time `since`
    double used = 0;    ///< bytes per second that its flows take from then on
    Picoseconds since = 0;
  };

  /// What share_out() works with.
  struct Search {
    FluidSolver solver;
    uint32_t visit = 0;
    std::vector<uint32_t> links, flows;  ///< near what has changed
    std::vector<uint32_t> first, uses;   ///< as the solver wants them
    std::vector<double> capacity, rates, parts;
  };

  explicit State(const Fabric& f) : fabric(f), one_way(f.single_way()), table(f, f.routing.kind == Routing::spread) {}

  const Fabric& fabric;
  bool one_way;     ///< no message has a choice: it passes each of its links as a whole, and stands for itself
  LinkTable table;  ///< of trunks, where messages are spread
  std::vector<LinkState> links;
  Pool<Whole> wholes;
  Flows flows;
  std::vector<uint32_t> changed;  ///< links
  std::vector<Delivery> at_once;  ///< messages that need no link or no time, sent at `now`
  Picoseconds now = 0;
  uint64_t sent = 0, events = 0;
  Search near;

  // ---- flows -------------------------------------------------------------------------------------------

  void mark(uint32_t link) {
    if (links[link].changed) return;
    links[link].changed = true;
    changed.push_back(link);
  }

  void advance_to_send(Picoseconds time) {
    CHAKRA_ASSERT(time >= now);
    CHAKRA_ASSERT(time <= next_event_time());
    now = time;
    ++sent;
  }

  void deliver_at_once(const Message& message, Picoseconds latency) {
    ++events;
    at_once.push_back({message.token, now, add_saturated(now, latency)});
  }

  void send(Picoseconds time, const Message& message, std::span<const Use> route, Picoseconds latency) {
    CHAKRA_ASSERT(fabric.burst_bytes == 0);
    advance_to_send(time);
    one_way = false;
    if (route.empty() || message.bytes == 0) return deliver_at_once(message, latency);
    begin(message, route, static_cast<double>(message.bytes), latency, Flow::kNone);
  }

  void send(Picoseconds time, const Message& message) {
    CHAKRA_ASSERT(fabric.has(message.from) && fabric.has(message.to));
    advance_to_send(time);
    thread_local std::vector<Use> route;
    thread_local Ways ways;
    route.clear();
    const RoutingOptions& routing = fabric.routing;
    const bool in_parts = routing.kind == Routing::adaptive || routing.kind == Routing::valiant || routing.channels > 1;
    const bool moves = message.from != message.to && message.bytes > 0;
    const Picoseconds latency = in_parts && moves ? 0 : fabric.uses(message.from, message.to, message.flow, route);
    if (!moves) return deliver_at_once(message, latency);
    if (!in_parts) return begin(message, route, static_cast<double>(message.bytes), latency, Flow::kNone);
    const auto load = [&](LinkId id) {
      const LinkState& link = links[slot_of(id)];
      return static_cast<double>(link.flows.size()) / link.bytes_per_s;
    };
    fabric.ways(message.from, message.to, message.flow, 1, sent, load, ways);
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(ways.parts(), message.bytes));
    const uint32_t whole = count == 1 ? Flow::kNone : wholes.put({count, 0});
    for (uint32_t i = 0; i < count; ++i) {
      route.clear();
      Picoseconds way = 0;
      for (uint32_t k = ways.first[i]; k < ways.first[i + 1]; ++k) {
        const auto again =
            std::find_if(route.begin(), route.end(), [&](const Use& u) { return u.trunk == ways.links[k]; });
        if (again != route.end()) ++again->share;  // a detour may pass a link twice
        else route.push_back({ways.links[k], 1});
        way = add_saturated(way, fabric.link(ways.links[k]).latency_ps);
      }
      begin(message, route, static_cast<double>(message.bytes / count + (i < message.bytes % count)), way, whole);
    }
  }

  uint32_t slot_of(TrunkId id) {
    return table.slot(id, [&](double rate, Picoseconds) {
      LinkState& link = links.emplace_back(LinkState{rate, {}});
      if (fabric.burst_bytes > 0)
        link.bucket = link.tokens =
            fabric.burst_bytes * (fabric.routing.kind == Routing::spread ? fabric.trunk(id).links : 1);
    });
  }

  // ---- bursts ------------------------------------------------------------------------------------------

  /// The link's tokens at `now`, of the bucket that its burst is.
  double& tokens_of(LinkState& link) {
    const double spare = std::max(link.bytes_per_s - link.used, 0.0);
    const double seconds = static_cast<double>(now - link.since) / kPsPerSecond;
    link.tokens = std::min(link.tokens + spare * seconds, link.bucket);
    link.since = now;
    return link.tokens;
  }

  /// Takes what all of a flow's links pass at once out of what it has left.
  void take_burst(Flow& flow) {
    double passed = flow.remaining;
    for (const Flow::Use& use : flow.uses) passed = std::min(passed, tokens_of(links[use.link]) / use.share);
    for (const Flow::Use& use : flow.uses) links[use.link].tokens -= passed * use.share;
    keep(flow, now, passed);
    flow.remaining -= passed;
  }

  /// Bytes of a flow that its links have carried since a time.
  void keep(const Flow& flow, Picoseconds since, double bytes) {
    for (const Flow::Use& use : flow.uses) table.keep(use.link, since, now, bytes * use.share);
  }

  /// For a link whose flows have other rates from `now` on.
  void settle_tokens(uint32_t number) {
    LinkState& link = links[number];
    tokens_of(link);
    link.used = 0;
    for (const Member& member : link.flows) {
      const Flow& flow = flows[member.flow];
      link.used += flow.rate * flow.uses[member.use].share;
    }
  }

  /// A flow over `route`, of a message or of a part of it.
  void begin(const Message& message, std::span<const Use> route, double bytes, Picoseconds latency, uint32_t whole) {
    ++events;
    const uint32_t number = flows.take();
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
    for (const Use& use : route) {
      const uint32_t link = slot_of(use.trunk);
      mark(link);
      flow.uses.push_back({link, static_cast<uint32_t>(links[link].flows.size()), use.share});
      links[link].flows.push_back({number, static_cast<uint32_t>(flow.uses.size() - 1)});
    }
    if (fabric.burst_bytes > 0) take_burst(flow);
  }

  void finish(uint32_t number, std::vector<Delivery>& done) {
    Flow& flow = flows[number];
    ++events;
    keep(flow, flow.since, flow.remaining);
    for (const Flow::Use& use : flow.uses) {
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
    flows.give_back(number);
    Picoseconds arrives = add_saturated(now, flow.latency);
    if (flow.whole != Flow::kNone) {
      Whole& whole = wholes[flow.whole];
      arrives = whole.arrives = std::max(whole.arrives, arrives);
      if (--whole.parts_left > 0) return;
      wholes.drop(flow.whole);
    }
    done.push_back({flow.message.token, now, arrives});
  }

  // ---- rates -------------------------------------------------------------------------------------------

  void visit_link(uint32_t link) {
    if (links[link].visit == near.visit) return;
    links[link].visit = near.visit;
    links[link].local = static_cast<uint32_t>(near.links.size());
    near.links.push_back(link);
  }

  /// New rates for the flows that share links with what has changed, directly or through others.
  void share_out() {
    ++near.visit;
    near.links.clear();
    near.flows.clear();
    const bool bursts = fabric.burst_bytes > 0;
    for (const uint32_t link : changed) {
      links[link].changed = false;
      if (!links[link].flows.empty()) visit_link(link);
      else if (bursts) settle_tokens(link);
    }
    changed.clear();
    for (size_t at = 0; at < near.links.size(); ++at)
      for (const Member& member : links[near.links[at]].flows) {
        Flow& flow = flows[member.flow];
        if (flow.visit == near.visit) continue;
        flow.visit = near.visit;
        near.flows.push_back(member.flow);
        for (const Flow::Use& use : flow.uses) visit_link(use.link);
      }
    if (near.flows.empty()) return;
    near.capacity.clear();
    for (const uint32_t link : near.links) near.capacity.push_back(links[link].bytes_per_s);
    near.first.assign(1, 0);
    near.uses.clear();
    near.parts.clear();
    bool whole = true;
    for (const uint32_t flow : near.flows) {
      for (const Flow::Use& use : flows[flow].uses) {
        near.uses.push_back(links[use.link].local);
        if (one_way) continue;
        near.parts.push_back(use.share);
        whole &= use.share == 1;
      }
      near.first.push_back(static_cast<uint32_t>(near.uses.size()));
    }
    if (whole) near.parts.clear();
    near.rates.resize(near.flows.size());
    near.solver.solve(near.capacity, near.first, near.uses, near.parts, near.rates);
    for (size_t i = 0; i < near.flows.size(); ++i) {
      Flow& flow = flows[near.flows[i]];
      if (std::abs(near.rates[i] - flow.rate) <= 1e-12 * near.rates[i]) continue;  // as it was: no rounding creeps in
      const double moved = std::min(flow.rate * (static_cast<double>(now - flow.since) / kPsPerSecond), flow.remaining);
      keep(flow, flow.since, moved);
      flow.remaining -= moved;
      flow.since = now;
      flow.rate = near.rates[i];
      flow.end = add_saturated(now, picoseconds(flow.remaining / flow.rate));
      flows.end_changed(near.flows[i]);
    }
    if (bursts)
      for (const uint32_t link : near.links) settle_tokens(link);
  }

  Picoseconds next_event_time() const {
    if (!at_once.empty() || !changed.empty()) return now;
    return flows.next_end();
  }

  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& done) {
    if (!changed.empty()) share_out();
    if (at_once.empty() && (flows.next_end() == kNever || flows.next_end() > time)) {
      if (time != kNever) now = std::max(now, time);
      return time;
    }
    if (at_once.empty()) now = flows.next_end();
    done.insert(done.end(), at_once.begin(), at_once.end());
    at_once.clear();
    while (flows.next_end() == now) finish(flows.pop(), done);
    return now;
  }
};

FluidNetwork::FluidNetwork(const Fabric& fabric) : state_(std::make_unique<State>(fabric)) {}
FluidNetwork::~FluidNetwork() = default;
FluidNetwork::FluidNetwork(FluidNetwork&&) noexcept = default;
FluidNetwork& FluidNetwork::operator=(FluidNetwork&&) noexcept = default;

void FluidNetwork::send(Picoseconds now, const Message& message) { state_->send(now, message); }
void FluidNetwork::send(Picoseconds now, const Message& message, std::span<const Use> route, Picoseconds latency) {
  state_->send(now, message, route, latency);
}
Picoseconds FluidNetwork::next_event_time() const { return state_->next_event_time(); }
Picoseconds FluidNetwork::advance_to(Picoseconds time, std::vector<Delivery>& done) {
  return state_->advance_to(time, done);
}
uint64_t FluidNetwork::events() const { return state_->events; }
std::vector<LinkTotal> FluidNetwork::totals() const { return state_->table.totals(); }
void FluidNetwork::keep_history() { state_->table.keep_history(); }
LinkHistory FluidNetwork::history() const { return state_->table.history(); }

}  // namespace chakra::net
