// Delays of nodes, selected by rules on rank and name. A delay makes a compute node longer,
// and makes a collective or a message begin later. Dependent nodes are late only if no
// other cause keeps them waiting longer: the effect is simulated, not a sum of delays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

struct DelayRule {
  std::optional<int64_t> rank;  ///< no value: all ranks
  std::string pattern;          ///< for the node's name: * is any text, ? any byte
  Picoseconds time_ps = 0;      ///< delay of each node
};
/// Parse "RANK:PATTERN=TIME" or "PATTERN=TIME": RANK is decimal digits, TIME a decimal
/// number with its unit (ps, ns, us, ms, s), after the last "=". Errors: sim.delay.
Result<DelayRule> parse_delay(std::string_view text);

/// Return whether the pattern matches the whole name. Cost: O(pattern x name) at most.
bool matches_pattern(std::string_view pattern, std::string_view name);

/// The delay of each node of a job. The pieces of an operation after its first piece are not delayed again.
struct Delays {
  std::vector<std::vector<Picoseconds>> rows;  ///< per rank of the job: a value per node, or empty: no delays
  Picoseconds of(uint32_t rank, trace::NodeId n) const { return rows[rank].empty() ? 0 : rows[rank][n]; }
};
/// Find all delays; several rules add up. `nodes`: number of nodes per rule. Cost: O(rules x (names + nodes)).
Delays find_delays(const trace::TraceSet& job, const std::vector<DelayRule>& rules, std::vector<int64_t>& nodes);

}  // namespace chakra::sim
