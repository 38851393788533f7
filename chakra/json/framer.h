// Cuts the elements of an array out of a JSON text that is read piece by piece: finds where each begins and ends, and
// does not look into it. In a text with damage it can go on behind an element that has lost its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/json/scanner.h"
#include "chakra/json/text.h"

namespace chakra::json {

/// The part of a source that is in memory, with blanks after it.
struct Buffer {
  Buffer(ByteSource from, size_t window) : source(std::move(from)) { text.resize(window + 2 * kBlock); }
  ByteSource source;
  std::string text;    ///< data, then padding
  size_t size = 0;     ///< data in it
  size_t cursor = 0;   ///< what is before it has been used
  size_t keep = 0;     ///< what is before it may be dropped
  int64_t begin = 0;   ///< offset of text[0] in the file
  bool ended = false;  ///< of the file

  std::string_view data() const { return {text.data(), size}; }
  int64_t at(size_t index) const { return begin + static_cast<int64_t>(index); }
  Place place(size_t index) const { return {source.file(), at(index)}; }
  /// Drops what may be dropped: indices become smaller by as much as it returns.
  size_t drop();
  /// Reads on; false at the end of the file. `patient`: an error comes when all before it has been used.
  Result<bool> fill(bool patient);
};

/// The state of reading on after damage.
struct Salvager {
  bool patient = false;       ///< reads on behind a string that does not end on its line
  bool lost = false;          ///< patient: behind damage, before the next text that begins as elements do
  std::string element_begin;  ///< how elements begin: on lines of their own, or with a key; empty if not known
  int64_t losses = 0;
  size_t patience = size_t{64} << 20;  ///< bytes after which an element has lost its end; less after each
  uint32_t scanned_again = 0;          ///< on ways back from losses, in KiB, at least 1 each
};

struct Framer {
  Framer(ByteSource source, size_t window) : buffer(std::move(source), window) {}
  Buffer buffer;
  Salvager salvager;
  Scanner scanner;
  size_t scanned = 0;                ///< index of the block that is scanned next
  uint32_t depth = 0;                ///< of brackets there
  bool array_ended = false;          ///< its bracket is at `scanned`
  bool broken = false;               ///< not patient: an element that cannot go on like this, at `scanned`
  std::vector<size_t> starts, ends;  ///< of elements; one that has begun need not have ended

  /// Reads on; false at the end of the file.
  Result<bool> more();
  /// The cursor is behind its bracket.
  void begin_array();
  /// Forgets the elements that have ended; one that has only begun stays.
  void drop_elements();
  /// Through what is in the buffer, or to the end of the array, or to damage.
  void scan();
  /// Patient: the element at its start, and all to index `from`, is lost.
  void lose(size_t from);
  /// To the next text that begins as elements do; false if there is none.
  Result<bool> take_up_again();
  void note_element_begin(size_t start);
  /// There is an element, or there was one, so that it is known how they begin.
  bool knows_elements() const { return !salvager.element_begin.empty() || !starts.empty(); }
  /// Only blanks between two indices, but for `commas` commas.
  bool separated(size_t from, size_t to, int commas) const;
  /// The index of what else there is; `to` if nothing.
  size_t first_odd_byte(size_t from, size_t to, int commas) const { return odd_byte(from, to, commas); }

 private:
  size_t odd_byte(size_t from, size_t to, int& commas) const;
  bool closes_element(size_t index) const;
  void follow(uint64_t opens, uint64_t closes);
  void follow_broken(const Scanner::Brackets& in, size_t line_end);
};

}  // namespace chakra::json
