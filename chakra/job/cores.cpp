#include "chakra/job/cores.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <optional>

#include "chakra/base/base.h"

namespace chakra::job {
namespace {

std::optional<tbb::global_control> limit;
int asked = 0;  ///< 0: all

}  // namespace

void use_cores(int64_t cores) {
  CHAKRA_ASSERT(cores >= 0);
  asked = static_cast<int>(cores);
  limit.reset();
  if (asked > 0) limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(asked));
}

int cores() { return asked > 0 ? asked : tbb::this_task_arena::max_concurrency(); }

}  // namespace chakra::job
