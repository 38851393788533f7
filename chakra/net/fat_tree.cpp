// Fat trees: extended generalised fat trees XGFT(h; m_1 .. m_h; w_1 .. w_h), Oehring et al., "On generalized fat trees"
// (1995). A device of level i - 1 has w_i switches of level i above it, a switch of level i has m_i devices below it.
// Level i has m_{i+1} .. m_h w_1 .. w_i devices. Device (x, y) of level i - 1 (x: which subtree; y: which of its tops)
// is linked with the devices (x / m_i, y w_i + k) of level i, 0 <= k < w_i.
#include <fmt/core.h>

#include "chakra/net/rows.h"
#include "chakra/net/shapes.h"

namespace chakra::net {
namespace {

/// Devices of a level, as subtrees x tops of each.
struct TreeLevel {
  double subtrees = 1, tops = 1;
  double devices() const { return subtrees * tops; }
};

/// Ranks first.
std::vector<TreeLevel> levels(ShapeNumbers numbers) {
  const std::vector<int64_t>&down = numbers[0], &up = numbers[1];
  std::vector<TreeLevel> levels(1);
  for (const int64_t m : down) levels[0].subtrees *= static_cast<double>(m);
  for (size_t i = 0; i < down.size(); ++i)
    levels.push_back({levels[i].subtrees / static_cast<double>(down[i]), levels[i].tops * static_cast<double>(up[i])});
  return levels;
}

}  // namespace

ShapeSize fat_tree_size(ShapeNumbers numbers) {
  if (numbers[0].size() != numbers[1].size())
    return {.wrong = fmt::format("{} levels in 'down', but {} in 'up'", numbers[0].size(), numbers[1].size())};
  const std::vector<TreeLevel> all = levels(numbers);
  ShapeSize size{.ranks = all[0].devices(), .cable_kinds = all.size() - 1, .switch_kinds = all.size() - 1};
  for (size_t i = 1; i < all.size(); ++i) {
    size.switches += all[i].devices();
    size.cables += all[i - 1].devices() * static_cast<double>(numbers[1][i - 1]);
  }
  return size;
}

void build_fat_tree(ShapeNumbers numbers, ShapeBuilder& out) {
  const std::vector<int64_t>&down = numbers[0], &up = numbers[1];
  const std::vector<TreeLevel> all = levels(numbers);
  for (const int64_t extent : down) out.axis(extent, RowForm::star);
  std::vector<Turns::Row> rows(1);
  uint32_t below = 0;  // the first device of the level below
  for (size_t i = 0; i < down.size(); ++i) {
    const auto first = static_cast<uint32_t>(out.graph.names.size());
    for (int64_t s = 0; s < static_cast<int64_t>(all[i + 1].devices()); ++s)
      out.add_switch(fmt::format("switch {}.{}", i + 1, s), i);
    const auto tops = static_cast<int64_t>(all[i].tops), devices = static_cast<int64_t>(all[i].devices());
    for (int64_t device = 0; device < devices; ++device) {
      const int64_t x = device / tops, y = device % tops;
      for (int64_t k = 0; k < up[i]; ++k)
        out.cable(below + static_cast<uint32_t>(device),
                  first + static_cast<uint32_t>(x / down[i] * tops * up[i] + y * up[i] + k), i);
    }
    below = first;
    rows.push_back({first, {}});
  }
  // Turn t moves subtrees of level t to the next place, with all below.
  for (size_t i = 0; i < rows.size(); ++i) {
    auto stride = static_cast<uint32_t>(all[i].tops);
    for (size_t t = 0; t < down.size(); ++t) {
      rows[i].strides.push_back(t < i ? 0 : stride);
      if (t >= i) stride *= static_cast<uint32_t>(down[t]);
    }
  }
  out.graph.turns = Turns({down.begin(), down.end()}, std::move(rows), UINT32_MAX);
}

}  // namespace chakra::net
