// The table of devices.
#pragma once

#include "chakra/table/table.h"

namespace chakra::cli {

/// The rows of 'chakra list devices'.
table::Table list_devices();

}  // namespace chakra::cli
