// The text of a result, for tests of calls.
#pragma once

#include <string>

#include "chakra/job/job.h"

namespace chakra::job {

/// Return the text that the command prints.
template <class Made>
std::string shown(const Made& made) {
  return view::to_text(answer_of(made), text_of(made));
}

}  // namespace chakra::job
