// Operators that match by the order of names alone may stand in different steps: their recorded shapes tell.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

std::vector<Argument> shapes_in(std::string_view shapes, std::string_view types) {
  std::vector<Argument> inputs;
  if (!parse_arguments(shapes, types, {}, inputs)) inputs.clear();  // derive_work() reports impossible shapes
  return inputs;
}

/// False for lists that one recording shortens: their sizes are unknown.
bool sizes_differ(const Argument& a, const Argument& b) {
  return a.tensors.size() == b.tensors.size() &&
         !std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(),
                     [](const TensorShape& x, const TensorShape& y) { return x.dims == y.dims; });
}

bool any_size_differs(const std::vector<Argument>& a, const std::vector<Argument>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (sizes_differ(a[i], b[i])) return true;
  return false;
}

}  // namespace

bool ShapeComparer::differ(uint32_t op, uint32_t h) {
  const uint32_t row = l_.profile().ops[op].shapes, io = l_.host().ops[h].io;
  if (row >= kShapesUnused || io == trace::kNoRow) return false;
  const trace::Tensors there = l_.host().io(l_.host().ops[h]).inputs;
  const auto [known, added] = known_.try_emplace({row, there.shapes, there.types}, false);
  if (added) {
    const RecordedShapes& recorded = l_.profile().shapes;
    known->second =
        any_size_differs(shapes_in(recorded.texts[recorded.rows[row].dims], recorded.texts[recorded.rows[row].types]),
                         shapes_in(l_.text(there.shapes), l_.text(there.types)));
  }
  return known->second;
}

void compare_shapes(Linking& l) {
  ShapeComparer comparer(l);
  int64_t compared = 0;
  std::optional<uint32_t> first;
  for (uint32_t op = 0; op < l.profile().ops.size(); ++op) {
    const uint32_t h = l.match.host_of_op[op];
    if (h == kNone || l.profile().ops[op].shapes >= kShapesUnused) continue;
    ++compared;
    if (!comparer.differ(op, h)) continue;
    l.match.other_shapes.insert(op);
    if (!first) first = op;
  }
  if (!first) return;
  const HostOp& host = l.host().ops[l.match.host_of_op[*first]];
  const RecordedShapes& recorded = l.profile().shapes;
  l.find("pytorch.match.shapes", Severity::warning,
         fmt::format("{} of {} operators with recorded shapes had other sizes in the step of the host trace ({}: {} "
                     "there, {} in the linked iteration); their work follows the linked iteration, their tensors and "
                     "the operators themselves follow the host trace",
                     show_count(static_cast<int64_t>(l.match.other_shapes.size())), show_count(compared),
                     quote(l.text(host.name)), l.text(l.host().io(host).inputs.shapes),
                     recorded.texts[recorded.rows[l.profile().ops[*first].shapes].dims]));
}

}  // namespace chakra::link
