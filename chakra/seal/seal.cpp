#include "chakra/seal/seal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace chakra::seal {

// `seal.form` (1): not a file that chakra sealed
// `seal.key.exists` (2): a new key would replace a file
// `seal.key.form` (1): not a key
// `seal.key.readable` (warning): other users can read the key
// `seal.key.wrong` (1): sealed with another key, or changed since

namespace {

constexpr std::string_view kSealed = "chakra-sealed-1\n";
constexpr uint64_t kTokens = 1, kSealing = 2;  ///< numbers of derived keys
constexpr const char* kContext = "chakra-1";   ///< of derived keys: 8 bytes
constexpr size_t kMostKeyFile = 4096;
constexpr size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
                 kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;

/// libsodium must choose its functions for this processor once, before the first call.
void prepare() {
  static const int ready = sodium_init();
  CHAKRA_ASSERT(ready >= 0);
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string hex_of(const unsigned char* bytes, size_t size) {
  std::string hex(2 * size + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), bytes, size);
  hex.pop_back();
  return hex;
}

/// Other users' access to the file.
bool is_open_to_others(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0;
}

}  // namespace

Key::Key(const Bytes& secret) : secret_(secret) {
  static_assert(crypto_kdf_KEYBYTES == kBytes);
  crypto_kdf_derive_from_key(tokens_.data(), tokens_.size(), kTokens, kContext, secret.data());
  crypto_kdf_derive_from_key(sealing_.data(), sealing_.size(), kSealing, kContext, secret.data());
}

Key::~Key() {
  sodium_memzero(secret_.data(), secret_.size());
  sodium_memzero(tokens_.data(), tokens_.size());
  sodium_memzero(sealing_.data(), sealing_.size());
}

Result<Key> Key::read(const std::string& path, Findings& findings) {
  prepare();
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  CHAKRA_ASSIGN(const std::string_view text, source.peek(kMostKeyFile));
  Bytes secret{};
  size_t size = 0;
  const char* end = nullptr;
  const std::string_view hex = text.starts_with(kHead) ? text.substr(kHead.size()) : std::string_view();
  const bool is_key =
      hex.starts_with('\n') && text.size() < kMostKeyFile &&
      sodium_hex2bin(secret.data(), secret.size(), hex.data() + 1, hex.size() - 1, nullptr, &size, &end) == 0 &&
      size == kBytes && std::string_view(end, text.data() + text.size()) == "\n";
  if (!is_key)
    return fail(Code::bad_input, "seal.key.form",
                fmt::format("not a key: a key is the line {} and a line of {} hexadecimal digits; --new-key makes one",
                            quote(kHead), 2 * kBytes),
                {path});
  if (is_open_to_others(path))
    findings.push_back({"seal.key.readable", Severity::warning, -1, -1,
                        fmt::format("other users can read the key {}; 'chmod 600' prevents that", quote(path))});
  Key key(secret);
  sodium_memzero(secret.data(), secret.size());
  return key;
}

Key Key::make() {
  prepare();
  Bytes secret{};
  randombytes_buf(secret.data(), secret.size());
  Key key(secret);
  sodium_memzero(secret.data(), secret.size());
  return key;
}

Result<void> Key::save(const std::string& path) const {
  std::string text = fmt::format("{}\n{}\n", kHead, hex_of(secret_.data(), secret_.size()));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EEXIST)
    return fail(Code::usage, "seal.key.exists", "the file exists; a key is never replaced", {path});
  if (fd < 0) return fail(Code::io, "base.file.create", std::strerror(errno), {path});
  Result<void> written = write_all(fd, text, path);
  if (written && ::fsync(fd) != 0) written = fail(Code::io, "base.file.write", std::strerror(errno), {path});
  ::close(fd);
  if (!written) ::unlink(path.c_str());
  sodium_memzero(text.data(), text.size());
  return written;
}

std::string Key::token(std::string_view kind, std::string_view text) const {
  prepare();
  crypto_generichash_state state;
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash_init(&state, tokens_.data(), tokens_.size(), hash.size());
  crypto_generichash_update(&state, bytes_of(kind), kind.size());
  crypto_generichash_update(&state, bytes_of(std::string_view("\0", 1)), 1);
  crypto_generichash_update(&state, bytes_of(text), text.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof number; ++i) number |= uint64_t{hash[i]} << (8 * i);
  return fmt::format("{:020}", number);
}

std::string Key::seal(std::string_view plain) const {
  prepare();
  std::string sealed(kSealed);
  sealed.resize(kSealed.size() + kNonce + plain.size() + kTag);
  unsigned char* const nonce = bytes_of(sealed) + kSealed.size();
  randombytes_buf(nonce, kNonce);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonce, nullptr, bytes_of(plain), plain.size(), bytes_of(kSealed),
                                             kSealed.size(), nullptr, nonce, sealing_.data());
  return sealed;
}

Result<std::string> Key::open(std::string_view sealed, const std::string& file) const {
  prepare();
  if (!sealed.starts_with(kSealed) || sealed.size() < kSealed.size() + kNonce + kTag)
    return fail(Code::bad_input, "seal.form", "not a file that chakra sealed", {file});
  const std::string_view nonce = sealed.substr(kSealed.size(), kNonce), rest = sealed.substr(kSealed.size() + kNonce);
  std::string plain(rest.size() - kTag, '\0');
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(bytes_of(plain), nullptr, nullptr, bytes_of(rest), rest.size(),
                                                 bytes_of(kSealed), kSealed.size(), bytes_of(nonce),
                                                 sealing_.data()) != 0)
    return fail(Code::bad_input, "seal.key.wrong", "sealed with another key, or changed since", {file});
  return plain;
}

std::string random_mark() {
  prepare();
  uint64_t number = 0;
  randombytes_buf(&number, sizeof number);
  return fmt::format("{:020}", number);
}

namespace {

class Digest {
 public:
  Digest() {
    prepare();
    crypto_generichash_init(&state_, nullptr, 0, crypto_generichash_BYTES);
  }
  void add(std::string_view text) { crypto_generichash_update(&state_, bytes_of(text), text.size()); }
  std::string finish() {
    std::array<unsigned char, crypto_generichash_BYTES> bytes{};
    crypto_generichash_final(&state_, bytes.data(), bytes.size());
    return hex_of(bytes.data(), bytes.size());
  }

 private:
  crypto_generichash_state state_;
};

}  // namespace

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.finish();
}

Result<std::string> digest_of_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Code::io, "base.file.open", std::strerror(errno), {path});
  Digest digest;
  std::string piece(size_t{1} << 18, '\0');
  ssize_t size = 0;
  while ((size = ::read(fd, piece.data(), piece.size())) > 0)
    digest.add(std::string_view(piece).substr(0, static_cast<size_t>(size)));
  const int error = errno;
  ::close(fd);
  if (size < 0) return fail(Code::io, "base.file.read", std::strerror(error), {path});
  return digest.finish();
}

}  // namespace chakra::seal
