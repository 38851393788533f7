// The tables of devices and of their kernels.
#pragma once

#include "chakra/result/result.h"

namespace chakra::cli {

/// The rows of 'chakra list devices'.
result::Table list_devices();
/// The rows of 'chakra list kernels'.
result::Table list_kernels();

}  // namespace chakra::cli
