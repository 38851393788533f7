// The names of the columns of a container, shared by writer and reader.
#pragma once

#include "chakra/pack/columns.h"

namespace chakra::pack {

using schema::Coding;

// Streams of a column: a text is an entry of the dictionary in `kMain` and
// its numbers in `kNumbers`; lists store their lengths in `kCounts`.
inline constexpr size_t kMain = 0, kNumbers = 1, kCounts = 2;

inline constexpr char kShape = 'S', kId = 'I', kCtrl = 'C', kData = 'D', kStart = 'B', kDuration = 'L', kName = 'N',
                      kIo = 'V', kAttr = 'A', kDoc = 'O', kUnknown = 'U';

inline constexpr uint64_t kHasInputs = 1, kHasOutputs = 2, kHasCtrl = 4, kHasData = 8, kHasStart = 16,
                          kHasDuration = 32, kHasName = 64, kHasUnknown = 128;

/// Places in the entry of a column: kind, stream, letter, field, name.
inline constexpr size_t kStreamAt = 1, kKindAt = 2, kFieldAt = 3, kNameAt = 4;

inline std::string column_key(char kind, uint32_t field, std::string_view name) {
  std::string key{kind, static_cast<char>(field)};
  return key += name;
}

/// Return the bytes of one value of a member stored as bits; 0 for other members.
inline int fixed_bytes(Coding coding) { return coding == Coding::real64 ? 8 : coding == Coding::real32 ? 4 : 0; }

/// Set all fixed columns from `column(kind, field)`.
template <class Column, class Make>
FixedColumns<Column> fixed_columns(const Make& column) {
  FixedColumns<Column> fixed{column(kShape, 0), column(kId, 0),      column(kCtrl, 0),
                             column(kData, 0),  column(kStart, 0),   column(kDuration, 0),
                             column(kName, 0),  column(kUnknown, 0), {}};
  for (uint32_t i = 0; i < fixed.io.size(); ++i) fixed.io[i] = column(kIo, i);
  return fixed;
}

}  // namespace chakra::pack
