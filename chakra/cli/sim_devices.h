// The tables of devices and of their kernels.
#pragma once

#include "chakra/table/table.h"

namespace chakra::cli {

/// The rows of 'chakra list devices'.
table::Table list_devices();
/// The rows of 'chakra list kernels'.
table::Table list_kernels();

}  // namespace chakra::cli
