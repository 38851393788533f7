// Memory for copies: larger than the caches, shared by all ranks of a process. Inside replay.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "chakra/base/base.h"

namespace chakra::replay {

class CopyRoom {
 public:
  /// Return `bytes` of memory, half to read and half to write; shared with other ranks of
  /// this process that use the same size. Errors: replay.memory. Cost: O(bytes), once.
  static Result<std::shared_ptr<CopyRoom>> shared(uint64_t bytes);

  /// Copy half of `bytes`, rounded up: a copy reads as many bytes as it writes. Continue where the
  /// last copy of any rank ended. Stop early once `stop` is set. Return the bytes read and written.
  uint64_t move(uint64_t bytes, const std::atomic<bool>& stop);

  CopyRoom(const CopyRoom&) = delete;
  CopyRoom& operator=(const CopyRoom&) = delete;
  ~CopyRoom() = default;

 private:
  static constexpr size_t kPiece = size_t{1} << 20;

  explicit CopyRoom(size_t pieces) : pieces_(pieces), busy_(new std::atomic_flag[pieces]) {}
  size_t take();  ///< a piece to which no other rank writes

  size_t pieces_;
  std::unique_ptr<std::byte[]> from_, to_;
  std::atomic<size_t> next_{0};
  std::unique_ptr<std::atomic_flag[]> busy_;
};

}  // namespace chakra::replay
