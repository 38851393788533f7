// Traces: columns of nodes and edges as arrays of NumPy without a copy; and the builder of traces.
#include <algorithm>
#include <array>
#include <memory>

#include "module.h"

namespace chakra::python {
namespace {

constexpr std::array<const char*, 8> kNodeTypes{"invalid", "metadata",  "mem_load",  "mem_store",
                                                "comp",    "comm_send", "comm_recv", "comm_coll"};
constexpr std::array<const char*, 10> kCommTypes{
    "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
    "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
constexpr std::array<const char*, 10> kEdgeKinds{"given", "program", "launch", "stream", "event",
                                                 "sync",  "thread",  "data",   "comm",   "contention"};

/// A column that may be empty where all of its values are 0.
template <class T>
nb::object full(std::span<const T> values, size_t rows, nb::handle owner) {
  return values.empty() && rows ? array(std::vector<T>(rows)) : view(values, owner);
}
template <class Get>
nb::object truths(size_t rows, const Get& get) {
  std::vector<uint8_t> values(rows);
  for (size_t row = 0; row < rows; ++row) values[row] = get(row);
  return array(std::move(values)).attr("view")("bool");
}
std::span<const uint8_t> types_of(const Trace& trace) {
  return {reinterpret_cast<const uint8_t*>(trace.type().data()), trace.type().size()};
}
/// Names by their codes, as a dictionary of Arrow.
ArrowColumn names_of(const Trace& trace) {
  return ArrowColumn::of_texts("", trace.codes(),
                               [&](size_t code) { return trace.name_of(static_cast<uint32_t>(code)); });
}
ArrowColumn type_names() {
  return ArrowColumn::of_texts("", kNodeTypes.size(), [](size_t type) { return kNodeTypes[type]; });
}

struct TraceColumn {
  const char *key, *unit, *meaning;
  nb::object (*array)(const Trace& trace, nb::handle owner);
  ArrowColumn (*arrow)(const char* key, const Trace& trace, const std::shared_ptr<const Trace>& owner);
};
template <class T>
ArrowColumn numbers(const char* key, const char* format, std::span<const T> values, const Trace& trace,
                    const std::shared_ptr<const Trace>& owner) {
  if (!values.empty() || trace.size() == 0) return ArrowColumn::of(key, format, values, owner);
  const auto zeros = std::make_shared<const std::vector<T>>(trace.size());
  return ArrowColumn::of(key, format, std::span<const T>(*zeros), zeros);
}
const std::array<TraceColumn, 7> kColumns{{
    {"name", "", "name of the node",
     [](const Trace& t, nb::handle) {
       nb::list words, list;
       for (size_t code = 0; code < t.codes(); ++code) {
         words.append(text_of(t.name_of(static_cast<uint32_t>(code))));
       }
       const nb::object numpy = nb::module_::import_("numpy");
       const nb::object codes = array(std::vector<uint32_t>(t.name_code().begin(), t.name_code().end()));
       return nb::object(numpy.attr("array")(words, nb::arg("dtype") = "object")[codes]);
     },
     [](const char* key, const Trace& t, const auto& owner) {
       ArrowColumn column = ArrowColumn::of(key, "I", t.name_code(), owner);
       column.dictionary = std::make_shared<const ArrowColumn>(names_of(t));
       return column;
     }},
    {"type", "", "NodeType", [](const Trace& t, nb::handle owner) { return view(types_of(t), owner); },
     [](const char* key, const Trace& t, const auto& owner) {
       ArrowColumn column = ArrowColumn::of(key, "C", types_of(t), owner);
       column.dictionary = std::make_shared<const ArrowColumn>(type_names());
       return column;
     }},
    {"start_ps", "ps", "measured start, since base_ns; missing if not measured",
     [](const Trace& t, nb::handle owner) {
       return masked(view(t.start_ps(), owner), t.size(), [&](size_t row) { return t.has_start(row); });
     },
     [](const char* key, const Trace& t, const auto& owner) {
       ArrowColumn column = ArrowColumn::of(key, "l", t.start_ps(), owner);
       column.set_valid([&](size_t row) { return t.has_start(row); });
       return column;
     }},
    {"dur_ps", "ps", "duration", [](const Trace& t, nb::handle owner) { return view(t.dur_ps(), owner); },
     [](const char* key, const Trace& t, const auto& owner) { return ArrowColumn::of(key, "l", t.dur_ps(), owner); }},
    {"num_ops", "FLOP", "FLOPs; 0 if unknown",
     [](const Trace& t, nb::handle owner) { return full(t.num_ops(), t.size(), owner); },
     [](const char* key, const Trace& t, const auto& owner) { return numbers(key, "L", t.num_ops(), t, owner); }},
    {"tensor_bytes", "bytes", "bytes read and written; 0 if unknown",
     [](const Trace& t, nb::handle owner) { return full(t.tensor_bytes(), t.size(), owner); },
     [](const char* key, const Trace& t, const auto& owner) { return numbers(key, "L", t.tensor_bytes(), t, owner); }},
    {"on_device", "", "runs on a device, not on the CPU",
     [](const Trace& t, nb::handle) { return truths(t.size(), [&](size_t row) { return t.on_device(row); }); },
     [](const char* key, const Trace& t, const auto&) {
       return ArrowColumn::of_bits(key, t.size(), [&](size_t row) { return t.on_device(row); });
     }},
}};

std::vector<std::string> keys_of(const Trace&) {
  std::vector<std::string> keys;
  for (const TraceColumn& column : kColumns) keys.emplace_back(column.key);
  return keys;
}
nb::object get_column(nb::handle self, std::string_view key) {
  const auto& trace = nb::cast<const Trace&>(self);
  for (const TraceColumn& column : kColumns)
    if (column.key == key) return column.array(trace, self);
  no_key(key, keys_of(trace));
}
nb::capsule arrow_stream(const Trace& trace, std::optional<nb::object>) {
  const auto owner = std::make_shared<const Trace>(trace);
  std::vector<ArrowColumn> columns;
  for (const TraceColumn& column : kColumns) {
    columns.push_back(column.arrow(column.key, trace, owner));
    columns.back().unit = column.unit;
    columns.back().meaning = column.meaning;
  }
  return stream(std::move(columns), trace.size());
}
nb::dict of_columns(const char* const TraceColumn::*of) {
  nb::dict dict;
  for (const TraceColumn& column : kColumns) dict[column.key] = column.*of;
  return dict;
}

/// Rows are checked here: the library requires row < size().
size_t checked(const Trace& trace, int64_t row) {
  const auto size = static_cast<int64_t>(trace.size());
  if (row < -size || row >= size) throw nb::index_error("the trace has fewer nodes");
  return static_cast<size_t>(row < 0 ? row + size : row);
}
nb::object communication_of(const Trace& trace, int64_t row) {
  const auto what = trace.communication(checked(trace, row));
  if (!what) return nb::none();
  nb::dict dict;
  const auto known = [](int64_t number) { return number < 0 ? nb::object(nb::none()) : nb::object(nb::int_(number)); };
  const auto type = static_cast<size_t>(what->type);
  dict["type"] = type < kCommTypes.size() ? nb::object(nb::str(kCommTypes[type])) : nb::object(nb::none());
  dict["bytes"] = what->bytes;
  dict["group"] = text_of(what->group);
  for (const auto& [key, number] :
       {std::pair("src", what->src), {"dst", what->dst}, {"tag", what->tag}, {"root", what->root}})
    dict[key] = known(number);
  return dict;
}

/// Edges of all nodes: those of a row are [begin[row], begin[row + 1]).
struct Edges {
  Trace trace;
};
template <class T, class Get>
nb::object of_edges(const Trace& trace, const Get& get) {
  std::vector<T> values;
  values.reserve(trace.edge_on().size());
  for (size_t row = 0; row < trace.size(); ++row)
    for (size_t edge = 0; edge < trace.waits_for(row).size(); ++edge) values.push_back(get(row, edge));
  return array(std::move(values));
}

template <class Enum, class Names>
void add_enum(nb::module_& m, const char* name, const char* meaning, const Names& names) {
  nb::enum_<Enum> made(m, name, nb::is_arithmetic(), meaning);
  for (size_t i = 0; i < names.size(); ++i) made.value(names[i], static_cast<Enum>(i));
}

void add_trace(nb::module_& m) {
  nb::class_<Edges>(m, "Edges", "Dependencies: the edges of row r are [begin[r], begin[r + 1]) of the other arrays.")
      .def("__len__", [](const Edges& edges) { return edges.trace.edge_on().size(); })
      .def_prop_ro(
          "begin",
          [](nb::handle self) {
            const auto begin = nb::cast<const Edges&>(self).trace.edge_begin();
            return begin.empty() ? array(std::vector<uint32_t>(1)) : view(begin, self);
          },
          nb::sig("def begin(self) -> numpy.ndarray[typing.Any, typing.Any]"),
          "uint32 array of len(trace) + 1. No copy.")
      .def_prop_ro(
          "on", [](nb::handle self) { return view(nb::cast<const Edges&>(self).trace.edge_on(), self); },
          nb::sig("def on(self) -> numpy.ndarray[typing.Any, typing.Any]"),
          "uint32 array: the row of the dependency. No copy.")
      .def_prop_ro(
          "kind",
          [](const Edges& edges) {
            const Trace& t = edges.trace;
            return of_edges<uint8_t>(
                t, [&](size_t row, size_t edge) { return static_cast<uint8_t>(t.edge_kind(row, edge)); });
          },
          nb::sig("def kind(self) -> numpy.ndarray[typing.Any, typing.Any]"), "uint8 array of EdgeKind. A copy.")
      .def_prop_ro(
          "lag_ps",
          [](const Edges& edges) {
            const Trace& t = edges.trace;
            return of_edges<int64_t>(t, [&](size_t row, size_t edge) { return t.edge_lag_ps(row, edge); });
          },
          nb::sig("def lag_ps(self) -> numpy.ndarray[typing.Any, typing.Any]"),
          "int64 array: minimum delay after the end of the dependency, in picoseconds. A copy.");
  nb::class_<Trace>(
      m, "Trace",
      "Nodes of one rank in rows: len(trace), trace['dur_ps'] (a read-only NumPy array without a copy),\n"
      "trace.edges. keys(), units and meanings have the columns. pyarrow, polars and DuckDB read a trace.")
      .def("__len__", &Trace::size)
      .def("__repr__",
           [](const Trace& trace) {
             return "<chakra_et.Trace of rank " + std::to_string(trace.rank()) + ": " + std::to_string(trace.size()) +
                    " nodes>";
           })
      .def("keys", &keys_of, "Keys of the columns.")
      .def("__getitem__", &get_column, nb::arg("key"),
           nb::sig("def __getitem__(self, key: str) -> numpy.ndarray[typing.Any, typing.Any]"))
      .def("__arrow_c_stream__", &arrow_stream, nb::arg("requested_schema") = nb::none())
      .def_prop_ro(
          "units", [](const Trace&) { return of_columns(&TraceColumn::unit); },
          nb::sig("def units(self) -> dict[str, str]"), "Units of the columns, by key; an empty text: none.")
      .def_prop_ro(
          "meanings", [](const Trace&) { return of_columns(&TraceColumn::meaning); },
          nb::sig("def meanings(self) -> dict[str, str]"), "Meanings of the columns, by key.")
      .def_prop_ro("rank", &Trace::rank)
      .def_prop_ro("base_ns", &Trace::base_ns, "Zero of start_ps, in ns since 1970 if known.")
      .def_prop_ro("edges", [](const Trace& trace) { return Edges{trace}; })
      .def_prop_ro(
          "groups",
          [](const Trace& trace) {
            nb::dict groups;
            for (const ProcessGroup& group : trace.groups()) groups[text_of(group.name)] = nb::cast(group.ranks);
            return groups;
          },
          nb::sig("def groups(self) -> dict[str, list[int]]"),
          "Process groups: name -> ranks; an empty list means all ranks.")
      .def(
          "name", [](const Trace& trace, int64_t row) { return text_of(trace.name(checked(trace, row))); },
          nb::arg("row"))
      .def(
          "id", [](const Trace& trace, int64_t row) { return trace.id(checked(trace, row)); }, nb::arg("row"),
          "The id of the node in the file.")
      .def("communication", &communication_of, nb::arg("row"),
           nb::sig("def communication(self, row: int) -> dict[str, typing.Any] | None"),
           "The operation, bytes and group of a communication node, as a dict; else None.")
      .def(
          "attribute",
          [](const Trace& trace, int64_t row, std::string_view name) {
            const auto text = trace.attribute(checked(trace, row), name);
            return text ? nb::object(text_of(*text)) : nb::object(nb::none());
          },
          nb::arg("row"), nb::arg("name"), nb::sig("def attribute(self, row: int, name: str) -> str | None"),
          "An attribute without a column, as text; None if the node does not have the attribute.");
}

/// A method about the node that was made last: it returns the builder.
template <class... Arguments>
auto chained(void (*method)(Builder&, Arguments...)) {
  return [method](nb::object self, Arguments... arguments) {
    method(nb::cast<Builder&>(self), arguments...);
    return self;
  };
}

void add_builder(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Builder>(
      m, "Builder",
      "Makes a trace, node by node. compute(), load(), store(), collective(), send() and receive() return\n"
      "the row of the node; the other methods are about the node that was made last. Times are in\n"
      "picoseconds. The first mistake is the error of finish(), tag trace.build.")
      .def(nb::init<int64_t>(), "rank"_a)
      .def("group",
           chained(+[](Builder& b, std::string_view name, const std::vector<int64_t>& ranks) { b.group(name, ranks); }),
           "name"_a, "ranks"_a)
      .def("compute", &Builder::compute, "name"_a, "dur_ps"_a, "num_ops"_a = 0, "tensor_bytes"_a = 0)
      .def("load", &Builder::load, "name"_a, "bytes"_a)
      .def("store", &Builder::store, "name"_a, "bytes"_a)
      .def(
          "collective",
          [](Builder& b, std::string_view name, CommType type, uint64_t bytes, const std::string& group, int64_t root) {
            return b.communicate(name, {.type = type, .bytes = bytes, .group = group, .root = root});
          },
          "name"_a, "type"_a, "bytes"_a, "group"_a = "", "root"_a = -1)
      .def("send", &Builder::send, "name"_a, "to"_a, "bytes"_a, "tag"_a = 0)
      .def("receive", &Builder::receive, "name"_a, "source"_a, "bytes"_a, "tag"_a = 0)
      .def("host", chained(+[](Builder& b) { b.host(); }))
      .def("on_thread", chained(+[](Builder& b, int64_t process, int64_t thread) { b.on_thread(process, thread); }),
           "process"_a, "thread"_a)
      .def("on_stream", chained(+[](Builder& b, int64_t device, int64_t stream) { b.on_stream(device, stream); }),
           "device"_a, "stream"_a)
      .def("dtype", chained(+[](Builder& b, std::string_view name) { b.dtype(name); }), "name"_a)
      .def("starts_at", chained(+[](Builder& b, int64_t start_ps) { b.starts_at(start_ps); }), "start_ps"_a)
      .def("attribute", chained(+[](Builder& b, std::string_view name, int64_t number) { b.attribute(name, number); }),
           "name"_a, "value"_a)
      .def("attribute",
           chained(+[](Builder& b, std::string_view name, std::string_view text) { b.attribute(name, text); }),
           "name"_a, "value"_a)
      .def("wait", chained(+[](Builder& b, uint32_t row, uint32_t on, EdgeKind kind, int64_t lag_ps) {
             b.wait(row, on, kind, lag_ps);
           }),
           "row"_a, "on"_a, "kind"_a = EdgeKind::data, "lag_ps"_a = 0)
      .def(
          "finish", [](Builder& b) { return value(b.finish()); }, "Return the trace. The builder is empty afterwards.");
}

}  // namespace

void add_traces(nb::module_& m) {
  add_enum<NodeType>(m, "NodeType", "Kinds of nodes: values of trace['type'].", kNodeTypes);
  add_enum<CommType>(m, "CommType", "Kinds of collectives.", kCommTypes);
  add_enum<EdgeKind>(m, "EdgeKind", "Kinds of dependencies: values of trace.edges.kind.", kEdgeKinds);
  add_trace(m);
  add_builder(m);
}

}  // namespace chakra::python
