// The extension chakra_et._chakra: the classes of libchakra.so for Python. What is easier in Python is in chakra_et/.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <utility>

#include "arrow.h"
#include "chakra/chakra.h"
#include "chakra/trace.h"

namespace chakra::python {

namespace nb = nanobind;

void add_answers(nb::module_& module);  ///< Answer, Table
void add_traces(nb::module_& module);   ///< Trace, Builder and their enumerations
void add_feeder(nb::module_& module);   ///< Feeder

inline nb::str text_of(std::string_view text) {
  const std::string valid = utf8(text);
  return nb::str(valid.data(), valid.size());
}

/// Throws chakra_et.Error.
[[noreturn]] void raise(const Error& error);
/// The value, else throws chakra_et.Error.
template <class T>
T value(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A read-only array of NumPy that shows values; it keeps `owner`, which keeps them.
template <class T>
nb::object view(std::span<const T> values, nb::handle owner) {
  nb::module_::import_("numpy");  // whose absence has a clear error
  static constexpr T none{};      // an array without values points to it
  return nb::cast(
      nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.empty() ? &none : values.data(), {values.size()}, owner));
}
/// The same of values that the array alone has.
template <class T>
nb::object array(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* of) noexcept { delete static_cast<std::vector<T>*>(of); });
  return view(std::span<const T>(*kept), owner);
}
/// numpy.ma.MaskedArray of the same values, where `has` is false for some rows; else `values`.
template <class Has>
nb::object masked(nb::object values, size_t rows, const Has& has) {
  size_t first = 0;
  while (first < rows && has(first)) ++first;
  if (first == rows) return values;
  std::vector<uint8_t> missing(rows);
  for (size_t row = first; row < rows; ++row) missing[row] = !has(row);
  const nb::object mask = array(std::move(missing)).attr("view")("bool");
  return nb::module_::import_("numpy.ma").attr("masked_array")(values, mask);
}
inline nb::capsule stream(std::vector<ArrowColumn> columns, size_t rows) {
  return {make_stream(std::move(columns), static_cast<int64_t>(rows)), "arrow_array_stream", free_stream};
}
/// KeyError with the nearest of the known keys.
[[noreturn]] void no_key(std::string_view key, const std::vector<std::string>& known);

}  // namespace chakra::python
