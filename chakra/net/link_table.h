// The links, or trunks of links, that have carried traffic, numbered in the order of
// first use. The state per link then stays small even in a network of very many links.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <vector>

#include "chakra/net/net.h"

namespace chakra::net {

class LinkTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `trunks`: number trunks instead of links.
  explicit LinkTable(const Fabric& fabric, bool trunks = false) : fabric_(fabric), trunks_(trunks) {
    const size_t links = trunks ? fabric.trunk_count() : fabric.link_count();
    if (links <= kMostDirect) slot_of_.assign(links, kNone);
  }

  /// Return the number of a link; call found(rate, latency) for a new link.
  template <class Found>
  uint32_t slot(LinkId id, const Found& found) {
    uint32_t& slot = slot_of_.empty() ? sparse_.try_emplace(id, kNone).first->second : slot_of_[id];
    if (slot == kNone) {
      slot = static_cast<uint32_t>(totals_.size());
      totals_.push_back({id, 0, 0});
      if (trunks_) {
        const Trunk trunk = fabric_.trunk(id);
        found(trunk.bytes_per_s, trunk.latency_ps);
      } else {
        const Link link = fabric_.link(id);
        found(link.bytes_per_s, link.latency_ps);
      }
    }
    return slot;
  }
  LinkTotal& total(uint32_t slot) { return totals_[slot]; }

  /// Return the totals of links that have carried a message, by link. The links of a trunk have carried equal parts.
  std::vector<LinkTotal> totals() const {
    std::vector<LinkTotal> totals;
    std::vector<LinkId> links;
    for (const LinkTotal& total : totals_) {
      if (total.bytes == 0) continue;
      links.clear();
      if (trunks_) fabric_.links_of(total.link, links);
      else links.push_back(total.link);
      for (size_t i = 0; i < links.size(); ++i)
        totals.push_back({links[i], total.bytes / links.size() + (i < total.bytes % links.size()), total.busy_ps});
    }
    std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
    return totals;
  }

 private:
  static constexpr size_t kMostDirect = size_t{1} << 22;

  const Fabric& fabric_;
  bool trunks_;
  std::vector<uint32_t> slot_of_;                 ///< by link
  absl::flat_hash_map<LinkId, uint32_t> sparse_;  ///< used instead if there are too many links
  std::vector<LinkTotal> totals_;                 ///< by slot
};

}  // namespace chakra::net
