// An operation under way on one rank: running parts, unsent data and received data. A Flight transfers
// no data between ranks: the session takes outgoing messages from it and delivers incoming ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/plans.h"
#include "chakra/replay_fabric/units.h"

namespace chakra::replay_fabric {

/// A message of a part: index `transfer` into the sends or receives of the part.
struct MessageId {
  uint32_t part = 0, transfer = 0;
};

class Flight {
 public:
  /// Take the input. Requires parts of that operation. The data that `operation` refers to must outlive the Flight.
  Flight(const replay::Operation& operation, replay::Ticket ticket, std::shared_ptr<const Prepared> prepared);

  const replay::Operation& operation() const { return operation_; }
  const Prepared& prepared() const { return *prepared_; }
  replay::Ticket ticket() const { return ticket_; }
  /// Return the global rank of the other side of a transfer.
  int64_t rank_of(const coll::PartTransfer& transfer) const;
  /// Append ranks that may send to this rank from now on, each once per operation. The source of a round may send
  /// when the earlier rounds of its lane have at most `ahead` bytes still to come. Amortized O(1) per message.
  void invite(uint64_t ahead, std::vector<int64_t>& ranks);

  /// Begin and end all parts that can, and append the sends of parts
  /// that begin. If done() is true afterwards, the output is complete.
  void advance(std::vector<MessageId>& sends);
  bool done() const { return parts_done_ == prepared_->parts.size(); }

  /// Append the pieces of a send; the pieces stay valid until left() is called for the send.
  void pieces_of(MessageId send, std::vector<std::span<const std::byte>>& pieces);
  void left(MessageId send);
  /// Copy the input, so that the caller may reuse the memory.
  /// Requires a message that is sent, with none of its pieces in use.
  void keep_input();

  /// Return the message that comes from a rank in a round, or no value if the plan has no such message.
  std::optional<MessageId> find_receive(int64_t from, uint32_t round) const;
  const coll::PartTransfer& receive(MessageId id) const { return prepared_->parts[id.part].receives[id.transfer]; }
  const coll::PartTransfer& send(MessageId id) const { return prepared_->parts[id.part].sends[id.transfer]; }
  /// Return the memory for the remaining bytes of a receive; empty when complete.
  std::span<std::byte> room(MessageId receive);
  /// Record that `bytes` more have arrived in the room. Return true when the message is complete.
  bool came(MessageId receive, uint64_t bytes);

 private:
  struct Coming {
    std::unique_ptr<std::byte[]> bytes;  ///< null before the first bytes, or if they go to the output
    uint64_t count = 0;
    bool whole = false;
  };
  struct State {
    bool begun = false, done = false, invited = false;
    uint32_t sends_left = 0, receives_left = 0;
    std::vector<Coming> coming;
  };
  /// Parts that run one at a time, in order.
  struct Lane {
    std::vector<uint32_t> parts;
    size_t next = 0;     ///< into parts: the current or next part
    size_t invited = 0;  ///< into parts: number of parts with invited sources
    uint64_t due = 0;    ///< bytes of invited parts still to come
  };
  bool may_begin(const coll::Part& part) const;
  void finish(uint32_t part);
  void store(const coll::PartTransfer& transfer, const std::byte* bytes);

  replay::Operation operation_;
  std::vector<std::byte> kept_;  ///< copy of the input, if there is one
  replay::Ticket ticket_;
  std::shared_ptr<const Prepared> prepared_;
  std::unique_ptr<Units> units_;  ///< null for messages and barriers
  std::vector<State> states_;     ///< by part
  std::vector<Lane> lanes_;
  std::set<int64_t> invited_;
  size_t parts_done_ = 0;
};

}  // namespace chakra::replay_fabric
