// Reading agrees with libprotobuf on every trace there is; libprotobuf reads every file that we write; no cut
// file passes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/schema/testing/random_trace.h"
#include "chakra/trace/testing/peer_file.h"

namespace chakra::io {
namespace {

using testing::tag_of;
using testing::TemporaryFolder;

/// All .et files below a folder, packed ones included.
std::vector<std::string> traces_below(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && contains(entry.path().filename().string(), ".et"))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// One attribute as text, from both sides in the same form.
std::string show(const ChakraProtoMsg::AttributeProto& attr) {
  std::string out = attr.name() + "|" + attr.doc_string() + "|" + std::to_string(attr.value_case()) + "|";
  const auto numbers = [&](const auto& list) {
    for (const auto value : list) out += fmt::format("{},", value);
  };
  const auto texts = [&](const auto& list) {
    for (const auto& value : list) out += value + ",";
  };
  using A = ChakraProtoMsg::AttributeProto;
  switch (attr.value_case()) {
    case A::kDoubleVal: return out + fmt::format("{}", attr.double_val());
    case A::kFloatVal: return out + fmt::format("{}", static_cast<double>(attr.float_val()));
    case A::kInt32Val: return out + fmt::format("{}", attr.int32_val());
    case A::kInt64Val: return out + fmt::format("{}", attr.int64_val());
    case A::kUint32Val: return out + fmt::format("{}", attr.uint32_val());
    case A::kUint64Val: return out + fmt::format("{}", attr.uint64_val());
    case A::kSint32Val: return out + fmt::format("{}", attr.sint32_val());
    case A::kSint64Val: return out + fmt::format("{}", attr.sint64_val());
    case A::kFixed32Val: return out + fmt::format("{}", attr.fixed32_val());
    case A::kFixed64Val: return out + fmt::format("{}", attr.fixed64_val());
    case A::kSfixed32Val: return out + fmt::format("{}", attr.sfixed32_val());
    case A::kSfixed64Val: return out + fmt::format("{}", attr.sfixed64_val());
    case A::kBoolVal: return out + fmt::format("{}", attr.bool_val() ? 1 : 0);
    case A::kStringVal: return out + attr.string_val();
    case A::kBytesVal: return out + attr.bytes_val();
    case A::kDoubleList: numbers(attr.double_list().values()); break;
    case A::kFloatList:
      for (const float value : attr.float_list().values()) out += fmt::format("{},", static_cast<double>(value));
      break;
    case A::kInt32List: numbers(attr.int32_list().values()); break;
    case A::kInt64List: numbers(attr.int64_list().values()); break;
    case A::kUint32List: numbers(attr.uint32_list().values()); break;
    case A::kUint64List: numbers(attr.uint64_list().values()); break;
    case A::kSint32List: numbers(attr.sint32_list().values()); break;
    case A::kSint64List: numbers(attr.sint64_list().values()); break;
    case A::kFixed32List: numbers(attr.fixed32_list().values()); break;
    case A::kFixed64List: numbers(attr.fixed64_list().values()); break;
    case A::kSfixed32List: numbers(attr.sfixed32_list().values()); break;
    case A::kSfixed64List: numbers(attr.sfixed64_list().values()); break;
    case A::kBoolList:
      for (const bool value : attr.bool_list().values()) out += value ? "1," : "0,";
      break;
    case A::kStringList: texts(attr.string_list().values()); break;
    case A::kBytesList: texts(attr.bytes_list().values()); break;
    case A::VALUE_NOT_SET: break;
  }
  return out;
}

std::string show(const AttrRecord& attr) {
  std::string out = std::string(attr.name) + "|" + std::string(attr.doc) + "|" + std::to_string(attr.field) + "|";
  if (attr.field == 0) return out;
  if (attr.field >= 4 && attr.field % 2 == 0) {
    auto list = decode_list(attr);
    EXPECT_TRUE(list);
    for (const int64_t value : list->integers) out += fmt::format("{},", value);
    for (const uint64_t value : list->naturals) out += fmt::format("{},", value);
    for (const double value : list->reals) out += fmt::format("{},", value);
    for (const std::string_view value : list->texts) out += std::string(value) + ",";
    return out;
  }
  switch (attr.field) {
    case 3:
    case 5: return out + fmt::format("{}", attr.real);
    case 11:
    case 13:
    case 19:
    case 21: return out + fmt::format("{}", attr.natural);
    case 29:
    case 31: return out + std::string(attr.bytes);
    default: return out + fmt::format("{}", attr.integer);
  }
}

/// Return the message of a node as no writer makes it: attributes begin with an empty description, and an unknown field
/// follows. The value is that of libprotobuf; the reader takes none of its short cuts.
std::string unusual(ChakraProtoMsg::Node node) {
  std::vector<std::string> attrs;
  for (const auto& attr : node.attr()) attrs.push_back(std::string("\x12\0", 2) + attr.SerializeAsString());
  node.clear_attr();
  std::string message = node.SerializeAsString();
  for (const std::string& attr : attrs) {
    message += '\x52';
    testing::append(message, attr);
  }
  return message + std::string("\xa2\x06\0", 3);
}

/// Expects the same trace, or error, from the messages and from unusual ones. Returns whether there is a trace.
bool same_if_unusual(const std::vector<std::string>& messages, bool texts) {
  const google::protobuf::LogSilencer quiet;
  std::vector<std::string> others{messages[0]};
  for (size_t m = 1; m < messages.size(); ++m) {
    ChakraProtoMsg::Node node;
    EXPECT_TRUE(node.ParseFromString(messages[m]));
    others.push_back(unusual(std::move(node)));
  }
  const std::string usual_file = testing::file_of(messages), other_file = testing::file_of(others);
  const auto trace = read_et(*ByteSource::from_memory(usual_file), {.texts = texts});
  const auto other = read_et(*ByteSource::from_memory(other_file), {.texts = texts});
  EXPECT_EQ(tag_of(trace), tag_of(other));
  if (!trace || !other) return false;
  EXPECT_EQ(trace->defects, other->defects);
  EXPECT_TRUE(to_et(*trace) == to_et(*other));
  return true;
}

/// Compares every field of every message of a file. Returns the number of nodes.
size_t compare(const std::string& path) {
  const std::vector<std::string> messages = testing::messages_of(testing::must_read(path));
  auto file = EtFile::open(path);
  EXPECT_TRUE(file) << path;
  std::string_view message;
  MetadataRecord metadata;
  ChakraProtoMsg::GlobalMetadata expected;
  EXPECT_TRUE(*file->next(message));
  EXPECT_EQ(message, messages[0]);
  EXPECT_TRUE(decode(message, metadata));
  EXPECT_TRUE(expected.ParseFromString(messages[0]));
  EXPECT_EQ(metadata.version, expected.version());
  EXPECT_EQ(static_cast<int>(metadata.attrs.size()), expected.attr_size());
  for (int i = 0; i < expected.attr_size(); ++i)
    EXPECT_EQ(show(metadata.attrs[static_cast<size_t>(i)]), show(expected.attr(i)));

  NodeRecord node;
  ChakraProtoMsg::Node wanted;
  for (size_t m = 1; m < messages.size(); ++m) {
    EXPECT_TRUE(*file->next(message));
    EXPECT_TRUE(decode(message, node));
    EXPECT_TRUE(wanted.ParseFromString(messages[m]));
    EXPECT_EQ(node.id, wanted.id());
    EXPECT_EQ(node.name, wanted.name());
    EXPECT_EQ(node.type, static_cast<uint64_t>(wanted.type()));
    EXPECT_TRUE(
        std::equal(node.ctrl_deps.begin(), node.ctrl_deps.end(), wanted.ctrl_deps().begin(), wanted.ctrl_deps().end()));
    EXPECT_TRUE(
        std::equal(node.data_deps.begin(), node.data_deps.end(), wanted.data_deps().begin(), wanted.data_deps().end()));
    EXPECT_EQ(node.start_micros, wanted.start_time_micros());
    EXPECT_EQ(node.duration_micros, wanted.duration_micros());
    EXPECT_EQ(node.inputs.values, wanted.inputs().values());
    EXPECT_EQ(node.inputs.shapes, wanted.inputs().shapes());
    EXPECT_EQ(node.inputs.types, wanted.inputs().types());
    EXPECT_EQ(node.outputs.values, wanted.outputs().values());
    EXPECT_EQ(node.outputs.shapes, wanted.outputs().shapes());
    EXPECT_EQ(node.outputs.types, wanted.outputs().types());
    EXPECT_EQ(static_cast<int>(node.attrs.size()), wanted.attr_size());
    for (int i = 0; i < wanted.attr_size(); ++i)
      EXPECT_EQ(show(node.attrs[static_cast<size_t>(i)]), show(wanted.attr(i)));
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << path << ", message " << m;
      break;
    }
  }
  EXPECT_FALSE(*file->next(message)) << path;
  for (const bool texts : {false, true}) EXPECT_TRUE(same_if_unusual(messages, texts)) << path;
  return messages.size() - 1;
}

/// A trace that uses every column.
trace::Trace sample() {
  trace::Builder b;
  trace::Trace& t = b.trace;
  t.rank = 3;
  t.base_ns = 1'700'000'000'000'000'123;
  t.metadata.push_back({t.strings.intern("schema"), t.texts.add("1.1.1")});
  t.metadata.push_back({t.strings.intern("pid"), int64_t{77}});
  t.groups.push_back({"0", "default_pg", "cuda:nccl", {0, 1, 2, 3}, 4});
  const auto name = [&](std::string_view text) { return t.strings.intern(text); };
  const trace::NodeId root = b.add(1, name("[pytorch|profiler|execution_trace|process]"), trace::NodeType::comp);
  t.flags.edit(root) = trace::kOnCpu | trace::kSaysCpuOrNot;
  const trace::NodeId op = b.add(2, name("aten::mm"), trace::NodeType::comp);
  b.attr({name("rf_id"), int64_t{9}});
  b.attr({name("op_schema"), t.texts.add("aten::mm(Tensor a) -> \"é\"")});
  b.attr({name("share"), 0.25});
  b.attr({name("deep"), true});
  b.attr({name("big"), uint64_t{1} << 63});
  t.flags.edit(op) = trace::kOnCpu | trace::kSaysCpuOrNot | trace::kHasStart | trace::kHasDuration;
  t.start_ps.edit(op) = 1'500 * kPsPerNs;
  t.dur_ps.edit(op) = 2'499 * kPsPerNs;
  t.lane.edit(op) = b.lane({trace::Lane::Kind::thread, 77, 78});
  t.io_row.edit(op) = 0;
  const trace::Tensors inputs{"[[1, 2, 0, 4, 4, 'cpu']]", name("[[4]]"), name("['Tensor(float)']"), name("[[1]]")};
  t.ios.emplace_back(trace::Io{inputs, {}}, t.texts);
  const trace::NodeId kernel = b.add(3, name("ncclDevKernel_AllReduce"), trace::NodeType::coll);
  t.flags.edit(kernel) = trace::kSaysCpuOrNot | trace::kHasStart | trace::kHasDuration;
  t.start_ps.edit(kernel) = 5'000 * kPsPerNs;
  t.dur_ps.edit(kernel) = 700 * kPsPerNs;
  t.lane.edit(kernel) = b.lane({trace::Lane::Kind::stream, 1, 20});
  trace::Comm& comm = b.comm(kernel);
  comm.type = trace::CommType::all_reduce;
  comm.bytes = 1 << 20;
  comm.in_bytes = comm.out_bytes = 1 << 20;
  comm.dtype = name("Float");
  comm.group = name("0");
  comm.sequence = 5;
  comm.involved = 0b101;
  comm.involved_count = 3;
  const trace::NodeId rest = b.add(4, name("aten::mm"), trace::NodeType::comp);
  t.part_of.edit(rest) = op;
  b.dep(kernel, op, static_cast<uint8_t>(trace::EdgeKind::launch), 1'519 * kPsPerNs);
  b.dep(rest, op, static_cast<uint8_t>(trace::EdgeKind::program));
  b.dep(rest, kernel, static_cast<uint8_t>(trace::EdgeKind::sync) | trace::kInferred, -20 * kPsPerNs);
  b.ctrl(op, root);
  b.ctrl(kernel, op);
  return std::move(b).finish();
}

TEST(Et, AgreesWithLibprotobufOnAllTraces) {
  CHAKRA_NEEDS_DATA();
  TemporaryFolder folder;
  const std::string data = testing::data_folder();
  size_t number = 0;
  for (const char* kind : {"et_proto", "stage"})
    for (const auto& entry : std::filesystem::directory_iterator(data + "/" + kind)) {
      const std::string path = entry.path().string();
      // Not of this schema: the JSON form, and version 0.0.1. And one is too large for a quick test.
      if (contains(path, "json_trace") || contains(path, "old_two") || contains(path, "dp8tp8pp4")) continue;
      testing::unpack(path, folder.path(std::to_string(number++)));
    }
  size_t nodes = 0, files = 0;
  std::vector<std::string> paths = traces_below(folder.path());
  for (const std::string& path : traces_below(testing::golden_folder() + "/pipeline")) paths.push_back(path);
  for (const std::string& path : paths) {
    nodes += compare(path);
    ++files;
    if (HasFailure()) break;
  }
  EXPECT_GT(files, 300u);
  EXPECT_GT(nodes, 100'000u);
}

TEST(Et, UnusualMessagesGiveTheSameTrace) {
  static constexpr const char* kNames[] = {"is_cpu_op", "ts_ns",       "dur_ns",  "dep_kinds", "dep_lag_ns",
                                           "comm_type", "comm_size",   "pg_name", "tid",       "num_ops",
                                           "op_dtype",  "tensor_size", "stream",  "device",    "comm_request",
                                           "part_of",   "kernel",      "other"};
  Prng random(7);
  int read = 0;
  for (int round = 0; round < 1000; ++round) {
    const google::protobuf::LogSilencer quiet;
    std::vector<std::string> messages;
    for (const std::string& message : testing::random_trace(random, 10, 0.1)) {
      ChakraProtoMsg::Node node;
      if (messages.empty()) {
        messages.push_back(message);  // the metadata
        continue;
      }
      if (!node.ParseFromString(message)) continue;  // text that is not UTF-8
      node.set_start_time_micros(random.below(1000));
      node.set_duration_micros(random.below(1000));
      for (auto& attr : *node.mutable_attr()) {
        attr.set_name(kNames[random.below(std::size(kNames))]);
        if (random.chance(0.8)) attr.set_int64_val(static_cast<int64_t>(random.below(100'000)));
        else if (random.chance(0.5)) attr.set_uint64_val(random.below(100'000));
        else if (random.chance(0.5)) attr.mutable_uint32_list()->add_values(static_cast<uint32_t>(random.below(9)));
      }
      messages.push_back(node.SerializeAsString());
    }
    read += same_if_unusual(messages, random.chance(0.5));
    ASSERT_FALSE(HasFailure()) << round;
  }
  EXPECT_GT(read, 100);
}

TEST(Et, LibprotobufReadsWhatWeWrite) {
  const trace::Trace t = sample();
  const std::vector<std::string> messages = testing::messages_of(to_et(t));
  ASSERT_EQ(messages.size(), 5u);
  ChakraProtoMsg::GlobalMetadata metadata;
  ASSERT_TRUE(metadata.ParseFromString(messages[0]));
  EXPECT_EQ(metadata.version(), "0.0.4");
  EXPECT_TRUE(metadata.GetReflection()->GetUnknownFields(metadata).empty());
  ChakraProtoMsg::Node node;
  ASSERT_TRUE(node.ParseFromString(messages[3]));
  EXPECT_EQ(node.id(), 3u);
  EXPECT_EQ(node.name(), "ncclDevKernel_AllReduce");
  EXPECT_EQ(node.type(), ChakraProtoMsg::COMM_COLL_NODE);
  ASSERT_EQ(node.data_deps_size(), 1);
  EXPECT_EQ(node.data_deps(0), 2u);
  ASSERT_EQ(node.ctrl_deps_size(), 1);
  EXPECT_EQ(node.duration_micros(), 1u);
  EXPECT_EQ(node.start_time_micros(), 1'700'000'000'000'005u);
  std::vector<std::string> attrs;
  for (const auto& attr : node.attr()) attrs.push_back(show(attr));
  const std::vector<std::string> wanted{"is_cpu_op||27|0",
                                        "comm_type||9|0",
                                        "comm_size||9|1048576",
                                        "pg_name||29|0",
                                        "comm_dtype||29|Float",
                                        "comm_seq||9|5",
                                        "comm_in_bytes||13|1048576",
                                        "comm_out_bytes||13|1048576",
                                        "involved_dim||28|1,0,1,",
                                        "ts_ns||9|1700000000000005123",
                                        "dur_ns||9|700",
                                        "device||9|1",
                                        "stream||9|20",
                                        "dep_kinds||12|2,",
                                        "dep_lag_ns||10|1519,"};
  EXPECT_EQ(attrs, wanted);
  ASSERT_TRUE(node.ParseFromString(messages[2]));
  EXPECT_EQ(node.inputs().values(), "[[1, 2, 0, 4, 4, 'cpu']]");
  EXPECT_EQ(node.duration_micros(), 2u);  // 2,499 ns rounded
  for (const std::string& message : messages) {
    if (&message == &messages[0]) continue;
    ASSERT_TRUE(node.ParseFromString(message));
    EXPECT_TRUE(node.GetReflection()->GetUnknownFields(node).empty());
  }
}

TEST(Et, ReadsWhatItWrites) {
  const trace::Trace t = sample();
  const std::string bytes = to_et(t);
  auto read = read_et(*ByteSource::from_memory(bytes), {.texts = true});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->rank, 3);
  EXPECT_EQ(read->id, t.id);
  EXPECT_EQ(read->deps.node, t.deps.node);
  EXPECT_EQ(read->deps.kind, t.deps.kind);
  EXPECT_EQ(read->deps.lag, t.deps.lag);
  EXPECT_EQ(read->part_of, t.part_of);
  EXPECT_EQ(read->dur_ps, t.dur_ps);
  EXPECT_EQ(read->base_ns + read->start_ps[2] / kPsPerNs, t.base_ns + t.start_ps[2] / kPsPerNs);
  EXPECT_EQ(read->groups.at(0).ranks, t.groups[0].ranks);
  ASSERT_NE(read->comm(trace::NodeId(2)), nullptr);
  EXPECT_EQ(read->comm(trace::NodeId(2))->bytes, 1u << 20);
  EXPECT_EQ(read->comm(trace::NodeId(2))->sequence, 5);
  EXPECT_EQ(read->strings[read->comm(trace::NodeId(2))->group], "0");
  EXPECT_EQ(read->comm(trace::NodeId(2))->involved, 0b101u);
  EXPECT_EQ(read->comm(trace::NodeId(2))->involved_count, 3);
  EXPECT_TRUE(read->on_device(trace::NodeId(2)));
  EXPECT_FALSE(read->on_device(trace::NodeId(1)));
}

TEST(Et, KeepsWork) {
  trace::Trace t = sample();
  t.num_ops.assign(t.size(), 0);
  t.tensor_bytes.assign(t.size(), 0);
  t.op_dtype.assign(t.size(), 0);
  for (size_t type = 0; type < trace::kDTypeNames.size(); ++type) {
    t.num_ops.edit(2) = 7;
    t.tensor_bytes.edit(2) = uint64_t{1} << 63;
    t.op_dtype.edit(2) = static_cast<uint8_t>(type);
    const std::string bytes = to_et(t);
    const auto read = read_et(*ByteSource::from_memory(bytes));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->num_ops, t.num_ops);
    EXPECT_EQ(read->tensor_bytes, t.tensor_bytes);
    EXPECT_EQ(read->dtype_of(trace::NodeId(2)), static_cast<trace::DType>(type));
    EXPECT_EQ(trace::Trace(*read).op_dtype, read->op_dtype);
  }
}

TEST(Et, EveryCutIsAnError) {
  const std::string bytes = to_et(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut_file = bytes.substr(0, size);
    const std::string tag = tag_of(read_et(*ByteSource::from_memory(cut_file)));
    if (size == 0) EXPECT_EQ(tag, "io.et.empty");
    else EXPECT_EQ(tag, "io.et.truncated") << size;
  }
}

TEST(Et, ALargeTraceCutAnywhereIsAnError) {
  trace::Builder b;
  for (uint64_t id = 0; id < 20'000; ++id)
    b.add(id + 1, b.trace.strings.intern("aten::some_operator"), trace::NodeType::comp);
  const std::string bytes = to_et(std::move(b).finish());
  for (size_t i = 1; i <= 200; ++i) {
    const std::string part = bytes.substr(0, bytes.size() * i / 201);
    EXPECT_EQ(tag_of(read_et(*ByteSource::from_memory(part))), "io.et.truncated");
  }
}

TEST(Et, EveryDamagedByteIsReadOrRefused) {
  const std::string bytes = to_et(sample());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      auto read = read_et(*ByteSource::from_memory(damaged), {.texts = true});
      if (read) continue;
      EXPECT_TRUE(read.error().tag.starts_with("io.et.") || read.error().tag.starts_with("base."))
          << read.error().message();
    }
}

TEST(Et, NotATrace) {
  const std::string json =
      "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1, \"time\": \"2024-01-01 00:00:00\", \"start_ts\": 1, \"nodes\": "
      "[" +
      std::string(200, ' ') + "]}";
  EXPECT_EQ(tag_of(read_et(*ByteSource::from_memory(json))), "io.et.not_a_trace");
}

TEST(Et, DefectsAreKept) {
  const auto read = [](std::string_view hex) { return read_et(*ByteSource::from_memory(hex)); };
  // Two nodes with id 5, one that waits for 9 and one that waits for itself.
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  std::string bytes;
  const auto add = [&](const std::string& message) {
    bytes.push_back(static_cast<char>(message.size()));
    bytes += message;
  };
  add(metadata.SerializeAsString());
  for (const auto& [id, dep] : {std::pair(5, 9), std::pair(5, 5), std::pair(7, 7)}) {
    ChakraProtoMsg::Node node;
    node.set_id(static_cast<uint64_t>(id));
    node.set_type(ChakraProtoMsg::COMP_NODE);
    node.add_data_deps(static_cast<uint64_t>(dep));
    node.add_ctrl_deps(100);
    add(node.SerializeAsString());
  }
  auto t = read(bytes);
  ASSERT_TRUE(t) << t.error().message();
  std::map<trace::Defect::Kind, int> count;
  for (const trace::Defect& defect : t->defects) ++count[defect.kind];
  EXPECT_EQ(count[trace::Defect::Kind::duplicate_id], 1);
  EXPECT_EQ(count[trace::Defect::Kind::dangling_dep], 1);
  EXPECT_EQ(count[trace::Defect::Kind::dangling_ctrl], 3);
  EXPECT_EQ(count[trace::Defect::Kind::self_dep], 1);
}

TEST(Job, FindsRanks) {
  TemporaryFolder folder;
  const std::string bytes = to_et(sample());
  for (const char* name : {"job.0.et", "job.10.et", "job.2.et", "notes.txt"}) folder.write(name, bytes);
  auto by_prefix = find_ranks(folder.path("job"));
  ASSERT_TRUE(by_prefix);
  ASSERT_EQ(by_prefix->size(), 3u);
  EXPECT_EQ((*by_prefix)[1].rank, 2);
  EXPECT_EQ((*by_prefix)[2].rank, 10);
  EXPECT_EQ(find_ranks(folder.path())->size(), 3u);
  EXPECT_EQ(find_ranks(folder.path("job.2.et"))->at(0).rank, 2);
  EXPECT_EQ(tag_of(find_ranks(folder.path("other"))), "io.job.none");
  folder.write("job.2.et.gz", bytes);
  EXPECT_EQ(tag_of(find_ranks(folder.path())), "io.job.rank_twice");
  folder.write("else.0.et", bytes);
  EXPECT_EQ(tag_of(find_ranks(folder.path())), "io.job.ambiguous");
}

}  // namespace
}  // namespace chakra::io
