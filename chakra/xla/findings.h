// What `link` reports beside the traces. Inside the room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chakra/xla/executed.h"
#include "chakra/xla/files.h"

namespace chakra::xla {

using ModuleName = std::pair<std::string_view, int64_t>;  ///< with its number
/// With the number that the first host gave.
using ExecutedPrograms = std::vector<std::pair<ModuleName, std::unique_ptr<Executed>>>;

/// Add the reports of the programs. Report cut runs, and executed instructions that do not fit the order of a program.
void report_programs(const ExecutedPrograms& programs, LinkedProfile& linked);
/// Report what the profiles of GPUs and TPUs lack. `missing`: programs in no file, and the number of their events.
void report_devices(const Inputs& inputs, const std::map<ModuleName, int64_t>& missing, uint64_t left_out,
                    const std::vector<std::string>& without_runs, Findings& findings);
/// Report files beside the profiles, and what the form for browsers lacks.
void report_dumps(const Inputs& inputs, const ExecutedPrograms& programs, Findings& findings);
/// Report parts of the profiles that were left out.
void report_fields(const Inputs& inputs, Findings& findings);

}  // namespace chakra::xla
