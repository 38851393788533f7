// Which algorithms collectives take, as users say it.
#pragma once

#include <string>

#include "chakra/coll/coll.h"

namespace chakra::job {

/// `rules`: rules as text, a file of rules, or an MSCCL file, which is the rule for its operation. A rule may name an
/// MSCCL file; in a file of rules its path is relative to that file. Empty: no rules.
/// Errors: those of coll::parse_selection, foreign::read_program and read_file.
Result<coll::Selection> read_collectives(const std::string& rules);

}  // namespace chakra::job
