// The order of the nodes: time, but each after what it waits for.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "chakra/link/assemble.h"

namespace chakra::link {
namespace {

class Orderer {
 public:
  explicit Orderer(Graph& graph) : items_(graph.items), deps_(graph.deps) {
    const size_t count = items_.size();
    missing_.assign(count, 0);
    next_.assign(count, kNone);
    for (const auto& chain : graph.chains)
      for (size_t i = 1; i < chain.size(); ++i) {
        next_[chain[i - 1]] = chain[i];
        ++missing_[chain[i]];
      }
    begin_.assign(count + 1, 0);
    for (const Dependency& d : deps_) ++begin_[d.on + 1], ++missing_[d.item];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    dependents_.resize(deps_.size());
    std::vector<uint32_t> fill(begin_.begin(), begin_.end() - 1);
    for (uint32_t d = 0; d < deps_.size(); ++d) dependents_[fill[deps_[d].on]++] = d;
    dropped_.assign(deps_.size(), 0);
    placed_.assign(count, 0);
  }

  std::vector<uint32_t> run() {
    std::vector<uint32_t> order;
    order.reserve(items_.size());
    for (uint32_t i = 0; i < items_.size(); ++i)
      if (missing_[i] == 0) ready_.push({items_[i].start, i});
    while (order.size() < items_.size()) {
      if (ready_.empty()) break_circle();
      const uint32_t item = ready_.top().second;
      ready_.pop();
      placed_[item] = 1;
      order.push_back(item);
      if (next_[item] != kNone) release(next_[item]);
      for (uint32_t i = begin_[item]; i < begin_[item + 1]; ++i)
        if (!dropped_[dependents_[i]]) release(deps_[dependents_[i]].item);
    }
    drop_marked();
    return order;
  }

  /// Dependencies that were left out.
  int64_t drops() const { return drops_; }

 private:
  void drop_marked() {
    if (drops_ == 0) return;
    size_t kept = 0;
    for (size_t d = 0; d < deps_.size(); ++d)
      if (!dropped_[d]) deps_[kept++] = deps_[d];
    deps_.resize(kept);
  }

  void release(uint32_t item) {
    if (--missing_[item] == 0) ready_.push({items_[item].start, item});
  }

  bool holds(uint32_t d) const { return !dropped_[d] && !placed_[deps_[d].item] && !placed_[deps_[d].on]; }

  void break_circle() {
    if (by_item_.empty()) {
      by_item_.resize(deps_.size());
      std::iota(by_item_.begin(), by_item_.end(), 0);
      std::sort(by_item_.begin(), by_item_.end(), [&](uint32_t a, uint32_t b) {
        const uint32_t x = deps_[a].item, y = deps_[b].item;
        return std::tuple(items_[x].start, x, a) < std::tuple(items_[y].start, y, b);
      });
    }
    while (ready_.empty()) {
      while (!holds(by_item_[at_])) ++at_;  // what does not hold now never will again
      const uint32_t first = deps_[by_item_[at_]].item;
      const int64_t before = drops_;
      drop(first, true);
      if (drops_ == before) drop(first, false);
    }
  }

  void drop(uint32_t item, bool inferred_only) {
    for (size_t i = at_; i < by_item_.size() && deps_[by_item_[i]].item == item; ++i) {
      const uint32_t d = by_item_[i];
      if (!holds(d) || (inferred_only && !deps_[d].inferred)) continue;
      dropped_[d] = 1;
      ++drops_;
      release(item);
    }
  }

  const std::vector<Item>& items_;
  std::vector<Dependency>& deps_;
  std::vector<uint32_t> missing_;             ///< per item: what it still waits for
  std::vector<uint32_t> next_;                ///< per item: the next on its thread
  std::vector<uint32_t> begin_, dependents_;  ///< dependencies by what they wait for
  std::vector<char> dropped_, placed_;
  using Entry = std::pair<int64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready_;
  std::vector<uint32_t> by_item_;  ///< dependencies by the start of who waits; made when there is a circle
  size_t at_ = 0;
  int64_t drops_ = 0;
};

}  // namespace

std::vector<uint32_t> order_items(Linking& l) {
  Orderer orderer(l.graph);
  std::vector<uint32_t> order = orderer.run();
  if (orderer.drops() > 0)
    l.find("pytorch.time.circle", Severity::warning,
           fmt::format("the measured times contradict each other: {} dependencies were left out",
                       show_count(orderer.drops())));
  return order;
}

}  // namespace chakra::link
