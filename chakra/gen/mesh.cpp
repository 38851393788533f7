#include "chakra/gen/mesh.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::gen {

int64_t Mesh::moved(int64_t rank, Axis axis, int64_t steps) const {
  const int64_t at = place(rank, axis);
  const int64_t to = ((at + steps) % of(axis) + of(axis)) % of(axis);
  return rank + (to - at) * stride[gen::index(axis)];
}

Result<Mesh> ordered(Mesh mesh, std::string_view order) {
  const auto wrong = [order](const char* why) {
    return fail(Code::usage, "gen.step.order",
                fmt::format("{} is not an order of ranks such as tp-cp-ep-dp-pp: {}", quote(order), why));
  };
  struct Word {
    std::string_view name;
    std::array<Axis, 2> axes;  ///< of the dense parts, of the experts
    std::array<bool, 2> has;
    bool needed;
  };
  const std::array<Word, 5> words{{{"tp", {Axis::tp, Axis::etp}, {true, true}, true},
                                   {"cp", {Axis::cp, Axis::cp}, {true, false}, mesh.of(Axis::cp) > 1},
                                   {"ep", {Axis::ep, Axis::ep}, {false, true}, mesh.of(Axis::ep) > 1},
                                   {"dp", {Axis::dp, Axis::edp}, {true, true}, true},
                                   {"pp", {Axis::pp, Axis::pp}, {true, true}, true}}};
  std::array<int64_t, 2> stride{1, 1};
  std::array<bool, words.size()> seen{};
  mesh.stride.fill(1);
  for (bool more = true; more;) {
    const size_t dash = order.find('-');
    const auto word = std::find_if(words.begin(), words.end(), [&](const Word& w) {
      return w.name == order.substr(0, std::min(dash, order.size()));
    });
    if (word == words.end()) return wrong("only tp, cp, ep, dp and pp are valid");
    bool& once = seen[static_cast<size_t>(word - words.begin())];
    if (std::exchange(once, true)) return wrong("it has a duplicate");
    if (word->name == "pp" && stride[0] != stride[1]) return wrong("experts would lie across stages");
    for (size_t side = 0; side < 2; ++side) {
      if (!word->has[side]) continue;
      mesh.stride[index(word->axes[side])] = stride[side];
      stride[side] *= mesh.of(word->axes[side]);
    }
    more = dash != std::string_view::npos;
    order.remove_prefix(more ? dash + 1 : order.size());
  }
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].needed && !seen[i]) return wrong("one is missing");
  CHAKRA_ASSERT(stride[0] == mesh.ranks() && stride[1] == mesh.ranks());
  return mesh;
}

namespace {

/// Which places on an axis of n meet.
std::vector<std::vector<int64_t>> meetings(const Slot& slot, int64_t n) {
  using Places = Slot::Places;
  if (slot.places == Places::ends) return {{0, n - 1}};
  int64_t count = 1;
  if (slot.places == Places::near) count = n / slot.block;
  if (slot.places == Places::far) count = slot.block;
  if (slot.places == Places::mirrored) count = n / 2;
  std::vector<std::vector<int64_t>> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < n; ++i) {
    int64_t which = 0;
    if (slot.places == Places::near) which = i / slot.block;
    if (slot.places == Places::far) which = i % slot.block;
    if (slot.places == Places::mirrored) which = std::min(i, n - 1 - i);
    result[static_cast<size_t>(which)].push_back(i);
  }
  return result;
}

}  // namespace

std::vector<std::vector<int64_t>> groups(const Mesh& mesh, const Slot& slot) {
  std::vector<int64_t> offsets{0};  // on the axes but the first
  for (size_t a = 1; a < slot.axes.size(); ++a) {
    const size_t before = offsets.size();
    for (int64_t i = 1; i < mesh.of(slot.axes[a]); ++i)
      for (size_t o = 0; o < before; ++o) offsets.push_back(offsets[o] + i * mesh.stride[index(slot.axes[a])]);
  }
  const Axis first = slot.axes[0];
  const std::vector<std::vector<int64_t>> sets = meetings(slot, mesh.of(first));
  std::vector<std::vector<int64_t>> result;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    if (std::any_of(slot.axes.begin(), slot.axes.end(), [&](Axis axis) { return mesh.place(rank, axis) != 0; }))
      continue;
    for (const std::vector<int64_t>& set : sets) {
      std::vector<int64_t>& members = result.emplace_back();
      for (const int64_t place : set)
        for (const int64_t offset : offsets) members.push_back(rank + place * mesh.stride[index(first)] + offset);
      std::sort(members.begin(), members.end());
      CHAKRA_ASSERT(static_cast<int64_t>(members.size()) == slot.size);
    }
  }
  return result;
}

}  // namespace chakra::gen
