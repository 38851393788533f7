// JSON that mlcommons/chakra's linker writes: a host trace with device operations and times
// (docs/reference/formats/foreign.md).
#include <fmt/core.h>

#include "chakra/filetype/filetype.h"
#include "chakra/foreign/json_fields.h"
#include "chakra/foreign/linked_json.h"
#include "chakra/foreign/rows.h"

namespace chakra::foreign {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

class LinkedReader {
 public:
  LinkedReader(json::JsonStream& stream, Builder& builder) : stream_(stream), builder_(builder) {}

  Result<void> node(ondemand::object& object) {
    Trace& t = builder_.trace;
    if (t.size() >= kMostNodes) return fail(Code::bad_input, "foreign.large", "too many nodes");
    const NodeId node = builder_.add(0, 0, NodeType::comp);
    Linked& linked = linked_.nodes.emplace_back();
    trace::Io io;
    in_values_.clear();
    out_values_.clear();
    bool has_id = false;
    const auto use = [&](std::string_view key, JsonValue& value) -> Result<void> {
      if (key == "id") {
        CHAKRA_ASSIGN(const uint64_t id, natural(key, value));
        t.id.set(node, id);
        has_id = true;
      } else if (key == "name") {
        std::string_view name;
        if (value.get_string().get(name)) return bad_field(key, "text");
        t.name.edit(node) = t.strings.intern(name);
      } else if (key == "ctrl_deps" || key == "parent") {
        if (is_null(value)) return {};
        CHAKRA_ASSIGN(linked.parent, natural(key, value));
        linked.has_parent = true;
      } else if (key == "inputs") {
        return texts_.read(key, value, io.inputs, in_values_);
      } else if (key == "outputs") {
        return texts_.read(key, value, io.outputs, out_values_);
      } else if (key == "attrs") {
        return attrs(value, linked);
      } else if (key == "exclusive_dur") {
        CHAKRA_ASSIGN(t.dur_ps.edit(node), duration(key, value));
        t.flags.edit(node) |= trace::kHasDuration;
      } else if (key == "ts") {
        CHAKRA_ASSIGN(linked.ts_ns, nanoseconds(key, value));
        linked.has_ts = true;
      } else if (key == "inter_thread_dep") {
        if (is_null(value)) return {};
        CHAKRA_ASSIGN(linked.thread_dep, natural(key, value));
        linked.has_thread_dep = true;
      } else if (key == "sync_dep") {
        CHAKRA_ASSIGN(std::vector<uint64_t> on, ids(key, value));
        if (!on.empty()) linked_.sync_deps[node] = std::move(on);
      } else if (key == "cat") {
        linked.device = true;
        keep_text_once(key, value);
      } else if (key == "stream") {
        CHAKRA_ASSIGN(linked.stream, integer(key, value));
      } else if (key == "pg_name") {
        CHAKRA_ASSIGN(const std::string name, text(key, value));
        linked_.group[node] = t.strings.intern(name);
      } else {
        return attribute(key, value, linked);
      }
      return {};
    };
    CHAKRA_TRY(for_each_field(object, stream_, use));
    if (!has_id) return fail(Code::bad_input, "foreign.json.field", "a node has no id", stream_.current_place());
    t.flags.edit(node) |= static_cast<uint8_t>(trace::kSaysCpuOrNot | (linked.device ? 0 : trace::kOnCpu));
    if (!io.inputs.empty() || !io.outputs.empty()) {
      t.io_row.edit(node) = static_cast<uint32_t>(t.ios.size());
      t.ios.emplace_back(io, t.texts);
    }
    if (contains(t.name_of(node), "process_group:init")) {
      t.type.edit(node) = NodeType::metadata;
      groups(io.inputs.values);
    }
    return {};
  }

  const LinkedNodes& linked() const { return linked_; }

 private:
  /// [{name, type, value}]
  Result<void> attrs(JsonValue& value, Linked& linked) {
    ondemand::array array;
    if (value.get_array().get(array)) return bad_field("attrs", "list");
    for (auto item : array) {
      ondemand::object object;
      if (const auto code = item.get_object().get(object)) return json::json_error(code, {}, kTags);
      std::string_view name;
      for (auto field : object) {
        std::string_view key;
        JsonValue* part = nullptr;
        if (const auto code = json::open_field(field, key, part)) return json::json_error(code, {}, kTags);
        if (key == "name") {
          if (part->get_string().get(name)) return bad_field(key, "text");
        } else if (key == "value") {
          CHAKRA_TRY(attribute(name, *part, linked));
        }
      }
    }
    return {};
  }

  Result<void> attribute(std::string_view key, JsonValue& value, Linked& linked) {
    if (key == "tid") {
      CHAKRA_ASSIGN(linked.tid, integer(key, value));
    } else if (key == "dtype") {
      std::string_view dtype;
      if (value.get_string().get(dtype)) return bad_field(key, "text");
      linked.dtype = builder_.trace.strings.intern(dtype);
    } else if (key == "in_msg_nelems") {
      CHAKRA_ASSIGN(linked.in_elements, natural(key, value));
      linked.has_elements = true;
    } else if (key == "pg_name") {
      CHAKRA_ASSIGN(const std::string name, text(key, value));
      linked_.group.try_emplace(NodeId(builder_.trace.size() - 1), builder_.trace.strings.intern(name));
    } else {
      keep_text_once(key, value);
    }
    return {};
  }

  /// As keep(); a long text, such as a schema of operators, is stored once for all nodes that have it.
  void keep_text_once(std::string_view key, JsonValue& value) {
    std::string_view plain;
    if (value.get_string().get(plain)) return keep(builder_, key, value);
    Trace& t = builder_.trace;
    const StringId name = t.strings.intern(key);
    t.attrs.add({name, plain.size() > trace::Attrs::kInline ? t.strings[t.strings.intern(plain)] : plain});
  }

  /// The groups in the node process_group:init: "['[{...}]']", JSON in Python's quotes.
  void groups(std::string_view values) {
    if (values.size() <= 4) return;
    const auto list = parse_spec(values.substr(2, values.size() - 4), stream_.file());
    if (!list) return;  // then the members of the groups are unknown, which the check of the job finds
    for (const Spec& item : list->items) {
      if (item.kind != Spec::Kind::map) continue;
      trace::ProcessGroup group;
      const auto scalar = [&](const char* key) {
        const Spec* field = item.find(key);
        return field ? field->scalar : std::string();
      };
      group.name = scalar("pg_name");
      group.description = scalar("pg_desc");
      group.backend = scalar("backend_config");
      (void)parse_integer(scalar("group_size"), group.size);
      if (const Spec* ranks = item.find("ranks"))
        for (const Spec& rank : ranks->items)
          if (int64_t number = 0; parse_integer(rank.scalar, number)) group.ranks.push_back(number);
      builder_.trace.groups.push_back(std::move(group));
    }
  }

  json::JsonStream& stream_;
  Builder& builder_;
  LinkedNodes linked_;
  TensorTexts texts_{builder_.trace.strings};
  std::string in_values_, out_values_;  ///< of the node that is read
};

}  // namespace

bool is_linked_json(std::string_view head) {
  return filetype::trimmed(head).starts_with('{') && contains(head, "\"nodes\"") && contains(head, "\"exclusive_dur\"");
}

Result<TraceSet> read_linked_json(ByteSource source, const Options&, Findings& findings) {
  const std::string file = source.file();
  json::JsonStream stream(std::move(source), {"nodes"}, json::JsonStream::kWindow, kTags);
  Builder builder;
  begin_trace(builder, rank_of(file), file);
  LinkedReader reader(stream, builder);
  LimitedFindings unused;
  CHAKRA_TRY(json::for_each_element(
      stream, [&](ondemand::object& object) { return reader.node(object); },
      [&](std::string_view key, ondemand::document& document) -> Result<void> {
        Trace& t = builder.trace;
        std::string_view plain;
        std::string_view raw;
        if (!document.get_string().get(plain)) t.metadata.push_back({t.strings.intern(key), t.texts.add(plain)});
        else if (int64_t number = 0; !document.raw_json_token().get(raw) &&
                                     parse_integer(raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1), number))
          t.metadata.push_back({t.strings.intern(key), number});
        else
          unused.add({"foreign.json.unused", Severity::note, -1, -1,
                      fmt::format("{} of the document is not used", quote(key))});
        return {};
      }));
  std::move(unused).append_to(findings);
  CHAKRA_TRY(connect(builder, reader.linked(), file, findings));
  CHAKRA_ASSIGN(TraceSet job, finish(std::move(builder), file, findings));
  if (const std::vector<NodeId> cycle = trace::topological_order(job.ranks[0].deps).cycle; !cycle.empty())
    return fail(Code::bad_input, "foreign.json.cycle",
                fmt::format("node {} waits for itself, through {} nodes", job.ranks[0].id[cycle[0]], cycle.size()),
                {file});
  return job;
}

}  // namespace chakra::foreign
