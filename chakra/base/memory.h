// The memory of this machine that the process may still take.
#pragma once

#include <cstdint>

namespace chakra {

/// Return how many bytes the process can still get: the smallest of three numbers. They are the available memory of the
/// machine, the rest of the limit of the control group, and the rest of the address space (ulimit -v). UINT64_MAX if
/// the system gives none of these numbers.
uint64_t available_memory();

}  // namespace chakra
