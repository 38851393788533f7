// Rows of virtual tables from functions of a part. Inside query.
#pragma once

#include <string>
#include <utility>

#include "chakra/sqlite/sqlite.h"

namespace chakra::query {

using sqlite::Cell;
using sqlite::TableColumn;
using sqlite::ValueType;
inline constexpr ValueType kWhole = ValueType::whole, kText = ValueType::text;

/// A column whose cells `get(part, row)` returns. `get` has no captures.
template <class Part, class Get>
TableColumn column(std::string name, ValueType type, std::string unit, std::string meaning, Get, bool unique = false) {
  return {std::move(name),
          type,
          std::move(unit),
          std::move(meaning),
          unique,
          [](const void* of, size_t, size_t row) -> Cell { return Get{}(*static_cast<const Part*>(of), row); }};
}
/// The column of Part::key.
inline TableColumn key_column(std::string name, std::string meaning) {
  return {std::move(name), ValueType::whole, "id", std::move(meaning)};
}

inline Cell cell_if(bool present, Cell cell) { return present ? cell : Cell(); }

}  // namespace chakra::query
