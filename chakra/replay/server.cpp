// The server of a rendezvous: one thread, which alone knows who has come to which meeting.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "chakra/replay/rendezvous.h"
#include "chakra/replay/server_frames.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFarewell = std::chrono::seconds(2);  ///< for ranks to leave when the server ends

/// Those who are connected, and what they wait for. Used by the server's thread alone.
class Table {
 public:
  Table(int64_t ranks, TokenDigest token)
      : ranks_(ranks), token_(token), by_rank_(static_cast<size_t>(ranks), nullptr) {}

  void add(int fd) {
    const auto strangers = std::count_if(clients_.begin(), clients_.end(), is_stranger);
    if (static_cast<size_t>(strangers) >= kMostStrangers) drop_stranger();
    clients_.push_back(std::make_unique<Client>(fd));
  }
  /// Disconnect the client that has been unidentified for longest, with a reason if it may
  /// be a rank. Return false without such a client.
  bool drop_stranger(const Error* reason = nullptr) {
    const auto oldest = std::find_if(clients_.begin(), clients_.end(), is_stranger);
    if (oldest == clients_.end()) return false;
    if (reason) (*oldest)->link.send(Say::refused, refusal(*reason));
    clients_.erase(oldest);
    return true;
  }
  /// The ranks cannot all be served.
  void refuse_all(const Error& error) { broadcast(Say::refused, refusal(error)); }
  static std::string refusal(const Error& error) { return BodyWriter().text(error.tag).text(error.text).body; }
  void list(std::vector<pollfd>& waits) const {
    for (const auto& client : clients_)
      waits.push_back({client->link.fd(), static_cast<short>(POLLIN | (client->link.has_unsent() ? POLLOUT : 0)), 0});
  }
  bool empty() const { return clients_.empty(); }

  /// Whatever has come from anybody.
  void serve() {
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client& client = *clients_[i];
      client.link.flush();
      frames_.clear();
      client.gone = !client.link.receive(frames_);
      for (const Frame& frame : frames_) handle(client, frame);
      client.gone |= client.rank < 0 && Clock::now() >= client.until;
      if (client.gone) part(client);
    }
    std::erase_if(clients_, [](const auto& client) { return client->gone; });
    look_at_clock();
  }
  /// When look_at_clock() has something to do.
  std::optional<Clock::time_point> alarm() const {
    std::optional<Clock::time_point> first = ask_until_ ? ask_until_ : joined_ < ranks_ ? join_until_ : std::nullopt;
    const auto stranger = std::find_if(clients_.begin(), clients_.end(), is_stranger);  // the oldest
    if (stranger != clients_.end() && (!first || (*stranger)->until < *first)) first = (*stranger)->until;
    return first;
  }

 private:
  struct Client {
    explicit Client(int fd) : link(fd, false) {}
    Connection link;
    int64_t rank = -1;  ///< before its hello
    Clock::time_point until = Clock::now() + kForHello;
    bool left = false, gone = false;
  };
  static bool is_stranger(const std::unique_ptr<Client>& client) { return client->rank < 0; }
  struct Meeting {
    int64_t members = 0;
    std::map<int64_t, std::string> brought;  ///< by rank
    std::vector<int64_t> tell;
  };

  void handle(Client& client, const Frame& frame) {
    BodyReader read(frame.body);
    if (client.rank < 0) return hello(client, frame, read);
    switch (frame.say) {
      case Say::meet: return meet(client, read);
      case Say::ask: return ask();
      case Say::answer: answers_[client.rank] = read.text(); return tell_answers(false);
      case Say::leave: client.left = true; return tell_answers(false);
      case Say::abort:
        broadcast(Say::aborted, BodyWriter().number(client.rank).text(read.text()).body);
        client.left = true;
        return;
      default: client.gone = true;
    }
  }

  void hello(Client& client, const Frame& frame, BodyReader& read) {
    const int64_t version = read.number(), rank = read.number(), ranks = read.number(), timeout_ms = read.number();
    if (frame.say != Say::hello || !read.ok() || version != kWireVersion) {
      client.gone = true;  // not one of us
      return;
    }
    const auto refuse = [&](std::string text, std::string_view tag = "replay.rendezvous.rank") {
      client.link.send(Say::refused, BodyWriter().text(tag).text(text).body);
      client.gone = true;
    };
    const TokenDigest token{static_cast<uint64_t>(read.number()), static_cast<uint64_t>(read.number())};
    if (token != token_)
      return refuse(
          "wrong token for this rendezvous: set CHAKRA_RENDEZVOUS_TOKEN to the same text for all ranks, or unset it "
          "everywhere",
          "replay.rendezvous.token");
    if (ranks != ranks_)
      return refuse(
          fmt::format("rank {} was started as one of {} ranks, but others as one of {}", rank, ranks, ranks_));
    if (rank < 0 || rank >= ranks_) return refuse(fmt::format("rank {} is not one of {} ranks", rank, ranks_));
    if (by_rank_[static_cast<size_t>(rank)])
      return refuse(fmt::format("rank {} was started twice; give every rank a different number", rank));
    client.rank = rank;
    client.link.trust();
    by_rank_[static_cast<size_t>(rank)] = &client;
    const std::chrono::milliseconds timeout(timeout_ms);
    timeout_ = std::max(timeout_, timeout);
    if (joined_++ == 0) join_until_ = Clock::now() + timeout;
    if (joined_ == ranks_) broadcast(Say::welcome);
  }

  void meet(Client& client, BodyReader& read) {
    const bool tell = read.number() != 0;
    const int64_t members = read.number();
    const std::string_view key = read.text(), bring = read.text();
    Meeting& meeting = meetings_[std::string(key)];
    if (meeting.members == 0) meeting.members = members;
    if (meeting.members != members || members < 1 || !meeting.brought.try_emplace(client.rank, bring).second)
      return broadcast(Say::aborted, BodyWriter()
                                         .number(client.rank)
                                         .text(fmt::format("ranks do not agree on {}: rank {} comes as one of {}, "
                                                           "others as one of {}",
                                                           quote(key), client.rank, members, meeting.members))
                                         .body);
    if (tell) meeting.tell.push_back(client.rank);
    if (static_cast<int64_t>(meeting.brought.size()) < members) return;
    BodyWriter met;
    met.text(key);
    write_brought(met, meeting.brought);
    for (const int64_t rank : meeting.tell) send(rank, Say::met, met.body);
    meetings_.erase(std::string(key));
  }

  void ask() {
    if (ask_until_) return;
    ask_until_ = Clock::now() + answers_within(timeout_);
    answers_.clear();
    broadcast(Say::asked);
  }

  /// When all have answered who have not left, or when it is `late`.
  void tell_answers(bool late) {
    if (!ask_until_) return;
    for (const Client* client : by_rank_)
      if (!late && client && !client->left && !answers_.contains(client->rank)) return;
    ask_until_.reset();
    BodyWriter all;
    write_brought(all, answers_);
    broadcast(Say::answers, all.body);
  }

  void look_at_clock() {
    const auto now = Clock::now();
    if (ask_until_ && now >= *ask_until_) tell_answers(true);
    if (joined_ == ranks_ || !join_until_ || now < *join_until_) return;
    BodyWriter missing;
    for (int64_t rank = 0; rank < ranks_; ++rank)
      if (!by_rank_[static_cast<size_t>(rank)]) missing.number(rank);
    broadcast(Say::missing, missing.body);
    join_until_.reset();
  }

  /// A connection has ended.
  void part(Client& client) {
    if (client.rank < 0) return;
    Client*& place = by_rank_[static_cast<size_t>(client.rank)];
    if (place != &client) return;
    place = nullptr;
    if (!client.left) broadcast(Say::died, BodyWriter().number(client.rank).body);
    tell_answers(false);
  }

  void send(int64_t rank, Say say, std::string_view body) {
    Client* client = by_rank_[static_cast<size_t>(rank)];
    if (client && !client->gone) client->link.send(say, body);
  }
  void broadcast(Say say, std::string_view body = {}) {
    for (int64_t rank = 0; rank < ranks_; ++rank) send(rank, say, body);
  }

  int64_t ranks_, joined_ = 0;
  TokenDigest token_;
  std::vector<std::unique_ptr<Client>> clients_;  ///< in the order in which they came
  std::vector<Client*> by_rank_;
  std::map<std::string, Meeting, std::less<>> meetings_;
  std::map<int64_t, std::string> answers_;  ///< by rank
  std::chrono::milliseconds timeout_{0};    ///< the longest of the ranks'
  std::optional<Clock::time_point> join_until_, ask_until_;
  std::vector<Frame> frames_;
};

}  // namespace

class Server::State {
 public:
  State(std::string address, std::string token, int listener, int wake, int64_t ranks)
      : address_(std::move(address)),
        token_(std::move(token)),
        listener_(listener),
        wake_(wake),
        spare_(open_spare()),
        table_(ranks, digest_of(token_)) {
    if (is_socket_file(address_)) remove_on_signal(address_);
  }
  ~State() {
    ends_ = true;
    const uint64_t one = 1;
    while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) continue;
    if (thread_.joinable()) thread_.join();
    close(wake_);
    if (listener_ >= 0) close(listener_);
    if (spare_ >= 0) close(spare_);
    if (!is_socket_file(address_)) return;
    unlink(address_.c_str());
    forget(address_);
    if (folder.empty()) return;
    rmdir(folder.c_str());
    forget(folder);
  }

  /// Throws std::system_error where no thread can be started.
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  const std::string& address() const { return address_; }
  const std::string& token() const { return token_; }
  bool lacks_descriptors() const { return lacks_descriptors_; }

  std::string folder;  ///< goes with the server

 private:
  void run() {
    std::optional<Clock::time_point> last;  // once it is to end
    for (std::vector<pollfd> waits; !(last && (table_.empty() || Clock::now() >= *last));) {
      waits.assign({{wake_, static_cast<short>(last ? 0 : POLLIN), 0}, {listener_, POLLIN, 0}});
      table_.list(waits);
      poll(waits.data(), waits.size(), patience(last));
      if (waits[1].revents & POLLIN) accept_one();
      table_.serve();
      if (ends_ && !last) last = Clock::now() + kFarewell;
    }
  }

  void accept_one() {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return table_.add(fd);
    if (errno != EMFILE && errno != ENFILE) return;
    const Error error = no_descriptor("the rendezvous of the ranks").error();
    lacks_descriptors_ = true;
    if (table_.drop_stranger(&error)) return;
    table_.refuse_all(error);
    // The clients that still wait get the same reason, one at a time, by the spare descriptor.
    if (spare_ >= 0) close(std::exchange(spare_, -1));
    fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      Connection link(fd, false);
      std::vector<Frame> hello;
      link.receive(hello);  // a connection that is closed with unread bytes can lose what was sent
      link.send(Say::refused, Table::refusal(error));
    }
    spare_ = open_spare();
    if (spare_ < 0) close(std::exchange(listener_, -1));  // or poll() would return at once for ever
  }
  static int open_spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

  int patience(std::optional<Clock::time_point> until) const {
    if (const auto alarm = table_.alarm(); alarm && (!until || *alarm < *until)) until = alarm;
    if (!until) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
  }

  std::string address_, token_;
  int listener_, wake_;
  int spare_;  ///< a descriptor to close for a client that must get a reason
  std::atomic<bool> ends_{false}, lacks_descriptors_{false};
  Table table_;
  std::thread thread_;
};

Result<std::unique_ptr<Server>> Server::start(const std::string& address, int64_t ranks, std::string_view token) {
  CHAKRA_ASSERT(ranks > 0);
  CHAKRA_ASSIGN(const int listener, listen_at(address));
  const int wake = eventfd(0, EFD_CLOEXEC);
  auto state = std::make_unique<State>(address, std::string(token), listener, wake, ranks);
  if (wake < 0) return no_descriptor("the rendezvous");
  state->start();
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Result<std::unique_ptr<Server>> Server::start_private(int64_t ranks) {
  std::error_code none;
  std::string folder = (std::filesystem::temp_directory_path(none) / "chakra-replay-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return fail(Code::io, "replay.rendezvous.listen",
                fmt::format("cannot create a folder for the socket of the ranks: {}", std::strerror(errno)), {folder});
  remove_on_signal(folder);
  const auto remove = [&] {
    rmdir(folder.c_str());
    forget(folder);
  };
  try {
    CHAKRA_ASSIGN(const std::string token, new_token());
    auto server = start(folder + "/socket", ranks, token);
    if (server) (*server)->state_->folder = std::move(folder);
    else remove();
    return server;
  } catch (const std::system_error&) {  // no thread can be started
    remove();
    throw;
  }
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;
const std::string& Server::address() const { return state_->address(); }
const std::string& Server::token() const { return state_->token(); }
bool Server::lacks_descriptors() const { return state_->lacks_descriptors(); }

}  // namespace chakra::replay
