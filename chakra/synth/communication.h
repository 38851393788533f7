// The communication of a trace, in order: kind, role of the group and size. Features of jobs and attacks on shared jobs
// see a job this way.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/roles.h"
#include "chakra/trace/trace.h"

namespace chakra::synth {

/// Kinds of communication: the collectives of trace::CommType (reduce_scatter_block counts as reduce_scatter, an
/// unknown type as unknown), and sends, which stand for messages.
inline constexpr std::array<std::string_view, 11> kCommKinds{"all_reduce", "reduce",    "all_gather", "gather",
                                                             "scatter",    "broadcast", "all_to_all", "reduce_scatter",
                                                             "barrier",    "unknown",   "messages"};

struct Communication {
  trace::NodeId node = trace::kNoNode;
  uint8_t kind = 0;  ///< into kCommKinds
  trace::Role role = trace::Role::unknown;
  uint64_t bytes = 0;
};
/// Return the collectives and sends of a trace in the order of the nodes: a receive is the other end of a send.
/// `roles`: as for trace::RolesOfTrace. Cost: O(nodes).
std::vector<Communication> communications(const trace::Trace& trace, const trace::RolesByName& roles = {});

/// Return the correlation of the values with those 1, ..., `lags` places later; 1 if the values are equal, NaN if there
/// are too few. Cost: O(values lags).
std::vector<double> autocorrelations(std::vector<double> values, size_t lags);

}  // namespace chakra::synth
