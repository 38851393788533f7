// Memory that copies go through: larger than the caches, of all ranks of a process together. Inside replay.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "chakra/base/base.h"

namespace chakra::replay {

class CopyRoom {
 public:
  /// `bytes` of memory, half to read and half to write; that of the other ranks of this process, where it has as many.
  /// Errors: replay.memory. Cost: O(bytes), once.
  static Result<std::shared_ptr<CopyRoom>> shared(uint64_t bytes);

  /// Copies half of `bytes`, rounded up: the copies read as many bytes as they write. They go on where those of all
  /// ranks have come to. Ends early once `stop` is set. Gives the bytes that were read and written.
  uint64_t move(uint64_t bytes, const std::atomic<bool>& stop);

  CopyRoom(const CopyRoom&) = delete;
  CopyRoom& operator=(const CopyRoom&) = delete;
  ~CopyRoom() = default;

 private:
  static constexpr size_t kPiece = size_t{1} << 20;

  explicit CopyRoom(size_t pieces) : pieces_(pieces), busy_(new std::atomic_flag[pieces]) {}
  size_t take();  ///< a piece that no other rank writes to

  size_t pieces_;
  std::unique_ptr<std::byte[]> from_, to_;
  std::atomic<size_t> next_{0};
  std::unique_ptr<std::atomic_flag[]> busy_;
};

}  // namespace chakra::replay
