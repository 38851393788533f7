#include <algorithm>

#include "chakra/des/des.h"
#include "chakra/net/link_table.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint64_t kMostEventsPerCall = uint64_t{1} << 20;
constexpr uint32_t kLongestWindow = uint32_t{1} << 20;  ///< packets

/// A packet on a link, or waiting for it: when its last byte is at the link's end is known at once, since links
/// push packets out in the order in which they come.
struct Packet {
  Picoseconds arrives;
  uint32_t at;       ///< the link's place in `routes`
  uint32_t message;  ///< with kLast for the last packet
};
constexpr uint32_t kLast = uint32_t{1} << 31;

/// First in, first out, in a ring that grows.
class PacketQueue {
 public:
  bool empty() const { return head_ == tail_; }
  const Packet& front() const { return ring_[head_ & mask_]; }
  void pop() { ++head_; }
  void push(const Packet& packet) {
    if (tail_ - head_ == ring_.size()) grow();
    ring_[tail_++ & mask_] = packet;
  }

 private:
  void grow() {
    std::vector<Packet> larger(std::max<size_t>(4, 2 * ring_.size()));
    const uint32_t count = tail_ - head_;
    for (uint32_t i = 0; i < count; ++i) larger[i] = ring_[(head_ + i) & mask_];
    ring_ = std::move(larger);
    mask_ = static_cast<uint32_t>(ring_.size() - 1);
    head_ = 0;
    tail_ = count;
  }

  std::vector<Packet> ring_;
  uint32_t mask_ = 0;
  uint32_t head_ = 0, tail_ = 0;  ///< count up for ever, and wrap
};

}  // namespace

struct PacketNetwork::State {
  struct LinkState {
    PacketQueue queue;          ///< on the link or waiting for it; the first has an event
    Picoseconds free = 0;       ///< when the last of them is pushed out
    Picoseconds full_push = 0;  ///< of a packet that is not the last
    Picoseconds latency = 0;
    double bytes_per_s = 0;
    uint32_t sender = kNone;      ///< of the messages that begin here and may send a packet: the last in turn
    Picoseconds sender_free = 0;  ///< when the sender's packet is pushed out, and the next may follow
    bool sender_has_event = false;
    uint32_t leaving = kNone;  ///< the message whose last byte leaves then, and is to be reported
  };
  struct MessageState {
    Message message;
    Picoseconds left = kNever;
    uint64_t packets = 0;     ///< still to be sent
    uint64_t last_bytes = 0;  ///< of the last packet
    uint32_t route = 0;       ///< its first link's place in `routes`
    uint32_t links = 0;
    uint32_t window = 0;  ///< packets that may be under way
    uint32_t under_way = 0;
    uint32_t next = kNone;  ///< in turn at its first link; kNone where it may not send
  };
  /// A packet comes to the end of a link, or, with kTurn, a sender may put its next one on it.
  static constexpr uint32_t kTurn = 1;

  State(const Fabric& f, const PacketOptions& o) : fabric(f), options(o), table(f) {}

  const Fabric& fabric;
  const PacketOptions options;
  LinkTable table;
  des::EventQueue<uint32_t> queue;  ///< 2 * link, or 2 * link + kTurn
  std::vector<LinkState> links;
  std::vector<uint32_t> routes;  ///< links of messages, each with kNone behind it
  std::vector<MessageState> messages;
  std::vector<uint32_t> unused;                      ///< messages
  std::vector<std::vector<uint32_t>> unused_routes;  ///< by length
  std::vector<Delivery> at_once;                     ///< messages that need no link, sent at `now`
  std::vector<Delivery>* done = nullptr;
  Picoseconds now = 0;
  uint64_t events = 0, hops = 0;
  std::vector<LinkId> route;

  static Picoseconds plus(Picoseconds a, Picoseconds b) { return std::min(a + b, kLongestPs); }  // both at most that

  // ---- a message begins --------------------------------------------------------------------------------

  uint32_t link_slot(LinkId id) {
    return table.slot(id, [&](const Link& l) {
      LinkState& link = links.emplace_back();
      link.latency = l.latency_ps;
      link.bytes_per_s = l.bytes_per_s;
      link.full_push = serialization(options.packet_bytes, l.bytes_per_s);
    });
  }

  uint32_t new_route() {
    const size_t length = route.size();
    if (length < unused_routes.size() && !unused_routes[length].empty()) {
      const uint32_t place = unused_routes[length].back();
      unused_routes[length].pop_back();
      return place;
    }
    const size_t place = routes.size();
    routes.resize(place + length + 1, kNone);
    return static_cast<uint32_t>(place);
  }

  void send(Picoseconds time, const Message& message) {
    now = time;
    if (message.from == message.to) {
      ++events;
      at_once.push_back({message.token, now, now});
      return;
    }
    uint32_t number;
    if (unused.empty()) {
      number = static_cast<uint32_t>(messages.size());
      messages.emplace_back();
    } else {
      number = unused.back();
      unused.pop_back();
    }
    MessageState& m = messages[number];
    m = {};
    m.message = message;
    const uint64_t size = options.packet_bytes;
    m.packets = size == 0 || message.bytes == 0 ? 1 : (message.bytes - 1) / size + 1;
    m.last_bytes = size == 0 ? message.bytes : message.bytes - (m.packets - 1) * size;

    route.clear();
    fabric.route(message.from, message.to, route);
    m.links = static_cast<uint32_t>(route.size());
    m.route = new_route();
    Picoseconds longest_push = 1, travel = 0;
    for (size_t i = 0; i < route.size(); ++i) {
      const uint32_t slot = routes[m.route + i] = link_slot(route[i]);
      longest_push = std::max(longest_push, links[slot].full_push);
      travel = plus(travel, plus(links[slot].latency, links[slot].full_push));
    }
    m.window = static_cast<uint32_t>(std::min<Picoseconds>(travel / longest_push + 2, kLongestWindow));
    await_turn(number);
  }

  // ---- senders: the messages that begin at a link take turns ---------------------------------------------

  void await_turn(uint32_t number) {
    const uint32_t slot = routes[messages[number].route];
    LinkState& link = links[slot];
    if (link.sender == kNone) {
      messages[number].next = number;
    } else {
      messages[number].next = messages[link.sender].next;
      messages[link.sender].next = number;
    }
    link.sender = number;
    if (link.sender_has_event) return;
    if (link.sender_free <= now) return take_turn(slot);
    link.sender_has_event = true;
    queue.push(link.sender_free, 2 * slot + kTurn);
  }

  void take_turn(uint32_t slot) {
    ++events;
    LinkState& link = links[slot];
    const uint32_t number = messages[link.sender].next;
    MessageState& m = messages[number];
    const bool last = --m.packets == 0;
    ++m.under_way;
    enqueue(slot, m.route, last ? number | kLast : number);
    link.sender_free = link.free;
    if (last) m.left = link.free;
    if (last || m.under_way == m.window) {
      if (number == link.sender) link.sender = kNone;
      else messages[link.sender].next = m.next;
      m.next = kNone;
    } else {
      link.sender = number;
    }
    if (last && options.report_left) link.leaving = number;
    link.sender_has_event = link.sender != kNone || link.leaving != kNone;
    if (link.sender_has_event) queue.push(link.sender_free, 2 * slot + kTurn);
  }

  void turn(uint32_t slot) {
    LinkState& link = links[slot];
    link.sender_has_event = false;
    if (link.leaving != kNone) done->push_back({messages[link.leaving].message.token, now, kNever});
    link.leaving = kNone;
    if (link.sender != kNone) take_turn(slot);
  }

  // ---- packets -----------------------------------------------------------------------------------------

  void enqueue(uint32_t slot, uint32_t at, uint32_t message) {
    LinkState& link = links[slot];
    const Picoseconds push =
        message & kLast ? serialization(messages[message & ~kLast].last_bytes, link.bytes_per_s) : link.full_push;
    link.free = plus(std::max(link.free, now), push);
    const Picoseconds arrives = plus(link.free, link.latency);
    if (link.queue.empty()) queue.push(arrives, 2 * slot);
    link.queue.push({arrives, at, message});
  }

  void arrive(uint32_t slot) {
    ++events;
    ++hops;
    LinkState& link = links[slot];
    const Packet packet = link.queue.front();
    link.queue.pop();
    if (!link.queue.empty()) queue.push(link.queue.front().arrives, 2 * slot);
    if (const uint32_t next = routes[packet.at + 1]; next != kNone) return enqueue(next, packet.at + 1, packet.message);
    if (packet.message & kLast) return finish(packet.message & ~kLast);
    MessageState& m = messages[packet.message];
    if (m.under_way-- == m.window && m.packets > 0) await_turn(packet.message);
  }

  void finish(uint32_t number) {
    const MessageState& m = messages[number];
    LinkState& first = links[routes[m.route]];
    if (first.leaving == number) first.leaving = kNone;  // it leaves and arrives at one time
    done->push_back({m.message.token, m.left, now});
    const uint64_t full = options.packet_bytes == 0 ? 0 : (m.message.bytes - m.last_bytes) / options.packet_bytes;
    for (uint32_t i = 0; i < m.links; ++i) {
      const uint32_t slot = routes[m.route + i];
      LinkTotal& total = table.total(slot);
      total.bytes += m.message.bytes;
      Picoseconds busy = 0;
      if (__builtin_mul_overflow(links[slot].full_push, full, &busy)) busy = kLongestPs;
      total.busy_ps =
          add_saturated(total.busy_ps, add_saturated(busy, serialization(m.last_bytes, links[slot].bytes_per_s)));
    }
    if (m.links >= unused_routes.size()) unused_routes.resize(m.links + 1);
    unused_routes[m.links].push_back(m.route);
    unused.push_back(number);
  }

  // ---- time --------------------------------------------------------------------------------------------

  Picoseconds next_event_time() const {
    if (!at_once.empty()) return now;
    return queue.empty() ? kNever : queue.next_time();
  }

  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& deliveries) {
    done = &deliveries;
    const size_t before = deliveries.size();
    const uint64_t most_events = events + kMostEventsPerCall;
    if (!at_once.empty()) {
      time = now;
      deliveries.insert(deliveries.end(), at_once.begin(), at_once.end());
      at_once.clear();
    }
    while (!queue.empty() && queue.next_time() <= time) {
      const uint32_t event = queue.pop();
      now = queue.now();
      if (event & kTurn) turn(event / 2);
      else arrive(event / 2);
      if (deliveries.size() > before) time = now;  // the rest of this time, and no further
      if (events >= most_events) return now;
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
uint64_t PacketNetwork::events() const { return state_->events; }
uint64_t PacketNetwork::packet_hops() const { return state_->hops; }
std::vector<LinkTotal> PacketNetwork::totals() const { return state_->table.totals(); }

}  // namespace chakra::net
