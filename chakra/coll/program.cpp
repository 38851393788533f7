// Algorithms that files state, as rows beside those of the table.
#include <fmt/core.h>

#include "chakra/coll/algorithms.h"

namespace chakra::coll {

std::shared_ptr<const Program> finished(std::shared_ptr<Program> program) {
  assert_whole(program->plan);
  AlgorithmRow& row = program->row;
  row.name = program->name;
  row.description = "program of the file";
  row.types = 1u << static_cast<unsigned>(program->type);
  if (program->type == CommType::reduce_scatter)
    row.types |= 1u << static_cast<unsigned>(CommType::reduce_scatter_block);
  row.program = program.get();
  return program;
}

std::string misfit(const Program& program, const Operation& op, uint32_t members) {
  if (program.plan.members != members)
    return fmt::format("{} requires {} members, but the group has {}", program.name, program.plan.members, members);
  if (trace::has_root(op.type) && op.root != program.root)
    return fmt::format("the root of {} is member {}, but the root of the operation is member {}", program.name,
                       program.root, op.root);
  return {};
}

Plan scaled(const Program& program, const Operation& op) {
  Plan plan = program.plan;
  const uint64_t bytes = part_bytes(op, program.parts);
  for (Round& round : plan.rounds)
    for (Transfer& transfer : round.list) transfer.bytes = multiply_bytes(transfer.bytes, bytes);
  return plan;
}

}  // namespace chakra::coll
