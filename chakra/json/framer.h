// Cuts the elements of an array out of a JSON text that is read piece by piece: finds where each element begins and
// ends, without parsing the element. In a damaged text, the framer can continue after an element that has lost its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/json/scanner.h"
#include "chakra/json/text.h"

namespace chakra::json {

/// The part of a source that is in memory, followed by blanks.
struct Buffer {
  Buffer(ByteSource from, size_t window) : source(std::move(from)) { text.resize(window + 2 * kBlock); }
  ByteSource source;
  std::string text;    ///< data, then padding
  size_t size = 0;     ///< bytes of data in `text`
  size_t cursor = 0;   ///< the data before the cursor has been used
  size_t keep = 0;     ///< the data before this index may be dropped
  int64_t begin = 0;   ///< offset of text[0] in the file
  bool ended = false;  ///< the file has ended

  std::string_view data() const { return {text.data(), size}; }
  int64_t at(size_t index) const { return begin + static_cast<int64_t>(index); }
  Place place(size_t index) const { return {source.file(), at(index)}; }
  /// Drop the data that may be dropped: all indices decrease by the return value.
  size_t drop();
  /// Read more; false at the end of the file. `patient`: delay an error until all data before the error has been used.
  Result<bool> fill(bool patient);
};

/// The state for reading on after damage.
struct Salvager {
  bool patient = false;       ///< reads on after a string that does not end on its line
  bool lost = false;          ///< patient: behind damage, before the next text that begins like an element
  std::string element_begin;  ///< how elements begin: on separate lines, or with a key; empty if unknown
  int64_t losses = 0;
  size_t patience = size_t{64} << 20;  ///< bytes after which an element has lost its end; less after each loss
  uint32_t scanned_again = 0;          ///< on ways back from losses, in KiB, at least 1 each
};

struct Framer {
  Framer(ByteSource source, size_t window) : buffer(std::move(source), window) {}
  Buffer buffer;
  Salvager salvager;
  Scanner scanner;
  size_t scanned = 0;                ///< index of the block to scan next
  uint32_t depth = 0;                ///< of brackets, at `scanned`
  bool array_ended = false;          ///< the array's closing bracket is at `scanned`
  bool broken = false;               ///< not patient: an element that cannot continue, at `scanned`
  std::vector<size_t> starts, ends;  ///< of elements; an element that has begun need not have ended

  /// Read more; false at the end of the file.
  Result<bool> more();
  /// Begin an array; the cursor is behind the opening bracket.
  void begin_array();
  /// Forget the elements that have ended; an element that has only begun stays.
  void drop_elements();
  /// Scan the buffer, up to the end of the data, the end of the array, or damage.
  void scan();
  /// Patient: lose the element at its start, and all data up to index `from`.
  void lose(size_t from);
  /// Go to the next text that begins like an element; false if not found.
  Result<bool> take_up_again();
  void note_element_begin(size_t start);
  /// Whether elements exist or existed, so that their beginning is known.
  bool knows_elements() const { return !salvager.element_begin.empty() || !starts.empty(); }
  /// Whether only blanks and `commas` commas lie between two indices.
  bool separated(size_t from, size_t to, int commas) const;
  /// Return the index of the first other byte; `to` if not found.
  size_t first_odd_byte(size_t from, size_t to, int commas) const { return odd_byte(from, to, commas); }

 private:
  size_t odd_byte(size_t from, size_t to, int& commas) const;
  bool closes_element(size_t index) const;
  void follow(uint64_t opens, uint64_t closes);
  void follow_broken(const Scanner::Brackets& in, size_t line_end);
};

}  // namespace chakra::json
