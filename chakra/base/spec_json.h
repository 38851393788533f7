// JSON as a Spec, in little memory and time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/number_rows.h"
#include "chakra/base/spec.h"

namespace chakra {

inline constexpr size_t kDeepestSpec = 100;  ///< levels of lists and maps

/// Parse strict JSON of at most kDeepestSpec levels with unique keys. Return std::nullopt for any other text:
/// the parser of YAML then reads the text or reports the error. Errors: base.spec.large (beyond 400,000
/// values, more than one in four bytes). Cost: O(text); memory: the Spec, and 16 bytes for each list and map.
Result<std::optional<Spec>> parse_json_spec(std::string_view text, const std::shared_ptr<const std::string>& file);

struct SpecWithTables {
  Spec spec;
  std::vector<NumberTable> tables;
  std::shared_ptr<const std::string> text = {};  ///< the file; unread tables are views into this text
  /// Return the table that replaces a list; null: the list has its items.
  NumberTable* table_of(const Spec& list);
};
/// Return the same, but turn lists under the key `kept` that are rows of numbers into tables, in a tenth of the time
/// of a tree. A table stays text if its checksum matches the value of the key "checksum" before the table.
Result<std::optional<SpecWithTables>> parse_json_tables(std::string_view text,
                                                        const std::shared_ptr<const std::string>& file,
                                                        std::string_view kept);

/// As load_spec(), with tables if the file is JSON.
Result<SpecWithTables> load_spec_tables(const std::string& path, std::string_view kept);

}  // namespace chakra
