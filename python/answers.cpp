// Answers and their tables: columns as arrays of NumPy without a copy, and tables for Arrow.
#include <algorithm>

#include "module.h"

namespace chakra::python {
namespace {

using Column = Table::Column;
using Type = Column::Type;

/// A column of a table as Python names it: of an object, whose keys have no name, "name" and "value".
struct Named {
  std::string name;
  Column column;
};
std::vector<Named> columns_of(const Table& table) {
  std::vector<Named> columns;
  for (size_t c = 0; c < table.columns(); ++c) {
    Column column = table.column(c);
    if (column.type() == Type::rows) continue;  // the tables below it have them
    std::string name(column.key());
    if (name.empty()) name = c == 0 && table.columns() > 1 ? "name" : "value";
    columns.push_back({std::move(name), std::move(column)});
  }
  return columns;
}
/// A table of findings has no columns.
bool has_findings(const Table& table) { return table.columns() == 0; }
std::vector<std::string> keys_of(const Table& table) {
  std::vector<std::string> keys;
  if (!table.begin().empty()) keys.emplace_back("row");
  for (const Named& named : columns_of(table)) keys.push_back(named.name);
  if (has_findings(table)) keys.insert(keys.end(), {"tag", "severity", "rank", "node", "text"});
  return keys;
}

/// Of a table below another one: the row there that a row belongs to.
std::vector<int64_t> parents_of(const Table& table) {
  std::vector<int64_t> parents;
  const auto begin = table.begin();
  for (size_t row = 0; row + 1 < begin.size(); ++row) parents.resize(begin[row + 1], static_cast<int64_t>(row));
  return parents;
}
std::span<const uint64_t> naturals(const Column& column) {
  return {reinterpret_cast<const uint64_t*>(column.whole().data()), column.whole().size()};
}
nb::object parse(const std::string& json) { return nb::module_::import_("json").attr("loads")(json); }

/// Texts, and values whose types differ: an array of objects.
nb::object objects_of(const Column& column) {
  nb::list list;
  for (size_t row = 0; row < column.rows(); ++row) {
    if (!column.has(row)) list.append(nb::none());
    else if (column.type() == Type::text) list.append(text_of(column.text(row)));
    else list.append(parse(column.json(row)));
  }
  return nb::module_::import_("numpy").attr("array")(list, nb::arg("dtype") = "object");
}
nb::object array_of(const Column& column, nb::handle owner) {
  nb::object values;
  switch (column.type()) {
    case Type::whole: values = view(column.whole(), owner); break;
    case Type::natural: values = view(naturals(column), owner); break;
    case Type::real: values = view(column.real(), owner); break;
    case Type::truth: values = view(column.whole(), owner).attr("astype")("bool"); break;
    default: return objects_of(column);
  }
  return masked(values, column.rows(), [&](size_t row) { return column.has(row); });
}
/// Of a table of findings.
nb::object finding_column(const Table& table, std::string_view key) {
  const std::vector<Finding>& findings = table.findings();
  if (key == "rank" || key == "node") {
    std::vector<int64_t> numbers;
    for (const Finding& finding : findings) numbers.push_back(key == "rank" ? finding.rank : finding.node);
    return masked(array(numbers), numbers.size(), [&](size_t row) { return numbers[row] >= 0; });
  }
  nb::list list;
  for (const Finding& finding : findings)
    list.append(text_of(key == "tag" ? finding.tag : key == "text" ? finding.text : name(finding.severity)));
  return nb::module_::import_("numpy").attr("array")(list, nb::arg("dtype") = "object");
}

nb::object get_column(nb::handle self, std::string_view key) {
  const auto& table = nb::cast<const Table&>(self);
  if (key == "row" && !table.begin().empty()) return array(parents_of(table));
  for (const Named& named : columns_of(table))
    if (named.name == key) return array_of(named.column, self);
  const std::vector<std::string> keys = keys_of(table);
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return finding_column(table, key);
  no_key(key, keys);
}

ArrowColumn arrow_of(const Named& named) {
  const Column& column = named.column;
  const auto owner = std::make_shared<const Column>(column);
  const size_t rows = column.rows();
  ArrowColumn to = [&] {
    switch (column.type()) {
      case Type::whole: return ArrowColumn::of(named.name, "l", column.whole(), owner);
      case Type::natural: return ArrowColumn::of(named.name, "L", naturals(column), owner);
      case Type::real: return ArrowColumn::of(named.name, "g", column.real(), owner);
      case Type::truth: return ArrowColumn::of_bits(named.name, rows, [&](size_t row) { return column.whole()[row]; });
      case Type::text: return ArrowColumn::of_texts(named.name, rows, [&](size_t row) { return column.text(row); });
      default: return ArrowColumn::of_texts(named.name, rows, [&](size_t row) { return column.json(row); });
    }
  }();
  to.unit = column.unit();
  to.meaning = column.meaning();
  to.set_valid([&](size_t row) { return column.has(row); });
  return to;
}
nb::capsule arrow_stream(const Table& table, std::optional<nb::object>) {
  std::vector<ArrowColumn> columns;
  if (!table.begin().empty()) {
    const auto parents = std::make_shared<const std::vector<int64_t>>(parents_of(table));
    columns.push_back(ArrowColumn::of("row", "l", std::span<const int64_t>(*parents), parents));
  }
  for (const Named& named : columns_of(table)) columns.push_back(arrow_of(named));
  const std::vector<Finding>& findings = table.findings();
  const auto texts = [&](const char* key, const auto& get) {
    columns.push_back(ArrowColumn::of_texts(key, findings.size(), get));
  };
  const auto numbers = [&](const char* key, const auto& get) {
    std::vector<int64_t> values;
    for (size_t row = 0; row < findings.size(); ++row) values.push_back(get(row));
    const auto kept = std::make_shared<const std::vector<int64_t>>(std::move(values));
    columns.push_back(ArrowColumn::of(key, "l", std::span<const int64_t>(*kept), kept));
    columns.back().set_valid([&](size_t row) { return get(row) >= 0; });
  };
  if (has_findings(table)) {
    texts("tag", [&](size_t row) { return std::string_view(findings[row].tag); });
    texts("severity", [&](size_t row) { return std::string_view(name(findings[row].severity)); });
    numbers("rank", [&](size_t row) { return findings[row].rank; });
    numbers("node", [&](size_t row) { return findings[row].node; });
    texts("text", [&](size_t row) { return std::string_view(findings[row].text); });
  }
  return stream(std::move(columns), table.rows());
}

nb::dict of_columns(const Table& table, std::string_view (Column::*of)() const) {
  nb::dict dict;
  for (const Named& named : columns_of(table)) dict[named.name.c_str()] = nb::cast((named.column.*of)());
  return dict;
}
nb::object get_value(const Answer& answer, std::string_view key) {
  if (const auto json = answer.json(key)) return parse(*json);
  no_key(key, answer.keys());
}
Table get_table(const Answer& answer, std::string_view key) {
  if (auto table = answer.table(key)) return std::move(*table);
  no_key(key, answer.tables());
}
nb::object finding_of(const Finding& finding) {
  nb::dict facts;
  for (const Fact& fact : finding.facts)
    facts[text_of(fact.name)] = fact.number ? nb::cast(*fact.number) : nb::object(text_of(fact.text));
  const auto known = [](int64_t number) { return number < 0 ? nb::object(nb::none()) : nb::object(nb::int_(number)); };
  return nb::module_::import_("chakra_et._base")
      .attr("Finding")(finding.tag, name(finding.severity), known(finding.rank), known(finding.node),
                       text_of(finding.text), facts);
}

}  // namespace

void add_answers(nb::module_& m) {
  nb::class_<Table>(m, "Table")
      .def(nb::init<const Table&>())
      .def_prop_ro("key", &Table::key, "Key of the table in its answer, such as 'collectives.candidates'.")
      .def_prop_ro("meaning", &Table::meaning, "What its rows are.")
      .def("__len__", &Table::rows)
      .def("keys", &keys_of, "Keys of its columns. A table below another one begins with 'row', the row there.")
      .def_prop_ro(
          "units", [](const Table& table) { return of_columns(table, &Column::unit); },
          nb::sig("def units(self) -> dict[str, str]"), "Units of the columns, by key; an empty text: none.")
      .def_prop_ro(
          "meanings", [](const Table& table) { return of_columns(table, &Column::meaning); },
          nb::sig("def meanings(self) -> dict[str, str]"), "What the columns have, by key.")
      .def("__getitem__", &get_column, nb::arg("key"),
           nb::sig("def __getitem__(self, key: str) -> numpy.ndarray[typing.Any, typing.Any]"))
      .def("__arrow_c_stream__", &arrow_stream, nb::arg("requested_schema") = nb::none());
  nb::class_<Answer>(m, "Answer")
      .def(nb::init<const Answer&>())
      .def_prop_ro("verb", &Answer::verb, "The verb whose keys it has, by its name in the command: 'sim', 'check'.")
      .def("keys", &Answer::keys, "Keys of its values.")
      .def("tables", &Answer::tables, "Keys of its tables.")
      .def("__getitem__", &get_value, nb::arg("key"), nb::sig("def __getitem__(self, key: str) -> typing.Any"))
      .def("_table", &get_table)
      .def_prop_ro(
          "findings",
          [](const Answer& answer) {
            nb::list list;
            for (const Finding& finding : answer.findings()) list.append(finding_of(finding));
            return list;
          },
          nb::sig("def findings(self) -> list[typing.Any]"), "What was noticed: chakra_et.Finding.")
      .def(
          "to_text", [](const Answer& answer) { return text_of(answer.to_text()); },
          "The text that the command prints.")
      .def(
          "to_json", [](const Answer& answer) { return answer.to_json(); }, nb::call_guard<nb::gil_scoped_release>(),
          "The JSON of the command's --json, byte by byte.")
      .def("_write", [](const Answer& answer, const std::string& path, std::string_view form) {
        value([&] {
          const nb::gil_scoped_release release;
          return answer.write(path, form);
        }());
      });
}

}  // namespace chakra::python
