// A program -> the instructions that a device executes, in order, with loops written out and the reason for each wait.
// One walk serves a program alone and a profile: with the events of a run, the events decide how often a loop ran and
// which branch was taken. Inside the room.
#pragma once

#include <vector>

#include "chakra/xla/work.h"

namespace chakra::xla {

/// The most executed instructions of a device in one run of a program without a profile.
inline constexpr uint64_t kMostOps = 1'000'000;

/// Executed instructions of one run on one device, by instruction and time.
class Occurrences {
 public:
  struct Event {
    uint32_t instruction = 0;  ///< counted over all computations
    Picoseconds start = 0;     ///< or the place in an order
    uint32_t number = 0;       ///< the caller's
  };
  /// `events`: of one run, in any order.
  Occurrences(const Program& program, std::vector<Event> events);

  static constexpr Picoseconds kNever = INT64_MAX;
  /// Return when the next event of an instruction starts, and the one behind; kNever: there is none.
  Picoseconds next_start(uint32_t computation, uint32_t instruction) const;
  Picoseconds second_start(uint32_t computation, uint32_t instruction) const;
  /// Return the next event of an instruction that starts before `limit`, and move on; kNone: there is none.
  uint32_t take(uint32_t computation, uint32_t instruction, Picoseconds limit);
  const Event& event(uint32_t e) const { return events_[e]; }
  /// Return the events that were not taken.
  std::vector<uint32_t> left() const;

 private:
  std::vector<size_t> first_;  ///< by computation: its first instruction
  std::vector<Event> events_;  ///< by instruction, then by start
  std::vector<uint32_t> next_, end_;
};

struct Op {
  uint32_t computation = 0, instruction = 0;
  uint32_t event = kNone;  ///< of Occurrences; kNone: a program alone
  uint32_t first = kNone;  ///< of a later mark of a computation with others inside: the op of the first mark
  Range deps;              ///< in Unrolled::deps
  Range before, after;     ///< of a mark: the ops of the region before and of the region behind
  uint64_t times = 1;      ///< a folded loop: how often the instruction runs
};
struct Dep {
  uint32_t op = 0;
  trace::EdgeKind kind = trace::EdgeKind::data;
};
struct Unrolled {
  std::vector<Op> ops;  ///< each follows the ops that it waits for
  std::vector<Dep> deps;
  uint64_t folded = 0, open_loops = 0, conditionals = 0;  ///< instructions
  uint64_t cut_loops = 0;                                 ///< ran fewer times than the program states
  std::span<const Dep> deps_of(const Op& op) const { return {deps.data() + op.deps.begin, op.deps.size()}; }
};

/// Write a program out. `run`: null for a program alone. Errors: xla.program.large, xla.program.deep.
/// Cost: O(executed instructions + walked instructions).
Result<Unrolled> unroll(const Program& program, const ProgramWork& work, Occurrences* run);

}  // namespace chakra::xla
