// Errors of simdjson, and what simdjson is given to read.
#include <utility>

#include "chakra/json/json.h"

namespace chakra::json {
namespace {

static_assert(simdjson::SIMDJSON_PADDING <= kBlock);

/// The error of a text that is refused for `code`, where its first damage is.
Error error_of(simdjson::error_code code, std::string_view text, Place where, const Tags& tags) {
  if (const size_t damage = first_damage(text); damage < text.size()) {
    where.byte += static_cast<int64_t>(damage);
    const bool control = static_cast<unsigned char>(text[damage]) < 0x20 && !is_blank(text[damage]);
    if (control || utf8_length(text, damage) == 0) code = simdjson::UTF8_ERROR;
  }
  return json_error(code, std::move(where), tags).error();
}

simdjson::padded_string_view padded(const Buffer& buffer, size_t begin, size_t end) {
  return simdjson::padded_string_view(buffer.text.data() + begin, end - begin, buffer.text.size() - begin);
}

}  // namespace

Failure json_error(simdjson::error_code code, Place place, const Tags& tags) {
  const bool encoding = code == simdjson::UTF8_ERROR || code == simdjson::UNESCAPED_CHARS;
  std::string text = simdjson::error_message(code);
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return fail(Code::bad_input, std::string(encoding ? tags.encoding : tags.syntax),
              encoding ? "a byte that JSON does not allow in a text (not UTF-8, or a control character)"
                       : "not as JSON should be: " + text,
              std::move(place));
}

Failure damaged(const JsonStream& stream, simdjson::error_code code, std::string_view text, const Place& begin) {
  return Failure(error_of(code, text, begin, stream.tags()));
}

Error damage_error(std::string_view text, const Place& begin, const Tags& tags) {
  return error_of(simdjson::TAPE_ERROR, text, begin, tags);
}

Error unended_string_error(Place place, const Tags& tags) {
  return json_error(simdjson::UNESCAPED_CHARS, std::move(place), tags).error();
}

simdjson::padded_string_view JsonStream::value() const {
  const auto begin = static_cast<size_t>(value_at_ - framer_.buffer.begin);
  return padded(framer_.buffer, begin, begin + value_size_);
}
simdjson::padded_string_view JsonStream::window() const {
  return padded(framer_.buffer, framer_.starts[0] - 1, framer_.ends.back() + 1);
}
simdjson::padded_string_view JsonStream::element(size_t i) const {
  return padded(framer_.buffer, framer_.starts[i], framer_.ends[i]);
}

}  // namespace chakra::json
