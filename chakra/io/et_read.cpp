// .et -> Trace.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "chakra/base/text_map.h"
#include "chakra/io/io.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using trace::Builder;
using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// What has a column. The rest goes to Trace::attrs.
enum class Known : uint8_t {
  is_cpu_op,
  comm_type,
  comm_size,
  comm_src,
  comm_dst,
  comm_tag,
  comm_priority,
  comm_seq,
  comm_root,
  comm_in_bytes,
  comm_out_bytes,
  comm_in_split,
  comm_out_split,
  comm_dtype,
  involved_dim,
  pg_name,
  num_ops,
  tensor_size,
  op_dtype,
  ts_ns,
  dur_ns,
  dep_kinds,
  dep_lag_ns,
  part_of,
  pid,
  tid,
  device,
  stream
};

const TextMap<Known>& known_attrs() {
  static const TextMap<Known> table{{"is_cpu_op", Known::is_cpu_op},
                                    {"comm_type", Known::comm_type},
                                    {"comm_size", Known::comm_size},
                                    {"comm_src", Known::comm_src},
                                    {"comm_dst", Known::comm_dst},
                                    {"comm_tag", Known::comm_tag},
                                    {"comm_priority", Known::comm_priority},
                                    {"comm_seq", Known::comm_seq},
                                    {"comm_root", Known::comm_root},
                                    {"comm_in_bytes", Known::comm_in_bytes},
                                    {"comm_out_bytes", Known::comm_out_bytes},
                                    {"comm_in_split", Known::comm_in_split},
                                    {"comm_out_split", Known::comm_out_split},
                                    {"comm_dtype", Known::comm_dtype},
                                    {"involved_dim", Known::involved_dim},
                                    {"pg_name", Known::pg_name},
                                    {"num_ops", Known::num_ops},
                                    {"tensor_size", Known::tensor_size},
                                    {"op_dtype", Known::op_dtype},
                                    {"ts_ns", Known::ts_ns},
                                    {"dur_ns", Known::dur_ns},
                                    {"dep_kinds", Known::dep_kinds},
                                    {"dep_lag_ns", Known::dep_lag_ns},
                                    {"part_of", Known::part_of},
                                    {"pid", Known::pid},
                                    {"tid", Known::tid},
                                    {"device", Known::device},
                                    {"stream", Known::stream}};
  return table;
}

/// Reads one file into a Builder.
class Reader {
 public:
  Reader(RecordSource& file, const ReadOptions& options) : file_(file), options_(options) {}

  Result<Trace> run() {
    std::string_view message;
    CHAKRA_ASSIGN(const bool any, file_.next(message));
    if (!any) return fail(Code::bad_input, "io.et.empty", "the file is empty", {file_.place().file});
    // Other files may look like a message by chance, but hardly like one of this kind.
    MetadataRecord metadata;
    if (!decode(message, metadata) || !is_metadata(metadata))
      return fail(Code::bad_input, "io.et.not_a_trace", "the file does not begin with the metadata of a Chakra trace",
                  file_.place());
    CHAKRA_TRY(placed(read_metadata(metadata)));
    NodeRecord node;
    EmptyNodes empty_nodes;
    for (;;) {
      CHAKRA_ASSIGN(const bool more, file_.next(message));
      if (!more) break;
      if (trace().size() >= kMostNodes) return range("more nodes than 32 bits can number", file_.place());
      CHAKRA_TRY(empty_nodes.see(message, file_));
      CHAKRA_TRY(placed(decode(message, node)));
      CHAKRA_TRY(placed(read_node(node)));
    }
    if (announced_nodes_ >= 0 && announced_nodes_ != trace().size())
      return fail(Code::bad_input, "io.et.truncated",
                  fmt::format("the file announces {} nodes and holds {}", announced_nodes_, trace().size()),
                  file_.place());
    CHAKRA_TRY(rebase());
    trace().file = file_.place().file;
    return std::move(builder_).finish();
  }

 private:
  static constexpr size_t kMostNodes = std::numeric_limits<uint32_t>::max() - 1;

  Trace& trace() { return builder_.trace; }
  StringId intern(std::string_view text) { return trace().strings.intern(text); }

  static tl::unexpected<Error> range(std::string text, Place place = {}) {
    return fail(Code::bad_input, "io.et.range", std::move(text), std::move(place));
  }
  Result<void> placed(Result<void> result) {
    if (!result && result.error().place.file.empty()) result.error().place = file_.place();
    return result;
  }

  Result<void> read_metadata(const MetadataRecord& record) {
    const auto keep = [&](std::string_view name, std::string_view text) {
      trace().metadata.push_back({intern(name), trace().texts.add(text)});
    };
    if (!record.version.empty()) keep("version", record.version);
    for (const AttrRecord& attr : record.attrs) {
      int64_t integer = 0;
      if (attr.name == "chakra_nodes" && attr.as_integer(integer)) announced_nodes_ = integer;
      else if (attr.name == "rank" && attr.as_integer(integer) && integer >= 0)
        trace().rank = integer, trace().says_rank = true;
      else if (attr.name == "process_groups" && attr.field == schema::kString) CHAKRA_TRY(read_groups(attr.bytes));
      else if (attr.field == schema::kString) keep(attr.name, attr.bytes);
      else if (const auto other = kept(attr)) trace().metadata.push_back(*other);
      if (attr.name == "pid") (void)attr.as_integer(default_pid_);
    }
    return {};
  }

  Result<void> read_groups(std::string_view json) {
    CHAKRA_ASSIGN(const Spec list, parse_spec(json, file_.place().file));
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
      trace().groups.push_back(std::move(group));
    }
    return {};
  }

  Result<void> read_node(const NodeRecord& record) {
    const NodeType type =
        record.type < trace::kNodeTypeNames.size() ? static_cast<NodeType>(record.type) : NodeType::invalid;
    node_ = builder_.add(record.id, intern(record.name), type);
    start_ns_ = std::nullopt;
    duration_ns_ = std::nullopt;
    pid_ = default_pid_;
    tid_ = device_ = 0;
    stream_ = std::nullopt;
    has_tid_ = false;
    kinds_.naturals.clear();
    lags_.integers.clear();

    for (size_t place = 0; place < record.attrs.size(); ++place) CHAKRA_TRY(read_attr(record.attrs[place], place));

    builder_.expect_by_id(record.data_deps.size(), record.ctrl_deps.size());
    for (const uint64_t parent : record.ctrl_deps) builder_.ctrl_by_id(node_, parent);
    for (size_t i = 0; i < record.data_deps.size(); ++i) {
      const auto kind = i < kinds_.naturals.size() ? static_cast<uint8_t>(kinds_.naturals[i]) : uint8_t{0};
      const int64_t lag_ns = i < lags_.integers.size() ? lags_.integers[i] : 0;
      if (trace::kind_of(kind) > trace::EdgeKind::contention) return range("an edge kind that is not known");
      CHAKRA_ASSIGN(const Picoseconds lag, ps_from_ns(lag_ns));
      builder_.dep_by_id(node_, record.data_deps[i], kind, lag);
    }
    if (!start_ns_ && record.start_micros > 0) {
      CHAKRA_ASSIGN(start_ns_, ns_from_us(record.start_micros));
    }
    if (!duration_ns_ && record.duration_micros > 0) {
      CHAKRA_ASSIGN(duration_ns_, ns_from_us(record.duration_micros));
    }
    uint8_t& flags = trace().flags.edit(node_);
    if (start_ns_) {
      flags |= trace::kHasStart;
      trace().start_ps.edit(node_) = *start_ns_;  // nanoseconds until rebase()
    }
    if (duration_ns_) {
      if (*duration_ns_ < 0) return range("a negative duration");
      flags |= trace::kHasDuration;
      CHAKRA_ASSIGN(trace().dur_ps.edit(node_), ps_from_ns(*duration_ns_));
    }
    // Other tools also write a stream for CPU operations.
    const bool device = (flags & trace::kSaysCpuOrNot) && !(flags & trace::kOnCpu);
    if (device && stream_) trace().lane.edit(node_) = builder_.lane({trace::Lane::Kind::stream, device_, *stream_});
    else if (!device && has_tid_) trace().lane.edit(node_) = builder_.lane({trace::Lane::Kind::thread, pid_, tid_});
    if (trace::is_comm(type)) builder_.comm(node_);

    if (contains(record.name, "## process_group:init ##") && trace().groups.empty() &&
        record.inputs.values.size() > 4)  // ['[{...}]']
      if (auto groups = read_groups(record.inputs.values.substr(2, record.inputs.values.size() - 4)); !groups)
        trace().groups.clear();  // groups then come from elsewhere or are reported as unknown
    if (options_.texts && !(record.inputs.values.empty() && record.outputs.values.empty())) {
      const auto tensors = [&](const IoRecord& io) {
        return trace::Tensors{io.values, intern(io.shapes), intern(io.types), 0};
      };
      trace().io_row.edit(node_) = static_cast<uint32_t>(trace().ios.size());
      trace().ios.emplace_back(trace::Io{tensors(record.inputs), tensors(record.outputs)}, trace().texts);
    }
    return {};
  }

  /// Which column an attribute has; nullptr: none. Nodes of a file mostly have the same attributes at the same places.
  const Known* known(std::string_view name, size_t place) {
    if (place >= seen_.size()) seen_.resize(place + 1);
    Seen& seen = seen_[place];
    if (seen.name != name) {
      const auto found = known_attrs().find(name);
      seen.name.assign(name);
      seen.known = found == known_attrs().end() ? nullptr : &found->second;
    }
    return seen.known;
  }

  Result<void> read_attr(const AttrRecord& attr, size_t place) {
    const Known* const column_of = known(attr.name, place);
    if (!column_of) {
      keep(attr);
      return {};
    }
    int64_t integer = 0;
    uint64_t natural = 0;
    const bool is_integer = attr.as_integer(integer), is_natural = attr.as_natural(natural);
    const bool is_text = attr.field == schema::kString || attr.field == schema::kString + 2;
    const auto comm = [&]() -> Comm& { return builder_.comm(node_); };
    switch (*column_of) {
      case Known::is_cpu_op:
        if (is_integer)
          trace().flags.edit(node_) |= static_cast<uint8_t>(trace::kSaysCpuOrNot | (integer ? trace::kOnCpu : 0));
        break;
      case Known::comm_type:
        if (is_natural)
          comm().type = natural < trace::kCommTypeNames.size() ? static_cast<CommType>(natural) : CommType::unknown;
        break;
      case Known::comm_size:
        if (is_natural) comm().bytes = natural;
        else negative_size(is_integer);
        break;
      case Known::comm_in_bytes:
        if (is_natural) comm().in_bytes = natural;
        break;
      case Known::comm_out_bytes:
        if (is_natural) comm().out_bytes = natural;
        break;
      case Known::comm_src:
        if (is_integer) comm().src = integer;
        break;
      case Known::comm_dst:
        if (is_integer) comm().dst = integer;
        break;
      case Known::comm_tag:
        if (is_integer) comm().tag = integer;
        break;
      case Known::comm_priority:
        if (is_integer) comm().priority = integer;
        break;
      case Known::comm_seq:
        if (is_integer) comm().sequence = integer;
        break;
      case Known::comm_root:
        if (is_integer) comm().root = integer;
        break;
      case Known::comm_in_split:
        if (is_text) comm().in_split = trace().texts.add(attr.bytes);
        break;
      case Known::comm_out_split:
        if (is_text) comm().out_split = trace().texts.add(attr.bytes);
        break;
      case Known::comm_dtype:
        if (is_text) comm().dtype = intern(attr.bytes);
        break;
      case Known::involved_dim: {
        CHAKRA_ASSIGN(const AttrList dims, decode_list(attr));
        comm().involved_count = static_cast<uint8_t>(std::min<size_t>(dims.integers.size(), 64));
        for (size_t d = 0; d < comm().involved_count; ++d) comm().involved |= uint64_t{dims.integers[d] != 0} << d;
        break;
      }
      case Known::pg_name:
        if (trace::is_comm(trace().type[node_])) {
          if (is_text) comm().group = intern(attr.bytes);
          else if (is_integer) comm().group = intern(fmt::format("{}", integer));
        } else {
          keep(attr);
        }
        break;
      case Known::num_ops:
        if (is_natural) column(trace().num_ops, natural);
        else negative_size(is_integer);
        break;
      case Known::tensor_size:
        if (is_natural) column(trace().tensor_bytes, natural);
        else negative_size(is_integer);
        break;
      case Known::op_dtype:
        if (const auto type = is_text ? trace::dtype_of(attr.bytes) : trace::DType::unknown;
            type != trace::DType::unknown) {
          trace().op_dtype.resize(node_ + 1);
          trace().op_dtype.edit(node_) = static_cast<uint8_t>(type);
        } else {
          keep(attr);  // another tool's
        }
        break;
      case Known::ts_ns:
        if (is_integer) start_ns_ = integer;
        break;
      case Known::dur_ns:
        if (is_integer) duration_ns_ = integer;
        break;
      case Known::dep_kinds: {
        CHAKRA_ASSIGN(kinds_, decode_list(attr));
        break;
      }
      case Known::dep_lag_ns: {
        CHAKRA_ASSIGN(lags_, decode_list(attr));
        break;
      }
      case Known::part_of:
        if (is_natural) builder_.part_by_id(node_, natural);
        break;
      case Known::pid:
        if (is_integer) pid_ = integer;
        break;
      case Known::tid:
        if (is_integer) {
          tid_ = integer;
          has_tid_ = true;
        }
        break;
      case Known::device:
        if (is_integer) device_ = integer;
        break;
      case Known::stream:
        if (is_integer) stream_ = integer;
        break;
    }
    return {};
  }

  void negative_size(bool is_integer) {
    if (is_integer) trace().defects.push_back({trace::Defect::Kind::negative_size, node_, 0});
  }
  void column(Column<uint64_t>& column, uint64_t value) {
    column.resize(node_ + 1);
    column.edit(node_) = value;
  }

  /// What the trace keeps of an attribute, text still the file's; nothing for lists and what has no value.
  std::optional<trace::Attr> kept(const AttrRecord& attr) {
    const StringId name = intern(attr.name);
    int64_t integer = 0;
    if (attr.field == schema::kBool) return trace::Attr{name, attr.integer != 0};
    if (attr.as_integer(integer)) return trace::Attr{name, integer};
    if (attr.field == schema::kUint64) return trace::Attr{name, attr.natural};
    if (attr.field == schema::kDouble || attr.field == schema::kDouble + 2) return trace::Attr{name, attr.real};
    if (attr.field == schema::kString) return trace::Attr{name, attr.bytes};
    return std::nullopt;
  }
  void keep(const AttrRecord& record) {
    const std::string_view name = record.name;
    const bool checked = name == "comm_request" || name == "comm_wait";  // what waits for what
    const trace::NodeType type = trace().type[node_];
    const bool charged =
        (type == trace::NodeType::mem_load || type == trace::NodeType::mem_store) &&
        (name == "storage_tier" || name == "io_kind" || name == "bytes");  // what a tier is charged with
    if (!options_.texts && !checked && !charged) return;
    if (const auto attr = kept(record)) builder_.attr(*attr);
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

  /// Starts from nanoseconds since whenever to picoseconds since the first of them.
  Result<void> rebase() {
    Trace& t = trace();
    int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
    for (NodeId n = 0; n < t.size(); ++n)
      if (t.has_start(n)) {
        first = std::min(first, t.start_ps[n]);
        last = std::max(last, t.start_ps[n]);
      }
    if (first > last) return {};  // no times
    int64_t span = 0;
    if (__builtin_sub_overflow(last, first, &span) || span > kLongestPs / kPsPerNs)
      return range("start times are more than 26 days apart", {file_.place().file});
    t.base_ns = first;
    for (NodeId n = 0; n < t.size(); ++n)
      if (t.has_start(n)) t.start_ps.edit(n) = (t.start_ps[n] - first) * kPsPerNs;
    return {};
  }

  RecordSource& file_;
  ReadOptions options_;
  Builder builder_;
  int64_t announced_nodes_ = -1, default_pid_ = 0;
  struct Seen {
    std::string name;
    const Known* known = nullptr;
  };
  std::vector<Seen> seen_;  ///< the attribute seen last at each place of a node

  // Of the node being read.
  NodeId node_ = 0;
  std::optional<int64_t> start_ns_, duration_ns_, stream_;
  int64_t pid_ = 0, tid_ = 0, device_ = 0;
  bool has_tid_ = false;
  AttrList kinds_, lags_;
};

}  // namespace

Result<Trace> read_trace(RecordSource& source, const ReadOptions& options) { return Reader(source, options).run(); }

Result<Trace> read_et(ByteSource source, const ReadOptions& options) {
  EtFile file(std::move(source));
  return read_trace(file, options);
}

Result<Trace> read_et(const std::string& path, const ReadOptions& options) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return read_et(std::move(source), options);
}

}  // namespace chakra::io
