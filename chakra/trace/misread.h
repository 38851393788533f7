// Attributes whose values have a column, but don't fit it: of a wrong type, or a second time of the node.
#pragma once

#include <string>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::trace {

struct Misread {
  NodeId node;
  std::string_view name;
  std::string why;      ///< "is a text, not an integer"
  bool second = false;  ///< another value of the node counts
};

/// Return the attributes of times, sizes and communication that reading kept, because their columns can't take them.
/// Cost: O(1) without such an attribute, otherwise O(attributes).
std::vector<Misread> misread(const Trace& trace);

}  // namespace chakra::trace
