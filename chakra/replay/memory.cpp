#include "chakra/replay/memory.h"

#include <fmt/core.h>

#include <new>

namespace chakra::replay {

Result<void> Memory::lend(Operation& op) {
  CHAKRA_ASSIGN(op.in, take(op.in_bytes));
  CHAKRA_ASSIGN(op.out, take(op.out_bytes));
  return {};
}

void Memory::give_back(Operation& op) {
  give(op.in);
  give(op.out);
  op.in = {};
  op.out = {};
}

/// The smallest block that is large enough and not more than twice as large.
Result<std::span<std::byte>> Memory::take(uint64_t bytes) {
  if (bytes == 0) return std::span<std::byte>();
  Block block{bytes, nullptr};
  if (const auto found = free_.lower_bound(bytes); found != free_.end() && found->first / 2 <= bytes) {
    block = {found->first, std::move(found->second)};
    free_.erase(found);
  } else {
    block.bytes.reset(new (std::nothrow) std::byte[bytes]());
    if (!block.bytes)
      return fail(Code::io, "replay.memory",
                  fmt::format("an operation needs {}, which this machine does not have; replay on more machines, or "
                              "without it (--max-size)",
                              show_bytes(static_cast<double>(bytes))));
  }
  std::byte* const at = block.bytes.get();
  lent_.emplace(at, std::move(block));
  return std::span<std::byte>(at, bytes);
}

void Memory::give(std::span<const std::byte> span) {
  if (span.empty()) return;
  const auto found = lent_.find(span.data());
  CHAKRA_ASSERT(found != lent_.end());
  free_.emplace(found->second.size, std::move(found->second.bytes));
  lent_.erase(found);
}

}  // namespace chakra::replay
