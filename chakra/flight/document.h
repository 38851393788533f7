// A dump as a tree of values, read from JSON or from pickle. Lists and dictionaries hold the
// indices of their values, since a pickle may put one value into several lists, or a list into
// itself. A reader must therefore go down a known number of levels and count its steps.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::flight {

/// A dump with more bytes or values is rejected (`flight.dump.large`).
inline constexpr size_t kMostBytes = size_t{1} << 28, kMostValues = size_t{1} << 24;

struct Value {
  enum class Kind : uint8_t { none, boolean, integer, real, text, list, dict } kind = Kind::none;
  int64_t number = 0;          ///< boolean, integer; of a real the bits; of a list or dictionary the index into lists
  std::string_view text = {};  ///< of a text

  double real() const { return kind == Kind::real ? std::bit_cast<double>(number) : static_cast<double>(number); }
};

struct Document {
  std::string bytes;  ///< the file; texts of a pickle are views into these bytes
  size_t size = 0;    ///< of the file
  Arena texts;        ///< of JSON
  std::vector<Value> values;
  std::vector<std::vector<uint32_t>> lists;  ///< of a dictionary: key, value, key, value
  uint32_t root = 0;

  std::span<const uint32_t> items(const Value& value) const {
    if (value.kind != Value::Kind::list && value.kind != Value::Kind::dict) return {};
    return lists[static_cast<size_t>(value.number)];
  }
};

/// Read a pickle with the instructions of plain data only: no import, call or construction of objects is possible.
/// Errors: flight.pickle.opcode, flight.pickle.damaged, flight.dump.large. Cost: O(bytes).
Result<Document> read_pickle(std::string bytes, const std::string& file);
/// Errors: flight.json.*, flight.dump.large. Cost: O(bytes).
Result<Document> read_json(std::string bytes, const std::string& file);

}  // namespace chakra::flight
