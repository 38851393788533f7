// Spans of time on one clock.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::analyze {

using Span = std::pair<Picoseconds, Picoseconds>;  ///< begin, end

/// Sort the spans, and merge those that overlap. Cost: O(spans log spans).
inline std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end());
  std::vector<Span> out;
  for (const Span& s : spans) {
    if (s.second <= s.first) continue;
    if (out.empty() || s.first > out.back().second) out.push_back(s);
    else out.back().second = std::max(out.back().second, s.second);
  }
  return out;
}

/// Time of the spans outside of the busy spans; both merged. Cost: O(spans log busy + busy).
inline Picoseconds outside(const std::vector<Span>& spans, const std::vector<Span>& busy) {
  Picoseconds sum = 0;
  for (const auto& [begin, end] : spans) {
    sum += end - begin;
    auto at =
        std::lower_bound(busy.begin(), busy.end(), begin, [](const Span& s, Picoseconds t) { return s.second <= t; });
    for (; at != busy.end() && at->first < end; ++at) sum -= std::min(end, at->second) - std::max(begin, at->first);
  }
  return sum;
}

}  // namespace chakra::analyze
