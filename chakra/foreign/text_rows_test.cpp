// SimAI's rows: groups as partitions of the ranks, times against SimAI's own formula of a pipeline, counts and bytes
// against sums over the columns of the text, and the way there and back.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/testing/testing.h"
#include "chakra/foreign/text.h"

namespace chakra::foreign {
namespace {

using testing::difference_of;
using testing::expect_prefixes_refused;
using testing::read_memory;
using testing::tag_of_memory;
using testing::write_memory;
using text_form::Over;
using text_form::RowMesh;
using trace::ClassJob;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr std::string_view kPolicy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";

Result<ClassJob> read_rows(const std::string& text, const Options& options = {}, Findings* findings = nullptr) {
  Findings ignored;
  auto source = ByteSource::from_memory(text, "sample.txt");
  auto job = read_job("text", std::move(*source), options, findings ? *findings : ignored);
  if (!job) return Failure(job.error());
  return std::get<ClassJob>(std::move(*job));
}

/// By slot and SimAI's word, from the nodes: how many, and the sum of their sizes as SimAI counts them.
using Sums = std::map<std::pair<std::string, std::string>, std::pair<int64_t, uint64_t>>;
Sums sums_of(const Trace& t, const RowMesh& mesh) {
  const std::map<CommType, std::string> words{{CommType::all_reduce, "ALLREDUCE"},
                                              {CommType::all_to_all, "ALLTOALL"},
                                              {CommType::all_gather, "ALLGATHER"},
                                              {CommType::reduce_scatter, "REDUCESCATTER"},
                                              {CommType::broadcast, "BROADCAST"}};
  const std::map<std::string, int64_t> sizes{
      {"tp", mesh.tp}, {"dp", mesh.dp()}, {"ep", mesh.ep}, {"edp", mesh.dp() / mesh.ep}};
  Sums sums;
  for (const NodeId n : t.nodes()) {
    if (t.type[n] != NodeType::coll) continue;
    const trace::Comm& comm = *t.comm(n);
    const std::string slot(t.strings[comm.group]);
    uint64_t bytes = comm.bytes;
    if (comm.type == CommType::all_gather)
      bytes = comm.out_bytes > 0 ? comm.out_bytes : bytes * static_cast<uint64_t>(sizes.at(slot));
    auto& [count, sum] = sums[{slot, words.at(comm.type)}];
    ++count;
    sum += bytes;
  }
  return sums;
}
/// The same from the columns of the text.
Sums sums_of(const std::string& text) {
  Sums sums;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::vector<std::string> columns;
    for (std::string word; words >> word;) columns.push_back(word);
    if (columns.empty()) continue;
    for (const size_t at : {size_t{3}, size_t{6}, size_t{9}}) {
      std::string word = columns[at], slot = at == 9 ? "dp" : "tp";
      if (word == "NONE") continue;
      if (const size_t ending = word.find("_DP_EP"); ending != std::string::npos) {
        slot = "edp";
        word.resize(ending);
      } else if (const size_t expert = word.find("_EP"); expert != std::string::npos) {
        slot = "ep";
        word.resize(expert);
      }
      auto& [count, sum] = sums[{slot, word}];
      ++count;
      sum += std::stoull(columns[at + 1]);
    }
  }
  return sums;
}

TEST(Rows, GroupsPartitionTheRanks) {
  Prng prng(1);
  for (int i = 0; i < 200; ++i) {
    RowMesh mesh{1, prng.between(1, 4), prng.between(1, 3), prng.between(1, 3)};
    mesh.ranks = mesh.tp * mesh.ep * mesh.pp * prng.between(1, 3);
    ASSERT_TRUE(mesh.divides());
    const std::map<Over, int64_t> sizes{
        {Over::tp, mesh.tp}, {Over::dp, mesh.dp()}, {Over::ep, mesh.ep}, {Over::edp, mesh.dp() / mesh.ep}};
    for (const auto& [over, size] : sizes) {
      std::map<int64_t, std::vector<int64_t>> groups;
      for (int64_t rank = 0; rank < mesh.ranks; ++rank) groups[mesh.group(over, rank)].push_back(rank);
      EXPECT_EQ(static_cast<int64_t>(groups.size()), mesh.ranks / size);
      EXPECT_EQ(groups.begin()->first, 0);
      EXPECT_EQ(groups.rbegin()->first + 1, mesh.ranks / size);
      for (const auto& [number, ranks] : groups) {
        EXPECT_EQ(mesh.members(over, ranks[0]), ranks);
        for (const int64_t rank : ranks) EXPECT_EQ(rank / mesh.stage_ranks(), ranks[0] / mesh.stage_ranks());
      }
    }
    for (int64_t rank = 0; rank < mesh.ranks; ++rank) {  // experts and the copies of one are those with other data
      std::set<int64_t> data;
      for (const int64_t expert : mesh.members(Over::ep, rank))
        for (const int64_t copy : mesh.members(Over::edp, expert)) data.insert(copy);
      const auto members = mesh.members(Over::dp, rank);
      EXPECT_EQ(data, std::set<int64_t>(members.begin(), members.end()));
    }
  }
}

struct Sample {
  std::string text;
  RowMesh mesh;
  int64_t vpp = 1, ga = 1;
  int64_t forward_ns = 0, backward_ns = 0;  ///< of a chunk
  int64_t outside_ns = 0;                   ///< of rows outside the micro-batches
};

/// Micro-batches of equal chunks; unless `equal`, with rows of a step before and after.
Sample random_rows(Prng& prng, int64_t pp, bool equal) {
  Sample s;
  s.mesh = {1, prng.between(1, 3), prng.between(1, 3), pp};
  s.mesh.ranks = s.mesh.tp * s.mesh.ep * pp * prng.between(1, 3);
  s.vpp = prng.between(1, 3);
  s.ga = pp * prng.between(1, 3);
  std::string rows;
  int64_t count = 0;
  const auto cell = [&](int64_t ns, bool weights) {
    constexpr std::array<std::string_view, 4> kinds{"ALLREDUCE", "ALLTOALL", "ALLGATHER", "REDUCESCATTER"};
    constexpr std::array<std::string_view, 3> endings{"", "_EP", "_DP_EP"};
    if (prng.chance(weights ? 0.7 : 0.4)) return fmt::format("\t{}\tNONE\t0", ns);
    return fmt::format("\t{}\t{}{}\t{}", ns, kinds[prng.below(4)], endings[prng.below(3)], prng.between(0, 1 << 20));
  };
  const auto add = [&](const std::string& name, std::array<int64_t, 3> ns) {
    rows += name + "\t-1" + cell(ns[0], false) + cell(ns[1], false) + cell(ns[2], true) + "\t100\n";
    ++count;
  };
  const auto random_times = [&] {
    return std::array<int64_t, 3>{prng.between(0, 99), prng.between(0, 99), prng.between(0, 99)};
  };
  const int64_t before = equal ? 0 : prng.between(0, 3), behind = equal ? 0 : prng.between(0, 3);
  const int64_t in_chunk = prng.between(1, 3);
  std::vector<std::array<int64_t, 3>> times;
  for (int64_t i = 0; i < in_chunk; ++i) times.push_back(random_times());
  for (const auto& ns : times) {
    s.forward_ns += ns[0];
    s.backward_ns += ns[1] + ns[2];
  }
  const auto outside = [&](const std::string& name) {
    const auto ns = random_times();
    s.outside_ns += ns[0] + ns[1] + ns[2];
    add(name, ns);
  };
  for (int64_t i = 0; i < before; ++i) outside("grad_norm");
  for (int64_t b = 0; b < s.ga; ++b) {
    if (!equal) outside("embedding_layer");
    for (int64_t c = 0; c < s.vpp; ++c)
      for (int64_t i = 0; i < in_chunk; ++i)
        add(fmt::format("part_{}_{}", c, std::string(1, "abc"[i])), times[static_cast<size_t>(i)]);
  }
  for (int64_t i = 0; i < behind; ++i) outside("optimizer");
  s.text = fmt::format(
      "{} model_parallel_NPU_group: {} ep: {} pp: {} vpp: {} ga: {} all_gpus: {} checkpoints: 0 "
      "checkpoint_initiates: 0 pp_comm: {}\n{}\n{}",
      kPolicy, s.mesh.tp, s.mesh.ep, pp, s.vpp, s.ga, s.mesh.ranks, pp > 1 ? 4096 : 0, count, rows);
  return s;
}

/// When the last node of each stage ends, with messages and collectives that take no time. A receive ends when the send
/// with its tag has, in the order of tags.
Picoseconds free_end(const ClassJob& job) {
  std::vector<std::vector<Picoseconds>> ends;
  for (const Trace& t : job.classes) ends.emplace_back(t.size(), -1);
  const auto first_rank = [&](size_t cls) {
    return *std::find_if(job.ranks.begin(), job.ranks.end(), [&](const auto& rank) { return rank.cls == cls; });
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t c = 0; c < job.classes.size(); ++c) {
      const Trace& t = job.classes[c];
      for (const NodeId n : t.nodes()) {
        Picoseconds start = 0;
        for (const NodeId on : t.deps.of(n)) start = ends[c][on] < 0 || start < 0 ? -1 : std::max(start, ends[c][on]);
        if (start < 0) continue;
        if (t.type[n] == NodeType::recv) {
          const auto rank = first_rank(c);
          const int64_t from = job.peer_of[rank.first_peer + static_cast<size_t>(t.comm(n)->src)];
          const size_t other = job.ranks[static_cast<size_t>(from)].cls;
          const Trace& sender = job.classes[other];
          Picoseconds sent = -2;
          for (const NodeId s : ids<NodeId>(sender.size()))
            if (sender.type[s] == NodeType::send && sender.comm(s)->tag == t.comm(n)->tag) sent = ends[other][s];
          EXPECT_NE(sent, -2) << "no rank sends tag " << t.comm(n)->tag;
          if (sent < 0) continue;
          start = std::max(start, sent);
        }
        const Picoseconds end = start + t.dur_ps[n];
        if (end != ends[c][n]) {
          ends[c][n] = end;
          changed = true;
        }
      }
    }
  }
  Picoseconds last = 0;
  for (const auto& stage : ends)
    for (const Picoseconds end : stage) {
      EXPECT_GE(end, 0) << "a node never runs";
      last = std::max(last, end);
    }
  return last;
}

TEST(Rows, OfOneStageTakeTheSumOfTheirTimes) {
  Prng prng(2);
  for (int i = 0; i < 100; ++i) {
    const Sample s = random_rows(prng, 1, prng.chance(0.5));
    Options options;
    options.num_passes = prng.between(1, 3);
    const auto job = read_rows(s.text, options);
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_EQ(job->classes.size(), 1U);
    EXPECT_EQ(free_end(*job),
              (s.ga * s.vpp * (s.forward_ns + s.backward_ns) + s.outside_ns) * kPsPerNs * options.num_passes);
  }
}

// SimAI's analytical mode: the sum of all times, and of it (pp - 1) / (ga vpp) as the bubble.
TEST(Rows, OfAPipelineTakeAsLongAsSimAIsFormulaSays) {
  Prng prng(3);
  for (int i = 0; i < 100; ++i) {
    const int64_t pp = prng.between(2, 4);
    const Sample s = random_rows(prng, pp, true);
    const auto job = read_rows(s.text);
    ASSERT_TRUE(job) << job.error().message();
    ASSERT_EQ(static_cast<int64_t>(job->classes.size()), pp);
    const int64_t sum = s.ga * s.vpp * (s.forward_ns + s.backward_ns);
    EXPECT_EQ(free_end(*job), (sum + (pp - 1) * sum / (s.ga * s.vpp)) * kPsPerNs) << s.text;
  }
}

TEST(Rows, StagesSendWhatSimAICounts) {
  Prng prng(4);
  for (int i = 0; i < 100; ++i) {
    const int64_t pp = prng.between(2, 4);
    const Sample s = random_rows(prng, pp, prng.chance(0.5));
    const auto job = read_rows(s.text);
    ASSERT_TRUE(job);
    for (int64_t stage = 0; stage < pp; ++stage) {
      const Trace& t = job->classes[static_cast<size_t>(stage)];
      int64_t sends = 0, receives = 0;
      for (const NodeId n : t.nodes()) {
        sends += t.type[n] == NodeType::send;
        receives += t.type[n] == NodeType::recv;
        if (t.type[n] == NodeType::send) {
          EXPECT_EQ(t.comm(n)->bytes, 4096U);
        }
      }
      const bool end = stage == 0 || stage + 1 == pp;  // the first and the last piece have one neighbour
      EXPECT_EQ(sends, (2 * s.vpp - (end ? 1 : 0)) * s.ga) << s.text;
      EXPECT_EQ(receives, sends);
    }
    EXPECT_GE(free_end(*job), 0);
  }
}

TEST(Rows, EveryRankHasTheCollectivesOfTheText) {
  Prng prng(5);
  for (int i = 0; i < 100; ++i) {
    const Sample s = random_rows(prng, prng.between(1, 3), false);
    const auto job = read_rows(s.text);
    ASSERT_TRUE(job);
    for (const Trace& t : job->classes) EXPECT_EQ(sums_of(t, s.mesh), sums_of(s.text));
    for (const ClassJob::Rank& rank : job->ranks)
      for (size_t slot = 0; slot < job->group_slots[rank.cls].size(); ++slot) {
        const std::map<std::string, Over> overs{
            {"tp", Over::tp}, {"dp", Over::dp}, {"ep", Over::ep}, {"edp", Over::edp}};
        const trace::ProcessGroup& group = job->groups[job->group_of[rank.first_group + slot]];
        EXPECT_EQ(group.ranks, s.mesh.members(overs.at(job->group_slots[rank.cls][slot]), rank.rank));
      }
  }
}

TEST(Rows, ThereAndBack) {
  Prng prng(6);
  for (int i = 0; i < 60; ++i) {
    const Sample s = random_rows(prng, prng.between(1, 3), false);
    Options options;
    options.num_passes = prng.between(1, 2);
    const auto job = read_rows(s.text, options);
    ASSERT_TRUE(job);
    EXPECT_EQ(*write_memory("text", *job), s.text);
    const trace::TraceSet set = trace::expand(*job);
    EXPECT_EQ(*write_memory("text", set), s.text);
    trace::TraceSet changed = set;
    changed.ranks.back().rank += 1;
    EXPECT_FALSE(write_memory("text", changed));
  }
}

TEST(Rows, AJobThatForgotItsTextSaysTheSame) {
  Prng prng(7);
  for (int i = 0; i < 60; ++i) {
    const Sample s = random_rows(prng, 1, false);
    auto job = read_rows(s.text);
    ASSERT_TRUE(job);
    for (Trace& t : job->classes) t.metadata.clear();
    Findings findings;
    const auto text = write_memory("text", *job, &findings);
    ASSERT_TRUE(text) << text.error().message() << s.text;
    for (const Finding& finding : findings) EXPECT_EQ(finding.severity, Severity::note) << finding.text;
    EXPECT_TRUE(contains(*text, " ga: 1 ")) << "no name says what a micro-batch is";
    const auto again = read_rows(*text);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->ranks.size(), job->ranks.size());
    Picoseconds before = 0, after = 0;
    for (const Picoseconds ps : job->classes[0].dur_ps) before += ps;
    for (const Picoseconds ps : again->classes[0].dur_ps) after += ps;
    EXPECT_EQ(before, after);
  }
}

TEST(Rows, AreComputedAgainFromTheCheckpoint) {
  std::string rows;
  int64_t sum = 0;
  for (int64_t i = 0; i < 6; ++i) {
    rows += fmt::format("r{} -1 {} ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n", i, 1 << (4 * i));
    sum += (1 << (4 * i)) + 2;
  }
  const std::string header = fmt::format("{} model_parallel_NPU_group: 2 ", kPolicy);
  Options options;
  options.num_npus = 2;
  const auto end = [&](const std::string& checkpoints) {
    const auto job = read_rows(header + checkpoints + "\n6\n" + rows, options);
    EXPECT_TRUE(job) << job.error().message();
    return job ? free_end(*job) / kPsPerNs - sum : -1;
  };
  EXPECT_EQ(end("checkpoints: 0 checkpoint_initiates: 0"), 0);
  EXPECT_EQ(end("checkpoints: 1 1 checkpoint_initiates: 1 3"), 0x110);
  EXPECT_EQ(end("checkpoints: 2 0 3 checkpoint_initiates: 2 5 2"), 0x011 + 0x11000);  // as of ASTRA-sim's sample
  const auto refused = [&](const std::string& checkpoints) {
    EXPECT_EQ(tag_of_memory("text", header + checkpoints + "\n6\n" + rows, options), "foreign.text.header")
        << checkpoints;
  };
  refused("checkpoints: 0 checkpoint_initiates: 1 3");
  refused("checkpoints: 1 4 checkpoint_initiates: 1 3");
  refused("checkpoints: 1 3 checkpoint_initiates: 1 3");
  refused("checkpoints: 1 1 checkpoint_initiates: 2 3 5");
  refused("checkpoints: 1 6 checkpoint_initiates: 0");
  refused("checkpoints: 1 -1 checkpoint_initiates: 0");
  refused("checkpoints: 2 1");
  refused("checkpoints: 9223372036854775807 1");
}

TEST(Rows, RefusesByTag) {
  const std::string row = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n", tail = "\n1\n" + row;
  const std::vector<std::pair<std::string, std::string>> all{
      {"", "foreign.text.ranks"},
      {" ep: 2 all_gpus: 8", "foreign.text.groups"},
      {" model_parallel_NPU_group: 0 all_gpus: 8", "foreign.text.header"},
      {" model_parallel_NPU_group: 2 model_parallel_NPU_group: 2 all_gpus: 8", "foreign.text.header"},
      {" model_parallel_NPU_group: 2 ga: x all_gpus: 8", "foreign.text.header"},
      {" model_parallel_NPU_group: 2 all_gpus:", "foreign.text.header"},
      {" model_parallel_NPU_group: 2 all_gpus: 8 word", "foreign.text.header"},
      {" model_parallel_NPU_group: 2 all_gpus: 8 pp_comm -1", "foreign.text.header"},
      {" model_parallel_NPU_group: 2 all_gpus: 8 pp_comm 1.5", "foreign.text.header"},
      {" model_parallel_NPU_group: 3 all_gpus: 8", "foreign.text.groups"},
      {" model_parallel_NPU_group: 2 ep: 3 all_gpus: 8", "foreign.text.groups"},
      {" model_parallel_NPU_group: 2 pp: 3 all_gpus: 8", "foreign.text.groups"},
      {" model_parallel_NPU_group: 2 pp: 9223372036854775807 ep: 9223372036854775807 all_gpus: 8",
       "foreign.text.groups"},
      {" model_parallel_NPU_group: 9223372036854775807 ep: 9223372036854775807 pp: 1 all_gpus: 8",
       "foreign.text.groups"},
      {" model_parallel_NPU_group: 2 all_gpus: 9223372036854775806", "foreign.large"},
      {" model_parallel_NPU_group: 2 all_gpus: 32770", "foreign.large"},
      {" model_parallel_NPU_group: 1 pp: 32768 all_gpus: 32768", "foreign.large"},
      {" model_parallel_NPU_group: 2", "foreign.text.ranks"},
  };
  for (const auto& [header, tag] : all)
    EXPECT_EQ(tag_of_memory("text", std::string(kPolicy) + header + tail), tag) << header;
  Options dims;
  dims.dims = std::vector<int64_t>{2, 3};
  EXPECT_EQ(tag_of_memory("text", std::string(kPolicy) + tail, dims), "");
  const std::string good = fmt::format("{} model_parallel_NPU_group:2 all_gpus: 8 pp_comm 0.0", kPolicy);
  EXPECT_EQ(tag_of_memory("text", good + tail), "");
  EXPECT_EQ(tag_of_memory("text", good + "\n1\na -1 1 SENDRECV 8 1 NONE 0 1 NONE 0 1\n"), "foreign.text.collective");
  EXPECT_EQ(tag_of_memory("text", good + "\n1\na -1 1 ALLREDUCE_TP 8 1 NONE 0 1 NONE 0 1\n"),
            "foreign.text.collective");
  EXPECT_EQ(tag_of_memory("text", good + "\n1\na -1 1 NONE_EP 8 1 NONE 0 1 NONE 0 1\n"), "foreign.text.collective");
}

TEST(Rows, SaysWhatSimAILeavesOpen) {
  const auto tags = [](const std::string& text, const Options& options = {}) {
    Findings findings;
    const auto job = read_rows(text, options, &findings);
    EXPECT_TRUE(job) << (job ? "" : job.error().message());
    std::multiset<std::string> all;
    for (const Finding& finding : findings) all.insert(finding.tag);
    return all;
  };
  using Tags = std::multiset<std::string>;
  const auto text = [](const std::string& header, const std::string& rows, int count = 1) {
    return fmt::format("{} model_parallel_NPU_group: 2 {}\n{}\n{}", kPolicy, header, count, rows);
  };
  const std::string row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  Options eight;
  eight.num_npus = 8;
  EXPECT_EQ(tags(text("all_gpus: 8", row)), Tags{});
  EXPECT_EQ(tags(text("", row), eight), Tags{"foreign.text.unit"});
  EXPECT_EQ(tags(text("all_gpus: 4", row), eight), Tags{"foreign.text.ranks"});
  EXPECT_EQ(tags(text("all_gpus: 8 expert_parallel_npu_group: 4", row)), Tags{"foreign.text.key"});
  EXPECT_EQ(tags(text("all_gpus: 8", "a -1 1 NONE 64 1 NONE 0 1 NONE 0 1\n")), Tags{"foreign.text.none"});
  EXPECT_EQ(tags(text("all_gpus: 2", "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n")), Tags{"foreign.text.alone"});
  EXPECT_EQ(tags(text("all_gpus: 8", "a -1 1 ALLGATHER 7 1 NONE 0 1 NONE 0 1\n")), Tags{"foreign.text.uneven"});
  EXPECT_EQ(tags(text("all_gpus: 8", "a -1 1 BROADCAST 8 1 NONE 0 1 NONE 0 1\n")), Tags{"foreign.text.broadcast"});
  EXPECT_EQ(tags(text("all_gpus: 8 pp_comm: 8", row)), Tags{"foreign.text.pipeline"});
  EXPECT_EQ(tags(text("all_gpus: 8 pp: 2", row)), Tags{"foreign.text.pipeline"});
  EXPECT_EQ(tags(text("all_gpus: 8 pp: 2 ga: 2 pp_comm: 8", row)), Tags{"foreign.text.pipeline"});
  EXPECT_EQ(tags(text("all_gpus: 8 pp: 2 ga: 2 pp_comm: 8", row + row, 2)), Tags{});
  EXPECT_EQ(tags(text("all_gpus: 8 pp: 2 ga: 2 vpp: 2 pp_comm: 8", row + row, 2)), Tags{"foreign.text.pipeline"});
  EXPECT_EQ(tags(text("all_gpus: 8 pp: 2 ga: 4000000000000000000 vpp: 4000000000000000000 pp_comm: 8", row)),
            Tags{"foreign.text.pipeline"});
}

TEST(Rows, AnAllGatherCountsWhatComesOut) {
  const auto bytes = [](uint64_t size) {
    const auto job = read_rows(fmt::format(
        "{} model_parallel_NPU_group: 4 all_gpus: 8\n1\na -1 1 ALLGATHER {} 1 NONE 0 1 REDUCESCATTER 64 1\n", kPolicy,
        size));
    EXPECT_TRUE(job);
    const Trace& t = job->classes[0];
    for (const NodeId n : t.nodes())
      if (t.comm(n) && t.comm(n)->type == CommType::all_gather)
        return std::pair(t.comm(n)->bytes, t.comm(n)->out_bytes);
    return std::pair(uint64_t{0}, uint64_t{0});
  };
  EXPECT_EQ(bytes(4096), std::pair(uint64_t{1024}, uint64_t{0}));
  EXPECT_EQ(bytes(4097), std::pair(uint64_t{1025}, uint64_t{4097}));
}

TEST(Rows, EveryPrefixIsRefusedUpToTheLastNumber) {
  Prng prng(8);
  for (int i = 0; i < 3; ++i) {
    const Sample s = random_rows(prng, prng.between(1, 2), false);
    expect_prefixes_refused("text", s.text, s.text.find_last_not_of("\n0123456789") + 2);
  }
}

TEST(Rows, EveryWorkloadOfSimAIIsRead) {
  CHAKRA_NEEDS_DATA();
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(chakra::testing::data_folder() + "/simai")) {
    if (entry.path().extension() != ".txt") continue;
    ++files;
    const std::string text = chakra::testing::must_read(entry.path().string());
    Options options;
    if (!contains(text, "all_gpus")) options.num_npus = 16;
    const auto job = read_rows(text, options);
    ASSERT_TRUE(job) << job.error().message();
    RowMesh mesh{static_cast<int64_t>(job->ranks.size()), 1, 1, static_cast<int64_t>(job->classes.size())};
    for (size_t slot = 0; slot < job->group_slots[0].size(); ++slot) {
      const auto size = static_cast<int64_t>(job->groups[job->group_of[slot]].ranks.size());
      if (job->group_slots[0][slot] == "tp") mesh.tp = size;
      if (job->group_slots[0][slot] == "ep") mesh.ep = size;
    }
    for (const Trace& t : job->classes) EXPECT_EQ(sums_of(t, mesh), sums_of(text)) << entry.path();
    const auto again = write_memory("text", *job);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, text);
  }
  EXPECT_EQ(files, 4);
}

}  // namespace
}  // namespace chakra::foreign
