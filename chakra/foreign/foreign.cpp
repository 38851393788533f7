#include "chakra/foreign/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "chakra/foreign/forms.h"
#include "chakra/kind/kind.h"

namespace chakra::foreign {

const std::array<FormRow, 5> kForms{{
    {"text", "*.txt", "ASTRA-sim 1.0 workload: layers with compute times and collectives; read and written", read_text,
     write_text},
    {"flexflow", "*.graph", "FlexFlow task graph (Graphviz); read", read_flexflow, nullptr},
    {"msccl", "*.xml", "MSCCL algorithm of a collective, verified; read", read_msccl, nullptr},
    {"feeder-json", "*.json", "JSON that the peer's feeder reads (workload_graph); read", read_feeder_json, nullptr},
    {"linked-json", "*.json", "JSON that the peer's linker writes (ET+); read", read_linked_json, nullptr},
}};

const FormRow* find(std::string_view name) {
  const auto row = std::find_if(kForms.begin(), kForms.end(),
                                [lower = to_lower(name)](const FormRow& form) { return form.name == lower; });
  return row == kForms.end() ? nullptr : &*row;
}

const FormRow* form_of(std::string_view bytes) {
  const kind::Row* const row = kind::recognise(bytes, kind::Group::workload);
  return row ? find(row->name) : nullptr;
}

namespace {

tl::unexpected<Error> no_form(std::string_view name, Place place = {}) {
  std::string known;
  for (const FormRow& row : kForms) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  return name.empty()
             ? fail(Code::bad_input, "foreign.form",
                    fmt::format("the file is of no form that is known by its beginning: {}", known), std::move(place))
             : fail(Code::usage, "foreign.form", fmt::format("no form {}; known: {}", quote(name), known));
}

}  // namespace

Result<trace::TraceSet> read(std::string_view form, const std::string& path, const Options& options,
                             Findings& findings) {
  if (!form.empty()) {
    if (!find(form)) return no_form(form);
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
    return read(form, std::move(source), options, findings);
  }
  CHAKRA_ASSIGN(ByteSource head_source, ByteSource::open(path));
  CHAKRA_ASSIGN(const std::string_view head, head_source.peek(kind::kHead));
  const FormRow* row = form_of(head);
  if (!row) return no_form("", {path});
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return row->read(std::move(source), options, findings);
}

Result<trace::TraceSet> read(std::string_view form, ByteSource source, const Options& options, Findings& findings) {
  const FormRow* row = find(form);
  if (!row) return no_form(form, {source.file()});
  return row->read(std::move(source), options, findings);
}

Result<std::string> to_text(std::string_view form, const trace::TraceSet& job) {
  const FormRow* row = find(form);
  if (!row) return no_form(form);
  if (!row->write)
    return fail(Code::usage, "foreign.write.none", fmt::format("the form {} is only read, not written", row->name));
  return row->write(job);
}

Result<void> write(std::string_view form, const trace::TraceSet& job, const std::string& path) {
  CHAKRA_ASSIGN(const std::string text, to_text(form, job));
  return write_file(path, text);
}

// ---- what the forms share ------------------------------------------------------------------------

Result<std::string> read_all(ByteSource source) {
  constexpr size_t kPiece = size_t{1} << 20, kMost = size_t{1} << 30;
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    CHAKRA_ASSIGN(const size_t got, source.read({text.data() + before, kPiece}));
    text.resize(before + got);
    if (got < kPiece) return text;
    if (text.size() > kMost)
      return fail(Code::bad_input, "foreign.large", "the file is larger than 1 GiB", {source.file()});
  }
}

Result<Picoseconds> unit_ps(const std::string& name, std::string_view otherwise) {
  static const std::map<std::string_view, Picoseconds> units{
      {"ns", kPsPerNs}, {"us", kPsPerUs}, {"ms", 1000 * kPsPerUs}, {"s", 1000 * 1000 * kPsPerUs}};
  const auto found = units.find(name.empty() ? otherwise : std::string_view(name));
  if (found == units.end())
    return fail(Code::usage, "foreign.time_unit", fmt::format("no unit of time {}; known: ns, us, ms, s", quote(name)));
  return found->second;
}

void begin_trace(trace::Builder& builder, int64_t rank, const std::string& file) {
  builder.trace.rank = rank;
  builder.trace.says_rank = true;
  builder.trace.file = file;
}

// ---- comparing -----------------------------------------------------------------------------------

namespace {

using trace::Attr;
using trace::NodeId;
using trace::Trace;

/// An attribute of the node or file with its texts: comparable between traces.
std::pair<std::string_view, decltype(Attr::value)> plain(const Trace& t, const Attr& attr) {
  return {t.strings[attr.name], attr.value};
}

bool same_edges(const trace::Edges& a, const trace::Edges& b, NodeId n, bool with_kind) {
  const auto list = [&](const trace::Edges& edges) {
    std::vector<std::tuple<NodeId, uint8_t, Picoseconds>> of;
    for (size_t e = edges.begin[n]; e < edges.begin[n + 1]; ++e)
      of.emplace_back(edges.node[e], with_kind ? edges.kind[e] : uint8_t{0}, edges.lag_of(e));
    std::sort(of.begin(), of.end());
    return of;
  };
  return list(a) == list(b);
}

bool same_comm(const Trace& a, const trace::Comm& x, const Trace& b, const trace::Comm& y) {
  const auto numbers = [](const trace::Comm& c) {
    return std::tuple(c.type, c.bytes, c.in_bytes, c.out_bytes, c.in_split, c.out_split, c.sequence, c.root, c.src,
                      c.dst, c.tag, c.priority, c.involved, c.involved_count);
  };
  return numbers(x) == numbers(y) && a.strings[x.dtype] == b.strings[y.dtype] &&
         a.strings[x.group] == b.strings[y.group];
}

bool same_attrs(const Trace& a, const Trace& b, NodeId n) {
  auto left = a.attrs_of(n), right = b.attrs_of(n);
  auto at = left.begin(), other = right.begin();
  for (; !(at == left.end()) && !(other == right.end()); ++at, ++other)
    if (plain(a, *at) != plain(b, *other)) return false;
  return at == left.end() && other == right.end();
}

}  // namespace

std::string difference(const Trace& a, const Trace& b) {
  if (a.rank != b.rank) return fmt::format("rank {} and rank {}", a.rank, b.rank);
  if (a.size() != b.size()) return fmt::format("rank {} has {} nodes, and {}", a.rank, a.size(), b.size());
  std::vector<std::pair<std::string_view, decltype(Attr::value)>> left, right;
  const auto keep = [](const Trace& t, auto& list) {
    for (const Attr& attr : t.metadata)
      if (t.strings[attr.name] != "version") list.push_back(plain(t, attr));  // of the file's schema, not of the job
  };
  keep(a, left);
  keep(b, right);
  if (left != right) return fmt::format("rank {}: the metadata differ", a.rank);
  const auto group_key = [](const trace::ProcessGroup& g) {
    return std::tie(g.name, g.description, g.backend, g.ranks, g.size);
  };
  if (!std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                  [&](const auto& x, const auto& y) { return group_key(x) == group_key(y); }))
    return fmt::format("rank {}: the process groups differ", a.rank);
  const auto lane_of = [](const Trace& t, NodeId n) {
    if (t.lane[n] == trace::kNoLane) return std::tuple(-1, int64_t{0}, int64_t{0});
    const trace::Lane& lane = t.lanes[t.lane[n]];
    return std::tuple(static_cast<int>(lane.kind), lane.process, lane.index);
  };
  const auto work = [](const std::vector<uint64_t>& column, NodeId n) { return n < column.size() ? column[n] : 0; };
  for (NodeId n = 0; n < a.size(); ++n) {
    const auto differs = [&](const char* what) {
      return fmt::format("rank {}, node {}: the {} differs", a.rank, a.id[n], what);
    };
    if (a.id[n] != b.id[n]) return differs("id");
    if (a.name_of(n) != b.name_of(n)) return differs("name");
    if (a.type[n] != b.type[n]) return differs("type");
    if (a.dur_ps[n] != b.dur_ps[n]) return differs("duration");
    if (a.has_start(n) != b.has_start(n) || a.start_ps[n] != b.start_ps[n]) return differs("start");
    if (((a.flags[n] ^ b.flags[n]) & (trace::kOnCpu | trace::kSaysCpuOrNot)) != 0) return differs("is_cpu_op");
    if (a.part_of[n] != b.part_of[n]) return differs("part_of");
    if (lane_of(a, n) != lane_of(b, n)) return differs("lane");
    if (work(a.num_ops, n) != work(b.num_ops, n)) return differs("num_ops");
    if (work(a.tensor_bytes, n) != work(b.tensor_bytes, n)) return differs("tensor_size");
    if (a.dtype_of(n) != b.dtype_of(n)) return differs("op_dtype");
    const trace::Comm *x = a.comm(n), *y = b.comm(n);
    if (!x != !y || (x && !same_comm(a, *x, b, *y))) return differs("communication");
    if ((a.io_row[n] == trace::kNoRow) != (b.io_row[n] == trace::kNoRow)) return differs("tensors");
    if (a.io_row[n] != trace::kNoRow) {
      const auto texts = [n](const Trace& t) {
        const trace::Io& io = t.ios[t.io_row[n]];
        return std::tuple(io.inputs.values, t.strings[io.inputs.shapes], t.strings[io.inputs.types],
                          t.strings[io.inputs.strides], io.outputs.values, t.strings[io.outputs.shapes],
                          t.strings[io.outputs.types], t.strings[io.outputs.strides]);
      };
      if (texts(a) != texts(b)) return differs("tensors");
    }
    if (!same_attrs(a, b, n)) return differs("attributes");
    if (!same_edges(a.deps, b.deps, n, true)) return differs("dependencies");
    if (!same_edges(a.ctrl, b.ctrl, n, false)) return differs("caller");
  }
  return "";
}

}  // namespace chakra::foreign
