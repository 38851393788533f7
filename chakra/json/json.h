// Large JSON documents, read in windows (stream.h), and the values inside by simdjson on demand: simdjson is part of
// this header because a call per value would cost as much as reading it. No public header of another room includes it.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/json/stream.h"

namespace chakra::json {

/// Call `use(object, place)` for each element of the array and `member(key, value)` for each other
/// member. Both return Result<void>; if `use` returns an error with an empty place, the place is
/// filled in. Errors: also tags().encoding, .element.
/// With `salvage`, leave out and count records that are damaged anywhere, and end the file at the first unreadable
/// position.
struct Salvage {
  int64_t left_out = 0;
  std::optional<Error> first;
  bool damaged = false;  ///< damage in the record read last: odd text after the record belongs to the same damage
  void note(const Error& error) {
    ++left_out;
    if (!first) first = error;
  }
};
template <class Use, class Member>
Result<void> for_each_element(JsonStream& stream, const Use& use, const Member& member, Salvage* salvage = nullptr);
/// Do the same for the elements of the window at the position of the stream.
template <class Use>
Result<void> for_each_in_window(JsonStream& stream, simdjson::ondemand::parser& parser, const Use& use,
                                Salvage* salvage = nullptr);

using JsonValue = simdjson::ondemand::value;

/// Return a field's key and value in place, because copies cost as much as
/// parsing. A key with escapes, which PyTorch never writes, is decoded.
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

// ---- single values, for differences between files in the notation -----------------------------------

/// Return the value's text as in the file: numbers and literals without blanks,
/// strings without quotes (escapes kept), arrays and objects whole.
std::string_view token(JsonValue& value);
/// Return the same for a document that is a single number, string or literal.
std::string_view token(simdjson::ondemand::document& document);
/// Return a string's token without its escapes.
std::string decoded(std::string_view token);
/// Parse an integer, bare or as a string ("7", "0x1f"). False for anything else, and for integers too large.
bool to_integer(JsonValue& value, int64_t& number);
/// Whether a value other than an array or object is valid JSON: simdjson has only checked the first byte.
bool is_sound(JsonValue& value);

/// Convert microseconds as decimal text to nanoseconds, without a double if the text has at most 18 digits.
/// Digits below a nanosecond are rounded. False if the text is not a number or is too large.
bool parse_micros(std::string_view text, int64_t& ns);

/// Append JSON text in Python's notation for the same value, as the ecosystem stores
/// tensors: 'cuda:0' for "cuda:0", True, None, ", " between elements.
void append_python_repr(std::string& out, std::string_view json);

/// Return the error for simdjson's code.
Failure json_error(simdjson::error_code code, Place place, const Tags& tags = kPyTorchTags);
/// Return the error for text that simdjson rejects, at the damage. `begin`: where the text begins in the file.
Failure damaged(const JsonStream& stream, simdjson::error_code code, std::string_view text, const Place& begin);

// ---- implementation ------------------------------------------------------------------------------

template <class Use>
Result<void> for_each_in_window(JsonStream& stream, simdjson::ondemand::parser& parser, const Use& use,
                                Salvage* salvage) {
  namespace ondemand = simdjson::ondemand;
  const auto use_value = [&](auto&& value, size_t i) -> Result<void> {
    stream.set_current(i);
    ondemand::object object;
    if (const auto code = value.get_object().get(object)) {
      if (code != simdjson::INCORRECT_TYPE) return damaged(stream, code, stream.element(i), stream.element_place(i));
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
        return damaged(stream, code, stream.element(index), stream.element_place(index));
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
      CHAKRA_TRY(leave_out(damaged(stream, code, text, stream.element_place(i))));
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
      if (!salvage) return Failure(next.error());
      if (!any_element) {
        CHAKRA_ASSIGN(const bool found, stream.skip_to_array());
        if (!found) return Failure(next.error());
        salvage->note(next.error());
        continue;
      }
      return leave_out(Failure(next.error()));
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
      used = damaged(stream, code, stream.value(), stream.value_place());
    else used = member(stream.key(), document);
    CHAKRA_TRY(leave_out(std::move(used)));
  }
}

}  // namespace chakra::json
