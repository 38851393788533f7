#include "chakra/replay/rendezvous.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "chakra/replay/server_frames.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
constexpr std::string_view kExchange = "#";  ///< and a number: meetings of exchange()

/// A launcher ends all processes with SIGTERM as soon as one has ended. This one may then still have to say which rank
/// that was, so in this thread, and those that it starts from now on, the signal waits for a while.
class EndHeld {
 public:
  EndHeld() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~EndHeld() {
    if (release_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  EndHeld(const EndHeld&) = delete;
  EndHeld& operator=(const EndHeld&) = delete;

  /// Lets the signal through when nothing has come that says more.
  void look() {
    sigset_t pending;
    if (::sigpending(&pending) != 0 || sigismember(&pending, SIGTERM) != 1) return;
    if (!since_) since_ = Clock::now();
    if (Clock::now() - *since_ > kForTheReason) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  /// The rank is done; after an error the process ends soon, and has to say so.
  void done() { release_ = true; }

 private:
  static constexpr auto kForTheReason = std::chrono::milliseconds(300);
  sigset_t signal_{}, before_{};
  std::optional<Clock::time_point> since_;
  bool release_ = false;
};

constexpr auto kBetweenTokens = std::chrono::milliseconds(50);

/// "" where the token comes from the caller or the environment.
std::string token_file(const World& world) {
  if (!world.token.empty() || std::getenv("CHAKRA_RENDEZVOUS_TOKEN")) return {};
  if (is_socket_file(world.rendezvous)) return world.rendezvous + ".token";
  std::string name = world.rendezvous;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '[' || c == ']'; }, '-');
  return fmt::format("{}/.chakra-token-{}", world.folder.empty() ? "." : world.folder, name);
}

std::string given_token(const World& world) {
  const char* const said = std::getenv("CHAKRA_RENDEZVOUS_TOKEN");
  return world.token.empty() && said ? said : world.token;
}

/// Of rank 0, where the ranks share a token by a file: it is there while this exists.
class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  TokenFile(TokenFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TokenFile& operator=(TokenFile&&) = delete;
  ~TokenFile() {
    if (path_.empty()) return;
    ::unlink(path_.c_str());
    forget(path_);
  }

 private:
  std::string path_;
};

}  // namespace

class Rendezvous::State {
 public:
  State(const World& world, std::unique_ptr<EndHeld> signal, std::unique_ptr<Server> server, int fd,
        std::optional<TokenFile> token)
      : world_(world), signal_(std::move(signal)), token_(std::move(token)), server_(std::move(server)), link_(fd) {}

  Result<void> come_in() {
    const TokenDigest digest = digest_of(world_.token);
    link_.send(Say::hello, BodyWriter()
                               .number(kWireVersion)
                               .number(world_.rank)
                               .number(world_.ranks)
                               .number(world_.timeout.count())
                               .number(static_cast<int64_t>(digest.a))
                               .number(static_cast<int64_t>(digest.b))
                               .body);
    const auto deadline = Clock::now() + 2 * world_.timeout + kBetweenLooks;  // the server says it earlier
    while (!welcome_) {
      if (const Result<void> looked = look(kBetweenLooks); !welcome_ && !looked) return looked;
      if (!welcome_ && Clock::now() > deadline)
        return fail(
            Code::stuck, "replay.rendezvous.timeout",
            fmt::format("the rendezvous {} does not answer; does another program use it?", quote(world_.rendezvous)));
    }
    return {};
  }

  Result<void> look(std::chrono::nanoseconds patience) {
    if (error_) return Failure(*error_);
    if (signal_) signal_->look();
    link_.flush();
    wait_for(link_.fd(), link_.has_unsent(), patience);
    frames_.clear();
    const bool open = link_.receive(frames_);
    for (const Frame& frame : frames_) handle(frame);
    if (!open && !error_)
      note({Code::stuck,
            "replay.rank.died",
            world_.served ? std::string("the program that started the ranks has ended")
                          : std::string("rank 0 has ended, and the rendezvous with it"),
            {}});
    if (error_) return Failure(*error_);
    return {};
  }

  Result<std::vector<std::string>> exchange(std::string_view mine) {
    const std::string key = fmt::format("{}{}", kExchange, exchanges_++);
    meet(key, static_cast<uint32_t>(world_.ranks), mine, true);
    // Others may compute for long. A rank that does not answer two times in a row is stopped: this is known when the
    // timeout is over.
    const auto pause = std::max<Clock::duration>(kBetweenLooks, world_.timeout / 2 - answers_within(world_.timeout));
    const auto begin = Clock::now();
    auto next = begin + pause;     // time to ask
    std::vector<int64_t> silent;   // at the last time
    for (Result<void> looked;;) {  // what has come before an error still counts
      const auto found = std::find_if(met_.begin(), met_.end(), [&](const Met& met) { return met.key == key; });
      if (found != met_.end()) {
        std::vector<std::string> all = std::move(found->brought);
        met_.erase(found);
        return all;
      }
      CHAKRA_TRY(looked);
      looked = look(kBetweenLooks);
      const auto now = Clock::now();
      if (answers_) {
        const std::vector<int64_t> again = still_silent(*std::exchange(answers_, std::nullopt), silent);
        if (!again.empty() && now - begin >= world_.timeout) return no_answer(again, now - begin);
      }
      if (now < next) continue;
      next = now + pause + answers_within(world_.timeout);
      link_.send(Say::ask);
    }
  }

  /// Ranks that did not answer this time and the last time; `silent` becomes those of this time.
  std::vector<int64_t> still_silent(const Met& answers, std::vector<int64_t>& silent) const {
    std::vector<int64_t> now, both;
    for (int64_t rank = 0; rank < world_.ranks; ++rank)
      if (!std::binary_search(answers.ranks.begin(), answers.ranks.end(), rank)) now.push_back(rank);
    std::set_intersection(now.begin(), now.end(), silent.begin(), silent.end(), std::back_inserter(both));
    silent = std::move(now);
    return both;
  }
  Failure no_answer(const std::vector<int64_t>& silent, Clock::duration since) const {
    return fail(Code::stuck, "replay.rendezvous.timeout",
                fmt::format("rank {} has waited for all ranks at the rendezvous for {:.0f} s, and {} did not answer",
                            world_.rank, std::chrono::duration<double>(since).count(), show_ranks(silent)));
  }

  void meet(std::string_view key, uint32_t members, std::string_view bring, bool tell) {
    link_.send(Say::meet, BodyWriter().number(tell).number(members).text(key).text(bring).body);
  }

  void take(std::vector<Met>& met) {
    const auto mine =
        std::stable_partition(met_.begin(), met_.end(), [](const Met& m) { return m.key.starts_with(kExchange); });
    std::move(mine, met_.end(), std::back_inserter(met));
    met_.erase(mine, met_.end());
  }
  bool has_news() const {
    return answers_ ||
           std::any_of(met_.begin(), met_.end(), [](const Met& m) { return !m.key.starts_with(kExchange); });
  }

  /// What was said last must leave before the connection ends.
  void say_last(Say say, std::string_view body) {
    link_.send(say, body);
    for (int tries = 0; link_.has_unsent() && tries < 10; ++tries) {
      wait_for(link_.fd(), true, std::chrono::milliseconds(100));
      link_.flush();
    }
  }

  void release_signal() {
    if (signal_) signal_->done();
  }
  std::unique_ptr<EndHeld> give_signal() { return std::move(signal_); }
  std::optional<Met> answers() { return std::exchange(answers_, std::nullopt); }
  int descriptor() const { return link_.fd(); }
  Connection& link() { return link_; }

  std::function<std::string()> describe;

 private:
  void note(Error error) {
    if (!error_) error_ = std::move(error);
  }

  void handle(const Frame& frame) {
    BodyReader read(frame.body);
    switch (frame.say) {
      case Say::welcome: welcome_ = true; return;
      case Say::missing: {
        std::vector<int64_t> ranks;
        while (ranks.size() < frame.body.size() / 8) ranks.push_back(read.number());
        return note(
            {Code::stuck,
             "replay.rendezvous.timeout",
             fmt::format("{} of {} did not connect to the rendezvous {} within {:.0f} s", show_ranks(ranks),
                         world_.ranks, quote(world_.rendezvous), static_cast<double>(world_.timeout.count()) / 1e3),
             {}});
      }
      case Say::refused: {
        const std::string tag(read.text());
        const Code code = tag == "base.file.open" ? Code::io : Code::usage;
        return note({code, tag, std::string(read.text()), {}});
      }
      case Say::met: {
        Met met;
        met.key = read.text();
        read_brought(read, met);
        met_.push_back(std::move(met));
        return;
      }
      case Say::asked: link_.send(Say::answer, BodyWriter().text(describe ? describe() : "").body); return;
      case Say::answers:
        answers_.emplace();
        read_brought(read, *answers_);
        return;
      case Say::aborted: {
        const int64_t rank = read.number();
        return note({Code::stuck, "replay.rank.aborted", fmt::format("rank {} gave up: {}", rank, read.text()), {}});
      }
      case Say::died:
        return note({Code::stuck,
                     "replay.rank.died",
                     fmt::format("rank {} has ended before the job was done", read.number()),
                     {}});
      default: return;
    }
  }

  const World world_;
  std::unique_ptr<EndHeld> signal_;  ///< of ranks that are processes
  std::optional<TokenFile> token_;   ///< at rank 0
  std::unique_ptr<Server> server_;   ///< at rank 0, unless the caller has one; ends after the connection
  Connection link_;
  bool welcome_ = false;
  int64_t exchanges_ = 0;
  std::vector<Frame> frames_;
  std::vector<Met> met_;
  std::optional<Met> answers_;
  std::optional<Error> error_;
};

Result<std::unique_ptr<Rendezvous>> Rendezvous::join(const World& asked) {
  CHAKRA_ASSERT(asked.rank >= 0 && asked.rank < asked.ranks);
  World world = asked;
  const auto deadline = Clock::now() + world.timeout;
  const std::string file = token_file(world);
  const bool serves = world.rank == 0 && !world.served;
  if (file.empty()) world.token = given_token(world);
  std::unique_ptr<Server> server;
  std::optional<TokenFile> kept;
  auto signal = world.served ? nullptr : std::make_unique<EndHeld>();
  if (serves) {
    if (!file.empty()) {
      CHAKRA_ASSIGN(world.token, write_token(file));
      kept.emplace(file);
    }
    CHAKRA_ASSIGN(server, Server::start(world.rendezvous, world.ranks, world.token));
  }
  for (;;) {
    CHAKRA_ASSIGN(const int fd, connect_to(world.rendezvous, deadline));
    Result<std::string> token = serves || file.empty() ? Result<std::string>(world.token) : read_token(file);
    // Where rank 0 of an earlier run was killed, its file may be there until this run's rank 0 has written its own.
    const bool may_change = !serves && !file.empty() && Clock::now() < deadline;
    if (token) {
      world.token = *token;
      auto state = std::make_unique<State>(world, std::move(signal), std::move(server), fd, std::move(kept));
      const Result<void> in = state->come_in();
      if (in) return std::unique_ptr<Rendezvous>(new Rendezvous(std::move(state)));
      if (!may_change || in.error().tag != "replay.rendezvous.token") return Failure(in.error());
      signal = state->give_signal();
    } else {
      ::close(fd);
      if (!may_change) return Failure(token.error());
    }
    std::this_thread::sleep_for(kBetweenTokens);
  }
}

Rendezvous::Rendezvous(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rendezvous::~Rendezvous() = default;

Result<std::vector<std::string>> Rendezvous::exchange(std::string_view mine) { return state_->exchange(mine); }

Result<void> Rendezvous::barrier() {
  CHAKRA_TRY(state_->exchange(""));
  return {};
}

Result<void> Rendezvous::meet(std::string_view key, uint32_t members, std::string_view bring, bool tell) {
  CHAKRA_ASSERT(members > 0 && !key.starts_with(kExchange));
  state_->meet(key, members, bring, tell);
  return state_->look(std::chrono::nanoseconds(0));
}

Result<void> Rendezvous::poll(std::chrono::nanoseconds patience, std::vector<Met>& met) {
  CHAKRA_TRY(state_->look(state_->has_news() ? std::chrono::nanoseconds(0) : patience));
  state_->take(met);
  return {};
}

Result<void> Rendezvous::look() { return state_->look(std::chrono::nanoseconds(0)); }
int Rendezvous::descriptor() const { return state_->descriptor(); }
void Rendezvous::describe_with(std::function<std::string()> describe) { state_->describe = std::move(describe); }

Result<void> Rendezvous::ask() {
  state_->link().send(Say::ask);
  return state_->look(std::chrono::nanoseconds(0));
}

std::optional<Met> Rendezvous::answers() { return state_->answers(); }
void Rendezvous::leave() {
  state_->say_last(Say::leave, {});
  state_->release_signal();
}
void Rendezvous::abort(std::string_view reason) { state_->say_last(Say::abort, BodyWriter().text(reason).body); }

}  // namespace chakra::replay
