// The ranks of a job as points of a mesh: the size of each parallel axis, and the place of each rank. The dense
// parts of a model arrange a stage's ranks as tp x cp x dp, the experts arrange the same ranks as etp x ep x edp.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::gen {

enum class Axis : uint8_t { tp, cp, dp, etp, ep, edp, pp };
inline constexpr std::array<std::string_view, 7> kAxisNames{"tp", "cp", "dp", "etp", "ep", "edp", "pp"};
constexpr size_t index(Axis axis) { return static_cast<size_t>(axis); }

struct Mesh {
  std::array<int64_t, 7> size{1, 1, 1, 1, 1, 1, 1}, stride{};

  int64_t of(Axis axis) const { return size[gen::index(axis)]; }
  int64_t ranks() const { return of(Axis::tp) * of(Axis::cp) * of(Axis::dp) * of(Axis::pp); }
  int64_t place(int64_t rank, Axis axis) const { return rank / stride[gen::index(axis)] % of(axis); }
  /// Return the rank that is `steps` further along an axis, wrapping round.
  int64_t moved(int64_t rank, Axis axis, int64_t steps) const;
};

/// Set the strides of the axes of `mesh`. `order` names the axes, neighbours first, joined with '-'.
/// `order` must name tp, dp and pp, and cp and ep if larger than one. etp stands in the place of tp, edp in
/// that of dp. Requires positive sizes and etp x ep x edp = tp x cp x dp. Errors (usage): gen.step.order.
Result<Mesh> ordered(Mesh mesh, std::string_view order);

/// Ranks that communicate, as seen by one of the ranks: ranks that differ only in the places on `axes`,
/// all of one mesh of a stage or pp. On the first axis, `places` may restrict the places that meet.
struct Slot {
  enum class Places : uint8_t {
    all,
    near,     ///< `block` neighbours
    far,      ///< one of each `block`
    ends,     ///< first and last
    mirrored  ///< i and n - 1 - i
  };
  std::string name;
  std::vector<Axis> axes;
  int64_t size = 1;  ///< ranks per group
  Places places = Places::all;
  int64_t block = 1;

  /// Return the elements of one rank if the ranks of a group share `elements`: rounded up.
  double share(double elements) const { return std::ceil(elements / static_cast<double>(size)); }
};

/// Return all groups of that kind. Members ascend. Cost: O(ranks).
std::vector<std::vector<int64_t>> groups(const Mesh& mesh, const Slot& slot);

}  // namespace chakra::gen
