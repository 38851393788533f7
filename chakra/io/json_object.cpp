#include "chakra/io/json_object.h"

#include <absl/strings/escaping.h>

namespace chakra::io {
namespace {

using schema::Coding;
using wire::Bytes;

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

}  // namespace

void ObjectReader::start() {
  texts_.clear();
  lists_.clear();
}

/// Text, or {"base64": "..."} if the text is not UTF-8.
Result<void> ObjectReader::string(std::string_view key, JsonValue& value, std::string_view& text) {
  ondemand::json_type type;
  if (const auto code = value.type().get(type)) return broken(code);
  if (type == ondemand::json_type::string) {
    if (const auto code = value.get_string().get(text)) return broken(code);
    return {};
  }
  if (type != ondemand::json_type::object) return wrong(key, "a text");
  return only_member(key, value, "base64", [&](JsonValue& inner) { return base64(key, inner, text); });
}

Result<void> ObjectReader::base64(std::string_view key, JsonValue& value, std::string_view& bytes) {
  std::string_view text;
  if (const auto code = value.get_string().get(text))
    return code == simdjson::INCORRECT_TYPE ? wrong(key, "a text in base64") : broken(code);
  std::string& decoded = texts_.emplace_back();
  if (!absl::Base64Unescape({text.data(), text.size()}, &decoded)) return wrong(key, "a text in base64");
  bytes = decoded;
  return {};
}

/// Whole fields of protobuf's wire format: otherwise a message that is written with them could not be read.
template <class Record>
Result<void> ObjectReader::unknown(std::string_view key, JsonValue& value, int32_t owner, UnknownFields& fields) {
  std::string_view bytes;
  CHAKRA_TRY(base64(key, value, bytes));
  if (!are_fields(bytes)) return wrong(key, "fields of a protobuf message in base64");
  if (!stay_unknown<Record>(owner, bytes)) return wrong(key, "fields that the schema does not have");
  fields.push_back({owner, bytes});
  return {};
}

Result<void> ObjectReader::io(std::string_view key, JsonValue& value, IoRecord& record, int32_t owner,
                              UnknownFields& fields) {
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

Result<void> ObjectReader::attrs(std::string_view key, JsonValue& value, std::vector<AttrRecord>& attrs,
                                 UnknownFields& fields) {
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

Result<void> ObjectReader::only_value(std::string_view key, JsonValue& value, AttrRecord& attr) {
  ListValue read;
  CHAKRA_TRY(member_value(key, value, attr.field, read));
  attr.natural = read.bits;
  attr.integer = static_cast<int64_t>(read.bits);
  attr.bytes = read.text;
  return {};
}

Result<void> ObjectReader::member_value(std::string_view key, JsonValue& value, uint32_t field, ListValue& read) {
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

Result<void> ObjectReader::list(std::string_view key, JsonValue& value, AttrRecord& attr) {
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
  put_list(message, coding, packed.view());
  for (const UnknownField& field : others)
    message.end(wire::bytes_at(message.room(field.bytes.size() + 16), field.bytes));
  attr.bytes = lists_.emplace_back(message.view());
  return {};
}

Result<void> ObjectReader::node(ondemand::object& object, Bytes& out) {
  start();
  node_.clear();
  CHAKRA_TRY(members(object, [&](std::string_view key, KeyRow row, JsonValue& value) -> Result<bool> {
    switch (row.key) {
      case Key::id: return done(natural(key, value, node_.id));
      case Key::name: return done(string(key, value, node_.name));
      case Key::type: return done(node_type(key, value, node_.type));
      case Key::ctrl_deps: return done(id_list(key, value, node_.ctrl_deps));
      case Key::data_deps: return done(id_list(key, value, node_.data_deps));
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

Result<void> ObjectReader::metadata(ondemand::object& object, Bytes& out, int64_t& nodes) {
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

}  // namespace chakra::io
