// Sums over the nodes of a trace.
#pragma once

#include <string_view>
#include <vector>

#include "chakra/gen/communication.h"
#include "chakra/gen/mesh.h"
#include "chakra/gen/plan.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

struct Moved {
  double bytes = 0;       ///< the larger of in and out
  double wire_bytes = 0;  ///< sent to other ranks
};
/// Return sums by group and type. `all_ranks`: members of a group without a slot. `others`: the name of messages
/// on the streams of rings, which go to ranks of another axis than pp. `uneven`: the sum of uneven all-to-alls.
std::vector<Communication> communication(const trace::Trace& trace, const std::vector<Slot>& slots, double all_ranks,
                                         std::string_view others, const Moved& uneven = {});
/// Return sums by tier and kind.
std::vector<StorageSum> storage(const trace::Trace& trace);

/// FLOPs of the model in a step, over all ranks: forward and backward once, as one rank alone would compute them.
/// Without the optimizer, recomputed activations, and what several ranks compute or pad.
struct ModelWork {
  double operations = 0;
  double fp8_operations = 0;  ///< part of these: multiplications with 8-bit inputs
};
ModelWork model_work(const Plan& plan);

}  // namespace chakra::gen
