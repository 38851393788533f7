// Programs of torch.compile: a sample with a known graph, groups of another number of ranks, and hostile files.
#include <fmt/core.h>

#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/testing/testing.h"

namespace chakra::foreign {
namespace {

using testing::read_memory;
using testing::tag_of_memory;
using trace::CommType;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Parts of a program, to be changed one at a time.
struct Sample {
  std::string version = "1", world = "4", rank = "0";
  std::string mesh = R"([{"name": "dp", "size": 2}, {"name": "tp", "size": 2}])";
  std::string groups = R"([{"name": "1", "ranks": [0, 2], "exact": true, "dims": ["dp"]},
    {"name": "3", "ranks": [0, 1], "exact": true, "dims": ["tp"]}])";
  std::string parameters = R"([{"name": "w", "shape": [64, 32], "dtype": "bfloat16", "placements": {"tp": "Shard"}}])";
  std::string nodes = R"({"id": 0, "name": "t", "op": "aten::t", "phase": "forward", "view": true},
{"id": 1, "name": "mm", "op": "aten::mm", "phase": "forward", "module": "mlp.up", "inputs":
 {"shapes": [[8, 64], [64, 32]], "types": ["bfloat16", "bfloat16"], "strides": [[64, 1], [1, 64]], "values": ["", ""]},
 "outputs": {"shapes": [[8, 32]], "types": ["bfloat16"], "strides": [[32, 1]]}},
{"id": 2, "name": "all_gather", "op": "_c10d_functional::all_gather_into_tensor", "phase": "forward",
 "deps": [1], "group": "3", "inputs":
 {"shapes": [[8, 32], [], []], "types": ["bfloat16", "", ""], "values": ["", 2, "3"]}},
{"id": 3, "name": "relu", "op": "aten::relu", "phase": "forward", "deps": [1],
 "inputs": {"shapes": [[8, 32]], "types": ["bfloat16"]}},
{"id": 4, "name": "odd", "op": "my::operator", "phase": "forward", "inputs": {"shapes": [[8]], "types": ["bfloat16"]}},
{"id": 5, "name": "wait", "op": "_c10d_functional::wait_tensor", "phase": "forward", "deps": [2]},
{"id": 6, "name": "wait_1", "op": "_c10d_functional::wait_tensor", "phase": "forward", "deps": [5]},
{"id": 7, "name": "add", "op": "aten::add", "phase": "backward", "deps": [6, 3, 6],
 "inputs": {"shapes": [[16, 32], [16, 32], []], "types": ["bfloat16", "bfloat16", ""], "values": ["", "", 1]}},
{"id": 8, "name": "all_reduce", "op": "_c10d_functional::all_reduce_coalesced", "phase": "backward",
 "deps": [7, 4], "group": "1", "inputs": {"shapes": [[[8, 32], [4]], [], []],
 "types": ["GenericList[Tensor(float32)]", "", ""], "values": ["", "sum", "1"]}})";

  std::string text() const {
    return fmt::format(
        "{{\"chakra_torch_program\": {}, \"torch\": \"2.10\", \"world_size\": {}, \"rank\": {}, \"mesh\": {}, "
        "\"groups\": {}, \"parameters\": {}, \"nodes\": [{}]}}",
        version, world, rank, mesh, groups, parameters, nodes);
  }
};

/// The tag of the sample after a change of one part.
std::string tag_with(std::string Sample::*part, std::string_view value, const Options& options = {}) {
  Sample sample;
  sample.*part = value;
  return tag_of_memory("torch", sample.text(), options);
}
std::string tag_with_node(std::string_view node) { return tag_with(&Sample::nodes, node); }

Options ranks(int64_t number) {
  Options options;
  options.num_npus = number;
  return options;
}
Options dims(std::vector<int64_t> sizes) {
  Options options;
  options.dims = std::move(sizes);
  return options;
}

std::vector<std::pair<uint64_t, EdgeKind>> edges_of(const Trace& t, uint32_t node) {
  std::vector<std::pair<uint64_t, EdgeKind>> edges;
  for (uint32_t e = t.deps.begin[node]; e < t.deps.begin[node + 1]; ++e)
    edges.emplace_back(t.id[t.deps.node[e]], trace::kind_of(t.deps.kind[e]));
  return edges;
}

TEST(TorchProgram, ReadsWorkCollectivesAndEdges) {
  Findings findings;
  const auto job = read_memory("torch", Sample().text(), {}, &findings);
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 4U);
  const Trace& t = job->ranks[3].rank == 3 ? job->ranks[3] : job->ranks[0];
  ASSERT_EQ(t.size(), 6U);  // neither the view nor the waits
  EXPECT_EQ(std::vector(t.id.listed().begin(), t.id.listed().end()), (std::vector<uint64_t>{1, 2, 3, 4, 7, 8}));
  EXPECT_EQ(t.num_ops[0], 2U * 8 * 64 * 32);
  EXPECT_EQ(t.tensor_bytes[0], 2U * (8 * 64 + 64 * 32 + 8 * 32));
  EXPECT_EQ(t.dtype_of(NodeId(0)), trace::DType::bf16);
  std::map<std::string, std::string> attrs;
  for (const trace::Attr& attr : t.attrs_of(NodeId(0))) attrs[std::string(t.strings[attr.name])] = attr.text().value();
  EXPECT_EQ(attrs, (std::map<std::string, std::string>{
                       {"kernel", "gemm:8,32,64"}, {"module", "mlp.up"}, {"phase", "forward"}}));
  EXPECT_EQ(t.comm(NodeId(1))->type, CommType::all_gather);
  EXPECT_EQ(t.comm(NodeId(1))->bytes, 8U * 32 * 2);
  EXPECT_EQ(t.strings[t.comm(NodeId(1))->dtype], "BFloat16");
  EXPECT_EQ(t.comm(NodeId(5))->type, CommType::all_reduce);
  EXPECT_EQ(t.comm(NodeId(5))->bytes, 4U * (8 * 32 + 4));
  EXPECT_EQ(t.strings[t.comm(NodeId(5))->group], "dp.1");  // of ranks 1 and 3
  using Edges = std::vector<std::pair<uint64_t, EdgeKind>>;
  EXPECT_EQ(edges_of(t, 1), (Edges{{1, EdgeKind::data}}));
  EXPECT_EQ(edges_of(t, 2), (Edges{{1, EdgeKind::data}}));
  EXPECT_EQ(edges_of(t, 3), (Edges{{3, EdgeKind::stream}}));
  EXPECT_EQ(edges_of(t, 4), (Edges{{2, EdgeKind::comm}, {3, EdgeKind::data}, {4, EdgeKind::stream}}));
  EXPECT_EQ(edges_of(t, 5), (Edges{{4, EdgeKind::data}, {7, EdgeKind::data}}));
  ASSERT_EQ(t.groups.size(), 2U);
  EXPECT_EQ(t.groups[0].ranks, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(t.groups[1].ranks, (std::vector<int64_t>{1, 3}));
  std::set<std::string> tags;
  for (const Finding& f : findings) tags.insert(f.tag);
  EXPECT_EQ(tags, (std::set<std::string>{"foreign.torch.unknown"}));
}

TEST(TorchProgram, GrowsAlongDataParallelDimensions) {
  Sample eight;
  eight.world = "8";
  eight.mesh = R"([{"name": "dp", "size": 4}, {"name": "tp", "size": 2}])";
  eight.groups = R"([{"name": "a", "ranks": [0, 2, 4, 6], "exact": true, "dims": ["dp"]},
                     {"name": "b", "ranks": [0, 1], "exact": true, "dims": ["tp"]}])";
  for (const auto& [from, to] : {std::pair("\"1\"", "\"a\""), std::pair("\"3\"", "\"b\"")})
    for (size_t at = 0; (at = eight.nodes.find(from, at)) != std::string::npos; ++at)
      if (eight.nodes.compare(at - 9, 9, "\"group\": ") == 0) eight.nodes.replace(at, 3, to);
  const auto expected = read_memory("torch", eight.text());
  ASSERT_TRUE(expected) << expected.error().message();
  for (const Options& options : {ranks(8), dims({2, 4})}) {
    const auto grown = read_memory("torch", Sample().text(), options);
    ASSERT_TRUE(grown) << grown.error().message();
    EXPECT_EQ(testing::difference_of(*grown, *expected), "");
  }
  EXPECT_EQ(tag_of_memory("torch", Sample().text(), ranks(2)), "");  // a group of one rank is left
}

TEST(TorchProgram, RefusesOtherGrowth) {
  const std::string text = Sample().text();
  EXPECT_EQ(tag_of_memory("torch", text, ranks(7)), "foreign.torch.retarget");      // no multiple of tp
  EXPECT_EQ(tag_of_memory("torch", text, dims({4, 2})), "foreign.torch.retarget");  // tp
  EXPECT_EQ(tag_of_memory("torch", text, dims({2})), "foreign.torch.retarget");
  Options both = dims({2, 4});
  both.num_npus = 6;
  EXPECT_EQ(tag_of_memory("torch", text, both), "foreign.torch.retarget");
  EXPECT_EQ(tag_of_memory("torch", text, ranks(1 << 20)), "foreign.large");
  const auto grow = [](std::string Sample::*part, std::string_view value) { return tag_with(part, value, ranks(8)); };
  constexpr std::string_view kParameter =
      R"([{{"name": "w", "shape": [1], "dtype": "float32", "placements": {{"dp": "{}"}}}}])";
  EXPECT_EQ(grow(&Sample::parameters, fmt::format(kParameter, "Replicate")), "");
  EXPECT_EQ(grow(&Sample::parameters, fmt::format(kParameter, "Shard")), "foreign.torch.retarget");
  EXPECT_EQ(grow(&Sample::mesh, R"([{"name": "x", "size": 2}, {"name": "tp", "size": 2}])"), "foreign.torch.group");
  // Two dimensions of data parallelism.
  Sample two;
  two.mesh = R"([{"name": "dp", "size": 2}, {"name": "dp_shard", "size": 2}])";
  two.groups.replace(two.groups.find("\"tp\""), 4, "\"dp_shard\"");
  EXPECT_EQ(tag_of_memory("torch", two.text(), ranks(8)), "foreign.torch.retarget");
  EXPECT_EQ(tag_of_memory("torch", two.text(), dims({2, 4})), "");
  EXPECT_EQ(tag_of_memory("torch", two.text(), dims({4, 2})), "foreign.torch.retarget");  // an all-gather is along it
}

TEST(TorchProgram, GrowsFromOneRankOnlyIfTheProgramCommunicates) {
  Sample one;
  one.world = "2";
  one.mesh = R"([{"name": "dp", "size": 1}, {"name": "tp", "size": 2}])";
  one.groups.replace(one.groups.find("[0, 2]"), 6, "[0]");
  EXPECT_EQ(tag_of_memory("torch", one.text(), ranks(8)), "");
  Sample replicated = one;
  replicated.parameters.replace(replicated.parameters.find("\"tp\": \"Shard\""), 13, R"("dp": "Replicate")");
  EXPECT_EQ(tag_of_memory("torch", replicated.text(), ranks(8)), "foreign.torch.retarget");
  Sample unclear = one;  // the group of all ranks may be that of tp
  unclear.groups.replace(unclear.groups.rfind("\"exact\": true"), 13, "\"exact\": false");
  EXPECT_EQ(tag_of_memory("torch", unclear.text(), {}), "");
  EXPECT_EQ(tag_of_memory("torch", unclear.text(), ranks(8)), "foreign.torch.retarget");
  Sample silent = one;
  silent.nodes = silent.nodes.substr(0, silent.nodes.find(",\n{\"id\": 8"));
  EXPECT_EQ(tag_of_memory("torch", silent.text(), ranks(8)), "foreign.torch.retarget");
}

TEST(TorchProgram, NamesEveryOperatorThatIsMissingOrHasNoFormula) {
  Sample sample;
  for (int i = 0; i < 12; ++i)
    sample.nodes += fmt::format(",\n{{\"id\": {}, \"name\": \"x\", \"op\": \"my::op{:02}\"}}", 9 + i, i);
  std::string text = sample.text();
  text.insert(text.find("\"mesh\""), R"("outside": {"aten::add": 3, "aten::mm": 1}, )");
  Findings findings;
  ASSERT_TRUE(read_memory("torch", text, {}, &findings));
  std::string all;
  for (const Finding& f : findings) all += f.tag + ": " + f.text + "\n";
  for (const char* part : {"foreign.torch.unknown: 13 nodes", "my::op11 (1)", "my::operator (1)",
                           "foreign.torch.outside: 4 operators", "aten::add (3), aten::mm (1)"})
    EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
  const auto with_outside = [&](std::string_view value) {
    std::string changed = text;
    changed.replace(changed.find("{\"aten::add"), std::string_view(R"({"aten::add": 3, "aten::mm": 1})").size(), value);
    return tag_of_memory("torch", changed);
  };
  EXPECT_EQ(with_outside("{}"), "");
  EXPECT_EQ(with_outside("[1]"), "");  // no names
  EXPECT_EQ(with_outside(R"({"x": 0})"), "foreign.json.field");
  EXPECT_NE(with_outside(R"({"x": "y"})"), "");
}

TEST(TorchProgram, RefusesByTag) {
  EXPECT_EQ(tag_with(&Sample::version, "2"), "foreign.torch.version");
  EXPECT_EQ(tag_with(&Sample::world, "5"), "foreign.torch.mesh");
  EXPECT_EQ(tag_with(&Sample::rank, "4"), "foreign.torch.mesh");
  EXPECT_EQ(tag_with(&Sample::rank, "1"), "foreign.torch.group");  // not its groups
  EXPECT_EQ(tag_with(&Sample::rank, "\"x\""), "base.spec.type");
  EXPECT_EQ(tag_with(&Sample::mesh, "[]"), "foreign.torch.mesh");
  EXPECT_EQ(tag_with(&Sample::mesh, R"([{"name": "", "size": 4}])"), "foreign.torch.mesh");
  EXPECT_EQ(tag_with(&Sample::mesh, R"([{"name": "a", "size": 2}, {"name": "a", "size": 2}])"), "foreign.torch.mesh");
  EXPECT_EQ(tag_with(&Sample::mesh, R"([{"name": "a", "size": 4294967296}, {"name": "b", "size": 4294967296}])"),
            "foreign.large");
  EXPECT_EQ(tag_with(&Sample::mesh, R"([{"name": "a", "size": -4}])"), "foreign.large");
  EXPECT_EQ(tag_with(&Sample::mesh, R"([{"name": "a"}])"), "foreign.json.field");
  EXPECT_EQ(tag_with(&Sample::mesh, R"({"name": "a"})"), "foreign.json.field");
  EXPECT_EQ(tag_with(&Sample::groups, "[]"), "foreign.torch.group");
  EXPECT_EQ(tag_with(&Sample::groups, "[7]"), "foreign.json.field");
  EXPECT_EQ(tag_with(&Sample::parameters, R"([{"name": "w", "shape": [-1], "dtype": "float32"}])"),
            "foreign.torch.shape");
  EXPECT_EQ(tag_with(&Sample::parameters, R"([{"name": "w", "shape": [9223372036854775807, 9], "dtype": "float32"}])"),
            "");
  EXPECT_EQ(tag_with_node(""), "foreign.json.empty");
  EXPECT_EQ(tag_with_node("7"), "foreign.json.syntax");
  EXPECT_EQ(tag_with_node(R"({"id": 0})"), "foreign.json.field");
  EXPECT_EQ(tag_with_node(R"({"id": 0, "op": 7})"), "foreign.json.field");
  EXPECT_EQ(tag_with_node(R"({"id": 0, "op": "aten::relu"})"), "");  // without shapes: unknown work
  EXPECT_EQ(tag_with_node(R"({"id": 1, "op": "aten::relu"})"), "foreign.torch.id");
  EXPECT_EQ(tag_with_node(R"({"op": "aten::relu"})"), "foreign.torch.id");
  EXPECT_EQ(tag_with_node(R"({"id": 0, "op": "aten::relu", "deps": [0]})"), "foreign.torch.dep");  // no cycles
  EXPECT_EQ(tag_with_node(R"({"id": 0, "op": "aten::t", "view": true}, {"id": 1, "op": "aten::relu", "deps": [0]})"),
            "foreign.torch.dep");
  EXPECT_EQ(tag_with_node(R"({"id": 0, "op": "aten::relu"}, {"id": 1, "op": "aten::relu"},
                             {"id": 2, "op": "_c10d_functional::wait_tensor", "deps": [0, 1]})"),
            "foreign.torch.dep");
  for (const char* shape : {"[9223372036854775807, 9]", "[-1]", "[1e9]", "[\"x\"]"})
    EXPECT_EQ(tag_with_node(fmt::format(
                  R"({{"id": 0, "op": "aten::relu", "inputs": {{"shapes": [{}], "types": ["float32"]}}}})", shape)),
              "foreign.torch.shape")
        << shape;
}

TEST(TorchProgram, NeverTakesCommunicationForComputation) {
  const auto collective = [](std::string_view op, std::string_view rest) {
    return tag_with_node(fmt::format(R"({{"id": 0, "op": "{}", {}}})", op, rest));
  };
  constexpr std::string_view kData = R"("group": "1", "inputs": {"shapes": [[8]], "types": ["float32"]})";
  EXPECT_EQ(collective("_c10d_functional::all_reduce", kData), "");
  EXPECT_EQ(collective("_c10d_functional_autograd::all_to_all_single", kData), "");
  EXPECT_EQ(collective("_dtensor::shard_dim_alltoall", kData), "");
  EXPECT_EQ(collective("_c10d_functional::broadcast", kData), "foreign.torch.collective");
  EXPECT_EQ(collective("_c10d_functional::all_reduc", kData), "foreign.torch.collective");
  EXPECT_EQ(collective("c10d::send", R"("phase": "x")"), "foreign.torch.collective");
  EXPECT_EQ(collective("symm_mem::fused_all_gather_matmul", R"("phase": "x")"), "foreign.torch.collective");
  EXPECT_EQ(collective("my::operator", R"("group": "1")"), "foreign.torch.collective");
  EXPECT_EQ(collective("fsdp::all_gather_copy_in", R"("phase": "x")"), "");
  EXPECT_EQ(collective("fsdp::other", R"("phase": "x")"), "foreign.torch.collective");
  EXPECT_EQ(collective("_c10d_functional::all_reduce", R"("group": "1")"), "foreign.torch.collective");
  EXPECT_EQ(collective("_c10d_functional::all_reduce", R"("inputs": {"shapes": [[8]], "types": ["float32"]})"),
            "foreign.torch.collective");
  EXPECT_EQ(
      collective("_c10d_functional::all_reduce", R"("group": "1", "inputs": {"shapes": [[8]], "types": ["float3"]})"),
      "foreign.torch.collective");
  const auto splits = [&](std::string_view list) {
    return collective(
        "_c10d_functional::all_to_all_single",
        fmt::format(R"("group": "1", "inputs": {{"shapes": [[8], [], [], []], "types": ["float32", "", "", ""],
                                     "values": ["", {}, [4, 4], "1"]}})",
                    list));
  };
  EXPECT_EQ(splits("[4, 4]"), "");
  EXPECT_EQ(splits("[]"), "");
  EXPECT_EQ(splits("[3, 5]"), "foreign.torch.uneven");
}

TEST(TorchProgram, RefusesEveryPrefix) {
  const std::string text = Sample().text();
  testing::expect_prefixes_refused("torch", text, text.size());
  EXPECT_EQ(form_of(text)->name, "torch");
}

}  // namespace
}  // namespace chakra::foreign
