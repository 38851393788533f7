// The keys of a config.json, for the builders of models.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/gen/model.h"

namespace chakra::gen {

/// Reads keys. After the first error, which is kept, all further reads return 1 or
/// empty. So builders need no check after each key, and their model is discarded.
class Keys {
 public:
  /// Both arguments must outlive this object.
  Keys(const Spec& config, const ModelTypeRow& type) : config_(config), type_(type) {}

  /// Return a number from `least` to 2^28. An absent key has the default.
  int64_t number(std::string_view key, int64_t least = 1);
  /// Return the same; nullopt if the key is null, or absent without a default.
  std::optional<int64_t> maybe(std::string_view key, int64_t least = 1);
  bool flag(std::string_view key);
  /// Empty if the key is null or absent.
  std::vector<int64_t> numbers(std::string_view key);
  std::vector<std::string> words(std::string_view key);
  /// Empty if the key is null or absent.
  std::string word(std::string_view key);
  /// Return the number of keys in the map; nullopt if the key is null or absent.
  std::optional<int64_t> entries(std::string_view key);
  /// Return two numbers, or one number for both.
  std::array<int64_t, 2> pair(std::string_view key);
  /// Return the flag; if the key is absent, `otherwise`, which other keys determine.
  bool flag_or(std::string_view key, bool otherwise) { return config_.find(key) ? flag(key) : otherwise; }

  /// Stop with an error at the key.
  void refuse(std::string_view key, std::string tag, std::string text);
  void unsupported(std::string_view key, std::string text) { refuse(key, "gen.model.unsupported", std::move(text)); }
  /// Add a finding, and go on reading.
  void note(std::string tag, std::string text);
  bool failed() const { return error_.has_value(); }
  Result<void> result() const;

  /// Append all notes, and a finding for each key that no builder has read and that may have an effect.
  void append_findings(Findings& findings) &&;

  std::string_view type() const { return type_.name; }

 private:
  /// Return the value in the file, of the key or of an older name of the key; null if absent.
  const Spec* find(std::string_view key);
  int64_t number_of(const Spec& value, std::string_view key, int64_t least);
  void stop(Error error);

  const Spec& config_;
  const ModelTypeRow& type_;
  std::vector<const Spec*> asked_;
  std::optional<Error> error_;
  LimitedFindings findings_;
};

}  // namespace chakra::gen
