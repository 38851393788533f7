// Reading on behind damage.
#include <algorithm>

#include "chakra/json/stream.h"

namespace chakra::json {
namespace {

constexpr size_t kLeastPatience = size_t{1} << 16;
constexpr size_t kMostScannedAgain = 1 << 21;  ///< KiB, beside as many as the file has so far

}  // namespace

/// How an element begins: with its line, or else with its first key.
void Framer::note_element_begin(size_t start) {
  const std::string& text = buffer.text;
  size_t begin = start, key = start + 1;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  salvager.element_begin.clear();
  if (begin > 0 && text[begin - 1] == '\n') {
    salvager.element_begin.assign(text, begin - 1, start - begin + 2);
    return;
  }
  while (key < buffer.size && is_blank(text[key])) ++key;
  const size_t quote = key < buffer.size && text[key] == '"' ? text.find('"', key + 1) : std::string::npos;
  salvager.element_begin.assign(text, start, quote < buffer.size ? quote + 1 - start : 1);
}

/// What has ended is whole; what has begun is not.
void Framer::lose(size_t from) {
  Salvager& s = salvager;
  if (!ends.empty()) note_element_begin(starts[ends.size() - 1]);
  else if (s.element_begin.empty()) note_element_begin(starts.back());
  // Each way back is scanned again: a file full of damage must not cost its square.
  if (from < scanned) {
    s.patience = std::max(s.patience / 2, kLeastPatience);
    const size_t again = s.scanned_again + (scanned - from) / 1024 + 1;
    if (again > kMostScannedAgain + static_cast<size_t>(buffer.at(scanned)) / 1024) from = scanned;
    else s.scanned_again = static_cast<uint32_t>(again);
  }
  s.lost = true;
  ++s.losses;
  scanned = from;
  scanner = {};
  depth = 0;
  starts.resize(ends.size());
}

Result<bool> Framer::take_up_again() {
  const std::string& wanted = salvager.element_begin;
  for (;;) {
    const size_t found = buffer.data().find(wanted, scanned);
    const bool lost = salvager.lost = found == std::string_view::npos;
    buffer.cursor =
        lost ? std::max(scanned, buffer.size - std::min(buffer.size, wanted.size())) : std::max<size_t>(found, 1);
    scanned = buffer.cursor;
    buffer.keep = buffer.cursor - 1;
    if (!lost) return true;
    CHAKRA_ASSIGN(const bool got, more());
    if (!got) return false;
  }
}

Result<bool> JsonStream::skip_to_array() {
  if (document_.state != State::members || document_.found_array) return false;
  for (;;) {
    Buffer& buffer = framer_.buffer;
    const std::string_view text = buffer.data();
    const auto blanks_end = [&](size_t index) {
      while (index < text.size() && is_blank(text[index])) ++index;
      return index;
    };
    for (const std::string& key : arrays_) {
      const std::string quoted = "\"" + key + "\"";
      // Its first quote may have passed for the end of a string.
      for (size_t found = text.find(quoted, std::max<size_t>(buffer.cursor, 1) - 1); found != std::string::npos;
           found = text.find(quoted, found + 1)) {
        const size_t colon = blanks_end(found + quoted.size());
        if (colon == text.size() || text[colon] != ':') continue;
        const size_t bracket = blanks_end(colon + 1);
        if (bracket == text.size() || text[bracket] != '[') continue;
        key_ = key;
        buffer.cursor = bracket;
        begin_array();
        return true;
      }
    }
    constexpr size_t kLongestKey = 1000;  // with the blanks around it
    buffer.cursor = std::max(buffer.cursor, buffer.size - std::min(buffer.size, kLongestKey));
    buffer.keep = buffer.cursor;
    CHAKRA_ASSIGN(const bool got, framer_.more());
    if (!got) return false;
  }
}

}  // namespace chakra::json
