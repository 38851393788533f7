// What 'chakra gen step' says of a step, as text and as JSON.
#pragma once

#include <string>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {

/// Two lines: ranks and nodes, parameters and operations. `folder`: empty where nothing was written.
std::string step_text(const std::string& folder, const gen::StepOptions& step, const trace::ClassJob& job,
                      const gen::StepStats& stats);
/// Parameters, operations, communication and memory, each with its formula.
std::string stats_text(const gen::StepStats& stats, double device_memory_gib);
Json step_json(const std::string& folder, const trace::ClassJob& job, const gen::StepStats& stats);

}  // namespace chakra::cli
