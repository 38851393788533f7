// Work on several cores, and the number of cores that a process uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "chakra/base/progress.h"
#include "chakra/base/result.h"

namespace chakra {

/// Limit all later calls to this number of cores, also for reading the ranks of a job. 0: all cores of the machine.
/// Requires cores >= 0. Must not be called while another call runs.
void limit_cores(int64_t cores);
/// Return the limit, or the number of cores of the machine.
int cores();

/// Call work(0), ..., work(count - 1) on these cores, in any order, as parts of the watched call of this thread. All
/// calls are made even if one fails. Calls may be nested. Errors: that of the lowest number; job.interrupted.
Result<void> each_in_parallel(size_t count, const std::function<Result<void>(size_t)>& work);
/// Likewise, for work without errors; the whole work is done even if the watched call is stopped.
void all_in_parallel(size_t count, const std::function<void(size_t)>& work);

/// A watch for calls inside the watched call of this thread: their progress is not that of the outer call, but they
/// stop with it.
class WatchedApart {
 public:
  WatchedApart() : watch_(outer_ ? &goes_on : nullptr, this) {}

 private:
  const ProgressPtr outer_ = current_watch();
  Watched watch_;

  static bool goes_on(void* self, double) {
    const WatchedToo outer(static_cast<WatchedApart*>(self)->outer_);
    return !was_stopped();
  }
};

}  // namespace chakra
