// The open calls of nn.Module at the launch of a device operation.
#pragma once

#include <vector>

#include "chakra/link/linking.h"

namespace chakra::link {

/// Return per device operation the path of the modules around its launch, the outermost first ("Net_0/Linear_1"),
/// interned in the trace; 0: no module. Empty if no module was recorded. Cost: O((calls + modules) log modules).
std::vector<StringId> modules_of_device_ops(Linking& l);

}  // namespace chakra::link
