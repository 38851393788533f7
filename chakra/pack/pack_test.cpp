// The container gives back what went in, byte for byte; what is cut or changed is an error.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
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

/// Ranks that are like one another, but for what `random` changes.
Job random_job(Prng& random, uint64_t most_ranks, uint64_t most_nodes) {
  Job job;
  Messages last = random_trace(random, most_nodes);
  for (uint64_t r = 1 + random.below(most_ranks); r > 0; --r) {
    if (random.chance(0.2)) last = random_trace(random, most_nodes);
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
    job[static_cast<int64_t>(random.below(1000))] = last;
  }
  return job;
}

Result<void> try_add(Packer& packer, int64_t rank, const Messages& messages) {
  packer.begin_rank(messages[0]);
  schema::NodeRecord record;
  for (size_t i = 1; i < messages.size(); ++i) {
    CHAKRA_TRY(decode(messages[i], record));
    CHAKRA_TRY(packer.node(record));
  }
  return packer.end_rank(rank, "memory");
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
