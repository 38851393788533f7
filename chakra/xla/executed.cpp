#include "chakra/xla/executed.h"

namespace chakra::xla {

Executed::Executed(Program of) : program(std::move(of)), work(program) {
  const auto& computations = program.computations;
  std::vector<uint32_t> callers(computations.size(), 0);
  once_.assign(computations.size(), 0);
  once_[program.entry] = 1;
  for (uint32_t c = 0; c < computations.size(); ++c)
    for (uint32_t row = 0; row < computations[c].instructions.size(); ++row) {
      const Instruction& i = computations[c].instructions[row];
      number_of.emplace(i.name, static_cast<uint32_t>(places_.size()));
      places_.emplace_back(c, row);
      for (const uint32_t callee : program.linked(i.called)) ++callers[callee];
    }
  for (size_t c = computations.size(); c-- > 0;)  // callers come behind
    for (const Instruction& i : computations[c].instructions)
      for (const uint32_t callee : program.linked(i.called))
        if (once_[c] && callers[callee] == 1 && i.kind() != Kind::loop) once_[callee] = 1;
}

}  // namespace chakra::xla
