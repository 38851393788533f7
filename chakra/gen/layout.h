// How a step lies on its ranks: the mesh and what data-parallel ranks share out. All groups follow from it, and a
// generated trace has it in its metadata, so that a what-if places ranks as the generator does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chakra/gen/mesh.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

struct Layout {
  Mesh mesh;  ///< with strides
  std::string order;
  int64_t zero = 1, zero_ranks = 0;  ///< as StepOptions has them
  bool experts = false;              ///< the model has some

  /// Data-parallel ranks, and context-parallel ones, that sum gradients and share things out: "dp", "dp-cp", "shard".
  Slot data() const;
  /// Data-parallel ranks with copies of a share; of one rank where all share things out.
  Slot replicas() const;
};

/// The kind of group that has this name, also of one rank. Nothing where no step has such groups.
std::optional<Slot> slot_named(const Layout& layout, std::string_view name);

/// Adds the layout to the metadata of a stage.
void describe_layout(const Layout& layout, trace::Trace& t);
/// The layout in the metadata of a stage. Nothing where there is none, or one that no step has.
std::optional<Layout> layout_of(const trace::Trace& t);

}  // namespace chakra::gen
