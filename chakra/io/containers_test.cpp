// Ranks of a container that share nodes read as each rank by itself, and as its file.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/schema/testing/random_trace.h"
#include "chakra/trace/share.h"

namespace chakra::io {
namespace {

using testing::file_of;
using testing::Messages;
using testing::must_read;
using testing::TemporaryFolder;

/// A program whose ranks differ in groups, peers and numbers, now and then also in ways that need an own trace.
class Program {
 public:
  explicit Program(Prng& random) {
    const uint64_t count = 1 + random.below(40);
    for (uint64_t n = 0; n < count; ++n) {
      ChakraProtoMsg::Node& node = nodes_.emplace_back();
      node.set_id(n + 1);
      node.set_name(fmt::format("layer{}.op{}", n / 4, n % 4));
      if (random.chance(0.05)) node.set_name("0");  // also the name of a group
      if (n > 0) node.add_data_deps(1 + random.below(n));
      node.set_duration_micros(random.below(1000));
      node.set_type(random.chance(0.5) ? ChakraProtoMsg::COMM_COLL_NODE : ChakraProtoMsg::COMP_NODE);
      if (random.chance(0.1)) node.set_type(ChakraProtoMsg::COMM_SEND_NODE);
    }
    groups_are_numbers_ = random.chance(0.3);
    odd_ = random.chance(0.3);
    swap_ = random.chance(0.2);
  }

  Messages rank(int64_t rank) const {
    ChakraProtoMsg::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    if (rank != 9) attr(metadata, "rank")->set_int64_val(rank);
    if (odd_ && rank == 4) attr(metadata, "one more")->set_string_val("text");
    attr(metadata, "process_groups")->set_string_val(fmt::format(R"([{{"pg_name":"{}","ranks":[{}]}}])", rank, rank));
    Messages messages{metadata.SerializeAsString()};
    for (size_t n = 0; n < nodes_.size(); ++n) {
      ChakraProtoMsg::Node node = nodes_[n];
      const bool comm = node.type() >= ChakraProtoMsg::COMM_SEND_NODE;
      if (comm || (odd_ && n % 7 == 0)) add_group(node, n, rank);
      if (comm && n % 3 == 0) attr(node, "comm_dst")->set_int32_val(static_cast<int32_t>((rank + n % 2) % 8));
      if (comm && n % 4 == 0) attr(node, "comm_tag")->set_uint64_val(static_cast<uint64_t>(rank * 5));
      if (comm && n % 5 == 0) attr(node, "comm_size")->set_int64_val(1 << 20);
      if (odd_ && n == 3) attr(node, "comm_src")->set_int64_val(rank - 3);  // -1 is also that of no attribute
      if (odd_ && n == 5) attr(node, "other")->set_string_val(fmt::format("{}", rank));
      if (odd_ && n == 6 && rank % 3 == 1) node.set_name("another");
      messages.push_back(node.SerializeAsString());
    }
    return messages;
  }

 private:
  template <class Message>
  static ChakraProtoMsg::AttributeProto* attr(Message& message, const char* name) {
    auto* const added = message.add_attr();
    added->set_name(name);
    return added;
  }
  void add_group(ChakraProtoMsg::Node& node, size_t n, int64_t rank) const {
    const int64_t number = swap_ && n % 2 == 0 ? 7 - rank : rank;
    auto* const group = attr(node, "pg_name");
    if (groups_are_numbers_) group->set_int64_val(number);
    else group->set_string_val(fmt::format("{}{}", n % 2 ? "tp" : "dp", number));
    if (odd_ && n == 2) attr(node, "pg_name")->set_int32_val(5);  // twice, with another member
  }

  std::vector<ChakraProtoMsg::Node> nodes_;
  bool groups_are_numbers_ = false, odd_ = false, swap_ = false;
};

void pack(const std::string& path, const std::map<int64_t, Messages>& job, int64_t group) {
  auto packer = pack::Packer::create(path, group);
  ASSERT_TRUE(packer);
  NodeRecord record;
  for (const auto& [rank, messages] : job) {
    pack::RankWriter writer = packer->begin_rank(messages[0]);
    for (size_t i = 1; i < messages.size(); ++i) {
      ASSERT_TRUE(decode(messages[i], record));
      ASSERT_TRUE(writer.node(record));
    }
    ASSERT_TRUE(packer->add(std::move(writer), rank, "memory"));
  }
  ASSERT_TRUE(packer->finish());
}

void expect_equal(const trace::Trace& a, const trace::Trace& b) {
  ASSERT_EQ(to_et(a), to_et(b));
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.says_rank, b.says_rank);
  EXPECT_EQ(a.defects, b.defects);
  ASSERT_EQ(a.strings.size(), b.strings.size());
  for (StringId id = 0; id < a.strings.size(); ++id) {
    EXPECT_EQ(a.strings[id], b.strings[id]) << id;
    EXPECT_EQ(a.strings.find(b.strings[id]), id);
  }
}

TEST(Containers, RanksOfOneProgramAreThoseOfTheirFiles) {
  TemporaryFolder folder;
  Prng random(11);
  size_t shared = 0;
  for (int round = 0; round < 150; ++round) {
    const Program program(random);
    std::map<int64_t, Messages> job;
    for (uint64_t left = 1 + random.below(8); left > 0; --left) {
      const auto rank = static_cast<int64_t>(random.below(10));
      job[rank] = program.rank(rank);
    }
    const std::string path = folder.path("job.chakra");
    pack(path, job, static_cast<int64_t>(1 + random.below(16)));
    const auto files = find_ranks(path);
    ASSERT_TRUE(files) << files.error().message();
    for (const bool texts : {false, true}) {
      RankTraces traces(*files, {.texts = texts});
      const trace::Trace* last = nullptr;
      std::vector<trace::Trace> kept;
      kept.reserve(files->size());
      for (size_t i = 0; i < files->size(); ++i) {
        const std::string file = file_of(job.at((*files)[i].rank));
        auto source = ByteSource::from_memory(file);
        auto expected = read_et(std::move(*source), {.texts = texts});
        ASSERT_TRUE(expected);
        if (!expected->says_rank) expected->rank = (*files)[i].rank;
        auto read = traces.read(i);
        ASSERT_TRUE(read) << read.error().message();
        expect_equal(*read, *expected);
        shared += last && last->type.shares_with(read->type);
        last = &kept.emplace_back(std::move(*read));
      }
    }
    RankRecords records(*files);
    for (size_t i = 0; i < files->size(); ++i) {
      const auto source = records.open(i);
      ASSERT_TRUE(source);
      std::string_view message;
      for (const std::string& expected : job.at((*files)[i].rank)) {
        ASSERT_TRUE((*source)->next(message).value());
        ASSERT_EQ(message, expected);
      }
      ASSERT_FALSE((*source)->next(message).value());
    }
  }
  EXPECT_GT(shared, 300u);
}

/// All ranks, each by `read`; the errors in the order of the ranks.
template <class Read>
std::string results(const std::vector<RankFile>& files, const Read& read) {
  std::string all;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto trace = read(i);
    all += trace ? to_et(*trace) : trace.error().message();
    all += '\n';
  }
  return all;
}

TEST(Containers, DamageIsReportedAsForEachRankByItself) {
  TemporaryFolder folder;
  Prng random(12);
  const Program program(random);
  std::map<int64_t, Messages> job;
  for (int64_t rank = 0; rank < 4; ++rank) job[rank] = program.rank(rank);
  const std::string path = folder.path("job.chakra"), changed = folder.path("changed");
  pack(path, job, 8);
  const std::string bytes = must_read(path);
  size_t damaged = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string image = bytes;
    image[at] ^= static_cast<char>(1 << at % 8);
    folder.write("changed", image);
    const auto files = find_ranks(changed);
    const auto again = find_ranks(changed);  // a container remembers
    if (!files || files->empty() || !(*files)[0].container) continue;
    ++damaged;
    RankTraces traces(*files, {});
    ASSERT_EQ(results(*files, [&](size_t i) { return traces.read(i); }),
              results(*again, [&](size_t i) { return read_rank((*again)[i]); }))
        << at;
    RankRecords records(*files);
    for (size_t i = 0; i < files->size(); ++i) {
      const auto one = [](Result<RecordSourcePtr> source) {
        std::string all;
        std::string_view message;
        while (source) {
          const auto more = (*source)->next(message);
          if (!more) return all + more.error().message();
          if (!*more) return all;
          all += message;
        }
        return all + source.error().message();
      };
      ASSERT_EQ(one(records.open(i)), one(open_records((*again)[i]))) << at;
    }
  }
  EXPECT_GT(damaged, bytes.size() / 2);
}

TEST(Containers, ThreadsShareWhatOneOfThemRead) {
  TemporaryFolder folder;
  Prng random(13);
  const Program program(random);
  std::map<int64_t, Messages> job;
  for (int64_t rank = 0; rank < 8; ++rank) job[rank] = program.rank(rank);
  pack(folder.path("job.chakra"), job, 8);
  for (int round = 0; round < 20; ++round) {
    const auto files = find_ranks(folder.path("job.chakra"));
    ASSERT_TRUE(files);
    RankTraces traces(*files, {});
    RankRecords records(*files);
    std::vector<std::thread> threads;
    std::vector<std::string> read(files->size());
    for (size_t i = 0; i < files->size(); ++i)
      threads.emplace_back([&, i] {
        read[i] = to_et(*traces.read(i));
        std::string_view message;
        for (const auto source = *records.open(i); *source->next(message);) {}
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < files->size(); ++i) EXPECT_EQ(read[i], to_et(*read_rank((*files)[i])));
  }
}

}  // namespace
}  // namespace chakra::io
