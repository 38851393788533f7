// Frames between the ranks and the server of a rendezvous, on a stream socket. Inside replay.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/rendezvous.h"

namespace chakra::replay {

/// Kinds of frames, from a rank to the server or from the server to a rank.
enum class Say : uint8_t {
  hello,    ///< rank: version, rank, ranks, timeout in ms, digest of the token
  welcome,  ///< server: all ranks have come
  missing,  ///< server: list of ranks that have not come in time
  refused,  ///< server: tag, text
  meet,     ///< rank: whether to report the end, members, key, contribution
  met,      ///< server: key, and rank and contribution of each member
  ask,      ///< rank: request the state of all ranks
  asked,    ///< server: request the state of this rank
  answer,   ///< rank: its state
  answers,  ///< server: as `met`, without a key
  leave,    ///< rank
  abort,    ///< rank: reason
  aborted,  ///< server: rank, reason
  died,     ///< server: rank
};

struct Frame {
  Say say = Say::hello;
  std::string body;
};

/// The body of a frame, part by part.
class BodyWriter {
 public:
  BodyWriter& number(int64_t value);
  BodyWriter& text(std::string_view value);
  std::string body;
};
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : rest_(body) {}
  int64_t number();
  std::string_view text();
  bool ok() const { return ok_; }  ///< all requested parts were present; missing parts are 0 or empty

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline constexpr size_t kMostHello = 64;  ///< bytes that an unidentified client may send
inline constexpr size_t kMostAtOnce = size_t{1} << 20;

/// A non-blocking connected socket, with its unsent and unread bytes.
class Connection {
 public:
  /// `trusted`: the other end is identified. From others at most kMostHello bytes are accepted, which is one frame.
  explicit Connection(int fd, bool trusted = true);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  int fd() const { return fd_; }
  /// Send as much as fits now; flush() sends the rest.
  void send(Say say, std::string_view body = {});
  bool has_unsent() const { return sent_ < out_.size(); }
  void flush();
  /// Append the received frames. Return false if the other end is gone or sends an invalid frame.
  /// Return after kMostAtOnce bytes, so that a continuous sender does not block the other connections.
  bool receive(std::vector<Frame>& frames);
  void trust() { trusted_ = true; }

 private:
  bool take_frames(std::vector<Frame>& frames);

  int fd_;
  bool trusted_;
  std::string in_, out_;
  size_t sent_ = 0;  ///< bytes of out_
};

/// Digest of the shared token, sent in a hello.
struct TokenDigest {
  uint64_t a = 0, b = 0;
  bool operator==(const TokenDigest&) const = default;
};
TokenDigest digest_of(std::string_view token);
/// Return an unguessable text. Errors: replay.rendezvous.token.
Result<std::string> new_token();
/// Write a new token into a new file that only this user can read; replace an existing file of this user.
/// Errors: replay.rendezvous.token.
Result<std::string> write_token(const std::string& path);
/// Read a token. Errors: replay.rendezvous.token, also for a file that others can read or have written.
Result<std::string> read_token(const std::string& path);

/// Listen at an address in the form of World::rendezvous. Errors: replay.rendezvous.address, replay.rendezvous.listen.
Result<int> listen_at(const std::string& address);
/// Connect; retry until the deadline while the address does not accept. Errors:
/// replay.rendezvous.address; with Code::stuck replay.rendezvous.timeout.
Result<int> connect_to(const std::string& address, std::chrono::steady_clock::time_point deadline);
inline bool is_socket_file(const std::string& address) { return address.find('/') != address.npos; }

/// "rank 3", "ranks 0, 1 and 7 more".
std::string show_ranks(const std::vector<int64_t>& ranks);

/// Wait until the descriptor is readable, or writable if asked; at most `patience`.
void wait_for(int fd, bool writable, std::chrono::nanoseconds patience);

}  // namespace chakra::replay
