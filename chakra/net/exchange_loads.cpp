// Exchanges over shortest paths: what each hop carries if each rank sends one byte to each other rank of its row.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "chakra/net/shortest_paths.h"

namespace chakra::net {

/// For each root, all that goes to its ranks flows together: from the ranks to the switches, then from switch to
/// switch, the farthest ones first, so that all has come before it goes on. Roots that cycles (turns.h) of the row map
/// onto each other load hops that are mapped likewise: one root is played out, and the loads are divided evenly among
/// the hops of their orbits. Rows that cycles of all ranks map onto each other are treated in the same way.
class ShortestPaths::Exchange {
 public:
  Exchange(const ShortestPaths& paths, std::span<const int64_t> ranks, size_t extent, std::vector<double>& bytes)
      : paths_(paths),
        ranks_(ranks),
        extent_(extent),
        bytes_(bytes),
        here_(scratch()[0]),
        of_row_{scratch()[1], {}},
        of_all_{scratch()[2], {}} {
    if (here_.size() < paths.devices_) here_.resize(paths.devices_, 0);
    for (Loads* loads : {&of_row_, &of_all_})
      if (loads->sums.size() < paths.out_.size()) loads->sums.resize(paths.out_.size(), 0);
  }

  void run() {
    const size_t rows = ranks_.size() / extent_;
    const Cycles all = rows > 1 ? cycles_of_rows() : Cycles();
    const auto add = [&](uint32_t hop, double amount) { bytes_[paths_.out_[hop].trunk] += amount; };
    for (const auto& [row, count] : first_rows(rows, all)) {
      row_ = ranks_.subspan(row * extent_, extent_);
      const Cycles cycles(paths_.turns_, row_);
      play_row(cycles);
      const auto add_to_all = [&, times = static_cast<double>(count)](uint32_t hop, double amount) {
        of_all_.add(hop, amount * times);
      };
      if (all.empty()) divide(cycles, of_row_, add);
      else if (cycles.are_among(all)) divide(Cycles(), of_row_, add_to_all);  // they are divided with all
      else divide(cycles, of_row_, add_to_all);
    }
    if (!all.empty()) divide(all, of_all_, add);
  }

 private:
  /// By hop of out_.
  struct Loads {
    std::vector<double>& sums;
    std::vector<uint32_t> loaded;

    void add(uint32_t hop, double amount) {
      if (sums[hop] == 0) loaded.push_back(hop);
      sums[hop] += amount;
    }
  };

  /// Those of all ranks that map rows onto rows. Fills turned_row_.
  Cycles cycles_of_rows() {
    Cycles cycles(paths_.turns_, ranks_);
    if (cycles.empty()) return cycles;
    absl::flat_hash_map<uint32_t, uint32_t> row_of;
    row_of.reserve(ranks_.size());
    for (size_t i = 0; i < ranks_.size(); ++i)
      row_of.emplace(static_cast<uint32_t>(ranks_[i]), static_cast<uint32_t>(i / extent_));
    turned_row_.resize(paths_.turns_.count());
    for (size_t t = 0; t < turned_row_.size(); ++t) {
      if (!cycles.uses(t)) continue;
      turned_row_[t].assign(ranks_.size() / extent_, UINT32_MAX);
      for (size_t i = 0; i < ranks_.size() && cycles.uses(t); ++i) {
        const uint32_t to = row_of.at(cycles.next(t, static_cast<uint32_t>(ranks_[i])));
        uint32_t& row = turned_row_[t][i / extent_];
        if (row != UINT32_MAX && row != to) cycles.drop(t);
        row = to;
      }
    }
    return cycles;
  }

  /// One row of each orbit, and the number of rows in the orbit.
  std::vector<std::pair<size_t, size_t>> first_rows(size_t rows, const Cycles& all) const {
    std::vector<std::pair<size_t, size_t>> found;
    std::vector<char> seen(rows, 0);
    std::vector<size_t> orbit;
    for (size_t row = 0; row < rows; ++row) {
      if (std::exchange(seen[row], 1)) continue;
      orbit.assign(1, row);
      for (size_t i = 0; i < orbit.size(); ++i)
        for (size_t t = 0; t < turned_row_.size(); ++t)
          if (all.uses(t))
            if (const size_t to = turned_row_[t][orbit[i]]; !std::exchange(seen[to], 1)) orbit.push_back(to);
      found.emplace_back(row, orbit.size());
    }
    return found;
  }

  void play_row(const Cycles& cycles) {
    std::map<uint32_t, std::vector<int64_t>> by_root;
    for (const int64_t rank : row_) by_root[paths_.root_of(rank)].push_back(rank);
    for (const auto& [root, targets] : by_root) {
      if (!cycles.is_first(root)) continue;
      times_ = static_cast<double>(cycles.orbit(root));
      play(root, targets);
    }
  }

  /// Zeros between two exchanges: by device, and twice by hop.
  static std::array<std::vector<double>, 3>& scratch() {
    thread_local std::array<std::vector<double>, 3> zeros;
    return zeros;
  }

  /// Puts an amount on a hop of out_.
  void load(const Hop& hop, double amount) {
    of_row_.add(static_cast<uint32_t>(&hop - paths_.out_.data()), amount * times_);
  }
  void bring(uint32_t device, double amount, const Turned& ways) {
    if (device < paths_.ranks_ || amount == 0) return;
    if (here_[device] == 0) waiting_.emplace(ways[device].far, ways[device].hops, device);
    here_[device] += amount;
  }

  /// Sends an amount on from a device, to the next ones.
  void pass(uint32_t device, int64_t to, double amount, const Turned& ways) {
    const uint32_t first = paths_.out_first_[device];
    if (paths_.out_first_[device + 1] - first == 1) {
      load(paths_.out_[first], amount);
      return bring(paths_.out_[first].to, amount, ways);
    }
    paths_.next(device, to, ways, nexts_);
    double weight = 0;
    for (const Next& n : nexts_) weight += n.weight;
    for (const Next& n : nexts_) {
      const double part = amount * (n.weight / weight);
      load(as_out(*n.hop), part);
      bring(n.hop->to, part, ways);
    }
  }

  void play(uint32_t root, const std::vector<int64_t>& targets) {
    const Turned ways = paths_.ways_to(root, false);
    for (const int64_t rank : row_) {
      const bool inside = paths_.root_of(rank) == root;
      if (inside && targets.size() == 1) continue;
      const int64_t other = rank == targets[0] ? targets[1] : targets[0];
      pass(static_cast<uint32_t>(rank), other, static_cast<double>(targets.size() - (inside ? 1 : 0)), ways);
    }
    while (!waiting_.empty()) {
      const uint32_t device = std::get<2>(waiting_.top());
      waiting_.pop();
      const double amount = std::exchange(here_[device], 0);
      if (device != root) pass(device, targets[0], amount, ways);
    }
    if (root < paths_.ranks_) return;
    for (const int64_t target : targets)
      load(as_out(paths_.in_[paths_.in_first_[static_cast<size_t>(target)]]), static_cast<double>(extent_ - 1));
  }

  /// The same hop in out_, where a hop is of in_.
  const Hop& as_out(const Hop& hop) const {
    if (&hop >= paths_.out_.data() && &hop < paths_.out_.data() + paths_.out_.size()) return hop;
    const Hop* at = paths_.out_.data() + paths_.out_first_[hop.from];
    while (at->trunk != hop.trunk) ++at;
    return *at;
  }

  /// Calls take(hop, amount): what the hops of each orbit carry together is divided evenly among them.
  template <class Take>
  void divide(const Cycles& cycles, Loads& loads, const Take& take) {
    std::vector<uint32_t> orbit;
    for (const uint32_t number : loads.loaded) {
      if (loads.sums[number] == 0) continue;  // gathered by a hop of its orbit before
      orbit.assign(1, number);
      for (size_t t = 0; t < paths_.turns_.count(); ++t) {
        const Hop& hop = paths_.out_[number];
        const size_t before = orbit.size();
        const size_t all = before * std::lcm(cycles.length(t, hop.from), cycles.length(t, hop.to));
        while (orbit.size() < all) orbit.push_back(next(cycles, t, orbit[orbit.size() - before]));
      }
      double sum = 0;
      for (const uint32_t h : orbit) sum += std::exchange(loads.sums[h], 0);
      for (const uint32_t h : orbit) take(h, sum / static_cast<double>(orbit.size()));
    }
    loads.loaded.clear();
  }

  /// The hop that the permutation of a turn makes of a hop.
  uint32_t next(const Cycles& cycles, size_t turn, uint32_t number) const {
    const Hop& hop = paths_.out_[number];
    const Hop& to = paths_.like(hop, cycles.next(turn, hop.from), cycles.next(turn, hop.to));
    return static_cast<uint32_t>(&to - paths_.out_.data());
  }

  const ShortestPaths& paths_;
  std::span<const int64_t> ranks_;
  size_t extent_;
  std::vector<double>& bytes_;
  std::vector<std::vector<uint32_t>> turned_row_;  ///< by turn and row: the row that its permutation makes of it
  std::span<const int64_t> row_;                   ///< that is played out
  std::vector<double>& here_;                      ///< by device: what has come and goes on
  Loads of_row_, of_all_;
  double times_ = 1;                                                          ///< roots of the orbit that is played out
  std::priority_queue<std::tuple<Picoseconds, uint32_t, uint32_t>> waiting_;  ///< far, hops, device
  std::vector<Next> nexts_;
};

void ShortestPaths::add_exchanges(std::span<const int64_t> ranks, size_t extent, std::vector<double>& bytes) const {
  CHAKRA_ASSERT(joined_by_switches_);
  CHAKRA_ASSERT(extent > 0 && ranks.size() % extent == 0);
  Exchange(*this, ranks, extent, bytes).run();
}

}  // namespace chakra::net
