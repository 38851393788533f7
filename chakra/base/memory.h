// Memory of the machine.
#pragma once

#include <cstdint>

namespace chakra {

/// Return the bytes that this process can still get without swapping: the least of the free memory of the machine, of
/// the control group, and of the limit of the address space. 0: unknown.
uint64_t available_memory();

}  // namespace chakra
