// The element types that devices have peaks for: the type of the arithmetic, independent of the type of stored tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace chakra::trace {

/// The values are those of Trace::op_dtype; the names are those of
/// the attribute op_dtype (docs/reference/formats/et.md).
enum class DType : uint8_t { unknown, f64, f32, tf32, f16, bf16, f8, f4, i64, i32, i16, i8, boolean, complex };
inline constexpr std::array<std::string_view, 14> kDTypeNames{
    "unknown", "f64", "f32", "tf32", "f16", "bf16", "f8", "f4", "i64", "i32", "i16", "i8", "bool", "complex"};
inline std::string_view name(DType type) { return kDTypeNames[static_cast<size_t>(type)]; }
/// Return the type with this name; unknown if no type has the name.
inline DType dtype_of(std::string_view name) {
  const auto found = std::find(kDTypeNames.begin(), kDTypeNames.end(), name);
  return found == kDTypeNames.end() ? DType::unknown : static_cast<DType>(found - kDTypeNames.begin());
}

}  // namespace chakra::trace
