// The rows of answers about programs of XLA, shared by import and link.
#pragma once

#include <array>
#include <vector>

#include "chakra/job/answer_rows.h"
#include "chakra/view/view.h"
#include "chakra/xla/xla.h"

namespace chakra::job {

/// Add the table "programs"; an answer without programs does not have it.
void add_programs(const std::vector<xla::ProgramReport>& programs, answer::Builder& to);

inline constexpr std::array<view::ShowColumn, 8> kShowPrograms{{
    {.key = "name", .heading = "program"},
    {.key = "devices", .heading = "devices"},
    {.key = "runs", .heading = "runs", .hide = view::Hide::missing},
    {.key = "events", .heading = "events", .hide = view::Hide::missing},
    {.key = "instructions", .heading = "instructions"},
    {.key = "flops", .heading = "FLOPs of a device"},
    {.key = "bytes", .heading = "bytes of a device"},
    {.key = "memory.peak", .heading = "peak memory", .hide = view::Hide::missing},
}};
inline constexpr std::array<view::ShowColumn, 3> kShowCollectives{{
    {.key = "opcode", .heading = "collective"},
    {.key = "instructions", .heading = "instructions"},
    {.key = "executions", .heading = "executions"},
}};

}  // namespace chakra::job
