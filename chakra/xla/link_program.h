// Ids of instructions and computations -> rows: the last step of reading a program, in each of its forms. Inside the
// room.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <vector>

#include "chakra/xla/program.h"

namespace chakra::xla {

/// Ids to which instructions refer, kept until all instructions and computations are known.
struct Ids {
  std::vector<int64_t> all;

  Range keep(const std::vector<int64_t>& ids) {
    const auto begin = static_cast<uint32_t>(all.size());
    all.insert(all.end(), ids.begin(), ids.end());
    return {begin, static_cast<uint32_t>(all.size())};
  }
};
/// By the id of a computation: instructions in the order of their execution.
using Schedule = absl::flat_hash_map<int64_t, std::vector<int64_t>>;

/// Bring the computations into an order in which callees come first. Errors: xla.program.reference.
Result<void> order_computations(Program& program, const Ids& ids);

/// Fill in Program::links, roots, orders and the entry computation. The ranges of instructions are those of `ids`.
/// Errors: xla.program.reference, .empty, at `place`.
Result<void> link_program(Program& program, const Ids& ids, int64_t entry, const Schedule& schedule,
                          const Place& place);

}  // namespace chakra::xla
