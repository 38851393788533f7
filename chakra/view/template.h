// Templates of texts (show.h): keys in braces, parts in brackets. Private.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chakra::view {

/// Return the text of a template; nullopt if a required value is missing. `value`: the text for a reference between
/// braces. Requires matched braces and brackets.
std::optional<std::string> filled(std::string_view text,
                                  const std::function<std::optional<std::string>(std::string_view)>& value);

/// The parts of a reference between braces.
struct Reference {
  bool asks = false, sign = false;
  std::string_view key, equals, below, with;  ///< {?key=equals}, {key/below}, {key*with}
  bool counts = false, range = false, list = false;
};
Reference reference_of(std::string_view text);

}  // namespace chakra::view
