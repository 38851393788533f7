#include "chakra/foreign/json_fields.h"

#include <fmt/core.h>

#include <charconv>

namespace chakra::foreign {

using trace::Builder;
using trace::Trace;
using trace::TraceSet;

Failure bad_field(std::string_view key, std::string_view what) {
  return fail(Code::bad_input, "foreign.json.field", fmt::format("{} is not a valid {}", quote(key), what));
}

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
  return bad_field(key, "boolean");
}
Result<int64_t> nanoseconds(std::string_view key, JsonValue& value) {
  int64_t ns = 0;
  if (!json::parse_micros(json::token(value), ns)) return bad_field(key, "time in microseconds");
  return ns;
}
Result<Picoseconds> duration(std::string_view key, JsonValue& value) {
  CHAKRA_ASSIGN(const int64_t ns, nanoseconds(key, value));
  if (ns < 0 || ns > kLongestPs / kPsPerNs) return bad_field(key, "duration");
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

StringId TensorTexts::repr_of(std::string_view raw) {
  const auto found = reprs_.find(raw);
  if (found != reprs_.end()) return found->second;
  std::string repr;
  json::append_python_repr(repr, raw);
  const StringId id = repr == "[]" ? StringId{0} : strings_.intern(repr);
  reprs_.emplace(raws_.add(raw), id);
  return id;
}

Result<void> TensorTexts::read(std::string_view key, JsonValue& value, trace::Tensors& out, std::string& values) {
  ondemand::object object;
  if (value.get_object().get(object)) return bad_field(key, "object with values, shapes and types");
  for (auto field : object) {
    std::string_view name;
    JsonValue* part = nullptr;
    if (const auto code = json::open_field(field, name, part)) return json::json_error(code, {}, kTags);
    const std::string_view raw = json::token(*part);
    if (name == "values") {
      values.clear();
      json::append_python_repr(values, raw);
      out.values = values == "[]" ? std::string_view() : values;
    } else if (name == "shapes") {
      out.shapes = repr_of(raw);
    } else if (name == "types") {
      out.types = repr_of(raw);
    } else if (name == "strides") {
      out.strides = repr_of(raw);
    }
  }
  return {};
}

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
         fmt::format("{} dependencies name missing nodes, and are left out", missing));
  return job;
}

}  // namespace chakra::foreign
