#include "chakra/certify/names.h"

#include <algorithm>
#include <cstring>

namespace chakra::certify {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
bool is_of_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

/// Call use(word) for each word, as long as it may be.
template <class Use>
void each_word(std::string_view text, const Use& use) {
  for (size_t at = 0; at < text.size();) {
    const auto begin = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_of_word);
    const auto end = std::find_if_not(begin, text.end(), is_of_word);
    at = static_cast<size_t>(end - text.begin());
    const std::string_view word(begin, end);
    if (word.size() >= SecretWords::kLeast && std::any_of(begin, end, is_letter)) use(word);
  }
}

std::string key_of(std::string_view word) { return to_lower(word.substr(0, SecretWords::kMost)); }

uint64_t load(const char* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}
size_t filter_of(uint64_t bytes) { return (bytes * 0x9e3779b97f4a7c15) >> 48; }

}  // namespace

void SecretWords::add(std::string_view text) {
  static_assert(kUnmistakable == sizeof(uint64_t));
  if (text.size() < kLeast || is_public_(text)) return;
  each_word(text, [&](std::string_view word) {
    if (is_public_(word)) return;
    std::string key = key_of(word);
    const auto number = static_cast<uint32_t>(by_number_.size());
    if (words_.contains(key)) return;
    const std::string& kept = by_number_.emplace_back(std::move(key));
    words_.emplace(kept, number);
    if (kept.size() < kUnmistakable) return;
    const uint64_t begin = load(kept.data());
    long_words_[begin].push_back(number);
    begins_[filter_of(begin)] = true;
  });
}

void SecretWords::allow(std::string_view word) { words_.erase(key_of(word)); }

void SecretWords::note(std::string_view bytes, bool short_words, std::vector<bool>& found) const {
  found.resize(by_number_.size());
  const std::string lower = to_lower(bytes);
  if (short_words)
    each_word(lower, [&](std::string_view word) {
      if (const auto at = words_.find(word.substr(0, kMost)); at != words_.end()) found[at->second] = true;
    });
  for (size_t at = 0; at + kUnmistakable <= lower.size(); ++at) {
    const uint64_t begin = load(lower.data() + at);
    if (!begins_[filter_of(begin)]) continue;
    const auto words = long_words_.find(begin);
    if (words == long_words_.end()) continue;
    for (const uint32_t word : words->second)
      if (std::string_view(lower).substr(at).starts_with(by_number_[word])) found[word] = true;
  }
}

void SecretWords::look_at_text(std::string_view text, Found& found) const {
  note(text, true, is_public_(text) ? found.in_public : found.in_texts);
}

void SecretWords::look_at_bytes(std::string_view bytes, bool short_words, Found& found) const {
  note(bytes, short_words, found.in_bytes);
}

size_t SecretWords::whole_words(std::string_view bytes) {
  for (size_t end = bytes.size(); end > 0 && bytes.size() - end < kMost; --end)
    if (!is_of_word(bytes[end - 1])) return end;
  return bytes.size();
}

int64_t SecretWords::count(const Found& found) const {
  int64_t count = 0;
  const auto is = [](const std::vector<bool>& where, uint32_t word) { return word < where.size() && where[word]; };
  for (const auto& [text, word] : words_)
    count += is(found.in_texts, word) || (is(found.in_bytes, word) && !is(found.in_public, word));
  return count;
}

}  // namespace chakra::certify
