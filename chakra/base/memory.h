// The memory of this machine: how much the process may still take, and large blocks of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chakra {

/// Return how many bytes the process can still get: the smallest of three numbers. They are the available memory of the
/// machine, the rest of the limit of the control group, and the rest of the address space (ulimit -v). UINT64_MAX if
/// the system gives none of these numbers.
uint64_t available_memory();

/// A block of this size or more comes from the kernel, at a multiple of 2 MiB, in pages of this size where the kernel
/// has them. Filling a block takes few faults then, and growing a block moves pages instead of bytes. In small pages,
/// faults took a quarter of the time of reading a trace.
inline constexpr size_t kLargeBlock = size_t{1} << 22;

/// Return a block of `bytes`, with the contents of `old` (null: none), which is then gone. Null if there is no memory;
/// `old` then stays. Requires kLargeBlock <= bytes, and old_bytes <= bytes.
void* grow_large_block(void* old, size_t old_bytes, size_t bytes);
void free_large_block(void* block, size_t bytes);

}  // namespace chakra
