// What ranks say of themselves when one of them asks, and who waits for whom by that. Inside replay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/replay/backend.h"

namespace chakra::replay {

/// What a rank is doing.
struct Doing {
  enum class State : int64_t { works, waits, has_finished } state = State::works;
  int64_t rank = 0;
  int64_t idle_ms = 0;                         ///< how long nothing has happened here
  std::vector<const Operation*> operations{};  ///< that it waits in
};
std::string to_answer(const Doing& doing);

/// Who waits for whom, when by these answers nothing can happen any more: no rank works, and for `idle_ms` nothing has
/// happened on any that has not finished. Else nothing. A rank without an answer is not able to answer.
std::optional<std::string> who_waits(const Met& answers, int64_t idle_ms);

}  // namespace chakra::replay
