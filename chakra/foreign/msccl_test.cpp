// MSCCL algorithms: ours of five kinds and all real ones pass the verification; what is broken at any step does not.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/testing/testing.h"
#include "chakra/trace/testing/peer_file.h"

namespace chakra::foreign {
namespace {

using testing::read_memory;
using testing::tag_of_memory;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

struct Step {
  std::string type;
  char src_buffer, dst_buffer;
  int src, dst;
  int count = 1, dep_block = -1, dep_step = -1;
};
struct Block {
  int send, recv;
  std::vector<Step> steps;
};
struct Algorithm {
  std::string coll;
  int ranks, chunks;
  bool in_place;
  std::vector<std::vector<Block>> gpus;

  std::string xml() const {
    std::string out = fmt::format(
        "<algo name=\"test\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" "
        "inplace=\"{}\">\n",
        chunks, ranks, coll, in_place ? 1 : 0);
    for (size_t g = 0; g < gpus.size(); ++g) {
      out +=
          fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", g, chunks, chunks, chunks);
      for (size_t b = 0; b < gpus[g].size(); ++b) {
        const Block& block = gpus[g][b];
        out += fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"0\">\n", b, block.send, block.recv);
        for (size_t s = 0; s < block.steps.size(); ++s) {
          const Step& step = block.steps[s];
          out += fmt::format(
              "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
              "depid=\"{}\" "
              "deps=\"{}\" hasdep=\"0\"/>\n",
              s, step.type, step.src_buffer, step.src, step.dst_buffer, step.dst, step.count, step.dep_block,
              step.dep_step);
        }
        out += "</tb>\n";
      }
      out += "</gpu>\n";
    }
    return out + "</algo>\n";
  }
};

int wrap(int at, int n) { return ((at % n) + n) % n; }

/// The ring: reduce-scatter, then all-gather, in one block per rank.
Algorithm ring_all_reduce(int n) {
  Algorithm a{"allreduce", n, n, true, {}};
  for (int r = 0; r < n; ++r) {
    Block block{wrap(r + 1, n), wrap(r - 1, n), {}};
    const auto step = [&](const char* type, int chunk) {
      block.steps.push_back({type, 'i', 'i', wrap(chunk, n), wrap(chunk, n)});
    };
    for (int i = 0; i < n - 1; ++i) step("s", r - i), step("rrc", r - i - 1);
    for (int i = 0; i < n - 1; ++i) step("s", r + 1 - i), step("r", r - i);
    a.gpus.push_back({block});
  }
  return a;
}
/// The same with the fused steps: rrs in the middle, rrcs at the turn, rcs behind, r last.
Algorithm fused_ring_all_reduce(int n) {
  Algorithm a{"allreduce", n, n, true, {}};
  for (int r = 0; r < n; ++r) {
    Block block{wrap(r + 1, n), wrap(r - 1, n), {}};
    const auto step = [&](const char* type, int chunk) {
      block.steps.push_back({type, 'i', 'i', wrap(chunk, n), wrap(chunk, n)});
    };
    step("s", r);
    for (int i = 1; i < n - 1; ++i) step("rrs", r - i);
    step("rrcs", r + 1);
    for (int i = 0; i < n - 2; ++i) step("rcs", r - i);
    step("r", r + 2);
    a.gpus.push_back({block});
  }
  return a;
}
Algorithm ring_all_gather(int n) {
  Algorithm a{"allgather", n, n, true, {}};
  for (int r = 0; r < n; ++r) {
    Block block{wrap(r + 1, n), wrap(r - 1, n), {}};
    for (int i = 0; i < n - 1; ++i) {
      block.steps.push_back({"s", 'o', 'o', wrap(r - i, n), wrap(r - i, n)});
      block.steps.push_back({"r", 'o', 'o', wrap(r - i - 1, n), wrap(r - i - 1, n)});
    }
    a.gpus.push_back({block});
  }
  return a;
}
Algorithm ring_reduce_scatter(int n) {
  Algorithm a{"reduce_scatter", n, n, true, {}};
  for (int r = 0; r < n; ++r) {
    Block block{wrap(r + 1, n), wrap(r - 1, n), {}};
    for (int i = 0; i < n - 1; ++i) {
      block.steps.push_back({"s", 'i', 'i', wrap(r - 1 - i, n), wrap(r - 1 - i, n)});
      block.steps.push_back({"rrc", 'i', 'i', wrap(r - 2 - i, n), wrap(r - 2 - i, n)});
    }
    a.gpus.push_back({block});
  }
  return a;
}
/// A block per peer; the own chunk is copied.
Algorithm direct_all_to_all(int n) {
  Algorithm a{"alltoall", n, n, false, {}};
  for (int r = 0; r < n; ++r) {
    std::vector<Block> blocks;
    for (int d = 1; d < n; ++d) blocks.push_back({wrap(r + d, n), -1, {{"s", 'i', 'o', wrap(r + d, n), r}}});
    for (int d = 1; d < n; ++d)
      blocks.push_back({-1, wrap(r - d, n), {{"r", 'i', 'o', wrap(r - d, n), wrap(r - d, n)}}});
    blocks.push_back({-1, -1, {{"cpy", 'i', 'o', r, r}}});
    a.gpus.push_back(blocks);
  }
  return a;
}
/// Each rank sends to the scratch of every other rank; a separate block adds the scratch up, held back by waits.
Algorithm scratch_all_reduce(int n) {
  Algorithm a{"allreduce", n, n, true, {}};
  for (int r = 0; r < n; ++r) {
    std::vector<Block> blocks;
    for (int d = 1; d < n; ++d) blocks.push_back({wrap(r + d, n), wrap(r - d, n), {{"s", 'i', 's', 0, 0, n}}});
    // All reach the scratch in turn: it holds one rank's buffer, so each is added before the next is received.
    Block sum{-1, -1, {}};
    for (int d = 1; d < n; ++d) {
      auto& steps = blocks[static_cast<size_t>(d - 1)].steps;
      if (d > 1) steps.push_back({"nop", 'i', 'o', -1, -1, 0, n - 1, static_cast<int>(sum.steps.size()) - 1});
      steps.push_back({"r", 'i', 's', 0, 0, n});
      for (int other = 1; other < n && d == 1; ++other)  // nobody may change the buffer before it has been sent
        sum.steps.push_back({"nop", 'i', 'o', -1, -1, 0, other - 1, 0});
      sum.steps.push_back({"re", 's', 'i', 0, 0, n, d - 1, static_cast<int>(steps.size()) - 1});
    }
    blocks.push_back(sum);
    a.gpus.push_back(blocks);
  }
  return a;
}
Algorithm chain_broadcast(int n, int root) {
  Algorithm a{"broadcast", n, 2, true, {}};
  for (int r = 0; r < n; ++r) {
    const int place = wrap(r - root, n);
    Block block{place == n - 1 ? -1 : wrap(r + 1, n), place == 0 ? -1 : wrap(r - 1, n), {}};
    const char* type = place == 0 ? "s" : place == n - 1 ? "r" : "rcs";
    for (int c = 0; c < 2; ++c) block.steps.push_back({type, 'i', 'i', c, c});
    a.gpus.push_back({block});
  }
  return a;
}

std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> all;
  for (int n = 2; n <= 6; ++n) {
    for (const auto& make :
         {ring_all_reduce, ring_all_gather, ring_reduce_scatter, direct_all_to_all, scratch_all_reduce})
      all.push_back(make(n));
    if (n > 2) all.push_back(fused_ring_all_reduce(n));
    all.push_back(chain_broadcast(n, n / 2));
  }
  return all;
}

TEST(Msccl, RightAlgorithmsPass) {
  for (const Algorithm& a : all_algorithms()) {
    const auto job = read_memory("msccl", a.xml());
    ASSERT_TRUE(job) << a.coll << " of " << a.ranks << ": " << job.error().message() << "\n" << a.xml();
    ASSERT_EQ(job->ranks.size(), static_cast<size_t>(a.ranks));
    // As many sends as receives on each connection, and in each rank the steps that the file has.
    std::map<std::pair<int64_t, int64_t>, int64_t> balance;
    for (const Trace& t : job->ranks) {
      EXPECT_TRUE(t.defects.empty());
      EXPECT_TRUE(trace::topological_order(t.deps).cycle.empty());
      std::map<NodeType, int64_t> wanted, found;
      for (const Block& block : a.gpus[static_cast<size_t>(t.rank)])
        for (const Step& step : block.steps) {
          wanted[NodeType::recv] += step.type[0] == 'r' && step.type != "re";
          wanted[NodeType::send] += step.type.back() == 's';
          wanted[NodeType::comp] += contains(step.type, "rr") || step.type == "re" || step.type == "cpy";
        }
      for (const NodeId n : t.nodes()) {
        ++found[t.type[n]];
        if (t.type[n] == NodeType::send) ++balance[{t.comm(n)->src, t.comm(n)->dst}];
        if (t.type[n] == NodeType::recv) --balance[{t.comm(n)->src, t.comm(n)->dst}];
        if (t.comm(n)) EXPECT_EQ(t.comm(n)->bytes % (((1 << 20) + a.chunks - 1) / a.chunks), 0U);
      }
      std::erase_if(wanted, [](const auto& kind) { return kind.second == 0; });
      EXPECT_EQ(wanted, found) << a.xml();
    }
    for (const auto& [who, left] : balance) EXPECT_EQ(left, 0);
  }
}

/// The tag under which the algorithm is refused, "" if it passes.
std::string verdict(const Algorithm& a, std::string* message = nullptr) {
  const auto job = read_memory("msccl", a.xml());
  if (!job && message) *message = job.error().message();
  return job ? "" : job.error().tag;
}

TEST(Msccl, AnyStepThatIsLeftOutOrMovesAnotherChunkIsNoticed) {
  const std::set<std::string> refusals{"foreign.msccl.wrong", "foreign.msccl.stuck", "foreign.msccl.step"};
  int changed = 0;
  for (const Algorithm& right : all_algorithms()) {
    if (right.ranks > 4) continue;
    for (size_t g = 0; g < right.gpus.size(); ++g)
      for (size_t b = 0; b < right.gpus[g].size(); ++b)
        for (size_t s = 0; s < right.gpus[g][b].steps.size(); ++s) {
          const Step& step = right.gpus[g][b].steps[s];
          if (step.type == "nop") continue;
          Algorithm wrong = right;
          auto& steps = wrong.gpus[g][b].steps;
          const bool reads = step.type == "s" || step.type == "re" || step.type == "cpy" || contains(step.type, "rr");
          const bool writes = step.type != "s" && step.type != "rrs";
          if (step.count == 1) {
            if (reads) {
              steps[s].src = (step.src + 1) % right.chunks;
              EXPECT_TRUE(refusals.contains(verdict(wrong)))
                  << right.coll << " " << g << " " << b << " " << s << wrong.xml();
              steps[s].src = step.src;
            }
            if (writes) {
              steps[s].dst = (step.dst + 1) % right.chunks;
              EXPECT_TRUE(refusals.contains(verdict(wrong)))
                  << right.coll << " " << g << " " << b << " " << s << wrong.xml();
            }
          }
          // Never executed: 0 chunks are refused as such, so the step becomes one that does nothing.
          wrong = right;
          wrong.gpus[g][b].steps[s].type = "nop";
          EXPECT_TRUE(refusals.contains(verdict(wrong)))
              << right.coll << " " << g << " " << b << " " << s << wrong.xml();
          ++changed;
        }
  }
  EXPECT_GT(changed, 200);
}

TEST(Msccl, MissingWaitsAreNoticed) {
  // Without the waits, the sum may take place before the data is there.
  Algorithm wrong = scratch_all_reduce(3);
  for (Step& step : wrong.gpus[1].back().steps)
    if (step.type == "re") step.dep_block = step.dep_step = -1;
  std::string message;
  EXPECT_EQ(verdict(wrong, &message), "foreign.msccl.wrong");
  EXPECT_TRUE(contains(message, "rank 1")) << message;
  EXPECT_TRUE(contains(message, "chunk")) << message;
}

TEST(Msccl, NamesRankAndChunk) {
  Algorithm wrong = ring_all_gather(4);
  wrong.gpus[2][0].steps.back().dst = 2;  // instead of 3: its own is overwritten
  std::string message;
  EXPECT_EQ(verdict(wrong, &message), "foreign.msccl.wrong");
  EXPECT_TRUE(contains(message, "chunk 2 of rank 2")) << message;
}

TEST(Msccl, RefusesByTag) {
  const std::string good = ring_all_reduce(3).xml();
  const auto with = [&](std::string_view what, std::string_view other) {
    std::string text = good;
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return tag_of_memory("msccl", text.replace(at, what.size(), other));
  };
  EXPECT_EQ(tag_of_memory("msccl", good), "");
  EXPECT_EQ(with("allreduce", "custom"), "foreign.msccl.collective");
  EXPECT_EQ(with("ngpus=\"3\"", "ngpus=\"4\""), "foreign.msccl.element");
  EXPECT_EQ(with("ngpus=\"3\"", "ngpus=\"4000000000\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("nchunksperloop=\"3\"", "nchunksperloop=\"4194304\""), "foreign.large");
  EXPECT_EQ(with("i_chunks=\"3\"", "i_chunks=\"-1\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("gpu id=\"0\"", "gpu id=\"1\""), "foreign.msccl.element");
  EXPECT_EQ(with("<tb id=\"0\"", "<tb id=\"1\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("send=\"1\"", "send=\"-1\""), "foreign.msccl.connection");
  EXPECT_EQ(with("send=\"1\"", "send=\"3\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("type=\"s\"", "type=\"q\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("srcbuf=\"i\"", "srcbuf=\"x\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("srcoff=\"0\"", "srcoff=\"99\""), "foreign.msccl.step");
  EXPECT_EQ(with("cnt=\"1\"", "cnt=\"0\""), "foreign.msccl.attribute");
  EXPECT_EQ(with("depid=\"-1\"", "depid=\"7\""), "foreign.msccl.dep");
  EXPECT_EQ(with("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"3\""), "foreign.msccl.stuck");
  EXPECT_EQ(with("<step s=\"1\"", "<step s=\"2\""), "foreign.msccl.element");
  EXPECT_EQ(with("<tb", "<xx"), "foreign.msccl.syntax");
  EXPECT_EQ(tag_of_memory("msccl", "<a/>"), "foreign.msccl.element");
  EXPECT_EQ(tag_of_memory("msccl", good + "<algo/>"), "foreign.msccl.element");
  Options options;
  options.coll_bytes = 0;
  EXPECT_EQ(tag_of_memory("msccl", good, options), "foreign.msccl.size");
}

TEST(Msccl, EveryPrefixIsRefused) {
  const std::string text = ring_all_reduce(2).xml();
  testing::expect_prefixes_refused("msccl", text, text.size() - 1);
  const std::string commented = "<!-- a comment -->\n" + text;
  testing::expect_prefixes_refused("msccl", commented, commented.size() - 1);
}

TEST(Msccl, DeepNestingIsRefused) {
  std::string text = ring_all_reduce(2).xml();
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<gpu>";
  EXPECT_TRUE(tag_of_memory("msccl", text.substr(0, text.find("<gpu")) + deep).starts_with("foreign.msccl."));
}

TEST(Msccl, RealAlgorithmsPassAndTheRingEqualsItsTraces) {
  CHAKRA_NEEDS_DATA();
  chakra::testing::TemporaryFolder folder;
  const std::string data = chakra::testing::data_folder();
  chakra::testing::unpack(data + "/msccl/msccl_scheduler_ndv4.tar.gz", folder.path("ndv4"));
  chakra::testing::unpack(data + "/et_proto/custom_ring_allreduce_8npus_1MB.tar.gz", folder.path("ring"));
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.path().extension() != ".xml") continue;
    Findings findings;
    const auto job = read("", entry.path().string(), {}, findings);
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_EQ(job->ranks.size(), 8U);
    ++files;
  }
  EXPECT_EQ(files, 15);

  Findings findings;
  Options options;
  options.default_run_time = 7 * kPsPerUs;  // the value that the traces were made with
  const auto job = read("msccl", folder.path("ring/custom_allreduce.xml"), options, findings);
  ASSERT_TRUE(job);
  for (const Trace& t : job->ranks) {
    const auto peer = chakra::testing::parse_peer(
        chakra::testing::must_read(folder.path(fmt::format("ring/custom_allreduce.{}.et", t.rank))));
    ASSERT_EQ(peer.nodes.size(), t.size());
    for (const NodeId n : t.nodes()) {
      const auto& node = peer.nodes[n];
      EXPECT_EQ(node.id(), t.id[n]);
      EXPECT_EQ(node.name(), t.name_of(n));
      EXPECT_EQ(node.type(), static_cast<int>(t.type[n]));
      EXPECT_EQ(static_cast<int64_t>(node.duration_micros()) * kPsPerUs, t.dur_ps[n]);
      std::multiset<uint64_t> theirs(node.data_deps().begin(), node.data_deps().end()), ours;
      for (const NodeId on : t.deps.of(n)) ours.insert(t.id[on]);
      EXPECT_EQ(theirs, ours);
      for (const auto& attr : node.attr()) {
        if (attr.name() == "comm_size") EXPECT_EQ(static_cast<uint64_t>(attr.int64_val()), t.comm(n)->bytes);
        else if (attr.name() == "comm_src") EXPECT_EQ(attr.int32_val(), t.comm(n)->src);
        else if (attr.name() == "comm_dst") EXPECT_EQ(attr.int32_val(), t.comm(n)->dst);
        else if (attr.name() == "comm_tag") EXPECT_EQ(attr.int32_val(), t.comm(n)->tag);
        else EXPECT_EQ(attr.name(), "comm_type");  // of messages: they have none (docs/reference/formats/foreign.md)
      }
    }
  }
}

}  // namespace
}  // namespace chakra::foreign
