// A dump as JSON, as dump_json() of the flight recorder writes it.
#include <fmt/core.h>

#include "chakra/flight/document.h"
#include "chakra/json/json.h"

namespace chakra::flight {
namespace {

namespace dom = simdjson::dom;
using Kind = Value::Kind;

constexpr size_t kMostJsonLevels = 64;
constexpr json::Tags kTags{"flight.json.empty", "flight.json.syntax", "flight.json.truncated", "flight.json.encoding",
                           "flight.json.syntax"};

/// Levels are bounded by the parser, so this calls itself.
class Copier {
 public:
  explicit Copier(Document& document) : document_(document) {}

  /// The place of the copy; false where there are too many values.
  bool copy(dom::element element, uint32_t& place) {
    if (document_.values.size() >= kMostValues) return false;
    place = static_cast<uint32_t>(document_.values.size());
    document_.values.emplace_back();
    Value value;
    switch (element.type()) {
      case dom::element_type::ARRAY:
      case dom::element_type::OBJECT: return copy_items(element, place);
      case dom::element_type::STRING: value = {Kind::text, 0, document_.texts.add(text_of(element))}; break;
      case dom::element_type::INT64: value = {Kind::integer, element.get_int64().value_unsafe()}; break;
      case dom::element_type::UINT64:  // beyond int64: no field of a dump is as large
        value = {Kind::real, std::bit_cast<int64_t>(static_cast<double>(element.get_uint64().value_unsafe()))};
        break;
      case dom::element_type::DOUBLE:
        value = {Kind::real, std::bit_cast<int64_t>(element.get_double().value_unsafe())};
        break;
      case dom::element_type::BOOL: value = {Kind::boolean, element.get_bool().value_unsafe() ? 1 : 0}; break;
      case dom::element_type::NULL_VALUE: break;
    }
    document_.values[place] = value;
    return true;
  }

 private:
  static std::string_view text_of(dom::element element) {
    std::string_view text;
    if (element.get_string().get(text)) return {};
    return text;
  }

  bool copy_items(dom::element element, uint32_t place) {
    const bool is_list = element.type() == dom::element_type::ARRAY;
    document_.values[place] = {is_list ? Kind::list : Kind::dict, static_cast<int64_t>(document_.lists.size())};
    const size_t list = document_.lists.size();
    document_.lists.emplace_back();
    uint32_t item = 0;
    if (is_list) {
      const dom::array array = element.get_array().value_unsafe();
      for (const dom::element each : array) {
        if (!copy(each, item)) return false;
        document_.lists[list].push_back(item);
      }
      return true;
    }
    const dom::object object = element.get_object().value_unsafe();
    for (const dom::key_value_pair each : object) {
      if (document_.values.size() >= kMostValues) return false;
      document_.lists[list].push_back(static_cast<uint32_t>(document_.values.size()));
      document_.values.push_back({Kind::text, 0, document_.texts.add(each.key)});
      if (!copy(each.value, item)) return false;
      document_.lists[list].push_back(item);
    }
    return true;
  }

  Document& document_;
};

}  // namespace

// `flight.json.empty` (1): an empty file.
// `flight.json.syntax` (1): a dump that is not JSON.
// `flight.json.truncated` (1): JSON that ends before it is complete.
// `flight.json.encoding` (1): JSON with bytes that are not UTF-8, or a control character in a text.
Result<Document> read_json(std::string bytes, const std::string& file) {
  Document document;
  dom::parser parser;
  const size_t size = bytes.size();
  document.size = size;
  bytes.resize(size + simdjson::SIMDJSON_PADDING);
  const std::string_view text(bytes.data(), size);
  dom::element root;
  auto code = parser.allocate(std::max(size, simdjson::dom::MINIMAL_DOCUMENT_CAPACITY), kMostJsonLevels);
  if (code == simdjson::SUCCESS) code = parser.parse(text.data(), text.size(), false).get(root);
  if (code == simdjson::EMPTY) return fail(Code::bad_input, std::string(kTags.empty), "the file is empty", {file, 0});
  if (code == simdjson::DEPTH_ERROR || code == simdjson::CAPACITY || code == simdjson::MEMALLOC)
    return fail(Code::bad_input, "flight.dump.large", fmt::format("more than {} levels of JSON", kMostJsonLevels),
                {file});
  if (code != simdjson::SUCCESS) {
    if (json::first_damage(text) == text.size())
      return fail(Code::bad_input, std::string(kTags.truncated), "the file ends before its JSON is complete",
                  {file, static_cast<int64_t>(size)});
    return Failure(json::damage_error(text, {file, 0}, kTags));
  }
  if (!Copier(document).copy(root, document.root))
    return fail(Code::bad_input, "flight.dump.large",
                fmt::format("more than {} values", show_count(static_cast<int64_t>(kMostValues))), {file});
  return document;
}

}  // namespace chakra::flight
