// What 'chakra gen step' says of a step, as text and as JSON.
#pragma once

#include <string>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {

/// Two lines: ranks and nodes, parameters and operations.
std::string step_text(const job::GeneratedJob& files, const gen::StepOptions& step, const gen::StepStats& stats);
/// Parameters, operations, communication and memory, each with its formula.
std::string stats_text(const gen::StepStats& stats, double device_memory_gib);
Json step_json(const job::GeneratedJob& files, const gen::StepStats& stats);

}  // namespace chakra::cli
