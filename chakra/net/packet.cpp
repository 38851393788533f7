#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "chakra/des/des.h"
#include "chakra/net/link_table.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint64_t kMostEventsPerCall = uint64_t{1} << 20;
constexpr uint64_t kLongestWindow = uint64_t{1} << 20;  ///< packets
constexpr uint32_t kMostParts = 64;                     ///< of a message that is spread

/// A packet on its way over a link.
struct Packet {
  Picoseconds arrives;  ///< its last byte at the link's end
  uint32_t hop;
  bool last;  ///< of its message
};

/// First in, first out, in a ring that grows.
class PacketQueue {
 public:
  bool empty() const { return head_ == tail_; }
  const Packet& front() const { return ring_[head_ & (size_ - 1)]; }
  void pop() { ++head_; }
  void push(const Packet& packet) {
    if (tail_ - head_ == size_) grow();
    ring_[tail_++ & (size_ - 1)] = packet;
  }

 private:
  void grow() {
    const uint32_t larger = std::max<uint32_t>(4, 2 * size_), count = tail_ - head_;
    auto ring = std::make_unique<Packet[]>(larger);
    for (uint32_t i = 0; i < count; ++i) ring[i] = ring_[(head_ + i) & (size_ - 1)];
    ring_ = std::move(ring);
    size_ = larger;
    head_ = 0;
    tail_ = count;
  }

  std::unique_ptr<Packet[]> ring_;
  uint32_t size_ = 0;             ///< a power of two
  uint32_t head_ = 0, tail_ = 0;  ///< count up for ever, and wrap
};

}  // namespace

struct PacketNetwork::State {
  /// A message at one link of its path. Those with packets waiting there take turns: a ring of hops.
  struct Hop {
    uint32_t link;  ///< kNone behind the last one of a path
    uint32_t message;
    uint32_t waiting = 0;  ///< packets
    uint32_t next = kNone;
    bool has_last = false;  ///< the last packet of the message is among them, or has passed
  };
  /// What is to be pushed out next is decided when it has to be known, which may be after the time at which the link
  /// begins to push it: before another hop joins those that wait, and when the last packet decided on arrives. So
  /// a link has one event at most, the arrival of the first packet on its way.
  struct alignas(64) LinkState {
    PacketQueue on_way;
    Picoseconds free = 0;       ///< when what has been decided is pushed out
    Picoseconds full_push = 0;  ///< of a packet that is not the last
    Picoseconds latency = 0;
    uint32_t turn = kNone;  ///< the waiting hop that is last in turn
    // For report_left:
    uint32_t leaving = kNone;   ///< the message whose last byte leaves when the link is free, and is to be reported
    uint32_t last_waiting = 0;  ///< messages that begin here and wait with their last packet
    bool has_call = false;
  };
  static_assert(sizeof(LinkState) == 64);
  struct MessageState {
    uint64_t token = 0;  ///< the caller's
    uint64_t bytes = 0;
    Picoseconds left = kNever;
    uint64_t held_back = 0;   ///< packets that wait for the window
    uint64_t last_bytes = 0;  ///< of the last packet
    uint32_t first_hop = 0;
    uint32_t links = 0;
    uint32_t whole = kNone;  ///< of a part of a message
  };
  static_assert(sizeof(MessageState) <= 64);
  /// A message in several parts.
  struct Whole {
    uint32_t not_arrived, not_left;  ///< parts
    Picoseconds left;
  };
  /// A packet comes to the end of a link, or, with kCall, the link is free and the time to know what goes on.
  static constexpr uint32_t kCall = 1;

  State(const Fabric& f, const PacketOptions& o) : fabric(f), options(o), one_way(f.single_way()), table(f) {}

  const Fabric& fabric;
  const PacketOptions options;
  const bool one_way;  ///< no message has a choice
  LinkTable table;
  des::EventQueue<uint32_t> queue;  ///< 2 * link, or 2 * link + kCall
  std::vector<LinkState> links;
  std::vector<double> bytes_per_s;  ///< of links
  std::vector<Hop> hops;            ///< of a message one after the other
  std::vector<MessageState> messages;
  std::vector<uint32_t> unused;                    ///< messages
  std::vector<std::vector<uint32_t>> unused_hops;  ///< first hops, by number of links
  std::vector<Delivery> at_once;                   ///< messages that need no link, sent at `now`
  std::vector<Delivery>* done = &at_once;
  Picoseconds now = 0;
  uint64_t events = 0, packet_hops = 0, sent = 0;
  std::vector<Whole> wholes;
  std::vector<uint32_t> unused_wholes;
  std::vector<uint32_t> under_way;  ///< by link, with adaptive routing: parts of messages on it
  Ways ways;

  static Picoseconds plus(Picoseconds a, Picoseconds b) { return std::min(a + b, kLongestPs); }  // both at most that

  // ---- messages ----------------------------------------------------------------------------------------

  uint32_t link_slot(LinkId id) {
    return table.slot(id, [&](double rate, Picoseconds latency) {
      LinkState& link = links.emplace_back();
      link.latency = latency;
      bytes_per_s.push_back(rate);
      under_way.push_back(0);
      link.full_push = serialization(options.packet_bytes, rate);
    });
  }

  uint32_t new_hops(size_t count) {
    if (count < unused_hops.size() && !unused_hops[count].empty()) {
      const uint32_t first = unused_hops[count].back();
      unused_hops[count].pop_back();
      return first;
    }
    const size_t first = hops.size();
    hops.resize(first + count + 1);
    return static_cast<uint32_t>(first);
  }

  void send(Picoseconds time, const Message& message) {
    CHAKRA_ASSERT(time >= now);
    CHAKRA_ASSERT(time <= next_event_time());
    CHAKRA_ASSERT(fabric.has(message.from) && fabric.has(message.to));
    now = time;
    if (message.from == message.to) {
      ++events;
      at_once.push_back({message.token, now, now});
      return;
    }
    const uint64_t size = options.packet_bytes;
    const uint64_t packets = size == 0 || message.bytes == 0 ? 1 : (message.bytes - 1) / size + 1;
    const uint64_t last = size == 0 ? message.bytes : message.bytes - (packets - 1) * size;
    if (one_way) {
      ways.links.clear();
      fabric.route(message.from, message.to, ways.links);
      return begin(message, ways.links, packets, last, kNone);
    }
    const auto load = [&](LinkId id) {
      const uint32_t slot = link_slot(id);
      return under_way[slot] / bytes_per_s[slot];
    };
    const auto most = static_cast<uint32_t>(std::min<uint64_t>(packets, kMostParts));
    fabric.ways(message.from, message.to, message.flow, most, sent++, load, ways);
    // Parts of equal numbers of packets; the last one of the message is the last of the last part.
    const auto parts = static_cast<uint32_t>(std::min<uint64_t>(packets, ways.parts()));
    const uint32_t whole = parts == 1 ? kNone : new_whole(parts);
    for (uint32_t i = 0; i < parts; ++i)
      begin(message, std::span(ways.links).subspan(ways.first[i], ways.first[i + 1] - ways.first[i]),
            packets / parts + (i < packets % parts), i + 1 == parts ? last : size, whole);
  }

  uint32_t new_whole(uint32_t parts) {
    if (unused_wholes.empty()) {
      wholes.push_back({parts, parts, 0});
      return static_cast<uint32_t>(wholes.size() - 1);
    }
    const uint32_t whole = unused_wholes.back();
    unused_wholes.pop_back();
    wholes[whole] = {parts, parts, 0};
    return whole;
  }

  /// A message, or a part of it: its packets, of which the last may be shorter, go over the links of `route`.
  void begin(const Message& message, std::span<const LinkId> route, uint64_t packets, uint64_t last_bytes,
             uint32_t whole) {
    uint32_t number;
    if (unused.empty()) {
      number = static_cast<uint32_t>(messages.size());
      messages.emplace_back();
    } else {
      number = unused.back();
      unused.pop_back();
    }
    const uint32_t first = new_hops(route.size());
    Picoseconds longest_push = 1, travel = 0;
    for (size_t i = 0; i < route.size(); ++i) {
      const uint32_t slot = link_slot(route[i]);
      if (!one_way) ++under_way[slot];
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
      if (!one_way) --under_way[slot];
      LinkTotal& total = table.total(slot);
      total.bytes += m.bytes;
      Picoseconds busy = 0;
      if (__builtin_mul_overflow(links[slot].full_push, full, &busy)) busy = kLongestPs;
      total.busy_ps = add_saturated(total.busy_ps, add_saturated(busy, serialization(m.last_bytes, bytes_per_s[slot])));
    }
    if (m.links >= unused_hops.size()) unused_hops.resize(m.links + 1);
    unused_hops[m.links].push_back(m.first_hop);
    unused.push_back(number);
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
    unused_wholes.push_back(m.whole);
  }

  // ---- links -------------------------------------------------------------------------------------------

  /// Packets of a message come to a link.
  void wait(uint32_t number, uint32_t packets, bool last) {
    Hop& hop = hops[number];
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
    Hop& hop = hops[number];
    if (--hop.waiting > 0) link.turn = number;
    else if (number == link.turn) link.turn = kNone;
    else hops[link.turn].next = hop.next;
    const bool last = hop.waiting == 0 && hop.has_last;
    link.free =
        plus(link.free, last ? serialization(messages[hop.message].last_bytes, bytes_per_s[slot]) : link.full_push);
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
    ++events;
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
    ++events;
    ++packet_hops;
    LinkState& link = links[slot];
    const Packet packet = link.on_way.front();
    link.on_way.pop();
    if (!link.on_way.empty()) queue.push(link.on_way.front().arrives, 2 * slot);
    else if (link.turn != kNone) decide(slot);
    const Hop& next = hops[packet.hop + 1];
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
    const uint64_t most_events = events + kMostEventsPerCall;
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
uint64_t PacketNetwork::packet_hops() const { return state_->packet_hops; }
std::vector<LinkTotal> PacketNetwork::totals() const { return state_->table.totals(); }

}  // namespace chakra::net
