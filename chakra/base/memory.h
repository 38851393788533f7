// The memory of this machine that the process may still take.
#pragma once

#include <cstdint>

namespace chakra {

/// Return the least of the memory that the machine has available, the rest of the limit of the control group, and the
/// rest of the address space (ulimit -v), in bytes; UINT64_MAX if the system states none of them.
uint64_t available_memory();

}  // namespace chakra
