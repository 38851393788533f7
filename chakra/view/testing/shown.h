// The text of a result, for tests of calls.
#pragma once

#include <string>

#include "chakra/view/view.h"

namespace chakra::view::testing {

/// Return the text that the command prints.
template <class Made>
std::string shown(const Made& made) {
  return to_text(answer_of(made), text_of(made));
}

}  // namespace chakra::view::testing
