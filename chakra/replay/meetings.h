// Operations that begin when all who take part in them have met at the rendezvous. Inside replay.
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

/// Those of one rank, while their partners are not all there.
class Meetings {
 public:
  Meetings(int64_t rank, Rendezvous& rendezvous) : rank_(rank), rendezvous_(rendezvous) {}

  /// Says that this rank has come to the operation. `bytes`: as bring() has them. Errors: those of Rendezvous::meet().
  Result<void> come(const Operation& op, Ticket ticket, uint64_t bytes);

  struct Complete {
    Operation operation;
    Ticket ticket = 0;
    Brought brought{};
    bool told = false;            ///< it counts as ended
    std::vector<std::byte> kept;  ///< then its input, which nobody else keeps
  };
  /// The operation whose members have all come. Errors: replay.comm.differ.
  Result<Complete> complete(const Met& met);

  /// Jobs are proved with senders that do not wait for receivers. So a send whose receiver has not come within
  /// `patience` counts as ended: its ticket is appended, and its data wait in a copy.
  void end_old_sends(std::chrono::nanoseconds patience, std::vector<Ticket>& ended);
  /// Data wait in copies.
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
  std::map<std::string, Waiting> open_;  ///< by key of the meeting
  size_t kept_ = 0;                      ///< of them, those that count as ended
};

/// Session::progress() of a back end that has to be looked at: look(ended) appends what has ended, begin(met) starts an
/// operation whose members have met. `under_way`: a container; where it is empty, one can sleep at the rendezvous.
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
