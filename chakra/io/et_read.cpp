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
Result<Picoseconds> ps_from_ns(int64_t ns) {
  if (ns > kLongestPs / kPsPerNs || ns < -kLongestPs / kPsPerNs) return range(fmt::format("a time of {} ns", ns));
  return ns * kPsPerNs;
}

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

/// Starts from nanoseconds since whenever to picoseconds since the first of them.
Result<void> rebase(Trace& t) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  for (const NodeId n : t.nodes())
    if (t.has_start(n)) {
      first = std::min(first, t.start_ps[n]);
      last = std::max(last, t.start_ps[n]);
    }
  if (first > last) return {};  // no times
  int64_t span = 0;
  if (__builtin_sub_overflow(last, first, &span) || span > kLongestPs / kPsPerNs)
    return range("start times are more than 26 days apart", {t.file});
  t.base_ns = first;
  for (const NodeId n : t.nodes())
    if (t.has_start(n)) t.start_ps.edit(n) = (t.start_ps[n] - first) * kPsPerNs;
  return {};
}

// ---- node by node ----------------------------------------------------------------------------------------

/// Adds nodes to a builder. Errors have no place; the caller adds it.
class NodeReader {
 public:
  NodeReader(Builder& builder, const ReadOptions& options, int64_t default_pid)
      : builder_(builder), options_(options), default_pid_(default_pid), node_{builder, options.texts} {}

  /// `attrs`: messages of attributes that the record does not have.
  Result<void> add(const NodeRecord& record, const std::vector<std::string_view>& attrs) {
    const NodeType type =
        record.type < trace::kNodeTypeNames.size() ? static_cast<NodeType>(record.type) : NodeType::invalid;
    node_.begin(builder_.add(record.id, trace().strings.intern(record.name), type), default_pid_);
    for (size_t place = 0; place < record.attrs.size(); ++place) attrs_.read(record.attrs[place], place, node_);
    for (size_t place = 0; place < attrs.size(); ++place) {
      CHAKRA_TRY(decode(attrs[place], attr_));
      attrs_.read(attr_, place, node_);
    }
    if (!node_.lists) return node_.lists;
    CHAKRA_TRY(add_edges(record));
    CHAKRA_TRY(add_times(record));
    add_lane();
    if (trace::is_comm(type)) builder_.comm(node_.row);
    add_groups(record);
    add_tensors(record);
    return {};
  }

 private:
  Trace& trace() { return builder_.trace; }

  Result<void> add_edges(const NodeRecord& record) {
    const std::vector<uint64_t>& kinds = node_.dep_kinds.naturals;
    const std::vector<int64_t>& lags = node_.dep_lags.integers;
    builder_.expect_by_id(record.data_deps.size(), record.ctrl_deps.size());
    for (const uint64_t parent : record.ctrl_deps) builder_.ctrl_by_id(node_.row, parent);
    for (size_t i = 0; i < record.data_deps.size(); ++i) {
      const auto kind = i < kinds.size() ? static_cast<uint8_t>(kinds[i]) : uint8_t{0};
      const int64_t lag_ns = i < lags.size() ? lags[i] : 0;
      if (trace::kind_of(kind) > trace::EdgeKind::contention) return range("an unknown edge kind");
      CHAKRA_ASSIGN(const Picoseconds lag, ps_from_ns(lag_ns));
      builder_.dep_by_id(node_.row, record.data_deps[i], kind, lag);
    }
    return {};
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
    uint8_t& flags = trace().flags.edit(node_.row);
    if (node_.start_ns) {
      flags |= trace::kHasStart;
      trace().start_ps.edit(node_.row) = *node_.start_ns;  // nanoseconds until rebase()
    }
    if (node_.duration_ns) {
      if (*node_.duration_ns < 0) return range("a negative duration");
      flags |= trace::kHasDuration;
      CHAKRA_ASSIGN(trace().dur_ps.edit(node_.row), ps_from_ns(*node_.duration_ns));
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
  ReadOptions options_;
  int64_t default_pid_;
  AttrReader attrs_;
  AttrRecord attr_;  ///< of the message read last
  NodeDraft node_;
};

/// All nodes that follow the metadata.
Result<void> read_nodes(RecordSource& source, const ReadOptions& options, int64_t default_pid, Builder& builder) {
  NodeReader nodes(builder, options, default_pid);
  NodeRecord record;
  std::vector<std::string_view> attrs;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, source.next_node(record, &attrs));
    if (!more) return {};
    if (builder.trace.size() >= kMostNodes) return range("more nodes than 32 bits can number", source.place());
    CHAKRA_TRY(placed(nodes.add(record, attrs), source));
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
  CHAKRA_TRY(read_nodes(source, options, announced.pid, builder));
  if (announced.nodes >= 0 && announced.nodes != trace.size())
    return fail(Code::bad_input, "io.et.truncated",
                fmt::format("the file announces {} nodes and holds {}", announced.nodes, trace.size()), source.place());
  CHAKRA_TRY(rebase(trace));
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
