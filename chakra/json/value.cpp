#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "chakra/json/json.h"

namespace chakra::json {
namespace {

/// As JSON writes it.
bool is_number(std::string_view text) {
  const auto digits = [&] {
    const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  const auto skip = [&](std::string_view any) {
    const bool found = !text.empty() && any.find(text[0]) != std::string_view::npos;
    if (found) text.remove_prefix(1);
    return found;
  };
  skip("-");
  if (!skip("0") && digits() == 0) return false;
  if (skip(".") && digits() == 0) return false;
  if (skip("eE") && (skip("+-"), digits() == 0)) return false;
  return text.empty();
}

/// Of the escape that `text` begins with; 0 if it is none, or not all of it is there.
size_t escape_length(std::string_view text) {
  if (text.size() < 2 || contains("\"\\/bfnrt", text.substr(1, 1))) return std::min<size_t>(text.size(), 2);
  return text[1] == 'u' && are_hex(text.substr(2, 4)) ? 6 : 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view token(JsonValue& value) {
  simdjson::ondemand::json_type type;
  if (value.type().get(type)) return {};
  std::string_view text;
  switch (type) {
    case simdjson::ondemand::json_type::array:
    case simdjson::ondemand::json_type::object:
      if (simdjson::to_json_string(value).get(text)) return {};
      return trimmed(text);
    case simdjson::ondemand::json_type::string: {
      text = value.raw_json_token();  // from the opening quote to the next token
      const size_t end = text.rfind('"');
      return end == 0 || end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
    }
    default: return trimmed(value.raw_json_token());
  }
}

std::string_view token(simdjson::ondemand::document& document) {
  std::string_view text;
  if (document.raw_json_token().get(text)) return {};
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

bool to_integer(JsonValue& value, int64_t& number) {
  const std::string_view text = token(value);
  // Strings may hold "0x1f"; bare numbers have no zeros before them.
  const size_t digits = text.starts_with('-') ? 1 : 0;
  if (text.size() > digits + 1 && text[digits] == '0') {
    simdjson::ondemand::json_type type;
    if (value.type().get(type) || type == simdjson::ondemand::json_type::number) return false;
  }
  return parse_integer(text, number);
}

bool is_sound(JsonValue& value) {
  simdjson::ondemand::json_type type;
  if (value.type().get(type)) return false;
  switch (type) {
    case simdjson::ondemand::json_type::number: return is_number(token(value));
    case simdjson::ondemand::json_type::null: return token(value) == "null";
    case simdjson::ondemand::json_type::boolean: return token(value) == "true" || token(value) == "false";
    default: return true;
  }
}

size_t first_damage(std::string_view text, bool any_number) {
  constexpr std::array<std::string_view, 6> kNoJson{"inf", "-inf", "nan", "Infinity", "-Infinity", "NaN"};
  enum { value, value_or_end, key, key_or_end, colon, comma_or_end } next = value;
  std::string open;  // brackets
  size_t i = 0;
  // Behind the string that begins at i; false with i at its damage.
  const auto skip_string = [&] {
    for (++i; i < text.size() && text[i] != '"';) {
      if (static_cast<unsigned char>(text[i]) < 0x20) return false;
      const bool escape = text[i] == '\\';
      const size_t length = escape ? escape_length(text.substr(i)) : utf8_length(text, i);
      if (length == 0 && text.size() - i >= (escape ? 6 : 4)) return false;
      i += std::max<size_t>(length, 1);
    }
    i = std::min(i + 1, text.size());
    return true;
  };
  const auto close = [&] {
    open.pop_back();
    ++i;
    next = comma_or_end;
  };
  while (i < text.size()) {
    const char c = text[i];
    if (is_blank(c)) {
      ++i;
    } else if ((next == key_or_end && c == '}') || (next == value_or_end && c == ']')) {
      close();
    } else if (next == key || next == key_or_end) {
      if (c != '"' || !skip_string()) return i;
      next = colon;
    } else if (next == colon) {
      if (c != ':') return i;
      ++i;
      next = value;
    } else if (next == comma_or_end) {
      if (open.empty()) return text.size();
      if (c == (open.back() == '{' ? '}' : ']')) {
        close();
      } else {
        if (c != ',') return i;
        ++i;
        next = open.back() == '{' ? key : value;
      }
    } else if (c == '{' || c == '[') {
      open += c;
      ++i;
      next = c == '{' ? key_or_end : value_or_end;
    } else if (c == '"') {
      if (!skip_string()) return i;
      next = comma_or_end;
    } else {
      const size_t end = text.find_first_of(" \t\r\n,]}:", i);
      if (end == std::string_view::npos) {
        const size_t odd = text.find_first_not_of("+-.0123456789abcdefghijklmnopqrstuvwxyzE", i);
        return std::min(odd, text.size());
      }
      const std::string_view word = text.substr(i, end - i);
      const bool odd_number = any_number && std::find(kNoJson.begin(), kNoJson.end(), word) != kNoJson.end();
      if (word != "true" && word != "false" && word != "null" && !odd_number && !is_number(word)) return i;
      i = end;
      next = comma_or_end;
    }
  }
  return text.size();
}

bool parse_micros(std::string_view text, int64_t& ns) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  int64_t value = 0;
  int decimals = -1;  // behind the point; -1 before it
  bool any = false;
  size_t i = 0;
  for (; i < digits.size(); ++i) {
    const char c = digits[i];
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (is_digit(c)) {
      if (decimals >= 3) {
        if (decimals == 3 && c >= '5') ++value;
        decimals = 4;
        continue;
      }
      any = true;
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value)) return false;
      if (decimals >= 0) ++decimals;
    } else {
      break;
    }
  }
  if (!any) return false;
  if (i < digits.size()) {  // an exponent
    double micros = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
    if (error != std::errc() || end != text.data() + text.size() || !(std::abs(micros) < 9e15)) return false;
    ns = std::llround(micros * 1000);
    return true;
  }
  for (int d = std::max(decimals, 0); d < 3; ++d)
    if (__builtin_mul_overflow(value, 10, &value)) return false;
  ns = negative ? -value : value;
  return true;
}

}  // namespace chakra::json
