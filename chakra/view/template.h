// Templates of texts (show.h): keys in braces, parts in brackets. Private.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chakra::view {

/// The text of a template; none where what it needs is missing. `value`: the text of what stands between braces.
/// Requires that braces and brackets have their ends.
std::optional<std::string> filled(std::string_view text,
                                  const std::function<std::optional<std::string>(std::string_view)>& value);

/// What stands between braces, in parts.
struct Reference {
  bool asks = false, sign = false;
  std::string_view key, equals, below, with;  ///< {?key=equals}, {key/below}, {key*with}
  bool counts = false, range = false, list = false;
};
Reference reference_of(std::string_view text);

}  // namespace chakra::view
