// Data that can be checked: what a rank puts into an operation is made from the rank, the operation and the place of
// the value, so that every rank can compute by itself what the operation must leave in its output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chakra/replay/backend.h"

namespace chakra::replay {

/// The bytes of the buffer that the operation is about, the same number on every rank that takes part: what is reduced,
/// broadcast or scattered as a whole; of gathers what one rank puts in; of all-to-alls what a rank sends in all, with
/// splits of their own 0; of barriers 0; of messages their bytes.
uint64_t whole_bytes(const Operation& operation);

/// Fills the memory that will be the operation's input. Values of sums are small integers, such that every partial sum
/// is exact in the operation's type.
/// Requires operation.in_bytes bytes. O(bytes).
void fill_input(const Operation& operation, std::span<std::byte> input);

/// Whether operation.out holds what the operation promises when every rank used fill_input(). A member of a sum may
/// expect fewer bytes than there are; it is checked for those that it has.
/// Errors, with Code::stuck: replay.verify, with the first byte that differs. O(bytes x members) for sums, else
/// O(bytes).
Result<void> verify_output(const Operation& operation);

}  // namespace chakra::replay
