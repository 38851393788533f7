// How the columns of a container are named, shared by writer and reader.
#pragma once

#include "chakra/pack/columns.h"

namespace chakra::pack {

using schema::Coding;

// Streams of a column: texts are an entry of the dictionary in `kMain` and its numbers in `kNumbers`; lists have
// how many in `kCounts`.
inline constexpr size_t kMain = 0, kNumbers = 1, kCounts = 2;

inline constexpr char kShape = 'S', kId = 'I', kCtrl = 'C', kData = 'D', kStart = 'B', kDuration = 'L', kName = 'N',
                      kIo = 'V', kAttr = 'A', kDoc = 'O', kUnknown = 'U';

inline constexpr uint64_t kHasInputs = 1, kHasOutputs = 2, kHasCtrl = 4, kHasData = 8, kHasStart = 16,
                          kHasDuration = 32, kHasName = 64, kHasUnknown = 128;

inline std::string column_key(char kind, uint32_t field, std::string_view name) {
  std::string key{kind, static_cast<char>(field)};
  return key += name;
}

/// Bytes of one value of a member that is stored as its bits; 0 of others.
inline int fixed_bytes(Coding coding) { return coding == Coding::real64 ? 8 : coding == Coding::real32 ? 4 : 0; }

/// Sets all of them from `column(kind, field)`.
template <class Column, class Make>
FixedColumns<Column> fixed_columns(const Make& column) {
  FixedColumns<Column> fixed{column(kShape, 0), column(kId, 0),      column(kCtrl, 0),
                             column(kData, 0),  column(kStart, 0),   column(kDuration, 0),
                             column(kName, 0),  column(kUnknown, 0), {}};
  for (uint32_t i = 0; i < fixed.io.size(); ++i) fixed.io[i] = column(kIo, i);
  return fixed;
}

}  // namespace chakra::pack
