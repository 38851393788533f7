#include "chakra/base/cores.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <optional>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/progress.h"

namespace chakra {
namespace {

std::optional<tbb::global_control> limit;
int asked = 0;  ///< 0: all

}  // namespace

void limit_cores(int64_t cores) {
  CHAKRA_ASSERT(cores >= 0);
  asked = static_cast<int>(cores);
  limit.reset();
  if (asked > 0) limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(asked));
}

int cores() { return asked > 0 ? asked : tbb::this_task_arena::max_concurrency(); }

void all_in_parallel(size_t count, const std::function<void(size_t)>& work) {
  if (count < 2 || cores() == 1) {
    for (size_t i = 0; i < count; ++i) work(i);
    return;
  }
  tbb::task_arena arena(cores());
  const ProgressPtr watch = current_watch();
  arena.execute([&] {
    tbb::parallel_for(size_t{0}, count, [&](size_t i) {
      const WatchedToo watched(watch);
      work(i);
    });
  });
}

Result<void> each_in_parallel(size_t count, const std::function<Result<void>(size_t)>& work) {
  std::vector<std::optional<Error>> errors(count);
  std::atomic<size_t> finished{0};
  run_while_asking([&] {
    all_in_parallel(count, [&](size_t i) {
      Result<void> done = work(i);
      if (done) done = keep_going(++finished, count);
      if (!done) errors[i] = done.error();
    });
  });
  CHAKRA_TRY(keep_going());
  for (const auto& error : errors)
    if (error) return Failure(*error);
  return {};
}

}  // namespace chakra
