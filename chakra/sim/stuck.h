// The waits in a run that cannot finish: as data, and as a sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// A collective in which some members wait for others, or receives that wait for their send.
struct Wait {
  struct Rank {
    int64_t rank = 0;              ///< number in the job
    std::optional<uint64_t> node;  ///< id of its node, if there is one
    std::string why;               ///< of a missing rank: reason for its absence
  };
  trace::CommType type = trace::CommType::unknown;  ///< unknown: a message
  std::vector<std::string> groups;                  ///< of a collective: its group, and other groups with the same wait
  int64_t index = 0;                                ///< of a collective: its position in the group, from 0
  int64_t tag = 0;                                  ///< of a message
  std::vector<Rank> waiting;  ///< in the first group; of a message the receiver, and ranks with an equivalent wait
  std::vector<Rank> missing;  ///< of a message: the sender of the first receiver
};

/// Describe a wait: "rank 0 (node 2) waits in ALL_REDUCE number 1 of group 'tp' for rank 1,
/// which has no such collective". Long lists are cut and end with the number of omitted items.
std::string to_text(const Wait& wait);

}  // namespace chakra::sim
