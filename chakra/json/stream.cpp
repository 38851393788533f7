#include "chakra/json/stream.h"

#include <bit>
#include <cstring>

namespace chakra::json {

JsonStream::JsonStream(ByteSource source, std::vector<std::string> arrays, size_t window, const Tags& tags)
    : framer_(std::move(source), window), arrays_(std::move(arrays)), tags_(tags) {}

JsonStream JsonStream::sequence(ByteSource source, const Tags& tags) {
  JsonStream stream(std::move(source), {}, kWindow, tags);
  stream.document_.sequence = true;
  return stream;
}

// ---- errors --------------------------------------------------------------------------------------

Failure JsonStream::syntax(std::string text) const {
  return fail(Code::bad_input, std::string(tags_.syntax), std::move(text), framer_.buffer.place(framer_.buffer.cursor));
}
Failure JsonStream::truncated() const {
  const Buffer& buffer = framer_.buffer;
  if (std::optional<Error> damage = damage_before(buffer.size)) return Failure(std::move(*damage));
  return fail(Code::bad_input, std::string(tags_.truncated), "the JSON text ends before it is complete",
              buffer.place(buffer.size));
}

/// The damage in what has begun and not ended, which may be why it has not.
std::optional<Error> JsonStream::damage_before(size_t end) const {
  const bool element = document_.state == State::elements;
  const size_t ended = framer_.ends.size();
  if (element && framer_.starts.size() <= ended) return std::nullopt;
  const size_t begin = element ? framer_.starts[ended] : framer_.buffer.cursor;
  if (begin >= end || (!element && document_.state != State::members)) return std::nullopt;
  const std::string_view text = framer_.buffer.data().substr(begin, end - begin);
  if (first_damage(text) == text.size()) return std::nullopt;
  return damage_error(text, framer_.buffer.place(begin), tags_);
}

Failure JsonStream::unended_string() const {
  if (std::optional<Error> damage = damage_before(framer_.scanned)) return Failure(std::move(*damage));
  return Failure(unended_string_error(framer_.buffer.place(framer_.scanned), tags_));
}

// ---- values outside the array --------------------------------------------------------------------

Result<bool> JsonStream::skip_blanks() {
  Buffer& buffer = framer_.buffer;
  for (;;) {
    while (buffer.cursor < buffer.size && is_blank(buffer.text[buffer.cursor])) ++buffer.cursor;
    if (buffer.cursor < buffer.size) return true;
    buffer.keep = buffer.cursor;
    CHAKRA_ASSIGN(const bool got, framer_.more());
    if (!got) return false;
  }
}

Result<size_t> JsonStream::string_end(size_t quote) {
  const Buffer& buffer = framer_.buffer;
  size_t length = 1;  // relative to the quote, which may move when the buffer does
  const size_t offset = quote - buffer.cursor;
  for (;;) {
    while (buffer.cursor + offset + length < buffer.size) {
      const char c = buffer.text[buffer.cursor + offset + length];
      length += c == '\\' ? 2 : 1;
      if (c == '"') return buffer.cursor + offset + length;
    }
    CHAKRA_ASSIGN(const bool got, framer_.more());
    if (!got) return truncated();
  }
}

/// The index behind the bracket that closes the value at the cursor, if it is one of its kind.
Result<size_t> JsonStream::checked_end(size_t bracket) const {
  const Buffer& buffer = framer_.buffer;
  if ((buffer.text[buffer.cursor] == '{') == (buffer.text[bracket] == '}')) return bracket + 1;
  if (std::optional<Error> damage = damage_before(bracket + 1)) return Failure(std::move(*damage));
  return syntax("a bracket is missing");
}

Result<size_t> JsonStream::bracket_end() {
  const Buffer& buffer = framer_.buffer;
  Scanner scanner;
  uint64_t depth = 0;
  size_t done = 0;  // relative to the cursor
  for (;;) {
    while (buffer.cursor + done + kBlock <= buffer.size || (buffer.ended && buffer.cursor + done < buffer.size)) {
      // Blanks follow the data.
      const auto [opens, closes] = scanner.step(buffer.text.data() + buffer.cursor + done);
      for (uint64_t both = opens | closes; both != 0; both &= both - 1) {
        const int i = std::countr_zero(both);
        if (opens >> i & 1) ++depth;
        else if (--depth == 0) return checked_end(buffer.cursor + done + static_cast<size_t>(i));
      }
      done += kBlock;
    }
    CHAKRA_ASSIGN(const bool got, framer_.more());
    if (!got && !(buffer.ended && buffer.cursor + done < buffer.size)) return truncated();
  }
}

Result<size_t> JsonStream::value_end() {
  const Buffer& buffer = framer_.buffer;
  const char first = buffer.text[buffer.cursor];
  if (first == '{' || first == '[') return bracket_end();
  if (first == '"') return string_end(buffer.cursor);
  if (std::strchr("-0123456789tfn", first) == nullptr) return syntax("expected a value");
  for (size_t length = 1;; ++length) {
    if (buffer.cursor + length >= buffer.size) {
      CHAKRA_ASSIGN(const bool got, framer_.more());
      if (!got) return truncated();
    }
    const char c = buffer.text[buffer.cursor + length];
    if (is_blank(c) || c == ',' || c == '}' || c == ']') return buffer.cursor + length;
  }
}

// ---- part by part --------------------------------------------------------------------------------

Result<JsonStream::Part> JsonStream::next() {
  drop_window();
  switch (document_.state) {
    case State::start: return start();
    case State::members: return next_member();
    case State::elements: return next_window();
    case State::finished: break;
  }
  return Part::finished;
}

Result<JsonStream::Part> JsonStream::start() {
  Buffer& buffer = framer_.buffer;
  CHAKRA_TRY(framer_.more());
  if (buffer.data().starts_with("\xef\xbb\xbf")) buffer.cursor = 3;
  CHAKRA_ASSIGN(const bool any, skip_blanks());
  if (!any) return fail(Code::bad_input, std::string(tags_.empty), "the file is empty", {file()});
  const char first = buffer.text[buffer.cursor];
  if (document_.sequence) {
    if (first != '{') return syntax("not a sequence of JSON objects");
    document_.state = State::elements;
    buffer.keep = framer_.scanned = buffer.cursor;
    return next_window();
  }
  if (first != '{' && first != '[') return syntax("not a JSON document");
  document_.bare = first == '[';
  document_.state = document_.bare ? State::elements : State::members;
  buffer.keep = buffer.cursor++;
  framer_.scanned = buffer.cursor;
  return document_.bare ? next_window() : next_member();
}

/// From the end of a member to the value of the next one: its key, and the cursor at its value.
Result<void> JsonStream::read_key() {
  Buffer& buffer = framer_.buffer;
  if (!document_.first_member) {
    if (buffer.text[buffer.cursor] != ',') return syntax("expected ',' or '}'");
    ++buffer.cursor;
    CHAKRA_ASSIGN(const bool follows, skip_blanks());
    if (!follows) return truncated();
  }
  document_.first_member = false;
  if (buffer.text[buffer.cursor] != '"') return syntax("a key should stand here");
  CHAKRA_ASSIGN(const size_t key_end, string_end(buffer.cursor));
  key_.assign(buffer.text, buffer.cursor + 1, key_end - buffer.cursor - 2);
  buffer.cursor = key_end;
  CHAKRA_ASSIGN(const bool colon, skip_blanks());
  if (!colon) return truncated();
  if (buffer.text[buffer.cursor] != ':') return syntax("expected ':'");
  ++buffer.cursor;
  CHAKRA_ASSIGN(const bool value, skip_blanks());
  if (!value) return truncated();
  return {};
}

Result<JsonStream::Part> JsonStream::next_member() {
  Buffer& buffer = framer_.buffer;
  buffer.keep = buffer.cursor;
  CHAKRA_ASSIGN(const bool any, skip_blanks());
  if (!any) return truncated();
  if (buffer.text[buffer.cursor] == '}') {
    ++buffer.cursor;
    return finish();
  }
  CHAKRA_TRY(read_key());
  if (buffer.text[buffer.cursor] == '[' && std::find(arrays_.begin(), arrays_.end(), key_) != arrays_.end()) {
    begin_array();
    return next_window();
  }
  buffer.keep = buffer.cursor;
  CHAKRA_ASSIGN(const size_t end, value_end());
  value_at_ = buffer.at(buffer.cursor);
  value_size_ = end - buffer.cursor;
  framer_.starts.assign(1, buffer.cursor);
  buffer.cursor = end;
  return Part::member;
}

/// The cursor is at its bracket.
void JsonStream::begin_array() {
  framer_.buffer.keep = framer_.buffer.cursor++;
  framer_.begin_array();
  document_.any_element = false;
  document_.found_array = true;
  document_.state = State::elements;
}

void JsonStream::drop_window() {
  if (window_.patched != 0) framer_.buffer.text[window_.patched] = window_.patched_byte;
  window_.patched = 0;
  if (document_.state == State::elements) framer_.drop_elements();
  else framer_.starts.clear();
}

Result<JsonStream::Part> JsonStream::next_window() {
  Buffer& buffer = framer_.buffer;
  Salvager& salvager = framer_.salvager;
  bool after_loss = salvager.lost;
  const auto take_up_again = [&]() -> Result<void> {
    CHAKRA_ASSIGN(const bool found, framer_.take_up_again());
    if (!found) return truncated();
    return {};
  };
  framer_.array_ended = false;
  if (framer_.broken) return unended_string();
  if (salvager.lost) CHAKRA_TRY(take_up_again());
  for (;;) {
    framer_.scan();
    if (!framer_.ends.empty()) return give_window(after_loss);
    if (framer_.array_ended) return end_array();
    if (framer_.broken) return unended_string();
    if (salvager.lost) {
      CHAKRA_TRY(take_up_again());
      after_loss = true;
      continue;
    }
    buffer.keep = document_.sequence ? buffer.cursor : buffer.cursor - 1;
    CHAKRA_ASSIGN(const bool got, framer_.more());
    if (got || framer_.scanned < buffer.size) continue;
    if (salvager.patient && !framer_.starts.empty()) {
      framer_.lose(framer_.starts[0] + 1);
      continue;
    }
    if (!document_.sequence || framer_.depth > 0 || framer_.scanner.in_string != 0) return truncated();
    if (!framer_.separated(buffer.cursor, buffer.size, 0)) return syntax("expected an object");
    document_.state = State::finished;
    return Part::finished;
  }
}

/// Return the elements that have ended, in separate brackets. `after_loss`: something is lost before them.
Result<JsonStream::Part> JsonStream::give_window(bool after_loss) {
  Buffer& buffer = framer_.buffer;
  const size_t first = framer_.starts[0];
  framer_.salvager.losses -= after_loss;  // said by well_separated(0)
  window_.well_begun = !after_loss && framer_.separated(buffer.cursor, first, document_.any_element ? commas() : 0);
  if (!window_.well_begun) window_.badly_begun = framer_.first_odd_byte(buffer.cursor, first, commas());
  if (!window_.well_begun && !framer_.salvager.patient) {
    buffer.cursor = window_.badly_begun;
    return syntax("expected an element of the array");
  }
  if (framer_.salvager.patient) framer_.note_element_begin(framer_.starts[framer_.ends.size() - 1]);
  document_.any_element = true;
  buffer.cursor = framer_.ends.back();
  if (framer_.array_ended) {  // which is found again by the next call
    framer_.scanned = buffer.cursor;
    framer_.scanner = {};
  }
  buffer.keep = document_.sequence ? buffer.cursor : buffer.cursor - 1;
  if (document_.sequence) return Part::window;
  buffer.text[first - 1] = '[';
  window_.patched = buffer.cursor;
  window_.patched_byte = std::exchange(buffer.text[buffer.cursor], ']');
  return Part::window;
}

Result<JsonStream::Part> JsonStream::end_array() {
  Buffer& buffer = framer_.buffer;
  const size_t end = framer_.scanned;
  if (document_.sequence) return syntax("a bracket too many");
  if (!framer_.separated(buffer.cursor, end, 0) || buffer.text[end] != ']') {
    buffer.cursor = framer_.first_odd_byte(buffer.cursor, end, commas());
    return syntax("expected ']'");
  }
  buffer.cursor = end + 1;
  framer_.starts.clear();
  document_.state = State::members;
  return document_.bare ? finish() : next_member();
}

Result<JsonStream::Part> JsonStream::finish() {
  document_.state = State::finished;
  CHAKRA_ASSIGN(const bool more_text, skip_blanks());
  if (more_text) return syntax("text after the end of the document");
  return Part::finished;
}

// ---- places --------------------------------------------------------------------------------------

std::string_view JsonStream::text_of(size_t i) const {
  return framer_.buffer.data().substr(framer_.starts[i], framer_.ends[i] - framer_.starts[i]);
}

bool JsonStream::well_separated(size_t i) const {
  return i == 0 ? window_.well_begun : framer_.separated(framer_.ends[i - 1], framer_.starts[i], commas());
}

Place JsonStream::between_place(size_t i) const {
  if (i == 0) return framer_.buffer.place(window_.badly_begun);
  return framer_.buffer.place(framer_.first_odd_byte(framer_.ends[i - 1], framer_.starts[i], commas()));
}

Place JsonStream::looked_at_place() const {
  const std::string_view text = text_of(current_);
  if (const size_t damage = first_damage(text); damage < text.size()) return place(current_, damage);
  const bool inside = looked_at_ >= text.data() && looked_at_ < text.data() + text.size();
  return place(current_, inside ? static_cast<size_t>(looked_at_ - text.data()) : 0);
}

void JsonStream::be_patient() {
  framer_.salvager.patient = true;
  framer_.buffer.source.keep_what_is_whole();
}

int64_t JsonStream::take_losses() {
  const int64_t pending = framer_.salvager.lost ? 1 : 0;
  return std::exchange(framer_.salvager.losses, pending) - pending;
}

}  // namespace chakra::json
