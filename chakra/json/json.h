// Reads a JSON document whose bulk is one array of objects, in windows of about a MiB, so that
// neither the file nor simdjson's index of it has to be in memory at once, and so that damage is
// reported with its place:
//     { "a": 1, "nodes": [ {...}, {...}, ... ], "b": 2 }        or        [ {...}, {...}, ... ]
// or a sequence of objects without any array, as JSON lines are:    {...} {...} ...
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::json {

/// How a room names the errors in its JSON (docs/errors.md).
struct Tags {
  std::string_view empty, syntax, truncated, encoding, element;
};
inline constexpr Tags kPyTorchTags{"pytorch.json.empty", "pytorch.json.syntax", "pytorch.json.truncated",
                                   "pytorch.json.encoding", "pytorch.json.element"};
inline constexpr Tags kTraceTags{"io.json.empty", "io.json.syntax", "io.json.truncated", "io.json.encoding",
                                 "io.json.element"};

/// Where in `text`, which begins with a value, the first byte stands that cannot be there; its size if there is none,
/// whether or not the value is whole. `any_number`: inf and NaN as Python and C++ print them are none. Cost: O(text).
size_t first_damage(std::string_view text, bool any_number = false);

class JsonStream {
 public:
  static constexpr size_t kWindow = size_t{1} << 20;  ///< bytes; grows where one element is larger

  /// `arrays` are the keys a bulk array may have; an array at top level is also taken as one.
  JsonStream(ByteSource source, std::vector<std::string> arrays, size_t window = kWindow,
             const Tags& tags = kPyTorchTags);
  /// A sequence of objects with blanks between them: windows only.
  static JsonStream sequence(ByteSource source, const Tags& tags);

  enum class Part : uint8_t {
    member,   ///< a member other than the array: key(), value()
    window,   ///< some elements of the array key(): window(), elements(), element()
    finished  ///< the document has ended well
  };
  /// Errors: tags().empty, .syntax, .truncated, those of ByteSource.
  /// The views of a part hold until the following call.
  Result<Part> next();

  std::string_view key() const { return key_; }
  /// The member's value; simdjson may read SIMDJSON_PADDING bytes beyond it.
  simdjson::padded_string_view value() const;
  Place value_place(size_t offset = 0) const { return {source_.file(), at(value_begin_ + offset)}; }

  /// "[" elements "]", padded likewise.
  simdjson::padded_string_view window() const;
  size_t elements() const { return ends_.size(); }
  /// Element i alone, padded likewise.
  simdjson::padded_string_view element(size_t i) const;
  Place element_place(size_t i) const { return {source_.file(), at(starts_[i])}; }
  Place place(size_t i, size_t offset_in_element) const { return {source_.file(), at(starts_[i] + offset_in_element)}; }
  /// The document is an object with one of the arrays, be it empty.
  bool found_array() const { return found_array_; }
  const std::string& file() const { return source_.file(); }
  const Tags& tags() const { return tags_; }
  bool is_sequence() const { return sequence_; }
  /// Between element i and the one before is what belongs there, and nothing else.
  bool well_separated(size_t i) const {
    return i == 0 ? well_begun_ : separated(ends_[i - 1], starts_[i], sequence_ ? 0 : 1);
  }
  /// What of it does not belong there.
  Place between_place(size_t i) const {
    return {source_.file(), at(i == 0 ? badly_begun_ : first_odd_byte(ends_[i - 1], starts_[i]))};
  }
  /// The element that for_each_element is at.
  Place current_place() const { return element_place(current_); }
  int64_t current_byte() const { return at(starts_[current_]); }
  void set_current(size_t i) {
    current_ = i;
    looked_at_ = nullptr;
  }
  /// Strings that go on over line ends and what stands between elements are then left to the caller.
  void be_patient() {
    patient_ = true;
    source_.keep_what_is_whole();
  }
  /// Patient, behind damage in a member: on to the array. False if there is none.
  Result<bool> skip_to_array();
  /// Patient: elements that were lost, but for those that well_separated(0) or an error of next() tells of.
  int64_t take_losses() {
    const int64_t pending = lost_ ? 1 : 0;
    return std::exchange(losses_, pending) - pending;
  }
  /// The error of text that simdjson refuses, where the damage is; `begin`: of the text in the file.
  tl::unexpected<Error> damaged(simdjson::error_code code, std::string_view text, const Place& begin) const;
  /// What of the current element is looked at now, so that an error has a place near it.
  void look_at(const char* text) { looked_at_ = text; }
  Place looked_at_place() const {
    const std::string_view text(element(current_));
    if (const size_t damage = first_damage(text); damage < text.size()) return place(current_, damage);
    const char* const begin = buffer_.data() + starts_[current_];
    const bool inside = looked_at_ >= begin && looked_at_ < buffer_.data() + ends_[current_];
    return place(current_, inside ? static_cast<size_t>(looked_at_ - begin) : 0);
  }

  /// Appends a row. Once a part of the file is read that its rest can be judged by, the vector grows to what the
  /// whole file will need if it goes on as it began, so that rows are not copied again and again.
  template <class Rows>
  void append(Rows& rows, const typename Rows::value_type& row) const {
    constexpr double kEnough = 0.02, kSpare = 1.05;
    if (rows.size() == rows.capacity())
      if (const double progress = source_.progress(); progress > kEnough)
        rows.reserve(static_cast<size_t>(static_cast<double>(rows.size()) * std::max(kSpare / progress, 1.1)) + 1);
    rows.push_back(row);
  }

  /// Of 64 bytes, a bit for each.
  struct Masks {
    uint64_t quotes = 0, backslashes = 0, opens = 0, closes = 0, lines = 0;
  };

 private:
  /// Follows strings and brackets over 64 bytes at a time.
  struct Scanner {
    struct Brackets {
      uint64_t opens, closes;  ///< outside strings
    };
    uint64_t in_string = 0;  ///< all ones: the block begins inside a string
    bool escaped = false;    ///< the block's first byte is escaped
    uint64_t broken = 0;     ///< line ends inside strings, where JSON has none: a quote is missing before
    Brackets step(const char* block);
    Brackets step_wide(const char* block);  ///< the same on processors with 32-byte registers
    void leave_out_escaped(Masks& masks);
    Brackets follow(const Masks& masks, uint64_t parity);
  };

  simdjson::padded_string_view padded(size_t begin, size_t end) const;
  int64_t at(size_t index) const { return buffer_at_ + static_cast<int64_t>(index); }
  Place here() const { return {source_.file(), at(cursor_)}; }
  tl::unexpected<Error> syntax(std::string text) const;
  tl::unexpected<Error> truncated() const;
  tl::unexpected<Error> unended_string() const;
  std::optional<Error> damage_before(size_t end) const;

  Result<bool> more();         ///< reads on; false at the end of the file
  Result<bool> skip_blanks();  ///< to the next byte that is none; false at the end of the file
  Result<size_t> value_end();  ///< index behind the value at the cursor
  Result<size_t> string_end(size_t quote);
  Result<size_t> bracket_end();
  Result<size_t> checked_end(size_t bracket) const;
  Result<Part> next_member();
  Result<Part> next_window();
  void scan();
  void follow(uint64_t opens, uint64_t closes);
  void follow_broken(const Scanner::Brackets& in, size_t line_end);
  Result<Part> give_window(bool after_loss);
  Result<Part> end_array();
  Result<Part> finish();
  void drop_window();
  void note_element_begin(size_t start);
  void lose(size_t from);
  void begin_array();
  bool closes_element(size_t index) const;
  Result<void> take_up_again();
  /// Only blanks between two indices, but for `commas` commas.
  bool separated(size_t from, size_t to, int commas) const;
  /// The index of what else there is; `to` if nothing. Takes the commas from `commas`.
  size_t odd_byte(size_t from, size_t to, int& commas) const;
  size_t first_odd_byte(size_t from, size_t to) const {
    int commas = sequence_ ? 0 : 1;
    return odd_byte(from, to, commas);
  }

  ByteSource source_;
  std::vector<std::string> arrays_;
  enum class State : uint8_t { start, members, elements, finished } state_ = State::start;
  bool bare_ = false;  ///< the document is the array
  bool sequence_ = false;
  Tags tags_;
  bool first_member_ = true;
  bool any_element_ = false;
  bool found_array_ = false;
  bool ended_ = false;  ///< of the file

  std::string buffer_;     ///< data, then padding
  size_t size_ = 0;        ///< data in it
  size_t cursor_ = 0;      ///< what is before it has been used
  size_t keep_ = 0;        ///< what is before it may be dropped
  int64_t buffer_at_ = 0;  ///< offset of buffer_[0] in the file

  std::string key_;
  size_t value_begin_ = 0, value_end_ = 0;

  Scanner scanner_;
  size_t scanned_ = 0;
  uint32_t depth_ = 0;
  bool array_ended_ = false;  ///< its bracket is at scanned_
  std::vector<size_t> starts_, ends_;
  size_t current_ = 0;
  const char* looked_at_ = nullptr;
  bool well_begun_ = true;     ///< well_separated of the window's first element
  size_t badly_begun_ = 0;     ///< if not: the index of what does not belong before it
  bool patient_ = false;       ///< reads on behind a string that does not end on its line
  std::string element_begin_;  ///< how elements begin: on lines of their own, or with a key; empty if not known
  int64_t losses_ = 0;
  size_t patience_ = size_t{64} << 20;  ///< bytes after which an element has lost its end; less after each
  bool lost_ = false;                   ///< patient: behind damage, before the next text that is like that
  bool broken_ = false;                 ///< such a string has been found, at scanned_
  uint32_t scanned_again_ = 0;          ///< on ways back from losses, in KiB, at least 1 each
  size_t patched_ = 0;                  ///< index of the byte replaced by ']', or 0
  char patched_byte_ = 0;
};

/// Calls `use(object, place)` for each element of the array and `member(key, value)` for each other
/// member. Both return Result<void>; `use` may return an error with an empty place, which is then
/// filled in. Errors: also tags().encoding, .element.
/// With `salvage`, records that are damaged anywhere are left out and counted, and the file ends where it cannot be
/// read any further.
struct Salvage {
  int64_t left_out = 0;
  std::optional<Error> first;
  bool damaged = false;  ///< the record read last: odd text after that record is of the same damage
  void note(const Error& error) {
    ++left_out;
    if (!first) first = error;
  }
};
template <class Use, class Member>
Result<void> for_each_element(JsonStream& stream, const Use& use, const Member& member, Salvage* salvage = nullptr);
/// The same for the elements of the window that the stream is at.
template <class Use>
Result<void> for_each_in_window(JsonStream& stream, simdjson::ondemand::parser& parser, const Use& use,
                                Salvage* salvage = nullptr);

using JsonValue = simdjson::ondemand::value;

/// A field's key and value where they stand, for copies cost as much as parsing does; a key with escapes,
/// which no PyTorch writes, decoded.
inline simdjson::error_code open_field(simdjson::simdjson_result<simdjson::ondemand::field>& result,
                                       std::string_view& key, JsonValue*& value) {
  if (result.error()) return result.error();
  simdjson::ondemand::field& field = const_cast<simdjson::ondemand::field&>(std::as_const(result).value_unsafe());
  const char* const begin = field.key().raw();
  const char* end = begin;
  while (*end != '"' && *end != '\\') ++end;  // there is a closing quote, or there would be no field
  key = {begin, static_cast<size_t>(end - begin)};
  if (*end == '\\')
    if (const auto code = field.unescaped_key().get(key)) return code;
  value = &field.value();
  return simdjson::SUCCESS;
}

// ---- single values, where files differ in how they write them ---------------------------------------

/// The value's text as it stands in the file: numbers and literals without blanks, strings without
/// quotes (escapes kept), arrays and objects whole.
std::string_view token(JsonValue& value);
/// The same of a document that is a single number, string or literal.
std::string_view token(simdjson::ondemand::document& document);
/// A string's token without its escapes.
std::string decoded(std::string_view token);
/// A whole number, bare or as a string ("7", "0x1f"). False where it is none, or too large.
bool to_integer(JsonValue& value, int64_t& number);
/// Whether a value that is neither array nor object is one that JSON knows: simdjson has looked at its first byte only.
bool is_sound(JsonValue& value);

/// Microseconds as decimal text to nanoseconds, without going through a double where the text has at
/// most 18 digits. Digits below a nanosecond are rounded. False where it is not a number or is too large.
bool parse_micros(std::string_view text, int64_t& ns);

/// Appends JSON text in the form in which Python prints the same value, which is how the ecosystem
/// stores tensors: 'cuda:0' for "cuda:0", True, None, ", " between elements.
void append_python_repr(std::string& out, std::string_view json);

/// The error that simdjson's code stands for.
tl::unexpected<Error> json_error(simdjson::error_code code, Place place, const Tags& tags = kPyTorchTags);

// ---- implementation ------------------------------------------------------------------------------

template <class Use>
Result<void> for_each_in_window(JsonStream& stream, simdjson::ondemand::parser& parser, const Use& use,
                                Salvage* salvage) {
  namespace ondemand = simdjson::ondemand;
  const auto use_value = [&](auto&& value, size_t i) -> Result<void> {
    stream.set_current(i);
    ondemand::object object;
    if (const auto code = value.get_object().get(object)) {
      if (code != simdjson::INCORRECT_TYPE) return stream.damaged(code, stream.element(i), stream.element_place(i));
      return fail(Code::bad_input, std::string(stream.tags().element),
                  "an element of the array is no object; is this a trace?", stream.element_place(i));
    }
    Result<void> used = use(object);
    if (!used && used.error().place.file.empty()) used.error().place = stream.looked_at_place();
    return used;
  };
  // An error in a record ends the reading, unless the record is to be left out.
  const auto leave_out = [&](Result<void> result) -> Result<void> {
    if (result || !salvage) return result;
    salvage->note(result.error());
    return {};
  };
  ondemand::document document;
  ondemand::array array;
  if (!salvage && !stream.is_sequence() && parser.iterate(stream.window()).get(document) == simdjson::SUCCESS &&
      document.get_array().get(array) == simdjson::SUCCESS) {
    size_t i = 0;
    for (auto element : array) {
      const size_t index = std::min(i++, stream.elements() - 1);
      ondemand::value value;
      if (const auto code = std::move(element).get(value))
        return stream.damaged(code, stream.element(index), stream.element_place(index));
      CHAKRA_TRY(use_value(value, index));
    }
    return {};
  }
  for (size_t i = 0; i < stream.elements(); ++i) {  // damage in the window: element by element finds the place
    const auto text = stream.element(i);
    if (!stream.well_separated(i) && !(salvage && salvage->damaged)) {
      Result<void> between = fail(Code::bad_input, std::string(stream.tags().syntax),
                                  "not as JSON should be between two elements", stream.between_place(i));
      CHAKRA_TRY(leave_out(std::move(between)));
    }
    auto code = parser.iterate(text).get(document);
    // simdjson does not check values that no code reads; in a file that is salvaged they can be damaged.
    if (salvage) salvage->damaged = first_damage(text, true) < text.size();
    if (code == simdjson::SUCCESS && salvage && salvage->damaged) code = simdjson::TAPE_ERROR;
    if (code) {
      CHAKRA_TRY(leave_out(stream.damaged(code, text, stream.element_place(i))));
      continue;
    }
    CHAKRA_TRY(leave_out(use_value(document, i)));
  }
  return {};
}

template <class Use, class Member>
Result<void> for_each_element(JsonStream& stream, const Use& use, const Member& member, Salvage* salvage) {
  namespace ondemand = simdjson::ondemand;
  ondemand::parser parser;
  const auto leave_out = [&](Result<void> result) -> Result<void> {
    if (result || !salvage) return result;
    salvage->note(result.error());
    return {};
  };
  if (salvage) stream.be_patient();
  bool any_element = false;
  for (;;) {
    const Result<JsonStream::Part> next = stream.next();
    if (salvage) salvage->left_out += stream.take_losses();
    if (!next) {
      if (!salvage) return tl::unexpected<Error>(next.error());
      if (!any_element) {
        CHAKRA_ASSIGN(const bool found, stream.skip_to_array());
        if (!found) return tl::unexpected<Error>(next.error());
        salvage->note(next.error());
        continue;
      }
      return leave_out(tl::unexpected<Error>(next.error()));
    }
    const JsonStream::Part part = *next;
    any_element |= part == JsonStream::Part::window;
    if (part == JsonStream::Part::finished) return {};
    if (part == JsonStream::Part::window) {
      CHAKRA_TRY(for_each_in_window(stream, parser, use, salvage));
      continue;
    }
    ondemand::document document;
    Result<void> used;
    if (const auto code = parser.iterate(stream.value()).get(document))
      used = stream.damaged(code, stream.value(), stream.value_place());
    else used = member(stream.key(), document);
    CHAKRA_TRY(leave_out(std::move(used)));
  }
}

}  // namespace chakra::json
