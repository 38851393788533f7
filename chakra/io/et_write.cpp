// Trace -> .et.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "chakra/base/join.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using trace::NodeId;
using trace::Trace;
using namespace wire;

constexpr std::string_view kVersion = "0.0.4";
/// Writes attributes of one message; `field` is the message's field for them.
class AttrWriter {
 public:
  AttrWriter(Bytes& out, uint32_t field) : out_(out), field_(field) {}

  void integer(std::string_view name, int64_t value) { number(name, schema::kInt64, static_cast<uint64_t>(value)); }
  void natural(std::string_view name, uint64_t value) { number(name, schema::kUint64, value); }
  void boolean(std::string_view name, bool value) { number(name, schema::kBool, value ? 1 : 0); }
  void small(std::string_view name, int64_t value) { number(name, schema::kInt32, static_cast<uint64_t>(value)); }
  void text(std::string_view name, std::string_view value) {
    char* at = begin(name, text_size(schema::kString, value));
    out_.end(text_at(at, schema::kString, value));
  }
  void real(std::string_view name, double value) {
    char* at = tag_at(begin(name, tag_size(schema::kDouble) + 8), schema::kDouble, 1);
    uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value);
    std::memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; ++i) *at++ = static_cast<char>(bits >> (8 * i));
    out_.end(at);
  }
  /// A packed list of varints.
  template <class Values, class Map>
  void list(std::string_view name, uint32_t member, const Values& values, const Map& map) {
    size_t payload = 0;
    for (const auto& value : values) payload += varint_size(map(value));
    const size_t message = tag_size(schema::kListValues) + varint_size(payload) + payload;
    char* at = begin(name, tag_size(member) + varint_size(message) + message);
    at = varint_at(tag_at(at, member, kText), message);
    at = varint_at(tag_at(at, schema::kListValues, kText), payload);
    for (const auto& value : values) at = varint_at(at, map(value));
    out_.end(at);
  }
  void any(std::string_view name, const trace::Attr& attr) {
    std::visit([&](auto value) { put(name, value); }, attr.value);
  }

 private:
  void put(std::string_view name, int64_t value) { integer(name, value); }
  void put(std::string_view name, uint64_t value) { natural(name, value); }
  void put(std::string_view name, double value) { real(name, value); }
  void put(std::string_view name, bool value) { boolean(name, value); }
  void put(std::string_view name, std::string_view value) { text(name, value); }

  /// The attribute up to its value; after that there is room for the value.
  char* begin(std::string_view name, size_t value_size) {
    char* at = out_.room(2 * kMostVarint + text_room(name) + value_size);
    at = varint_at(tag_at(at, field_, kText), text_size(schema::kAttrName, name) + value_size);
    return text_at(at, schema::kAttrName, name);
  }
  void number(std::string_view name, uint32_t member, uint64_t value) {
    char* at = begin(name, tag_size(member) + varint_size(value));
    out_.end(varint_at(tag_at(at, member, kVarint), value));
  }

  Bytes& out_;
  uint32_t field_;
};

std::string groups_json(const Trace& trace) {
  std::string out = "[";
  for (const trace::ProcessGroup& group : trace.groups) {
    if (out.size() > 1) out += ", ";
    const auto text = [&](const char* key, std::string_view value) {
      out += fmt::format("\"{}\": ", key);
      append_json_string(out, value);
      out += ", ";
    };
    out += "{";
    text("pg_name", group.name);
    text("pg_desc", group.description);
    text("backend_config", group.backend);
    out += fmt::format("\"ranks\": [{}], \"group_size\": {}}}", join(group.ranks, ", "), group.size);
  }
  return out + "]";
}

class Writer {
 public:
  Writer(const Trace& trace, Bytes& out) : t_(trace), out_(out) {
    for (const trace::Lane& lane : t_.lanes)
      if (lane.kind == trace::Lane::Kind::thread) {
        several_processes_ |= process_ && *process_ != lane.process;
        process_ = lane.process;
      }
  }

  // Each writes a message behind its size.
  void metadata() {
    put_sized(out_, 2, [&] { metadata_fields(); });
  }
  void node(NodeId n) {
    put_sized(out_, 2, [&] { node_fields(n); });
  }

 private:
  void metadata_fields() {
    std::string_view version = kVersion;
    for (const trace::Attr& attr : t_.metadata)
      if (const auto text = attr.text(); text && t_.strings[attr.name] == "version") version = *text;
    put_text(out_, schema::kMetadataVersion, version);
    AttrWriter attrs(out_, schema::kMetadataAttr);
    for (const trace::Attr& attr : t_.metadata)
      if (const std::string_view name = t_.strings[attr.name]; name != "version" && !(name == "pid" && process_))
        attrs.any(name, attr);
    if (process_) attrs.integer("pid", *process_);
    attrs.integer("rank", t_.rank);
    attrs.integer("chakra_nodes", t_.size());
    if (!t_.groups.empty()) attrs.text("process_groups", groups_json(t_));
  }

  void node_fields(NodeId n) {
    put_number_unless_zero(out_, schema::kNodeId, t_.id[n]);
    put_text_unless_empty(out_, schema::kNodeName, t_.name_of(n));
    put_number_unless_zero(out_, schema::kNodeType, static_cast<uint64_t>(t_.type[n]));
    put_ids(schema::kNodeCtrlDeps, t_.ctrl.of(n));
    put_ids(schema::kNodeDataDeps, t_.deps.of(n));
    const int64_t start_ns = t_.base_ns + t_.start_ps[n] / kPsPerNs;
    const int64_t dur_ns = t_.dur_ps[n] / kPsPerNs;
    if (t_.has_start(n) && start_ns > 0)
      put_number_unless_zero(out_, schema::kNodeStart, static_cast<uint64_t>(start_ns) / 1000);
    put_number_unless_zero(out_, schema::kNodeDuration, static_cast<uint64_t>(dur_ns + 500) / 1000);
    trace::Io io;
    if (t_.io_row[n] != trace::kNoRow) {
      io = t_.ios[t_.io_row[n]];
      put_tensors(schema::kNodeInputs, io.inputs);
      put_tensors(schema::kNodeOutputs, io.outputs);
    }
    put_attrs(n, start_ns, dur_ns, io);
  }

  void put_ids(uint32_t field, std::span<const NodeId> nodes) {
    if (nodes.empty()) return;
    size_t size = 0;
    for (const NodeId n : nodes) size += varint_size(t_.id[n]);
    char* at = varint_at(tag_at(out_.room(2 * kMostVarint + size), field, kText), size);
    for (const NodeId n : nodes) at = varint_at(at, t_.id[n]);
    out_.end(at);
  }

  void put_tensors(uint32_t field, const trace::Tensors& tensors) {
    const auto size = [](uint32_t f, std::string_view text) { return text.empty() ? 0 : text_size(f, text); };
    const std::string_view shapes = t_.strings[tensors.shapes], types = t_.strings[tensors.types];
    const size_t all =
        size(schema::kIoValues, tensors.values) + size(schema::kIoShapes, shapes) + size(schema::kIoTypes, types);
    out_.end(varint_at(tag_at(out_.room(2 * kMostVarint), field, kText), all));
    put_text_unless_empty(out_, schema::kIoValues, tensors.values);
    put_text_unless_empty(out_, schema::kIoShapes, shapes);
    put_text_unless_empty(out_, schema::kIoTypes, types);
  }

  void put_attrs(NodeId n, int64_t start_ns, int64_t dur_ns, const trace::Io& io) {
    AttrWriter attrs(out_, schema::kNodeAttr);
    for (const trace::Attr& attr : t_.attrs_of(n)) attrs.any(t_.strings[attr.name], attr);
    // Readers keep strides among the other attributes, so strides come first: a trace that is read and written has the
    // same bytes.
    if (io.inputs.strides) attrs.text("input_strides", t_.strings[io.inputs.strides]);
    if (io.outputs.strides) attrs.text("output_strides", t_.strings[io.outputs.strides]);
    if (t_.flags[n] & trace::kSaysCpuOrNot) attrs.boolean("is_cpu_op", t_.on_cpu(n));
    trace::each_column([&](const auto& row) { put_column(attrs, row, n); });
    if (const trace::Comm* comm = t_.comm(n)) put_comm(attrs, *comm);
    if (t_.has_start(n)) attrs.integer("ts_ns", start_ns);
    if (t_.flags[n] & trace::kHasDuration) attrs.integer("dur_ns", dur_ns);
    if (t_.lane[n] != trace::kNoLane) {
      const trace::Lane& lane = t_.lanes[t_.lane[n]];
      const bool thread = lane.kind == trace::Lane::Kind::thread;
      if (!thread || several_processes_) attrs.integer(thread ? "pid" : "device", lane.process);
      attrs.integer(thread ? "tid" : "stream", lane.index);
    }
    if (t_.part_of[n] != trace::kNoNode) attrs.natural("part_of", t_.id[t_.part_of[n]]);
    const size_t first = t_.deps.begin[n], last = t_.deps.begin[n + 1];
    const std::span kinds(t_.deps.kind.data() + first, last - first);
    if (std::any_of(kinds.begin(), kinds.end(), [](uint8_t kind) { return kind != 0; }))
      attrs.list("dep_kinds", schema::kUint32List, kinds, [](uint8_t kind) { return uint64_t{kind}; });
    if (!t_.deps.lag.empty()) {
      lags_ns_.clear();
      uint64_t any = 0;
      for (size_t e = first; e < last; ++e)
        any |= lags_ns_.emplace_back(static_cast<uint64_t>(t_.deps.lag_of(e) / kPsPerNs));
      if (any != 0) attrs.list("dep_lag_ns", schema::kInt64List, lags_ns_, [](uint64_t lag) { return lag; });
    }
  }

  /// Write a column that is a separate attribute.
  template <class T>
  void put_column(AttrWriter& attrs, const trace::ColumnRow<T>& row, NodeId n) {
    if (!row.is_attribute()) return;
    const T value = row.of(t_, n);
    if (value == row.fill) return;
    const auto number = static_cast<uint64_t>(value);
    switch (row.stored) {
      case trace::Stored::by_hand: break;
      case trace::Stored::int64: return attrs.integer(row.wire, static_cast<int64_t>(number));
      case trace::Stored::uint64: return attrs.natural(row.wire, number);
      case trace::Stored::dtype: return attrs.text(row.wire, trace::name(static_cast<trace::DType>(number)));
    }
  }

  void put_comm(AttrWriter& attrs, const trace::Comm& comm) {
    if (comm.type != trace::CommType::unknown) attrs.integer("comm_type", static_cast<int64_t>(comm.type));
    attrs.integer("comm_size", static_cast<int64_t>(comm.bytes));
    if (comm.group) attrs.text("pg_name", t_.strings[comm.group]);
    if (comm.dtype) attrs.text("comm_dtype", t_.strings[comm.dtype]);
    if (comm.sequence >= 0) attrs.integer("comm_seq", comm.sequence);
    if (comm.in_bytes) attrs.natural("comm_in_bytes", comm.in_bytes);
    if (comm.out_bytes) attrs.natural("comm_out_bytes", comm.out_bytes);
    if (!comm.in_split.empty()) attrs.text("comm_in_split", comm.in_split);
    if (!comm.out_split.empty()) attrs.text("comm_out_split", comm.out_split);
    if (comm.root >= 0) attrs.integer("comm_root", comm.root);
    if (comm.src >= 0) attrs.small("comm_src", comm.src);
    if (comm.dst >= 0) attrs.small("comm_dst", comm.dst);
    if (comm.tag >= 0) attrs.small("comm_tag", comm.tag);
    if (comm.priority) attrs.small("comm_priority", comm.priority);
    if (comm.involved_count > 0) {
      std::vector<uint64_t> dims;
      for (uint8_t d = 0; d < comm.involved_count; ++d) dims.push_back(comm.involved >> d & 1);
      attrs.list("involved_dim", schema::kBoolList, dims, [](uint64_t involved) { return involved; });
    }
  }

  const Trace& t_;
  std::optional<int64_t> process_;  ///< of the threads; said once for the file if there is only one
  bool several_processes_ = false;
  std::vector<uint64_t> lags_ns_;
  Bytes& out_;
};

/// Hands the file to `sink` in pieces, which the cache holds.
template <class Sink>
Result<void> write_pieces(const Trace& trace, const Sink& sink) {
  constexpr size_t kPiece = size_t{1} << 18;
  trace::assert_whole(trace);
  Bytes out;
  Writer writer(trace, out);
  writer.metadata();
  for (const NodeId n : trace.nodes()) {
    writer.node(n);
    if (out.size() >= kPiece) {
      CHAKRA_TRY(sink(out.view()));
      out.clear();
    }
  }
  return sink(out.view());
}

}  // namespace

Result<void> write_et(const Trace& trace, AtomicFile& file) {
  return write_pieces(trace, [&](std::string_view piece) { return file.write(piece); });
}

Result<void> write_et(const Trace& trace, const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(write_et(trace, file));
  return file.commit();
}

std::string to_et(const Trace& trace) {
  std::string out;
  (void)write_pieces(trace, [&](std::string_view piece) {
    out += piece;
    return Result<void>();
  });
  return out;
}

}  // namespace chakra::io
