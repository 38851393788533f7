#include "chakra/replay/work/copies.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

namespace chakra::replay {

Result<std::shared_ptr<CopyRoom>> CopyRoom::shared(uint64_t bytes) {
  static std::mutex mutex;
  static std::weak_ptr<CopyRoom> last;
  const std::lock_guard lock(mutex);
  const auto pieces = static_cast<size_t>(std::max<uint64_t>(1, bytes / 2 / kPiece));
  if (const auto known = last.lock(); known && known->pieces_ == pieces) return known;
  const std::shared_ptr<CopyRoom> room(new CopyRoom(pieces));
  for (auto* half : {&room->from_, &room->to_}) {
    half->reset(new (std::nothrow) std::byte[pieces * kPiece]);
    if (!*half)
      return fail(
          Code::io, "replay.memory",
          fmt::format("copies need {} of memory, which this machine does not have (--compute-option buffer=MIB)",
                      show_bytes(static_cast<double>(bytes))));
    std::memset(half->get(), 1, pieces * kPiece);  // the system gives memory when it is first written to
  }
  last = room;
  return room;
}

size_t CopyRoom::take() {
  for (;;) {
    const size_t piece = next_.fetch_add(1, std::memory_order_relaxed) % pieces_;
    if (!busy_[piece].test_and_set(std::memory_order_acquire)) return piece;
  }
}

uint64_t CopyRoom::move(uint64_t bytes, const std::atomic<bool>& stop) {
  uint64_t copied = 0;
  for (uint64_t rest = bytes / 2 + bytes % 2; rest > 0 && !stop;) {
    const auto now = static_cast<size_t>(std::min<uint64_t>(rest, kPiece));
    const size_t piece = take();
    std::memcpy(to_.get() + piece * kPiece, from_.get() + piece * kPiece, now);
    busy_[piece].clear(std::memory_order_release);
    rest -= now;
    copied += now;
  }
  return copied > UINT64_MAX / 2 ? UINT64_MAX : 2 * copied;
}

}  // namespace chakra::replay
