// Exchanges over shortest paths: what each hop carries if each rank sends one byte to each other rank.
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "chakra/net/shortest_paths.h"

namespace chakra::net {

/// For each root, all that goes to its ranks flows together: from the ranks to the switches, then from switch to
/// switch, the farthest ones first, so that all has come before it goes on. If turns map the ranks onto each other,
/// roots of an orbit load hops that are turned likewise: one root is played out, and its loads are divided evenly
/// among the hops of their orbits.
class ShortestPaths::Exchange {
 public:
  Exchange(const ShortestPaths& paths, std::span<const int64_t> ranks, std::vector<double>& bytes)
      : paths_(paths), ranks_(ranks), bytes_(bytes), turns_(kept_turns()), here_(scratch()[0]), sums_(scratch()[1]) {
    if (here_.size() < paths.devices_) here_.resize(paths.devices_, 0);
    if (sums_.size() < paths.out_.size()) sums_.resize(paths.out_.size(), 0);
  }

  void run() {
    std::map<uint32_t, std::vector<int64_t>> by_root;
    for (const int64_t rank : ranks_) by_root[paths_.root_of(rank)].push_back(rank);
    for (const auto& [root, targets] : by_root) {
      if (is_first(root)) play(root, targets);
    }
    if (!turns_.empty()) divide();
  }

 private:
  /// The turns that map the ranks onto each other.
  DeviceTurns kept_turns() const {
    DeviceTurns turns = paths_.turns_;
    if (turns.empty()) return turns;
    const absl::flat_hash_set<uint32_t> members(ranks_.begin(), ranks_.end());
    for (size_t t = 0; t < turns.count(); ++t) {
      Turns::Steps step{};
      step[t] = turns.extent(t) > 1 ? 1 : 0;
      const bool kept = step[t] > 0 && std::all_of(ranks_.begin(), ranks_.end(), [&](int64_t rank) {
                          return members.contains(turns.turned(static_cast<uint32_t>(rank), step, false));
                        });
      if (!kept) turns.drop(t);
    }
    return turns;
  }

  bool is_first(uint32_t device) const {
    const Turns::Steps place = turns_.place(device);
    return std::all_of(place.begin(), place.end(), [](uint32_t p) { return p == 0; });
  }

  /// Zeros between two exchanges: by device and by hop.
  static std::array<std::vector<double>, 2>& scratch() {
    thread_local std::array<std::vector<double>, 2> zeros;
    return zeros;
  }

  /// Puts an amount on a hop of out_.
  void load(const Hop& hop, double amount) {
    if (turns_.empty()) {
      bytes_[hop.trunk] += amount;
      return;
    }
    const auto number = static_cast<uint32_t>(&hop - paths_.out_.data());
    if (sums_[number] == 0) loaded_.push_back(number);
    sums_[number] += amount * times_;
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
    times_ = static_cast<double>(turns_.orbit(root));
    const Turned ways = paths_.ways_to(root, false);
    for (const int64_t rank : ranks_) {
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
      load(as_out(paths_.in_[paths_.in_first_[static_cast<size_t>(target)]]), static_cast<double>(ranks_.size() - 1));
  }

  /// The same hop in out_, where a hop is of in_.
  const Hop& as_out(const Hop& hop) const {
    if (&hop >= paths_.out_.data() && &hop < paths_.out_.data() + paths_.out_.size()) return hop;
    return turns_.empty() ? hop : paths_.turned(hop, {}, false);
  }

  /// What the hops of each orbit carry together is divided evenly among them.
  void divide() {
    std::vector<uint32_t> orbit;
    for (const uint32_t number : loaded_) {
      if (sums_[number] == 0) continue;  // gathered by a hop of its orbit before
      const Hop& hop = paths_.out_[number];
      orbit.assign(1, number);
      for (size_t t = 0; t < turns_.count(); ++t) {
        if (!turns_.moves(t, hop.from) && !turns_.moves(t, hop.to)) continue;
        const std::vector<uint32_t>& next = paths_.one_step(t);
        const size_t before = orbit.size(), all = before * turns_.extent(t);
        while (orbit.size() < all) orbit.push_back(next[orbit[orbit.size() - before]]);
      }
      double sum = 0;
      for (const uint32_t h : orbit) sum += std::exchange(sums_[h], 0);
      for (const uint32_t h : orbit) bytes_[paths_.out_[h].trunk] += sum / static_cast<double>(orbit.size());
    }
  }

  const ShortestPaths& paths_;
  std::span<const int64_t> ranks_;
  std::vector<double>& bytes_;
  DeviceTurns turns_;
  std::vector<double>& here_;     ///< by device: what has come and goes on
  std::vector<double>& sums_;     ///< with turns, by hop of out_: its load for all roots of the orbits
  std::vector<uint32_t> loaded_;  ///< hops with a sum
  double times_ = 1;              ///< roots of the orbit that is played out
  std::priority_queue<std::tuple<Picoseconds, uint32_t, uint32_t>> waiting_;  ///< far, hops, device
  std::vector<Next> nexts_;
};

void ShortestPaths::add_exchange(std::span<const int64_t> ranks, std::vector<double>& bytes) const {
  CHAKRA_ASSERT(joined_by_switches_);
  Exchange(*this, ranks, bytes).run();
}

}  // namespace chakra::net
