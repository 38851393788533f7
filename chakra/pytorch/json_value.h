// Reading single JSON values where files differ in how they write them.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/json/json.h"

namespace chakra::pytorch {

using json::bad_byte;
using json::for_each_element;
using json::json_error;
using json::JsonStream;
using json::JsonValue;
using json::open_field;
using json::Salvage;

/// The value's text as it stands in the file: numbers and literals without blanks, strings without
/// quotes (escapes kept), arrays and objects whole.
std::string_view token(JsonValue& value);
/// The same of a document that is a single number, string or literal.
std::string_view token(simdjson::ondemand::document& document);
/// A whole number, bare or as a string ("7", "0x1f"). False where it is none, or too large.
bool to_integer(JsonValue& value, int64_t& number);

/// Microseconds as decimal text to nanoseconds, without going through a double where the text has at
/// most 18 digits. Digits below a nanosecond are rounded. False where it is no number or too large.
bool parse_micros(std::string_view text, int64_t& ns);

/// Appends JSON text in the form in which Python prints the same value, which is how the ecosystem
/// stores tensors: 'cuda:0' for "cuda:0", True, None, ", " between elements.
void append_python_repr(std::string& out, std::string_view json);

}  // namespace chakra::pytorch
