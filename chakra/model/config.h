// The keys of a config.json as the builders of models read them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/model/model.h"

namespace chakra::model {

/// The first error is kept, and everything read after it is 1 or empty: builders need no check after each key, and
/// their model is thrown away.
class Keys {
 public:
  /// Both outlive this.
  Keys(const Spec& config, const ModelTypeRow& type) : config_(config), type_(type) {}

  /// From `least` to 2^28. An absent key has its default.
  int64_t number(std::string_view key, int64_t least = 1);
  /// The same; nothing where the key is null, or absent without a default.
  std::optional<int64_t> maybe(std::string_view key, int64_t least = 1);
  bool flag(std::string_view key);
  /// Empty where the key is null or absent.
  std::vector<int64_t> numbers(std::string_view key);
  std::vector<std::string> words(std::string_view key);
  /// Empty where the key is null or absent.
  std::string word(std::string_view key);
  /// How many keys the map has; nothing where the key is null or absent.
  std::optional<int64_t> entries(std::string_view key);
  /// Two numbers, or one for both.
  std::array<int64_t, 2> pair(std::string_view key);
  /// Where a key is absent, it has a value that others determine.
  bool flag_or(std::string_view key, bool otherwise) { return config_.find(key) ? flag(key) : otherwise; }

  /// Stops with an error at the key.
  void refuse(std::string_view key, std::string tag, std::string text);
  void unsupported(std::string_view key, std::string text) { refuse(key, "gen.model.unsupported", std::move(text)); }
  /// A finding that does not stop the reading.
  void note(std::string tag, std::string text);
  bool failed() const { return error_.has_value(); }
  Result<void> result() const;

  /// What was noted, and a finding for each key that no builder has asked for and that may have an effect.
  void append_findings(Findings& findings) &&;

  std::string_view type() const { return type_.name; }

 private:
  /// The value in the file, of the key or of an older name of it; null where it is absent.
  const Spec* find(std::string_view key);
  int64_t number_of(const Spec& value, std::string_view key, int64_t least);
  void stop(Error error);

  const Spec& config_;
  const ModelTypeRow& type_;
  std::vector<const Spec*> asked_;
  std::optional<Error> error_;
  LimitedFindings findings_;
};

}  // namespace chakra::model
