// What ranks and the server of a rendezvous say to each other: frames on a stream socket. Inside replay.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::replay {

/// Of a rank to the server, and of the server to a rank.
enum class Say : uint8_t {
  hello,    ///< rank: version, rank, ranks, timeout in ms, digest of the token
  welcome,  ///< server: all have come
  missing,  ///< server: ranks that have not come in time, as a list
  refused,  ///< server: tag, text
  meet,     ///< rank: whether to tell, members, key, what it brings
  met,      ///< server: key, and of each member rank and what it brought
  ask,      ///< rank: what are all doing?
  asked,    ///< server: what are you doing?
  answer,   ///< rank: this
  answers,  ///< server: as met, without a key
  leave,    ///< rank
  abort,    ///< rank: the reason
  aborted,  ///< server: rank, the reason
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
  bool ok() const { return ok_; }  ///< all parts asked for were there; else they are 0 or empty

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline constexpr size_t kMostHello = 64;             ///< bytes of somebody who has not said who it is
inline constexpr std::chrono::seconds kForHello{2};  ///< and the time
inline constexpr size_t kMostStrangers = 64;         ///< of more the oldest is sent away
inline constexpr size_t kMostAtOnce = size_t{1} << 20;

/// A connected socket that never blocks, and what is on its way through it.
class Connection {
 public:
  /// `trusted`: who is at the other end is known. Of others at most kMostHello bytes are taken, which is one frame.
  explicit Connection(int fd, bool trusted = true);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  int fd() const { return fd_; }
  /// Sends now what fits, and the rest with flush().
  void send(Say say, std::string_view body = {});
  bool has_unsent() const { return sent_ < out_.size(); }
  void flush();
  /// Appends frames that have come. False when the other end is gone, or says what makes no sense.
  /// Comes back after kMostAtOnce bytes, so that one that sends without pause does not keep out the others.
  bool receive(std::vector<Frame>& frames);
  void trust() { trusted_ = true; }

 private:
  bool take_frames(std::vector<Frame>& frames);

  int fd_;
  bool trusted_;
  std::string in_, out_;
  size_t sent_ = 0;  ///< of out_
};

/// What a hello has of the token that all ranks share.
struct TokenDigest {
  uint64_t a = 0, b = 0;
  bool operator==(const TokenDigest&) const = default;
};
TokenDigest digest_of(std::string_view token);
/// A text that nobody can guess. Errors: replay.rendezvous.token.
Result<std::string> new_token();
/// Writes a new token into a new file that only this user can read; one of this user that is there goes.
/// Errors: replay.rendezvous.token.
Result<std::string> write_token(const std::string& path);
/// Errors: replay.rendezvous.token, also for a file that others can read or have written.
Result<std::string> read_token(const std::string& path);

/// The process has no descriptor left: base.file.open. `what`: for what it needs one.
Failure no_descriptor(std::string_view what);

/// Of text as World::rendezvous has it. Errors: replay.rendezvous.address, replay.rendezvous.listen.
Result<int> listen_at(const std::string& address);
/// Tries again until the deadline while nobody listens. Errors: replay.rendezvous.address; with Code::stuck
/// replay.rendezvous.timeout.
Result<int> connect_to(const std::string& address, std::chrono::steady_clock::time_point deadline);
inline bool is_socket_file(const std::string& address) { return address.find('/') != address.npos; }

/// "rank 3", "ranks 0, 1 and 7 more".
std::string show_ranks(const std::vector<int64_t>& ranks);

/// Waits until the descriptor is readable, or writable if asked; at most `patience`.
void wait_for(int fd, bool writable, std::chrono::nanoseconds patience);

}  // namespace chakra::replay
