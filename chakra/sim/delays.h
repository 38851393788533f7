// What if some nodes took longer? Rules name nodes by rank and name; each node that a rule names is delayed by its
// time: a computation takes that much longer, a collective or a message begins that much later. What waits for the node
// is late only where nothing else kept it waiting longer: that is the simulation's answer, not a sum of delays.
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
  std::optional<int64_t> rank;  ///< none: all ranks
  std::string pattern;          ///< of the node's name: * is any text, ? any byte
  Picoseconds time_ps = 0;      ///< of each node
};
/// "RANK:PATTERN=TIME" or "PATTERN=TIME": RANK is decimal digits, TIME a decimal number with its unit (ps, ns, us, ms,
/// s), behind the last "=". Errors: sim.delay.
Result<DelayRule> parse_delay(std::string_view text);

/// Whether the pattern describes the whole name. Cost: O(pattern x name) at most.
bool matches_pattern(std::string_view pattern, std::string_view name);

/// By how much the nodes of a job are delayed. The pieces of an operation after its first are not delayed again.
struct Delays {
  std::vector<std::vector<Picoseconds>> rows;  ///< per rank of the job one for each node, or empty: none is delayed
  Picoseconds of(uint32_t rank, trace::NodeId n) const { return rows[rank].empty() ? 0 : rows[rank][n]; }
};
/// `nodes`: how many nodes each rule delays. Several rules add up. Cost: O(rules x (names + nodes)).
Delays find_delays(const trace::TraceSet& job, const std::vector<DelayRule>& rules, std::vector<int64_t>& nodes);

}  // namespace chakra::sim
