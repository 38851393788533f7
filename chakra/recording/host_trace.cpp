#include "chakra/recording/host_trace.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/text_map.h"
#include "chakra/json/json.h"
#include "chakra/recording/host_comms.h"
#include "chakra/recording/host_parents.h"
#include "chakra/recording/json_value.h"

namespace chakra::recording {
namespace {

namespace ondemand = simdjson::ondemand;
using Object = ondemand::object;

/// Threads get rows in the order in which nodes name them.
class ThreadRows {
 public:
  explicit ThreadRows(std::vector<int64_t>& threads) : threads_(threads) { last_row_ = add(0); }  // of what names none

  uint32_t row_of(int64_t number) {
    if (number == last_number_) return last_row_;
    last_number_ = number;
    return last_row_ = add(number);
  }

 private:
  uint32_t add(int64_t number) {
    const auto [row, added] = rows_.try_emplace(number, static_cast<uint32_t>(threads_.size()));
    if (added) threads_.push_back(number);
    return row->second;
  }

  std::vector<int64_t>& threads_;
  absl::flat_hash_map<int64_t, uint32_t> rows_;
  int64_t last_number_ = 0;
  uint32_t last_row_ = 0;  // of it
};

std::string_view python_repr(std::string_view json, std::string& text) {
  if (is(json, "[]")) return "[]";
  text.clear();
  append_python_repr(text, json);
  return text;
}

/// Shapes and types repeat: what they look like in Python is worked out once.
class Kinds {
 public:
  explicit Kinds(StringPool& strings) : strings_(strings) {}

  StringId of(std::string_view json) {
    if (is(json, "[]")) return strings_.intern(json);
    if (const auto known = known_.find(json); known != known_.end()) return known->second;
    const StringId id = strings_.intern(python_repr(json, text_));
    known_.emplace(texts_.add(json), id);
    return id;
  }

 private:
  StringPool& strings_;
  std::string text_;
  Arena texts_;
  TextMap<StringId> known_;  // by their JSON text
};

class HostReader {
 public:
  HostReader(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage)
      : stream_(std::move(source), {"nodes"}),
        strings_(strings),
        texts_(texts),
        salvage_(salvage),
        kinds_(strings),
        comms_(strings, texts),
        threads_(out_.threads) {}

  Result<HostTrace> run() {
    bool any_window = false;
    CHAKRA_TRY(for_each_element(
        stream_,
        [&](Object& object) {
          any_window = true;
          return read_node(object);
        },
        [&](std::string_view key, ondemand::document& value) { return read_member(key, value); }, salvage_));
    out_.file = stream_.file();
    if (!any_window)
      return fail(Code::bad_input, "pytorch.host.not_a_host_trace",
                  "the array \"nodes\" with operators is missing; is this a PyTorch execution trace?", {out_.file});
    CHAKRA_TRY(link_parents(out_, parents_, strings_, salvage_));
    out_.rank = comms_.find_rank(out_.groups);
    return std::move(out_);
  }

 private:
  Failure field_error(std::string text) { return fail(Code::bad_input, "pytorch.host.field", std::move(text)); }

  Result<void> read_member(std::string_view key, ondemand::document& document) {
    ondemand::json_type type;
    if (document.type().get(type)) return {};
    if (type == ondemand::json_type::array || type == ondemand::json_type::object) return {};
    const std::string_view text = token(document);
    const StringId name = strings_.intern(key);
    int64_t integer = 0;
    if (is(key, "schema")) out_.schema = std::string(text);
    if (type == ondemand::json_type::number && parse_integer(text, integer)) out_.metadata.push_back({name, integer});
    else out_.metadata.push_back({name, texts_.add(text)});
    return {};
  }

  Result<void> read_node(Object& object) {
    parents_.resize(out_.ops.size());  // a node before this one may have been left out
    stream_.append(parents_, {});
    Node node;
    comms_.begin_node();
    values_ = {};
    const size_t attr_begin = out_.attrs.position();
    for (auto field : object) {
      std::string_view key;
      JsonValue* at = nullptr;
      if (const auto code = open_field(field, key, at)) return json_error(code, {});
      stream_.look_at(key.data());
      if (!read_field(key, *at, node)) CHAKRA_TRY(read_other_field(key, *at, node.op));
    }
    stream_.look_at(node.has_id ? node.parent_at : node.id_at);
    if (!node.has_id)
      return field_error(fmt::format("a node named {} without a whole number as id", quote(strings_[node.op.name])));
    if (!node.has_parent) return field_error(fmt::format("node {} without a whole number as parent", node.op.id));
    add(node, attr_begin);
    return {};
  }

  /// What has been read of a node.
  struct Node {
    HostOp op;
    trace::Io io;
    bool has_id = false, has_parent = false;
    const char *id_at = nullptr, *parent_at = nullptr;
  };

  /// The fields of most nodes. One comparison or two decide; false: another field.
  bool read_field(std::string_view key, JsonValue& value, Node& node) {
    trace::Io& io = node.io;
    switch (key.empty() ? 0 : key[0]) {
      case 'i':
        if (is(key, "id")) node.has_id = natural(value, node.op.id), node.id_at = key.data();
        else if (is(key, "inputs")) read_tensors(value, io.inputs, input_text_, &values_);
        else if (is(key, "input_shapes")) io.inputs.shapes = kinds_.of(token(value));
        else if (is(key, "input_types")) io.inputs.types = kinds_.of(token(value));
        else return false;
        return true;
      case 'n':
        if (!is(key, "name")) return false;
        node.op.name = text_id(value);
        return true;
      case 'c':
      case 'p':
        if (!is(key, "ctrl_deps") && !is(key, "parent")) return false;
        node.has_parent = natural(value, parents_.back().caller);
        node.parent_at = key.data();
        return true;
      case 'o':
        if (is(key, "outputs")) read_tensors(value, io.outputs, output_text_, nullptr);
        else if (is(key, "output_shapes")) io.outputs.shapes = kinds_.of(token(value));
        else if (is(key, "output_types")) io.outputs.types = kinds_.of(token(value));
        else return false;
        return true;
      default: return false;
    }
  }

  Result<void> read_other_field(std::string_view key, JsonValue& value, HostOp& op) {
    if (is(key, "attrs")) return read_attrs(value, op);
    if (is(key, "cat"))
      return fail(Code::bad_input, "pytorch.host.linked",
                  "a node is a device operation, so another tool has already linked this trace; read it with 'chakra "
                  "import', or link the original recordings");
    return read_attr(key, {}, value, op);
  }

  void add(Node& node, size_t attr_begin) {
    HostOp& op = node.op;
    const std::string_view name = strings_[op.name];
    op.byte = stream_.current_byte();
    if (name.starts_with("[pytorch|profiler|execution_"))
      op.kind = name.ends_with("|thread]") ? HostOp::Kind::thread_root : HostOp::Kind::process_root;
    else if (is(name, "## process_group:init ##")) op.kind = HostOp::Kind::process_groups;
    if (!node.io.inputs.empty() || !node.io.outputs.empty()) {
      op.io = static_cast<uint32_t>(out_.ios.size());
      stream_.append(out_.ios, trace::PackedIo(node.io, texts_));
    }
    if (op.kind == HostOp::Kind::op) ++out_.op_count;
    if (op.kind == HostOp::Kind::process_groups) add_groups(values_, out_.file, out_.groups);
    if (is(name, "record_param_comms")) comms_.read_inputs(values_);
    if (const size_t attr_end = out_.attrs.position(); comms_.any() || attr_end > attr_begin) {
      op.more = static_cast<uint32_t>(out_.more.size());
      HostMore more{attr_begin, attr_end};
      if (comms_.any()) {
        more.comm = static_cast<uint32_t>(out_.comms.size());
        out_.comms.push_back(comms_.record());
      }
      stream_.append(out_.more, more);
    }
    stream_.append(out_.ops, op);
  }

  Result<void> thread(JsonValue& value, uint32_t& row) {
    int64_t number = 0;
    if (!to_integer(value, number)) return field_error("a thread of a node is not a whole number");
    row = threads_.row_of(number);
    return {};
  }
  static bool natural(JsonValue& value, uint64_t& number) {
    const std::string_view text = token(value);
    return parse_unsigned(text, number) && (!text.starts_with('0') || text.size() == 1 || is_sound(value));
  }
  StringId text_id(JsonValue& value) {
    std::string_view text;
    return value.get_string().get(text) ? 0 : strings_.intern(text);
  }
  /// Either a list of values (schema 1.0.1) or an object of parallel lists. The values stay in `text`.
  void read_tensors(JsonValue& value, trace::Tensors& tensors, std::string& text, std::string_view* raw_values) {
    ondemand::json_type type;
    if (value.type().get(type)) return;
    if (type == ondemand::json_type::array) {
      const std::string_view list = token(value);
      if (raw_values) *raw_values = list;
      tensors.values = python_repr(list, text);
      return;
    }
    Object object;
    if (value.get_object().get(object)) return;
    for (auto field : object) {
      std::string_view key;
      JsonValue* at = nullptr;
      if (open_field(field, key, at)) return;
      JsonValue& list = *at;
      const std::string_view json = token(list);
      if (is(key, "values")) {
        if (raw_values) *raw_values = json;
        tensors.values = python_repr(json, text);
      } else if (is(key, "shapes")) {
        tensors.shapes = kinds_.of(json);
      } else if (is(key, "types")) {
        tensors.types = kinds_.of(json);
      } else if (is(key, "strides")) {
        tensors.strides = kinds_.of(json);
      }
    }
  }

  Result<void> read_attrs(JsonValue& value, HostOp& op) {
    ondemand::array list;
    if (value.get_array().get(list)) return field_error(fmt::format("attrs of node {} are not a list", op.id));
    for (auto item : list) {
      Object attr;
      if (const auto code = item.get_object().get(attr)) return json_error(code, {});
      std::string_view name, type;
      for (auto field : attr) {
        std::string_view key;
        JsonValue* at = nullptr;
        if (const auto code = open_field(field, key, at)) return json_error(code, {});
        JsonValue& part = *at;
        stream_.look_at(key.data());
        if (is(key, "name")) {
          name = token(part);
        } else if (is(key, "type")) {
          type = token(part);
        } else if (is(key, "value")) {  // written last in every version
          CHAKRA_TRY(read_attr(name, type, part, op));
        }
      }
    }
    return {};
  }

  /// An attribute, or a field of the flat layout: they have the same names.
  Result<void> read_attr(std::string_view name, std::string_view type, JsonValue& value, HostOp& op) {
    const auto integer = [&](int64_t& to) -> Result<void> {
      if (!to_integer(value, to)) return field_error(fmt::format("{} of a node is not a whole number", name));
      return {};
    };
    switch (name.empty() ? 0 : name[0]) {  // one comparison decides for nearly all names
      case 'r':
        if (is(name, "rf_id")) return integer(op.rf_id);
        break;
      case 's':
        if (is(name, "seq_id")) return integer(op.sequence);
        if (is(name, "scope")) {
          int64_t scope = 0;
          CHAKRA_TRY(integer(scope));
          op.scope = static_cast<int16_t>(scope);
          return op.scope == scope ? Result<void>() : field_error("unknown PyTorch scope of a node");
        }
        break;
      case 't':
        if (is(name, "tid")) return thread(value, op.thread);
        break;
      case 'f':
        if (is(name, "fw_tid")) return thread(value, op.fw_thread);
        if (is(name, "fw_parent")) {
          if (!natural(value, parents_.back().forward)) return field_error("fw_parent of a node is not a whole number");
          return {};
        }
        break;
      case 'o':
        if (is(name, "op_schema")) return op.schema = text_id(value), Result<void>();
        break;
      default: break;
    }
    return read_other_attr(name, type, value);
  }

  Result<void> read_other_attr(std::string_view name, std::string_view type, JsonValue& value) {
    const std::string_view raw = token(value);
    comms_.read_attr(name, raw);
    // Kept as it is, too: other tools look for it under this name.
    int64_t number = 0;
    const StringId id = strings_.intern(name);
    if (parse_integer(raw, number) && type != "string") {
      out_.attrs.add({id, number});
    } else if (!raw.empty() || type == "string") {
      std::string_view text;
      if (value.get_string().get(text)) text = raw;
      out_.attrs.add(trace::kept({id, text}, texts_));
    }
    return {};
  }

  JsonStream stream_;
  StringPool& strings_;
  Arena& texts_;
  Salvage* salvage_;
  HostTrace out_;
  std::string input_text_, output_text_;  // as Python prints them
  Kinds kinds_;
  HostComms comms_;
  std::string_view values_;       // the inputs' values of the node being read, as JSON
  std::vector<Parents> parents_;  // of the nodes, by id
  ThreadRows threads_;
};

}  // namespace

std::vector<uint32_t> ops_by_id(const HostTrace& host) {
  std::vector<uint32_t> rows;
  for (uint32_t h = 0; h < host.ops.size(); ++h)
    if (host.ops[h].kind == HostOp::Kind::op) rows.push_back(h);
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return host.ops[a].id < host.ops[b].id; });
  return rows;
}

Result<HostTrace> read_host_trace(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage) {
  return HostReader(std::move(source), strings, texts, salvage).run();
}

}  // namespace chakra::recording
