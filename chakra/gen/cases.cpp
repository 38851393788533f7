#include "chakra/gen/cases.h"

#include <array>
#include <cstring>

namespace chakra::gen {
namespace {

using trace::Builder;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

Builder begin(int64_t rank) {
  Builder builder;
  Trace& t = builder.trace;
  t.rank = rank;
  t.says_rank = true;
  t.metadata.push_back({t.strings.intern("version"), std::string_view("1.0.0")});
  return builder;
}

/// A node on the device, named as its type is.
NodeId add(Builder& builder, NodeType type) {
  Trace& t = builder.trace;
  const NodeId node = builder.add(t.size(), t.strings.intern(trace::name(type)), type);
  t.flags.edit(node) |= trace::kSaysCpuOrNot;
  return node;
}

NodeId compute(Builder& builder, const CaseOptions& options) {
  const NodeId node = add(builder, NodeType::comp);
  builder.trace.dur_ps.edit(node) = options.runtime;
  builder.trace.flags.edit(node) |= trace::kHasDuration;
  return node;
}

template <NodeType type>
Trace memory(int64_t rank, int64_t, const CaseOptions& options) {
  Builder builder = begin(rank);
  (void)add(builder, type);
  builder.trace.tensor_bytes.push_back(options.tensor_bytes);
  return std::move(builder).finish();
}

template <bool dependent, int count>
Trace computations(int64_t rank, int64_t, const CaseOptions& options) {
  Builder builder = begin(rank);
  for (int i = 0; i < count; ++i) {
    const NodeId node = compute(builder, options);
    if (dependent && i > 0) builder.dep(node, node - 1, static_cast<uint8_t>(trace::EdgeKind::given));
  }
  return std::move(builder).finish();
}

template <CommType type>
Trace collective(int64_t rank, int64_t, const CaseOptions& options) {
  Builder builder = begin(rank);
  Trace& t = builder.trace;
  const NodeId node = builder.add(0, t.strings.intern(trace::name(type)), NodeType::coll);
  t.flags.edit(node) |= trace::kSaysCpuOrNot;
  trace::Comm& comm = builder.comm(node);
  comm.type = type;
  comm.bytes = type == CommType::barrier ? 0 : options.comm_bytes;
  return std::move(builder).finish();
}

/// To the next rank, or from the one before.
template <NodeType type>
Trace message(int64_t rank, int64_t ranks, const CaseOptions& options) {
  Builder builder = begin(rank);
  trace::Comm& comm = builder.comm(add(builder, type));
  const bool sends = type == NodeType::send;
  comm.src = sends ? rank : (rank + ranks - 1) % ranks;
  comm.dst = sends ? (rank + 1) % ranks : rank;
  comm.tag = 0;
  comm.bytes = options.tensor_bytes;
  builder.trace.tensor_bytes.push_back(options.tensor_bytes);
  return std::move(builder).finish();
}

// ---- every type of attribute -----------------------------------------------------------------------
// A Trace keeps attributes as five kinds of values; this case is about the thirty members of the schema, so it is
// written as messages. Field numbers: docs/reference/formats/et.md.

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

enum class Wire : uint8_t { varint, zigzag, fixed32, fixed64, text };
struct Member {
  std::string_view name;
  Wire wire;
  bool documented;                 ///< with its name as doc_string
  std::array<uint64_t, 2> values;  ///< the single value is the first, with the sign of `negative`
  bool negative = false;           ///< the single value, and the second of the list
};

uint64_t bits_of(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
uint64_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

constexpr uint64_t kSmall = 12345, kSmall2 = 23456, kLarge = 9876543210, kLarge2 = 1234567890;

/// In the order of the schema: member m has field 3 + 2 m, its list the one behind.
std::array<Member, 15> members() {
  return {{{"double", Wire::fixed64, true, {bits_of(1.2345), bits_of(2.3456)}},
           {"float", Wire::fixed32, true, {bits_of(1.2345F), bits_of(2.3456F)}},
           {"int32", Wire::varint, true, {kSmall, kSmall2}},
           {"int64", Wire::varint, true, {kLarge, kLarge2}},
           {"uint32", Wire::varint, true, {kSmall, kSmall2}},
           {"uint64", Wire::varint, true, {kLarge, kLarge2}},
           {"sint32", Wire::zigzag, true, {kSmall, kSmall2}, true},
           {"sint64", Wire::zigzag, true, {kLarge, kLarge2}, true},
           {"fixed32", Wire::fixed32, false, {kSmall, kSmall2}},
           {"fixed64", Wire::fixed64, false, {kLarge, kLarge2}},
           {"sfixed32", Wire::fixed32, false, {kSmall, kSmall2}, true},
           {"sfixed64", Wire::fixed64, false, {kLarge, kLarge2}, true},
           {"bool", Wire::varint, true, {1, 0}},
           {"string", Wire::text, true, {12345, 0}},
           {"bytes", Wire::text, false, {12345, 0}}}};
}

void put_value(std::string& out, Wire wire, uint64_t value, bool negative) {
  const uint64_t two = negative ? ~value + 1 : value;  // two's complement
  if (wire == Wire::varint) put_varint(out, two);
  else if (wire == Wire::zigzag) put_varint(out, negative ? 2 * value - 1 : 2 * value);
  else
    for (int i = 0; i < (wire == Wire::fixed32 ? 4 : 8); ++i) out += static_cast<char>(two >> (8 * i));
}

std::string single(const Member& member, uint32_t field) {
  std::string out;
  if (member.wire == Wire::text) {
    put_bytes(out, field, std::to_string(member.values[0]));
    return out;
  }
  const uint32_t type = member.wire == Wire::fixed64 ? 1 : member.wire == Wire::fixed32 ? 5 : 0;
  put_varint(out, field << 3 | type);
  put_value(out, member.wire, member.values[0], member.negative);
  return out;
}

std::string list(const Member& member, uint32_t field) {
  std::string values;
  constexpr uint64_t kMany = 10;  // of texts and truth values
  if (member.wire == Wire::text) {
    for (uint64_t i = 0; i < kMany; ++i) put_bytes(values, 1, std::to_string(member.values[0] + i));
  } else {
    std::string packed;
    const uint64_t count = member.name == "bool" ? kMany : 2;
    for (uint64_t i = 0; i < count; ++i)
      put_value(packed, member.wire, member.values[i % 2], member.negative && i % 2 == 1);
    put_bytes(values, 1, packed);
  }
  std::string out;
  put_bytes(out, field, values);
  return out;
}

std::string all_types(int64_t) {
  constexpr uint32_t kName = 2, kType = 3, kAttr = 10, kFirst = 3;
  std::string metadata, node, file;
  put_bytes(metadata, 1, "1.0.0");
  put_bytes(node, kName, trace::name(NodeType::metadata));
  put_varint(node, kType << 3);
  put_varint(node, static_cast<uint64_t>(NodeType::metadata));
  uint32_t field = kFirst;
  for (const Member& member : members()) {
    std::string attr;
    put_bytes(attr, 1, member.name);
    if (member.documented) put_bytes(attr, 2, member.name);
    put_bytes(node, kAttr, attr + single(member, field++));
    attr.clear();
    put_bytes(attr, 1, std::string(member.name) + "_list");
    put_bytes(node, kAttr, attr + list(member, field++));
  }
  for (const std::string& message : {metadata, node}) {
    put_varint(file, message.size());
    file += message;
  }
  return file;
}

/// The same without the attributes, for who works with traces.
Trace metadata_node(int64_t rank, int64_t, const CaseOptions&) {
  Builder builder = begin(rank);
  (void)builder.add(0, builder.trace.strings.intern(trace::name(NodeType::metadata)), NodeType::metadata);
  return std::move(builder).finish();
}

}  // namespace

const std::vector<NamedCase>& cases() {
  static const std::vector<NamedCase> all{
      {"one_metadata_node_all_types", "an attribute of each of the thirty types", metadata_node, all_types},
      {"one_remote_mem_load_node", "a load from memory", memory<NodeType::mem_load>, nullptr},
      {"one_remote_mem_store_node", "a store to memory", memory<NodeType::mem_store>, nullptr},
      {"one_comp_node", "a computation", computations<false, 1>, nullptr},
      {"two_comp_nodes_independent", "two computations", computations<false, 2>, nullptr},
      {"two_comp_nodes_dependent", "a computation that waits for another", computations<true, 2>, nullptr},
      {"ALL_REDUCE", "a collective of all ranks", collective<CommType::all_reduce>, nullptr},
      {"ALL_TO_ALL", "a collective of all ranks", collective<CommType::all_to_all>, nullptr},
      {"ALL_GATHER", "a collective of all ranks", collective<CommType::all_gather>, nullptr},
      {"REDUCE_SCATTER", "a collective of all ranks", collective<CommType::reduce_scatter>, nullptr},
      {"BROADCAST", "a collective of all ranks", collective<CommType::broadcast>, nullptr},
      {"BARRIER", "a collective of all ranks without data", collective<CommType::barrier>, nullptr},
      {"one_comm_send_node", "a message to the next rank", message<NodeType::send>, nullptr},
      {"one_comm_recv_node", "a message from the rank before", message<NodeType::recv>, nullptr},
  };
  return all;
}

}  // namespace chakra::gen
