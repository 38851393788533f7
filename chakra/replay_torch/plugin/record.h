// PyTorch's recording of the operators of this process. Inside the plugin.
#pragma once

namespace chakra_torch {

/// Begin a recording to that file; null ends it. Return null or an error.
const char* record(const char* file);

}  // namespace chakra_torch
