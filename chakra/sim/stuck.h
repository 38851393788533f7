// Who waits for whom in a run that cannot finish: all of it for programs, and a sentence for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// A collective that some members wait in for others, or receives that wait for their send.
struct Wait {
  struct Rank {
    int64_t rank = 0;              ///< as the job numbers them
    std::optional<uint64_t> node;  ///< id of its node, where it has one
    std::string why;               ///< of one that is waited for: why it does not come
  };
  trace::CommType type = trace::CommType::unknown;  ///< unknown: a message
  std::vector<std::string> groups;                  ///< of a collective: its group, and those in which the same happens
  int64_t index = 0;                                ///< of a collective: its position among those of its group, from 0
  int64_t tag = 0;                                  ///< of a message
  std::vector<Rank> waiting;  ///< in the first group; of a message the receiver, and ranks that wait alike
  std::vector<Rank> missing;  ///< of a message the sender of the first receiver
};

/// "rank 0 (node 2) waits in ALL_REDUCE number 1 of group 'tp' for rank 1, which has no such collective". Long lists
/// are cut and end with how many more there are.
std::string to_text(const Wait& wait);

}  // namespace chakra::sim
