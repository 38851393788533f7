#include "chakra/feeders/waits.h"

#include <algorithm>
#include <numeric>

namespace chakra::feeders {

void WaitsBuilder::add(std::vector<uint64_t>& deps) {
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  counts_.push_back(static_cast<uint32_t>(deps.size()));
  deps_.insert(deps_.end(), deps.begin(), deps.end());
}

Waits WaitsBuilder::finish(const Ids& ids) && {
  CHAKRA_ASSERT(counts_.size() == ids.size());
  constexpr uint64_t kAbsent = UINT64_MAX;
  std::vector<uint32_t> begins;  // in deps_, by place; empty: rows are places
  if (!ids.ascend()) {
    begins.resize(counts_.size());
    std::exclusive_scan(counts_.begin(), counts_.end(), begins.begin(), uint32_t{0});
  }
  const auto each_row = [&](const auto& use) {
    uint32_t begin = 0;
    for (Row row = 0; row < ids.size(); ++row) {
      const Row place = ids.place(row);
      if (!begins.empty()) begin = begins[place];
      use(row, std::span(deps_).subspan(begin, counts_[place]));
      begin += counts_[place];
    }
  };
  Waits waits;
  waits.waits_for.resize(ids.size());
  waits.first_child.assign(size_t{ids.size()} + 1, 0);
  each_row([&](Row row, std::span<uint64_t> deps) {
    waits.waits_for[row] = static_cast<uint32_t>(deps.size());
    for (uint64_t& dep : deps) {
      const auto parent = ids.find(dep);
      if (parent) ++waits.first_child[*parent + 1];
      else waits.absent.emplace_back(dep, row);
      dep = parent ? *parent : kAbsent;
    }
  });
  std::sort(waits.absent.begin(), waits.absent.end());
  std::partial_sum(waits.first_child.begin(), waits.first_child.end(), waits.first_child.begin());
  waits.all_children.resize(waits.first_child.back());
  std::vector<uint32_t> next(waits.first_child.begin(), waits.first_child.end() - 1);
  each_row([&](Row row, std::span<uint64_t> parents) {
    for (const uint64_t parent : parents)
      if (parent != kAbsent) waits.all_children[next[parent]++] = row;
  });
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
