#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "chakra/base/join.h"
#include "chakra/base/testing/testing.h"
#include "chakra/recording/comm_record.h"
#include "chakra/recording/host_trace.h"
#include "chakra/recording/json_value.h"
#include "chakra/recording/kineto.h"
#include "chakra/recording/recording.h"

namespace chakra::recording {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

// ---- values ----------------------------------------------------------------------------------------------

TEST(ParseMicros, IsExact) {
  const auto ns = [](std::string_view text) {
    int64_t value = 0;
    return parse_micros(text, value) ? value : INT64_MIN;
  };
  EXPECT_EQ(ns("4458676983543.183"), 4458676983543183);
  EXPECT_EQ(ns("1695835572943623"), 1695835572943623000);
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("-1.5"), -1500);
  EXPECT_EQ(ns("1.0005"), 1001);
  EXPECT_EQ(ns("1.00049"), 1000);
  EXPECT_EQ(ns("1.5e3"), 1'500'000);
  for (const char* wrong : {"", "-", "abc", "1.2.3", "99999999999999999999", "1e300", "9223372036854775807", "NaN"})
    EXPECT_EQ(ns(wrong), INT64_MIN) << wrong;
}

TEST(PythonRepr, IsWhatPythonPrints) {
  const auto repr = [](std::string_view json) {
    std::string out;
    append_python_repr(out, json);
    return out;
  };
  EXPECT_EQ(repr("[[7,8,0,64,4,\"cuda:0\"], [-1]]"), "[[7, 8, 0, 64, 4, 'cuda:0'], [-1]]");
  EXPECT_EQ(repr("[true, false, null, 1.0, 1e-05, 0.1, 100000000000000000000.0]"),
            "[True, False, None, 1.0, 1e-05, 0.1, 1e+20]");
  EXPECT_EQ(repr("[\"it's\", \"say \\\"x\\\"\", \"both ' and \\\"\", \"tab\\t\"]"),
            "[\"it's\", 'say \"x\"', 'both \\' and \"', 'tab\\t']");
  EXPECT_EQ(repr("[\"\\u00fc\\ud83d\\ude00\"]"), "['\xc3\xbc\xf0\x9f\x98\x80']");
  EXPECT_EQ(repr("[]"), "[]");
}

TEST(CommRecord, NamesOfAllGenerations) {
  using trace::CommType;
  using trace::NodeType;
  const auto coll = [](std::string_view name) {
    const CommKind kind = comm_kind(name);
    return kind.type == NodeType::coll ? kind.collective : CommType::unknown;
  };
  for (const char* name :
       {"all_reduce", "allreduce", "allreduce_coalesced", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce_"})
    EXPECT_EQ(coll(name), CommType::all_reduce) << name;
  for (const char* name : {"_allgather_base", "all_gather_into_tensor_coalesced", "AllGather_RING"})
    EXPECT_EQ(coll(name), CommType::all_gather) << name;
  for (const char* name : {"_reduce_scatter_base", "reduce_scatter_tensor_coalesced"})
    EXPECT_EQ(coll(name), CommType::reduce_scatter) << name;
  for (const char* name : {"all_to_all", "alltoall_base", "all_to_allv", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"})
    EXPECT_EQ(coll(name), CommType::all_to_all) << name;
  EXPECT_EQ(coll("broadcast"), CommType::broadcast);
  EXPECT_EQ(coll("reduce"), CommType::reduce);
  EXPECT_EQ(coll("gather"), CommType::gather);
  EXPECT_EQ(coll("scatter"), CommType::scatter);
  EXPECT_EQ(coll("barrier"), CommType::barrier);
  EXPECT_EQ(comm_kind("send").type, NodeType::send);
  EXPECT_EQ(comm_kind("recv").type, NodeType::recv);
  EXPECT_EQ(comm_kind("aten::mm").type, NodeType::invalid);
  EXPECT_EQ(parse_ranks("[0, 1, 12]"), (std::vector<int64_t>{0, 1, 12}));
  EXPECT_TRUE(is_host_comm("gloo:all_reduce"));
  EXPECT_FALSE(is_host_comm("nccl:all_reduce"));
}

// ---- host trace ------------------------------------------------------------------------------------------

Result<HostTrace> parse_host(const std::string& text) {
  static StringPool strings;
  static Arena texts;
  return read_host_trace(*ByteSource::from_memory(text), strings, texts);
}

std::string host_node(int id, int parent, const std::string& name = "aten::mm") {
  return fmt::format(
      "{{\"id\": {}, \"name\": \"{}\", \"ctrl_deps\": {}, \"inputs\": {{\"values\": [], \"shapes\": [], \"types\": "
      "[]}}, "
      "\"outputs\": {{\"values\": [], \"shapes\": [], \"types\": []}}, \"attrs\": [{{\"name\": \"rf_id\", \"type\": "
      "\"uint64\", \"value\": {}}}]}}",
      id, name, parent, id);
}
std::string host_document(const std::vector<std::string>& nodes) {
  return fmt::format("{{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1, \"nodes\": [{}]}}", join(nodes, ",\n"));
}
const std::string kRoot = host_node(1, 1, "[pytorch|profiler|execution_trace|process]");

TEST(HostTrace, Defects) {
  const auto tag = [](const std::vector<std::string>& nodes) { return tag_of(parse_host(host_document(nodes))); };
  EXPECT_EQ(tag({kRoot, host_node(2, 1), host_node(3, 2)}), "");
  EXPECT_EQ(tag({kRoot, host_node(2, 1), host_node(2, 1)}), "pytorch.host.duplicate_id");
  EXPECT_EQ(tag({kRoot, host_node(2, 9)}), "pytorch.host.missing_parent");
  EXPECT_EQ(tag({kRoot, host_node(2, 3), host_node(3, 2)}), "pytorch.host.parent_cycle");
  EXPECT_EQ(tag({kRoot, host_node(2, 2)}), "pytorch.host.parent_cycle");
  EXPECT_EQ(tag({"{\"id\": -2, \"name\": \"x\", \"ctrl_deps\": 1}"}), "pytorch.host.field");
  EXPECT_EQ(tag({"{\"id\": 2, \"name\": \"x\"}"}), "pytorch.host.field");
  EXPECT_EQ(tag({"{\"id\": 2, \"name\": \"x\" \"ctrl_deps\": 1}"}), "pytorch.json.syntax");
  EXPECT_EQ(tag({}), "pytorch.host.not_a_host_trace");
  EXPECT_EQ(tag_of(parse_host("{\"traceEvents\": [{\"ph\": \"X\"}]}")), "pytorch.host.not_a_host_trace");
}

TEST(HostTrace, DamageIsPlaced) {
  std::vector<std::string> nodes{kRoot};
  for (int id = 2; id < 2000; ++id) nodes.push_back(host_node(id, 1, "some::operator"));
  const std::string good = host_document(nodes);
  for (const auto& [find, put] : {std::pair("some::op", "some\xff::op"), std::pair("some::op", "some\x01::op")}) {
    std::string bad = good;
    const size_t at = bad.find(find, bad.size() / 2);
    bad.replace(at, std::string(find).size(), put);
    auto read = parse_host(bad);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().tag, "pytorch.json.encoding");
    EXPECT_NEAR(static_cast<double>(read.error().place.byte), static_cast<double>(at + 4), 64);
  }
}

TEST(HostTrace, EverySchemaThatWeHave) {
  CHAKRA_NEEDS_DATA();
  TemporaryFolder folder;
  const std::string data = chakra::testing::data_folder();
  chakra::testing::unpack(data + "/et_json/chakra_1.0.2-chakra.0.0.4.tgz", folder.path("a"));
  chakra::testing::unpack(data + "/et_json/resnet_1gpu_et_1.1.1.json.tar.gz", folder.path("b"));
  chakra::testing::unpack(data + "/pairs/dlrm_v100_8rank/dlrm_pytorch_et.tar.gz", folder.path("c"));
  struct Row {
    std::string path, schema;
    size_t nodes, ops;
  };
  for (const Row& row : {Row{folder.path("a/1.0.2-chakra.0.0.4.json"), "1.0.2-chakra.0.0.4", 263, 261 - 1},
                         Row{data + "/et_json/hoti2024_ddp2_host_rank0.json.gz", "1.0.2-chakra.0.0.4", 4801, 4798},
                         Row{data + "/et_json/resnet_1gpu_et_1.0.3.json.gz", "1.0.3-chakra.0.0.4", 14391, 14388},
                         Row{folder.path("b/resnet_1gpu_et.json"), "1.1.1-chakra.0.0.4", 14392, 14388},
                         Row{data + "/et_json/pt2_et.json.gz", "1.1.1-chakra.0.0.4", 20, 18},
                         Row{folder.path("c/dlrm_pytorch_et/dlrm_eg_0.json"), "1.0.1", 1675, 1672},
                         Row{data + "/pairs/linear_2080ti/linear_et.json.gz", "1.0.1", 931, 928}}) {
    StringPool strings;
    Arena texts;
    auto source = ByteSource::open(row.path);
    ASSERT_TRUE(source) << row.path;
    auto host = read_host_trace(std::move(*source), strings, texts);
    ASSERT_TRUE(host) << host.error().message();
    EXPECT_EQ(host->schema, row.schema);
    EXPECT_EQ(host->ops.size(), row.nodes) << row.path;
    EXPECT_EQ(host->op_count, row.ops) << row.path;
  }
}

TEST(HostTrace, CommunicationRecords) {
  CHAKRA_NEEDS_DATA();
  StringPool strings;
  Arena texts;
  auto host = read_host_trace(
      *ByteSource::open(chakra::testing::data_folder() + "/et_json/resnet_1gpu_et_1.0.3.json.gz"), strings, texts);
  ASSERT_TRUE(host);
  std::vector<CommRecord> comms;
  for (const HostOp& op : host->ops)
    if (const CommRecord* comm = host->comm(op)) comms.push_back(*comm);
  ASSERT_EQ(comms.size(), 27u);  // 21 collectives and 6 waits
  EXPECT_EQ(strings[comms[0].collective], "broadcast");
  EXPECT_EQ(strings[comms[0].group], "0");
  EXPECT_EQ(comms[0].sequence, 33);
}

// ---- damage ----------------------------------------------------------------------------------------------------

struct Damage {
  const char* what;
  bool host;
  std::string_view behind;  ///< where: behind this text, and if there is `then`, behind the next of it
  std::string_view then;
  std::string_view put;
  bool replace;  ///< the number at that place
};

const Damage kDamages[] = {
    {"not UTF-8", true, "\"name\": \"aten::", "", "\xff", false},
    {"control character", true, "\"name\": \"aten::", "", "\x01", false},
    {"line end in a string", true, "\"name\": \"aten::", "", "\n", false},
    {"id too large", true, "\"id\": ", "", "99999999999999999999999", true},
    {"rf_id too large", true, "\"rf_id\", \"type\": \"uint64\", \"value\": ", "", "99999999999999999999999", true},
    {"tid not a number", true, "\"tid\", \"type\": \"uint64\", \"value\": ", "", "NaN", true},
    {"negative parent", true, "\"ctrl_deps\": ", "", "-5", true},
    {"not UTF-8", false, "\"name\": \"aten::", "", "\xff", false},
    {"control character", false, "\"name\": \"aten::", "", "\x01", false},
    {"line end in a string", false, "\"name\": \"aten::", "", "\n", false},
    {"time too large", false, "\"cat\": \"cpu_op\"", "\"ts\": ", "99999999999999999999999", true},
    {"time not a number", false, "\"cat\": \"cpu_op\"", "\"ts\": ", "NaN", true},
    {"duration not a number", false, "\"cat\": \"cpu_op\"", "\"dur\": ", "NaN", true},
    {"negative duration", false, "\"cat\": \"cpu_op\"", "\"dur\": ", "-5", true},
    {"duration too large", false, "\"cat\": \"cpu_op\"", "\"dur\": ", "99999999999999999999999", true},
    {"id too large", false, "\"cat\": \"cpu_op\"", "\"Record function id\": ", "99999999999999999999999", true},
};

struct Read {
  std::string tag;
  int64_t byte = -1;
  size_t operators = 0;
};
Read read_text(const std::string& text, bool host, Salvage* salvage) {
  StringPool strings;
  Arena texts;
  Read read;
  const auto note = [&](const auto& result, size_t operators) {
    read.operators = operators;
    if (!result) read.tag = result.error().tag, read.byte = result.error().place.byte;
  };
  if (host) {
    const auto trace = read_host_trace(*ByteSource::from_memory(text), strings, texts, salvage);
    note(trace, trace ? trace->ops.size() : 0);
  } else {
    const auto trace = read_kineto(*ByteSource::from_memory(text), strings, texts, nullptr, salvage);
    note(trace, trace ? trace->ops.size() : 0);
  }
  return read;
}

TEST(Damage, InALongMemberHasItsPlace) {
  for (const std::string bad : {"\xff", "\x01"}) {
    const std::string text =
        "{\"deviceProperties\": [{\"name\": \"" + std::string(5000, 'x') + bad + "\"}], \"traceEvents\": []}";
    const Read read = read_text(text, false, nullptr);
    EXPECT_EQ(read.tag, "pytorch.json.encoding");
    EXPECT_EQ(read.byte, static_cast<int64_t>(text.find(bad)));
  }
}

TEST(Damage, HasItsPlaceAndTheRestCanBeSalvaged) {
  constexpr int64_t kNear = 64;
  Prng random(7);
  const std::string folder = "examples/traces/ddp_gloo_2ranks/";
  const std::string host = ::chakra::testing::must_read(folder + "host.0.json.gz");
  const std::string device = ::chakra::testing::must_read(folder + "device.0.json.gz");
  const size_t host_ops = read_text(host, true, nullptr).operators;
  const size_t device_ops = read_text(device, false, nullptr).operators;
  ASSERT_GT(host_ops, 8000u);
  ASSERT_GT(device_ops, 8000u);
  for (const Damage& damage : kDamages)
    for (int round = 0; round < 5; ++round) {
      const std::string& whole = damage.host ? host : device;
      size_t at = whole.find(damage.behind, random.below(whole.size() * 9 / 10));
      ASSERT_NE(at, std::string::npos) << damage.what;
      at += damage.behind.size();
      if (!damage.then.empty()) at = whole.find(damage.then, at) + damage.then.size();
      const size_t end = damage.replace ? whole.find_first_not_of("0123456789.", at) : at;
      const std::string text = whole.substr(0, at) + std::string(damage.put) + whole.substr(end);
      SCOPED_TRACE(fmt::format("{} {}, byte {}", damage.host ? "host trace:" : "Kineto trace:", damage.what, at));
      const Read read = read_text(text, damage.host, nullptr);
      EXPECT_TRUE(read.tag.starts_with("pytorch.")) << read.tag;
      EXPECT_LE(std::abs(read.byte - static_cast<int64_t>(at)), kNear);
      Salvage salvage;
      const Read rest = read_text(text, damage.host, &salvage);
      EXPECT_EQ(rest.tag, "");
      EXPECT_EQ(salvage.left_out, 1);
      EXPECT_EQ(rest.operators + 1, damage.host ? host_ops : device_ops);
    }
  for (const std::string* whole : {&host, &device})  // a file that ends too early
    for (int round = 0; round < 5; ++round) {
      const size_t at = whole->size() / 10 + random.below(whole->size() * 8 / 10);
      const std::string text = whole->substr(0, at);
      const Read read = read_text(text, whole == &host, nullptr);
      EXPECT_EQ(read.tag, "pytorch.json.truncated");
      EXPECT_LE(std::abs(read.byte - static_cast<int64_t>(at)), kNear);
      Salvage salvage;
      const Read rest = read_text(text, whole == &host, &salvage);
      EXPECT_EQ(rest.tag, "");
      EXPECT_GT(rest.operators, 0u);
    }
}

// ---- Kineto ----------------------------------------------------------------------------------------------

Result<Profile> parse_kineto(const std::string& events, const std::string& more = "") {
  static StringPool strings;
  static Arena texts;
  const std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]" + more + "}";
  return read_kineto(*ByteSource::from_memory(text), strings, texts);
}

TEST(KinetoTrace, Defects) {
  const auto event = [](const char* ts, const char* dur) {
    return fmt::format(
        "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"x\", \"pid\": 1, \"tid\": 1, \"ts\": {}, \"dur\": {}}}", ts,
        dur);
  };
  EXPECT_EQ(tag_of(parse_kineto(event("1", "2"))), "");
  EXPECT_EQ(tag_of(parse_kineto(event("1", "-2"))), "pytorch.kineto.time");
  EXPECT_EQ(tag_of(parse_kineto(event("\"late\"", "2"))), "pytorch.kineto.time");
  EXPECT_EQ(tag_of(parse_kineto(event("9223372036854775", "9223372036854775"))), "pytorch.kineto.time");
  EXPECT_EQ(tag_of(parse_kineto(event("1e400", "2"))), "pytorch.kineto.time");
  EXPECT_EQ(tag_of(parse_kineto(event("NaN", "2"))).starts_with("pytorch."), true);
  EXPECT_EQ(tag_of(parse_kineto("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"x\"}")), "pytorch.kineto.time");
  StringPool strings;
  Arena texts;
  const auto tag = [&](const char* text) {
    return tag_of(read_kineto(*ByteSource::from_memory(text), strings, texts));
  };
  EXPECT_EQ(tag("{\"nodes\": []}"), "pytorch.kineto.not_a_kineto_trace");
  EXPECT_EQ(tag("{\"schemaVersion\": 1, \"deviceProperties\": []}"), "pytorch.kineto.not_a_kineto_trace");
  EXPECT_EQ(tag("{\"traceEvents\": 5}"), "pytorch.kineto.not_a_kineto_trace");
  EXPECT_EQ(tag("{\"schemaVersion\": 1, \"traceEvents\": []}"), "");
}

TEST(KinetoTrace, NegativeProcessesAreTexts) {
  for (const char* pid : {"-1", "-2", "-2147483648", "-9223372036854775808", "\"Profiler\""}) {
    StringPool strings;
    Arena texts;
    const auto op = [](std::string_view process) {
      return fmt::format(R"({{"ph": "X", "cat": "cpu_op", "name": "x", "pid": {}, "tid": 1, "ts": 1, "dur": 1}})",
                         process);
    };
    const std::string text = fmt::format(R"({{"schemaVersion": 1, "traceEvents": [{}, {}]}})", op("7"), op(pid));
    const auto read = read_recording(std::nullopt, *ByteSource::from_memory(text), strings, texts, {});
    ASSERT_EQ(tag_of(read), "kineto.two_ranks");
    EXPECT_NE(read.error().text.find(*pid == '"' ? "'Profiler'" : pid), std::string::npos) << read.error().text;
  }
}

TEST(KinetoTrace, OldAndNewFormsAlike) {
  const std::string now =
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": 9, \"tid\": 9, \"ts\": 1000.000, \"dur\": "
      "5.250, \"args\": {\"Record function id\": 4}},"
      "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": 9, \"ts\": "
      "1001, \"dur\": 3, \"args\": {\"correlation\": 77}},"
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1010, \"dur\": 3, "
      "\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 77}}";
  const std::string then =
      "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"op\", \"pid\": 9, \"tid\": \"9\", \"ts\": 1000, \"dur\": "
      "5.25, \"args\": {}},"
      "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": \"9\", \"ts\": 1001, "
      "\"dur\": 3, \"args\": {\"correlation\": \"77\"}},"
      "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": \"stream 7\", \"ts\": 1010, \"dur\": "
      "3, \"args\": {\"correlation\": 77}}";
  for (const std::string& events : {now, then}) {
    auto k = parse_kineto(events, ", \"baseTimeNanoseconds\": 5000");
    ASSERT_TRUE(k) << k.error().message();
    ASSERT_EQ(k->ops.size(), 1u);
    ASSERT_EQ(k->calls.size(), 1u);
    ASSERT_EQ(k->device_ops.size(), 1u);
    EXPECT_EQ(k->base_ns, 5000);
    EXPECT_EQ(k->ops[0].dur_ns, 5250);
    EXPECT_EQ(k->calls[0].correlation, 77);
    EXPECT_EQ(k->streams[0].index, 7);
    EXPECT_EQ(k->threads[0].index, 9);
  }
}

// ---- linking ---------------------------------------------------------------------------------------------

// ---- pairs -----------------------------------------------------------------------------------------------

TEST(Pairs, RanksOfAFolder) {
  TemporaryFolder folder;
  const std::string host = host_document({kRoot, host_node(2, 1)});
  const auto kineto = [](const char* info) {
    return fmt::format(
        "{{\"schemaVersion\": 1, {} \"traceEvents\": [{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", "
        "\"pid\": 1, \"tid\": 1, "
        "\"ts\": 1, \"dur\": 2, \"args\": {{\"Record function id\": 2}}}}]}}",
        info);
  };
  folder.write("a/host.0.json", host);
  folder.write("a/device_0.json", kineto(""));
  folder.write("a/host.1.json", host);
  folder.write("a/some_name.json", kineto("\"distributedInfo\": {\"rank\": 1},"));
  folder.write("a/notes.json", "{\"hello\": 1}");
  auto pairs = pair_folder(folder.path("a"));
  ASSERT_TRUE(pairs) << pairs.error().message();
  ASSERT_EQ(pairs->ranks.size(), 2u);
  EXPECT_TRUE(pairs->ranks[0].host.ends_with("host.0.json"));
  EXPECT_TRUE(pairs->ranks[0].device.ends_with("device_0.json"));
  EXPECT_TRUE(pairs->ranks[1].device.ends_with("some_name.json"));
  ASSERT_EQ(pairs->findings.size(), 1u);

  // One pair alone needs no number; a rank must have both files; names and contents must agree.
  folder.write("b/et.json", host);
  folder.write("b/kineto.json", kineto(""));
  EXPECT_EQ(pair_folder(folder.path("b"))->ranks.size(), 1u);
  folder.write("c/worker3_step_12.json", kineto("\"distributedInfo\": {\"rank\": 2},"));
  EXPECT_EQ(tag_of(pair_folder(folder.path("c"))), "pytorch.pair.rank");
  folder.write("d/host.0.json", host);
  folder.write("d/host.1.json", host);
  folder.write("d/device.0.json", kineto(""));
  EXPECT_EQ(tag_of(pair_folder(folder.path("d"))), "pytorch.pair.incomplete");
  folder.write("e/rank-1.json", kineto(""));
  folder.write("e/other_rank_1.json", kineto(""));
  EXPECT_EQ(tag_of(pair_folder(folder.path("e"))), "pytorch.pair.rank_twice");
  for (const char* name : {"g/device.0.json", "g/device.0.r2.json", "g/device.0.r10.json"})
    folder.write(name, kineto(""));
  EXPECT_EQ(tag_of(pair_folder(folder.path("g"))), "pytorch.pair.rank_twice");
  for (const auto& [cycle, name] : {std::pair(0, "device.0.json"), {1, "device.0.r2.json"}, {2, "device.0.r10.json"}}) {
    auto chosen = pair_folders({folder.path("g")}, cycle);
    ASSERT_TRUE(chosen) << cycle;
    EXPECT_TRUE(chosen->ranks[0].device.ends_with(name)) << chosen->ranks[0].device;
  }
  // As many host traces as Kineto traces: one of each cycle. Another number is refused.
  for (const char* part : {"h", "h/part1", "h/part2"})
    for (const char* rank : {"0", "1"}) {
      folder.write(fmt::format("{}/device.{}.json", part, rank), kineto(""));
      folder.write(fmt::format("{}/host.{}.json", part, rank), host);
    }
  EXPECT_EQ(tag_of(pair_folder(folder.path("h"))), "pytorch.pair.rank_twice");
  for (const auto& [cycle, part] : {std::pair(0, "h"), {1, "h/part1"}, {2, "h/part2"}}) {
    auto chosen = pair_folders({folder.path("h")}, cycle);
    ASSERT_TRUE(chosen) << cycle;
    ASSERT_EQ(chosen->ranks.size(), 2u);
    EXPECT_EQ(chosen->ranks[1].host, folder.path(fmt::format("{}/host.1.json", part)));
    EXPECT_EQ(chosen->ranks[1].device, folder.path(fmt::format("{}/device.1.json", part)));
  }
  folder.write("g/host.0.json", host);
  EXPECT_TRUE(pair_folders({folder.path("g")}, 2));
  folder.write("g/host.0.r2.json", host);
  EXPECT_EQ(tag_of(pair_folders({folder.path("g")}, 1)), "pytorch.pair.rank_twice");
  EXPECT_EQ(tag_of(pair_folders({folder.path("g")}, 3)), "pytorch.pair.cycle");
  folder.write("f/x.txt", "nothing");
  EXPECT_EQ(tag_of(pair_folder(folder.path("f"))), "pytorch.pair.none");
  EXPECT_EQ(tag_of(pair_files(folder.path("a/host.0.json"), folder.path("a/host.1.json"))), "pytorch.pair.kind");
  auto swapped = pair_files(folder.path("a/device_0.json"), folder.path("a/host.0.json"));
  ASSERT_TRUE(swapped);
  EXPECT_TRUE(swapped->host.ends_with("host.0.json"));
}

}  // namespace
}  // namespace chakra::recording
