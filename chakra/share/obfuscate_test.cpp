// The call that hides names: 200 secrets in all places of a trace that hold text, none of which is in any output.
#include "chakra/share/obfuscate.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <filesystem>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/generate.h"
#include "chakra/io/io.h"
#include "chakra/job/job.h"

namespace chakra::share {
namespace {

using chakra::testing::must_read;
using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;
using schema::AttrRecord;
using schema::NodeRecord;

/// Texts that no list of public names has.
class Secrets {
 public:
  const std::string& next() { return all_.emplace_back(fmt::format("Zq{:03}secretNebula", all_.size())); }
  const std::deque<std::string>& all() const { return all_; }

 private:
  std::deque<std::string> all_;  ///< references stay valid
};

AttrRecord text(std::string_view name, std::string_view value) {
  AttrRecord attr;
  attr.name = name, attr.bytes = value, attr.field = schema::kString;
  return attr;
}
AttrRecord number(std::string_view name, int64_t value) {
  AttrRecord attr;
  attr.name = name, attr.integer = value, attr.field = schema::kInt64;
  return attr;
}
/// A field of text that the schema does not have.
std::string unknown_field(const std::string& value) {
  std::string bytes = {static_cast<char>(0xd2), 0x3e};  // field 1002
  bytes += static_cast<char>(value.size());
  return bytes + value;
}
std::string sized(const std::string& message) {
  std::string out;
  size_t size = message.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  return out + static_cast<char>(size) + message;
}

/// A rank with a secret wherever a file can hold text.
std::string rank_with_secrets(int64_t rank, Secrets& s) {
  std::deque<std::string> made;  // texts that records refer to
  const auto keep = [&](std::string text) -> std::string_view { return made.emplace_back(std::move(text)); };
  schema::MetadataRecord metadata;
  metadata.version = s.next();
  const std::string group = s.next(), role = s.next();
  metadata.attrs = {number("rank", rank),
                    text("device_name", s.next()),
                    text("device_name_3", s.next()),
                    text("recipe", s.next()),
                    text("schedule", s.next()),
                    text("time", s.next()),
                    text("tokens", s.next()),
                    text("hostname", s.next()),
                    number(s.next(), 7),
                    text("process_groups", keep(fmt::format(R"([{{"pg_name": "{}", "pg_desc": "{}", "backend_config": )"
                                                            R"("{}", "ranks": [0, 1], "group_size": 2, "{}": "{}"}}])",
                                                            group, role, s.next(), s.next(), s.next())))};
  metadata.unknown.push_back({schema::UnknownField::kMessage, keep(unknown_field(s.next()))});
  std::string bytes = sized(schema::encode(metadata));
  for (uint64_t n = 1; n <= 5; ++n) {
    const bool is_comm = n == 2, is_group = n == 3, is_load = n == 4, is_device = n == 5;
    NodeRecord node;
    node.id = 1000 * n + static_cast<uint64_t>(rank);
    node.name = s.next();
    node.type = is_comm ? 7 : is_group ? 1 : is_load ? 2 : 4;
    if (n > 1) node.data_deps = {1000 + static_cast<uint64_t>(rank)};
    node.duration_micros = 10;
    node.inputs = {true, keep("[1, '" + s.next() + "', 0.5]"), keep("[[8, " + s.next() + "]]"),
                   keep("['Tensor(" + s.next() + ")']")};
    node.outputs = {true, keep(s.next()), keep(s.next()), keep(s.next())};
    AttrRecord documented = text("op_schema", s.next());
    documented.doc = s.next();
    node.attrs = {documented,
                  text("module", s.next()),
                  text("kernel", s.next()),
                  text("kernel_file", s.next()),
                  text("kernel_backend", s.next()),
                  text("source", s.next()),
                  text("pass", s.next()),
                  text("shapes", s.next()),
                  text("input_strides", s.next()),
                  text("storage_tier", s.next()),
                  text("io_kind", s.next()),
                  text("op_dtype", s.next()),
                  text("correlation", s.next()),
                  text("tid", s.next()),
                  text(s.next(), s.next()),
                  text("pg_name", is_comm ? std::string_view(group) : std::string_view(s.next())),
                  number("comm_type", 0),
                  number("comm_size", 1024),
                  text("comm_dtype", s.next()),
                  text("comm_in_split", s.next())};
    if (is_device) node.attrs.push_back(number("is_cpu_op", 0)), node.attrs.push_back(number("stream", 7));
    node.unknown.push_back({schema::UnknownField::kMessage, keep(unknown_field(s.next()))});
    node.unknown.push_back({schema::UnknownField::kInputs, keep(unknown_field(s.next()))});
    bytes += sized(schema::encode(node));
  }
  return bytes;
}

std::string bytes_of_folder(const std::string& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    all += entry.path().filename().string();
    if (entry.is_regular_file()) all += must_read(entry.path().string());
  }
  return all;
}

class Obfuscate : public ::testing::Test {
 protected:
  ObfuscateOptions options(const std::string& job, const std::string& output) const {
    ObfuscateOptions o;
    o.path = job, o.key = folder_.path("key"), o.output = output;
    o.new_key = !is_file(o.key);
    return o;
  }
  /// A generated job with pipelines, by classes or with a file for each rank.
  std::string generated(bool all_ranks) const {
    gen::StepOptions o;
    o.model.layers.resize(2);
    o.dp = 2, o.tp = 2, o.pp = 2;
    const std::string path = folder_.path(all_ranks ? "all" : "classes");
    EXPECT_TRUE(generate::generate_job(gen::step(o).value(), {.output = path, .name = "step", .all_ranks = all_ranks}));
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(Obfuscate, LeavesNoneOf200Secrets) {
  Secrets secrets;
  for (const int64_t rank : {0, 1})
    folder_.write(fmt::format("in/trace.{}.et", rank), rank_with_secrets(rank, secrets));
  folder_.write("in/" + secrets.next(), secrets.next());
  ASSERT_GE(secrets.all().size(), 200U);
  const std::string before = bytes_of_folder(folder_.path("in"));
  for (const std::string& secret : secrets.all()) EXPECT_NE(before.find(secret), std::string::npos) << secret;

  for (const int64_t level : {1, 2}) {
    const std::string out = folder_.path(fmt::format("out{}", level));
    ObfuscateOptions o = options(folder_.path("in"), out);
    o.level = level;
    const auto made = obfuscate_job(o);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->other_files.size(), 1U);
    const std::string after = bytes_of_folder(out) + must_read(out + ".names");
    for (const std::string& secret : secrets.all()) EXPECT_EQ(after.find(secret), std::string::npos) << secret;
    EXPECT_EQ(after.find("Nebula"), std::string::npos);
    EXPECT_EQ(after.find("secret"), std::string::npos);

    const auto job = io::read_job(out, {.texts = true});
    ASSERT_TRUE(job) << job.error().message();
    ASSERT_EQ(job->ranks.size(), 2U);
    EXPECT_EQ(job->ranks[0].size(), 5U);
    EXPECT_EQ(job->ranks[0].id[4], 5U);
  }
}

TEST_F(Obfuscate, KeepsNamesAndWordsOfTheList) {
  struct Row {
    std::string_view name;
    bool on_device;
    std::string_view kind;  ///< of the hidden name; empty: the name stays
  };
  constexpr auto kNames = std::to_array<Row>({
      {"aten::mm", false, ""},
      {"aten::hush", false, "label"},
      {"ProfilerStep#12", false, ""},
      {"ProfilerStep#12 hush", false, "label"},
      {"autograd::engine::evaluate_function: MmBackward0", false, ""},
      {"autograd::engine::evaluate_function: HushBackward", false, "label"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true, ""},
      {"ncclDevKernel_Hush_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true, "nccl_kernel"},
      {"Memcpy HtoD (Pageable -> Device)", true, ""},
      {"Memcpy HtoD (Hush -> Device)", true, "Memcpy HtoD"},
      {"Memset (Device)", true, ""},
      {"void hush_gemm_kernel<float>(float*)", true, "kernel.gemm"},
      {"triton_poi_fused_hush_0", true, "kernel.triton"},
      {"hush", true, "kernel"},
      {"hush.optimizer", false, "optimizer"},
  });
  constexpr auto kLists = std::to_array<std::array<std::string_view, 2>>({
      {"[[7, 8, 0, 8192, 4, 'cpu'], '<None>', 1.5e-3]", "[[7, 8, 0, 8192, 4, 'cpu'], '<None>', 1.5e-3]"},
      {"['Tensor(long int)', 'GenericList[Int,Int]']", "['Tensor(long int)', 'GenericList[Int,Int]']"},
      {"['a hush', 'cuda:0', 'hush7', '1234', -inf]", "['? ?', 'cuda:0', '?', '?', -inf]"},
      {"[hush, 1]", "[?, 1]"},
      {"['it''s \"hush\"']", "['?''s ?']"},
      {"['\xc3\xbc\xe2\x98\x83']", "['?']"},
  });
  std::string bytes = sized(schema::encode(schema::MetadataRecord{"0.0.4", {}, {}}));
  for (size_t n = 0; n < kNames.size(); ++n) {
    NodeRecord node;
    node.id = n + 1, node.name = kNames[n].name, node.type = 4;
    node.attrs = {number("is_cpu_op", !kNames[n].on_device)};
    if (n < kLists.size()) node.inputs = {true, kLists[n][0], {}, {}};
    bytes += sized(schema::encode(node));
  }
  folder_.write("in/trace.0.et", bytes);
  ASSERT_TRUE(obfuscate_job(options(folder_.path("in"), folder_.path("out"))));
  const auto job = io::read_job(folder_.path("out"), {.texts = true});
  ASSERT_TRUE(job) << job.error().message();
  const trace::Trace& t = job->ranks[0];
  for (size_t n = 0; n < kNames.size(); ++n) {
    const std::string_view name = t.name_of(trace::NodeId(n));
    if (kNames[n].kind.empty()) EXPECT_EQ(name, kNames[n].name);
    else EXPECT_EQ(name.substr(0, name.rfind('.')), kNames[n].kind);
    if (n < kLists.size()) EXPECT_EQ(trace::Io(t.ios[t.io_row[n]]).inputs.values, kLists[n][1]);
  }
}

TEST_F(Obfuscate, RemovesDatesWhicheverRankHasTimes) {
  constexpr int64_t kYear2026Us = 1'770'000'000'000'000, kDayUs = 86'400'000'000;
  const auto rank = [&](int64_t rank_number, bool timed) {
    schema::MetadataRecord metadata{"0.0.4", {}, {}};
    metadata.attrs = {number("rank", rank_number)};
    NodeRecord node;
    node.id = 1, node.name = "aten::mm", node.type = 4;
    node.duration_micros = 5;
    if (timed) node.start_micros = static_cast<uint64_t>(kYear2026Us);
    return sized(schema::encode(metadata)) + sized(schema::encode(node));
  };
  folder_.write("in/trace.0.et", rank(0, false));
  folder_.write("in/trace.1.et", rank(1, true));
  folder_.write("classes/class0.et", rank(0, true));
  folder_.write("classes/ranks.json",
                R"({"schema": "chakra-ranks-1", "classes": [{"file": "class0.et", "group_slots": [], "peer_slots": 0}],
                    "groups": [], "ranks": [{"rank": 0, "class": 0, "groups": [], "peers": []}]})");
  for (const char* name : {"in", "classes"}) {
    const auto made = obfuscate_job(options(folder_.path(name), folder_.path(name) + ".out"));
    ASSERT_TRUE(made) << made.error().message();
    const auto job = io::read_job(folder_.path(name) + ".out");
    ASSERT_TRUE(job) << job.error().message();
    const trace::Trace& t = job->ranks.back();
    ASSERT_TRUE(t.has_start(trace::NodeId(0)));
    EXPECT_EQ(t.base_ns + t.start_ps[0] / kPsPerNs, kDayUs * 1000) << name;
  }
}

TEST_F(Obfuscate, RestoresNamesWithTheKeyOnly) {
  Secrets secrets;
  folder_.write("in/trace.0.et", rank_with_secrets(0, secrets));
  ASSERT_TRUE(obfuscate_job(options(folder_.path("in"), folder_.path("out"))));
  ObfuscateOptions back = options(folder_.path("out"), folder_.path("back"));
  back.reveal = true;
  const auto revealed = obfuscate_job(back);
  ASSERT_TRUE(revealed) << revealed.error().message();
  const auto before = io::read_job(folder_.path("in")), after = io::read_job(folder_.path("back"));
  ASSERT_TRUE(before && after);
  for (const trace::NodeId n : before->ranks[0].nodes())
    EXPECT_EQ(before->ranks[0].name_of(n), after->ranks[0].name_of(n));
  EXPECT_EQ(before->ranks[0].groups[0].name, after->ranks[0].groups[0].name);

  back.output = folder_.path("back2");
  back.key = folder_.path("key2");
  back.new_key = true;
  EXPECT_EQ(tag_of(obfuscate_job(back)), "seal.key.wrong");
  EXPECT_FALSE(std::filesystem::exists(back.output));
}

TEST_F(Obfuscate, RefusesWhatMakesNoSense) {
  Secrets secrets;
  folder_.write("in/trace.0.et", rank_with_secrets(0, secrets));
  folder_.write("full/file", "text");
  EXPECT_EQ(tag_of(obfuscate_job(options(folder_.path("in"), folder_.path("full")))), "job.obfuscate.output");
  EXPECT_FALSE(is_file(folder_.path("key")));                                                  // nothing was made
  EXPECT_EQ(tag_of(obfuscate_job(options(folder_.path("in"), folder_.path()))), "cli.usage");  // the key lies inside
  EXPECT_EQ(tag_of(obfuscate_job(options(folder_.path("absent"), folder_.path("out")))), "io.job.none");

  ASSERT_TRUE(obfuscate_job(options(folder_.path("in"), folder_.path("out"))));
  EXPECT_EQ(tag_of(obfuscate_job(options(folder_.path("out"), folder_.path("twice")))), "job.obfuscate.again");
  ASSERT_TRUE(obfuscate_job(options(folder_.path("in"), folder_.path("other"))));
  ObfuscateOptions back = options(folder_.path("in"), folder_.path("back"));
  back.reveal = true;
  back.names = folder_.path("out.names");
  EXPECT_EQ(tag_of(obfuscate_job(back)), "job.obfuscate.plain");
  back.path = folder_.path("other");
  EXPECT_EQ(tag_of(obfuscate_job(back)), "job.obfuscate.names");
  back.names = folder_.path("in/trace.0.et");
  EXPECT_EQ(tag_of(obfuscate_job(back)), "seal.form");
}

TEST_F(Obfuscate, HidesTheNumberOfLayers) {
  const std::string network = folder_.write("network.yml",
                                            "topology: [Switch, Ring]\nnpus_count: [4, 2]\n"
                                            "bandwidth: [100, 25]\nlatency: [500, 1000]\n");
  std::set<int64_t> nodes;
  for (const size_t layers : {12, 16, 22})
    for (const bool all_ranks : {false, true}) {
      generate::StepJobOptions g;
      g.step.model.layers.assign(layers, 0);
      g.step.tp = 2, g.step.pp = 2, g.step.dp = 2, g.step.micro_batches = 4;
      g.files = {folder_.path(fmt::format("layers{}{}", layers, all_ranks)), "step", all_ranks};
      Findings findings;
      ASSERT_TRUE(generate::generate_step(g, findings));
      ObfuscateOptions o = options(g.files.output, g.files.output + ".out");
      o.level = 3;
      const auto made = obfuscate_job(o);
      ASSERT_TRUE(made) << made.error().message();
      ASSERT_TRUE(made->layers);
      ASSERT_TRUE(made->stages);
      EXPECT_TRUE(made->stages->hidden);
      EXPECT_EQ(made->stages->shown, 1);
      EXPECT_EQ(made->layers->layers, static_cast<int64_t>(layers) / g.step.pp) << "of a stage";
      EXPECT_EQ(made->layers->after, 4);
      const auto copy = all_ranks ? io::read_job(o.output, {.texts = true})
                                  : Result<trace::TraceSet>(trace::expand(io::read_class_job(o.output, {}).value()));
      ASSERT_TRUE(copy) << copy.error().message();
      int64_t count = 0;
      for (const trace::Trace& t : copy->ranks) count += t.size();
      nodes.insert(count);
      std::array<Picoseconds, 2> times{};
      for (const bool hidden : {false, true}) {
        job::SimulateOptions s;
        s.path = hidden ? o.output : o.path;
        s.network = network;
        const auto simulated = job::simulate_job(s);
        ASSERT_TRUE(simulated) << simulated.error().message();
        times[hidden] = simulated->report.makespan_ps;
      }
      EXPECT_LT(std::abs(static_cast<double>(times[1] - times[0])), 0.35 * static_cast<double>(times[0])) << layers;
    }
  EXPECT_EQ(nodes.size(), 1U);
}

/// Buckets of gradients have different sizes, and the ranks number them in different orders: a layer that one rank
/// removes has other communications in the other rank, so that all of them stay.
TEST_F(Obfuscate, HidesAgainWhereRanksDisagree) {
  gen::StepOptions step;
  step.model.layers.assign(16, 0);
  step.dp = 2, step.zero = 0, step.micro_batches = 1;
  trace::TraceSet set = trace::expand(gen::step(step).value());
  std::filesystem::create_directories(folder_.path("in"));
  int64_t collectives = 0;
  for (size_t r = 0; r < 2; ++r) {
    trace::Trace& t = set.ranks[r];
    collectives = std::count(t.type.begin(), t.type.end(), trace::NodeType::coll);
    for (int64_t place = 0; const trace::NodeId n : t.nodes()) {
      if (t.type[n] != trace::NodeType::coll) continue;
      trace::Comm& comm = t.comms.edit(t.comm_row[n]);
      comm.bytes += static_cast<uint64_t>(place) << 20;
      comm.sequence = r == 0 ? place : (place + collectives / 2) % collectives;
      ++place;
    }
    ASSERT_TRUE(io::write_et(t, folder_.path(fmt::format("in/trace.{}.et", r))));
  }
  ObfuscateOptions o = options(folder_.path("in"), folder_.path("out"));
  o.level = 3;
  const auto made = obfuscate_job(o);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_GT(made->layers->removed, 0);
  int64_t nodes = 0;
  const trace::TraceSet copy = io::read_job(o.output, {.texts = true}).value();
  for (const trace::Trace& t : copy.ranks) {
    nodes += t.size();
    EXPECT_EQ(std::count(t.type.begin(), t.type.end(), trace::NodeType::coll), collectives) << t.rank;
  }
  EXPECT_EQ(made->nodes, nodes) << "the first try does not count";
}

/// Of a job whose width moves from 5120 to 4096, every size moves that contains the width.
TEST_F(Obfuscate, MovesEverySizeWithTheWidth) {
  constexpr int64_t kWidth = 5120, kShown = 4096;
  for (const bool all_ranks : {false, true})
    for (const int64_t zero : {0, 1, 3}) {
      generate::StepJobOptions g;
      model::ModelChange change;
      change.layers = 4, change.hidden = kWidth, change.heads = change.kv_heads = kWidth / 128;
      g.step.model = model::changed(model::find_model("llama3-8b")->model, change).value();
      g.step.tp = 2, g.step.dp = 2, g.step.zero = zero, g.step.pp = zero == 3 ? 1 : 2;
      g.files = {folder_.path(fmt::format("width{}{}", all_ranks, zero)), "step", all_ranks};
      Findings findings;
      ASSERT_TRUE(generate::generate_step(g, findings));
      ObfuscateOptions o = options(g.files.output, g.files.output + ".out");
      o.level = 2;
      const auto made = obfuscate_job(o);
      ASSERT_TRUE(made) << made.error().message();
      EXPECT_EQ(made->sizes->width, kWidth);
      EXPECT_EQ(made->sizes->width_shown, kShown);
      const auto read = [&](const std::string& path) {
        return all_ranks ? io::read_job(path, {.texts = true}).value()
                         : trace::expand(io::read_class_job(path, {.texts = true}).value());
      };
      const trace::TraceSet before = read(o.path), after = read(o.output);
      ASSERT_EQ(before.ranks.size(), after.ranks.size());
      int64_t moved = 0;
      for (size_t r = 0; r < before.ranks.size(); ++r)
        for (const trace::NodeId n : before.ranks[r].nodes()) {
          const trace::Trace& t = after.ranks[r];
          if (t.type[n] == trace::NodeType::comp) EXPECT_EQ(t.num_ops.empty() ? 0 : t.num_ops[n], 0U);
          if (!before.ranks[r].comm(n) || before.ranks[r].comm(n)->bytes < 200 * kWidth) continue;
          // By 0.8 (activations) or 0.64 (layers), then to eighths or halves of an octave.
          const auto is = static_cast<double>(t.comm(n)->bytes);
          const double by = is / static_cast<double>(before.ranks[r].comm(n)->bytes);
          EXPECT_LT(by, 0.96) << before.ranks[r].name_of(n) << " of " << before.ranks[r].comm(n)->bytes;
          EXPECT_GT(by, 0.5);
          ++moved;
        }
      EXPECT_GT(moved, 50);
    }
}

TEST_F(Obfuscate, RefusesLevelThreeWithoutLayers) {
  Secrets secrets;
  folder_.write("in/trace.0.et", rank_with_secrets(0, secrets));
  ObfuscateOptions o = options(folder_.path("in"), folder_.path("out"));
  o.level = 3;
  EXPECT_EQ(tag_of(obfuscate_job(o)), "job.obfuscate.layers");
  EXPECT_FALSE(std::filesystem::exists(o.output));
  o.level = 2;
  o.layers = 12;
  EXPECT_EQ(tag_of(obfuscate_job(o)), "cli.usage");
}

TEST_F(Obfuscate, KeepsEachSimulatedTime) {
  const std::string network = folder_.write("network.yml",
                                            "topology: [Switch, Ring]\nnpus_count: [4, 2]\n"
                                            "bandwidth: [100, 25]\nlatency: [500, 1000]\n");
  for (const bool all_ranks : {false, true}) {
    const std::string job = generated(all_ranks);
    ASSERT_TRUE(obfuscate_job(options(job, job + ".out")));
    for (const char* device : {"", "H100-SXM"}) {
      std::array<Picoseconds, 2> times{};
      for (const bool hidden : {false, true}) {
        job::SimulateOptions o;
        o.path = hidden ? job + ".out" : job;
        o.network = network;
        o.devices.device = device;
        const auto simulated = job::simulate_job(o);
        ASSERT_TRUE(simulated) << simulated.error().message();
        times[hidden] = simulated->report.makespan_ps;
      }
      EXPECT_GT(times[0], 0);
      EXPECT_EQ(times[0], times[1]) << device;
    }
  }
}

}  // namespace
}  // namespace chakra::share
