// Reusable memory for operations of back ends that move data. Inside replay.
#pragma once

#include <map>
#include <memory>

#include "chakra/replay/backend.h"

namespace chakra::replay {

class Memory {
 public:
  /// Fill Operation::in and out. New memory is zero. Errors: replay.memory if the machine does not have enough memory.
  Result<void> lend(Operation& operation);
  /// Take the memory back after the operation has ended.
  void give_back(Operation& operation);

 private:
  Result<std::span<std::byte>> take(uint64_t bytes);
  void give(std::span<const std::byte> span);

  struct Block {
    size_t size;
    std::unique_ptr<std::byte[]> bytes;
  };
  std::multimap<size_t, std::unique_ptr<std::byte[]>> free_;  ///< by size
  std::map<const std::byte*, Block> lent_;
};

}  // namespace chakra::replay
