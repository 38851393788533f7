// Changes the chains of CPU threads if a thread turns out to have waited: the
// gap, or the piece of an operator, keeps only the time after the wait.
#pragma once

#include <algorithm>

#include "chakra/link/linking.h"

namespace chakra::link {

class ChainEditor {
 public:
  explicit ChainEditor(Linking& l) : l_(l) {}

 protected:
  void dep(uint32_t item, uint32_t on, trace::EdgeKind kind, bool inferred) {
    l_.graph.deps.push_back({item, on, kind, inferred, 0});
  }
  Item& item(uint32_t id) { return l_.graph.items[id]; }

  /// Whether the thread is outside all operators: in gaps, or in annotations that begin between gaps.
  bool is_idle(uint32_t id) { return item(id).kind == Item::Kind::gap || item(id).kind == Item::Kind::annotation; }

  /// Return the position in a chain of the first item that ends at `time` or later.
  size_t position_at(uint32_t thread, int64_t time) {
    const auto& chain = l_.graph.chains[thread];
    const auto found =
        std::lower_bound(chain.begin(), chain.end(), time, [&](uint32_t id, int64_t t) { return item(id).end() < t; });
    return static_cast<size_t>(found - chain.begin());
  }

  std::vector<uint32_t>::const_iterator find_in_chain(uint32_t id) {
    const auto& chain = l_.graph.chains[item(id).lane];
    return std::find(chain.begin() + static_cast<ptrdiff_t>(position_at(item(id).lane, item(id).end())), chain.end(),
                     id);
  }

  /// Return the gap of a thread that contains `time` (begin < time <= end), or kNone if the thread was not idle.
  uint32_t gap_at(uint32_t thread, int64_t time) {
    const auto& chain = l_.graph.chains[thread];
    for (size_t at = position_at(thread, time); at < chain.size() && item(chain[at]).start < time; ++at)
      if (item(chain[at]).kind == Item::Kind::gap) return chain[at];
    return kNone;
  }

  /// Keep only the part of the gap after `time`, the end of the wait.
  void shrink_gap(uint32_t gap, int64_t time) {
    Item& it = item(gap);
    time = std::clamp(time, it.start, it.end());
    it.dur = it.end() - time;
    it.start = time;
    it.waited = true;
  }

  /// Cut a thread's item at `time`; the first part keeps the id. Return the second part.
  uint32_t cut(uint32_t id, int64_t time) {
    Item rest = item(id);
    if (rest.kind == Item::Kind::op) rest.kind = Item::Kind::op_rest;
    if (rest.kind == Item::Kind::call) rest.kind = Item::Kind::call_rest;
    if (rest.continues() && !item(id).continues()) rest.of = id;
    rest.start = time;
    rest.dur = item(id).end() - time;
    const auto rest_id = static_cast<uint32_t>(l_.graph.items.size());
    if (l_.threads.beside.empty() || !l_.threads.beside[rest.lane]) {
      const auto at = find_in_chain(id);
      l_.graph.chains[rest.lane].insert(at + 1, rest_id);
    } else {
      dep(rest_id, id, trace::EdgeKind::program, false);  // no chain joins the parts
    }
    item(id).dur = time - item(id).start;
    l_.graph.items.push_back(rest);
    return rest_id;
  }

  Linking& l_;
};

}  // namespace chakra::link
