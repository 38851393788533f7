// ASTRA-sim 1.0 text: mlcommons/chakra outputs field by field, the loops against sums that need no graph, the groups as
// partitions of the ranks, and the way there and back.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/testing/testing.h"
#include "chakra/trace/testing/peer_file.h"

namespace chakra::foreign {
namespace {

using testing::difference_of;
using testing::expect_prefixes_refused;
using testing::read_memory;
using testing::tag_of_memory;
using testing::write_memory;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

Options two_ranks() {
  Options options;
  options.num_npus = 2;
  options.num_passes = 2;
  return options;
}

TEST(Text, EqualsThePeersOutputFieldByField) {
  const std::string folder = chakra::testing::golden_folder();
  if (folder.empty()) GTEST_SKIP() << "no golden outputs (CHAKRA_TEST_GOLDEN)";
  int compared = 0;
  for (const char* name : {"micro", "data", "model", "hdm", "hmd", "dlrm"}) {
    const std::string text = chakra::testing::must_read(fmt::format("{}/pipeline/text/{}.txt", folder, name));
    const auto job = read_memory("text", text, two_ranks());
    ASSERT_TRUE(job) << job.error().message();
    ASSERT_EQ(job->ranks.size(), 2U);
    for (size_t r = 0; r < 2; ++r) {
      const auto peer = chakra::testing::parse_peer(
          chakra::testing::must_read(fmt::format("{}/pipeline/text/{}.{}.et", folder, name, r)));
      const Trace& t = job->ranks[r];
      ASSERT_EQ(peer.nodes.size(), t.size()) << name;
      for (const auto& attr : peer.metadata.attr()) {
        const auto ours = std::find_if(t.metadata.begin(), t.metadata.end(),
                                       [&](const trace::Attr& a) { return t.strings[a.name] == attr.name(); });
        ASSERT_NE(ours, t.metadata.end()) << attr.name();
        EXPECT_EQ(ours->text(), attr.string_val());
      }
      // A difference: mlcommons/chakra numbers all ranks' nodes together, we begin each at 0
      // (docs/reference/formats/foreign.md).
      const uint64_t first = peer.nodes[0].id();
      for (const NodeId n : t.nodes()) {
        const auto& node = peer.nodes[n];
        const auto at = fmt::format("{}.{} node {}", name, r, n);
        EXPECT_EQ(node.id() - first, t.id[n]) << at;
        EXPECT_EQ(node.name(), t.name_of(n)) << at;
        EXPECT_EQ(node.type(), static_cast<int>(t.type[n])) << at;
        EXPECT_EQ(static_cast<int64_t>(node.duration_micros()) * kPsPerUs, t.dur_ps[n]) << at;
        EXPECT_EQ(node.start_time_micros(), 0U) << at;
        EXPECT_EQ(node.ctrl_deps_size(), 0) << at;
        std::multiset<uint64_t> theirs, ours;
        for (const uint64_t dep : node.data_deps()) theirs.insert(dep - first);
        for (const NodeId dep : t.deps.of(n)) ours.insert(t.id[dep]);
        EXPECT_EQ(theirs, ours) << at;
        EXPECT_FALSE(t.flags[n] & trace::kSaysCpuOrNot) << at;  // mlcommons/chakra writes no is_cpu_op here
        for (const auto& attr : node.attr()) {
          ASSERT_NE(t.comm(n), nullptr) << at;
          if (attr.name() == "comm_type") EXPECT_EQ(attr.int64_val(), static_cast<int>(t.comm(n)->type)) << at;
          else if (attr.name() == "comm_size")
            EXPECT_EQ(static_cast<uint64_t>(attr.int64_val()), t.comm(n)->bytes) << at;
          else ADD_FAILURE() << at << ": attribute " << attr.name();
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 200);
}

constexpr std::array<std::string_view, 11> kPolicies{"MICRO",
                                                     "DATA",
                                                     "MODEL",
                                                     "HYBRID_DATA_MODEL",
                                                     "HYBRID_MODEL_DATA",
                                                     "HYBRID_TRANSFORMER",
                                                     "HYBRID_DLRM",
                                                     "HYBRID_DLRM_ENHANCED",
                                                     "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                                     "HYBRID_CUSTOMIZED",
                                                     "DISTRIBUTED_INFERENCE"};
constexpr std::array<std::string_view, 5> kCollectives{"NONE", "ALLREDUCE", "ALLTOALL", "ALLGATHER", "REDUCESCATTER"};

struct Random {
  std::string text;
  std::string_view policy;
  std::vector<std::array<int64_t, 3>> times;  ///< forward, input gradient, weight gradient
  std::vector<std::array<bool, 3>> comms;
};

Random random_workload(std::string_view policy, Prng& prng) {
  Random out;
  out.policy = policy;
  const bool dlrm = policy.starts_with("HYBRID_DLRM");
  const int64_t layers = prng.between(dlrm ? 3 : 1, 7);
  out.text = std::string(policy);
  if (dlrm) out.text += fmt::format(" {}", prng.between(1, layers - 2));
  if (policy == "HYBRID_TRANSFORMER" && prng.chance(0.5)) out.text += " model_parallel_NPU_group: 2";
  if (policy == "HYBRID_TRANSFORMER_FWD_IN_BCKWD") out.text += " model_parallel_NPU_group: 2 pp: 1";
  out.text += fmt::format("\n{}\n", layers);
  for (int64_t i = 0; i < layers; ++i) {
    out.text += fmt::format("layer{} -1", i);
    auto& times = out.times.emplace_back();
    auto& comms = out.comms.emplace_back();
    for (size_t p = 0; p < 3; ++p) {
      times[p] = prng.between(0, 1000);
      const std::string_view comm = kCollectives[prng.below(kCollectives.size())];
      comms[p] = comm != "NONE";
      out.text +=
          fmt::format("{}{} {} {}", p % 2 == 0 ? " " : "\t", times[p], comm, comms[p] ? prng.between(1, 1 << 20) : 0);
    }
    out.text += fmt::format(" {}", prng.between(0, 99));
    if (policy == "HYBRID_CUSTOMIZED") out.text += fmt::format("  {} ", kPolicies[1 + prng.below(4)]);
    if (i + 1 < layers || prng.chance(0.5)) out.text += "\n";
  }
  return out;
}

TEST(Text, LoopsTakeTheSumOfTheirComputationsWhenCommunicationIsFree) {
  Prng prng(1);
  for (int i = 0; i < 400; ++i) {
    const Random work = random_workload(kPolicies[static_cast<size_t>(i) % kPolicies.size()], prng);
    Options options;
    options.dims = std::vector<int64_t>{2, 2};
    options.num_passes = prng.between(1, 3);
    const auto job = read_memory("text", work.text, options);
    ASSERT_TRUE(job) << job.error().message() << "\n" << work.text;
    ASSERT_EQ(job->ranks.size(), 4U);
    // Every compute node is on the one path that goes forward through the layers and back.
    int64_t sum = 0;
    for (size_t l = 0; l < work.times.size(); ++l) {
      const bool input_gradient = work.policy == "MODEL" || l > 0 ||
                                  (work.policy.starts_with("HYBRID") && !work.policy.starts_with("HYBRID_DLRM"));
      sum += work.times[l][0];
      if (work.policy != "DISTRIBUTED_INFERENCE") sum += work.times[l][2] + (input_gradient ? work.times[l][1] : 0);
    }
    if (work.policy == "MICRO") sum = 0;
    const Picoseconds unit = work.policy == "HYBRID_TRANSFORMER_FWD_IN_BCKWD" ? kPsPerNs : kPsPerUs;
    for (const Trace& t : job->ranks) {
      const trace::Order order = trace::topological_order(t.deps);
      ASSERT_TRUE(order.cycle.empty());
      EXPECT_TRUE(t.defects.empty());
      const auto ends = trace::earliest_ends(t, order.order, t.dur_ps);
      const Picoseconds end = ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
      EXPECT_EQ(end, sum * unit * options.num_passes) << work.text;
    }
  }
}

TEST(Text, KeepsWhichCollectivesAreThereAndWhoWaitsForThem) {
  Prng prng(2);
  for (int i = 0; i < 200; ++i) {
    const Random work = random_workload(kPolicies[3 + static_cast<size_t>(i) % 3], prng);  // the hybrids
    Options options;
    options.dims = std::vector<int64_t>{2, 2};
    const auto job = read_memory("text", work.text, options);
    ASSERT_TRUE(job) << job.error().message();
    const Trace& t = job->ranks[0];
    int64_t expected = 0;
    for (size_t l = 0; l < work.comms.size(); ++l)
      expected += work.comms[l][0] + (l > 0 && work.comms[l][1]) + work.comms[l][2];
    int64_t found = 0;
    for (const NodeId n : t.nodes()) {
      if (t.type[n] != NodeType::coll) continue;
      ++found;
      EXPECT_EQ(t.deps.of(n).size(), 1U);  // the computation whose result it exchanges
      EXPECT_EQ(t.type[t.deps.of(n)[0]], NodeType::comp);
    }
    EXPECT_EQ(found, expected) << work.text;
    // All forward and input-gradient collectives but the last are waited for: the layers go on with their result.
    const trace::Edges waiting = trace::reversed(t.deps);
    for (const NodeId n : t.nodes())
      if (t.type[n] == NodeType::coll && contains(t.name_of(t.deps.of(n)[0]), "_FWD"))
        EXPECT_FALSE(waiting.of(n).empty()) << t.name_of(n);
  }
}

TEST(Text, GivesEachCommunicationItsGroup) {
  const std::string layer = "\n1\nl -1 1 ALLGATHER 8 1 ALLREDUCE 8 1 ALLREDUCE 16 1\n";
  struct Wanted {
    std::string_view header;
    std::vector<int64_t> dims;
    int64_t forward_inner, weight_inner;  ///< ranks of rank 5's groups: consecutive if forward is the inner one
    bool forward_is_inner;
  };
  const std::vector<Wanted> all{
      {"HYBRID_DATA_MODEL", {8, 8}, 8, 8, true},
      {"HYBRID_MODEL_DATA", {8, 8}, 8, 8, false},
      {"HYBRID_DATA_MODEL", {4, 2, 3}, 4, 6, true},
      {"HYBRID_MODEL_DATA", {4, 2, 3}, 6, 4, false},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4", {4, 8}, 4, 8, true},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 8", {2, 4, 3}, 8, 3, true},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4", {8, 2}, 4, 4, true},  // cuts the first dimension
      {"HYBRID_TRANSFORMER model_parallel_NPU_group:2", {2}, 2, 1, true},
      {"HYBRID_TRANSFORMER", {2, 5}, 2, 5, true},
  };
  for (const Wanted& wanted : all) {
    Options options;
    options.dims = wanted.dims;
    const auto job = read_memory("text", std::string(wanted.header) + layer, options);
    ASSERT_TRUE(job) << job.error().message();
    const int64_t inner = wanted.forward_is_inner ? wanted.forward_inner : wanted.weight_inner;
    std::map<std::string, std::vector<int64_t>> members;
    for (const Trace& t : job->ranks) {
      std::set<std::string> used;
      for (const NodeId n : t.nodes()) {
        if (t.type[n] != NodeType::coll) continue;
        const bool weights = t.comm(n)->bytes == 16;
        const std::string name(t.strings[t.comm(n)->group]);
        used.insert(name);
        const auto group =
            std::find_if(t.groups.begin(), t.groups.end(), [&](const auto& g) { return g.name == name; });
        ASSERT_NE(group, t.groups.end());
        std::vector<int64_t> ranks;
        const bool is_inner = weights != wanted.forward_is_inner;
        for (const Trace& other : job->ranks)
          if (is_inner ? other.rank / inner == t.rank / inner : other.rank % inner == t.rank % inner)
            ranks.push_back(other.rank);
        EXPECT_EQ(group->ranks, ranks) << wanted.header;
        EXPECT_EQ(group->size, static_cast<int64_t>(ranks.size()));
        EXPECT_EQ(group->description, weights ? "data parallel" : "model parallel");
        const auto [found, added] = members.try_emplace(name, ranks);
        EXPECT_EQ(found->second, ranks) << "two groups are called " << name;
      }
      EXPECT_EQ(used.size(), 2U);
      EXPECT_EQ(used.count("0"), 0U);  // which means all ranks
    }
  }
}

TEST(Text, TheTwoHybridsDiffer) {
  const std::string layer = "\n1\nl -1 1 ALLGATHER 8 1 ALLREDUCE 8 1 ALLREDUCE 16 1\n";
  Options options;
  options.dims = std::vector<int64_t>{8, 8};
  const auto one = read_memory("text", "HYBRID_DATA_MODEL" + layer, options);
  const auto other = read_memory("text", "HYBRID_MODEL_DATA" + layer, options);
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->ranks[9].strings[one->ranks[9].comms[0].group],
            other->ranks[9].strings[other->ranks[9].comms[0].group]);
}

TEST(Text, ThereAndBackAndThereAgain) {
  Prng prng(3);
  for (int i = 0; i < 200; ++i) {
    const Random work = random_workload(kPolicies[static_cast<size_t>(i) % kPolicies.size()], prng);
    Options options;
    if (prng.chance(0.7)) options.dims = std::vector<int64_t>{2, prng.between(1, 3)};
    else options.num_npus = 2 * prng.between(1, 4);
    options.num_passes = prng.between(1, 3);
    if (prng.chance(0.3)) options.time_unit = "ns";
    const auto job = read_memory("text", work.text, options);
    ASSERT_TRUE(job) << job.error().message();
    if (job->ranks[0].size() == 0) continue;  // MICRO without a collective: nothing to write
    const auto text = write_memory("text", *job);
    ASSERT_TRUE(text) << text.error().message() << "\n" << work.text;
    const auto again = read_memory("text", *text, options);
    ASSERT_TRUE(again);
    EXPECT_EQ(difference_of(*job, *again), "");
  }
}

TEST(Text, RefusesToWriteWhatItCannotHold) {
  const std::string text = "DATA\n2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\nb -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
  const auto make = [&] { return *read_memory("text", text, two_ranks()); };
  const auto tag = [](const trace::TraceSet& job) {
    const auto out = write_memory("text", job);
    return out ? "" : out.error().tag;
  };
  EXPECT_EQ(tag(make()), "");
  const std::string refused = "foreign.write.cannot_hold";
  EXPECT_EQ(tag({}), refused);
  auto job = make();
  job.ranks[1].dur_ps.edit(0) += 1000;
  EXPECT_EQ(tag(job), refused);
  job = make();
  job.ranks[0].comms.edit(0).bytes += 1;
  EXPECT_EQ(tag(job), refused);
  job = make();
  job.ranks[1].deps.node.edit(job.ranks[1].deps.node.size() - 1) = NodeId(0);
  EXPECT_EQ(tag(job), refused);
  job = make();
  job.ranks.pop_back();  // the same table for fewer ranks is another job, but one that it can hold
  EXPECT_EQ(tag(job), "");
  job = make();
  job.ranks[0].id.set(0, 77);
  EXPECT_EQ(tag(job), refused);
}

TEST(Text, EveryPrefixIsRefusedUpToTheLastNumber) {
  Prng prng(4);
  for (const std::string_view policy : kPolicies) {
    const Random work = random_workload(policy, prng);
    Options options;
    options.dims = std::vector<int64_t>{2, 2};
    // The last column is the update time, which no node carries: from there on, nothing can be missed.
    size_t complete = work.text.find_last_not_of("\n0123456789") + 2;
    if (policy == "HYBRID_CUSTOMIZED") complete = work.text.find_last_not_of("\n ") + 1;
    expect_prefixes_refused("text", work.text, complete, options);
    const auto whole = read_memory("text", work.text, options);
    for (; complete < work.text.size(); ++complete) {
      auto part = read_memory("text", work.text.substr(0, complete), options);
      ASSERT_TRUE(part) << part.error().message();
      ASSERT_EQ(part->ranks[0].size(), whole->ranks[0].size());
    }
  }
}

TEST(Text, RefusesByTag) {
  Options options;
  options.num_npus = 4;
  const std::string row = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
  const std::vector<std::pair<std::string, std::string>> all{
      {"HYBRID_CUSTOMIZED\n1\n" + row, "foreign.text.truncated"},
      {"HYBRID_CUSTOMIZED\n2\n" + row + row, "foreign.text.layer"},
      {"HYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 MICRO\n", "foreign.text.policy"},
      {"DISTRIBUTED_INFERENCE 3\n1\n" + row, "foreign.text.header"},
      {"NONSENSE\n1\n" + row, "foreign.text.policy"},
      {"DATA 3\n1\n" + row, "foreign.text.header"},
      {"HYBRID_DLRM\n1\n" + row, "foreign.text.header"},
      {"HYBRID_DLRM 0\n3\n" + row + row + row, "foreign.text.header"},
      {"HYBRID_DLRM 2\n3\n" + row + row + row, "foreign.text.header"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: x\n1\n" + row, "foreign.text.header"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n" + row, "foreign.text.groups"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n1\n" + row, "foreign.text.groups"},
      {"DATA\nx\n" + row, "foreign.text.header"},
      {"DATA\n0\n", "foreign.text.header"},
      {"DATA\n2\n" + row, "foreign.text.truncated"},
      {"DATA\n9223372036854775807\n" + row, "foreign.text.truncated"},
      {"DATA\n1\n" + row + row, "foreign.text.layers"},
      {"DATA\n1\n", "foreign.text.truncated"},
      {"DATA\n2\na -1 1 NONE 0 1 NONE 0 1\n" + row, "foreign.text.layer"},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1 2\n", "foreign.text.layer"},
      {"DATA\n1\na -1 -1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n", "foreign.text.number"},
      {"DATA\n1\na -1 99999999999999 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n", "foreign.text.number"},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9223372036854775808 1\n", "foreign.text.number"},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 BROADCAST 8 1\n", "foreign.text.collective"},
      {"DATA\n1\na -1 1 NONE 9 1 NONE 0 1 ALLREDUCE 8 1\n", "foreign.text.collective"},
      {"", "foreign.text.truncated"},
  };
  for (const auto& [text, tag] : all) EXPECT_EQ(tag_of_memory("text", text, options), tag) << text;
  const std::string good = "DATA\n1\n" + row;
  EXPECT_EQ(tag_of_memory("text", good, options), "");
  EXPECT_EQ(tag_of_memory("text", good), "foreign.text.ranks");
  const auto with = [&](auto change) {
    Options changed = options;
    change(changed);
    return tag_of_memory("text", good, changed);
  };
  EXPECT_EQ(with([](Options& o) { o.dims = std::vector<int64_t>{2, 3}; }), "foreign.text.ranks");
  EXPECT_EQ(with([](Options& o) { o.dims = std::vector<int64_t>{2, 2}; }), "");
  EXPECT_EQ(with([](Options& o) {
              o.dims = std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40};
            }),
            "foreign.text.ranks");
  EXPECT_EQ(with([](Options& o) { o.num_npus = int64_t{1} << 60; }), "foreign.large");
  EXPECT_EQ(with([](Options& o) { o.num_passes = int64_t{1} << 60; }), "foreign.large");
  EXPECT_EQ(with([](Options& o) { o.num_passes = 0; }), "foreign.text.passes");
  EXPECT_EQ(with([](Options& o) { o.time_unit = "fortnight"; }), "foreign.time_unit");
}

TEST(Text, SaysWhatItLeavesOut) {
  Options options;
  options.num_npus = 2;
  Findings findings;
  ASSERT_TRUE(read_memory("text", "DATA\n1\na -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 8 1\n", options, &findings));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tag, "foreign.text.unused");
  findings.clear();
  ASSERT_TRUE(read_memory("text", "DISTRIBUTED_INFERENCE\n1\na -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 8 1\n", options,
                          &findings));
  ASSERT_EQ(findings.size(), 2U);  // a collective, and two computations
  EXPECT_EQ(findings[1].tag, "foreign.text.unused");
}

/// A job's nodes, edges and what they move, without what only says where it comes from.
std::string structure(const Trace& t) {
  std::string text;
  for (const NodeId n : t.nodes()) {
    text += fmt::format("{} {}", static_cast<int>(t.type[n]), t.dur_ps[n]);
    for (const NodeId on : t.deps.of(n)) text += fmt::format(" <{}", on);
    if (const trace::Comm* comm = t.comm(n)) {
      text += fmt::format(" {} {}", static_cast<int>(comm->type), comm->bytes);
      for (const trace::ProcessGroup& group : t.groups)
        if (group.name == t.strings[comm->group])
          for (const int64_t rank : group.ranks) text += fmt::format(" {}", rank);
    }
    text += "\n";
  }
  return text;
}

TEST(Text, LayersOfOnePolicyAreThatPolicy) {
  const auto text = [&](const std::string& header, const std::string& column) {
    std::string out = header + "\n3\n";
    for (int i = 1; i <= 3; ++i)
      out += fmt::format("l{} -1 {} ALLGATHER 8 {} ALLREDUCE 16 3 ALLREDUCE 32 1 {}\n", i, 10 * i, 2 * i, column);
    return out;
  };
  Options options;
  options.dims = std::vector<int64_t>{2, 3};
  options.num_passes = 2;
  for (const std::string hybrid : {"HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA"}) {
    const auto whole = read_memory("text", text(hybrid, ""), options);
    const auto layers = read_memory("text", text("HYBRID_CUSTOMIZED", hybrid), options);
    ASSERT_TRUE(whole && layers);
    for (size_t r = 0; r < 6; ++r) EXPECT_EQ(structure(whole->ranks[r]), structure(layers->ranks[r]));
  }
  const auto whole = read_memory("text", text("MODEL", ""), options);
  const auto layers = read_memory("text", text("HYBRID_CUSTOMIZED", "MODEL"), options);
  ASSERT_TRUE(whole && layers);
  for (size_t r = 0; r < 6; ++r) EXPECT_EQ(structure(whole->ranks[r]), structure(layers->ranks[r]));
  // Of layers that are data parallel only the gradients of weights are summed up, over all ranks.
  const auto data = read_memory("text", text("HYBRID_CUSTOMIZED", "DATA"), options);
  ASSERT_TRUE(data);
  int64_t collectives = 0;
  const Trace& t = data->ranks[4];
  for (const NodeId n : t.nodes()) {
    if (!t.comm(n)) continue;
    ++collectives;
    EXPECT_EQ(t.comm(n)->bytes, 32U);
    EXPECT_EQ(t.strings[t.comm(n)->group], "");
  }
  EXPECT_EQ(collectives, 3 * 2);
}

TEST(Text, ReadsEveryRealWorkloadThatItShould) {
  CHAKRA_NEEDS_DATA();
  int read_ones = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(chakra::testing::data_folder() + "/workloads")) {
    if (entry.path().extension() != ".txt") continue;
    Findings findings;
    Options options;
    options.dims = std::vector<int64_t>{8, 8};
    const auto job = read("", entry.path().string(), options, findings);
    ASSERT_TRUE(job) << entry.path() << " " << job.error().message();
    ++read_ones;
    EXPECT_EQ(job->ranks.size(), 64U);
    EXPECT_TRUE(write_memory("text", *job)) << entry.path();
  }
  EXPECT_EQ(read_ones, 42);
}

}  // namespace
}  // namespace chakra::foreign
