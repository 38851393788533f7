// The layout of a step: the mesh and the sharding over data-parallel ranks. All groups follow from the
// layout, which a generated trace has in its metadata, so that a what-if places ranks as the generator does.
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
  int64_t zero = 1, zero_ranks = 0;  ///< as in StepOptions
  bool experts = false;              ///< the model has experts

  /// Return the data- and context-parallel ranks that sum gradients and shard: "dp", "dp-cp", "shard".
  Slot data() const;
  /// Return the data-parallel ranks with copies of a shard; a group of one rank if all ranks shard.
  Slot replicas() const;
};

/// Return the kind of group with this name, also of one rank; nullopt if no step has such groups.
std::optional<Slot> slot_named(const Layout& layout, std::string_view name);

/// Add the layout to the metadata of a stage.
void describe_layout(const Layout& layout, trace::Trace& t);
/// Return the layout in the metadata of a stage; nullopt if absent, or impossible for a step.
std::optional<Layout> layout_of(const trace::Trace& t);

}  // namespace chakra::gen
