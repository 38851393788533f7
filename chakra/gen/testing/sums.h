// Sums over generated steps, for tests against closed forms.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/gen/testing/outcome.h"

namespace chakra::testing {

inline const gen::Model& known(std::string_view name) { return gen::find_model(name)->model; }

/// Return sums of the job that step() makes of these options; empty, and a failure of the test, if step() fails.
inline gen::StepStats stats_of(const gen::StepOptions& o) {
  const auto job = gen::step(o);
  EXPECT_TRUE(job) << job.error().message();
  return job ? gen::stats(o, *job).value() : gen::StepStats{};
}
inline double operations(const gen::StepOptions& o) { return stats_of(o).operations; }

/// Count and sum of the buffers, by group and type.
using Sums = std::map<std::string, std::pair<int64_t, double>>;
inline Sums sums(const gen::StepOptions& o, size_t cls = 0) {
  Sums result;
  const gen::StepStats all = stats_of(o);
  if (cls >= all.classes.size()) return result;
  for (const gen::Communication& c : all.classes[cls].communication)
    result[c.group + " " + c.type] = {c.count, c.bytes};
  return result;
}

}  // namespace chakra::testing
