// JSON as a Spec, in little memory: yaml-cpp keeps some hundred bytes for each value of a list until the list ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chakra/base/spec.h"

namespace chakra {

inline constexpr size_t kDeepestSpec = 100;  ///< levels of lists and maps

/// Nothing where the text is not strict JSON of at most kDeepestSpec levels with unique keys: then it may be YAML,
/// whose parser reports the error. Errors: base.spec.large (beyond 400,000 values, more than one in four bytes).
/// Cost: O(text); memory: the Spec, and 16 bytes for each list and map.
/// Lists under the key `kept` stay text, in `scalar`: tables of numbers that are read without a tree.
Result<std::optional<Spec>> parse_json_spec(std::string_view text, const std::shared_ptr<const std::string>& file,
                                            std::string_view kept = "");

/// As load_spec(); `kept`, of JSON, as above.
Result<Spec> load_spec_keeping(const std::string& path, std::string_view kept);

/// Whether lists in brackets that begin in one line could hold enough values for yaml-cpp to need too much memory.
/// This is an estimate: it also counts brackets in comments and texts.
bool too_many_in_brackets(std::string_view text);

}  // namespace chakra
