// An MSCCL algorithm in memory: per GPU the thread blocks, with steps that move and reduce chunks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/foreign/forms.h"

namespace chakra::foreign::msccl {

enum class Op : uint8_t {
  send,
  recv,
  recv_copy_send,
  recv_reduce_copy,
  recv_reduce_send,
  recv_reduce_copy_send,
  reduce,
  copy,
  nop
};
struct OpRow {
  std::string_view name;
  Op op;
  bool receives, reduces, copies, sends;  ///< copies: the result is kept in the destination
};
/// The contents that a collective promises for the chunk at `at` of rank `rank`'s output.
enum class Coll : uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };
inline constexpr int64_t kMostChunks = int64_t{1} << 22;  // of all buffers, and moved by all steps

enum Buffer : uint8_t { kInput, kOutput, kScratch };
struct Span {
  Buffer buffer = kInput;
  int64_t offset = 0;
};
struct Step {
  const OpRow* op = nullptr;
  Span src, dst;
  int64_t count = 0;
  int64_t dep_block = -1, dep_step = -1;  ///< a block of the same GPU, a step of it
  bool awaited = false;                   ///< another block waits for this step
  int64_t byte = 0;
};
struct Block {
  int64_t id = 0, send = -1, recv = -1, channel = 0;
  std::vector<Step> steps;
};
struct Gpu {
  int64_t chunks[3] = {0, 0, 0};
  std::vector<Block> blocks;  ///< index in the vector = id
  int64_t byte = 0;
};
struct Algorithm {
  std::string name, file;
  Coll coll = Coll::all_reduce;
  std::string_view coll_name;
  bool in_place = false;
  int64_t chunks = 0;  ///< of the whole collective
  int64_t min_bytes = 0, max_bytes = 0;
  std::vector<Gpu> gpus;
};

/// Fill in an algorithm whose `file` is set. Errors: foreign.msccl.*, foreign.large.
Result<void> parse(std::string_view text, Algorithm& out);

/// Execute the algorithm on symbols, and check that the output is as promised by the collective.
/// Return the root of a broadcast, else 0. Errors: foreign.msccl.*, foreign.large.
Result<int64_t> verify(const Algorithm& algorithm);

}  // namespace chakra::foreign::msccl
