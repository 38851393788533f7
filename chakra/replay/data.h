// Data for verification. The input of an operation is derived from the rank, the operation
// and the position of each value, so that every rank can compute the expected output alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chakra/replay/backend.h"

namespace chakra::replay {

/// Return the size of the operation's buffer, the same number on all participants. Reductions,
/// broadcasts and scatters: the whole buffer; gathers: the contribution of one rank; all-to-alls: all
/// bytes that a rank sends, or 0 with uneven splits; barriers: 0; messages: the bytes of the message.
uint64_t whole_bytes(const Operation& operation);

/// Fill the memory of the operation's input. Values of sums are small
/// integers, so that each partial sum is exact in the operation's type.
/// Requires operation.in_bytes bytes. O(bytes).
void fill_input(const Operation& operation, std::span<std::byte> input);

/// Check that operation.out holds the expected result, given that every rank used fill_input().
/// A member of a sum may expect fewer bytes than others; only these bytes are checked.
/// Errors, with Code::stuck: replay.verify, with the first byte that differs. O(bytes x
/// members) for sums, else O(bytes).
Result<void> verify_output(const Operation& operation);

}  // namespace chakra::replay
