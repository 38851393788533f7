// Options of 'chakra gen step' and 'chakra gen serve' that changed nothing: one finding each (sim.option.no_effect).
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {

/// What becomes of what is generated: a job is written, --stats prints whether it fits.
struct Generated {
  bool writes = false, shows = false;
};

/// `given`: names of the options on the command line.
Findings options_without_effect(const std::vector<std::string>& given, const Generated& to,
                                const gen::StepOptions& step, const gen::StepStats& stats);
Findings options_without_effect(const std::vector<std::string>& given, const Generated& to,
                                const gen::ServeOptions& serve, const gen::ServeStats& stats);

}  // namespace chakra::cli
