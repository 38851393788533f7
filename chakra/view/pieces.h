// A file in pieces, which several cores make side by side. Inside view.
#pragma once

#include <algorithm>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::view {

/// Slices or other events of a piece.
inline constexpr size_t kPieceEvents = 8192;

/// Call fill(out, 0), ..., fill(out, count - 1) on all cores, each with an empty Out, and write(out) in this order,
/// beside the next calls of fill. Memory: eight pieces a core.
template <class Out, class Fill, class Write>
Result<void> write_pieces(size_t count, const Fill& fill, const Write& write) {
  const size_t together = std::min(count, 4 * static_cast<size_t>(cores()));
  std::vector<Out> filled(together), written(together);
  size_t to_write = 0;
  for (size_t begin = 0; begin < count || to_write > 0; begin += together) {
    const size_t used = begin < count ? std::min(together, count - begin) : 0;
    Result<void> done;
    all_in_parallel(1 + used, [&](size_t i) {
      if (i > 0) {
        filled[i - 1].clear();
        return fill(filled[i - 1], begin + i - 1);
      }
      for (size_t piece = 0; piece < to_write && done; ++piece) done = write(written[piece]);
    });
    CHAKRA_TRY(done);
    std::swap(filled, written);
    to_write = used;
  }
  return {};
}

}  // namespace chakra::view
