// The two JSON forms on samples with a known graph, on mlcommons/chakra's own, and cut anywhere; and the recognition of
// each form.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/testing/testing.h"

namespace chakra::foreign {
namespace {

using testing::read_memory;
using testing::tag_of_memory;
using trace::CommType;
using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr std::string_view kFeeder = R"({"workload_name": "x", "workload_graph": [
  {"Id": 5, "Name": "a", "NodeType": 4, "is_cpu_op": true, "runtime": 3, "data_deps": [], "ctrlDeps": []},
  {"Id": 7, "Name": "c", "NodeType": 7, "is_cpu_op": false, "data_deps": [5, 6], "ctrlDeps": [5], "comm_type": 2,
   "comm_size": 64, "comm_priority": 1, "pg_name": "2", "extra": 1.5},
  {"Id": 6, "Name": "b\u0020b", "NodeType": 2, "is_cpu_op": 0, "runtime": 0.25, "data_deps": [5], "tensor_size": 99},
  {"Id": 8, "Name": "s", "NodeType": 5, "data_deps": [7, 7777], "comm_src": 0, "comm_dst": 1, "comm_tag": 4,
      "comm_size": 8}
]})";

TEST(FeederJson, ReadsWhatTheFormHolds) {
  Findings findings;
  const auto job = read_memory("feeder-json", kFeeder, {}, &findings);
  ASSERT_TRUE(job) << job.error().message();
  const Trace& t = job->ranks[0];
  ASSERT_EQ(t.size(), 4U);
  EXPECT_EQ(t.rank, 0);
  EXPECT_EQ(std::vector(t.id.listed().begin(), t.id.listed().end()), (std::vector<uint64_t>{5, 7, 6, 8}));
  EXPECT_EQ(t.name_of(NodeId(2)), "b b");
  EXPECT_EQ(t.dur_ps[0], 3 * kPsPerUs);
  EXPECT_EQ(t.dur_ps[2], 250 * kPsPerNs);
  EXPECT_EQ(t.type[1], NodeType::coll);
  EXPECT_EQ(t.type[2], NodeType::mem_load);
  EXPECT_TRUE(t.on_cpu(NodeId(0)));
  EXPECT_FALSE(t.on_cpu(NodeId(1)));
  EXPECT_EQ(t.comm(NodeId(1))->type, CommType::all_gather);
  EXPECT_EQ(t.comm(NodeId(1))->bytes, 64U);
  EXPECT_EQ(t.comm(NodeId(1))->priority, 1);
  EXPECT_EQ(t.strings[t.comm(NodeId(1))->group], "2");
  EXPECT_EQ(t.comm(NodeId(3))->dst, 1);
  EXPECT_EQ(t.comm(NodeId(3))->tag, 4);
  EXPECT_EQ(t.tensor_bytes[2], 99U);
  const auto deps = t.deps.of(NodeId(1));
  EXPECT_EQ(std::vector<NodeId>(deps.begin(), deps.end()), (std::vector<NodeId>{NodeId(0), NodeId(2)}));
  EXPECT_EQ(t.ctrl.of(NodeId(1))[0], 0U);
  const auto attr = *t.attrs_of(NodeId(1)).begin();
  EXPECT_EQ(t.strings[attr.name], "extra");
  EXPECT_EQ(std::get<double>(attr.value), 1.5);
  std::set<std::string> tags;
  for (const Finding& f : findings) tags.insert(f.tag);
  EXPECT_EQ(tags, (std::set<std::string>{"foreign.json.dangling", "foreign.json.unused"}));
}

TEST(FeederJson, DoesNotDeadlockWhereThePeerDoes) {  // a node with two parents
  const auto job = read_memory("feeder-json", R"({"workload_graph": [
    {"Id": 0, "NodeType": 4}, {"Id": 1, "NodeType": 4, "data_deps": [0]}, {"Id": 2, "NodeType": 4, "data_deps": [0]},
    {"Id": 3, "NodeType": 4, "data_deps": [1, 2]}]})");
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(trace::topological_order(job->ranks[0].deps).order.size(), 4U);
}

TEST(FeederJson, RefusesByTag) {
  const auto one = [](std::string_view fields) { return fmt::format(R"({{"workload_graph": [{{{}}}]}})", fields); };
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 4)")), "");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("NodeType": 4)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": -1, "NodeType": 4)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 9)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 7, "comm_type": 99)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 4, "runtime": -1)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 4, "runtime": 1e300)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 4, "data_deps": 3)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", one(R"("Id": 1, "NodeType": 4, "is_cpu_op": "maybe")")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("feeder-json", R"({"workload_graph": []})"), "foreign.json.empty");
  EXPECT_EQ(tag_of_memory("feeder-json", R"({"workload_graph": [3]})"), "foreign.json.syntax");
  EXPECT_EQ(tag_of_memory("feeder-json", R"({"workload_graph": [{"Id": 1, "NodeType": 4}, {"Id": 1,
      "NodeType": 4}]})"),
            "foreign.json.duplicate");
  EXPECT_EQ(tag_of_memory("feeder-json", ""), "foreign.json.empty");
}

constexpr std::string_view kLinked = R"json({
  "schema": "1.1.0-chakra.0.0.4", "pid": 17, "time": "2024-01-01 00:00:00", "start_ts": 5,
  "nodes": [
    {"id": 0, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 0, "inputs": {"values": [],
      "shapes": [], "types": []},
     "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
    {"id": 1, "name": "## process_group:init ##", "ctrl_deps": 0,
     "inputs": {"values": ["[{\"pg_name\": \"3\", \"pg_desc\": \"tp\", \"ranks\": [0, 1], \"group_size\": 2}]"],
      "shapes": [[]], "types": ["String"]},
     "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
    {"id": 2, "name": "aten::mm", "ctrl_deps": 0,
     "inputs": {"values": [[4, 5, 0, 6, 4, "cuda:0"], true, null, 1.0, "it's"], "shapes": [[2, 3], [], [], [], []],
                "types": ["Tensor(float)", "Bool", "None", "Double", "String"]},
     "outputs": {"values": [], "shapes": [], "types": []},
     "attrs": [{"name": "rf_id", "type": "uint64", "value": 3}, {"name": "tid", "type": "uint64", "value": 1},
               {"name": "op_schema", "type": "string", "value": "aten::mm(Tensor)"}],
     "inclusive_dur": 9.5, "exclusive_dur": 7.25, "ts": 1000.125, "inter_thread_dep": null},
    {"id": 3, "name": "gemm", "ctrl_deps": 2, "inputs": {}, "outputs": {}, "attrs": [{"name": "tid",
      "type": "uint64", "value": 1}],
     "inclusive_dur": 20, "exclusive_dur": 20, "ts": 1005, "cat": "kernel", "ph": "X", "stream": 7},
    {"id": 4, "name": "record_param_comms", "ctrl_deps": 0, "inputs": {}, "outputs": {},
     "attrs": [{"name": "tid", "type": "uint64", "value": 2}], "exclusive_dur": 1, "ts": 1002, "inter_thread_dep": 2},
    {"id": 5, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ctrl_deps": 4,
     "inputs": {"values": [[[8, 9, 0, 100, 4, "cuda:0"], [10, 11, 0, 50, 4, "cuda:0"]], 7, [1, 2, 3, 4, 5, 6]],
                "shapes": [], "types": ["GenericList[Tensor(float),Tensor(float)]", "Int", "GenericList[]"]},
     "outputs": {}, "attrs": [{"name": "pg_name", "type": "string", "value": "3"}],
     "exclusive_dur": 30, "ts": 1030, "cat": "kernel", "ph": "X", "stream": 7},
    {"id": 6, "name": "cudaDeviceSynchronize", "ctrl_deps": 0, "inputs": {}, "outputs": {},
     "attrs": [{"name": "tid", "type": "uint64", "value": 1}], "exclusive_dur": 2, "ts": 1062, "sync_dep": [5, 3, 99]}
  ], "finish_ts": 9})json";

TEST(LinkedJson, ReadsNodesTimesAndEdges) {
  Findings findings;
  const auto job = read_memory("linked-json", kLinked, {}, &findings);
  ASSERT_TRUE(job) << job.error().message();
  const Trace& t = job->ranks[0];
  ASSERT_EQ(t.size(), 7U);
  EXPECT_EQ(t.type[1], NodeType::metadata);
  ASSERT_EQ(t.groups.size(), 1U);
  EXPECT_EQ(t.groups[0].ranks, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(t.dur_ps[2], 7250 * kPsPerNs);
  EXPECT_EQ(t.base_ns, 1000125);
  EXPECT_EQ(t.start_ps[3], 4875 * kPsPerNs);
  EXPECT_FALSE(t.has_start(NodeId(0)));
  EXPECT_EQ(trace::Io(t.ios[t.io_row[2]]).inputs.values, "[[4, 5, 0, 6, 4, 'cuda:0'], True, None, 1.0, \"it's\"]");
  EXPECT_TRUE(t.on_cpu(NodeId(2)));
  EXPECT_TRUE(t.on_device(NodeId(3)));
  EXPECT_EQ(t.type[5], NodeType::coll);
  EXPECT_EQ(t.comm(NodeId(5))->type, CommType::all_reduce);
  EXPECT_EQ(t.comm(NodeId(5))->bytes, 600U);  // the tensors of the list, not the list of six numbers
  EXPECT_EQ(t.strings[t.comm(NodeId(5))->group], "3");
  const auto edges = [&](uint32_t n) {
    std::set<std::pair<uint32_t, EdgeKind>> out;
    for (size_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
      out.emplace(t.deps.node[e], trace::kind_of(t.deps.kind[e]));
    return out;
  };
  using Edges = std::set<std::pair<uint32_t, EdgeKind>>;
  EXPECT_EQ(edges(2), (Edges{{0, EdgeKind::program}}));
  EXPECT_EQ(edges(3), (Edges{{2, EdgeKind::launch}}));
  EXPECT_EQ(edges(4), (Edges{{2, EdgeKind::thread}}));
  EXPECT_EQ(edges(5), (Edges{{4, EdgeKind::launch}, {3, EdgeKind::stream}}));
  EXPECT_EQ(edges(6),
            (Edges{{2, EdgeKind::program}, {3, EdgeKind::sync}, {5, EdgeKind::sync}}));  // mlcommons/chakra loses these
  EXPECT_EQ(t.ctrl.of(NodeId(3))[0], 2U);
  EXPECT_TRUE(t.ctrl.of(NodeId(0)).empty());  // the root's caller is itself
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tag, "foreign.json.late_dep");  // on 99
}

TEST(LinkedJson, RefusesByTag) {
  const auto one = [](std::string_view fields) { return fmt::format(R"({{"nodes": [{{{}}}]}})", fields); };
  EXPECT_EQ(tag_of_memory("linked-json", one(R"("id": 1, "name": "a")")), "");
  EXPECT_EQ(tag_of_memory("linked-json", one(R"("name": "a")")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("linked-json", one(R"("id": 1, "ts": "noon")")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("linked-json", one(R"("id": 1, "exclusive_dur": -5)")), "foreign.json.field");
  EXPECT_EQ(tag_of_memory("linked-json", R"({"nodes": [{"id": 1, "ts": 0}, {"id": 2, "ts": 9000000000000000}]})"),
            "foreign.json.range");
  EXPECT_EQ(tag_of_memory("linked-json", R"({"nodes": [{"id": 1}, {"id": 1}]})"), "foreign.json.duplicate");
  // A CPU operator that waits for a kernel that a later one launched, which says it started earlier.
  const std::string_view cycle = R"({"nodes": [{"id": 1, "ts": 10, "sync_dep": [3]}, {"id": 2, "ts": 11},
    {"id": 3, "ctrl_deps": 2, "cat": "kernel", "ts": 5, "stream": 1}]})";
  EXPECT_EQ(tag_of_memory("linked-json", cycle), "foreign.json.cycle");
}

TEST(Json, EveryPrefixIsRefused) {
  testing::expect_prefixes_refused("feeder-json", kFeeder, kFeeder.size());
  testing::expect_prefixes_refused("linked-json", kLinked, kLinked.size());
}

TEST(FeederJson, ReadsThePeersOwnTrace) {
  CHAKRA_NEEDS_DATA();
  chakra::testing::TemporaryFolder folder;
  chakra::testing::unpack(chakra::testing::data_folder() + "/et_proto/chakra_json_trace.tar.gz", folder.path());
  Findings findings;
  const auto job = read("", folder.path("jsonData/chakra.0.json"), {}, findings);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->ranks[0].size(), 3664U);
  EXPECT_TRUE(trace::topological_order(job->ranks[0].deps).cycle.empty());
  const auto small = read("", folder.path("jsonData/small_chakra.0.json"), {}, findings);
  ASSERT_TRUE(small) << small.error().message();
  EXPECT_EQ(small->ranks[0].size(), 7U);
}

TEST(Forms, AreToldApartByTheirBeginning) {
  const std::vector<std::pair<std::string_view, std::string_view>> samples{
      {"text", "MODEL\t\n6\n"},
      {"text", "HYBRID_CUSTOMIZED\n6\n"},
      {"flexflow", "digraph taskgraph {  node0 [label=\"{device_id=0|a|b|COMP_NODE|simulated_run_time=1}\"]"},
      {"msccl", "<!-- c --><algo name=\"a\">"},
      {"feeder-json", kFeeder},
      {"linked-json", kLinked},
      {"", ""},
      {"", "DATA"},
      {"", "DATA\nx\n"},
      {"", "digraph {}"},
      {"", "<svg/>"},
      {"", "{\"nodes\": []}"},
      {"", "{\"traceEvents\": []}"},
      {"", std::string_view("\x04\x0a\x02xy\0\0", 7)}};
  for (const auto& [form, bytes] : samples) {
    const FormRow* row = form_of(bytes);
    EXPECT_EQ(row ? row->name : "", form) << bytes;
  }
}

TEST(Forms, TableAndErrors) {
  for (const FormRow& row : kForms) {
    EXPECT_EQ(find(row.name), &row);
    const Result<std::string> text = testing::write_memory(row.name, trace::TraceSet());
    ASSERT_FALSE(text);
    const std::string expected = row.write == nullptr ? "foreign.write.none" : "foreign.write.cannot_hold";
    EXPECT_EQ(text.error().tag, expected);
  }
  EXPECT_EQ(find("FlexFlow"), find("flexflow"));
  EXPECT_EQ(tag_of_memory("nonsense", ""), "foreign.form");
  Findings findings;
  chakra::testing::TemporaryFolder folder;
  EXPECT_EQ(read("", folder.write("x.txt", "hello"), {}, findings).error().tag, "foreign.form");
  EXPECT_EQ(read("", folder.path("absent"), {}, findings).error().tag, "base.file.open");
}

}  // namespace
}  // namespace chakra::foreign
