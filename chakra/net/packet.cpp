#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "chakra/des/des.h"
#include "chakra/net/packet_parts.h"

namespace chakra::net {

using namespace packets;

namespace {

constexpr uint64_t kMostEventsPerCall = uint64_t{1} << 20;
constexpr uint64_t kLongestWindow = uint64_t{1} << 20;  ///< packets
constexpr uint32_t kMostParts = 64;                     ///< of a message that is spread

}  // namespace

struct PacketNetwork::State {
  struct Counts {
    uint64_t events = 0, packet_hops = 0, sent = 0;
  };
  /// A packet comes to the end of a link, or, with kCall, the link is free and the time to know what goes on.
  static constexpr uint32_t kCall = 1;

  State(const Fabric& f, const PacketOptions& o)
      : fabric(f), options(o), one_way(f.single_way()), links(f, o.packet_bytes) {}

  const Fabric& fabric;
  const PacketOptions options;
  const bool one_way;  ///< no message has a choice
  Links links;
  Hops hops;
  Pool<MessageState> messages;
  Pool<Whole> wholes;
  des::EventQueue<uint32_t> queue;  ///< 2 * link, or 2 * link + kCall
  std::vector<Delivery> at_once;    ///< messages that need no link, sent at `now`
  std::vector<Delivery>* done = &at_once;
  Picoseconds now = 0;
  Counts counts;

  static Picoseconds plus(Picoseconds a, Picoseconds b) { return std::min(a + b, kLongestPs); }  // both at most that

  // ---- messages ----------------------------------------------------------------------------------------

  void send(Picoseconds time, const Message& message) {
    CHAKRA_ASSERT(time >= now);
    CHAKRA_ASSERT(time <= next_event_time());
    CHAKRA_ASSERT(fabric.has(message.from) && fabric.has(message.to));
    now = time;
    if (message.from == message.to) {
      ++counts.events;
      at_once.push_back({message.token, now, now});
      return;
    }
    const uint64_t size = options.packet_bytes;
    const uint64_t packets = size == 0 || message.bytes == 0 ? 1 : (message.bytes - 1) / size + 1;
    const uint64_t last = size == 0 ? message.bytes : message.bytes - (packets - 1) * size;
    thread_local Ways ways;
    if (one_way) {
      ways.links.clear();
      fabric.route(message.from, message.to, ways.links);
      return begin(message, ways.links, packets, last, kNone);
    }
    const auto load = [&](LinkId id) {
      const uint32_t slot = links.slot(id);
      return links.parts(slot) / links.bytes_per_s(slot);
    };
    const auto most = static_cast<uint32_t>(std::min<uint64_t>(packets, kMostParts));
    fabric.ways(message.from, message.to, message.flow, most, counts.sent++, load, ways);
    // The last packet of the message is the last of the last part that has any.
    thread_local std::vector<uint64_t> counts_of;
    share_packets(packets, ways, counts_of);
    const auto with_any = [](uint64_t count) { return count > 0; };
    auto left = static_cast<uint32_t>(std::count_if(counts_of.begin(), counts_of.end(), with_any));
    const uint32_t whole = left == 1 ? kNone : wholes.put({left, left, 0});
    for (size_t i = 0; i < counts_of.size(); ++i) {
      if (counts_of[i] == 0) continue;
      const bool is_last = --left == 0;
      begin(message, std::span(ways.links).subspan(ways.first[i], ways.first[i + 1] - ways.first[i]), counts_of[i],
            is_last ? last : size, whole);
    }
  }

  /// How many packets of a message each of its parts has.
  static void share_packets(uint64_t packets, const Ways& ways, std::vector<uint64_t>& out) {
    const uint64_t parts = std::min<uint64_t>(packets, ways.parts());
    out.clear();
    if (ways.shares.empty()) {
      for (uint64_t i = 0; i < parts; ++i) out.push_back(packets / parts + (i < packets % parts));
      return;
    }
    double share = 0;
    uint64_t given = 0;
    for (size_t i = 0; i < ways.parts(); ++i) {
      share += ways.shares[i];
      const bool end = i + 1 == ways.parts();
      const auto until = static_cast<uint64_t>(std::llround(share * static_cast<double>(packets)));
      out.push_back((end ? packets : std::clamp(until, given, packets)) - given);
      given += out.back();
    }
  }

  /// A message, or a part of it: its packets, of which the last may be shorter, go over the links of `route`.
  void begin(const Message& message, std::span<const LinkId> route, uint64_t packets, uint64_t last_bytes,
             uint32_t whole) {
    const uint32_t number = messages.take_unused();
    const uint32_t first = hops.take(route.size());
    Picoseconds longest_push = 1, travel = 0;
    for (size_t i = 0; i < route.size(); ++i) {
      const uint32_t slot = links.slot(route[i]);
      if (!one_way) ++links.parts(slot);
      hops[first + i] = {slot, number};
      longest_push = std::max(longest_push, links[slot].full_push);
      travel = plus(travel, plus(links[slot].latency, links[slot].full_push));
    }
    hops[first + route.size()] = {kNone, number};
    const auto window = std::min({packets, static_cast<uint64_t>(travel / longest_push) + 2, kLongestWindow});
    messages[number] = {message.token,
                        (packets - 1) * options.packet_bytes + last_bytes,
                        kNever,
                        packets - window,
                        last_bytes,
                        first,
                        static_cast<uint32_t>(route.size()),
                        whole};
    wait(first, static_cast<uint32_t>(window), packets == window);
  }

  void finish(uint32_t number) {
    const MessageState& m = messages[number];
    LinkState& first = links[hops[m.first_hop].link];
    if (first.leaving == number) {  // it leaves and arrives at one time
      first.leaving = kNone;
      if (m.whole != kNone) --wholes[m.whole].not_left;
    }
    if (m.whole == kNone) done->push_back({m.token, m.left, now});
    else finish_part(m);
    const uint64_t full = options.packet_bytes == 0 ? 0 : (m.bytes - m.last_bytes) / options.packet_bytes;
    for (uint32_t i = 0; i < m.links; ++i) {
      const uint32_t slot = hops[m.first_hop + i].link;
      if (!one_way) --links.parts(slot);
      LinkTotal& total = links.total(slot);
      total.bytes += m.bytes;
      Picoseconds busy = 0;
      if (__builtin_mul_overflow(links[slot].full_push, full, &busy)) busy = kLongestPs;
      total.busy_ps =
          add_saturated(total.busy_ps, add_saturated(busy, serialization(m.last_bytes, links.bytes_per_s(slot))));
    }
    hops.give_back(m.first_hop, m.links);
    messages.drop(number);
  }

  void finish_part(const MessageState& m) {
    Whole& whole = wholes[m.whole];
    whole.left = std::max(whole.left, m.left);
    if (--whole.not_arrived > 0) {
      if (options.report_left && whole.not_left == 0 && std::exchange(whole.not_left, kNone) == 0)
        done->push_back({m.token, whole.left, kNever});
      return;
    }
    done->push_back({m.token, whole.left, now});
    wholes.drop(m.whole);
  }

  // ---- links -------------------------------------------------------------------------------------------

  /// Packets of a message come to a link.
  void wait(uint32_t number, uint32_t packets, bool last) {
    MessageHop& hop = hops[number];
    const uint32_t slot = hop.link;
    LinkState& link = links[slot];
    while (link.turn != kNone && link.free <= now) decide(slot);
    hop.has_last |= last;
    const bool joins = hop.waiting == 0;
    hop.waiting += packets;
    if (joins) {
      if (link.turn == kNone) {
        hop.next = number;
      } else {
        hop.next = hops[link.turn].next;
        hops[link.turn].next = number;
      }
      link.turn = number;
    }
    if (options.report_left && last && is_first(number)) ++link.last_waiting;
    if (link.free <= now) {
      link.free = now;
      decide(slot);
    }
    if (link.last_waiting > 0) call(slot);
  }

  bool is_first(uint32_t hop) const { return messages[hops[hop].message].first_hop == hop; }

  /// The link, when free, pushes out a packet of the hop whose turn it is.
  void decide(uint32_t slot) {
    LinkState& link = links[slot];
    const uint32_t number = hops[link.turn].next;
    MessageHop& hop = hops[number];
    if (--hop.waiting > 0) link.turn = number;
    else if (number == link.turn) link.turn = kNone;
    else hops[link.turn].next = hop.next;
    const bool last = hop.waiting == 0 && hop.has_last;
    const Picoseconds begins = link.free;
    const uint64_t bytes = last ? messages[hop.message].last_bytes : options.packet_bytes;
    link.free = plus(link.free, last ? serialization(bytes, links.bytes_per_s(slot)) : link.full_push);
    links.table().keep(slot, begins, link.free, static_cast<double>(bytes));
    const Picoseconds arrives = plus(link.free, link.latency);
    if (link.on_way.empty()) queue.push(arrives, 2 * slot);
    link.on_way.push({arrives, number, last});
    if (last && is_first(number)) {
      messages[hop.message].left = link.free;
      if (options.report_left) {
        report_leaving(link);
        link.leaving = hop.message;
        --link.last_waiting;
        call(slot);
      }
    }
  }

  /// Have the link called when it is free.
  void call(uint32_t slot) {
    if (links[slot].has_call) return;
    links[slot].has_call = true;
    queue.push(links[slot].free, 2 * slot + kCall);
  }
  void called(uint32_t slot) {
    LinkState& link = links[slot];
    ++counts.events;
    link.has_call = false;
    report_leaving(link);
    if (link.turn != kNone && link.free <= now) decide(slot);
    if (link.last_waiting > 0 || link.leaving != kNone) call(slot);
  }
  void report_leaving(LinkState& link) {
    if (link.leaving == kNone || messages[link.leaving].left > now) return;
    const MessageState& m = messages[link.leaving];
    link.leaving = kNone;
    if (m.whole != kNone) {
      Whole& whole = wholes[m.whole];
      whole.left = std::max(whole.left, m.left);
      if (--whole.not_left > 0) return;
      whole.not_left = kNone;  // reported
      done->push_back({m.token, whole.left, kNever});
      return;
    }
    done->push_back({m.token, m.left, kNever});
  }

  void arrive(uint32_t slot) {
    ++counts.events;
    ++counts.packet_hops;
    LinkState& link = links[slot];
    const Packet packet = link.on_way.front();
    link.on_way.pop();
    if (!link.on_way.empty()) queue.push(link.on_way.front().arrives, 2 * slot);
    else if (link.turn != kNone) decide(slot);
    const MessageHop& next = hops[packet.hop + 1];
    if (next.link != kNone) return wait(packet.hop + 1, 1, packet.last);
    if (packet.last) return finish(next.message);
    MessageState& m = messages[next.message];
    if (m.held_back > 0) {
      --m.held_back;
      wait(m.first_hop, 1, m.held_back == 0);
    }
  }

  // ---- time --------------------------------------------------------------------------------------------

  Picoseconds next_event_time() const {
    if (!at_once.empty()) return now;
    return queue.empty() ? kNever : queue.next_time();
  }

  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& deliveries) {
    done = &deliveries;
    const Picoseconds reached = advance(time);
    done = &at_once;
    return reached;
  }

  Picoseconds advance(Picoseconds time) {
    const size_t before = done->size();
    const uint64_t most_events = counts.events + kMostEventsPerCall;
    if (!at_once.empty()) {
      time = now;
      done->insert(done->end(), at_once.begin(), at_once.end());
      at_once.clear();
    }
    while (!queue.empty() && queue.next_time() <= time) {
      const uint32_t event = queue.pop();
      now = queue.now();
      if (event & kCall) called(event / 2);
      else arrive(event / 2);
      if (done->size() > before) time = now;  // the rest of this time, and no further
      if (counts.events >= most_events) return now;
    }
    if (time != kNever) now = std::max(now, time);
    return time;
  }
};

PacketNetwork::PacketNetwork(const Fabric& fabric, PacketOptions options)
    : state_(std::make_unique<State>(fabric, options)) {}
PacketNetwork::~PacketNetwork() = default;
PacketNetwork::PacketNetwork(PacketNetwork&&) noexcept = default;
PacketNetwork& PacketNetwork::operator=(PacketNetwork&&) noexcept = default;

void PacketNetwork::send(Picoseconds now, const Message& message) { state_->send(now, message); }
Picoseconds PacketNetwork::next_event_time() const { return state_->next_event_time(); }
Picoseconds PacketNetwork::advance_to(Picoseconds time, std::vector<Delivery>& done) {
  return state_->advance_to(time, done);
}
uint64_t PacketNetwork::events() const { return state_->counts.events; }
uint64_t PacketNetwork::packet_hops() const { return state_->counts.packet_hops; }
std::vector<LinkTotal> PacketNetwork::totals() const { return state_->links.totals(); }
void PacketNetwork::keep_history() { state_->links.table().keep_history(); }
LinkHistory PacketNetwork::history() const { return state_->links.table().history(); }

}  // namespace chakra::net
