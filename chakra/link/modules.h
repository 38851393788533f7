// Which calls of nn.Module were open when a device operation was launched.
#pragma once

#include <vector>

#include "chakra/link/linking.h"

namespace chakra::link {

/// Per device operation the path of the modules around its launch, the outermost first ("Net_0/Linear_1"), interned in
/// the trace; 0: none. Empty where no module was recorded. Cost: O((calls + modules) log modules).
std::vector<StringId> modules_of_device_ops(Linking& l);

}  // namespace chakra::link
