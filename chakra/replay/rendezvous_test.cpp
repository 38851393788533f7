// Ranks as threads that find each other, meet, and go.
#include "chakra/replay/rendezvous.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/replay.h"

namespace chakra::replay {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;
using std::chrono::milliseconds;
using std::chrono::seconds;

World world_of(int64_t rank, int64_t ranks, const std::string& address, milliseconds timeout = seconds(10)) {
  World world;
  world.rank = rank;
  world.ranks = ranks;
  world.rendezvous = address;
  world.timeout = timeout;
  if (address.find('/') == address.npos) world.token = "the ranks' own";  // others share one by a file
  return world;
}

/// Does it as every rank at once.
template <class Do>
void as_each(int64_t ranks, const Do& as_rank) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) threads.emplace_back([&as_rank, rank] { as_rank(rank); });
  for (std::thread& thread : threads) thread.join();
}

/// A port that was free a moment ago, on loopback.
std::string free_port() {
  for (uint64_t port = 20'000 + Prng(static_cast<uint64_t>(::getpid())).below(20'000);; ++port)
    if (Server::start("127.0.0.1:" + std::to_string(port), 1)) return "127.0.0.1:" + std::to_string(port);
}

TEST(Rendezvous, ExchangesAndMeetings) {
  const TemporaryFolder folder;
  for (const std::string& address : {folder.path("socket"), free_port()}) {
    SCOPED_TRACE(address);
    as_each(4, [&](int64_t rank) {
      auto joined = Rendezvous::join(world_of(rank, 4, address));
      ASSERT_TRUE(joined) << joined.error().message();
      Rendezvous& all = **joined;
      for (int i = 0; i < 20; ++i) {
        const auto brought = all.exchange(std::string(static_cast<size_t>(rank) * 100'000, 'x') + std::to_string(i));
        ASSERT_TRUE(brought) << brought.error().message();
        for (size_t r = 0; r < 4; ++r) ASSERT_EQ((*brought)[r], std::string(r * 100'000, 'x') + std::to_string(i));
      }
      if (rank > 0) {  // 1, 2 and 3 meet, rank 2 does not care to know
        ASSERT_TRUE(all.meet("here", 3, std::to_string(rank), rank != 2));
        std::vector<Met> met;
        while (rank != 2 && met.empty()) ASSERT_TRUE(all.poll(seconds(1), met));
        if (rank != 2) {
          EXPECT_EQ(met[0].key, "here");
          EXPECT_EQ(met[0].ranks, (std::vector<int64_t>{1, 2, 3}));
          EXPECT_EQ(met[0].brought, (std::vector<std::string>{"1", "2", "3"}));
        }
      }
      ASSERT_TRUE(all.barrier());
      all.leave();
    });
  }
  EXPECT_FALSE(is_file(folder.path("socket")));
}

TEST(Rendezvous, ARankThatDiesIsNamedToAllOthers) {
  const TemporaryFolder folder;
  as_each(4, [&](int64_t rank) {
    auto joined = Rendezvous::join(world_of(rank, 4, folder.path("s")));
    ASSERT_TRUE(joined);
    if (rank == 2) return;  // its connection ends without a word
    std::vector<Met> met;
    Result<void> polled;
    while (polled) polled = (*joined)->poll(seconds(1), met);
    EXPECT_EQ(polled.error().tag, "replay.rank.died");
    EXPECT_NE(polled.error().text.find("rank 2"), std::string::npos) << polled.error().text;
    EXPECT_EQ(polled.error().code, Code::stuck);
  });
}

TEST(Rendezvous, ARankThatDiesIsNamedToThoseThatExchange) {
  const TemporaryFolder folder;
  for (const int64_t dies : {0, 2}) {  // rank 0 has the server
    SCOPED_TRACE(dies);
    as_each(3, [&](int64_t rank) {
      auto joined = Rendezvous::join(world_of(rank, 3, folder.path("s")));
      ASSERT_TRUE(joined);
      ASSERT_TRUE((*joined)->barrier());
      const auto begin = std::chrono::steady_clock::now();
      if (rank == dies) return;
      const auto brought = (*joined)->exchange("mine");
      ASSERT_EQ(tag_of(brought), "replay.rank.died");
      EXPECT_NE(brought.error().text.find("rank " + std::to_string(dies)), std::string::npos) << brought.error().text;
      EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
    });
  }
}

TEST(Rendezvous, ARankThatIsSilentIsNamedWhenTheTimeoutIsOver) {
  const TemporaryFolder folder;
  std::atomic<int> told{0};
  as_each(3, [&](int64_t rank) {
    auto joined = Rendezvous::join(world_of(rank, 3, folder.path("s"), milliseconds(3000)));
    ASSERT_TRUE(joined);
    ASSERT_TRUE((*joined)->barrier());
    const auto begin = std::chrono::steady_clock::now();
    if (rank == 2) {  // connected and alive
      while (told < 2) std::this_thread::sleep_for(milliseconds(10));
      return;
    }
    const auto brought = (*joined)->exchange("mine");
    const auto took = std::chrono::steady_clock::now() - begin;
    ++told;
    ASSERT_EQ(tag_of(brought), "replay.rendezvous.timeout");
    EXPECT_NE(brought.error().text.find("and rank 2 did not answer"), std::string::npos) << brought.error().text;
    EXPECT_EQ(brought.error().code, Code::stuck);
    EXPECT_GE(took, milliseconds(3000));
    EXPECT_LT(took, milliseconds(6000));
  });
}

TEST(Rendezvous, ARankThatAnswersMayComeLate) {
  const TemporaryFolder folder;
  as_each(2, [&](int64_t rank) {
    auto joined = Rendezvous::join(world_of(rank, 2, folder.path("s"), milliseconds(500)));
    ASSERT_TRUE(joined);
    const auto begin = std::chrono::steady_clock::now();
    while (rank == 1 && std::chrono::steady_clock::now() - begin < milliseconds(4000)) {
      std::this_thread::sleep_for(milliseconds(20));
      ASSERT_TRUE((*joined)->look());
    }
    const auto brought = (*joined)->exchange(std::to_string(rank));
    ASSERT_TRUE(brought) << brought.error().message();
    (*joined)->leave();
  });
}

TEST(Rendezvous, WhoNeverComesIsNamed) {
  const TemporaryFolder folder;
  as_each(3, [&](int64_t rank) {
    if (rank == 1) return;
    const auto joined = Rendezvous::join(world_of(rank, 3, folder.path("s"), milliseconds(300)));
    ASSERT_EQ(tag_of(joined), "replay.rendezvous.timeout");
    EXPECT_NE(joined.error().text.find("rank 1 of 3 did not connect"), std::string::npos) << joined.error().text;
  });
  EXPECT_EQ(tag_of(Rendezvous::join(world_of(1, 2, folder.path("nobody"), milliseconds(100)))),
            "replay.rendezvous.timeout");
}

TEST(Rendezvous, RanksThatDoNotFitAreRefused) {
  const auto server = Server::start_private(2);
  ASSERT_TRUE(server);
  const auto join = [&](int64_t rank, int64_t ranks) {
    World world = world_of(rank, ranks, (*server)->address(), milliseconds(2000));
    world.served = true;
    world.token = (*server)->token();
    return Rendezvous::join(world);
  };
  EXPECT_EQ(tag_of(join(0, 3)), "replay.rendezvous.rank");
  Result<std::unique_ptr<Rendezvous>> of_first, of_second;  // which hold their connections until both are there
  std::thread first([&] { of_first = join(0, 2); });
  std::thread second([&] {
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(tag_of(join(0, 2)), "replay.rendezvous.rank");  // while the first waits for rank 1
    of_second = join(1, 2);
  });
  first.join();
  second.join();
  EXPECT_TRUE(of_first && of_second);
  for (const char* address : {"nowhere", "127.0.0.1:", "127.0.0.1:70000", ":1"})
    EXPECT_EQ(tag_of(Server::start(address, 1)), "replay.rendezvous.address") << address;
  EXPECT_EQ(tag_of(Server::start(std::string(200, '/'), 1)), "replay.rendezvous.address");
  EXPECT_EQ(tag_of(Server::start("/no/such/folder/socket", 1)), "replay.rendezvous.listen");
}

/// The memory of this process, in bytes.
int64_t resident() {
  int64_t pages = 0;
  const std::string said = chakra::testing::must_read("/proc/self/statm");
  const size_t first = said.find(' ') + 1;
  EXPECT_TRUE(parse_decimal(said.substr(first, said.find(' ', first) - first), pages));
  return pages * ::sysconf(_SC_PAGESIZE);
}

bool connect_raw(int fd, const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

/// A connection to a socket in the file system.
int connect_raw(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_TRUE(connect_raw(fd, path));
  return fd;
}

TEST(Rendezvous, StrangersDoNotJoinAndHoldUpNobody) {
  const TemporaryFolder folder;
  const std::string address = folder.path("s");
  const auto server = Server::start(address, 2, "the ranks' own");
  ASSERT_TRUE(server);
  const int64_t before = resident();
  std::atomic<bool> done{false};
  std::thread hostile([&] {
    std::vector<int> open;
    Prng random(3);
    for (int i = 0; i < 200; ++i) {
      const int fd = connect_raw(address);
      open.push_back(fd);
      std::string said;                                       // nothing,
      if (i % 4 == 1) said = std::string("\0\0\0\x10\0", 5);  // 256 MiB to come,
      if (i % 4 == 2) said = std::string(1 << 16, 'x');       // and what may be anything
      for (int c = 0; c < 100 && i % 4 == 3; ++c) said += static_cast<char>(random.below(256));
      (void)::send(fd, said.data(), said.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    const std::string piece(1 << 16, '\0');
    while (!done)
      for (const int fd : open) (void)::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    for (const int fd : open) ::close(fd);
  });
  as_each(3, [&](int64_t rank) {
    World world = world_of(rank % 2, 2, address, milliseconds(10'000));
    world.served = true;
    world.token = rank == 2 ? "another" : "the ranks' own";
    const auto joined = Rendezvous::join(world);
    if (rank == 2) {
      EXPECT_EQ(tag_of(joined), "replay.rendezvous.token");
      return;
    }
    ASSERT_TRUE(joined) << joined.error().message();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE((*joined)->exchange(std::string(1000, 'y')));
    (*joined)->leave();
  });
  done = true;
  hostile.join();
  EXPECT_LT(resident() - before, int64_t{16} << 20);
}

/// No descriptor is left in this process while this exists.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = std::min<rlim_t>(few.rlim_cur, 256);
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST(Rendezvous, EveryClientLearnsThatTheServerHasNoDescriptor) {
  const TemporaryFolder folder;
  const std::string address = folder.path("s");
  const auto server = Server::start(address, 3, "the ranks' own");
  ASSERT_TRUE(server);
  int clients[3] = {};
  for (int& fd : clients) fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string said[3];
  {
    const NoDescriptors none;
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(connect_raw(clients[i], address));
      char answer[256];
      for (ssize_t got; (got = ::recv(clients[i], answer, sizeof answer, 0)) > 0;)
        said[i].append(answer, static_cast<size_t>(got));
    }
  }
  EXPECT_TRUE((*server)->lacks_descriptors());
  for (const std::string& text : said) EXPECT_NE(text.find("base.file.open"), std::string::npos) << text;
  for (const int fd : clients) ::close(fd);
}

TEST(Rendezvous, TheTokenIsInAFileThatOnlyThisUserReads) {
  const TemporaryFolder folder;
  const std::string address = folder.path("s"), file = address + ".token";
  ASSERT_TRUE(write_file(file, "of a run that was killed"));
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  as_each(2, [&](int64_t rank) {
    auto joined = Rendezvous::join(world_of(rank, 2, address));
    ASSERT_TRUE(joined) << joined.error().message();
    struct stat status;
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_TRUE((*joined)->barrier());
    (*joined)->leave();
  });
  EXPECT_FALSE(is_file(file));
}

TEST(Rendezvous, TellsWhatAllAreDoing) {
  const TemporaryFolder folder;
  as_each(3, [&](int64_t rank) {
    auto joined = Rendezvous::join(world_of(rank, 3, folder.path("s")));
    ASSERT_TRUE(joined);
    Rendezvous& all = **joined;
    all.describe_with([rank] { return "rank " + std::to_string(rank); });
    ASSERT_TRUE(all.barrier());
    if (rank == 1) ASSERT_TRUE(all.ask());
    std::vector<Met> met;
    std::optional<Met> answers;
    while (!(answers = all.answers())) ASSERT_TRUE(all.poll(seconds(1), met));
    EXPECT_EQ(answers->brought, (std::vector<std::string>{"rank 0", "rank 1", "rank 2"}));
    ASSERT_TRUE(all.barrier());
    all.leave();
  });
}

TEST(World, IsWhatTheLauncherSays) {
  const auto with = [](std::vector<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    World world;
    Result<bool> found = world_from_launcher(world);
    for (const auto& [name, value] : variables) ::unsetenv(name);
    return std::pair(found, world);
  };
  const auto [none, default_world] = with({});
  EXPECT_TRUE(none && !*none);
  const auto [mpi, of_mpi] = with({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_TRUE(mpi && *mpi);
  EXPECT_EQ(of_mpi.rank, 3);
  EXPECT_EQ(of_mpi.ranks, 4);
  const auto [torch, of_torch] =
      with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}});
  EXPECT_TRUE(torch && *torch);
  EXPECT_EQ(of_torch.rendezvous, "127.0.0.1:29501");
  for (const char* rank : {"4", "-1", "x", ""})
    EXPECT_EQ(tag_of(with({{"PMI_RANK", rank}, {"PMI_SIZE", "4"}}).first), "replay.world.launcher") << rank;
}

/// Hydra's proxy starts each rank as the leader of a session.
TEST(World, RanksThatMpichStartsMeetAtTheirLauncher) {
  const auto in_a_session = [](const char* here) {
    ::setsid();
    for (const auto& [name, value] : {std::pair("PMI_RANK", "1"), {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", here}})
      ::setenv(name, value, 1);
    World world;
    const Result<bool> found = world_from_launcher(world);
    std::fprintf(stderr, "met at %s.", found && *found ? world.rendezvous.c_str() : "an error");
    std::_Exit(0);
  };
  const std::string place = fmt::format("met at .*/chakra\\.{}\\.{}\\.$", ::getuid(), ::getpid());
  EXPECT_EXIT(in_a_session("2"), ::testing::ExitedWithCode(0), place);
  EXPECT_EXIT(in_a_session("1"), ::testing::ExitedWithCode(0), "met at \\.$");  // the other one is on another machine
}

}  // namespace
}  // namespace chakra::replay
