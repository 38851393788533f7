// Text rows that several answers share.
#pragma once

#include <array>
#include <string_view>

#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::job {

// Effect of a change on the job, the ranks, and for each step the rank with the largest change.
inline constexpr std::array<view::ShowColumn, 4> show_changed(std::string_view what) {
  return {{{.key = what, .heading = "predicted"},
           {.key = "before_ps", .heading = "before"},
           {.key = "after_ps", .heading = "after"},
           {.key = "{+change_ps}[ ({+change_ps/before_ps})]", .heading = "change"}}};
}
inline constexpr auto kShowChangedJob = show_changed("[job]"), kShowChangedRanks = show_changed("rank {rank}"),
                      kShowChangedSteps = show_changed("{name} (most: rank {rank})");

// Device time.
inline std::string_view scaling_text(std::string_view how) {
  const sim::ScalingRow* const row = find_row(sim::kScalings, how);
  return row ? row->text : how;
}
inline constexpr std::array<view::ShowColumn, 7> kShowDevices{{
    {.key = "how", .heading = "device time", .words = scaling_text},
    {.key = "from", .heading = "from"},
    {.key = "to", .heading = "to"},
    {.key = "nodes", .heading = "nodes"},
    {.key = "before_ps", .heading = "before", .share = "*"},
    {.key = "after_ps", .heading = "after"},
    {.key = "error", .heading = "error"},
}};

}  // namespace chakra::job
