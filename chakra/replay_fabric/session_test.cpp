// Sessions in threads of this process, over connections of the loopback: data, bytes, orders of starting, and ends
// that are not orderly.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <thread>

#include "chakra/coll/coll.h"
#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/replay_fabric.h"
#include "chakra/replay_fabric/wire.h"

namespace chakra::replay_fabric {
namespace {

using namespace std::chrono_literals;
using trace::CommType;

/// An operation with its memory.
struct Owned {
  replay::Operation operation;
  std::vector<int64_t> members;
  std::vector<uint64_t> in_split, out_split;
  std::vector<std::byte> in, out;
  std::string group, dtype;

  void lend() {
    operation.members = members;
    operation.in_split = in_split;
    operation.out_split = out_split;
    operation.group = group;
    operation.dtype = dtype;
    in.assign(operation.in_bytes, std::byte{});
    out.assign(operation.out_bytes, std::byte{});
    operation.in = in;
    operation.out = out;
    replay::fill_input(operation, in);
  }
};

/// What all ranks run: by operation, what each rank that takes part has of it.
using Program = std::vector<std::map<int64_t, Owned>>;

Owned collective(CommType type, const std::vector<int64_t>& members, uint32_t place, uint32_t root, uint64_t bytes) {
  Owned owned;
  owned.members = members;
  replay::Operation& o = owned.operation;
  o.type = type;
  o.place = place;
  o.root = root;
  const uint64_t n = members.size();
  const bool is_root = place == root;
  o.in_bytes = o.out_bytes = bytes;
  if (type == CommType::reduce) o.out_bytes = is_root ? bytes : 0;
  if (type == CommType::broadcast) (is_root ? o.out_bytes : o.in_bytes) = 0;
  if (type == CommType::all_gather) o.out_bytes = n * bytes;
  if (type == CommType::gather) o.out_bytes = is_root ? n * bytes : 0;
  if (type == CommType::scatter) o.in_bytes = is_root ? n * bytes : 0;
  if (type == CommType::reduce_scatter || type == CommType::reduce_scatter_block || type == CommType::all_to_all)
    o.in_bytes = n * bytes;
  if (type == CommType::all_to_all) o.out_bytes = n * bytes;
  if (type == CommType::barrier) o.in_bytes = o.out_bytes = 0;
  return owned;
}

void add_splits(std::map<int64_t, Owned>& ranks, Prng& random) {
  std::map<std::pair<int64_t, int64_t>, uint64_t> sizes;
  for (auto& [rank, owned] : ranks) {
    for (const int64_t to : owned.members) {
      sizes[{rank, to}] = random.chance(0.3) ? 0 : random.below(90'000);
      owned.in_split.push_back(sizes[{rank, to}]);
    }
    owned.operation.in_bytes = std::accumulate(owned.in_split.begin(), owned.in_split.end(), uint64_t{0});
  }
  for (auto& [rank, owned] : ranks) {
    for (const int64_t from : owned.members) owned.out_split.push_back(sizes[{from, rank}]);
    owned.operation.out_bytes = std::accumulate(owned.out_split.begin(), owned.out_split.end(), uint64_t{0});
  }
}

Program random_program(Prng& random, int64_t ranks, int operations) {
  Program program(static_cast<size_t>(operations));
  std::map<std::string, uint64_t> indices;
  for (auto& step : program) {
    if (random.chance(0.25)) {
      const int64_t from = random.between(0, ranks - 1), to = (from + random.between(1, ranks - 1)) % ranks;
      Owned send, receive;
      const uint64_t bytes = random.chance(0.2) ? 0 : random.below(300'000);
      send.operation.kind = replay::Operation::Kind::send;
      receive.operation.kind = replay::Operation::Kind::receive;
      send.operation.in_bytes = receive.operation.out_bytes = bytes;
      send.operation.partner = to;
      receive.operation.partner = from;
      send.operation.tag = receive.operation.tag = random.between(0, 1);
      const std::string channel = fmt::format("{} {} {}", from, to, send.operation.tag);
      send.operation.index = receive.operation.index = indices[channel]++;
      step.emplace(from, std::move(send));
      step.emplace(to, std::move(receive));
      continue;
    }
    std::vector<int64_t> members;
    for (int64_t r = 0; r < ranks; ++r)
      if (random.chance(0.8)) members.push_back(r);
    if (members.empty()) members.push_back(0);
    const auto type = static_cast<CommType>(random.below(trace::kCommTypeNames.size()));
    const auto root = trace::has_root(type) ? static_cast<uint32_t>(random.below(members.size())) : 0;
    const replay::ElementRow& element = replay::elements()[random.below(replay::elements().size())];
    const uint64_t bytes = element.bytes * (random.chance(0.2) ? random.below(3) : random.below(60'000));
    std::string group;
    for (const int64_t r : members) group += fmt::format("{} ", r);
    const uint64_t index = indices[group]++;
    for (uint32_t place = 0; place < members.size(); ++place) {
      Owned owned = collective(type, members, place, root, bytes);
      owned.group = group;
      owned.dtype = std::string(element.names.substr(0, element.names.find(' ')));
      owned.operation.index = index;
      step.emplace(members[place], std::move(owned));
    }
    if (type == CommType::all_to_all && random.chance(0.5)) add_splits(step, random);
  }
  return program;
}

/// Run `body` for each rank in a thread, with a separate session; return the result of each rank.
using Body = std::function<Result<void>(int64_t rank, replay::Session& session)>;
std::vector<Result<void>> run_ranks(int64_t ranks, const replay::Settings& settings, const Body& body) {
  auto server = replay::Server::start_private(ranks);
  EXPECT_TRUE(server) << server.error().message();
  std::vector<Result<void>> said(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      said[static_cast<size_t>(rank)] = [&]() -> Result<void> {
        const replay::World world{rank, ranks, (*server)->address(), true, 5s, (*server)->token()};
        CHAKRA_ASSIGN(const std::unique_ptr<replay::Rendezvous> rendezvous, replay::Rendezvous::join(world));
        CHAKRA_ASSIGN(const std::unique_ptr<replay::Session> session, kFabric.open(world, *rendezvous, settings));
        CHAKRA_TRY(body(rank, *session));
        CHAKRA_TRY(session->close());
        rendezvous->leave();
        return {};
      }();
    });
  for (std::thread& thread : threads) thread.join();
  return said;
}

/// Start the rank's operations in a random order, at most `most` at a time, until all have ended.
Result<void> run_program(Program& program, int64_t rank, replay::Session& session, size_t most, Prng random) {
  std::vector<replay::Ticket> waiting, ended;
  for (replay::Ticket t = 0; t < program.size(); ++t)
    if (const auto at = program[t].find(rank); at != program[t].end()) {
      at->second.lend();
      waiting.push_back(t);
    }
  size_t next = 0, running = 0;
  while (next < waiting.size() || running > 0) {
    // One of the next ones: the others have started it at the latest when all before it have ended.
    while (next < waiting.size() && running < most) {
      const size_t last = std::min(waiting.size(), next + (most - running)) - 1;
      std::swap(waiting[next], waiting[next + random.below(last - next + 1)]);
      CHAKRA_TRY(session.start(program[waiting[next]].at(rank).operation, waiting[next]));
      ++next;
      ++running;
    }
    ended.clear();
    CHAKRA_TRY(session.progress(100ms, ended));
    for (const replay::Ticket ticket : ended) CHAKRA_TRY(replay::verify_output(program[ticket].at(rank).operation));
    running -= ended.size();
  }
  return {};
}

TEST(Fabric, AllKindsOfOperationsInFlight) {
  for (const WireRow& wire : kWires)
    for (const uint64_t seed : {1u, 2u, 3u}) {
      Prng random(seed);
      const int64_t ranks = random.between(2, 5);
      Program program = random_program(random, ranks, 60);
      const auto said =
          run_ranks(ranks, {{"wire", std::string(wire.name)}}, [&](int64_t rank, replay::Session& session) {
            return run_program(program, rank, session, program.size(), Prng(seed * 100 + static_cast<uint64_t>(rank)));
          });
      for (const auto& result : said)
        EXPECT_TRUE(result) << wire.name << ", " << seed << ": " << result.error().message();
    }
}

TEST(Fabric, PacedDataAreTheSame) {
  Prng random(9);
  Program program = random_program(random, 3, 12);
  const auto said = run_ranks(3, {{"rate", "400Mbit/s"}}, [&](int64_t rank, replay::Session& session) {
    return run_program(program, rank, session, program.size(), Prng(static_cast<uint64_t>(rank)));
  });
  for (const auto& result : said) EXPECT_TRUE(result) << result.error().message();
}

/// What the log counts is what the plan says, for each pair of ranks.
TEST(Fabric, LoggedBytesAreThePlans) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("fabric_{}", getpid());
  std::filesystem::create_directories(folder);
  constexpr int64_t kRanks = 5;
  constexpr uint64_t kBytes = 100'003;
  const std::vector<int64_t> members{0, 1, 2, 3, 4};
  const net::Fabric network{{{net::TopologyKind::switch_, kRanks, 1, 100}}};
  for (const std::string_view algorithm : {"ring", "direct", "halving_doubling", "tree", "double_binary_tree"}) {
    Program program(1);
    for (uint32_t place = 0; place < kRanks; ++place)
      program[0].emplace(place, collective(CommType::all_reduce, members, place, 0, kBytes));
    const std::string log = (folder / algorithm).string();
    const auto said = run_ranks(
        kRanks, {{"log", log}, {"collectives", std::string(algorithm)}},
        [&](int64_t rank, replay::Session& session) { return run_program(program, rank, session, 1, Prng(1)); });
    for (const auto& result : said) EXPECT_TRUE(result) << result.error().message();
    std::map<std::pair<int64_t, int64_t>, uint64_t> planned, logged;
    const coll::Plan plan =
        coll::find_algorithm(algorithm)->plan({CommType::all_reduce, kBytes, 0, {}}, {&network, members});
    for (const coll::Round& round : plan.rounds)
      coll::each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
        planned[{from, to}] += bytes;
      });
    for (int64_t rank = 0; rank < kRanks; ++rank) {
      std::ifstream file(fmt::format("{}.{}.csv", log, rank));
      std::string line;
      std::getline(file, line);
      EXPECT_EQ(line, "node,name,group,type,index,round,source,destination,bytes,first_ns,last_ns");
      while (std::getline(file, line)) {
        std::vector<std::string> cells;
        std::stringstream cells_of(line);
        for (std::string cell; std::getline(cells_of, cell, ',');) cells.push_back(cell);
        ASSERT_EQ(cells.size(), 11u) << line;
        logged[{std::stoll(cells[6]), std::stoll(cells[7])}] += std::stoull(cells[8]);
        EXPECT_LE(std::stoll(cells[9]), std::stoll(cells[10]));
      }
    }
    EXPECT_EQ(logged, planned) << algorithm;
  }
  std::filesystem::remove_all(folder);
}

TEST(Fabric, EverySurvivorNamesTheRankThatDied) {
  for (const WireRow& wire : kWires) {
    const std::vector<int64_t> members{0, 1, 2, 3};
    Program program(1);
    for (uint32_t place = 0; place < 4; ++place)
      program[0].emplace(place, collective(CommType::all_reduce, members, place, 0, 40'000'000));
    const auto said =
        run_ranks(4, {{"wire", std::string(wire.name)}}, [&](int64_t rank, replay::Session& session) -> Result<void> {
          if (rank == 2) {  // begins, and is gone
            program[0].at(2).lend();
            CHAKRA_TRY(session.start(program[0].at(2).operation, 0));
            return fail(Code::stuck, "test.gone", "gone");
          }
          return run_program(program, rank, session, 1, Prng(1));
        });
    for (const int64_t rank : {0, 1, 3}) {
      ASSERT_FALSE(said[static_cast<size_t>(rank)]);
      const Error& error = said[static_cast<size_t>(rank)].error();
      EXPECT_EQ(error.code, Code::stuck);
      EXPECT_NE(error.text.find("rank 2"), std::string::npos) << error.message();
    }
  }
}

/// A peer that only sends.
struct Sender final : Receiver {
  bool has_left = false;
  Result<std::span<std::byte>> room(int64_t, const Header& header) override {
    text.resize(header.bytes);
    return std::span(text);
  }
  Result<void> landed(int64_t, const Header&) override { return {}; }
  void left(int64_t) override { has_left = true; }
  Result<void> lost(int64_t, std::string_view) override { return {}; }
  bool may_receive() override { return true; }
  void received(uint64_t) override {}
  std::vector<std::byte> text;
};

TEST(Fabric, AFrameOfAnUnknownKindNamesItsSender) {
  auto server = replay::Server::start_private(2);
  ASSERT_TRUE(server);
  const auto world_of = [&](int64_t rank) {
    return replay::World{rank, 2, (*server)->address(), true, 5s, (*server)->token()};
  };
  std::thread peer([&] {
    const replay::World world = world_of(1);
    const auto rendezvous = replay::Rendezvous::join(world);
    ASSERT_TRUE(rendezvous);
    Sender sender;
    const auto wire = kWires.front().open(world, **rendezvous, {}, sender);
    ASSERT_TRUE(wire) << wire.error().message();
    constexpr std::array<std::byte, 4> kText{};
    ASSERT_TRUE((*wire)->send(0, {static_cast<Header::Kind>(77), 0, 0, 0, 4, 1}, kText));
    for (int turn = 0; turn < 100 && !sender.has_left; ++turn) ASSERT_TRUE((*wire)->progress(10ms, -1));
    (void)(*rendezvous)->exchange("");  // until the other has seen it
    (*rendezvous)->leave();
  });
  const replay::World world = world_of(0);
  const auto rendezvous = replay::Rendezvous::join(world);
  ASSERT_TRUE(rendezvous);
  const auto session = kFabric.open(world, **rendezvous, {});
  ASSERT_TRUE(session) << session.error().message();
  Result<void> said;
  std::vector<replay::Ticket> ended;
  for (int turn = 0; turn < 100 && said; ++turn) said = (*session)->progress(50ms, ended);
  (void)(*rendezvous)->exchange("");
  (*rendezvous)->leave();
  peer.join();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().tag, "replay.fabric.frame");
  EXPECT_NE(said.error().text.find("rank 1"), std::string::npos) << said.error().message();
}

TEST(Fabric, RanksThatDoNotAgreeAreNamed) {
  const std::vector<int64_t> members{0, 1};
  Program program(1);
  program[0].emplace(0, collective(CommType::all_reduce, members, 0, 0, 4000));
  program[0].emplace(1, collective(CommType::all_reduce, members, 1, 0, 8000));
  const auto said = run_ranks(
      2, {}, [&](int64_t rank, replay::Session& session) { return run_program(program, rank, session, 1, Prng(1)); });
  EXPECT_TRUE((!said[0] && said[0].error().tag == "replay.comm.differ") ||
              (!said[1] && said[1].error().tag == "replay.comm.differ"));
}

}  // namespace
}  // namespace chakra::replay_fabric
