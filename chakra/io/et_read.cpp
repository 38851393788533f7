// .et -> Trace.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "chakra/io/io.h"
#include "chakra/io/node_attrs.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kMostNodes = std::numeric_limits<uint32_t>::max() - 1;

Failure range(std::string text, Place place = {}) {
  return fail(Code::bad_input, "io.et.range", std::move(text), std::move(place));
}
Result<int64_t> ns_from_us(uint64_t micros) {
  if (micros > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 1000))
    return range(fmt::format("a time of {} us", micros));
  return static_cast<int64_t>(micros) * 1000;
}
constexpr int64_t kMostNs = kLongestPs / kPsPerNs;
Failure too_long(int64_t ns) { return range(fmt::format("a time of {} ns", ns)); }

// ---- of the whole file -----------------------------------------------------------------------------------

/// Process groups as JSON, into Trace::groups; some may be there after an error.
Result<void> read_groups(std::string_view json, const std::string& file, Trace& trace) {
  CHAKRA_ASSIGN(const Spec list, parse_spec(json, file));
  for (const Spec& item : list.items) {
    trace::ProcessGroup group;
    const auto text = [&](const char* key) {
      const Spec* field = item.find(key);
      return field ? field->scalar : std::string();
    };
    group.name = text("pg_name");
    group.description = text("pg_desc");
    group.backend = text("backend_config");
    if (const Spec* size = item.find("group_size")) {
      CHAKRA_ASSIGN(group.size, size->integer());
    }
    if (const Spec* ranks = item.find("ranks"))
      for (const Spec& rank : ranks->items) {
        CHAKRA_ASSIGN(const int64_t number, rank.integer());
        group.ranks.push_back(number);
      }
    trace.groups.push_back(std::move(group));
  }
  return {};
}

}  // namespace

Result<Announced> read_metadata(const MetadataRecord& record, const std::string& file, Trace& trace) {
  const auto keep = [&](std::string_view name, std::string_view text) {
    trace.metadata.push_back({trace.strings.intern(name), trace.texts.add(text)});
  };
  Announced announced;
  if (!record.version.empty()) keep("version", record.version);
  for (const AttrRecord& attr : record.attrs) {
    int64_t integer = 0;
    if (attr.name == "chakra_nodes" && attr.as_integer(integer)) announced.nodes = integer;
    else if (attr.name == "rank" && attr.as_integer(integer) && integer >= 0)
      trace.rank = integer, trace.says_rank = true;
    else if (attr.name == "process_groups" && attr.field == schema::kString)
      CHAKRA_TRY(read_groups(attr.bytes, file, trace));
    else if (attr.field == schema::kString) keep(attr.name, attr.bytes);
    else if (const auto other = kept(attr, trace)) trace.metadata.push_back(*other);
    if (attr.name == "pid") (void)attr.as_integer(announced.pid);
  }
  return announced;
}

namespace {

/// The starts of the nodes so far, in nanoseconds.
struct Starts {
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();

  void add(int64_t start) {
    first = std::min(first, start);
    last = std::max(last, start);
  }
};

/// Starts from nanoseconds since whenever to picoseconds since the first of them.
Result<void> rebase(const Starts& starts, Trace& t) {
  const auto [first, last] = starts;
  if (first > last) return {};  // no times
  int64_t span = 0;
  if (__builtin_sub_overflow(last, first, &span) || span > kLongestPs / kPsPerNs)
    return range("start times are more than 26 days apart", {t.file});
  t.base_ns = first;
  const std::span<Picoseconds> start = t.start_ps.edit();
  for (const NodeId n : t.nodes())
    if (t.has_start(n)) start[n] = (start[n] - first) * kPsPerNs;
  return {};
}

// ---- node by node ----------------------------------------------------------------------------------------

/// Adds rows to the columns, many at a time: adding one row to each of nine columns takes longer than its values.
class Rows {
 public:
  explicit Rows(Trace& trace) : trace_(trace) {}

  NodeId add(uint64_t id, StringId name, NodeType type) {
    const NodeId row(size_++);
    if (row == types_.size()) grow(row + std::clamp<size_t>(row, kFewest, kMost));
    if (row == 0) first_id_ = id;
    if (row == counting_ && id == first_id_ + row && id >= first_id_) ++counting_;
    else add_id(id);
    names_[row] = name;
    types_[row] = type;
    attr_begins_[row] = trace_.attrs.position();
    return row;
  }
  size_t size() const { return size_; }
  /// Complete the columns, and drop the rows without a node.
  void finish() {
    if (counting_ == size_) trace_.id = trace::Ids::counting(first_id_, size_);
    resize(size_);
  }

  std::span<uint8_t> flags;
  std::span<Picoseconds> starts, durations;

 private:
  static constexpr size_t kFewest = 64, kMost = 4096;

  /// Add an id after one that did not count up. Ids that count up, as nearly all do, need no list.
  void add_id(uint64_t id) {
    if (trace_.id.empty()) trace_.id = trace::Ids::counting(first_id_, counting_);
    trace_.id.push_back(id);
  }
  void grow(size_t size) {
    resize(size);
    names_ = trace_.name.edit();
    types_ = trace_.type.edit();
    attr_begins_ = trace_.attr_begin.edit();
    flags = trace_.flags.edit();
    starts = trace_.start_ps.edit();
    durations = trace_.dur_ps.edit();
  }
  void resize(size_t size) {
    trace::each_column([&](const auto& row) {
      if (!row.is_attribute()) (trace_.*row.column).resize(size, row.fill);
    });
    trace_.attr_begin.resize(size);
  }

  Trace& trace_;
  size_t size_ = 0, counting_ = 0;  ///< nodes; of the first nodes, whose ids count up from first_id_
  uint64_t first_id_ = 0;
  std::span<StringId> names_;
  std::span<NodeType> types_;
  std::span<size_t> attr_begins_;
};

/// Adds nodes to a builder. Errors have no place; the caller adds it.
class NodeReader {
 public:
  NodeReader(Builder& builder, const ReadOptions& options, int64_t default_pid)
      : builder_(builder),
        rows_(builder.trace),
        options_(options),
        default_pid_(default_pid),
        node_{builder, options.texts} {}

  /// Add the node of a message. Nearly all messages skip the records of their attributes.
  Result<void> add(std::string_view message) {
    if (!schema::plain::read_node(message, record_, plain_)) {
      CHAKRA_TRY(decode(message, record_, messages_));
      return add(record_, messages_);
    }
    begin(record_);
    for (size_t place = 0; place < plain_.size; ++place)
      if (!attrs_.read_known(plain_.messages[place], place, node_)) CHAKRA_TRY(add_attr(plain_.messages[place], place));
    return end(record_);
  }
  /// `attrs`: messages of attributes that the record does not have.
  Result<void> add(const NodeRecord& record, const std::vector<std::string_view>& attrs) {
    begin(record);
    for (size_t place = 0; place < record.attrs.size(); ++place) attrs_.read(record.attrs[place], place, node_);
    for (size_t place = 0; place < attrs.size(); ++place)
      if (!attrs_.read_known(attrs[place], place, node_)) CHAKRA_TRY(add_attr(attrs[place], place));
    return end(record);
  }
  size_t size() const { return rows_.size(); }
  /// Call after the last node.
  Starts finish() {
    rows_.finish();
    return starts_;
  }

 private:
  Trace& trace() { return builder_.trace; }

  void begin(const NodeRecord& record) {
    const NodeType type =
        record.type < trace::kNodeTypeNames.size() ? static_cast<NodeType>(record.type) : NodeType::invalid;
    node_.begin(rows_.add(record.id, name_of(record), type), default_pid_);
  }
  Result<void> add_attr(std::string_view message, size_t place) {
    CHAKRA_TRY(decode(message, attr_));
    attrs_.read(attr_, place, node_);
    return {};
  }
  /// Finish a node whose attributes were read.
  Result<void> end(const NodeRecord& record) {
    if (!node_.lists) return node_.lists;
    CHAKRA_TRY(add_edges(record));
    CHAKRA_TRY(add_times(record));
    add_lane();
    if (trace::is_comm(trace().type[node_.row])) builder_.comm(node_.row);
    add_groups(record);
    add_tensors(record);
    return {};
  }

  StringId name_of(const NodeRecord& record) {
    if (trace().strings[name_] != record.name) name_ = trace().strings.intern(record.name);
    return name_;
  }

  Result<void> add_edges(const NodeRecord& record) {
    const std::vector<uint64_t>& kinds = node_.dep_kinds.naturals;
    const std::vector<int64_t>& lags = node_.dep_lags.integers;
    keep_length("listed_dep_kinds", kinds.size(), record.data_deps.size());
    keep_length("listed_dep_lag_ns", lags.size(), record.data_deps.size());
    builder_.expect_by_id(record.data_deps.size(), record.ctrl_deps.size());
    for (const uint64_t parent : record.ctrl_deps) builder_.ctrl_by_id(node_.row, parent);
    for (size_t i = 0; i < record.data_deps.size(); ++i) {
      const auto kind = i < kinds.size() ? static_cast<uint8_t>(kinds[i]) : uint8_t{0};
      const int64_t lag_ns = i < lags.size() ? lags[i] : 0;
      if (trace::kind_of(kind) > trace::EdgeKind::contention) return range("an unknown edge kind");
      if (lag_ns > kMostNs || lag_ns < -kMostNs) return too_long(lag_ns);
      builder_.dep_by_id(node_.row, record.data_deps[i], kind, lag_ns * kPsPerNs);
    }
    return {};
  }

  /// Keep the length of a list that is not parallel to the dependencies, for `chakra check`: the columns do not show
  /// it.
  void keep_length(std::string_view name, size_t listed, size_t deps) {
    if (listed != 0 && listed != deps) builder_.attr({trace().strings.intern(name), static_cast<int64_t>(listed)});
  }

  /// The attributes are exact; the fields of the schema, in microseconds, stand in for missing attributes.
  Result<void> add_times(const NodeRecord& record) {
    if (!node_.start_ns && record.start_micros > 0) {
      CHAKRA_ASSIGN(node_.start_ns, ns_from_us(record.start_micros));
    }
    if (!node_.duration_ns && record.duration_micros > 0) {
      CHAKRA_ASSIGN(node_.duration_ns, ns_from_us(record.duration_micros));
    }
    // `chakra check` names it. With the fields' precision both say the same.
    if (const double given = 1e3 * static_cast<double>(record.duration_micros);
        given > 0 && node_.duration_ns && std::abs(given - static_cast<double>(*node_.duration_ns)) > 1e3)
      builder_.attr({trace().strings.intern("duration_micros"), record.duration_micros});
    uint8_t& flags = rows_.flags[node_.row];
    if (node_.start_ns) {
      flags |= trace::kHasStart;
      rows_.starts[node_.row] = *node_.start_ns;  // nanoseconds until rebase()
      starts_.add(*node_.start_ns);
    }
    if (node_.duration_ns) {
      if (*node_.duration_ns < 0) return range("a negative duration");
      flags |= trace::kHasDuration;
      if (*node_.duration_ns > kMostNs) return too_long(*node_.duration_ns);
      rows_.durations[node_.row] = *node_.duration_ns * kPsPerNs;
    }
    return {};
  }

  /// Other tools also write a stream for CPU operations.
  void add_lane() {
    const uint8_t flags = trace().flags[node_.row];
    const bool device = (flags & trace::kSaysCpuOrNot) && !(flags & trace::kOnCpu);
    if (device && node_.stream)
      trace().lane.edit(node_.row) = builder_.lane({trace::Lane::Kind::stream, node_.device, *node_.stream});
    else if (!device && node_.tid)
      trace().lane.edit(node_.row) = builder_.lane({trace::Lane::Kind::thread, node_.pid, *node_.tid});
  }

  /// The groups of PyTorch's node of that name, unless the metadata has groups.
  void add_groups(const NodeRecord& record) {
    const std::string_view list = record.inputs.values;  // ['[{...}]']
    if (list.size() <= 4 || !trace().groups.empty() || !contains(record.name, "## process_group:init ##")) return;
    if (!read_groups(list.substr(2, list.size() - 4), "", trace()))
      trace().groups.clear();  // groups then come from elsewhere or are reported as unknown
  }

  void add_tensors(const NodeRecord& record) {
    if (!options_.texts || (record.inputs.values.empty() && record.outputs.values.empty())) return;
    const auto tensors = [&](const IoRecord& io) {
      return trace::Tensors{io.values, trace().strings.intern(io.shapes), trace().strings.intern(io.types), 0};
    };
    trace().io_row.edit(node_.row) = static_cast<uint32_t>(trace().ios.size());
    trace().ios.emplace_back(trace::Io{tensors(record.inputs), tensors(record.outputs)}, trace().texts);
  }

  Builder& builder_;
  Rows rows_;
  Starts starts_;
  ReadOptions options_;
  int64_t default_pid_;
  StringId name_ = 0;  ///< of the node read last: the next one often has the same
  AttrReader attrs_;
  // Of the message read last.
  NodeRecord record_;
  schema::plain::Attrs plain_;
  std::vector<std::string_view> messages_;  ///< of attributes
  AttrRecord attr_;
  NodeDraft node_;
};

/// All nodes that follow the metadata.
Result<Starts> read_nodes(RecordSource& source, const ReadOptions& options, int64_t default_pid, Builder& builder) {
  NodeReader nodes(builder, options, default_pid);
  EmptyNodes empty_nodes;
  NodeRecord record;
  std::vector<std::string_view> attrs;
  std::string_view message;
  for (const bool records = source.makes_messages();;) {
    CHAKRA_ASSIGN(const bool more, records ? source.next_node(record, &attrs) : source.next(message));
    if (!more) return nodes.finish();
    if (nodes.size() >= kMostNodes) return range("more nodes than 32 bits can number", source.place());
    if (!records) CHAKRA_TRY(empty_nodes.see(message.empty(), source));
    if (auto added = records ? nodes.add(record, attrs) : nodes.add(message); !added)
      return Failure(std::move(placed(std::move(added), source).error()));
  }
}

}  // namespace

Result<Trace> read_trace(RecordSource& source, const ReadOptions& options) {
  std::string_view message;
  CHAKRA_ASSIGN(const MetadataRecord metadata, first_record(source, message));
  Builder builder;
  Trace& trace = builder.trace;
  trace.file = source.place().file;
  CHAKRA_ASSIGN(const Announced announced, placed(read_metadata(metadata, trace.file, trace), source));
  CHAKRA_ASSIGN(const Starts starts, read_nodes(source, options, announced.pid, builder));
  if (announced.nodes >= 0 && announced.nodes != trace.size())
    return fail(Code::bad_input, "io.et.truncated",
                fmt::format("the file announces {} nodes and holds {}", announced.nodes, trace.size()), source.place());
  CHAKRA_TRY(rebase(starts, trace));
  return std::move(builder).finish();
}

Result<Trace> read_et(ByteSource source, const ReadOptions& options) {
  EtFile file(std::move(source));
  return read_trace(file, options);
}

Result<Trace> read_et(const std::string& path, const ReadOptions& options) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return read_et(std::move(source), options);
}

}  // namespace chakra::io
