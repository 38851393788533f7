// What the texts of a recording or a trace reveal. Every text that is not a public name (public_names.h), a number or a
// word of the formats may be a secret; patterns tell the kind of the secret.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/recording/public_names.h"  // IWYU pragma: export

namespace chakra::recording {

struct SecretKind {
  std::string_view key, meaning;
};
enum class Secret : uint8_t { token, email, address, user, host, environment, path, date, name };
inline constexpr std::array<SecretKind, 9> kSecretKinds{{
    {"token", "keys, tokens, passwords and unique ids"},
    {"e-mail", "e-mail addresses"},
    {"address", "addresses of networks and the web"},
    {"user", "names of users"},
    {"host", "names of hosts"},
    {"environment", "settings of the environment"},
    {"path", "paths of files"},
    {"date", "dates, and times since 1970"},
    {"name", "other names, such as those of models, layers, kernels and members"},
}};

/// Texts that may be secrets, counted by kind. Memory: 8 bytes for each different text, and a few examples.
class Secrets {
 public:
  static constexpr size_t kExamples = 5;
  struct Found {
    int64_t count = 0;
    absl::flat_hash_set<uint64_t> different;  ///< hashes of the texts
    std::vector<std::string> examples;        ///< the first different ones, cut to 80 bytes
  };

  /// Add a text. `member`: the name of its member, which tells users, hosts and times; may be empty.
  void add(std::string_view member, std::string_view text);
  /// Add a number, which may be a time since 1970.
  void add_number(std::string_view member, std::string_view digits);
  /// Add the name of a member.
  void add_member(std::string_view name);

  const Found& of(Secret kind) const { return found_[static_cast<size_t>(kind)]; }
  int64_t texts() const { return texts_; }  ///< that were added, secret or not

 private:
  bool add_token(std::string_view token);
  bool add_path(std::string_view token);
  void note(Secret kind, std::string_view text);

  std::array<Found, kSecretKinds.size()> found_;
  int64_t texts_ = 0;
};

/// Add all strings and numbers of a text in JSON, or in several lines of JSON. The text need not be valid or complete.
/// Errors: as for reading.
Result<void> find_secrets_in_json(ByteSource source, Secrets& found);

}  // namespace chakra::recording
