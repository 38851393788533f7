// A configuration file as a tree whose nodes remember their line. One parser reads YAML
// and JSON (JSON is YAML's flow style), so every file of the ecosystem enters here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/result.h"

namespace chakra {

struct SpecField;

struct Spec {
  enum class Kind : uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  bool was_quoted = false;  ///< "0" as opposed to 0
  std::string scalar;
  std::vector<Spec> items;
  std::vector<SpecField> fields;  ///< in file order, keys unique
  int64_t line = -1;
  std::shared_ptr<const std::string> file;

  /// Return the field's value, or null if the node is not a map or has no such field.
  const Spec* find(std::string_view key) const;

  // The value of the node, or base.spec.type with the line of the node.
  Result<double> number() const;
  Result<int64_t> integer() const;
  /// Return an integer within a range, for the field `key`; outside the range `tag`. 2^32 + 1 and 1.5 do not become 1.
  Result<int64_t> integer(std::string_view key, int64_t least, int64_t most, std::string tag) const;
  Result<bool> boolean() const;  ///< true, false, 1, 0
  Result<std::string> string() const;

  Place place() const;
  /// Return an error at this node's line.
  Failure error(std::string tag, std::string text) const;
};

struct SpecField {
  std::string key;
  Spec value;
};

/// Errors: base.spec.syntax, base.spec.duplicate_key, base.spec.large, and those of read_file.
Result<Spec> parse_spec(std::string_view text, std::string file);
Result<Spec> load_spec(const std::string& path);

}  // namespace chakra
