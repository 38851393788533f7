// JSON, as a document or as lines -> records. docs/reference/formats/json.md is the contract.
#include <absl/strings/escaping.h>
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <deque>
#include <limits>

#include "chakra/base/text_map.h"
#include "chakra/io/records.h"
#include "chakra/json/json.h"

namespace chakra::io {
namespace {

namespace ondemand = simdjson::ondemand;
using json::JsonStream;
using json::JsonValue;
using schema::Coding;
using wire::Bytes;

tl::unexpected<Error> wrong(std::string_view key, std::string_view wanted) {
  return fail(Code::bad_input, "io.json.field", fmt::format("{}: {} should stand here", quote(key), wanted));
}
size_t bytes_of(const UnknownFields& fields) {
  size_t bytes = 0;
  for (const UnknownField& field : fields) bytes += field.bytes.size();
  return bytes;
}
/// Whether the fields of an object are still unknown ones when they are read as part of a message.
template <class Record>
bool stay_unknown(int32_t owner, std::string_view bytes) {
  Record record, read;
  if (owner >= 0) record.attrs.resize(1);
  if constexpr (std::is_same_v<Record, NodeRecord>) {
    record.inputs.present = owner == UnknownField::kInputs;
    record.outputs.present = owner == UnknownField::kOutputs;
  }
  record.unknown.push_back({std::min(owner, 0), bytes});
  const std::string message = encode(record);
  return decode(message, read) && bytes_of(read.unknown) == bytes.size();
}
tl::unexpected<Error> broken(simdjson::error_code code) { return json::json_error(code, {}, json::kTraceTags); }

/// The names of JSON, and those of protobuf, which protobuf's own readers also accept.
enum class Key : uint8_t {
  id,
  name,
  type,
  ctrl_deps,
  data_deps,
  start,
  duration,
  inputs,
  outputs,
  attr,
  unknown_fields,
  version,
  doc,
  values,
  shapes,
  types,
  trace,
  nodes,
  metadata,
  member  ///< of the oneof
};
struct KeyRow {
  Key key;
  uint32_t field = 0;  ///< of a member
};
const TextMap<KeyRow>& keys() {
  static const TextMap<KeyRow> table = [] {
    static std::deque<std::string> names;  // the map holds views
    TextMap<KeyRow> map;
    const auto add = [&](std::string_view name, KeyRow row) {
      map.emplace(name, row);
      names.push_back(json_name(name));
      map.emplace(names.back(), row);
    };
    for (const auto& [name, key] :
         std::initializer_list<std::pair<std::string_view, Key>>{{"id", Key::id},
                                                                 {"name", Key::name},
                                                                 {"type", Key::type},
                                                                 {"ctrl_deps", Key::ctrl_deps},
                                                                 {"data_deps", Key::data_deps},
                                                                 {"start_time_micros", Key::start},
                                                                 {"duration_micros", Key::duration},
                                                                 {"inputs", Key::inputs},
                                                                 {"outputs", Key::outputs},
                                                                 {"attr", Key::attr},
                                                                 {"unknown_fields", Key::unknown_fields},
                                                                 {"version", Key::version},
                                                                 {"doc_string", Key::doc},
                                                                 {"values", Key::values},
                                                                 {"shapes", Key::shapes},
                                                                 {"types", Key::types},
                                                                 {"chakra_trace", Key::trace},
                                                                 {"chakra_nodes", Key::nodes},
                                                                 {"metadata", Key::metadata}})
      add(name, {key});
    for (uint32_t field = 3; field < schema::kMembers.size(); ++field)
      add(schema::kMembers[field].name, {Key::member, field});
    return map;
  }();
  return table;
}

/// Reads one object into a record and the record into a message. Strings of the record belong to the parser
/// or to `texts_`, until the next object.
class ObjectReader {
 public:
  Result<void> node(ondemand::object& object, Bytes& out) {
    start();
    node_.id = node_.type = node_.start_micros = node_.duration_micros = 0;
    node_.name = {};
    node_.ctrl_deps.clear();
    node_.data_deps.clear();
    node_.inputs = node_.outputs = {};
    node_.attrs.clear();
    node_.unknown.clear();
    CHAKRA_TRY(members(object, [&](std::string_view key, KeyRow row, JsonValue& value) -> Result<bool> {
      switch (row.key) {
        case Key::id: return done(natural(key, value, node_.id));
        case Key::name: return done(string(key, value, node_.name));
        case Key::type: return done(type(key, value, node_.type));
        case Key::ctrl_deps: return done(ids(key, value, node_.ctrl_deps));
        case Key::data_deps: return done(ids(key, value, node_.data_deps));
        case Key::start: return done(natural(key, value, node_.start_micros));
        case Key::duration: return done(natural(key, value, node_.duration_micros));
        case Key::inputs: return done(io(key, value, node_.inputs, UnknownField::kInputs, node_.unknown));
        case Key::outputs: return done(io(key, value, node_.outputs, UnknownField::kOutputs, node_.unknown));
        case Key::attr: return done(attrs(key, value, node_.attrs, node_.unknown));
        case Key::unknown_fields: return done(unknown(key, value, UnknownField::kMessage, node_.unknown));
        default: return false;
      }
    }));
    encode(node_, out);
    return {};
  }

  /// `nodes`: how many the file announces; it stays as it is where it announces none.
  Result<void> metadata(ondemand::object& object, Bytes& out, int64_t& nodes) {
    start();
    MetadataRecord record;
    const auto member = [&](std::string_view key, KeyRow row, JsonValue& value) -> Result<bool> {
      uint64_t number = 0;
      std::string_view form;
      switch (row.key) {
        case Key::version: return done(string(key, value, record.version));
        case Key::attr: return done(attrs(key, value, record.attrs, record.unknown));
        case Key::unknown_fields:
          return done(unknown<MetadataRecord>(key, value, UnknownField::kMessage, record.unknown));
        case Key::trace: return done(string(key, value, form));
        case Key::nodes:
          CHAKRA_TRY(natural(key, value, number));
          nodes = static_cast<int64_t>(std::min<uint64_t>(number, std::numeric_limits<int64_t>::max()));
          return true;
        default: return false;
      }
    };
    CHAKRA_TRY(members(object, member));
    encode(record, out);
    return {};
  }

 private:
  static Result<bool> done(Result<void> result) {
    if (!result) return tl::unexpected<Error>(std::move(result.error()));
    return true;
  }
  void start() {
    texts_.clear();
    lists_.clear();
  }

  /// Calls read(key, row, value) for each member; an error if it does not take it, or a key is a duplicate.
  template <class Read>
  Result<void> members(ondemand::object& object, const Read& read) {
    uint64_t seen = 0;
    for (auto field : object) {
      std::string_view key;
      JsonValue* value = nullptr;
      if (const auto code = json::open_field(field, key, value)) return broken(code);
      const auto row = keys().find(key);
      if (row == keys().end())
        return fail(Code::bad_input, "io.json.field", fmt::format("no key {} is known", quote(key)));
      const uint64_t bit = uint64_t{1} << static_cast<unsigned>(row->second.key);
      if (seen & bit)
        return fail(Code::bad_input, "io.json.field",
                    row->second.key == Key::member ? "an attribute has two values"
                                                   : fmt::format("duplicate key {}", quote(key)));
      seen |= bit;
      CHAKRA_ASSIGN(const bool taken, read(key, row->second, *value));
      if (!taken)
        return fail(Code::bad_input, "io.json.field", fmt::format("the key {} does not belong here", quote(key)));
    }
    return {};
  }
  template <class Read>
  Result<void> elements(std::string_view key, JsonValue& value, const Read& read) {
    ondemand::array array;
    if (const auto code = value.get_array().get(array))
      return code == simdjson::INCORRECT_TYPE ? wrong(key, "an array") : broken(code);
    for (auto element : array) {
      JsonValue item;
      if (const auto code = std::move(element).get(item)) return broken(code);
      CHAKRA_TRY(read(item));
    }
    return {};
  }
  Result<ondemand::object> object_of(std::string_view key, JsonValue& value) {
    ondemand::object object;
    if (const auto code = value.get_object().get(object))
      return code == simdjson::INCORRECT_TYPE ? wrong(key, "an object") : broken(code);
    return object;
  }

  /// A number's or literal's text; a string's without quotes.
  Result<std::string_view> scalar(std::string_view key, JsonValue& value) {
    ondemand::json_type type;
    if (const auto code = value.type().get(type)) return broken(code);
    if (type == ondemand::json_type::object || type == ondemand::json_type::array) return wrong(key, "a number");
    std::string_view text = value.raw_json_token();
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
      text.remove_suffix(1);
    if (type == ondemand::json_type::string) {
      if (text.size() < 2) return wrong(key, "a number");
      text = text.substr(1, text.size() - 2);
      if (simdjson::simdjson_result<std::string_view> skipped = value.get_string(); skipped.error())
        return broken(skipped.error());
    } else if (type == ondemand::json_type::boolean) {
      if (const auto code = value.get_bool().error()) return broken(code);
    } else if (type == ondemand::json_type::null) {
      return wrong(key, "a value");
    } else if (value.get_double().error() != simdjson::SUCCESS) {
      return wrong(key, "a number");
    }
    return text;
  }
  Result<void> natural(std::string_view key, JsonValue& value, uint64_t& number,
                       uint64_t most = std::numeric_limits<uint64_t>::max()) {
    CHAKRA_ASSIGN(const std::string_view text, scalar(key, value));
    if (!parse_unsigned(text, number) || number > most) return wrong(key, "a whole number that fits, not negative");
    return {};
  }
  Result<void> integer(std::string_view key, JsonValue& value, int64_t& number, bool narrow) {
    CHAKRA_ASSIGN(const std::string_view text, scalar(key, value));
    if (!parse_integer(text, number) || (narrow && number != static_cast<int32_t>(number)))
      return wrong(key, "a whole number that fits");
    return {};
  }

  /// Text, or {"base64": "..."} where it is no UTF-8.
  Result<void> string(std::string_view key, JsonValue& value, std::string_view& text) {
    ondemand::json_type type;
    if (const auto code = value.type().get(type)) return broken(code);
    if (type == ondemand::json_type::string) {
      if (const auto code = value.get_string().get(text)) return broken(code);
      return {};
    }
    if (type != ondemand::json_type::object) return wrong(key, "a text");
    return only_member(key, value, "base64", [&](JsonValue& inner) { return base64(key, inner, text); });
  }
  template <class Read>
  Result<void> only_member(std::string_view key, JsonValue& value, std::string_view name, const Read& read) {
    CHAKRA_ASSIGN(ondemand::object object, object_of(key, value));
    bool found = false;
    for (auto field : object) {
      std::string_view inner_key;
      JsonValue* inner = nullptr;
      if (const auto code = json::open_field(field, inner_key, inner)) return broken(code);
      if (found || inner_key != name) return wrong(key, fmt::format("{{\"{}\": ...}}", name));
      found = true;
      CHAKRA_TRY(read(*inner));
    }
    if (!found) return wrong(key, fmt::format("{{\"{}\": ...}}", name));
    return {};
  }
  Result<void> base64(std::string_view key, JsonValue& value, std::string_view& bytes) {
    std::string_view text;
    if (const auto code = value.get_string().get(text))
      return code == simdjson::INCORRECT_TYPE ? wrong(key, "a text in base64") : broken(code);
    std::string& decoded = texts_.emplace_back();
    if (!absl::Base64Unescape({text.data(), text.size()}, &decoded)) return wrong(key, "a text in base64");
    bytes = decoded;
    return {};
  }
  /// Its bits: a number, "NaN", "Infinity", "-Infinity", or {"bits": "0x..."}.
  Result<void> real(std::string_view key, JsonValue& value, bool single, uint64_t& bits) {
    ondemand::json_type type;
    if (const auto code = value.type().get(type)) return broken(code);
    if (type == ondemand::json_type::object)
      return only_member(key, value, "bits", [&](JsonValue& inner) {
        return natural(key, inner, bits, single ? std::numeric_limits<uint32_t>::max() : ~uint64_t{0});
      });
    double number = 0;
    if (type == ondemand::json_type::string) {
      std::string_view text;
      if (const auto code = value.get_string().get(text)) return broken(code);
      if (text == "NaN") {
        bits = single ? 0x7fc00000 : 0x7ff8000000000000;
        return {};
      }
      if (text != "Infinity" && text != "-Infinity") return wrong(key, "a number");
      number = text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    } else if (type != ondemand::json_type::number || value.get_double().get(number) != simdjson::SUCCESS) {
      return wrong(key, "a number");
    }
    if (!single) {
      bits = std::bit_cast<uint64_t>(number);
      return {};
    }
    if (std::isfinite(number) && std::fabs(number) > static_cast<double>(std::numeric_limits<float>::max()))
      return wrong(key, "a number that fits");
    bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    return {};
  }

  Result<void> type(std::string_view key, JsonValue& value, uint64_t& type) {
    CHAKRA_ASSIGN(const std::string_view text, scalar(key, value));
    const auto& names = trace::kNodeTypeNames;
    if (const auto found = std::find(names.begin(), names.end(), text); found != names.end()) {
      type = static_cast<uint64_t>(found - names.begin());
      return {};
    }
    int64_t number = 0;
    if (!parse_integer(text, number) || number != static_cast<int32_t>(number)) return wrong(key, "a node type");
    type = static_cast<uint64_t>(number);
    return {};
  }
  Result<void> ids(std::string_view key, JsonValue& value, std::vector<uint64_t>& ids) {
    return elements(key, value, [&](JsonValue& item) { return natural(key, item, ids.emplace_back()); });
  }
  /// Whole fields of protobuf's wire format: otherwise a message that is written with them could not be read.
  template <class Record = NodeRecord>
  Result<void> unknown(std::string_view key, JsonValue& value, int32_t owner, UnknownFields& fields) {
    std::string_view bytes;
    CHAKRA_TRY(base64(key, value, bytes));
    if (!are_fields(bytes)) return wrong(key, "fields of a protobuf message in base64");
    if (!stay_unknown<Record>(owner, bytes)) return wrong(key, "fields that the schema does not have");
    fields.push_back({owner, bytes});
    return {};
  }
  Result<void> io(std::string_view key, JsonValue& value, IoRecord& record, int32_t owner, UnknownFields& fields) {
    CHAKRA_ASSIGN(ondemand::object object, object_of(key, value));
    record.present = true;
    return members(object, [&](std::string_view inner, KeyRow row, JsonValue& item) -> Result<bool> {
      switch (row.key) {
        case Key::values: return done(string(inner, item, record.values));
        case Key::shapes: return done(string(inner, item, record.shapes));
        case Key::types: return done(string(inner, item, record.types));
        case Key::unknown_fields: return done(unknown(inner, item, owner, fields));
        default: return false;
      }
    });
  }

  Result<void> attrs(std::string_view key, JsonValue& value, std::vector<AttrRecord>& attrs, UnknownFields& fields) {
    return elements(key, value, [&](JsonValue& item) -> Result<void> {
      CHAKRA_ASSIGN(ondemand::object object, object_of(key, item));
      if (attrs.size() == kMostAttrs)
        return fail(Code::bad_input, "io.json.field", fmt::format("more than {} attributes", kMostAttrs));
      const auto owner = static_cast<int32_t>(attrs.size());
      AttrRecord& attr = attrs.emplace_back();
      return members(object, [&](std::string_view inner, KeyRow row, JsonValue& v) -> Result<bool> {
        switch (row.key) {
          case Key::name: return done(string(inner, v, attr.name));
          case Key::doc: return done(string(inner, v, attr.doc));
          case Key::unknown_fields: return done(unknown(inner, v, owner, fields));
          case Key::member:
            attr.field = row.field;
            return done(schema::is_list(row.field) ? list(inner, v, attr) : only_value(inner, v, attr));
          default: return false;
        }
      });
    });
  }
  Result<void> only_value(std::string_view key, JsonValue& value, AttrRecord& attr) {
    ListValue read;
    CHAKRA_TRY(member_value(key, value, attr.field, read));
    attr.natural = read.bits;
    attr.integer = static_cast<int64_t>(read.bits);
    attr.bytes = read.text;
    return {};
  }
  Result<void> member_value(std::string_view key, JsonValue& value, uint32_t field, ListValue& read) {
    const bool narrow = schema::is_narrow(field);
    switch (schema::kMembers[field].coding) {
      case Coding::real64: return real(key, value, false, read.bits);
      case Coding::real32: return real(key, value, true, read.bits);
      case Coding::natural:
      case Coding::fixed32:
      case Coding::fixed64:
        return natural(key, value, read.bits, narrow ? std::numeric_limits<uint32_t>::max() : ~uint64_t{0});
      case Coding::text: return field >= schema::kBytes ? base64(key, value, read.text) : string(key, value, read.text);
      case Coding::boolean: {
        bool truth = false;
        if (value.get_bool().get(truth) != simdjson::SUCCESS) return wrong(key, "true or false");
        read.bits = truth;
        return {};
      }
      default: {
        int64_t number = 0;
        CHAKRA_TRY(integer(key, value, number, narrow));
        read.bits = static_cast<uint64_t>(number);
        return {};
      }
    }
  }
  Result<void> list(std::string_view key, JsonValue& value, AttrRecord& attr) {
    const Coding coding = schema::kMembers[attr.field].coding;
    const bool narrow = schema::is_narrow(attr.field);
    UnknownFields others;
    Bytes packed;
    CHAKRA_ASSIGN(ondemand::object object, object_of(key, value));
    const auto add = [&](JsonValue& v) -> Result<void> {
      ListValue read;
      CHAKRA_TRY(member_value("values", v, attr.field, read));
      put_list_value(packed, coding, narrow, read);
      return {};
    };
    const auto member = [&](std::string_view inner, KeyRow row, JsonValue& item) -> Result<bool> {
      if (row.key == Key::unknown_fields) return done(unknown(inner, item, UnknownField::kMessage, others));
      if (row.key != Key::values) return false;
      return done(elements(inner, item, add));
    };
    CHAKRA_TRY(members(object, member));
    AttrRecord only;
    only.field = attr.field;
    for (const UnknownField& field : others) {
      only.bytes = field.bytes;
      UnknownFields kept;
      CHAKRA_TRY(decode_list(only, &kept));
      if (bytes_of(kept) != field.bytes.size()) return wrong(key, "unknownFields that the schema does not have");
    }
    Bytes message;
    if (coding == Coding::text) message.end(wire::bytes_at(message.room(packed.size() + 16), packed.view()));
    else if (packed.size() > 0) wire::put_text(message, schema::kListValues, packed.view());
    for (const UnknownField& field : others)
      message.end(wire::bytes_at(message.room(field.bytes.size() + 16), field.bytes));
    attr.bytes = lists_.emplace_back(message.view());
    return {};
  }

  NodeRecord node_;
  std::deque<std::string> texts_, lists_;
};

class JsonSource : public RecordSource {
 public:
  JsonSource(ByteSource source, bool lines)
      : stream_(lines ? JsonStream::sequence(std::move(source), json::kTraceTags)
                      : JsonStream(std::move(source), {"nodes"}, JsonStream::kWindow, json::kTraceTags)),
        lines_(lines) {}

  Result<bool> next(std::string_view& message) override {
    while (given_ == messages_.size()) {
      if (finished_) return false;
      CHAKRA_TRY(read_on());
    }
    const Message& m = messages_[given_++];
    message = out_.view().substr(m.begin, m.size);
    at_ = m.at;
    return true;
  }
  Place place() const override { return {stream_.file(), at_}; }

 private:
  struct Message {
    size_t begin, size;
    int64_t at;
  };

  /// A part of the document into messages.
  Result<void> read_on() {
    messages_.clear();
    out_.clear();
    given_ = 0;
    CHAKRA_ASSIGN(const JsonStream::Part part, stream_.next());
    if (part == JsonStream::Part::finished) {
      finished_ = true;
      if (!lines_ && !any_array_ && nodes_read_ == 0) CHAKRA_TRY(no_more_members());
      if (announced_ >= 0 && announced_ != nodes_read_)
        return fail(Code::bad_input, "io.json.truncated",
                    fmt::format("the file announces {} nodes and holds {}", announced_, nodes_read_), {stream_.file()});
      return {};
    }
    if (part == JsonStream::Part::member) return read_member();
    if (!lines_) CHAKRA_TRY(no_more_members());
    return json::for_each_in_window(stream_, parser_, [&](ondemand::object& object) -> Result<void> {
      const bool first = lines_ && !std::exchange(any_metadata_, true);
      nodes_read_ += !first;
      return add(stream_.current_byte(),
                 [&] { return first ? reader_.metadata(object, out_, announced_) : reader_.node(object, out_); });
    });
  }
  template <class Read>
  Result<void> add(int64_t at, const Read& read) {
    const size_t begin = out_.size();
    CHAKRA_TRY(read());
    messages_.push_back({begin, out_.size() - begin, at});
    return {};
  }
  Result<void> read_member() {
    const auto error = [&](std::string text) {
      return fail(Code::bad_input, "io.json.field", std::move(text), stream_.value_place());
    };
    const std::string key(stream_.key());
    ondemand::document document;
    if (const auto code = parser_.iterate(stream_.value()).get(document))
      return json::json_error(code, stream_.value_place(), json::kTraceTags);
    if (key == "chakraTrace") {
      std::string_view form;
      if (document.get_string().get(form) != simdjson::SUCCESS || form != "json/1")
        return error("the form is not json/1: this version cannot read it");
      return {};
    }
    if (key != "metadata") return error(fmt::format("no key {} is known", quote(key)));
    if (std::exchange(any_metadata_, true)) return error("the metadata is a duplicate, or comes after the nodes");
    ondemand::object object;
    if (document.get_object().get(object) != simdjson::SUCCESS) return error("the metadata is no object");
    Result<void> read = add(stream_.value_place().byte, [&] { return reader_.metadata(object, out_, announced_); });
    if (!read && read.error().place.file.empty()) read.error().place = stream_.value_place();
    return read;
  }
  /// Before the first node, and at the end where there is none: metadata, if only empty.
  Result<void> no_more_members() {
    any_array_ = true;
    if (!std::exchange(any_metadata_, true)) messages_.push_back({0, 0, 0});
    return {};
  }

  JsonStream stream_;
  bool lines_, finished_ = false, any_metadata_ = false, any_array_ = false;
  ondemand::parser parser_;
  ObjectReader reader_;
  Bytes out_;
  std::vector<Message> messages_;
  size_t given_ = 0;
  int64_t at_ = 0, announced_ = -1, nodes_read_ = 0;
};

}  // namespace

RecordSourcePtr open_json(ByteSource source) { return std::make_unique<JsonSource>(std::move(source), false); }
RecordSourcePtr open_json_lines(ByteSource source) { return std::make_unique<JsonSource>(std::move(source), true); }

bool sniff_json(std::string_view head) {
  const std::string text = json_head(head);
  return text.starts_with("{\"chakraTrace\":\"json/") || text.starts_with("{\"metadata\":{");
}

bool sniff_json_lines(std::string_view head) {
  const std::string text = json_head(head);
  // mlcommons/chakra's jsonizer also writes objects one after the other.
  for (const std::string_view begin :
       {"{\"chakraTrace\":\"jsonl/", "{\"attr\":[{\"name\":", "{\"version\":\"", "{}{\""})
    if (text.starts_with(begin)) return true;
  return false;
}

}  // namespace chakra::io
