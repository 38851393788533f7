// The states of ranks, sent on request, and the waits that follow from the states. Inside replay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/replay/backend.h"

namespace chakra::replay {

/// The state of a rank.
struct Doing {
  enum class State : int64_t { works, waits, has_finished } state = State::works;
  int64_t rank = 0;
  int64_t idle_ms = 0;                         ///< time since the last event on this rank
  std::vector<const Operation*> operations{};  ///< operations that the rank waits in
};
std::string to_answer(const Doing& doing);

/// Describe the waits of the ranks if the job is at a standstill: no rank works, and every unfinished rank
/// has been idle for `idle_ms`. Else return no value. A rank without an answer counts as unable to answer.
std::optional<std::string> who_waits(const Met& answers, int64_t idle_ms);

}  // namespace chakra::replay
