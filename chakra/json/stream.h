// A JSON document whose bulk is one array of objects, in windows of about a MiB, so that neither the file nor an index
// of the file has to be in memory at once, and so that damage is reported with its place:
//     { "a": 1, "nodes": [ {...}, {...}, ... ], "b": 2 }        or        [ {...}, {...}, ... ]
// or a sequence of objects without any array, as in JSON lines:    {...} {...} ...
// json.h reads the contents of the windows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/json/framer.h"

namespace simdjson {
class padded_string_view;
}

namespace chakra::json {

/// The tags of a room for errors in JSON (docs/reference/errors.md).
struct Tags {
  std::string_view empty, syntax, truncated, encoding, element;
};
inline constexpr Tags kPyTorchTags{"pytorch.json.empty", "pytorch.json.syntax", "pytorch.json.truncated",
                                   "pytorch.json.encoding", "pytorch.json.element"};
inline constexpr Tags kTraceTags{"io.json.empty", "io.json.syntax", "io.json.truncated", "io.json.encoding",
                                 "io.json.element"};

/// Return the index of the first invalid byte of `text`, which begins with a value; the size if all bytes are valid,
/// even if the value is incomplete. `any_number`: accept inf and NaN as printed by Python and C++. Cost: O(text).
size_t first_damage(std::string_view text, bool any_number = false);
/// Return the error that names the first damage of a text; `begin`: where the text begins in the file.
Error damage_error(std::string_view text, const Place& begin, const Tags& tags);
/// Return the error for a string that does not end on its line.
Error unended_string_error(Place place, const Tags& tags);

class JsonStream {
 public:
  static constexpr size_t kWindow = size_t{1} << 20;  ///< bytes; grows where one element is larger

  /// `arrays` are the possible keys of the bulk array; an array at top level is also accepted.
  JsonStream(ByteSource source, std::vector<std::string> arrays, size_t window = kWindow,
             const Tags& tags = kPyTorchTags);
  /// Open a sequence of objects with blanks between the objects: windows only.
  static JsonStream sequence(ByteSource source, const Tags& tags);

  enum class Part : uint8_t {
    member,   ///< a member other than the array: key(), value()
    window,   ///< some elements of the array key(): window(), elements(), element()
    finished  ///< the document has ended without errors
  };
  /// Return the next part. Errors: tags().empty, .syntax, .truncated, those of ByteSource.
  /// The views of a part are valid until the following call.
  Result<Part> next();

  std::string_view key() const { return key_; }
  /// Return the member's value; simdjson may read SIMDJSON_PADDING bytes beyond the value.
  simdjson::padded_string_view value() const;
  Place value_place(size_t offset = 0) const { return {file(), value_at_ + static_cast<int64_t>(offset)}; }

  /// Return "[" elements "]", with the same padding.
  simdjson::padded_string_view window() const;
  size_t elements() const { return framer_.ends.size(); }
  /// Return element i alone, with the same padding.
  simdjson::padded_string_view element(size_t i) const;
  Place element_place(size_t i) const { return framer_.buffer.place(framer_.starts[i]); }
  Place place(size_t i, size_t offset_in_element) const {
    return framer_.buffer.place(framer_.starts[i] + offset_in_element);
  }
  /// Whether the document is an object with one of the arrays, even an empty array.
  bool found_array() const { return document_.found_array; }
  const std::string& file() const { return framer_.buffer.source.file(); }
  const Tags& tags() const { return tags_; }
  bool is_sequence() const { return document_.sequence; }
  /// Whether exactly the required separator lies between element i and the element before.
  bool well_separated(size_t i) const;
  /// Return the place of the first unexpected byte there.
  Place between_place(size_t i) const;

  /// Return the place of the element that for_each_element is at.
  Place current_place() const { return element_place(current_); }
  int64_t current_byte() const { return framer_.buffer.at(framer_.starts[current_]); }
  void set_current(size_t i) {
    current_ = i;
    looked_at_ = nullptr;
  }
  /// Note the part of the current element in use now, so that an error has a place nearby.
  void look_at(const char* text) { looked_at_ = text; }
  Place looked_at_place() const;

  /// Leave strings that continue over line ends, and text between elements, to the caller from now on.
  void be_patient();
  /// Patient, behind damage in a member: go on to the array. False if there is no array.
  Result<bool> skip_to_array();
  /// Patient: return the number of lost elements, except those reported by well_separated(0) or an error of next().
  int64_t take_losses();

  /// Append a row. Once enough of the file is read to predict the rest, the vector grows to the size that
  /// the whole file will need if the rest is similar, so that rows are not copied again and again.
  template <class Rows>
  void append(Rows& rows, const typename Rows::value_type& row) const {
    constexpr double kEnough = 0.02, kSpare = 1.05;
    if (rows.size() == rows.capacity())
      if (const double progress = framer_.buffer.source.progress(); progress > kEnough)
        rows.reserve(static_cast<size_t>(static_cast<double>(rows.size()) * std::max(kSpare / progress, 1.1)) + 1);
    rows.push_back(row);
  }

 private:
  enum class State : uint8_t { start, members, elements, finished };
  struct Document {
    State state = State::start;
    bool bare = false;  ///< the document is the array
    bool sequence = false;
    bool first_member = true;
    bool any_element = false;
    bool found_array = false;
  };
  struct Window {
    bool well_begun = true;  ///< well_separated of the first element
    size_t badly_begun = 0;  ///< if not: the index of the unexpected byte before the element
    size_t patched = 0;      ///< index of the byte replaced by ']', or 0
    char patched_byte = 0;
  };

  Failure syntax(std::string text) const;
  Failure truncated() const;
  Failure unended_string() const;
  std::optional<Error> damage_before(size_t end) const;

  Result<bool> skip_blanks();  ///< to the next other byte; false at the end of the file
  Result<size_t> value_end();  ///< index behind the value at the cursor
  Result<size_t> string_end(size_t quote);
  Result<size_t> bracket_end();
  Result<size_t> checked_end(size_t bracket) const;

  Result<Part> start();
  Result<Part> next_member();
  Result<void> read_key();
  Result<Part> next_window();
  Result<Part> give_window(bool after_loss);
  Result<Part> end_array();
  Result<Part> finish();
  void drop_window();
  void begin_array();
  std::string_view text_of(size_t i) const;
  int commas() const { return document_.sequence ? 0 : 1; }  ///< between two elements

  Framer framer_;
  std::vector<std::string> arrays_;
  Tags tags_;
  Document document_;
  Window window_;
  std::string key_;
  int64_t value_at_ = 0;  ///< in the file
  size_t value_size_ = 0;
  size_t current_ = 0;
  const char* looked_at_ = nullptr;
};

}  // namespace chakra::json
