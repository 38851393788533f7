#include "chakra/link/host_trace.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chakra/json/json.h"
#include "chakra/link/json_value.h"
#include "chakra/link/open_parents.h"

namespace chakra::pytorch {
namespace {

namespace ondemand = simdjson::ondemand;
using Object = ondemand::object;

/// The elements of a JSON list at its top level: "[a, [b, c]]" gives "a" and "[b, c]".
std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> items;
  if (list.size() < 2) return items;
  list = list.substr(1, list.size() - 2);
  int depth = 0;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    std::string_view item = list.substr(begin, end - begin);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    items.push_back(item);
    begin = end + 1;
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '"') {
      for (++i; i < list.size() && list[i] != '"'; ++i)
        if (list[i] == '\\') ++i;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      add(i);
    }
  }
  if (!list.empty()) add(list.size());
  return items;
}

std::string_view without_quotes(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

class HostReader {
 public:
  HostReader(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage)
      : stream_(std::move(source), {"nodes"}), strings_(strings), texts_(texts), salvage_(salvage) {
    (void)thread_row(0);  // of what names none
  }

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
                  "there is no array \"nodes\" with operators in it; is this a PyTorch execution trace?", {out_.file});
    CHAKRA_TRY(link_parents());
    out_.rank = find_rank();
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> field_error(std::string text) {
    return fail(Code::bad_input, "pytorch.host.field", std::move(text));
  }

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
    HostOp op;
    trace::Io io;
    stream_.append(parents_, {});
    const size_t attr_begin = out_.attrs.position();
    comm_ = {};
    values_ = {};
    bool has_id = false, has_parent = false;
    const char *id_at = nullptr, *parent_at = nullptr;
    for (auto field : object) {
      std::string_view key;
      JsonValue* at = nullptr;
      if (const auto code = open_field(field, key, at)) return json_error(code, {});
      JsonValue& value = *at;
      stream_.look_at(key.data());
      bool known = true;
      switch (key.empty() ? 0 : key[0]) {  // one comparison or two decide
        case 'i':
          if (is(key, "id")) has_id = natural(value, op.id), id_at = key.data();
          else if (is(key, "inputs")) read_tensors(value, io.inputs, input_text_, &values_);
          else if (is(key, "input_shapes")) io.inputs.shapes = kind(token(value));
          else if (is(key, "input_types")) io.inputs.types = kind(token(value));
          else known = false;
          break;
        case 'n':
          if (is(key, "name")) op.name = text_id(value);
          else known = false;
          break;
        case 'c':
        case 'p':
          if (is(key, "ctrl_deps") || is(key, "parent"))
            has_parent = natural(value, parents_.back().caller), parent_at = key.data();
          else if (is(key, "cat"))
            return fail(Code::bad_input, "pytorch.host.linked",
                        "a node is a device operation, so another tool has linked this trace already; 'chakra import' "
                        "reads such traces, 'chakra link' the recordings that they were made from");
          else known = false;
          break;
        case 'o':
          if (is(key, "outputs")) read_tensors(value, io.outputs, output_text_, nullptr);
          else if (is(key, "output_shapes")) io.outputs.shapes = kind(token(value));
          else if (is(key, "output_types")) io.outputs.types = kind(token(value));
          else known = false;
          break;
        case 'a':
          if (is(key, "attrs")) CHAKRA_TRY(read_attrs(value, op));
          else known = false;
          break;
        default: known = false;
      }
      if (!known) CHAKRA_TRY(read_attr(key, {}, value, op));
    }
    const std::string_view name = strings_[op.name];
    stream_.look_at(has_id ? parent_at : id_at);
    if (!has_id) return field_error(fmt::format("a node named {} without a whole number as id", quote(name)));
    if (!has_parent) return field_error(fmt::format("node {} without a whole number as parent", op.id));
    op.byte = stream_.current_byte();
    if (name.starts_with("[pytorch|profiler|execution_"))
      op.kind = name.ends_with("|thread]") ? HostOp::Kind::thread_root : HostOp::Kind::process_root;
    else if (is(name, "## process_group:init ##")) op.kind = HostOp::Kind::process_groups;
    if (!io.inputs.empty() || !io.outputs.empty()) {
      op.io = static_cast<uint32_t>(out_.ios.size());
      stream_.append(out_.ios, trace::PackedIo(io, texts_));
    }
    if (op.kind == HostOp::Kind::op) ++out_.op_count;
    if (op.kind == HostOp::Kind::process_groups) read_groups();
    if (is(name, "record_param_comms")) read_comm_inputs();
    const bool has_comm = !comm_.empty() || comm_.sequence >= 0;
    if (const size_t attr_end = out_.attrs.position(); has_comm || attr_end > attr_begin) {
      op.more = static_cast<uint32_t>(out_.more.size());
      HostMore more{attr_begin, attr_end};
      if (has_comm) {
        more.comm = static_cast<uint32_t>(out_.comms.size());
        out_.comms.push_back(comm_);
      }
      stream_.append(out_.more, more);
    }
    stream_.append(out_.ops, op);
    return {};
  }

  uint32_t thread_row(int64_t number) {
    const auto [row, added] = thread_rows_.try_emplace(number, static_cast<uint32_t>(out_.threads.size()));
    if (added) out_.threads.push_back(number);
    return row->second;
  }
  Result<void> thread(JsonValue& value, uint32_t& row) {
    int64_t number = 0;
    if (!to_integer(value, number)) return field_error("a thread of a node is no whole number");
    if (number != last_number_) {
      last_number_ = number;
      last_row_ = thread_row(number);
    }
    row = last_row_;
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
  static std::string_view repr(std::string_view json, std::string& text) {
    if (is(json, "[]")) return "[]";
    text.clear();
    append_python_repr(text, json);
    return text;
  }
  /// Shapes and types repeat: what they look like in Python is worked out once.
  StringId kind(std::string_view json) {
    if (is(json, "[]")) return strings_.intern(json);
    if (const auto known = kinds_.find(json); known != kinds_.end()) return known->second;
    const StringId id = strings_.intern(repr(json, kind_text_));
    kinds_.emplace(kind_texts_.add(json), id);
    return id;
  }

  /// Either a list of values (schema 1.0.1) or an object of parallel lists. The values stay in `text`.
  void read_tensors(JsonValue& value, trace::Tensors& tensors, std::string& text, std::string_view* raw_values) {
    ondemand::json_type type;
    if (value.type().get(type)) return;
    if (type == ondemand::json_type::array) {
      const std::string_view list = token(value);
      if (raw_values) *raw_values = list;
      tensors.values = repr(list, text);
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
        tensors.values = repr(json, text);
      } else if (is(key, "shapes")) {
        tensors.shapes = kind(json);
      } else if (is(key, "types")) {
        tensors.types = kind(json);
      } else if (is(key, "strides")) {
        tensors.strides = kind(json);
      }
    }
  }

  Result<void> read_attrs(JsonValue& value, HostOp& op) {
    ondemand::array list;
    if (value.get_array().get(list)) return field_error(fmt::format("attrs of node {} are no list", op.id));
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
      if (!to_integer(value, to)) return field_error(fmt::format("{} of a node is no whole number", name));
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
          return op.scope == scope ? Result<void>() : field_error("a scope of a node is none of PyTorch's");
        }
        break;
      case 't':
        if (is(name, "tid")) return thread(value, op.thread);
        break;
      case 'f':
        if (is(name, "fw_tid")) return thread(value, op.fw_thread);
        if (is(name, "fw_parent")) {
          if (!natural(value, parents_.back().forward)) return field_error("fw_parent of a node is no whole number");
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
    int64_t number = 0;
    const bool is_number = parse_integer(raw, number);
    if (is(name, "collective_name")) comm_.collective = strings_.intern(raw);
    else if (is(name, "dtype")) comm_.dtype = strings_.intern(raw);
    else if (is(name, "pg_name")) comm_.group = strings_.intern(decoded(raw));
    else if (is(name, "pg_desc")) comm_.group_description = strings_.intern(decoded(raw));
    else if (is(name, "in_split_size")) comm_.in_split = texts_.add(raw);
    else if (is(name, "out_split_size")) comm_.out_split = texts_.add(raw);
    else if (is(name, "in_msg_nelems") && is_number) comm_.in_elements = number;
    else if (is(name, "out_msg_nelems") && is_number) comm_.out_elements = number;
    else if (is(name, "pg_size") && is_number) comm_.group_size = number;
    else if (is(name, "global_rank_start") && is_number) comm_.rank_start = number;
    else if (is(name, "global_rank_stride") && is_number) comm_.rank_stride = number;
    // Kept as it is, too: other tools look for it under this name.
    const StringId id = strings_.intern(name);
    if (is_number && type != "string") {
      out_.attrs.add({id, number});
    } else if (!raw.empty() || type == "string") {
      std::string_view text;
      if (value.get_string().get(text)) text = raw;
      out_.attrs.add({id, text.size() > trace::Attrs::kInline ? texts_.add(text) : text});
    }
    return {};
  }

  /// A number, or [number, whether the message is point-to-point].
  bool is_sequence(std::string_view input) {
    if (!input.starts_with('[')) return parse_integer(input, comm_.sequence);
    const std::vector<std::string_view> pair = split_list(input);
    return pair.size() == 2 && (pair[1] == "true" || pair[1] == "false") && parse_integer(pair[0], comm_.sequence);
  }

  /// What record_param_comms has only by position:
  /// [[tensors], sequence, group, rank, "collective", in_split, out_split, ...]; group is a number
  /// (1.0.2) or ["name", "description"].
  void read_comm_inputs() {
    const std::vector<std::string_view> inputs = split_list(values_);
    for (size_t i = 0; i + 3 < inputs.size() && i < 2; ++i)
      if (is_sequence(inputs[i])) {
        const std::vector<std::string_view> group = split_list(inputs[i + 1]);
        if (group.size() == 2 && comm_.group == 0) {
          comm_.group = strings_.intern(decoded(without_quotes(group[0])));
          comm_.group_description = strings_.intern(decoded(without_quotes(group[1])));
        }
        if (comm_.collective == 0) comm_.collective = strings_.intern(without_quotes(inputs[i + 3]));
        note_rank(inputs[i + 1], group.size() == 2, inputs[i + 2]);
        if (comm_.in_split.empty() && i + 5 < inputs.size() && inputs[i + 4].starts_with('[')) {
          comm_.in_split = texts_.add(inputs[i + 4]);
          comm_.out_split = texts_.add(inputs[i + 5]);
        }
        return;
      }
  }

  /// The place in the group: the rank's own, but of a rooted collective the root's and of a message the partner's (c10d
  /// did so when it named groups; before, nobody knows).
  void note_rank(std::string_view group, bool named, std::string_view text) {
    int64_t rank = 0;
    if (comm_.collective == 0 || !parse_integer(text, rank) || rank < 0) return;
    if (named) comm_.rank = rank;
    const CommKind kind = comm_kind(strings_[comm_.collective]);
    if (kind.type != trace::NodeType::coll || trace::has_root(kind.collective)) return;
    const auto [found, added] = rank_in_group_.emplace(group, rank);
    if (found->second != rank) found->second = -1;
  }

  /// The rank in the job: that in the default group, or what the only group's list says.
  int64_t find_rank() const {
    for (const auto& [group, rank] : rank_in_group_)
      if (contains(group, "default_pg")) return rank;
    if (rank_in_group_.size() != 1) return -1;
    const auto& [group, rank] = *rank_in_group_.begin();
    const std::vector<std::string_view> name = split_list(group);
    if (name.size() != 2 || rank < 0) return rank;  // old records do not name the group
    for (const trace::ProcessGroup& known : out_.groups)
      if (known.name == decoded(without_quotes(name[0])) && static_cast<size_t>(rank) < known.ranks.size())
        return known.ranks[static_cast<size_t>(rank)];
    return -1;
  }

  /// inputs.values[0] is a string that holds a JSON list of groups.
  void read_groups() {
    const std::vector<std::string_view> inputs = split_list(values_);
    if (inputs.empty()) return;
    const simdjson::padded_string outer{inputs[0]};
    ondemand::parser parser;
    ondemand::document document;
    std::string_view text;
    if (parser.iterate(outer).get(document) || document.get_string().get(text)) return;
    auto spec = parse_spec(text, out_.file);
    if (!spec) return;
    for (const Spec& item : spec->items) {
      const auto field = [&](const char* key) {
        const Spec* found = item.find(key);
        return found ? found->scalar : std::string();
      };
      trace::ProcessGroup group{field("pg_name"), field("pg_desc"), field("backend_config"), {}, 0};
      (void)parse_integer(field("group_size"), group.size);
      if (const Spec* ranks = item.find("ranks"))
        for (const Spec& rank : ranks->items) {
          int64_t number = 0;
          if (parse_integer(rank.scalar, number)) group.ranks.push_back(number);
        }
      const auto same = std::find_if(out_.groups.begin(), out_.groups.end(),
                                     [&](const auto& known) { return known.name == group.name; });
      if (same == out_.groups.end()) out_.groups.push_back(std::move(group));
    }
  }

  /// Of nodes with equal ids the first stays.
  void leave_out_doubles() {
    absl::flat_hash_set<uint64_t> ids;
    size_t kept = 0;
    for (size_t row = 0; row < out_.ops.size(); ++row) {
      const HostOp op = out_.ops[row];
      if (ids.insert(op.id).second) {
        out_.ops[kept] = op;
        parents_[kept++] = parents_[row];
        continue;
      }
      out_.op_count -= op.kind == HostOp::Kind::op;
      salvage_->note({Code::bad_input,
                      "pytorch.host.duplicate_id",
                      fmt::format("node id {} is used before", op.id),
                      {out_.file, op.byte}});
    }
    out_.ops.resize(kept);
  }

  Result<void> link_parents() {
    std::vector<HostOp>& ops = out_.ops;
    if (salvage_) leave_out_doubles();
    RowMap row_of(ops, [](const HostOp& op) { return std::optional(op.id); });
    for (uint32_t row = 0; row < ops.size(); ++row) {
      uint32_t& first = row_of[ops[row].id];
      if (first != RowMap::kNoRow)
        return fail(Code::bad_input, "pytorch.host.duplicate_id",
                    fmt::format("node id {} is used before, by {}", ops[row].id, quote(strings_[ops[first].name])),
                    {out_.file, ops[row].byte});
      first = row;
    }
    std::vector<Orphan> orphans;
    for (uint32_t row = 0; row < ops.size(); ++row) {
      HostOp& op = ops[row];
      if (parents_[row].forward != 0) op.fw_parent_row = row_of.find(parents_[row].forward);
      const uint32_t caller = row_of.find(parents_[row].caller);
      if (caller == trace::kNoRow) orphans.push_back({row, parents_[row].caller});
      else if (caller != row) op.parent_row = caller;
      else if (op.kind != HostOp::Kind::process_root) return cycle(op);
    }
    parents_ = std::vector<Parents>();  // frees its memory; = {} would not
    // Walk up from each node until a node known to reach the root.
    std::vector<uint32_t> seen(ops.size(), 0);
    for (uint32_t start = 0; start < ops.size(); ++start) {
      uint32_t row = start;
      while (row != trace::kNoRow && seen[row] == 0) {
        seen[row] = start + 1;
        row = ops[row].parent_row;
        if (row != trace::kNoRow && seen[row] == start + 1) return cycle(ops[row]);
      }
    }
    return hang_orphans(out_, strings_, orphans, salvage_ != nullptr);
  }

  tl::unexpected<Error> cycle(const HostOp& op) {
    return fail(Code::bad_input, "pytorch.host.parent_cycle", fmt::format("node {} is its own ancestor", op.id),
                {out_.file, op.byte});
  }

  JsonStream stream_;
  StringPool& strings_;
  Arena& texts_;
  Salvage* salvage_;
  HostTrace out_;
  std::string input_text_, output_text_, kind_text_;  // as Python prints them
  Arena kind_texts_;
  TextMap<StringId> kinds_;  // by their JSON text
  CommRecord comm_;          // of the node being read
  std::string_view values_;  // its inputs' values, as JSON
  struct Parents {
    uint64_t caller = 0, forward = 0;
  };
  std::vector<Parents> parents_;  // of the nodes, by id
  absl::flat_hash_map<int64_t, uint32_t> thread_rows_;
  int64_t last_number_ = 0;
  uint32_t last_row_ = 0;  // of it in thread_rows_
  std::map<std::string, int64_t, std::less<>> rank_in_group_;
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

}  // namespace chakra::pytorch
