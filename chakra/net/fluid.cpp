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
    uint32_t visit = 0;  ///< the last search that came by
    uint32_t local = 0;  ///< its number in that search
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

  explicit State(const Fabric& f) : fabric(f), table(f) {}

  const Fabric& fabric;
  LinkTable table;
  std::vector<LinkState> links;
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
  std::vector<double> capacity, rates;
  std::vector<LinkId> route;

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
    now = time;
    ++sent;
    ++events;
    const Path path = fabric.path(message.from, message.to);
    if (path.links == 0 || message.bytes == 0) {
      at_once.push_back({message.token, now, add_saturated(now, path.latency_ps)});
      return;
    }
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
    flow.number = sent;
    flow.remaining = static_cast<double>(message.bytes);
    flow.rate = 0;
    flow.since = now;
    flow.end = kNever;
    flow.latency = path.latency_ps;
    flow.uses.clear();
    route.clear();
    fabric.route(message.from, message.to, route);
    for (const LinkId id : route) {
      const uint32_t link = table.slot(id, [&](const Link& l) { links.push_back({l.bytes_per_s, {}}); });
      mark(link);
      flow.uses.push_back({link, static_cast<uint32_t>(links[link].flows.size())});
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
      total.bytes += flow.message.bytes;
      total.busy_ps = add_saturated(total.busy_ps, serialization(flow.message.bytes, link.bytes_per_s));
    }
    done.push_back({flow.message.token, now, add_saturated(now, flow.latency)});
    unused.push_back(number);
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
    for (const uint32_t flow : near_flows) {
      for (const Use& use : flows[flow].uses) uses.push_back(links[use.link].local);
      first.push_back(static_cast<uint32_t>(uses.size()));
    }
    rates.resize(near_flows.size());
    solver.solve(capacity, first, uses, rates);
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
