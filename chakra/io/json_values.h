// Checked single values of the JSON forms, inline because a file has millions of
// values. An error has no place; the reader of the file adds the place.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/text_map.h"
#include "chakra/io/json_keys.h"
#include "chakra/io/records.h"
#include "chakra/json/json.h"

namespace chakra::io {

namespace ondemand = simdjson::ondemand;
using json::JsonValue;

inline Failure wrong(std::string_view key, std::string_view wanted) {
  return fail(Code::bad_input, "io.json.field", fmt::format("{}: {} should stand here", quote(key), wanted));
}
inline Failure broken(simdjson::error_code code) { return json::json_error(code, {}, json::kTraceTags); }

inline Result<bool> done(Result<void> result) {
  if (!result) return Failure(std::move(result.error()));
  return true;
}

/// Call read(key, row, value) for each member; an error if `read` rejects the member, or a key is a duplicate.
template <class Read>
Result<void> members(ondemand::object& object, const Read& read) {
  const TextMap<KeyRow>& known = json_keys();
  uint64_t seen = 0;
  for (auto field : object) {
    std::string_view key;
    JsonValue* value = nullptr;
    if (const auto code = json::open_field(field, key, value)) return broken(code);
    const auto row = known.find(key);
    if (row == known.end())
      return fail(Code::bad_input, "io.json.field", fmt::format("no key {} is known", quote(key)));
    const uint64_t bit = uint64_t{1} << static_cast<unsigned>(row->second.key);
    if (seen & bit)
      return fail(
          Code::bad_input, "io.json.field",
          row->second.key == Key::member ? "an attribute has two values" : fmt::format("duplicate key {}", quote(key)));
    seen |= bit;
    CHAKRA_ASSIGN(const bool taken, read(key, row->second, *value));
    if (!taken)
      return fail(Code::bad_input, "io.json.field", fmt::format("the key {} does not belong here", quote(key)));
  }
  return {};
}
template <class Read>
Result<void> elements(std::string_view key, JsonValue& value, const Read& read) {
  ondemand::array array;
  if (const auto code = value.get_array().get(array))
    return code == simdjson::INCORRECT_TYPE ? wrong(key, "an array") : broken(code);
  for (auto element : array) {
    JsonValue item;
    if (const auto code = std::move(element).get(item)) return broken(code);
    CHAKRA_TRY(read(item));
  }
  return {};
}
inline Result<ondemand::object> object_of(std::string_view key, JsonValue& value) {
  ondemand::object object;
  if (const auto code = value.get_object().get(object))
    return code == simdjson::INCORRECT_TYPE ? wrong(key, "an object") : broken(code);
  return object;
}
/// Return the text of a number or literal; of a string the text without quotes.
inline Result<std::string_view> scalar(std::string_view key, JsonValue& value) {
  ondemand::json_type type;
  if (const auto code = value.type().get(type)) return broken(code);
  if (type == ondemand::json_type::object || type == ondemand::json_type::array) return wrong(key, "a number");
  std::string_view text = value.raw_json_token();
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
    text.remove_suffix(1);
  if (type == ondemand::json_type::string) {
    if (text.size() < 2) return wrong(key, "a number");
    text = text.substr(1, text.size() - 2);
    if (simdjson::simdjson_result<std::string_view> skipped = value.get_string(); skipped.error())
      return broken(skipped.error());
  } else if (type == ondemand::json_type::boolean) {
    if (const auto code = value.get_bool().error()) return broken(code);
  } else if (type == ondemand::json_type::null) {
    return wrong(key, "a value");
  } else if (value.get_double().error() != simdjson::SUCCESS) {
    return wrong(key, "a number");
  }
  return text;
}
inline Result<void> natural(std::string_view key, JsonValue& value, uint64_t& number,
                            uint64_t most = std::numeric_limits<uint64_t>::max()) {
  CHAKRA_ASSIGN(const std::string_view text, scalar(key, value));
  if (!parse_unsigned(text, number) || number > most) return wrong(key, "a whole number that fits, not negative");
  return {};
}
inline Result<void> integer(std::string_view key, JsonValue& value, int64_t& number, bool narrow) {
  CHAKRA_ASSIGN(const std::string_view text, scalar(key, value));
  if (!parse_integer(text, number) || (narrow && number != static_cast<int32_t>(number)))
    return wrong(key, "a whole number that fits");
  return {};
}

template <class Read>
Result<void> only_member(std::string_view key, JsonValue& value, std::string_view name, const Read& read) {
  CHAKRA_ASSIGN(ondemand::object object, object_of(key, value));
  bool found = false;
  for (auto field : object) {
    std::string_view inner_key;
    JsonValue* inner = nullptr;
    if (const auto code = json::open_field(field, inner_key, inner)) return broken(code);
    if (found || inner_key != name) return wrong(key, fmt::format("{{\"{}\": ...}}", name));
    found = true;
    CHAKRA_TRY(read(*inner));
  }
  if (!found) return wrong(key, fmt::format("{{\"{}\": ...}}", name));
  return {};
}

/// Read the bits of a real: a number, "NaN", "Infinity", "-Infinity", or {"bits": "0x..."}.
inline Result<void> real(std::string_view key, JsonValue& value, bool single, uint64_t& bits) {
  ondemand::json_type type;
  if (const auto code = value.type().get(type)) return broken(code);
  if (type == ondemand::json_type::object)
    return only_member(key, value, "bits", [&](JsonValue& inner) {
      return natural(key, inner, bits, single ? std::numeric_limits<uint32_t>::max() : ~uint64_t{0});
    });
  double number = 0;
  if (type == ondemand::json_type::string) {
    std::string_view text;
    if (const auto code = value.get_string().get(text)) return broken(code);
    if (text == "NaN") {
      bits = single ? 0x7fc00000 : 0x7ff8000000000000;
      return {};
    }
    if (text != "Infinity" && text != "-Infinity") return wrong(key, "a number");
    number = text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  } else if (type != ondemand::json_type::number || value.get_double().get(number) != simdjson::SUCCESS) {
    return wrong(key, "a number");
  }
  if (!single) {
    bits = std::bit_cast<uint64_t>(number);
    return {};
  }
  if (std::isfinite(number) && std::fabs(number) > static_cast<double>(std::numeric_limits<float>::max()))
    return wrong(key, "a number that fits");
  bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  return {};
}

inline Result<void> node_type(std::string_view key, JsonValue& value, uint64_t& type) {
  CHAKRA_ASSIGN(const std::string_view text, scalar(key, value));
  const auto& names = trace::kNodeTypeNames;
  if (const auto found = std::find(names.begin(), names.end(), text); found != names.end()) {
    type = static_cast<uint64_t>(found - names.begin());
    return {};
  }
  int64_t number = 0;
  if (!parse_integer(text, number) || number != static_cast<int32_t>(number)) return wrong(key, "a node type");
  type = static_cast<uint64_t>(number);
  return {};
}

inline Result<void> id_list(std::string_view key, JsonValue& value, std::vector<uint64_t>& ids) {
  return elements(key, value, [&](JsonValue& item) { return natural(key, item, ids.emplace_back()); });
}

}  // namespace chakra::io
