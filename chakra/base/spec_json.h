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

/// Nothing where the text is not strict JSON of at most kDeepestSpec levels with unique keys: then it may be YAML,
/// whose parser reports the error. Errors: base.spec.large (beyond 400,000 values, more than one in four bytes).
/// Cost: O(text); memory: the Spec, and 16 bytes for each list and map.
Result<std::optional<Spec>> parse_json_spec(std::string_view text, const std::shared_ptr<const std::string>& file);

struct SpecWithTables {
  Spec spec;
  std::vector<NumberTable> tables;
  std::shared_ptr<const std::string> text = {};  ///< the file, which unread tables are parts of
  /// The table that stands for a list; null: the list has its items.
  NumberTable* table_of(const Spec& list);
};
/// The same, but lists under the key `kept` that are rows of numbers become tables, in a tenth of the time that a tree
/// takes. A table whose text has the checksum that the key "checksum" says before it stays text.
Result<std::optional<SpecWithTables>> parse_json_tables(std::string_view text,
                                                        const std::shared_ptr<const std::string>& file,
                                                        std::string_view kept);

/// As load_spec(), with tables where the file is JSON.
Result<SpecWithTables> load_spec_tables(const std::string& path, std::string_view kept);

}  // namespace chakra
