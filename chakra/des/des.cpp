#include "chakra/des/des.h"

#include <fmt/core.h>

namespace chakra::des {

Failure too_long() {
  return fail(Code::bad_input, "sim.time",
              fmt::format("the job would take longer than the {:.0f} days that can be simulated; are its durations, "
                          "sizes and bandwidths in the right units?",
                          static_cast<double>(kLongestPs) / kPsPerSecond / 86'400));
}

}  // namespace chakra::des
