#include "chakra/astra/messages.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/astra/phases.h"
#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

using trace::NodeId;
using trace::NodeType;

constexpr uint64_t kRequestBytes = 8192;

/// What the receiver sends when it is ready for the channel's next message.
Channel request_for(const Channel& channel) { return {channel.tag, channel.to, channel.from, kRequestBytes, true}; }

/// The link that leads on from where the message is, and where it leads.
std::pair<uint64_t, uint32_t> next_link(const Run& run, const Flight& f) {
  const auto n = static_cast<uint32_t>(run.ranks.size());
  const uint32_t to = f.channel.to;
  switch (run.in.fabric.dimensions[0].kind) {
    case net::TopologyKind::ring: {
      const uint32_t ahead = to >= f.at ? to - f.at : to + n - f.at;
      const bool clockwise = ahead <= n - ahead;  // the shorter way, on ties to the next rank
      return {uint64_t{f.at} * 2 + (clockwise ? 0 : 1), neighbour(f.at, n, clockwise)};
    }
    case net::TopologyKind::switch_:
      if (f.at == n) return {uint64_t{n} + to, to};
      return {f.at, n};
    case net::TopologyKind::fully_connected:
    case net::TopologyKind::mesh:
    case net::TopologyKind::torus: break;  // the last two were refused
  }
  return {uint64_t{f.at} * n + to, to};
}

Link& link_of(Messages& messages, uint64_t number) {
  return number < messages.links.size() ? messages.links[number] : messages.sparse_links[number];
}

void transmit(Run& run, uint64_t flight, uint64_t link) {
  const net::Dimension& d = run.in.fabric.dimensions[0];
  const double serialization = static_cast<double>(run.messages.flights[flight].channel.bytes) / bytes_per_ns(d);
  const auto in = [&](double ns) { return add_saturated(run.now(), ticks(ns)); };
  run.clock.queue.push(in(d.latency_ns + serialization), {.kind = Event::Kind::hop_done, .number = flight});
  run.clock.queue.push(in(serialization), {.kind = Event::Kind::link_free, .number = link});
}

/// Over links, one after the other: a link carries one message at a time.
void hop(Run& run, uint64_t flight) {
  const uint64_t number = next_link(run, run.messages.flights[flight]).first;
  Link& link = link_of(run.messages, number);
  if (link.busy) return link.waiting.push_back(flight);
  link.busy = true;
  transmit(run, flight, number);
}

void leave(Run& run, uint64_t flight) {
  if (run.in.options.congestion_aware) return hop(run, flight);
  const Channel& channel = run.messages.flights[flight].channel;
  run.clock.queue.push(add_saturated(run.now(), travel(run, channel.from, channel.to, channel.bytes)),
                       {.kind = Event::Kind::arrival, .rank = channel.to, .number = flight});
}

/// Who is told when the channel's next message is there.
void await(Run& run, const Channel& channel, const Party& receiver) {
  auto& all = run.messages.traffic;
  const auto traffic = all.try_emplace(channel).first;
  if (traffic->second.arrived == 0) return traffic->second.receives.push_back(receiver);
  if (--traffic->second.arrived == 0) all.erase(traffic);
  // At once, but as a separate event: other events of this time come first, and a long chain of them must not nest.
  const uint64_t number = run.messages.parties.put(receiver);
  run.clock.queue.push(run.now(), {.kind = Event::Kind::received, .rank = receiver.rank, .number = number});
}

}  // namespace

double bytes_per_ns(const net::Dimension& d) { return d.gib_per_s * 1073741824.0 / 1e9; }

Picoseconds travel(Run& run, uint32_t from, uint32_t to, uint64_t bytes) {
  for (const net::Dimension& d : run.in.fabric.dimensions) {
    const auto n = static_cast<uint32_t>(d.ranks);
    const uint32_t a = from % n, b = to % n;
    from /= n;
    to /= n;
    if (a == b) continue;
    if (from != to) run.note(Quirk::lowest_dimension);
    const int64_t hops = net::kTopologies[static_cast<size_t>(d.kind)].hops(a, b, n);
    return ticks(static_cast<double>(hops) * d.latency_ns + static_cast<double>(bytes) / bytes_per_ns(d));
  }
  return 0;
}

void send(Run& run, const Channel& channel, const Party& sender) {
  const uint64_t flight = run.messages.flights.put({channel, sender, channel.from});
  if (!run.in.options.rendezvous) return leave(run, flight);
  await(run, request_for(channel), {.kind = Party::Kind::sender, .number = flight});
}

void receive(Run& run, const Channel& channel, const Party& receiver) {
  if (!run.in.options.rendezvous) return await(run, channel, receiver);
  // A receive begins when its request is at the sender.
  const uint64_t asker = run.messages.askers.put({channel, receiver});
  leave(run,
        run.messages.flights.put({request_for(channel), {.kind = Party::Kind::receiver, .number = asker}, channel.to}));
}

Result<void> start_peer_to_peer(Run& run, const trace::Trace& t, NodeId n, uint32_t r, int64_t tag,
                                const Party& party) {
  const trace::Comm& comm = *t.comm(n);
  const bool sends = t.type[n] == NodeType::send;
  const int64_t peer = sends ? comm.dst : comm.src;
  if (peer < 0 || peer >= static_cast<int64_t>(run.ranks.size()) || peer == r)
    return fail(Code::bad_input, "sim.compat.peer",
                fmt::format("node {} of rank {} communicates with rank {}", t.id[n], r, peer), {t.file});
  const auto other = static_cast<uint32_t>(peer);
  if (sends) send(run, {tag, r, other, comm.bytes}, party);
  else receive(run, {tag, other, r, comm.bytes}, party);
  return {};
}

Result<void> start_message(Run& run, uint32_t r, NodeId n) {
  const trace::Trace& t = *run.ranks[r].trace;
  // Tags of collectives begin above those of messages; here they are kept apart by their sign.
  const int64_t tag = -1 - std::max<int64_t>(0, t.comm(n)->tag) % kMessageTags;
  return start_peer_to_peer(run, t, n, r, tag, {.kind = Party::Kind::workload, .rank = r, .node = n});
}

void tell(Run& run, const Party& party) {
  switch (party.kind) {
    case Party::Kind::nobody: return;
    case Party::Kind::workload: return node_done(run, party.rank, party.node);
    case Party::Kind::phase: return phase_received(run, party.stream);
    case Party::Kind::custom: return custom_done(run, party.stream, party.node);
    case Party::Kind::receiver: {
      const auto [channel, receiver] = run.messages.askers.take(party.number);
      return await(run, channel, receiver);
    }
    case Party::Kind::sender: return leave(run, party.number);
  }
}

void arrival(Run& run, uint64_t flight) {
  const Flight f = run.messages.flights.take(flight);
  tell(run, f.sender);  // a send ends when its message arrives, wanted or not
  auto& all = run.messages.traffic;
  const auto traffic = all.try_emplace(f.channel).first;
  auto& receives = traffic->second.receives;
  if (receives.empty()) {
    ++traffic->second.arrived;
    return;
  }
  const Party receiver = receives.front();
  receives.erase(receives.begin());
  if (receives.empty()) all.erase(traffic);
  tell(run, receiver);
}

void hop_done(Run& run, uint64_t flight) {
  Flight& f = run.messages.flights[flight];
  f.at = next_link(run, f).second;
  if (f.at == f.channel.to) arrival(run, flight);
  else hop(run, flight);
}

void link_free(Run& run, uint64_t number) {
  Link& link = link_of(run.messages, number);
  if (link.next == link.waiting.size()) {
    link.busy = false;
    link.next = 0;
    link.waiting.clear();
    return;
  }
  transmit(run, link.waiting[link.next++], number);
}

}  // namespace chakra::astra
