// Frames over TCP connections, one between each two ranks.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/wire.h"

namespace chakra::replay_fabric {

Result<std::unique_ptr<Wire>> open_sockets(const replay::World& world, replay::Rendezvous& rendezvous,
                                           const WireOptions& options, Receiver& receiver);

namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Failure failed(std::string_view what) {
  return fail(Code::io, "replay.fabric.socket", fmt::format("{}: {}", what, std::strerror(errno)));
}

/// What a rank says when it connects: its number, and what only the ranks know of the one to which it connects.
struct Hello {
  int64_t rank = -1;
  uint64_t secret[2] = {};
};
/// What the ranks exchange.
struct Address {
  sockaddr_in at{};
  uint64_t secret[2] = {};
};

/// A connection is idle or has one frame on its way out, and one on its way in.
struct Connection {
  Descriptor socket;
  bool open = false;

  Header out;
  std::span<const std::byte> payload;
  size_t sent = 0;  ///< of header and payload
  bool sending = false;

  Header in;
  std::span<std::byte> room;
  size_t got = 0;  ///< of header and payload
};

class Sockets final : public Wire {
 public:
  Sockets(const replay::World& world, Receiver& receiver)
      : world_(world), receiver_(receiver), connections_(world.ranks) {}

  Result<void> connect(replay::Rendezvous& rendezvous, const WireOptions& options);
  Result<void> send(int64_t to, const Header& header, std::span<const std::byte> payload) override;
  uint32_t most_bytes() const override { return kFrameBytes; }
  bool idle(int64_t to) const override { return at(to).open && !at(to).sending; }
  Result<void> progress(std::chrono::nanoseconds patience, int descriptor) override;

 private:
  Connection& at(int64_t rank) { return connections_[static_cast<size_t>(rank)]; }
  const Connection& at(int64_t rank) const { return connections_[static_cast<size_t>(rank)]; }
  Result<void> connect_to(int64_t rank, std::string_view address);
  Result<void> accept_from(int listener, int64_t count);
  struct Stranger;
  Result<bool> hear(Stranger& stranger);
  Result<void> adopt(Descriptor socket, int64_t rank);
  Result<void> push(int64_t to);
  Result<void> pull(int64_t from);
  Result<bool> pull_some(int64_t from);
  Result<void> lose(int64_t rank, std::string_view why);

  const replay::World world_;
  Receiver& receiver_;
  Address mine_;
  std::vector<Connection> connections_;  ///< by rank
  std::vector<pollfd> polled_;
  std::vector<int64_t> ranks_polled_;
};

/// Lower ranks are connected to, higher ones are waited for.
Result<void> Sockets::connect(replay::Rendezvous& rendezvous, const WireOptions& options) {
  CHAKRA_ASSIGN(const std::string mine, own_address(options.address));
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in& address = mine_.at;
  address.sin_family = AF_INET;
  inet_pton(AF_INET, mine.c_str(), &address.sin_addr);
  socklen_t size = sizeof address;
  if (::getrandom(mine_.secret, sizeof mine_.secret, 0) != sizeof mine_.secret)
    return failed("the system provides no random numbers");
  if (listener.get() < 0 || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return failed(fmt::format("rank {} cannot listen at '{}'", world_.rank, options.address));
  const std::string bytes(reinterpret_cast<const char*>(&mine_), sizeof mine_);
  CHAKRA_ASSIGN(const std::vector<std::string> all, rendezvous.exchange(bytes));
  for (int64_t rank = 0; rank < world_.rank; ++rank) CHAKRA_TRY(connect_to(rank, all[static_cast<size_t>(rank)]));
  return accept_from(listener.get(), world_.ranks - 1 - world_.rank);
}

Result<void> Sockets::connect_to(int64_t rank, std::string_view bytes) {
  Address address;
  if (bytes.size() != sizeof address)
    return fail(Code::bad_input, "replay.fabric.address",
                fmt::format("rank {} has no address: all ranks must use the same back end and wire", rank));
  std::memcpy(&address, bytes.data(), sizeof address);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int limit = static_cast<int>(world_.timeout.count());
  if (socket.get() >= 0) setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
  if (socket.get() < 0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.at), sizeof address.at) != 0)
    return failed(
        fmt::format("rank {} cannot connect to rank {} at {}", world_.rank, rank, inet_ntoa(address.at.sin_addr)));
  const Hello hello{world_.rank, {address.secret[0], address.secret[1]}};
  if (::send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
    return failed(fmt::format("rank {} cannot send to rank {}", world_.rank, rank));
  return adopt(std::move(socket), rank);
}

/// Somebody who has connected and has not said who it is.
struct Sockets::Stranger {
  Descriptor socket;
  Clock::time_point until = Clock::now() + replay::kForHello;
  Hello hello{};
  size_t got = 0;  ///< of the hello
};

/// False: nothing more is to be heard. A rank is then open.
Result<bool> Sockets::hear(Stranger& stranger) {
  const ssize_t got = ::recv(stranger.socket.get(), reinterpret_cast<char*>(&stranger.hello) + stranger.got,
                             sizeof stranger.hello - stranger.got, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Clock::now() < stranger.until;
  if (got <= 0) return false;
  stranger.got += static_cast<size_t>(got);
  if (stranger.got < sizeof stranger.hello) return true;
  const auto& [rank, secret] = stranger.hello;
  const bool ours = std::equal(std::begin(secret), std::end(secret), std::begin(mine_.secret)) && rank > world_.rank &&
                    rank < world_.ranks && !at(rank).open;
  if (ours) CHAKRA_TRY(adopt(std::move(stranger.socket), rank));
  return false;
}

/// Other programs that connect meanwhile hold up nobody.
Result<void> Sockets::accept_from(int listener, int64_t count) {
  const Clock::time_point end = Clock::now() + world_.timeout;
  std::vector<Stranger> strangers;
  const auto missing = [&] {
    return std::count_if(connections_.begin() + world_.rank + 1, connections_.end(),
                         [](const Connection& c) { return !c.open; });
  };
  for (std::vector<pollfd> waits; count > 0; count = missing()) {
    waits.assign(1, {listener, POLLIN, 0});
    for (const Stranger& stranger : strangers) waits.push_back({stranger.socket.get(), POLLIN, 0});
    const Clock::time_point next = strangers.empty() ? end : std::min(end, strangers.front().until);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    ::poll(waits.data(), waits.size(), static_cast<int>(std::max<int64_t>(left, 0)));
    if (Clock::now() >= end)
      return fail(
          Code::stuck, "replay.fabric.timeout",
          fmt::format("rank {}: {} ranks have not connected within {} ms", world_.rank, count, world_.timeout.count()));
    if (waits[0].revents & POLLIN)
      if (Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)); socket.get() >= 0) {
        if (strangers.size() >= replay::kMostStrangers) strangers.erase(strangers.begin());
        strangers.push_back({std::move(socket)});
      }
    for (size_t i = 0; i < strangers.size();) {
      CHAKRA_ASSIGN(const bool goes_on, hear(strangers[i]));
      if (goes_on) ++i;
      else strangers.erase(strangers.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return {};
}

Result<void> Sockets::adopt(Descriptor socket, int64_t rank) {
  const int yes = 1, unsent = 32 << 10;
  // A rank that is cut off counts as gone after this time.
  const int limit = static_cast<int>(std::min<int64_t>(world_.timeout.count(), 8'000));
  const int idle = 3, every = 1, tries = 5;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
  if (::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) return failed("cannot make a socket non-blocking");
  at(rank).socket = std::move(socket);
  at(rank).open = true;
  return {};
}

Result<void> Sockets::lose(int64_t rank, std::string_view why) {
  at(rank).open = false;
  return receiver_.lost(rank, why);
}

Result<void> Sockets::send(int64_t to, const Header& header, std::span<const std::byte> payload) {
  Connection& c = at(to);
  CHAKRA_ASSERT(idle(to) && payload.size() == header.bytes);
  c.out = header;
  c.out.from = static_cast<uint32_t>(world_.rank);
  c.payload = payload;
  c.sent = 0;
  c.sending = true;
  return push(to);
}

Result<void> Sockets::push(int64_t to) {
  Connection& c = at(to);
  const size_t all = sizeof c.out + c.payload.size();
  while (c.sent < all) {
    iovec parts[2];
    int count = 0;
    if (c.sent < sizeof c.out) parts[count++] = {reinterpret_cast<std::byte*>(&c.out) + c.sent, sizeof c.out - c.sent};
    const size_t from = c.sent < sizeof c.out ? 0 : c.sent - sizeof c.out;
    if (!c.payload.empty()) parts[count++] = {const_cast<std::byte*>(c.payload.data()) + from, c.payload.size() - from};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t sent = ::sendmsg(c.socket.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return lose(to, std::strerror(errno));
    c.sent += static_cast<size_t>(sent);
  }
  c.sending = false;
  receiver_.left(to);
  return {};
}

/// One read: what is missing of the header, or of the payload. False when nothing has come.
Result<bool> Sockets::pull_some(int64_t from) {
  Connection& c = at(from);
  const bool head = c.got < sizeof c.in;
  std::byte* to = head ? reinterpret_cast<std::byte*>(&c.in) + c.got : c.room.data() + (c.got - sizeof c.in);
  const size_t missing = (head ? sizeof c.in : sizeof c.in + c.in.bytes) - c.got;
  if (missing > 0) {
    const ssize_t got = ::recv(c.socket.get(), to, missing, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
    if (got <= 0) {
      CHAKRA_TRY(lose(from, got == 0 ? "it has closed the connection" : std::strerror(errno)));
      return false;
    }
    c.got += static_cast<size_t>(got);
    receiver_.received(static_cast<uint64_t>(got));
  }
  if (head && c.got == sizeof c.in) {
    if (c.in.bytes > kFrameBytes)
      return fail(Code::bad_input, "replay.fabric.frame",
                  fmt::format("rank {} sent a frame of {} bytes", from, c.in.bytes));
    CHAKRA_ASSIGN(c.room, receiver_.room(from, c.in));
  }
  if (c.got >= sizeof c.in && c.got == sizeof c.in + c.in.bytes) {
    c.got = 0;
    CHAKRA_TRY(receiver_.landed(from, c.in));
  }
  return true;
}

/// Takes what has come, but not for ever from one rank.
Result<void> Sockets::pull(int64_t from) {
  for (int turn = 0; turn < 16 && at(from).open && receiver_.may_receive(); ++turn) {
    CHAKRA_ASSIGN(const bool more, pull_some(from));
    if (!more) break;
  }
  return {};
}

Result<void> Sockets::progress(std::chrono::nanoseconds patience, int descriptor) {
  polled_.clear();
  ranks_polled_.clear();
  polled_.push_back({descriptor, POLLIN, 0});
  const short in = receiver_.may_receive() ? POLLIN : 0;
  for (int64_t rank = 0; rank < world_.ranks; ++rank)
    if (const Connection& c = at(rank); c.open) {
      polled_.push_back({c.socket.get(), static_cast<short>(in | (c.sending ? POLLOUT : 0)), 0});
      ranks_polled_.push_back(rank);
    }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec wait{seconds.count(), static_cast<long>((patience - seconds).count())};
  if (::ppoll(polled_.data(), polled_.size(), &wait, nullptr) < 0 && errno != EINTR)
    return failed("the connections cannot be polled");
  for (size_t i = 0; i < ranks_polled_.size(); ++i) {
    const short happened = polled_[i + 1].revents;
    if (happened & POLLOUT && at(ranks_polled_[i]).open && at(ranks_polled_[i]).sending)
      CHAKRA_TRY(push(ranks_polled_[i]));
    if (happened & (POLLIN | POLLHUP | POLLERR) && at(ranks_polled_[i]).open) CHAKRA_TRY(pull(ranks_polled_[i]));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Wire>> open_sockets(const replay::World& world, replay::Rendezvous& rendezvous,
                                           const WireOptions& options, Receiver& receiver) {
  auto sockets = std::make_unique<Sockets>(world, receiver);
  CHAKRA_TRY(sockets->connect(rendezvous, options));
  return sockets;
}

}  // namespace chakra::replay_fabric
