// The attack on names: words of the original in the texts and the bytes of a copy.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/text_map.h"

namespace chakra::certify {

/// The words of the texts of an original that may be secret. A word is a run of at least 4 letters, digits and "_", of
/// which one is a letter. Upper and lower case are equal. Words of public texts and public words are none.
class SecretWords {
 public:
  static constexpr size_t kLeast = 4, kMost = 256;  ///< bytes of a word; longer words count by their beginning
  static constexpr size_t kUnmistakable = 8;        ///< words of that length are found inside of longer words

  /// `is_public`: whether a text is the same in every job (recording::is_public_word).
  explicit SecretWords(bool (*is_public)(std::string_view text)) : is_public_(is_public) {}
  /// Add a text of the original. Cost: O(text).
  void add(std::string_view text);
  /// Declare a word that is no secret, because programs add it.
  void allow(std::string_view word);
  size_t size() const { return words_.size(); }

  /// Where words were found.
  struct Found {
    std::vector<bool> in_texts, in_bytes, in_public;  ///< by word
  };
  /// Look for words in a text. Words in public texts are found only as such. Cost: O(text).
  void look_at_text(std::string_view text, Found& found) const;
  /// Look for words in bytes of a file. `short_words`: also those below kUnmistakable, which must stand alone; packed
  /// bytes have them by chance. Cost: O(bytes).
  void look_at_bytes(std::string_view bytes, bool short_words, Found& found) const;
  /// Return the length of the beginning that ends between two words, for bytes that come piece by piece. If there is no
  /// such place in the last kMost bytes, all of the bytes.
  static size_t whole_words(std::string_view bytes);
  /// Return the number of words that were found in texts that are not public, or in bytes but not in public texts.
  int64_t count(const Found& found) const;

 private:
  void note(std::string_view bytes, bool short_words, std::vector<bool>& found) const;

  bool (*is_public_)(std::string_view text);
  TextMap<uint32_t> words_;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> long_words_;  ///< by the first kUnmistakable bytes
  std::deque<std::string> by_number_;                                ///< keys of words_ refer to these
  std::vector<bool> begins_ = std::vector<bool>(1 << 16);            ///< hashes of the keys of long_words_
};

}  // namespace chakra::certify
