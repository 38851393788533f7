// An operation under way on one rank: which of its parts run, what it still sends and what has come. It moves no data
// between ranks itself; the session takes what it wants to send and brings what has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "chakra/replay/backend.h"
#include "chakra/replay/fabric/plans.h"
#include "chakra/replay/fabric/units.h"

namespace chakra::replay::fabric {

/// A message of a part: the transfer number `transfer` of what it sends or receives.
struct MessageId {
  uint32_t part = 0, transfer = 0;
};

class Flight {
 public:
  /// Takes the input. Requires parts of that operation. What `operation` refers to must outlive it.
  Flight(const Operation& operation, Ticket ticket, std::shared_ptr<const Prepared> prepared);

  const Operation& operation() const { return operation_; }
  const Prepared& prepared() const { return *prepared_; }
  Ticket ticket() const { return ticket_; }
  /// The global rank of a transfer's other side.
  int64_t rank_of(const coll::PartTransfer& transfer) const;
  /// Appends ranks that may send to this one from now on, each once in an operation. The source of a round may when of
  /// the rounds before it in its lane at most `ahead` bytes are still to come. Amortized O(1) per message.
  void invite(uint64_t ahead, std::vector<int64_t>& ranks);

  /// Begins and ends all parts that can, and appends the sends of those that begin. The output is complete when done()
  /// is true after it.
  void advance(std::vector<MessageId>& sends);
  bool done() const { return parts_done_ == prepared_->parts.size(); }

  /// What a send consists of; stays as it is until left() was called for it.
  void pieces_of(MessageId send, std::vector<std::span<const std::byte>>& pieces);
  void left(MessageId send);
  /// From now on the input lies in a copy, so that its owner may use the memory again. Requires a message that is sent,
  /// none of whose pieces are in use.
  void keep_input();

  /// The message that comes from a rank in a round, or none if the plan has none.
  std::optional<MessageId> find_receive(int64_t from, uint32_t round) const;
  const coll::PartTransfer& receive(MessageId id) const { return prepared_->parts[id.part].receives[id.transfer]; }
  const coll::PartTransfer& send(MessageId id) const { return prepared_->parts[id.part].sends[id.transfer]; }
  /// Where the bytes of a receive go that have not come yet; empty when all have.
  std::span<std::byte> room(MessageId receive);
  /// `bytes` more of it are in their room. True when it is whole.
  bool came(MessageId receive, uint64_t bytes);

 private:
  struct Coming {
    std::unique_ptr<std::byte[]> bytes;  ///< null before the first ones have come, and where they go to the output
    uint64_t count = 0;
    bool whole = false;
  };
  struct State {
    bool begun = false, done = false, invited = false;
    uint32_t sends_left = 0, receives_left = 0;
    std::vector<Coming> coming;
  };
  /// Parts that run one after the other.
  struct Lane {
    std::vector<uint32_t> parts;
    size_t next = 0;     ///< into parts: the one that runs or will be the next
    size_t invited = 0;  ///< into parts: how many have their sources invited
    uint64_t due = 0;    ///< bytes of those that have not come
  };
  bool may_begin(const coll::Part& part) const;
  void finish(uint32_t part);
  void store(const coll::PartTransfer& transfer, const std::byte* bytes);

  Operation operation_;
  std::vector<std::byte> kept_;  ///< the input, where it is in a copy
  Ticket ticket_;
  std::shared_ptr<const Prepared> prepared_;
  std::unique_ptr<Units> units_;  ///< none for messages and barriers
  std::vector<State> states_;     ///< by part
  std::vector<Lane> lanes_;
  std::set<int64_t> invited_;
  size_t parts_done_ = 0;
};

}  // namespace chakra::replay::fabric
