#include "chakra/feeders/waits.h"

#include <algorithm>
#include <numeric>

namespace chakra::feeders {

void WaitsBuilder::add(const Ids& ids, std::vector<uint64_t>& deps) {
  const Row row = ids.size() - 1;
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  uint32_t known = 0;
  for (const uint64_t dep : deps) {
    const auto parent = ids.ascend() ? ids.find(dep) : std::nullopt;
    if (parent) parents_.push_back(*parent), ++known;
    else unresolved_.emplace_back(dep, row);
  }
  known_.push_back(known);
}

Waits WaitsBuilder::finish(const Ids& ids) && {
  CHAKRA_ASSERT(known_.size() == ids.size());
  Waits waits;
  waits.waits_for = known_;
  waits.first_child.assign(size_t{ids.size()} + 1, 0);
  for (const Row parent : parents_) ++waits.first_child[parent + 1];
  size_t resolved = 0;
  for (const auto& [id, child] : unresolved_) {
    ++waits.waits_for[child];
    const auto parent = ids.find(id);
    if (parent) ++waits.first_child[*parent + 1], unresolved_[resolved] = {*parent, child}, ++resolved;
    else waits.absent.emplace_back(id, child);
  }
  unresolved_.resize(resolved);
  std::sort(waits.absent.begin(), waits.absent.end());
  std::partial_sum(waits.first_child.begin(), waits.first_child.end(), waits.first_child.begin());
  waits.all_children.resize(waits.first_child.back());
  std::vector<uint32_t> next(waits.first_child.begin(), waits.first_child.end() - 1);
  auto edge = parents_.begin();
  auto also = unresolved_.begin();  // both by ascending child
  for (Row child = 0; child < ids.size(); ++child) {
    for (uint32_t n = 0; n < known_[child]; ++n) waits.all_children[next[*edge++]++] = child;
    for (; also != unresolved_.end() && also->second == child; ++also) waits.all_children[next[also->first]++] = child;
  }
  return waits;
}

std::optional<Row> Waits::cycle() const {
  std::vector<uint32_t> missing = waits_for;
  std::vector<Row> ready;
  for (Row row = 0; row < missing.size(); ++row)
    if (missing[row] == 0) ready.push_back(row);
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const Row row = ready.back();
    ready.pop_back();
    for (const Row child : children(row))
      if (--missing[child] == 0) ready.push_back(child);
  }
  if (done == missing.size()) return std::nullopt;
  return static_cast<Row>(std::find_if(missing.begin(), missing.end(), [](uint32_t n) { return n > 0; }) -
                          missing.begin());
}

}  // namespace chakra::feeders
