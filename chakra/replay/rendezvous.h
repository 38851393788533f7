// Ranks find each other and stay in touch: each rank connects to one server, a thread of one rank or of the
// launching program. Ranks *meet* under a key. When the required number of ranks has come, each rank gets the
// contributions of all. Exchanges and barriers are meetings of all ranks; the back end `null` consists of meetings.
// The connection also detects the death of a rank: every remaining rank gets an error that names the dead rank. The
// connection carries control messages, not data: a meeting costs two messages per member through the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::replay {

/// The number of this rank, and its job.
struct World {
  int64_t rank = 0, ranks = 1;
  /// "host:port" (a name or an address, "[::1]:port"), or a path with a "/": a socket in the file system for
  /// ranks on one machine, whatever network namespaces the ranks are in. Rank 0 listens there unless `served`.
  std::string rendezvous;
  bool served = false;  ///< a Server of the caller listens at `rendezvous`
  /// Time limit for all ranks to join, and for a standstill in which no operation ends and no rank computes.
  std::chrono::milliseconds timeout{8'000};
  /// Shared secret of the ranks, required to join. Empty: the environment's
  /// CHAKRA_RENDEZVOUS_TOKEN, or a token that rank 0 writes into a file of mode
  /// 0600 for the others: beside a socket in the file system, else in `folder`.
  std::string token = {};
  std::string folder = {};  ///< of the job
};

/// Set rank, ranks and rendezvous from the variables of launchers: OMPI_COMM_WORLD_RANK and _SIZE,
/// PMI_RANK and PMI_SIZE, SLURM_PROCID and SLURM_NTASKS, RANK and WORLD_SIZE (torchrun: with MASTER_ADDR
/// and MASTER_PORT for the rendezvous). Use the first pair that is set; return false without a pair.
/// Errors: replay.world.launcher for invalid numbers, or a rank outside of the size.
Result<bool> world_from_launcher(World& world);

/// The ranks of a meeting, and their contributions.
struct Met {
  std::string key;
  std::vector<std::string> brought;  ///< by ascending rank
  std::vector<int64_t> ranks;        ///< parallel to `brought`
};

/// Limits for clients that have not shown the token, of the server and of back ends that listen.
inline constexpr std::chrono::seconds kForHello{2};  ///< time that an unidentified client has
inline constexpr size_t kMostStrangers = 64;         ///< unidentified clients; beyond that the oldest is disconnected

/// Report that the process has no descriptor left: base.file.open. `what`: the purpose of the descriptor.
Failure no_descriptor(std::string_view what);

class Server {
 public:
  /// Listen and serve in a thread until destruction. A client must show the token within kForHello,
  /// in at most kMostHello bytes. Errors: replay.rendezvous.address, .listen; base.file.open.
  static Result<std::unique_ptr<Server>> start(const std::string& address, int64_t ranks, std::string_view token = {});
  /// Listen at a new socket in a new folder, with a new token. The folder is removed with the server.
  static Result<std::unique_ptr<Server>> start_private(int64_t ranks);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const;  ///< for World::rendezvous
  const std::string& token() const;    ///< for World::token
  bool lacks_descriptors() const;      ///< a client was refused because the process had no descriptor left

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Rendezvous {
 public:
  /// Connect and wait for all ranks. Errors: replay.rendezvous.address, .listen; with Code::stuck
  /// replay.rendezvous.timeout, which names missing ranks; replay.rendezvous.rank (a duplicate
  /// rank, or another number of ranks); replay.rendezvous.token (a missing or different token).
  static Result<std::unique_ptr<Rendezvous>> join(const World& world);
  /// Disconnect. The other ranks take this rank for finished if leave() was called, else for dead.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // ---- all ranks, blocking; in the same order everywhere ---------------------------------------------------------
  /// Return the contribution of each rank, by rank. A rank may come arbitrarily late if it answers meanwhile.
  /// Errors: those of poll(); with Code::stuck replay.rendezvous.timeout: a rank did not answer for World::timeout.
  Result<std::vector<std::string>> exchange(std::string_view mine);
  Result<void> barrier();

  // ---- some ranks, without blocking --------------------------------------------------------------------------------
  /// Come to the meeting `key` of `members` ranks. The meeting has ended when all members have come; poll() reports the
  /// end unless `tell` is false. A key may be reused after its meeting has ended.
  Result<void> meet(std::string_view key, uint32_t members, std::string_view bring, bool tell = true);
  /// Append meetings that have ended since the last call. Return at the first event,
  /// after `patience` at the latest. Errors, with Code::stuck: replay.rank.died, which
  /// names the rank; replay.rank.aborted, with the reason of the rank that aborted.
  Result<void> poll(std::chrono::nanoseconds patience, std::vector<Met>& met);
  /// Read without waiting; meetings are kept for poll(). Errors: those of poll().
  Result<void> look();
  /// Return a descriptor that is readable when poll() has news: for back ends that wait for descriptors.
  int descriptor() const;

  /// Set the function that describes the state of this rank when a rank asks; poll() and exchange() call it.
  void describe_with(std::function<std::string()> describe);
  /// Ask every rank that has not left to describe its state.
  Result<void> ask();
  /// Return the descriptions, on every rank, once per ask(); poll() receives them.
  std::optional<Met> answers();

  /// Announce that this rank is done: its later exit is not a death.
  void leave();
  /// Make every other rank's poll() fail with this reason.
  void abort(std::string_view reason);

 private:
  class State;
  explicit Rendezvous(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace chakra::replay
