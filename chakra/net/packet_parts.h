// The state of packets, messages and links in a PacketNetwork.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "chakra/base/pool.h"
#include "chakra/net/link_table.h"

namespace chakra::net::packets {

inline constexpr uint32_t kNone = UINT32_MAX;

/// A packet on its way over a link.
struct Packet {
  Picoseconds arrives;  ///< when the last byte reaches the link's end
  uint32_t hop;
  bool last;  ///< the last packet of its message
};

/// A first-in, first-out queue in a growing ring.
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
  uint32_t head_ = 0, tail_ = 0;  ///< count up without end, and wrap
};

/// A message at one link of its path. Hops with waiting packets take turns in a ring.
struct MessageHop {
  uint32_t link;  ///< kNone marks the end of a path
  uint32_t message;
  uint32_t waiting = 0;  ///< packets
  uint32_t next = kNone;
  bool has_last = false;  ///< the last packet of the message is among them, or has passed
};

/// A link decides which packets to send next only when the decision must be known, perhaps after
/// the link begins to send: before another hop joins the waiting hops, and when the last packet
/// decided on arrives. So a link has at most one event, the arrival of the first packet on its way.
struct alignas(64) LinkState {
  PacketQueue on_way;
  Picoseconds free = 0;       ///< when all packets decided on have been sent
  Picoseconds full_push = 0;  ///< sending time of a full-sized packet
  Picoseconds latency = 0;
  uint32_t turn = kNone;  ///< the last waiting hop in the ring of turns
  // For report_left:
  uint32_t leaving = kNone;   ///< the message whose last byte leaves when the link is free, to be reported
  uint32_t last_waiting = 0;  ///< messages that begin here and wait with their last packet
  bool has_call = false;
};
static_assert(sizeof(LinkState) == 64);

struct MessageState {
  uint64_t token = 0;  ///< the caller's token
  uint64_t bytes = 0;
  Picoseconds left = kNever;
  uint64_t held_back = 0;   ///< packets that wait for the window
  uint64_t last_bytes = 0;  ///< of the last packet
  uint32_t first_hop = 0;
  uint32_t links = 0;
  uint32_t whole = kNone;  ///< for a part of a message: the whole message
};
static_assert(sizeof(MessageState) <= 64);
/// A message in several parts.
struct Whole {
  uint32_t not_arrived, not_left;  ///< parts
  Picoseconds left;
};
/// The links in use, with the state of each.
class Links {
 public:
  Links(const Fabric& fabric, uint64_t packet_bytes) : table_(fabric), packet_bytes_(packet_bytes) {}

  /// Return the number of a link, new or known.
  uint32_t slot(LinkId id) {
    return table_.slot(id, [&](double rate, Picoseconds latency) {
      LinkState& link = states_.emplace_back();
      link.latency = latency;
      bytes_per_s_.push_back(rate);
      parts_.push_back(0);
      link.full_push = serialization(packet_bytes_, rate);
    });
  }
  LinkState& operator[](uint32_t slot) { return states_[slot]; }
  double bytes_per_s(uint32_t slot) const { return bytes_per_s_[slot]; }
  /// Return the number of parts of messages on the link, for adaptive routing.
  uint32_t& parts(uint32_t slot) { return parts_[slot]; }
  LinkTotal& total(uint32_t slot) { return table_.total(slot); }
  std::vector<LinkTotal> totals() const { return table_.totals(); }
  LinkTable& table() { return table_; }

 private:
  LinkTable table_;
  uint64_t packet_bytes_;
  std::vector<LinkState> states_;
  std::vector<double> bytes_per_s_;
  std::vector<uint32_t> parts_;
};

/// The hops of messages: those of a message in sequence, then an end mark.
class Hops {
 public:
  MessageHop& operator[](size_t hop) { return hops_[hop]; }
  const MessageHop& operator[](size_t hop) const { return hops_[hop]; }

  /// Allocate `count` hops and an end mark; return the first.
  uint32_t take(size_t count) {
    if (count < unused_.size() && !unused_[count].empty()) {
      const uint32_t first = unused_[count].back();
      unused_[count].pop_back();
      return first;
    }
    const size_t first = hops_.size();
    hops_.resize(first + count + 1);
    return static_cast<uint32_t>(first);
  }
  void give_back(uint32_t first, size_t count) {
    if (count >= unused_.size()) unused_.resize(count + 1);
    unused_[count].push_back(first);
  }

 private:
  std::vector<MessageHop> hops_;
  std::vector<std::vector<uint32_t>> unused_;  ///< first hops, by number of links
};

}  // namespace chakra::net::packets
