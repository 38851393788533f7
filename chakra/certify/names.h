// The attack on names: words of the original in the texts and the bytes of a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::certify {

/// The words of the texts of an original that may be secret. A word is a run of at least 4 letters, digits and "_", of
/// which one is a letter. Upper and lower case are equal. Words of public texts, and public words, do not count.
class SecretWords {
 public:
  static constexpr size_t kLeast = 4, kMost = 256;  ///< bytes of a word; longer words count by their beginning
  static constexpr size_t kUnmistakable = 8;        ///< words of that length are found inside of longer words

  /// `is_public`: whether a text is the same in every job (recording::is_public_word).
  explicit SecretWords(bool (*is_public)(std::string_view text));
  ~SecretWords();
  /// Add a text of the original. Cost: O(text).
  void add(std::string_view text);
  /// Leave out a word that programs add to every job.
  void allow(std::string_view word);
  size_t size() const;

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
  int64_t count(const Found& found) const { return std::ssize(words_of(found)); }
  /// Return these words, ascending, in lower case. They are secret.
  std::vector<std::string> words_of(const Found& found) const;

 private:
  struct Index;
  std::unique_ptr<Index> index_;
};

}  // namespace chakra::certify
