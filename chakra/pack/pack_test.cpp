// The container gives back what went in, byte for byte; what is cut or changed is an error.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/pack/pack.h"
#include "chakra/schema/testing/random_trace.h"

namespace chakra::pack {
namespace {

using testing::fill;
using testing::Messages;
using testing::must_read;
using testing::random_trace;
using testing::tag_of;
using testing::TemporaryFolder;

Result<Messages> all_of(RankReader reader) {
  Messages messages;
  CHAKRA_ASSIGN(messages.emplace_back(), reader.metadata());
  schema::NodeRecord record;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, reader.next(record));
    if (!more) return messages;
    messages.push_back(encode(record));
  }
}

using Job = std::map<int64_t, Messages>;

/// Rename some values of a message as rank `rank` of one program would: equal values become equal values.
template <class Message>
std::string renamed(const std::string& bytes, int64_t rank, uint64_t salt) {
  Message message;
  const google::protobuf::LogSilencer quiet;
  if (!message.ParseFromString(bytes)) return bytes;
  for (auto& attr : *message.mutable_attr()) {
    const uint64_t place = std::hash<std::string>()(attr.name()) ^ salt;
    if (place % 3 != 0) continue;
    if (attr.has_string_val()) attr.mutable_string_val()->append(fmt::format(".{}", rank % 3));
    if (attr.has_int64_val() && attr.int64_val() < 1000) attr.set_int64_val(attr.int64_val() + rank);
    if (attr.has_uint32_val() && place % 2 == 0) attr.set_uint32_val(attr.uint32_val() / 2 + 1);  // of two values, one
  }
  return message.SerializeAsString();
}

Messages renamed(Messages messages, int64_t rank, uint64_t salt) {
  messages[0] = renamed<ChakraProtoMsg::GlobalMetadata>(messages[0], rank, salt);
  for (size_t i = 1; i < messages.size(); ++i) messages[i] = renamed<ChakraProtoMsg::Node>(messages[i], rank, salt);
  return messages;
}

/// Ranks that are like one another, but for what `random` changes.
Job random_job(Prng& random, uint64_t most_ranks, uint64_t most_nodes) {
  Job job;
  Messages last = random_trace(random, most_nodes);
  const bool one_program = random.chance(0.5);
  const uint64_t salt = random.next();
  for (uint64_t r = 1 + random.below(most_ranks); r > 0; --r) {
    if (random.chance(0.2)) last = random_trace(random, most_nodes);
    const auto rank = static_cast<int64_t>(random.below(1000));
    if (one_program) {
      job[rank] = renamed(last, rank, salt);
      continue;
    }
    for (uint64_t change = random.below(4); change > 0 && last.size() > 1; --change) {
      ChakraProtoMsg::Node node;
      const google::protobuf::LogSilencer quiet;
      fill(node, random, 0.05);
      std::string& message = last[1 + random.below(last.size() - 1)];
      switch (random.below(3)) {
        case 0: message = node.SerializeAsString(); break;
        case 1: last.push_back(node.SerializeAsString()); break;
        default: last.pop_back();
      }
    }
    job[rank] = last;
  }
  return job;
}

Result<RankWriter> written(const Packer& packer, const Messages& messages) {
  RankWriter writer = packer.begin_rank(messages[0]);
  schema::NodeRecord record;
  for (size_t i = 1; i < messages.size(); ++i) {
    CHAKRA_TRY(decode(messages[i], record));
    CHAKRA_TRY(writer.node(record));
  }
  return writer;
}

Result<void> try_add(Packer& packer, int64_t rank, const Messages& messages) {
  CHAKRA_ASSIGN(RankWriter writer, written(packer, messages));
  return packer.add(std::move(writer), rank, "memory");
}

void add(Packer& packer, int64_t rank, const Messages& messages) {
  const auto added = try_add(packer, rank, messages);
  ASSERT_TRUE(added) << added.error().message();
}

void pack(const std::string& path, const Job& job, int64_t group) {
  auto packer = Packer::create(path, group);
  ASSERT_TRUE(packer);
  for (const auto& [rank, messages] : job) add(*packer, rank, messages);
  ASSERT_TRUE(packer->finish());
}

TEST(Container, GivesBackAThousandRandomJobs) {
  TemporaryFolder folder;
  Prng random(4);
  const std::string path = folder.path("job.chakra");
  for (int round = 0; round < 1000; ++round) {
    const Job job = random_job(random, 6, 12);
    const auto group = static_cast<int64_t>(1 + random.below(8));
    if (random.chance(0.5)) {
      pack(path, job, group);
    } else {  // some of them later
      const auto half = std::next(job.begin(), static_cast<std::ptrdiff_t>(random.below(job.size() + 1)));
      pack(path, Job(job.begin(), half), group);
      const std::string before = must_read(path);
      auto packer = Packer::append(path);
      ASSERT_TRUE(packer) << packer.error().message();
      for (auto it = half; it != job.end(); ++it) add(*packer, it->first, it->second);
      ASSERT_TRUE(packer->finish());
      ASSERT_TRUE(must_read(path).starts_with(before));
    }
    auto container = Container::open(path);
    ASSERT_TRUE(container) << container.error().message();
    ASSERT_EQ((*container)->ranks().size(), job.size());
    for (const auto& [rank, messages] : job) {
      auto source = (*container)->open_rank(rank);
      ASSERT_TRUE(source) << source.error().message();
      const auto read = all_of(std::move(*source));
      ASSERT_TRUE(read) << read.error().message();
      ASSERT_EQ(*read, messages) << "round " << round << " rank " << rank;
      const auto nodes = static_cast<int64_t>(messages.size()) - 1;
      const int64_t first = random.between(0, nodes), count = random.between(0, nodes);
      const auto window = all_of(*(*container)->open_rank(rank, first, count));
      ASSERT_TRUE(window);
      const int64_t end = std::min(nodes, first + count);
      Messages wanted{messages[0]};
      wanted.insert(wanted.end(), messages.begin() + 1 + first, messages.begin() + 1 + end);
      ASSERT_EQ(*window, wanted);
    }
  }
}

Messages regular_trace(int64_t rank, int changed = -1) {
  Messages messages;
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  messages.push_back(metadata.SerializeAsString());
  Prng random(5);
  for (int n = 0; n < 3000; ++n) {
    ChakraProtoMsg::Node node;
    node.set_id(static_cast<uint64_t>(n) + 1);
    node.set_name(fmt::format("layer{}.op{}", n / 20, n % 20));
    node.set_type(ChakraProtoMsg::COMP_NODE);
    if (n > 0) node.add_data_deps(static_cast<uint64_t>(n));
    node.set_duration_micros(random.below(100'000));
    auto* attr = node.add_attr();
    attr->set_name("size");
    const auto size = static_cast<int64_t>(random.below(1'000'000));
    attr->set_int64_val(n == changed ? rank : size);
    messages.push_back(node.SerializeAsString());
  }
  return messages;
}

TEST(Container, ARankThatDiffersInOneAttributeCostsLittle) {
  TemporaryFolder folder;
  Job job{{0, regular_trace(0)}};
  pack(folder.path("one"), job, Packer::kGroupNodes);
  for (int64_t rank = 1; rank <= 100; ++rank) job[rank] = regular_trace(rank, static_cast<int>(rank * 29));
  pack(folder.path("all"), job, Packer::kGroupNodes);
  const auto one = std::filesystem::file_size(folder.path("one")), all = std::filesystem::file_size(folder.path("all"));
  EXPECT_LT((all - one) / 100, 200u);
  const auto read = all_of(*(*Container::open(folder.path("all")))->open_rank(77));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, job[77]);
}

/// A step of training on 8 x 8 ranks: groups, peers and places differ from rank to rank.
/// The node with index `exception` is in another group than the other nodes.
Messages program_of(int64_t rank, int exception = -1) {
  ChakraProtoMsg::GlobalMetadata metadata;
  std::string ranks_of_groups[2];
  for (int64_t i = 0; i < 8; ++i) {
    ranks_of_groups[0] += fmt::format("{}{}", i ? "," : "", rank / 8 * 8 + i);
    ranks_of_groups[1] += fmt::format("{}{}", i ? "," : "", i * 8 + rank % 8);
  }
  const auto attr = [](auto& message, const char* name) {
    auto* const added = message.add_attr();
    added->set_name(name);
    return added;
  };
  attr(metadata, "rank")->set_int64_val(rank);
  attr(metadata, "process_groups")
      ->set_string_val(fmt::format(R"([{{"pg_name":"tp{}","ranks":[{}]}},{{"pg_name":"dp{}","ranks":[{}]}}])", rank / 8,
                                   ranks_of_groups[0], rank % 8, ranks_of_groups[1]));
  Messages messages{metadata.SerializeAsString()};
  Prng random(7);
  for (int n = 0; n < 3000; ++n) {
    ChakraProtoMsg::Node node;
    node.set_id(static_cast<uint64_t>(n) + 1);
    node.set_name(fmt::format("layer{}.op{}", n / 20, n % 20));
    node.set_duration_micros(random.below(100'000));
    if (n % 3 == 0) attr(node, "pg_name")->set_string_val(n == exception ? "tp9" : fmt::format("tp{}", rank / 8));
    if (n % 20 == 5) attr(node, "pg_name")->set_string_val(fmt::format("dp{}", rank % 8));
    if (n % 50 == 7) attr(node, "comm_dst")->set_int64_val((rank + n % 4 * 8) % 64);
    messages.push_back(node.SerializeAsString());
  }
  return messages;
}

/// Pack the ranks of `job` one by one; return the bytes that ranks 1 and later cost on average, and read them all.
double cost_of_a_rank(const Job& job) {
  TemporaryFolder folder;
  pack(folder.path("one"), {*job.begin()}, Packer::kGroupNodes);
  pack(folder.path("all"), job, Packer::kGroupNodes);
  const auto container = Container::open(folder.path("all"));
  EXPECT_TRUE(container);
  for (const auto& [rank, messages] : job) {
    const auto read = all_of(*(*container)->open_rank(rank));
    EXPECT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, messages) << rank;
  }
  return static_cast<double>(std::filesystem::file_size(folder.path("all")) -
                             std::filesystem::file_size(folder.path("one"))) /
         static_cast<double>(job.size() - 1);
}

TEST(Container, AFurtherRankOfAProgramCostsAtMost64Bytes) {
  Job equal, program, exceptions;
  for (int64_t rank = 0; rank < 64; ++rank)
    equal[rank] = regular_trace(0), program[rank] = program_of(rank),
    exceptions[rank] = program_of(rank, static_cast<int>(rank * 6));
  EXPECT_LE(cost_of_a_rank(equal), 32);
  EXPECT_LE(cost_of_a_rank(program), 64);
  EXPECT_LE(cost_of_a_rank(exceptions), 1500);
}

TEST(Container, RepeatsARank) {
  TemporaryFolder folder;
  const std::string path = folder.path("job");
  auto packer = Packer::create(path, 64);
  ASSERT_TRUE(packer);
  add(*packer, 5, regular_trace(0));
  add(*packer, 6, regular_trace(1, 7));  // a difference from rank 5
  const std::string metadata = regular_trace(0)[0], other = program_of(2)[0];
  EXPECT_TRUE(packer->repeat_rank(2, 5, metadata, "memory").value());
  EXPECT_TRUE(packer->repeat_rank(7, 5, other, "memory").value());
  EXPECT_FALSE(packer->repeat_rank(3, 4, metadata, "memory").value());
  EXPECT_EQ(tag_of(packer->repeat_rank(6, 5, metadata, "memory")), "io.container.rank_twice");
  add(*packer, 20, program_of(20));
  add(*packer, 21, program_of(21));  // other values
  EXPECT_TRUE(packer->repeat_rank(22, 21, metadata, "memory").value());
  add(*packer, 23, program_of(23, 30));  // with columns of its own
  EXPECT_FALSE(packer->repeat_rank(3, 23, metadata, "memory").value());
  ASSERT_TRUE(packer->finish());
  const auto container = Container::open(path);
  ASSERT_TRUE(container);
  EXPECT_EQ((*container)->ranks(), (std::vector<int64_t>{2, 5, 6, 7, 20, 21, 22, 23}));
  EXPECT_EQ(*all_of(*(*container)->open_rank(2)), regular_trace(0));
  for (const auto& [rank, equal] : {std::pair(2, true), {5, true}, {6, false}, {7, false}})
    EXPECT_EQ((*container)->info(rank)->equal, equal) << rank;
  Messages expected = regular_trace(0);
  expected[0] = other;
  EXPECT_EQ(*all_of(*(*container)->open_rank(7)), expected);
  expected = program_of(21);
  expected[0] = metadata;
  EXPECT_EQ(*all_of(*(*container)->open_rank(22)), expected);
}

/// The bytes of a container whose ranks are written side by side, `together` at once.
std::string packed_together(const Job& job, size_t together) {
  TemporaryFolder folder;
  auto packer = Packer::create(folder.path("job"), 7);
  EXPECT_TRUE(packer);
  for (auto next = job.begin(); next != job.end();) {
    const auto first = next;
    std::vector<std::optional<RankWriter>> writers(
        std::min(together, static_cast<size_t>(std::distance(next, job.end()))));
    std::vector<std::thread> threads;
    for (std::optional<RankWriter>& writer : writers)
      threads.emplace_back([&writer, &packer, &messages = (next++)->second] {
        auto filled = written(*packer, messages);
        if (filled) writer.emplace(std::move(*filled));
      });
    for (std::thread& thread : threads) thread.join();
    for (auto [rank, writer] = std::pair(first, writers.begin()); rank != next; ++rank, ++writer)
      EXPECT_TRUE(packer->add(std::move(writer->value()), rank->first, "memory"));
  }
  EXPECT_TRUE(packer->finish());
  return must_read(folder.path("job"));
}

TEST(Container, BytesDoNotDependOnTheRanksThatAreWrittenTogether) {
  Prng random(8);
  for (int round = 0; round < 100; ++round) {
    Job job = random_job(random, 6, 30);
    for (int64_t rank = 2000; rank < 2003; ++rank) job[rank] = random_trace(random, 20);
    const std::string one_by_one = packed_together(job, 1);
    ASSERT_EQ(packed_together(job, 3), one_by_one) << round;
    ASSERT_EQ(packed_together(job, job.size()), one_by_one) << round;
  }
}

TEST(Container, AddedRanksOfAProgramCostTheSame) {
  TemporaryFolder folder;
  pack(folder.path("job"), {{0, program_of(0)}}, Packer::kGroupNodes);
  const auto before = std::filesystem::file_size(folder.path("job"));
  auto packer = Packer::append(folder.path("job"));
  ASSERT_TRUE(packer);
  for (int64_t rank = 1; rank < 64; ++rank) add(*packer, rank, program_of(rank));
  ASSERT_TRUE(packer->finish());
  EXPECT_LE(std::filesystem::file_size(folder.path("job")) - before, 64u * 63u + 500u);  // with another directory
  const auto read = all_of(*(*Container::open(folder.path("job")))->open_rank(42));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, program_of(42));
}

/// Two ranks of two nodes, in groups tp0 and tp1, by the packer of version 1.
std::string container_of_version_1() {
  constexpr std::string_view kHex =
      "4348414b52414a420100000020567f8b000a05302e302e3412080a0472616e6b480000020101010102010202028001080001"
      "01020228020400000004000000028001100a0501010101010101010112c636c2371a3173422b0ab25816000a05302e302e34"
      "12080a0472616e6b48010001020002010280015c010712c5b5a9c50305b4026d3a690ea40128b52ffd000065030082851418"
      "607903613214f5bf984c113745011f47628c1109609952a61b49ee8512e871a4c2bd8ce44e7838864532b11907dba78e726d"
      "d64a8b3dfce935ab0cd8c03f6b9bffd8142cd044e31f59cd3d5aa1b02dc50e09000004c4058151027f2973557631015bd5b6"
      "4c84d2030002007820002a1701880176a6a0dff9000ffe000000000000001200000000000000c5b9701a3801000000000000"
      "fe85d0a44348414b52414a45";
  std::string bytes;
  for (size_t i = 0; i < kHex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST(Container, OpensAndExtendsVersion1) {
  TemporaryFolder folder;
  const std::string path = folder.path("job");
  const std::string before = container_of_version_1();
  folder.write("job", before);
  auto packer = Packer::append(path);
  ASSERT_TRUE(packer) << packer.error().message();
  add(*packer, 2, program_of(2));
  add(*packer, 3, program_of(3));
  ASSERT_TRUE(packer->finish());
  ASSERT_TRUE(must_read(path).starts_with(before));
  const auto container = Container::open(path);
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_EQ((*container)->ranks(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(*all_of(*(*container)->open_rank(3)), program_of(3));
  for (const int64_t rank : {0, 1}) {
    const auto read = all_of(*(*container)->open_rank(rank));
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(read->size(), 3u);
    ChakraProtoMsg::Node node;
    ASSERT_TRUE(node.ParseFromString((*read)[2]));
    EXPECT_EQ(node.name(), "layer0.all_reduce");
    ASSERT_EQ(node.attr_size(), 2);
    EXPECT_EQ(node.attr(1).string_val(), fmt::format("tp{}", rank));
  }
}

TEST(Container, EveryChangedByteIsFoundAndNamed) {
  TemporaryFolder folder;
  Prng random(6);
  Job job;
  Messages messages;
  while (messages.size() < 20) messages = random_trace(random, 30);
  for (int64_t rank = 0; rank < 3; ++rank) {
    messages[5 + static_cast<size_t>(rank)] = messages[12];
    job[rank] = messages;
  }
  for (int64_t rank = 3; rank < 6; ++rank) {
    Messages program = program_of(rank);
    program.resize(20);
    job[rank] = program;
  }
  pack(folder.path("job"), job, 8);
  const std::string bytes = must_read(folder.path("job"));
  size_t named = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= static_cast<char>(1 << at % 8);
    folder.write("changed", changed);
    const auto container = Container::open(folder.path("changed"));
    const auto whole = container ? (*container)->verify() : Result<void>(Failure(container.error()));
    ASSERT_FALSE(whole) << at;
    EXPECT_TRUE(whole.error().tag.starts_with("io.container.")) << whole.error().message();
    EXPECT_EQ(whole.error().place.file, folder.path("changed"));
    named += contains(whole.error().text, "rank ");
  }
  EXPECT_GT(named, bytes.size() / 2);
  for (size_t size = 0; size < bytes.size(); ++size) {
    folder.write("cut", std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(Container::open(folder.path("cut"))) << size;
  }
}

TEST(Container, AddingNeedsFinish) {
  TemporaryFolder folder;
  const Job job{{0, regular_trace(0)}};
  const std::string path = folder.path("job");
  pack(path, job, 64);
  const std::string before = must_read(path);
  {
    auto packer = Packer::append(path);
    ASSERT_TRUE(packer);
    add(*packer, 1, regular_trace(1, 5));
  }
  EXPECT_EQ(must_read(path), before);
  auto packer = Packer::append(path);
  ASSERT_TRUE(packer);
  EXPECT_EQ(tag_of(try_add(*packer, 0, job.at(0))), "io.container.rank_twice");
}

/// Packs one job, adds another; the bytes before and after.
std::pair<std::string, std::string> added_to(const TemporaryFolder& folder) {
  const std::string path = folder.path("job");
  const auto some = [](int64_t rank, size_t nodes) {
    Messages messages = regular_trace(rank, static_cast<int>(rank));
    messages.resize(nodes + 1);
    return messages;
  };
  pack(path, {{0, some(0, 9)}}, 4);
  const std::string before = must_read(path);
  auto packer = Packer::append(path);
  EXPECT_TRUE(packer);
  add(*packer, 1, some(1, 7));
  add(*packer, 2, some(2, 11));
  EXPECT_TRUE(packer->finish());
  return {before, must_read(path)};
}

TEST(Container, IsRepairedWhereverAddingWasCut) {
  TemporaryFolder folder;
  const auto [before, after] = added_to(folder);
  ASSERT_TRUE(after.starts_with(before));
  const std::string path = folder.path("cut");
  for (size_t size = before.size(); size <= after.size(); ++size)
    for (const bool zeros : {false, true}) {  // zeros: a disk that was told of the size before it had the bytes
      std::string image = after.substr(0, size);
      if (zeros) image.resize(after.size());
      folder.write("cut", image);
      const bool whole = image == before || image == after;
      EXPECT_EQ(Container::open(path).has_value(), whole) << size;
      const auto repaired = repair_container(path);
      ASSERT_TRUE(repaired) << size << repaired.error().message();
      const std::string& expected = image == after ? after : before;
      EXPECT_EQ(repaired->cut, static_cast<int64_t>(image.size() - expected.size()));
      EXPECT_EQ(repaired->ranks, image == after ? 3 : 1);
      ASSERT_EQ(must_read(path), expected) << size;
    }
}

TEST(Container, RepairLeavesWhatItCannotMend) {
  TemporaryFolder folder;
  const auto [before, after] = added_to(folder);
  std::string damaged = after;
  damaged[before.size() + 3] ^= 1;  // a block: its ranks are not worth the loss of the later ones
  for (const std::string& image :
       {before.substr(0, before.size() - 1), after.substr(0, 20), std::string("CHAKRAJE"), std::string(), damaged}) {
    folder.write("cut", image);
    EXPECT_FALSE(repair_container(folder.path("cut")));
    EXPECT_EQ(must_read(folder.path("cut")), image);
  }
}

TEST(Container, TwoAddOneAfterTheOther) {
  TemporaryFolder folder;
  const std::string path = folder.path("job");
  pack(path, {{0, regular_trace(0)}}, 64);
  auto first = Packer::append(path);
  ASSERT_TRUE(first);
  std::thread second([&] {
    auto packer = Packer::append(path);
    ASSERT_TRUE(packer);
    add(*packer, 2, regular_trace(2));
    ASSERT_TRUE(packer->finish());
  });
  add(*first, 1, regular_trace(1));
  EXPECT_TRUE(first->finish());
  { const auto release = std::move(first); }
  second.join();
  const auto container = Container::open(path);
  ASSERT_TRUE(container);
  EXPECT_EQ((*container)->ranks(), (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace chakra::pack
