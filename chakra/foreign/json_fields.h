// Helpers shared by the JSON forms: values with a kind determined by the key, and the end of a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/text_map.h"
#include "chakra/foreign/forms.h"
#include "chakra/json/json.h"

namespace chakra::foreign {

namespace ondemand = simdjson::ondemand;
using json::JsonValue;

inline constexpr json::Tags kTags{"foreign.json.empty", "foreign.json.syntax", "foreign.json.truncated",
                                  "foreign.json.encoding", "foreign.json.element"};

// Values with a kind determined by the key. Errors: foreign.json.field with the key, and those of JSON.
Failure bad_field(std::string_view key, std::string_view what);
Result<int64_t> integer(std::string_view key, JsonValue& value);
Result<uint64_t> natural(std::string_view key, JsonValue& value);
Result<std::string> text(std::string_view key, JsonValue& value);
Result<bool> boolean(std::string_view key, JsonValue& value);
/// Convert microseconds, possibly with decimals.
Result<int64_t> nanoseconds(std::string_view key, JsonValue& value);
Result<Picoseconds> duration(std::string_view key, JsonValue& value);
Result<std::vector<uint64_t>> ids(std::string_view key, JsonValue& value);
bool is_null(JsonValue& value);

/// Reads {values, shapes, types, strides}: the lists in Python's notation, as an execution trace has them. Shapes,
/// types and strides repeat, so each text is converted once.
class TensorTexts {
 public:
  explicit TensorTexts(StringPool& strings) : strings_(strings) {}
  /// Fill `out`, whose values stay in `values`. Errors: foreign.json.*.
  Result<void> read(std::string_view key, JsonValue& value, trace::Tensors& out, std::string& values);

 private:
  StringId repr_of(std::string_view raw);

  StringPool& strings_;
  Arena raws_;
  TextMap<StringId> reprs_;  ///< by a list as JSON
};

/// Keep a value without a column as an attribute of the last node: numbers and texts unchanged, lists as their text.
void keep(trace::Builder& builder, std::string_view key, JsonValue& value);

/// Call `use(key, value)` for each field of the object. Errors: those of `use`, foreign.json.*.
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

/// Return the rank of a file name: 3 for "trace.3.json"; 0 for other names.
int64_t rank_of(std::string_view file);

/// Build the job of one rank. Errors: foreign.json.empty, foreign.json.duplicate; foreign.json.dangling is a finding.
Result<trace::TraceSet> finish(trace::Builder&& builder, const std::string& file, Findings& findings);

}  // namespace chakra::foreign
