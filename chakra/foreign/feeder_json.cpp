// JSON that mlcommons/chakra's feeder reads: an object per node (docs/reference/formats/feeder_json.md).
#include <fmt/core.h>

#include "chakra/filetype/filetype.h"
#include "chakra/foreign/json_fields.h"
#include "chakra/foreign/rows.h"

namespace chakra::foreign {
namespace {

using trace::Builder;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

class FeederReader {
 public:
  FeederReader(json::JsonStream& stream, Builder& builder) : stream_(stream), builder_(builder) {}

  Result<void> node(ondemand::object& object) {
    Trace& t = builder_.trace;
    if (t.size() >= kMostNodes) return fail(Code::bad_input, "foreign.large", "too many nodes");
    const NodeId node = builder_.add(0, 0, NodeType::invalid);
    bool has_id = false, has_type = false;
    trace::Comm comm;
    bool has_comm = false;
    const auto use = [&](std::string_view key, JsonValue& value) -> Result<void> {
      if (key == "Id") {
        CHAKRA_ASSIGN(const uint64_t id, natural(key, value));
        t.id.set(node, id);
        has_id = true;
      } else if (key == "Name") {
        CHAKRA_ASSIGN(const std::string name, text(key, value));
        t.name.edit(node) = t.strings.intern(name);
      } else if (key == "NodeType") {
        CHAKRA_ASSIGN(const uint64_t type, natural(key, value));
        if (type >= trace::kNodeTypeNames.size()) return bad_field(key, "type of nodes");
        t.type.edit(node) = static_cast<NodeType>(type);
        has_type = true;
      } else if (key == "is_cpu_op") {
        CHAKRA_ASSIGN(const bool cpu, boolean(key, value));
        t.flags.edit(node) |= static_cast<uint8_t>(trace::kSaysCpuOrNot | (cpu ? trace::kOnCpu : 0));
      } else if (key == "runtime") {
        CHAKRA_ASSIGN(t.dur_ps.edit(node), duration(key, value));
        t.flags.edit(node) |= trace::kHasDuration;
      } else if (key == "data_deps") {
        CHAKRA_ASSIGN(const std::vector<uint64_t> deps, ids(key, value));
        for (const uint64_t on : deps) builder_.dep_by_id(node, on, kGiven, 0);
      } else if (key == "ctrlDeps" || key == "ctrl_deps") {
        CHAKRA_ASSIGN(const std::vector<uint64_t> callers, ids(key, value));
        for (const uint64_t caller : callers) builder_.ctrl_by_id(node, caller);
      } else if (key == "tensor_size") {
        t.tensor_bytes.resize(node + 1);
        CHAKRA_ASSIGN(t.tensor_bytes.edit(node), natural(key, value));
      } else if (key == "num_ops") {
        t.num_ops.resize(node + 1);
        CHAKRA_ASSIGN(t.num_ops.edit(node), natural(key, value));
      } else {
        CHAKRA_ASSIGN(const bool of_comm, comm_field(key, value, comm));
        has_comm |= of_comm;
        if (!of_comm) keep(builder_, key, value);
      }
      return {};
    };
    CHAKRA_TRY(for_each_field(object, stream_, use));
    if (!has_id || !has_type)
      return fail(Code::bad_input, "foreign.json.field", fmt::format("a node has no {}", has_id ? "NodeType" : "Id"),
                  stream_.current_place());
    if (has_comm || trace::is_comm(t.type[node])) builder_.comm(node) = comm;
    return {};
  }

 private:
  /// False where the key is not one of communication.
  Result<bool> comm_field(std::string_view key, JsonValue& value, trace::Comm& comm) {
    if (key == "comm_type") {
      CHAKRA_ASSIGN(const uint64_t type, natural(key, value));
      if (type >= trace::kCommTypeNames.size()) return bad_field(key, "type of collectives");
      comm.type = static_cast<CommType>(type);
    } else if (key == "comm_size") {
      CHAKRA_ASSIGN(comm.bytes, natural(key, value));
    } else if (key == "comm_priority") {
      CHAKRA_ASSIGN(comm.priority, integer(key, value));
    } else if (key == "comm_src") {
      CHAKRA_ASSIGN(comm.src, integer(key, value));
    } else if (key == "comm_dst") {
      CHAKRA_ASSIGN(comm.dst, integer(key, value));
    } else if (key == "comm_tag") {
      CHAKRA_ASSIGN(comm.tag, integer(key, value));
    } else if (key == "pg_name") {
      CHAKRA_ASSIGN(const std::string name, text(key, value));
      comm.group = builder_.trace.strings.intern(name);
    } else {
      return false;
    }
    return true;
  }

  json::JsonStream& stream_;
  Builder& builder_;
};

}  // namespace

bool is_feeder_json(std::string_view head) {
  return filetype::trimmed(head).starts_with('{') && contains(head, "\"workload_graph\"");
}

Result<TraceSet> read_feeder_json(ByteSource source, const Options&, Findings& findings) {
  const std::string file = source.file();
  json::JsonStream stream(std::move(source), {"workload_graph"}, json::JsonStream::kWindow, kTags);
  Builder builder;
  begin_trace(builder, rank_of(file), file);
  FeederReader reader(stream, builder);
  LimitedFindings unused;
  CHAKRA_TRY(json::for_each_element(
      stream, [&](ondemand::object& object) { return reader.node(object); },
      [&](std::string_view key, ondemand::document&) -> Result<void> {
        unused.add(
            {"foreign.json.unused", Severity::note, -1, -1, fmt::format("{} of the document is not used", quote(key))});
        return {};
      }));
  std::move(unused).append_to(findings);
  return finish(std::move(builder), file, findings);
}

}  // namespace chakra::foreign
