// The links, or trunks of links, that have carried traffic, numbered in the order of
// first use. The state per link then stays small even in a network of very many links.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>
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
  void keep_history() { kept_.emplace(); }
  /// Bytes that pass a link between two times, for history().
  void keep(uint32_t slot, Picoseconds from, Picoseconds to, double bytes) {
    if (kept_) kept_->add(slot, from, to, bytes);
  }
  /// Return the history of links that have carried something.
  LinkHistory history() const {
    LinkHistory out;
    if (!kept_) return out;
    out.interval_ps = kept_->interval();
    out.cut = kept_->cut();
    for (uint32_t slot = 0; slot < kept_->bytes().size(); ++slot) {
      if (kept_->bytes()[slot].empty()) continue;
      const std::vector<LinkId> links = links_of(slot);
      out.rows.push_back({links.front(), std::ssize(links), kept_->bytes()[slot]});
    }
    std::sort(out.rows.begin(), out.rows.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
    return out;
  }

  /// Return the totals of links that have carried a message, by link. The links of a trunk have carried equal parts.
  std::vector<LinkTotal> totals() const {
    std::vector<LinkTotal> totals;
    for (uint32_t slot = 0; slot < totals_.size(); ++slot) {
      const LinkTotal& total = totals_[slot];
      if (total.bytes == 0) continue;
      const std::vector<LinkId> links = links_of(slot);
      for (size_t i = 0; i < links.size(); ++i)
        totals.push_back({links[i], total.bytes / links.size() + (i < total.bytes % links.size()), total.busy_ps});
    }
    std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
    return totals;
  }

 private:
  std::vector<LinkId> links_of(uint32_t slot) const {
    std::vector<LinkId> links;
    if (trunks_) fabric_.links_of(totals_[slot].link, links);
    else links.push_back(totals_[slot].link);
    return links;
  }

  static constexpr size_t kMostDirect = size_t{1} << 22;

  const Fabric& fabric_;
  bool trunks_;
  std::vector<uint32_t> slot_of_;                 ///< by link
  absl::flat_hash_map<LinkId, uint32_t> sparse_;  ///< used instead if there are too many links
  std::vector<LinkTotal> totals_;                 ///< by slot
  std::optional<HistoryKeeper> kept_;
};

}  // namespace chakra::net
