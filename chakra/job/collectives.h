// Selection of algorithms for collectives, as users write it.
#pragma once

#include <string>

#include "chakra/coll/coll.h"

namespace chakra::job {

/// Read rules: text, a file of rules, or an MSCCL file (the rule for the operation of the file). A rule may name an
/// MSCCL file; in a file of rules, paths are relative to that file. Empty: no rules.
/// Errors: as for coll::parse_selection, foreign::read_program and read_file.
Result<coll::Selection> read_collectives(const std::string& rules);

}  // namespace chakra::job
