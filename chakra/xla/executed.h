// A program with executions in a profile. Inside the room.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <string_view>
#include <vector>

#include "chakra/xla/communication.h"
#include "chakra/xla/work.h"

namespace chakra::xla {

/// Does not move: others refer to its parts.
struct Executed {
  explicit Executed(Program of);
  Executed(const Executed&) = delete;
  Executed& operator=(const Executed&) = delete;

  Program program;
  ProgramWork work;
  Communication communication;
  absl::flat_hash_map<std::string_view, uint32_t> number_of;  ///< instructions by name, over all computations
  int64_t tags = 0;                                           ///< the first tag of its messages
  ProgramReport report;
  uint64_t cut_runs = 0, unplaced = 0;

  std::pair<uint32_t, uint32_t> place(uint32_t number) const { return places_[number]; }  ///< computation, instruction
  const Instruction& instruction(uint32_t number) const {
    return program.computations[places_[number].first].instructions[places_[number].second];
  }
  /// Whether a run executes an instruction once at most: it is in no loop, and in a computation with one caller.
  bool runs_once(uint32_t number) const { return once_[places_[number].first] != 0; }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> places_;  ///< by number
  std::vector<uint8_t> once_;                          ///< by computation
};

}  // namespace chakra::xla
