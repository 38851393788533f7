// Unexpected behaviour of ASTRA-sim; a run that meets a quirk reports it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace chakra::astra {

enum class Quirk : uint8_t {
  remainder,
  missing_dimensions,
  lowest_dimension,
  tree_reduces,
  tree_keeps_size,
  broadcast
};

struct QuirkRow {
  Quirk quirk;
  std::string_view text;
};
inline constexpr std::array<QuirkRow, 6> kQuirks{{
    {Quirk::remainder,
     "a collective that splits with a remainder pays a whole chunk for it (docs/reference/compat.md, 2)"},
    {Quirk::missing_dimensions,
     "the system file names fewer algorithms than the network has dimensions; the others take no part (2)"},
    {Quirk::lowest_dimension, "between ranks that differ in several dimensions only the lowest costs anything (1)"},
    {Quirk::tree_reduces, "doubleBinaryTree carries out an all-reduce, whatever was asked for (4)"},
    {Quirk::tree_keeps_size,
     "after a reduce-scatter or all-gather by doubleBinaryTree a chunk goes on with the size that it had before (4)"},
    {Quirk::broadcast, "a broadcast lasts its duration, or 1 ns, and uses no network (6)"},
}};

}  // namespace chakra::astra
