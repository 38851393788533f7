// PyTorch's own recording of what runs in this process. Inside the plugin.
#pragma once

namespace chakra_torch {

/// Begins one to that file; null ends it. Null, or why not.
const char* record(const char* file);

}  // namespace chakra_torch
