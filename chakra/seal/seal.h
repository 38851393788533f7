// Keys in files, tokens that only the owner of a key can derive, sealed bytes, and digests. By libsodium.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::seal {

/// A secret of 256 bits. Keys for tokens and for sealing are derived from the secret (BLAKE2b), so neither reveals the
/// other. The bytes are erased when the object ends.
class Key {
 public:
  static constexpr size_t kBytes = 32;
  /// The first line of a key file; the second line has kBytes in hexadecimal digits.
  static constexpr std::string_view kHead = "chakra-key-1";

  /// Read a key file. Finding seal.key.readable (warning): other users can read the file.
  /// Errors: base.file.*, seal.key.form.
  static Result<Key> read(const std::string& path, Findings& findings);
  /// Return a new random key.
  static Key make();
  /// Write the key to a new file that only its owner can read. Errors: base.file.*, seal.key.exists.
  Result<void> save(const std::string& path) const;

  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

  /// Return a token of 20 decimal digits: 64 bits of keyed BLAKE2b of kind and text. Requires a kind without '\0'.
  /// Equal texts of one kind have equal tokens; different texts have equal tokens with a probability of 2^-64 a pair.
  std::string token(std::string_view kind, std::string_view text) const;

  /// Encrypt and authenticate bytes (XChaCha20-Poly1305, with a random nonce). Cost: O(bytes).
  std::string seal(std::string_view plain) const;
  /// Decrypt what seal() returned. `file` is for errors.
  /// Errors: seal.form (not sealed bytes), seal.key.wrong (another key, or changed bytes).
  Result<std::string> open(std::string_view sealed, const std::string& file) const;

 private:
  using Bytes = std::array<unsigned char, kBytes>;
  explicit Key(const Bytes& secret);

  Bytes secret_, tokens_{}, sealing_{};
};

/// Return 20 random decimal digits.
std::string random_mark();

/// Return 64 hexadecimal digits: 256 bits of BLAKE2b. Cost: O(bytes).
std::string digest_of(std::string_view text);
/// Return the digest of the bytes of a file, as they are on the disk. Cost: O(bytes). Errors: base.file.open,
/// base.file.read.
Result<std::string> digest_of_file(const std::string& path);

}  // namespace chakra::seal
