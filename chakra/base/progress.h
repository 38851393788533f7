// A long call that a caller watches: loops ask keep_going(), and the caller hears the completed share and can stop the
// call. The watch belongs to a thread, so rooms below need no parameter. Calls without a watch pay one comparison.
#pragma once

#include <functional>
#include <memory>

#include "chakra/base/result.h"

namespace chakra {

struct ProgressState;  ///< of one watched call
using ProgressPtr = std::shared_ptr<ProgressState>;

/// Watch the calls of this thread while this object exists. `ask` hears the completed share (0 to 1, never less than
/// before), only in this thread, and returns false to stop the call. An inner watch hides an outer one.
class Watched {
 public:
  using Ask = bool (*)(void* user, double share);
  Watched(Ask ask, void* user);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  ProgressPtr before_;
};

/// Let another thread stop with a watched call while this object exists; only the thread of the call asks the caller.
class WatchedToo {
 public:
  explicit WatchedToo(ProgressPtr of);
  ~WatchedToo();
  WatchedToo(const WatchedToo&) = delete;
  WatchedToo& operator=(const WatchedToo&) = delete;

 private:
  ProgressPtr before_;
};
/// Return the watch of this thread, for WatchedToo; null: no watch.
ProgressPtr current_watch();

/// Return the error of a call that the caller has stopped: job.interrupted.
Failure stopped_by_caller();
/// Ask the caller, at most every 10 ms. Once the caller has stopped the call, every later answer is the error. Errors:
/// job.interrupted.
Result<void> keep_going();
/// Likewise, and report that `done` of `total` of the current part are complete. In any thread.
Result<void> keep_going(size_t done, size_t total);
/// Return whether the caller has stopped the call. For functions without errors: they return early, and the calling
/// function must then call keep_going().
bool is_stopped();
/// Likewise, without asking the caller: whether an earlier answer has stopped the call.
bool was_stopped();

/// The work of this scope is the part from `begin` to `end` of the work of the outer scope (both 0 to 1). In the thread
/// of the call; in other threads without effect.
class ProgressPart {
 public:
  ProgressPart(double begin, double end);
  ~ProgressPart();
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;

 private:
  double begin_ = 0, width_ = 1;
};

/// Run work that waits for other threads. In a watched call, the work runs in another thread (which is watched, too),
/// and this thread asks the caller meanwhile. The caller of this function must then call keep_going().
void run_while_asking(const std::function<void()>& work);

}  // namespace chakra
