// The bytes of each link: in all, and over time in equal intervals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::net {

using LinkId = uint32_t;

/// The traffic of a link, counted when a message is complete.
struct LinkTotal {
  LinkId link = 0;
  uint64_t bytes = 0;
  Picoseconds busy_ps = 0;  ///< time that the bytes take at the link's full rate

  bool operator==(const LinkTotal&) const = default;
};

/// The bytes of links in equal intervals of time, the first from 0.
struct LinkHistory {
  struct Row {
    LinkId link = 0;  ///< the first of `links` that have carried equal parts
    int64_t links = 1;
    std::vector<double> bytes;  ///< of all these links, by interval
  };
  Picoseconds interval_ps = 1;
  std::vector<Row> rows;  ///< by link
  bool cut = false;  ///< more than HistoryKeeper::kMostLinks links or trunks carried something; rows lack the others
};

/// Call use(i, passed) for each of the equal intervals from time 0 that a time touches, with the part of it inside.
template <class Use>
void each_interval(Picoseconds from, Picoseconds to, Picoseconds interval, const Use& use) {
  for (Picoseconds at = from; at < to;) {
    const Picoseconds i = at / interval, next = std::min((i + 1) * interval, to);
    use(static_cast<size_t>(i), next - at);
    at = next;
  }
}

/// Intervals are as short as the time so far allows: where the time is longer than all intervals, two become one. So
/// the memory does not depend on the length of the run.
class HistoryKeeper {
 public:
  static constexpr Picoseconds kIntervals = 48;              ///< even
  static constexpr uint32_t kMostLinks = uint32_t{1} << 18;  ///< later ones are not kept

  /// Bytes that pass a link between two times, at a constant rate; at equal times at once. Cost: O(intervals between).
  void add(uint32_t slot, Picoseconds from, Picoseconds to, double bytes) {
    if (bytes <= 0) return;
    if (slot >= kMostLinks) return void(cut_ = true);
    while (to / interval_ >= kIntervals) widen();
    if (slot >= bytes_.size()) bytes_.resize(slot + size_t{1});
    std::vector<double>& of = bytes_[slot];
    if (of.empty()) of.resize(kIntervals, 0);
    if (from == to) return void(of[static_cast<size_t>(from / interval_)] += bytes);
    each_interval(from, to, interval_, [&](size_t i, Picoseconds passed) {
      of[i] += bytes * (static_cast<double>(passed) / static_cast<double>(to - from));
    });
  }

  Picoseconds interval() const { return interval_; }
  bool cut() const { return cut_; }
  /// Return the bytes by slot and interval; empty: none.
  const std::vector<std::vector<double>>& bytes() const { return bytes_; }

 private:
  void widen() {
    interval_ *= 2;
    for (std::vector<double>& of : bytes_) {
      if (of.empty()) continue;
      for (size_t i = 0; i < of.size(); ++i) of[i] = 2 * i < of.size() ? of[2 * i] + of[2 * i + 1] : 0;
    }
  }

  Picoseconds interval_ = 1;
  bool cut_ = false;                        ///< a link beyond kMostLinks carried something
  std::vector<std::vector<double>> bytes_;  ///< by slot and interval; empty: none
};

}  // namespace chakra::net
