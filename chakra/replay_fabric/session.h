// The back end `fabric`: operations under way, readiness of ranks, and the next message for each rank.
//
// A rank that has started an operation invites its senders (Header::Kind::ready); a sender sends data
// only after the invitation. So a rank need not keep data of operations that it has not started, whatever
// the order in which ranks start operations. Sources of later rounds are invited when the earlier rounds
// are nearly complete, so that these sources do not take link capacity from the current round.
//
// In the simulator a sender does not wait for its receiver, and deadlock freedom is proved for such
// jobs. So a send without a receiver counts as ended after a while, and its data wait in a copy.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/flight.h"
#include "chakra/replay_fabric/flow_log.h"
#include "chakra/replay_fabric/pace.h"
#include "chakra/replay_fabric/plans.h"
#include "chakra/replay_fabric/wire.h"

namespace chakra::replay_fabric {

class FabricSession final : public replay::Session, private Receiver {
 public:
  FabricSession(const replay::World& world, replay::Rendezvous& rendezvous, Plans plans, double bytes_per_s,
                std::string log);

  Result<void> connect(const WireRow& row, const WireOptions& options);

  Result<void> start(const replay::Operation& operation, replay::Ticket ticket) override;
  Result<void> progress(std::chrono::nanoseconds patience, std::vector<replay::Ticket>& ended) override;
  bool quiet() const override { return active_.empty(); }
  uint64_t moved_bytes() const override { return link_.moved_bytes; }
  Result<void> close() override;
  void abort(std::string_view reason) override;

 private:
  using Key = std::pair<uint64_t, uint64_t>;  ///< Header::operation and index
  struct Active {
    std::unique_ptr<Flight> flight;
    Pace::Clock::time_point since;
    std::set<int64_t> ready;                                    ///< ranks that have invited data
    std::vector<MessageId> held;                                ///< sends to ranks without an invitation
    bool told = false;                                          ///< already reported as ended
    std::map<std::pair<uint32_t, uint32_t>, int64_t> first_ns;  ///< per incoming message: arrival of the first byte
  };
  /// An outgoing message, or a frame with a text.
  struct Outgoing {
    Header header;
    std::string text;
    Active* active = nullptr;  ///< of messages
    MessageId message;
    std::vector<std::span<const std::byte>> pieces;
    size_t piece = 0, offset = 0;
    bool begun = false;
    bool whole() const { return begun && piece == pieces.size(); }
  };
  struct Peer {
    std::list<Outgoing> queue;  ///< texts first, then messages in turn
    bool busy = false;          ///< a frame of the queue's first entry is under way
    bool bye = false;           ///< a bye has arrived
    std::string text;           ///< incoming text
  };

  Result<std::span<std::byte>> room(int64_t from, const Header& header) override;
  Result<void> landed(int64_t from, const Header& header) override;
  void left(int64_t to) override { left_.push_back(to); }
  Result<void> lost(int64_t rank, std::string_view why) override;
  bool may_receive() override { return link_.in.may(Pace::Clock::now()); }
  void received(uint64_t bytes) override {
    link_.in.take(Pace::Clock::now(), bytes);
    link_.moved_bytes += bytes;
  }

  Peer& peer(int64_t rank) { return peers_[static_cast<size_t>(rank)]; }
  Key key_of(const replay::Operation& operation) const;
  Result<void> got_ready(int64_t from, Active& active, std::string_view text);
  void post(Active& active, MessageId send);
  void post_text(int64_t to, Header::Kind kind, Key key, std::string text);
  void invite(Key key, Active& active);
  Result<void> go_on(Key key);
  void end_old_sends();
  Result<void> settle(int64_t to);
  Result<void> send_next(int64_t to);
  Result<bool> pump();
  std::chrono::nanoseconds until_free() const;
  Result<void> lost_for_good();

  struct Link {
    Pace in, out;
    uint64_t moved_bytes = 0;
  };
  struct Lost {
    int64_t rank;
    std::string why;
  };
  const replay::World world_;
  replay::Rendezvous& rendezvous_;
  Plans plans_;
  Link link_;
  FlowLog log_;
  std::unique_ptr<Wire> wire_;
  std::vector<Peer> peers_;  ///< by rank
  std::map<Key, Active> active_;
  std::map<Key, std::map<int64_t, std::string>> early_;  ///< texts of ranks that were ready before this rank
  std::vector<int64_t> left_;                            ///< ranks to which a frame has left
  std::vector<replay::Ticket> ended_;
  std::optional<Lost> lost_;
};

}  // namespace chakra::replay_fabric
