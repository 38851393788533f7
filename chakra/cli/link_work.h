// What 'chakra link' says of work that comes from shapes.
#pragma once

#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/link/link.h"

namespace chakra::cli {

/// The keys are in docs/explanation/linking.md, Work.
Json to_json(const link::WorkReport& work);
/// Lines of the report, each without its label, empty where there is nothing to say.
std::vector<std::string> work_lines(const link::WorkReport& work);

}  // namespace chakra::cli
