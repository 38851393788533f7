#include "chakra/certify/names.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "chakra/base/text_map.h"

namespace chakra::certify {
namespace {

constexpr auto is_letter = [](char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
};
constexpr auto is_of_word = [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };

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

struct SecretWords::Index {
  bool (*is_public)(std::string_view text);
  std::deque<std::string> by_number;  ///< keys of `words` refer to these
  TextMap<uint32_t> words;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> long_words;  ///< by the first kUnmistakable bytes
  std::vector<bool> begins = std::vector<bool>(1 << 16);            ///< hashes of the keys of long_words

  void add(std::string key);
  /// Note the words of a run of letters that are not public as the run stands.
  void note(std::string_view run, bool short_words, Found& all, std::vector<bool> Found::*found) const;
};

void SecretWords::Index::add(std::string key) {
  static_assert(kUnmistakable == sizeof(uint64_t));
  if (words.contains(key)) return;
  const auto number = static_cast<uint32_t>(by_number.size());
  const std::string& kept = by_number.emplace_back(std::move(key));
  words.emplace(kept, number);
  if (kept.size() < kUnmistakable) return;
  const uint64_t begin = load(kept.data());
  long_words[begin].push_back(number);
  begins[filter_of(begin)] = true;
}

void SecretWords::Index::note(std::string_view run, bool short_words, Found& all,
                              std::vector<bool> Found::*found) const {
  const std::string lower = to_lower(run);
  const auto hit = [&](uint32_t word) {
    std::vector<bool>& where = is_public(run) ? all.in_public : all.*found;
    where.resize(by_number.size());
    where[word] = true;
  };
  if (short_words)
    if (const auto at = words.find(std::string_view(lower).substr(0, kMost)); at != words.end()) hit(at->second);
  for (size_t at = 0; at + kUnmistakable <= lower.size(); ++at) {
    const uint64_t begin = load(lower.data() + at);
    if (!begins[filter_of(begin)]) continue;
    const auto candidates = long_words.find(begin);
    if (candidates == long_words.end()) continue;
    for (const uint32_t word : candidates->second)
      if (std::string_view(lower).substr(at).starts_with(by_number[word])) hit(word);
  }
}

SecretWords::SecretWords(bool (*is_public)(std::string_view text)) : index_(std::make_unique<Index>()) {
  index_->is_public = is_public;
}
SecretWords::~SecretWords() = default;

size_t SecretWords::size() const { return index_->words.size(); }

void SecretWords::add(std::string_view text) {
  if (text.size() < kLeast || index_->is_public(text)) return;
  each_word(text, [&](std::string_view word) {
    if (!index_->is_public(word)) index_->add(key_of(word));
  });
}

void SecretWords::allow(std::string_view word) { index_->words.erase(key_of(word)); }

void SecretWords::look_at_text(std::string_view text, Found& found) const {
  const auto where = index_->is_public(text) ? &Found::in_public : &Found::in_texts;
  each_word(text, [&](std::string_view word) { index_->note(word, true, found, where); });
}

void SecretWords::look_at_bytes(std::string_view bytes, bool short_words, Found& found) const {
  each_word(bytes, [&](std::string_view word) { index_->note(word, short_words, found, &Found::in_bytes); });
}

size_t SecretWords::whole_words(std::string_view bytes) {
  for (size_t end = bytes.size(); end > 0 && bytes.size() - end < kMost; --end)
    if (!is_of_word(bytes[end - 1])) return end;
  return bytes.size();
}

std::vector<std::string> SecretWords::words_of(const Found& found) const {
  const auto is = [](const std::vector<bool>& where, uint32_t word) { return word < where.size() && where[word]; };
  std::vector<std::string> words;
  for (const auto& [text, word] : index_->words)
    if (is(found.in_texts, word) || (is(found.in_bytes, word) && !is(found.in_public, word))) words.emplace_back(text);
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace chakra::certify
