// Tables for other libraries by the Arrow C stream interface: pyarrow, pandas, polars and DuckDB read a table without
// any of them as a dependency.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chakra::python {

/// With U+FFFD for each byte that is no UTF-8: files have names of any bytes, Arrow and Python have not.
std::string utf8(std::string_view text);

/// A column as Arrow wants it. `format` is Arrow's: "l" int64, "L" uint64, "I" uint32, "C" uint8, "g" double, "b" bits,
/// "u" texts.
struct ArrowColumn {
  std::string name;
  const char* format = "l";
  int64_t rows = 0;
  std::string unit = {}, meaning = {};    ///< metadata of the column
  std::vector<const void*> buffers = {};  ///< validity (null: all are there), then values; of texts offsets and bytes
  int64_t nulls = 0;
  std::vector<std::shared_ptr<const void>> owners = {};  ///< of the buffers
  std::shared_ptr<const ArrowColumn> dictionary = {};    ///< the values are places in it

  /// Values that are not copied. They live as long as `owner`.
  template <class T>
  static ArrowColumn of(std::string name, const char* format, std::span<const T> values,
                        std::shared_ptr<const void> owner) {
    ArrowColumn column{std::move(name), format, static_cast<int64_t>(values.size())};
    column.buffers = {nullptr, values.data()};
    column.owners = {std::move(owner)};
    return column;
  }
  /// A bit for each row.
  template <class Get>
  static ArrowColumn of_bits(std::string name, size_t rows, const Get& get) {
    ArrowColumn column{std::move(name), "b", static_cast<int64_t>(rows)};
    column.buffers = {nullptr, column.keep(bits(rows, get))};
    return column;
  }
  /// Copies texts. Errors: std::length_error for more than 2 GiB of them.
  template <class Get>
  static ArrowColumn of_texts(std::string name, size_t rows, const Get& get) {
    std::vector<int32_t> offsets{0};
    offsets.reserve(rows + 1);
    std::string bytes;
    for (size_t row = 0; row < rows; ++row) {
      bytes += utf8(get(row));
      if (bytes.size() > INT32_MAX) throw std::length_error("texts of a column of Arrow end at 2 GiB");
      offsets.push_back(static_cast<int32_t>(bytes.size()));
    }
    ArrowColumn column{std::move(name), "u", static_cast<int64_t>(rows)};
    const void* const begin = column.keep(std::move(offsets));
    column.buffers = {nullptr, begin, column.keep(std::vector<char>(bytes.begin(), bytes.end()))};
    return column;
  }
  /// Rows where `has` is false are null.
  template <class Has>
  void set_valid(const Has& has) {
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) nulls += !has(row);
    if (nulls) buffers[0] = keep(bits(static_cast<size_t>(rows), has));
  }
  template <class T>
  const void* keep(std::vector<T> values) {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    owners.push_back(kept);
    return kept->data();
  }

 private:
  template <class Get>
  static std::vector<uint8_t> bits(size_t rows, const Get& get) {
    std::vector<uint8_t> bits((rows + 7) / 8);
    for (size_t row = 0; row < rows; ++row)
      if (get(row)) bits[row / 8] = static_cast<uint8_t>(bits[row / 8] | 1U << row % 8);
    return bits;
  }
};

/// An ArrowArrayStream of one batch, for a capsule of the name "arrow_array_stream": free_stream() is its destructor.
/// Requires as many rows in each column.
void* make_stream(std::vector<ArrowColumn> columns, int64_t rows);
void free_stream(void* stream) noexcept;

}  // namespace chakra::python
