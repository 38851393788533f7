// Operations that begin when all participants have met at the rendezvous. Inside replay.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/backend.h"
#include "chakra/replay/naps.h"
#include "chakra/replay/parties.h"
#include "chakra/replay/rendezvous.h"

namespace chakra::replay {

/// The operations of one rank that wait for other participants.
class Meetings {
 public:
  Meetings(int64_t rank, Rendezvous& rendezvous) : rank_(rank), rendezvous_(rendezvous) {}

  /// Announce that this rank has reached the operation. `bytes`: as in bring(). Errors: those of Rendezvous::meet().
  Result<void> come(const Operation& op, Ticket ticket, uint64_t bytes);

  struct Complete {
    Operation operation;
    Ticket ticket = 0;
    Brought brought{};
    bool told = false;            ///< the operation was already reported as ended
    std::vector<std::byte> kept;  ///< in that case the only copy of its input
  };
  /// Remove and return the operation whose members have all arrived. Errors: replay.comm.differ.
  Result<Complete> complete(const Met& met);

  /// Report old sends as ended: append the tickets of sends that have waited longer than `patience` for a
  /// receiver, and copy their data. Deadlock freedom of jobs is proved for senders that do not wait for receivers.
  void end_old_sends(std::chrono::nanoseconds patience, std::vector<Ticket>& ended);
  /// Return whether copies of data wait for receivers.
  bool keeps() const { return kept_ > 0; }

 private:
  struct Waiting {
    Operation operation;
    Ticket ticket = 0;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    bool told = false;
    std::vector<std::byte> kept{};
  };
  int64_t rank_;
  Rendezvous& rendezvous_;
  std::map<std::string, Waiting> open_;  ///< by meeting key
  size_t kept_ = 0;                      ///< number of these that were reported as ended
};

/// Session::progress() for a back end that must be polled. look(ended) appends ended operations; begin(met) starts
/// an operation whose members have met. `under_way`: a container; if empty, the thread can sleep at the rendezvous.
template <class UnderWay, class Look, class Begin>
Result<void> progress_by_looks(Rendezvous& rendezvous, Naps& naps, const UnderWay& under_way,
                               std::chrono::nanoseconds patience, std::vector<Ticket>& ended, const Look& look,
                               const Begin& begin) {
  using std::chrono::nanoseconds;
  const Naps::Clock::time_point end = Naps::Clock::now() + patience;
  for (std::vector<Met> met;; met.clear()) {
    CHAKRA_TRY(look(ended));
    const bool sleeps = under_way.empty() && ended.empty();
    CHAKRA_TRY(rendezvous.poll(sleeps ? std::max<nanoseconds>(end - Naps::Clock::now(), {}) : nanoseconds{}, met));
    for (const Met& one : met) CHAKRA_TRY(begin(one));
    if (!ended.empty()) naps.wake();
    if (!ended.empty() || Naps::Clock::now() >= end) return {};
    if (met.empty()) naps.nap(end);
  }
}

}  // namespace chakra::replay
