// Programs of torch.compile, as python/chakra_et/export.py writes them (docs/reference/formats/torch_program.md): the
// parts of a file that are not nodes, and the job that follows from them for any number of data-parallel ranks.
#pragma once

#include <string>
#include <vector>

#include "chakra/foreign/forms.h"

namespace chakra::foreign::torch_form {

/// A dimension of the mesh of ranks.
struct MeshDim {
  std::string name;
  int64_t size = 1;
};

/// A process group of the exporting rank: its members lie along dimensions of the mesh.
struct ProgramGroup {
  std::string name;
  std::vector<int64_t> ranks;
  std::vector<std::string> dims;
  bool exact = true;  ///< the dimensions are the group's origin; false: several dimensions have these members
};

/// The placement of a parameter along a dimension: "Shard", "Replicate" or "Partial".
struct Placement {
  std::string dim, how, parameter;
};

/// The collectives of a group.
struct GroupUse {
  StringId name = 0;  ///< in the trace
  trace::NodeId last = trace::kNoNode;
  int64_t count = 0;
  std::string sized_by;  ///< the first operator whose shapes depend on the number of members; "": none
};

struct Program {
  std::string file, torch;
  int64_t version = 0, world = 0, rank = 0;
  std::vector<MeshDim> mesh;  ///< outermost first
  std::vector<ProgramGroup> groups;
  std::vector<Placement> placements;
  std::vector<GroupUse> uses;  ///< by first use
};

/// Build the job of `options.num_npus` or `options.dims` ranks (default: as in the file) from the trace of one rank.
/// The groups of its collectives are names of ProgramGroups. Errors: foreign.torch.*, foreign.large.
Result<trace::ClassJob> spread(const Program& program, trace::Trace&& trace, const Options& options,
                               Findings& findings);

}  // namespace chakra::foreign::torch_form
