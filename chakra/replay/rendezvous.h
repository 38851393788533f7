// How the ranks of a replay find each other and stay in touch: each connects to one server, which one of them (or the
// program that started them) runs in a thread. There is one idea: ranks *meet* under a key. When as many have come as
// the key asks for, each of them gets what each brought. Exchanges and barriers are meetings of all; the back end
// `null` is made of meetings. The connection also tells when a rank dies: every rank that is left gets an error that
// names it. It carries control, not data: a meeting costs two messages a member through the server.
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

/// Which rank this is, among which.
struct World {
  int64_t rank = 0, ranks = 1;
  /// "host:port" (a name or an address, "[::1]:port"), or a path with a "/" in it: a socket in the file system, for
  /// ranks on one machine, whatever network namespaces they are in. Rank 0 listens there unless `served`.
  std::string rendezvous;
  bool served = false;  ///< a Server of the caller listens at `rendezvous`
  /// How long to wait for ranks at the start; and how long nothing may happen with no rank working.
  std::chrono::milliseconds timeout{8'000};
  /// What all ranks know and nobody else: without it nobody joins. Empty: the environment's CHAKRA_RENDEZVOUS_TOKEN, or
  /// what rank 0 writes into a file of mode 0600, which the others read: beside a socket in the file system, else in
  /// `folder`.
  std::string token = {};
  std::string folder = {};  ///< the job's
};

/// Fills rank, ranks and rendezvous from what launchers say, where they say it: OMPI_COMM_WORLD_RANK and _SIZE,
/// PMI_RANK and PMI_SIZE, SLURM_PROCID and SLURM_NTASKS, RANK and WORLD_SIZE (torchrun: with MASTER_ADDR and
/// MASTER_PORT for the rendezvous). The first of these whose two variables are there; false where none is.
/// Errors: replay.world.launcher for numbers that are none, or a rank outside of the size.
Result<bool> world_from_launcher(World& world);

/// Those who have met.
struct Met {
  std::string key;
  std::vector<std::string> brought;  ///< by ascending rank of those who came
  std::vector<int64_t> ranks;        ///< parallel to it
};

class Server {
 public:
  /// Listens and serves in a thread until it is destroyed. Who connects has kForHello to show the token, in at most
  /// kMostHello bytes. Errors: replay.rendezvous.address, .listen; base.file.open.
  static Result<std::unique_ptr<Server>> start(const std::string& address, int64_t ranks, std::string_view token = {});
  /// A socket of a name of its own in a new folder, which is removed with the server, and a token of its own.
  static Result<std::unique_ptr<Server>> start_private(int64_t ranks);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const;  ///< for World::rendezvous
  const std::string& token() const;    ///< for World::token

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Rendezvous {
 public:
  /// Connects, and waits for all ranks. Errors: replay.rendezvous.address, .listen; with Code::stuck
  /// replay.rendezvous.timeout, which names ranks that have not come; replay.rendezvous.rank (a rank that is there
  /// already, another number of ranks); replay.rendezvous.token (it is not shared, or another one).
  static Result<std::unique_ptr<Rendezvous>> join(const World& world);
  /// Leaves: the other ranks take it for done if leave() was called, else for dead.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // ---- all ranks, blocking; in the same order everywhere ---------------------------------------------------------
  /// What each rank brought, by rank. Others may take as long as they like to come, if they answer meanwhile.
  /// Errors: those of poll(); with Code::stuck replay.rendezvous.timeout: a rank did not answer for World::timeout.
  Result<std::vector<std::string>> exchange(std::string_view mine);
  Result<void> barrier();

  // ---- some ranks, without blocking --------------------------------------------------------------------------------
  /// This rank comes to the meeting `key` of `members` ranks. It has ended when all have come: poll() says so, unless
  /// this rank does not care to know (`tell` false). A key may be used again when its meeting has ended.
  Result<void> meet(std::string_view key, uint32_t members, std::string_view bring, bool tell = true);
  /// Appends meetings that have ended since the last call. Comes back as soon as something has come, after `patience`
  /// at the latest. Errors, with Code::stuck: replay.rank.died, which names the rank; replay.rank.aborted, with the
  /// reason with which a rank gave up.
  Result<void> poll(std::chrono::nanoseconds patience, std::vector<Met>& met);
  /// Reads what has come, without waiting; meetings stay for poll(). Errors: those of poll().
  Result<void> look();
  /// Readable when poll() has something to say: for back ends that wait for descriptors of their own.
  int descriptor() const;

  /// What this rank says when a rank asks what all are doing; it is called in poll() and exchange().
  void describe_with(std::function<std::string()> describe);
  /// Every rank that has not left says what it is doing.
  Result<void> ask();
  /// What they said, on every rank, once for each ask(); poll() brings it.
  std::optional<Met> answers();

  /// This rank is done and may go: its end is not a death any more.
  void leave();
  /// Every other rank's poll() fails with this reason.
  void abort(std::string_view reason);

 private:
  class State;
  explicit Rendezvous(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace chakra::replay
