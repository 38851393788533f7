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
  explicit Program(Prng& random, bool long_texts = false) {
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
      if (long_texts && random.chance(0.03)) attr(node, "note")->set_string_val(std::string(300'000, 'x'));
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

/// The file of a rank, of runs of messages and, between them, of single ones.
std::string file_by_runs(RecordSource& source, Prng& random) {
  std::string_view run;
  Messages single(1);
  EXPECT_TRUE(source.next(run).value());
  single[0] = run;
  std::string file = file_of(single);
  for (;;) {
    const Result<int64_t> nodes = source.next_run(run);
    EXPECT_TRUE(nodes);
    file += run;
    if (*nodes > 0 && random.chance(0.5)) continue;
    if (!source.next(run).value()) return file;
    single[0] = run;
    file += file_of(single);
  }
}

/// Pack a job and compare each rank with its file. Return how many ranks share columns with the rank before.
size_t expect_as_files(const std::map<int64_t, Messages>& job, int64_t group) {
  TemporaryFolder folder;
  const std::string path = folder.path("job.chakra");
  pack(path, job, group);
  const auto files = find_ranks(path);
  EXPECT_TRUE(files) << files.error().message();
  size_t shared = 0;
  for (const bool texts : {false, true}) {
    RankTraces traces(*files, {.texts = texts});
    trace::TraceSet read;
    for (size_t i = 0; i < files->size(); ++i) {
      const std::string file = file_of(job.at((*files)[i].rank));
      auto expected = read_et(*ByteSource::from_memory(file), {.texts = texts});
      EXPECT_TRUE(expected);
      if (!expected->says_rank) expected->rank = (*files)[i].rank;
      auto trace = traces.read(i);
      EXPECT_TRUE(trace) << trace.error().message();
      expect_equal(*trace, *expected);
      read.ranks.push_back(std::move(*trace));
      shared += i > 0 && read.ranks[i].type.shares_with(read.ranks[i - 1].type);
    }
  }
  RankRecords records(*files);
  for (size_t i = 0; i < files->size(); ++i) {
    const auto source = records.open(i);
    EXPECT_TRUE(source);
    std::string_view message;
    for (const std::string& expected : job.at((*files)[i].rank)) {
      EXPECT_TRUE((*source)->next(message).value());
      EXPECT_EQ(message, expected);
    }
    EXPECT_FALSE((*source)->next(message).value());
  }
  RankRecords by_runs(*files);
  Prng random(5);
  for (size_t i = 0; i < files->size(); ++i)
    EXPECT_EQ(file_by_runs(**by_runs.open(i), random), file_of(job.at((*files)[i].rank)));
  return shared;
}

TEST(Containers, RanksOfOneProgramAreThoseOfTheirFiles) {
  Prng random(11);
  size_t shared = 0;
  for (int round = 0; round < 150; ++round) {
    const Program program(random, true);
    std::map<int64_t, Messages> job;
    for (uint64_t left = 1 + random.below(8); left > 0; --left) {
      const auto rank = static_cast<int64_t>(random.below(10));
      job[rank] = program.rank(rank);
    }
    shared += expect_as_files(job, static_cast<int64_t>(1 + random.below(16)));
  }
  EXPECT_GT(shared, 300u);
}

/// Ranks 0 and 1 of three communications and of a computation; `change` adds to the metadata and to node `n`.
template <class Change>
size_t shared_if(const Change& change) {
  std::map<int64_t, Messages> job;
  for (const int64_t rank : {0, 1}) {
    ChakraProtoMsg::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    std::vector<ChakraProtoMsg::Node> nodes(4);
    for (size_t n = 0; n < nodes.size(); ++n) {
      nodes[n].set_id(n + 1);
      nodes[n].set_name(fmt::format("name of node {}", n));
      nodes[n].set_type(n < 3 ? ChakraProtoMsg::COMM_COLL_NODE : ChakraProtoMsg::COMP_NODE);
      nodes[n].set_duration_micros(100 + 7 * n);
    }
    change(rank, metadata, nodes);
    job[rank] = {metadata.SerializeAsString()};
    for (const ChakraProtoMsg::Node& node : nodes) job[rank].push_back(node.SerializeAsString());
  }
  return expect_as_files(job, 8);
}

TEST(Containers, SharesNoNodesWhereAValueMeansTwoThings) {
  using Metadata = ChakraProtoMsg::GlobalMetadata;
  using Nodes = std::vector<ChakraProtoMsg::Node>;
  const auto add = [](auto& message, const char* name) {
    auto* const attr = message.add_attr();
    attr->set_name(name);
    return attr;
  };
  const auto group = [&](auto& node, const std::string& name) { add(node, "pg_name")->set_string_val(name); };
  const auto text = [](int64_t rank) { return fmt::format("group {}", rank); };
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {
              group(nodes[0], text(rank));
              group(nodes[1], text(rank + 5));
              add(nodes[2], "comm_dst")->set_int64_val(rank);
            }),
            2u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // groups change places
              group(nodes[0], text(rank));
              group(nodes[1], text(1 - rank));
            }),
            2u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // -1 is also that of node 1
              add(nodes[0], "comm_src")->set_int64_val(rank - 1);
              add(nodes[1], "comm_dst")->set_int64_val(3);
            }),
            0u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // 5 as a number stays
              group(nodes[0], fmt::format("{}", 5 + rank));
              add(nodes[1], "pg_name")->set_int64_val(5);
            }),
            0u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // the name of a node stays
              group(nodes[0], rank == 0 ? "name of node 1" : "other");
            }),
            0u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // two groups become one
              group(nodes[0], rank == 0 ? "a" : "c");
              group(nodes[1], rank == 0 ? "b" : "c");
            }),
            0u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // no communication: kept as text
              group(nodes[3], text(rank));
            }),
            1u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata&, Nodes& nodes) {  // in another column
              add(nodes[0], "comm_size")->set_int64_val(1000 + rank);
            }),
            0u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata& metadata, Nodes&) {  // names of metadata are strings of the trace
              add(metadata, rank == 0 ? "one" : "two")->set_string_val("value");
            }),
            0u);
  EXPECT_EQ(shared_if([&](int64_t rank, Metadata& metadata, Nodes& nodes) {  // of nodes without a pid
              add(metadata, "pid")->set_int64_val(rank);
              add(nodes[3], "tid")->set_int64_val(1);
            }),
            0u);
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
