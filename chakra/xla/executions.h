// Which events of a device belong together: runs of a program, and executions of an instruction. Inside the room.
#pragma once

#include <vector>

#include "chakra/xla/executed.h"
#include "chakra/xla/profile.h"

namespace chakra::xla {

/// Give the events the numbers of their runs, which the profile does not state: a run begins where an instruction of
/// the entry computation comes again. `events`: of one program and device; of a GPU as the host started them, else by
/// their starts.
void number_runs(const Executed& executed, Profile::Kind kind, const std::vector<Profile::Event*>& events);

/// An execution of an instruction: a GPU runs several kernels, a TPU has an event for the start and one until the end
/// of an asynchronous instruction, and a CPU copies the operands of a sort first.
struct Execution {
  uint32_t instruction = 0;  ///< counted over all computations
  std::vector<const Profile::Event*> events;

  const Profile::Event& longest() const;
};
struct Executions {
  std::vector<Execution> all;
  std::vector<const Profile::Event*> other;  ///< the program does not explain these
};
/// `events`: of one run on one device; of a GPU as the host started them, else by their starts.
Executions find_executions(const Executed& executed, const Profile& profile,
                           const std::vector<const Profile::Event*>& events);

}  // namespace chakra::xla
