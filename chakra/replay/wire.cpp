#include "chakra/replay/wire.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace chakra::replay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostBody = size_t{1} << 28;
constexpr size_t kHead = 5;  // length of the body, what is said
constexpr auto kBetweenTries = std::chrono::milliseconds(20);
// A machine that vanishes without a word is noticed after idle + count * interval seconds.
constexpr int kKeepIdle = 3, kKeepInterval = 1, kKeepCount = 4;

struct Target {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Failure bad_address(const std::string& text, std::string_view why) {
  return fail(Code::usage, "replay.rendezvous.address",
              fmt::format("the rendezvous {} cannot be used: {}; \"host:port\" or the path of a socket file, with a "
                          "\"/\" in it, is expected",
                          quote(text), why));
}

Result<Target> file_target(const std::string& path) {
  Target target;
  auto* name = reinterpret_cast<sockaddr_un*>(&target.address);
  if (path.size() >= sizeof name->sun_path)
    return bad_address(path, fmt::format("the path of a socket must have at most {} bytes", sizeof name->sun_path - 1));
  name->sun_family = AF_UNIX;
  std::memcpy(name->sun_path, path.data(), path.size());
  target.size = sizeof(sockaddr_un);
  return target;
}

Result<std::vector<Target>> targets_of(const std::string& text, bool listens) {
  std::vector<Target> targets;
  if (is_socket_file(text)) {
    CHAKRA_ASSIGN(Target target, file_target(text));
    targets.push_back(target);
    return targets;
  }
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return bad_address(text, "the port is missing");
  std::string host = text.substr(0, colon);
  uint64_t port = 0;
  if (!parse_decimal(text.substr(colon + 1), port) || port == 0 || port > 65535)
    return bad_address(text, "the port is not a number from 1 to 65535");
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = listens ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), text.c_str() + colon + 1, &wanted, &found); error != 0)
    return bad_address(text, gai_strerror(error));
  for (const addrinfo* at = found; at; at = at->ai_next) {
    Target& target = targets.emplace_back();
    target.size = static_cast<socklen_t>(at->ai_addrlen);
    std::memcpy(&target.address, at->ai_addr, at->ai_addrlen);
  }
  freeaddrinfo(found);
  return targets;
}

int open_socket(const Target& target) { return socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0); }
const sockaddr* as_address(const Target& target) { return reinterpret_cast<const sockaddr*>(&target.address); }

/// Nobody listens behind the file any more: who did was killed.
void remove_stale(const std::string& path, const Target& target) {
  const int fd = open_socket(target);
  if (fd < 0) return;
  if (connect(fd, as_address(target), target.size) != 0 && errno == ECONNREFUSED) unlink(path.c_str());
  close(fd);
}

void tune(int fd) {
  const auto set = [&](int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);  // these fail on a socket in the file system, which needs none of them
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
}

}  // namespace

// ---- bodies of frames --------------------------------------------------------------------------------------------

BodyWriter& BodyWriter::number(int64_t value) {
  for (int shift = 0; shift < 64; shift += 8) body += static_cast<char>(static_cast<uint64_t>(value) >> shift);
  return *this;
}

BodyWriter& BodyWriter::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  body += value;
  return *this;
}

int64_t BodyReader::number() {
  if (rest_.size() < 8) {
    ok_ = false;
    return 0;
  }
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= uint64_t{static_cast<uint8_t>(rest_[i])} << (8 * i);
  rest_.remove_prefix(8);
  return static_cast<int64_t>(value);
}

std::string_view BodyReader::text() {
  const auto size = static_cast<uint64_t>(number());
  if (size > rest_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

std::string show_ranks(const std::vector<int64_t>& ranks) {
  constexpr size_t kNamed = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return ranks.size() > kNamed ? text + fmt::format(" and {} more", ranks.size() - kNamed) : text;
}

// ---- connections ---------------------------------------------------------------------------------------------------

Connection::Connection(int fd, bool trusted) : fd_(fd), trusted_(trusted) { tune(fd); }

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      trusted_(other.trusted_),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      sent_(std::exchange(other.sent_, 0)) {}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

void Connection::send(Say say, std::string_view body) {
  CHAKRA_ASSERT(body.size() <= kMostBody);
  const auto size = static_cast<uint32_t>(body.size());
  for (int shift = 0; shift < 32; shift += 8) out_ += static_cast<char>(size >> shift);
  out_ += static_cast<char>(say);
  out_ += body;
  flush();
}

void Connection::flush() {
  while (has_unsent()) {
    const ssize_t now = ::send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (now < 0) sent_ = out_.size();  // the other end is gone, which receive() says
    else sent_ += static_cast<size_t>(now);
  }
  out_.clear();
  sent_ = 0;
}

bool Connection::receive(std::vector<Frame>& frames) {
  const size_t before = frames.size();
  size_t taken = 0;
  for (char buffer[1 << 14]; taken < kMostAtOnce;) {
    const size_t room = trusted_ ? sizeof buffer : kMostHello - in_.size();
    if (room == 0) return false;  // more than a hello, and still none
    const ssize_t now = recv(fd_, buffer, room, MSG_DONTWAIT);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    in_.append(buffer, static_cast<size_t>(now));
    taken += static_cast<size_t>(now);
    if (!take_frames(frames)) return false;
    if (!trusted_ && frames.size() > before) break;
  }
  return true;
}

bool Connection::take_frames(std::vector<Frame>& frames) {
  size_t at = 0;
  while (in_.size() - at >= kHead) {
    uint32_t size = 0;
    for (unsigned i = 0; i < 4; ++i) size |= uint32_t{static_cast<uint8_t>(in_[at + i])} << (8 * i);
    const auto say = static_cast<uint8_t>(in_[at + 4]);
    if (size > (trusted_ ? kMostBody : kMostHello - kHead) || say > static_cast<uint8_t>(Say::died)) return false;
    if (in_.size() - at - kHead < size) break;
    frames.push_back({static_cast<Say>(say), in_.substr(at + kHead, size)});
    at += kHead + size;
  }
  in_.erase(0, at);
  return true;
}

// ---- the token that all ranks share --------------------------------------------------------------------------------

TokenDigest digest_of(std::string_view token) {
  TokenDigest digest{0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
  for (const char c : token) {
    const uint64_t byte = static_cast<unsigned char>(c);
    digest = {Prng(digest.a ^ byte).next(), Prng(digest.b + 0x100 + byte).next() ^ digest.a};
  }
  return digest;
}

namespace {

Failure no_token(const std::string& path, std::string_view why) {
  return fail(
      Code::io, "replay.rendezvous.token",
      fmt::format("the ranks' token cannot be shared by this file ({}): set CHAKRA_RENDEZVOUS_TOKEN to the same "
                  "text for all ranks",
                  why),
      {path});
}

}  // namespace

Result<std::string> new_token() {
  uint64_t random[2] = {};
  if (::getrandom(random, sizeof random, 0) != sizeof random)
    return fail(Code::io, "replay.rendezvous.token",
                "the system provides no random numbers for the token of the ranks");
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

Result<std::string> write_token(const std::string& path) {
  CHAKRA_ASSIGN(const std::string token, new_token());
  struct stat there;
  if (::lstat(path.c_str(), &there) == 0) {
    if (there.st_uid != ::geteuid() || !S_ISREG(there.st_mode)) return no_token(path, "another user's is there");
    ::unlink(path.c_str());  // of a run that was killed
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return no_token(path, std::strerror(errno));
  remove_on_signal(path);
  const Result<void> written = write_all(fd, token, path);
  ::close(fd);
  if (!written) return no_token(path, written.error().text);
  return token;
}

Result<std::string> read_token(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return no_token(path, std::strerror(errno));
  struct stat status;
  char text[kMostHello] = {};
  const bool ours = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                    (status.st_mode & 077) == 0;
  const ssize_t got = ours ? ::read(fd, text, sizeof text) : 0;
  ::close(fd);
  if (!ours) return no_token(path, "other users can read it, or wrote it");
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

Failure no_descriptor(std::string_view what) {
  return fail(Code::io, "base.file.open",
              fmt::format("{} needs more open files than this process may have (ulimit -n)", what));
}

// ---- sockets -------------------------------------------------------------------------------------------------------

Result<int> listen_at(const std::string& address) {
  CHAKRA_ASSIGN(const std::vector<Target> targets, targets_of(address, true));
  int error = 0;
  for (const Target& target : targets) {
    const int fd = open_socket(target);
    if (fd < 0) {
      error = errno;
      if (error == EMFILE || error == ENFILE) return no_descriptor("the rendezvous");
      continue;
    }
    if (is_socket_file(address)) {
      remove_stale(address, target);
    } else {
      const int yes = 1;
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    }
    if (bind(fd, as_address(target), target.size) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    error = errno;
    close(fd);
  }
  return fail(Code::io, "replay.rendezvous.listen",
              fmt::format("rank 0 cannot listen at the rendezvous {}: {}; choose another port or path", quote(address),
                          std::strerror(error)));
}

Result<int> connect_to(const std::string& address, Clock::time_point deadline) {
  CHAKRA_ASSIGN(const std::vector<Target> targets, targets_of(address, false));
  for (int error = 0;; std::this_thread::sleep_for(kBetweenTries)) {
    for (const Target& target : targets) {
      const int fd = open_socket(target);
      if (fd < 0 && (errno == EMFILE || errno == ENFILE)) return no_descriptor("the rendezvous");
      const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - Clock::now()).count();
      const timeval limit{std::max<time_t>(1, left), 0};
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      if (fd >= 0 && connect(fd, as_address(target), target.size) == 0) return fd;
      error = errno;
      if (fd >= 0) close(fd);
    }
    if (Clock::now() >= deadline)
      return fail(Code::stuck, "replay.rendezvous.timeout",
                  fmt::format("rank 0 does not listen at the rendezvous {}: {}; start it, or give all ranks the same "
                              "--rendezvous",
                              quote(address), std::strerror(error)));
  }
}

void wait_for(int fd, bool writable, std::chrono::nanoseconds patience) {
  if (patience.count() <= 0) return;
  pollfd waits{fd, static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), 0};
  const timespec time{patience.count() / 1'000'000'000, patience.count() % 1'000'000'000};
  ppoll(&waits, 1, &time, nullptr);
}

}  // namespace chakra::replay
