// Which devices each communicating instruction of a program joins. Inside the room.
#pragma once

#include <map>
#include <vector>

#include "chakra/xla/program.h"

namespace chakra::xla {

/// A collective: its groups as ranks, and the group of each logical device (kNone: the device is in no group).
struct Meeting {
  std::vector<std::vector<int64_t>> groups;
  std::vector<uint32_t> group_of;
};
/// A permute, a send or a receive: by logical device the ranks that it sends to and receives from.
struct Messages {
  std::vector<std::vector<int64_t>> to, from;
};

/// By (computation, instruction).
struct Communication {
  using Key = std::pair<uint32_t, uint32_t>;
  std::map<Key, Meeting> meetings;
  std::map<Key, Messages> messages;
};
/// Requires settled devices. Errors: xla.groups. Cost: O(devices x communicating instructions).
Result<Communication> communication_of(const Program& program);

}  // namespace chakra::xla
