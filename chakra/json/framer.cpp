#include "chakra/json/framer.h"

#include <bit>
#include <cstring>

namespace chakra::json {

size_t Buffer::drop() {
  const size_t by = keep;
  if (by == 0) return 0;
  std::memmove(text.data(), text.data() + by, size - by);
  begin += static_cast<int64_t>(by);
  for (size_t* index : {&size, &cursor}) *index = *index >= by ? *index - by : 0;
  keep = 0;
  return by;
}

Result<bool> Buffer::fill(bool patient) {
  if (size + 2 * kBlock >= text.size()) text.resize(text.size() * 2);
  const size_t room = text.size() - 2 * kBlock - size;
  CHAKRA_ASSIGN(const size_t got, source.read({text.data() + size, room}));
  size += got;
  ended = got < room && (!patient || source.read({}).has_value());  // else damage follows
  std::memset(text.data() + size, ' ', 2 * kBlock);
  return got > 0;
}

Result<bool> Framer::more() {
  if (buffer.ended) return false;
  const size_t by = buffer.drop();
  scanned = scanned >= by ? scanned - by : 0;
  for (size_t& start : starts) start -= by;
  for (size_t& end : ends) end -= by;
  return buffer.fill(salvager.patient);
}

size_t Framer::odd_byte(size_t from, size_t to, int& commas) const {
  for (; from < to; ++from)
    if (!is_blank(buffer.text[from]) && (buffer.text[from] != ',' || commas-- <= 0)) return from;
  return to;
}

bool Framer::separated(size_t from, size_t to, int commas) const {
  return odd_byte(from, to, commas) == to && commas == 0;
}

void Framer::begin_array() {
  scanned = buffer.cursor;
  scanner = {};
  depth = 0;
  starts.clear();
}

void Framer::drop_elements() {
  starts.erase(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(ends.size()));
  ends.clear();
}

bool Framer::closes_element(size_t index) const {
  return (buffer.text[starts.back()] == '{') == (buffer.text[index] == '}');
}

/// Takes the brackets of the block at `scanned` one by one. Where reading cannot just go on, `scanned` is left there.
void Framer::follow(uint64_t opens, uint64_t closes) {
  for (uint64_t both = opens | closes; both != 0; both &= both - 1) {
    const int i = std::countr_zero(both);
    const size_t index = scanned + static_cast<size_t>(i);
    if (opens >> i & 1) {
      if (depth++ == 0) starts.push_back(index);
    } else if (depth == 0) {
      array_ended = true;
      scanned = index;
      break;
    } else if (--depth == 0) {
      if (closes_element(index)) {
        ends.push_back(index + 1);
      } else if (salvager.patient) {
        scanned = index;
        return lose(starts.back() + 1);
      } else {
        broken = true;
        scanned = index;
        return;
      }
    }
  }
  if (salvager.patient && array_ended && buffer.text[scanned] != ']' && knows_elements()) {
    array_ended = false;
    lose(scanned + 1);
  }
}

/// A line ended inside a string, at `line_end` of the block at `scanned`.
void Framer::follow_broken(const Scanner::Brackets& in, size_t line_end) {
  const uint64_t line = (uint64_t{1} << line_end) - 1;
  follow(in.opens & line, in.closes & line);
  if (array_ended || broken || salvager.lost) return;
  if (!salvager.patient) {
    broken = true;
    scanned += line_end;
  } else if (knows_elements()) {
    lose(scanned + line_end);
  } else {
    follow(in.opens & ~line, in.closes & ~line);
  }
}

void Framer::scan() {
  const bool& lost = salvager.lost;
  while (!array_ended && !broken && !lost &&
         (scanned + kBlock <= buffer.size || (buffer.ended && scanned < buffer.size))) {
    const Scanner before = scanner;
    const Scanner::Brackets in = scanner.step(buffer.text.data() + scanned);
    if (scanner.broken != 0) {
      follow_broken(in, static_cast<size_t>(std::countr_zero(scanner.broken)));
    } else if (const uint32_t closed = static_cast<uint32_t>(std::popcount(in.closes)); closed < depth) {
      depth += static_cast<uint32_t>(std::popcount(in.opens)) - closed;  // none of an element
    } else {
      follow(in.opens, in.closes);
    }
    if (array_ended) scanner = before;
    else if (!broken && !lost) scanned += kBlock;
    if (salvager.patient && !lost && depth > 0 && scanned - starts.back() > salvager.patience) lose(starts.back() + 1);
  }
}

}  // namespace chakra::json
