// The two JSON forms of mlcommons/chakra: what its feeder reads (an object per node, docs/formats/feeder_json.md) and
// what its linker writes (a host trace with device operations and times, docs/formats/foreign.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include <absl/container/flat_hash_map.h>

#include "chakra/foreign/forms.h"
#include "chakra/json/json.h"

namespace chakra::foreign {
namespace {

namespace ondemand = simdjson::ondemand;
using json::JsonValue;
using trace::Builder;
using trace::CommType;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

constexpr json::Tags kTags{"foreign.json.empty", "foreign.json.syntax", "foreign.json.truncated",
                           "foreign.json.encoding", "foreign.json.element"};
using Document = ondemand::document;

tl::unexpected<Error> bad_field(std::string_view key, std::string_view what) {
  return fail(Code::bad_input, "foreign.json.field", fmt::format("{} is no {}", quote(key), what));
}

/// Reads values whose kind the key says.
Result<int64_t> integer(std::string_view key, JsonValue& value) {
  int64_t number = 0;
  if (!json::to_integer(value, number)) return bad_field(key, "whole number below 2^63");
  return number;
}
Result<uint64_t> natural(std::string_view key, JsonValue& value) {
  uint64_t number = 0;
  if (!parse_unsigned(json::token(value), number)) return bad_field(key, "whole number from 0");
  return number;
}
Result<std::string> text(std::string_view key, JsonValue& value) {
  std::string_view text;
  if (value.get_string().get(text)) return bad_field(key, "text");
  return std::string(text);
}
Result<bool> boolean(std::string_view key, JsonValue& value) {
  const std::string_view token = json::token(value);
  if (token == "true" || token == "1") return true;
  if (token == "false" || token == "0") return false;
  return bad_field(key, "true or false");
}
/// Microseconds, perhaps with decimals.
Result<int64_t> nanoseconds(std::string_view key, JsonValue& value) {
  int64_t ns = 0;
  if (!json::parse_micros(json::token(value), ns)) return bad_field(key, "time in microseconds");
  return ns;
}
Result<Picoseconds> duration(std::string_view key, JsonValue& value) {
  CHAKRA_ASSIGN(const int64_t ns, nanoseconds(key, value));
  if (ns < 0 || ns > kLongestPs / kPsPerNs) return bad_field(key, "duration that can be");
  return ns * kPsPerNs;
}
Result<std::vector<uint64_t>> ids(std::string_view key, JsonValue& value) {
  std::vector<uint64_t> out;
  ondemand::array array;
  if (value.get_array().get(array)) return bad_field(key, "list of node ids");
  for (auto item : array) {
    JsonValue id;
    if (const auto code = std::move(item).get(id)) return json::json_error(code, {}, kTags);
    CHAKRA_ASSIGN(const uint64_t number, natural(key, id));
    out.push_back(number);
  }
  return out;
}
bool is_null(JsonValue& value) {
  bool null = false;
  return !value.is_null().get(null) && null;
}

/// A value without a column, as an attribute: numbers and texts as they are, lists as their text.
void keep(Builder& builder, std::string_view key, JsonValue& value) {
  const StringId name = builder.trace.strings.intern(key);
  const std::string_view token = json::token(value);
  int64_t number = 0;
  uint64_t large = 0;
  double real = 0;
  std::string_view plain;
  if (token == "true" || token == "false") builder.attr({name, token == "true"});
  else if (!value.get_string().get(plain)) builder.attr({name, plain});
  else if (parse_integer(token, number)) builder.attr({name, number});
  else if (parse_unsigned(token, large)) builder.attr({name, large});
  else if (const auto end = token.data() + token.size();
           std::from_chars(token.data(), end, real).ptr == end && !token.empty())
    builder.attr({name, real});
  else if (token != "null") builder.attr({name, token});
}

/// Calls `use(key, value)` for each field of the object. Errors: those of `use`, foreign.json.*.
template <class Use>
Result<void> for_each_field(ondemand::object& object, json::JsonStream& stream, const Use& use) {
  for (auto field : object) {
    std::string_view key;
    JsonValue* value = nullptr;
    if (const auto code = json::open_field(field, key, value)) return json::json_error(code, {}, kTags);
    stream.look_at(key.data());
    CHAKRA_TRY(use(key, *value));
  }
  return {};
}

/// "trace.3.json" is of rank 3; other names of rank 0.
int64_t rank_of(std::string_view file) {
  for (const std::string_view ending : {".gz", ".zst", ".json"})
    if (file.ends_with(ending)) file.remove_suffix(ending.size());
  const size_t dot = file.find_last_not_of("0123456789");
  int64_t rank = 0;
  if (dot == std::string_view::npos || file[dot] != '.' || !parse_integer(file.substr(dot + 1), rank)) return 0;
  return rank;
}

Result<TraceSet> finish(Builder&& builder, const std::string& file, Findings& findings) {
  TraceSet job;
  job.ranks.push_back(std::move(builder).finish());
  const Trace& t = job.ranks[0];
  if (t.size() == 0) return fail(Code::bad_input, "foreign.json.empty", "the file has no nodes", {file});
  int64_t missing = 0;
  for (const trace::Defect& defect : t.defects) {
    if (defect.kind == trace::Defect::Kind::duplicate_id)
      return fail(Code::bad_input, "foreign.json.duplicate", fmt::format("two nodes have the id {}", defect.id),
                  {file});
    missing += defect.kind == trace::Defect::Kind::dangling_dep || defect.kind == trace::Defect::Kind::dangling_ctrl;
  }
  if (missing > 0)
    note(findings, "foreign.json.dangling", Severity::warning,
         fmt::format("{} dependencies name nodes that are not there, and are left out", missing));
  return job;
}

// ---- the feeder's ----------------------------------------------------------------------------------

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
      const auto whole = [&](int64_t& to) -> Result<void> {
        CHAKRA_ASSIGN(to, integer(key, value));
        has_comm = true;
        return {};
      };
      if (key == "Id") {
        CHAKRA_ASSIGN(const uint64_t id, natural(key, value));
        t.id.set(node, id);
        has_id = true;
      } else if (key == "Name") {
        CHAKRA_ASSIGN(const std::string name, text(key, value));
        t.name[node] = t.strings.intern(name);
      } else if (key == "NodeType") {
        CHAKRA_ASSIGN(const uint64_t type, natural(key, value));
        if (type >= trace::kNodeTypeNames.size()) return bad_field(key, "type of nodes");
        t.type[node] = static_cast<NodeType>(type);
        has_type = true;
      } else if (key == "is_cpu_op") {
        CHAKRA_ASSIGN(const bool cpu, boolean(key, value));
        t.flags[node] |= static_cast<uint8_t>(trace::kSaysCpuOrNot | (cpu ? trace::kOnCpu : 0));
      } else if (key == "runtime") {
        CHAKRA_ASSIGN(t.dur_ps[node], duration(key, value));
        t.flags[node] |= trace::kHasDuration;
      } else if (key == "data_deps") {
        CHAKRA_ASSIGN(const std::vector<uint64_t> deps, ids(key, value));
        for (const uint64_t on : deps) builder_.dep_by_id(node, on, kGiven, 0);
      } else if (key == "ctrlDeps" || key == "ctrl_deps") {
        CHAKRA_ASSIGN(const std::vector<uint64_t> callers, ids(key, value));
        for (const uint64_t caller : callers) builder_.ctrl_by_id(node, caller);
      } else if (key == "tensor_size") {
        t.tensor_bytes.resize(node + 1);
        CHAKRA_ASSIGN(t.tensor_bytes[node], natural(key, value));
      } else if (key == "num_ops") {
        t.num_ops.resize(node + 1);
        CHAKRA_ASSIGN(t.num_ops[node], natural(key, value));
      } else if (key == "comm_type") {
        CHAKRA_ASSIGN(const uint64_t type, natural(key, value));
        if (type >= trace::kCommTypeNames.size()) return bad_field(key, "type of collectives");
        comm.type = static_cast<CommType>(type);
        has_comm = true;
      } else if (key == "comm_size") {
        CHAKRA_ASSIGN(comm.bytes, natural(key, value));
        has_comm = true;
      } else if (key == "comm_priority") {
        CHAKRA_TRY(whole(comm.priority));
      } else if (key == "comm_src") {
        CHAKRA_TRY(whole(comm.src));
      } else if (key == "comm_dst") {
        CHAKRA_TRY(whole(comm.dst));
      } else if (key == "comm_tag") {
        CHAKRA_TRY(whole(comm.tag));
      } else if (key == "pg_name") {
        CHAKRA_ASSIGN(const std::string name, text(key, value));
        comm.group = t.strings.intern(name);
        has_comm = true;
      } else {
        keep(builder_, key, value);
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
  json::JsonStream& stream_;
  Builder& builder_;
};

// ---- the linker's ----------------------------------------------------------------------------------

/// What of a node decides its edges. There is one for every node until all are read, so it is small.
struct Linked {
  uint64_t parent = 0, thread_dep = 0;
  int64_t tid = 0, stream = 0, ts_ns = 0;
  uint64_t in_elements = 0;
  StringId dtype = 0;
  bool has_parent : 1 = false, has_thread_dep : 1 = false, device : 1 = false, has_ts : 1 = false;
  bool has_elements : 1 = false;
};

/// Bytes of the tensors in a list of values: [id, storage, offset, elements, bytes of one, 'device'], at any depth.
uint64_t bytes_of_tensors(std::string_view values) {
  uint64_t sum = 0;
  std::array<std::string_view, 6> fields;
  size_t count = 0, begin = 0;
  char string = 0;  // the quote that it ends with
  bool open = false, ends_with_string = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const char c = values[i];
    if (string) {
      if (c == '\\') ++i;
      else if (c == string) string = 0;
      continue;
    }
    const auto field = [&] {
      std::string_view f = values.substr(begin, i - begin);
      while (!f.empty() && (f.front() == ' ' || f.front() == '\n' || f.front() == '\t' || f.front() == '\r'))
        f.remove_prefix(1);
      while (!f.empty() && (f.back() == ' ' || f.back() == '\n' || f.back() == '\t' || f.back() == '\r'))
        f.remove_suffix(1);
      if (count < fields.size()) fields[count] = f;
      ++count;
      begin = i + 1;
    };
    if (c == '"' || c == '\'') string = c, ends_with_string = true;
    else if (c == '[') open = true, count = 0, begin = i + 1, ends_with_string = false;
    else if (c == ',' && open) field(), ends_with_string = false;
    else if (c == ']') {
      if (open) field();
      uint64_t elements = 0, each = 0, bytes = 0;
      if (open && count == 6 && ends_with_string && parse_unsigned(fields[3], elements) &&
          parse_unsigned(fields[4], each) && !__builtin_mul_overflow(elements, each, &bytes) &&
          __builtin_add_overflow(sum, bytes, &sum))
        sum = std::numeric_limits<int64_t>::max();
      open = false;
    }
  }
  return std::min<uint64_t>(sum, std::numeric_limits<int64_t>::max());
}

/// As NCCL calls its types of elements in recordings; 0 where not known.
uint64_t bytes_of_type(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> sizes{
      {"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8}, {"Int", 4},           {"Long", 8},
      {"Short", 2}, {"Byte", 1}, {"Char", 1},     {"Bool", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

/// The collective that a kernel or operator name speaks of.
CommType collective_in(std::string_view name) {
  std::string plain = to_lower(name);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  constexpr std::array<std::pair<std::string_view, CommType>, 9> kWords{{{"allreduce", CommType::all_reduce},
                                                                         {"alltoall", CommType::all_to_all},
                                                                         {"allgather", CommType::all_gather},
                                                                         {"reducescatter", CommType::reduce_scatter},
                                                                         {"broadcast", CommType::broadcast},
                                                                         {"barrier", CommType::barrier},
                                                                         {"gather", CommType::gather},
                                                                         {"scatter", CommType::scatter},
                                                                         {"reduce", CommType::reduce}}};
  for (const auto& [word, type] : kWords)
    if (contains(plain, word)) return type;
  return CommType::unknown;
}

class LinkedReader {
 public:
  LinkedReader(json::JsonStream& stream, Builder& builder) : stream_(stream), builder_(builder) {}

  Result<void> node(ondemand::object& object) {
    Trace& t = builder_.trace;
    if (t.size() >= kMostNodes) return fail(Code::bad_input, "foreign.large", "too many nodes");
    const NodeId node = builder_.add(0, 0, NodeType::comp);
    Linked& linked = linked_.emplace_back();
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
        t.name[node] = t.strings.intern(name);
      } else if (key == "ctrl_deps" || key == "parent") {
        if (is_null(value)) return {};
        CHAKRA_ASSIGN(linked.parent, natural(key, value));
        linked.has_parent = true;
      } else if (key == "inputs") {
        return tensors(value, io.inputs, in_values_);
      } else if (key == "outputs") {
        return tensors(value, io.outputs, out_values_);
      } else if (key == "attrs") {
        return attrs(value, linked);
      } else if (key == "exclusive_dur") {
        CHAKRA_ASSIGN(t.dur_ps[node], duration(key, value));
        t.flags[node] |= trace::kHasDuration;
      } else if (key == "ts") {
        CHAKRA_ASSIGN(linked.ts_ns, nanoseconds(key, value));
        linked.has_ts = true;
      } else if (key == "inter_thread_dep") {
        if (is_null(value)) return {};
        CHAKRA_ASSIGN(linked.thread_dep, natural(key, value));
        linked.has_thread_dep = true;
      } else if (key == "sync_dep") {
        CHAKRA_ASSIGN(std::vector<uint64_t> on, ids(key, value));
        if (!on.empty()) sync_deps_[node] = std::move(on);
      } else if (key == "cat") {
        linked.device = true;
        keep_text_once(key, value);
      } else if (key == "stream") {
        CHAKRA_ASSIGN(linked.stream, integer(key, value));
      } else if (key == "pg_name") {
        CHAKRA_ASSIGN(const std::string name, text(key, value));
        group_[node] = t.strings.intern(name);
      } else {
        return attribute(key, value, linked);
      }
      return {};
    };
    CHAKRA_TRY(for_each_field(object, stream_, use));
    if (!has_id) return fail(Code::bad_input, "foreign.json.field", "a node has no id", stream_.current_place());
    t.flags[node] |= static_cast<uint8_t>(trace::kSaysCpuOrNot | (linked.device ? 0 : trace::kOnCpu));
    if (!io.inputs.empty() || !io.outputs.empty()) {
      t.io_row[node] = static_cast<uint32_t>(t.ios.size());
      t.ios.emplace_back(io, t.texts);
    }
    if (contains(t.name_of(node), "process_group:init")) {
      t.type[node] = NodeType::metadata;
      groups(io.inputs.values);
    }
    return {};
  }

  /// To be called when all nodes are there: types of device operations, lanes and edges.
  Result<void> connect(Findings& findings) {
    Trace& t = builder_.trace;
    for (NodeId n = 0; n < t.size(); ++n) row_of_.try_emplace(t.id[n], n);
    CHAKRA_TRY(times());
    std::vector<NodeId> order(t.size());
    for (NodeId n = 0; n < t.size(); ++n) order[n] = n;
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return t.id[a] < t.id[b]; });
    std::map<int64_t, NodeId> last_of_thread;
    int64_t ignored = 0;
    for (const NodeId n : order) {
      const Linked& linked = linked_[n];
      const NodeId parent = parent_of(n);
      if (linked.has_parent && parent != n) builder_.ctrl_by_id(n, linked.parent);
      if (linked.device) {
        t.lane[n] = builder_.lane({trace::Lane::Kind::stream, 0, linked.stream});
        if (parent != trace::kNoNode && parent != n) builder_.dep(n, parent, static_cast<uint8_t>(EdgeKind::launch));
        communication(n, parent);
      } else if (t.type[n] != NodeType::metadata) {
        t.lane[n] = builder_.lane({trace::Lane::Kind::thread, 0, linked.tid});
        // Ids are given when operators start: in their order, a thread's operators follow one another.
        const auto [last, first] = last_of_thread.try_emplace(linked.tid, n);
        if (!first) builder_.dep(n, std::exchange(last->second, n), static_cast<uint8_t>(EdgeKind::program));
      }
      if (const auto syncs = sync_deps_.find(n); syncs != sync_deps_.end())
        for (const uint64_t on : syncs->second) ignored += !earlier(n, on, static_cast<uint8_t>(EdgeKind::sync));
      if (linked.has_thread_dep)
        ignored += !earlier(n, linked.thread_dep, static_cast<uint8_t>(EdgeKind::thread) | trace::kInferred);
    }
    if (ignored > 0)
      note(findings, "foreign.json.late_dep", Severity::warning,
           fmt::format("{} dependencies on nodes that are not there or started later are left out", ignored));
    connect_streams();
    return {};
  }

 private:
  NodeId row(uint64_t id) const {
    const auto found = row_of_.find(id);
    return found == row_of_.end() ? trace::kNoNode : found->second;
  }
  NodeId parent_of(NodeId n) const { return linked_[n].has_parent ? row(linked_[n].parent) : trace::kNoNode; }
  /// False where the node is not there, or its start is not before.
  bool earlier(NodeId n, uint64_t id, uint8_t kind) {
    const NodeId on = row(id);
    if (on == trace::kNoNode || on == n || !linked_[on].has_ts || !linked_[n].has_ts ||
        linked_[on].ts_ns >= linked_[n].ts_ns)
      return false;
    builder_.dep(n, on, kind);
    return true;
  }

  Result<void> times() {
    Trace& t = builder_.trace;
    int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min(), span = 0;
    for (const Linked& linked : linked_)
      if (linked.has_ts) first = std::min(first, linked.ts_ns), last = std::max(last, linked.ts_ns);
    if (first > last) return {};
    if (__builtin_sub_overflow(last, first, &span) || span > kLongestPs / kPsPerNs)
      return fail(Code::bad_input, "foreign.json.range", "start times are more than 26 days apart", {stream_.file()});
    t.base_ns = first;
    for (NodeId n = 0; n < t.size(); ++n) {
      if (!linked_[n].has_ts) continue;
      t.start_ps[n] = (linked_[n].ts_ns - first) * kPsPerNs;
      t.flags[n] |= trace::kHasStart;
    }
    return {};
  }

  void connect_streams() {
    const Trace& t = builder_.trace;
    std::vector<NodeId> device;
    for (NodeId n = 0; n < t.size(); ++n)
      if (linked_[n].device) device.push_back(n);
    std::stable_sort(device.begin(), device.end(), [&](NodeId a, NodeId b) {
      return std::tuple(linked_[a].stream, linked_[a].ts_ns, t.id[a]) <
             std::tuple(linked_[b].stream, linked_[b].ts_ns, t.id[b]);
    });
    for (size_t i = 1; i < device.size(); ++i)
      if (linked_[device[i]].stream == linked_[device[i - 1]].stream)
        builder_.dep(device[i], device[i - 1], static_cast<uint8_t>(EdgeKind::stream));
  }

  /// Type, size and group of a device operation that communicates.
  void communication(NodeId n, NodeId parent) {
    Trace& t = builder_.trace;
    const std::string name = to_lower(t.name_of(n));
    if (!contains(name, "nccl") && !contains(name, "rccl")) return;
    const Linked& linked = linked_[n];
    CommType type = collective_in(name);
    t.type[n] = NodeType::coll;
    if (contains(name, "sendrecv")) {
      if (parent != trace::kNoNode && contains(t.name_of(parent), "record_param_comms") &&
          parent_of(parent) != trace::kNoNode)
        parent = parent_of(parent);
      const std::string caller = parent == trace::kNoNode ? "" : to_lower(t.name_of(parent));
      type = collective_in(caller);
      if (type == CommType::unknown && contains(caller, "send")) t.type[n] = NodeType::send;
      else if (type == CommType::unknown && contains(caller, "recv")) t.type[n] = NodeType::recv;
    }
    trace::Comm& comm = builder_.comm(n);
    comm.type = t.type[n] == NodeType::coll ? type : CommType::unknown;
    const uint64_t each = bytes_of_type(t.strings[linked.dtype]);
    uint64_t bytes = 0;
    const bool said = linked.has_elements && each > 0 && !__builtin_mul_overflow(linked.in_elements, each, &bytes) &&
                      bytes <= INT64_MAX;
    const uint32_t io = t.io_row[n];
    comm.bytes = said ? bytes : io == trace::kNoRow ? 0 : bytes_of_tensors(trace::Io(t.ios[io]).inputs.values);
    comm.dtype = linked.dtype;
    if (const auto found = group_.find(n); found != group_.end()) comm.group = found->second;
  }

  /// A list in Python's form. Shapes, types and strides repeat, so each is worked out once.
  StringId repr_of(std::string_view raw) {
    const auto found = reprs_.find(raw);
    if (found != reprs_.end()) return found->second;
    std::string repr;
    json::append_python_repr(repr, raw);
    const StringId id = repr == "[]" ? StringId{0} : builder_.trace.strings.intern(repr);
    reprs_.emplace(raws_.add(raw), id);
    return id;
  }

  /// {values, shapes, types, strides}; the values stay in `values`.
  Result<void> tensors(JsonValue& value, trace::Tensors& out, std::string& values) {
    ondemand::object object;
    if (value.get_object().get(object)) return bad_field("inputs", "object with values, shapes and types");
    for (auto field : object) {
      std::string_view key;
      JsonValue* part = nullptr;
      if (const auto code = json::open_field(field, key, part)) return json::json_error(code, {}, kTags);
      const std::string_view raw = json::token(*part);
      if (key == "values") {
        values.clear();
        json::append_python_repr(values, raw);
        out.values = values == "[]" ? std::string_view() : values;
      } else if (key == "shapes") {
        out.shapes = repr_of(raw);
      } else if (key == "types") {
        out.types = repr_of(raw);
      } else if (key == "strides") {
        out.strides = repr_of(raw);
      }
    }
    return {};
  }

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
      group_.try_emplace(builder_.trace.size() - 1, builder_.trace.strings.intern(name));
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
  std::vector<Linked> linked_;  ///< parallel to the nodes
  std::map<NodeId, StringId> group_;
  std::map<NodeId, std::vector<uint64_t>> sync_deps_;
  absl::flat_hash_map<uint64_t, NodeId> row_of_;
  std::string in_values_, out_values_;  ///< of the node that is read
  Arena raws_;
  TextMap<StringId> reprs_;  ///< by a list as JSON
};

}  // namespace

Result<TraceSet> read_feeder_json(ByteSource source, const Options&, Findings& findings) {
  const std::string file = source.file();
  json::JsonStream stream(std::move(source), {"workload_graph"}, json::JsonStream::kWindow, kTags);
  Builder builder;
  begin_trace(builder, rank_of(file), file);
  FeederReader reader(stream, builder);
  LimitedFindings unused;
  CHAKRA_TRY(json::for_each_element(
      stream, [&](ondemand::object& object) { return reader.node(object); },
      [&](std::string_view key, Document&) -> Result<void> {
        unused.add(
            {"foreign.json.unused", Severity::note, -1, -1, fmt::format("{} of the document is not used", quote(key))});
        return {};
      }));
  std::move(unused).append_to(findings);
  return finish(std::move(builder), file, findings);
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
      [&](std::string_view key, Document& document) -> Result<void> {
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
  CHAKRA_TRY(reader.connect(findings));
  CHAKRA_ASSIGN(TraceSet job, finish(std::move(builder), file, findings));
  if (const std::vector<NodeId> cycle = trace::topological_order(job.ranks[0].deps).cycle; !cycle.empty())
    return fail(Code::bad_input, "foreign.json.cycle",
                fmt::format("node {} waits for itself, through {} nodes", job.ranks[0].id[cycle[0]], cycle.size()),
                {file});
  return job;
}

}  // namespace chakra::foreign
