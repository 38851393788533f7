#include "chakra/json/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#define CHAKRA_JSON_WIDE __attribute__((target("avx2,pclmul")))  // what is built so runs where the machine has them
#endif

namespace chakra::json {
namespace {

constexpr size_t kBlock = 64;
constexpr size_t kLeastPatience = size_t{1} << 16;
constexpr size_t kMostScannedAgain = 1 << 21;  ///< KiB, beside as many as the file has so far
static_assert(simdjson::SIMDJSON_PADDING <= kBlock);

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

using Masks = JsonStream::Masks;

/// One bit per byte of a block. '[' | 0x20 is '{' and ']' | 0x20 is '}'.
Masks masks_of(const char* block) {
  Masks masks;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), line = _mm_set1_epi8('\n');
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
    const __m128i folded = _mm_or_si128(bytes, bit);
    const auto mask = [&](__m128i hits) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hits))) << (16 * i);
    };
    masks.quotes |= mask(_mm_cmpeq_epi8(bytes, quote));
    masks.backslashes |= mask(_mm_cmpeq_epi8(bytes, backslash));
    masks.opens |= mask(_mm_cmpeq_epi8(folded, open));
    masks.closes |= mask(_mm_cmpeq_epi8(folded, close));
    masks.lines |= mask(_mm_cmpeq_epi8(bytes, line));
  }
#else
  for (size_t i = 0; i < kBlock; ++i) {
    const auto bit = [&](bool is) { return static_cast<uint64_t>(is) << i; };
    const char c = block[i];
    masks.quotes |= bit(c == '"');
    masks.backslashes |= bit(c == '\\');
    masks.opens |= bit((c | 0x20) == '{');
    masks.closes |= bit((c | 0x20) == '}');
    masks.lines |= bit(c == '\n');
  }
#endif
  return masks;
}

/// Bit i of the result is the parity of bits 0..i.
uint64_t prefix_parity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

#if defined(CHAKRA_JSON_WIDE)
CHAKRA_JSON_WIDE inline uint64_t wide_mask(__m256i low, __m256i high, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  const auto below = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const auto above = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return below | uint64_t{above} << 32;
}
#endif

}  // namespace

/// Without the quotes that a backslash escapes.
void JsonStream::Scanner::leave_out_escaped(Masks& masks) {
  uint64_t escaped_bytes = escaped ? 1 : 0;
  masks.backslashes &= ~escaped_bytes;
  escaped = false;
  while (masks.backslashes != 0) {  // rare: one by one
    const int i = std::countr_zero(masks.backslashes);
    masks.backslashes &= masks.backslashes - 1;
    if (i == 63) {
      escaped = true;
    } else {
      escaped_bytes |= uint64_t{2} << i;
      masks.backslashes &= ~(uint64_t{2} << i);
    }
  }
  masks.quotes &= ~escaped_bytes;
}

/// `parity`: prefix_parity of the quotes.
inline JsonStream::Scanner::Brackets JsonStream::Scanner::follow(const Masks& masks, uint64_t parity) {
  const uint64_t inside = parity ^ in_string;
  in_string = static_cast<uint64_t>(static_cast<int64_t>(inside) >> 63);
  broken = masks.lines & inside;
  return {masks.opens & ~inside, masks.closes & ~inside};
}

JsonStream::Scanner::Brackets JsonStream::Scanner::step(const char* block) {
#if defined(CHAKRA_JSON_WIDE)
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul");
  if (wide) return step_wide(block);
#endif
  Masks masks = masks_of(block);
  if (masks.backslashes != 0 || escaped) leave_out_escaped(masks);
  return follow(masks, prefix_parity(masks.quotes));
}

#if defined(CHAKRA_JSON_WIDE)
CHAKRA_JSON_WIDE JsonStream::Scanner::Brackets JsonStream::Scanner::step_wide(const char* block) {
  const auto* at = reinterpret_cast<const __m256i*>(block);
  const __m256i low = _mm256_loadu_si256(at), high = _mm256_loadu_si256(at + 1);
  const __m256i low_folded = _mm256_or_si256(low, _mm256_set1_epi8(0x20));
  const __m256i high_folded = _mm256_or_si256(high, _mm256_set1_epi8(0x20));
  Masks masks{wide_mask(low, high, '"'), wide_mask(low, high, '\\'), wide_mask(low_folded, high_folded, '{'),
              wide_mask(low_folded, high_folded, '}'), wide_mask(low, high, '\n')};
  if (masks.backslashes != 0 || escaped) leave_out_escaped(masks);
  // A product without carries with all ones adds up all bits below.
  const __m128i quotes = _mm_set_epi64x(0, static_cast<int64_t>(masks.quotes));
  const __m128i parity = _mm_clmulepi64_si128(quotes, _mm_set1_epi8(-1), 0);
  return follow(masks, static_cast<uint64_t>(_mm_cvtsi128_si64(parity)));
}
#endif

JsonStream::JsonStream(ByteSource source, std::vector<std::string> arrays, size_t window, const Tags& tags)
    : source_(std::move(source)), arrays_(std::move(arrays)), tags_(tags) {
  buffer_.resize(window + 2 * kBlock);
}

JsonStream JsonStream::sequence(ByteSource source, const Tags& tags) {
  JsonStream stream(std::move(source), {}, kWindow, tags);
  stream.sequence_ = true;
  return stream;
}

tl::unexpected<Error> JsonStream::syntax(std::string text) const {
  return fail(Code::bad_input, std::string(tags_.syntax), std::move(text), here());
}
tl::unexpected<Error> JsonStream::truncated() const {
  if (std::optional<Error> damage = damage_before(size_)) return tl::unexpected<Error>(std::move(*damage));
  return fail(Code::bad_input, std::string(tags_.truncated), "the JSON text ends before it is complete",
              {source_.file(), at(size_)});
}

tl::unexpected<Error> JsonStream::damaged(simdjson::error_code code, std::string_view text, const Place& begin) const {
  Place where = begin;
  if (const size_t damage = first_damage(text); damage < text.size()) {
    where.byte += static_cast<int64_t>(damage);
    const bool control = static_cast<unsigned char>(text[damage]) < 0x20 && !is_blank(text[damage]);
    if (control || utf8_length(text, damage) == 0) code = simdjson::UTF8_ERROR;
  }
  return json_error(code, std::move(where), tags_);
}

/// The damage in what has begun and not ended, which may be why it has not.
std::optional<Error> JsonStream::damage_before(size_t end) const {
  const bool element = state_ == State::elements;
  if (element && starts_.size() <= ends_.size()) return std::nullopt;
  const size_t begin = element ? starts_[ends_.size()] : cursor_;
  if (begin >= end || (!element && state_ != State::members)) return std::nullopt;
  const std::string_view text = std::string_view(buffer_.data(), size_).substr(begin, end - begin);
  if (first_damage(text) == text.size()) return std::nullopt;
  return damaged(simdjson::TAPE_ERROR, text, {source_.file(), at(begin)}).value();
}

tl::unexpected<Error> JsonStream::unended_string() const {
  if (std::optional<Error> damage = damage_before(scanned_)) return tl::unexpected<Error>(std::move(*damage));
  return json_error(simdjson::UNESCAPED_CHARS, {source_.file(), at(scanned_)}, tags_);
}

Result<bool> JsonStream::more() {
  if (ended_) return false;
  if (keep_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + keep_, size_ - keep_);
    buffer_at_ += static_cast<int64_t>(keep_);
    const size_t by = keep_;
    for (size_t* index : {&size_, &cursor_, &scanned_, &value_begin_, &value_end_})
      *index = *index >= by ? *index - by : 0;
    for (size_t& start : starts_) start -= by;
    for (size_t& end : ends_) end -= by;
    keep_ = 0;
  }
  if (size_ + 2 * kBlock >= buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const size_t room = buffer_.size() - 2 * kBlock - size_;
  CHAKRA_ASSIGN(const size_t got, source_.read({buffer_.data() + size_, room}));
  size_ += got;
  ended_ = got < room && (!patient_ || source_.read({}).has_value());  // else damage follows
  std::memset(buffer_.data() + size_, ' ', 2 * kBlock);
  return got > 0;
}

Result<bool> JsonStream::skip_blanks() {
  for (;;) {
    while (cursor_ < size_ && is_blank(buffer_[cursor_])) ++cursor_;
    if (cursor_ < size_) return true;
    keep_ = cursor_;
    CHAKRA_ASSIGN(const bool got, more());
    if (!got) return false;
  }
}

size_t JsonStream::odd_byte(size_t from, size_t to, int& commas) const {
  for (; from < to; ++from)
    if (!is_blank(buffer_[from]) && (buffer_[from] != ',' || commas-- <= 0)) return from;
  return to;
}

bool JsonStream::separated(size_t from, size_t to, int commas) const {
  return odd_byte(from, to, commas) == to && commas == 0;
}

Result<size_t> JsonStream::string_end(size_t quote) {
  size_t length = 1;  // relative to the quote, which may move when the buffer does
  const size_t offset = quote - cursor_;
  for (;;) {
    while (cursor_ + offset + length < size_) {
      const char c = buffer_[cursor_ + offset + length];
      length += c == '\\' ? 2 : 1;
      if (c == '"') return cursor_ + offset + length;
    }
    CHAKRA_ASSIGN(const bool got, more());
    if (!got) return truncated();
  }
}

/// The index behind the bracket that closes the value at the cursor, if it is one of its kind.
Result<size_t> JsonStream::checked_end(size_t bracket) const {
  if ((buffer_[cursor_] == '{') == (buffer_[bracket] == '}')) return bracket + 1;
  if (std::optional<Error> damage = damage_before(bracket + 1)) return tl::unexpected<Error>(std::move(*damage));
  return syntax("a bracket is missing");
}

Result<size_t> JsonStream::bracket_end() {
  Scanner scanner;
  uint64_t depth = 0;
  size_t done = 0;  // relative to the cursor
  for (;;) {
    while (cursor_ + done + kBlock <= size_ || (ended_ && cursor_ + done < size_)) {
      const auto [opens, closes] = scanner.step(buffer_.data() + cursor_ + done);  // blanks follow the data
      for (uint64_t both = opens | closes; both != 0; both &= both - 1) {
        const int i = std::countr_zero(both);
        if (opens >> i & 1) ++depth;
        else if (--depth == 0) return checked_end(cursor_ + done + static_cast<size_t>(i));
      }
      done += kBlock;
    }
    CHAKRA_ASSIGN(const bool got, more());
    if (!got && !(ended_ && cursor_ + done < size_)) return truncated();
  }
}

Result<size_t> JsonStream::value_end() {
  const char first = buffer_[cursor_];
  if (first == '{' || first == '[') return bracket_end();
  if (first == '"') return string_end(cursor_);
  if (std::strchr("-0123456789tfn", first) == nullptr) return syntax("a value should stand here");
  for (size_t length = 1;; ++length) {
    if (cursor_ + length >= size_) {
      CHAKRA_ASSIGN(const bool got, more());
      if (!got) return truncated();
    }
    const char c = buffer_[cursor_ + length];
    if (is_blank(c) || c == ',' || c == '}' || c == ']') return cursor_ + length;
  }
}

Result<JsonStream::Part> JsonStream::next() {
  drop_window();
  switch (state_) {
    case State::start: {
      CHAKRA_TRY(more());
      if (std::string_view(buffer_.data(), size_).starts_with("\xef\xbb\xbf")) cursor_ = 3;
      CHAKRA_ASSIGN(const bool any, skip_blanks());
      if (!any) return fail(Code::bad_input, std::string(tags_.empty), "the file is empty", {source_.file()});
      if (sequence_) {
        if (buffer_[cursor_] != '{') return syntax("not a sequence of JSON objects");
        state_ = State::elements;
        keep_ = scanned_ = cursor_;
        return next_window();
      }
      if (buffer_[cursor_] != '{' && buffer_[cursor_] != '[') return syntax("not a JSON document");
      bare_ = buffer_[cursor_] == '[';
      state_ = bare_ ? State::elements : State::members;
      ++cursor_;
      keep_ = cursor_ - 1;
      scanned_ = cursor_;
      return bare_ ? next_window() : next_member();
    }
    case State::members: return next_member();
    case State::elements: return next_window();
    case State::finished: break;
  }
  return Part::finished;
}

Result<JsonStream::Part> JsonStream::next_member() {
  keep_ = cursor_;
  CHAKRA_ASSIGN(const bool any, skip_blanks());
  if (!any) return truncated();
  if (buffer_[cursor_] == '}') {
    ++cursor_;
    return finish();
  }
  if (!first_member_) {
    if (buffer_[cursor_] != ',') return syntax("',' or '}' should stand here");
    ++cursor_;
    CHAKRA_ASSIGN(const bool follows, skip_blanks());
    if (!follows) return truncated();
  }
  first_member_ = false;
  if (buffer_[cursor_] != '"') return syntax("a key should stand here");
  CHAKRA_ASSIGN(const size_t key_end, string_end(cursor_));
  key_.assign(buffer_, cursor_ + 1, key_end - cursor_ - 2);
  cursor_ = key_end;
  CHAKRA_ASSIGN(const bool colon, skip_blanks());
  if (!colon) return truncated();
  if (buffer_[cursor_] != ':') return syntax("':' should stand here");
  ++cursor_;
  CHAKRA_ASSIGN(const bool value, skip_blanks());
  if (!value) return truncated();
  if (buffer_[cursor_] == '[' && std::find(arrays_.begin(), arrays_.end(), key_) != arrays_.end()) {
    begin_array();
    return next_window();
  }
  keep_ = cursor_;
  CHAKRA_ASSIGN(value_end_, value_end());
  value_begin_ = cursor_;
  starts_.assign(1, value_begin_);
  cursor_ = value_end_;
  return Part::member;
}

/// The cursor is at its bracket.
void JsonStream::begin_array() {
  keep_ = cursor_;
  scanned_ = ++cursor_;
  scanner_ = {};
  depth_ = 0;
  any_element_ = false;
  found_array_ = true;
  starts_.clear();
  state_ = State::elements;
}

void JsonStream::drop_window() {
  if (patched_ != 0) buffer_[patched_] = patched_byte_;
  patched_ = 0;
  if (state_ != State::elements) {
    starts_.clear();
    return;
  }
  // An element that has begun but not ended stays.
  starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(ends_.size()));
  ends_.clear();
}

/// How an element begins: with its line, or else with its first key.
void JsonStream::note_element_begin(size_t start) {
  size_t begin = start, key = start + 1;
  while (begin > 0 && (buffer_[begin - 1] == ' ' || buffer_[begin - 1] == '\t')) --begin;
  element_begin_.clear();
  if (begin > 0 && buffer_[begin - 1] == '\n') {
    element_begin_.assign(buffer_, begin - 1, start - begin + 2);
    return;
  }
  while (key < size_ && is_blank(buffer_[key])) ++key;
  const size_t quote = key < size_ && buffer_[key] == '"' ? buffer_.find('"', key + 1) : std::string::npos;
  element_begin_.assign(buffer_, start, quote < size_ ? quote + 1 - start : 1);
}

/// What has ended is whole; what has begun is not.
void JsonStream::lose(size_t from) {
  if (!ends_.empty()) note_element_begin(starts_[ends_.size() - 1]);
  else if (element_begin_.empty()) note_element_begin(starts_.back());
  // Each way back is scanned again: a file full of damage must not cost its square.
  if (from < scanned_) {
    patience_ = std::max(patience_ / 2, kLeastPatience);
    const size_t again = scanned_again_ + (scanned_ - from) / 1024 + 1;
    if (again > kMostScannedAgain + static_cast<size_t>(at(scanned_)) / 1024) from = scanned_;
    else scanned_again_ = static_cast<uint32_t>(again);
  }
  lost_ = true;
  ++losses_;
  scanned_ = from;
  scanner_ = {};
  depth_ = 0;
  starts_.resize(ends_.size());
}

bool JsonStream::closes_element(size_t index) const {
  return (buffer_[starts_.back()] == '{') == (buffer_[index] == '}');
}

Result<bool> JsonStream::skip_to_array() {
  if (state_ != State::members || found_array_) return false;
  for (;;) {
    const std::string_view text(buffer_.data(), size_);
    const auto blanks_end = [&](size_t index) {
      while (index < size_ && is_blank(buffer_[index])) ++index;
      return index;
    };
    for (const std::string& key : arrays_) {
      const std::string quoted = "\"" + key + "\"";
      // Its first quote may have passed for the end of a string.
      for (size_t found = text.find(quoted, std::max<size_t>(cursor_, 1) - 1); found != std::string::npos;
           found = text.find(quoted, found + 1)) {
        const size_t colon = blanks_end(found + quoted.size());
        if (colon == size_ || buffer_[colon] != ':') continue;
        const size_t bracket = blanks_end(colon + 1);
        if (bracket == size_ || buffer_[bracket] != '[') continue;
        key_ = key;
        cursor_ = bracket;
        begin_array();
        return true;
      }
    }
    constexpr size_t kLongestKey = 1000;  // with the blanks around it
    cursor_ = std::max(cursor_, size_ - std::min(size_, kLongestKey));
    keep_ = cursor_;
    CHAKRA_ASSIGN(const bool got, more());
    if (!got) return false;
  }
}

/// To the next text that begins as elements do.
Result<void> JsonStream::take_up_again() {
  for (;;) {
    const size_t found = std::string_view(buffer_.data(), size_).find(element_begin_, scanned_);
    lost_ = found == std::string_view::npos;
    cursor_ = lost_ ? std::max(scanned_, size_ - std::min(size_, element_begin_.size())) : std::max<size_t>(found, 1);
    scanned_ = cursor_;
    keep_ = cursor_ - 1;
    if (!lost_) return {};
    CHAKRA_ASSIGN(const bool got, more());
    if (!got) return truncated();
  }
}

/// Takes the brackets of the block at scanned_ one by one. Where reading cannot just go on, scanned_ is left there.
void JsonStream::follow(uint64_t opens, uint64_t closes) {
  for (uint64_t both = opens | closes; both != 0; both &= both - 1) {
    const int i = std::countr_zero(both);
    const size_t index = scanned_ + static_cast<size_t>(i);
    if (opens >> i & 1) {
      if (depth_++ == 0) starts_.push_back(index);
    } else if (depth_ == 0) {
      array_ended_ = true;
      scanned_ = index;
      break;
    } else if (--depth_ == 0) {
      if (closes_element(index)) {
        ends_.push_back(index + 1);
      } else if (patient_) {
        scanned_ = index;
        return lose(starts_.back() + 1);
      } else {
        broken_ = true;
        scanned_ = index;
        return;
      }
    }
  }
  if (patient_ && array_ended_ && buffer_[scanned_] != ']' && (!element_begin_.empty() || !starts_.empty())) {
    array_ended_ = false;
    lose(scanned_ + 1);
  }
}

/// A line ended inside a string, at `line_end` of the block at scanned_.
void JsonStream::follow_broken(const Scanner::Brackets& in, size_t line_end) {
  const uint64_t line = (uint64_t{1} << line_end) - 1;
  follow(in.opens & line, in.closes & line);
  if (array_ended_ || broken_ || lost_) return;
  if (!patient_) {
    broken_ = true;
    scanned_ += line_end;
  } else if (!element_begin_.empty() || !starts_.empty()) {
    lose(scanned_ + line_end);
  } else {
    follow(in.opens & ~line, in.closes & ~line);
  }
}

/// Through what is in the buffer, or to the end of the array, or to damage.
void JsonStream::scan() {
  while (!array_ended_ && !broken_ && !lost_ && (scanned_ + kBlock <= size_ || (ended_ && scanned_ < size_))) {
    const Scanner before = scanner_;
    const Scanner::Brackets in = scanner_.step(buffer_.data() + scanned_);
    if (scanner_.broken != 0) {
      follow_broken(in, static_cast<size_t>(std::countr_zero(scanner_.broken)));
    } else if (const uint32_t ends = static_cast<uint32_t>(std::popcount(in.closes)); ends < depth_) {
      depth_ += static_cast<uint32_t>(std::popcount(in.opens)) - ends;  // none of an element
    } else {
      follow(in.opens, in.closes);
    }
    if (array_ended_) scanner_ = before;
    else if (!broken_ && !lost_) scanned_ += kBlock;
    if (patient_ && !lost_ && depth_ > 0 && scanned_ - starts_.back() > patience_) lose(starts_.back() + 1);
  }
}

Result<JsonStream::Part> JsonStream::next_window() {
  bool after_loss = lost_;
  array_ended_ = false;
  if (broken_) return unended_string();
  if (lost_) CHAKRA_TRY(take_up_again());
  for (;;) {
    scan();
    if (!ends_.empty()) return give_window(after_loss);
    if (array_ended_) return end_array();
    if (broken_) return unended_string();
    if (lost_) {
      CHAKRA_TRY(take_up_again());
      after_loss = true;
      continue;
    }
    keep_ = sequence_ ? cursor_ : cursor_ - 1;
    CHAKRA_ASSIGN(const bool got, more());
    if (got || scanned_ < size_) continue;
    if (patient_ && !starts_.empty()) {
      lose(starts_[0] + 1);
      continue;
    }
    if (!sequence_ || depth_ > 0 || scanner_.in_string != 0) return truncated();
    if (!separated(cursor_, size_, 0)) return syntax("an object should stand here");
    state_ = State::finished;
    return Part::finished;
  }
}

/// The elements that have ended, in brackets of their own. `after_loss`: something is lost before them.
Result<JsonStream::Part> JsonStream::give_window(bool after_loss) {
  losses_ -= after_loss;  // said by well_separated(0)
  well_begun_ = !after_loss && separated(cursor_, starts_[0], any_element_ && !sequence_ ? 1 : 0);
  if (!well_begun_) badly_begun_ = first_odd_byte(cursor_, starts_[0]);
  if (!well_begun_ && !patient_) {
    cursor_ = badly_begun_;
    return syntax("an element of the array should stand here");
  }
  if (patient_) note_element_begin(starts_[ends_.size() - 1]);
  any_element_ = true;
  cursor_ = ends_.back();
  if (array_ended_) {  // which is found again by the next call
    scanned_ = cursor_;
    scanner_ = {};
  }
  keep_ = sequence_ ? cursor_ : cursor_ - 1;
  if (sequence_) return Part::window;
  buffer_[starts_[0] - 1] = '[';
  patched_ = cursor_;
  patched_byte_ = buffer_[patched_];
  buffer_[patched_] = ']';
  return Part::window;
}

Result<JsonStream::Part> JsonStream::end_array() {
  if (sequence_) return syntax("a bracket too many");
  if (!separated(cursor_, scanned_, 0) || buffer_[scanned_] != ']') {
    cursor_ = first_odd_byte(cursor_, scanned_);
    return syntax("']' should stand here");
  }
  cursor_ = scanned_ + 1;
  starts_.clear();
  state_ = State::members;
  return bare_ ? finish() : next_member();
}

Result<JsonStream::Part> JsonStream::finish() {
  state_ = State::finished;
  CHAKRA_ASSIGN(const bool more_text, skip_blanks());
  if (more_text) return syntax("text after the end of the document");
  return Part::finished;
}

simdjson::padded_string_view JsonStream::padded(size_t begin, size_t end) const {
  return simdjson::padded_string_view(buffer_.data() + begin, end - begin, buffer_.size() - begin);
}
simdjson::padded_string_view JsonStream::value() const { return padded(value_begin_, value_end_); }
simdjson::padded_string_view JsonStream::window() const { return padded(starts_[0] - 1, ends_.back() + 1); }
simdjson::padded_string_view JsonStream::element(size_t i) const { return padded(starts_[i], ends_[i]); }

tl::unexpected<Error> json_error(simdjson::error_code code, Place place, const Tags& tags) {
  const bool encoding = code == simdjson::UTF8_ERROR || code == simdjson::UNESCAPED_CHARS;
  std::string text = simdjson::error_message(code);
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return fail(Code::bad_input, std::string(encoding ? tags.encoding : tags.syntax),
              encoding ? "a byte that JSON does not allow in a text (not UTF-8, or a control character)"
                       : "not as JSON should be: " + text,
              std::move(place));
}

}  // namespace chakra::json
