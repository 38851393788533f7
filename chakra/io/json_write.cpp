// Records -> JSON, as a document or as lines. docs/reference/formats/json.md is the contract.
#include <absl/strings/escaping.h>
#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using schema::Coding;
using wire::Bytes;

/// protobuf's JSON names: double_val is "doubleVal".
struct Keys {
  std::array<std::string, schema::kMembers.size()> member;
  Keys() {
    for (size_t f = 3; f < member.size(); ++f) member[f] = fmt::format("\"{}\":", json_name(schema::kMembers[f].name));
  }
};
const Keys& keys() {
  static const Keys table;
  return table;
}

/// Whether a byte stands for itself in a JSON text, ASCII only.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

size_t plain_prefix(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    constexpr uint64_t kOnes = 0x0101010101010101, kTops = kOnes << 7;
    const auto zero = [](uint64_t w) { return (w - kOnes) & ~w & kTops; };
    if ((word & kTops) | ((word - kOnes * 0x20) & ~word & kTops) | zero(word ^ (kOnes * '"')) |
        zero(word ^ (kOnes * '\\')))
      break;
  }
  while (i < text.size() && kPlain[static_cast<unsigned char>(text[i])]) ++i;
  return i;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

class Text {
 public:
  explicit Text(Bytes& out) : out_(out) {}

  std::optional<Error> damage;  ///< what was to be written was none of the schema

  [[gnu::always_inline]] void raw(std::string_view text) {
    out_.end(wire::bytes_at(out_.room(text.size() + 16), text));
  }
  [[gnu::always_inline]] void byte(char c) {
    char* at = out_.room(1);
    *at = c;
    out_.end(at + 1);
  }
  void base64(std::string_view bytes) {
    byte('"');
    std::string encoded;
    absl::Base64Escape({bytes.data(), bytes.size()}, &encoded);
    raw(encoded);
    byte('"');
  }
  /// A string; one that is not UTF-8, which JSON could not hold, as {"base64":"..."}.
  void string(std::string_view text) {
    if (plain_prefix(text) == text.size()) {
      char* at = out_.room(text.size() + 16);
      *at++ = '"';
      at = wire::bytes_at(at, text);
      *at++ = '"';
      out_.end(at);
    } else if (is_utf8(text)) {
      escaped_.clear();
      append_json_string(escaped_, text);
      raw(escaped_);
    } else {
      raw("{\"base64\":");
      base64(text);
      byte('}');
    }
  }
  template <class Number>
  void number(Number value, bool quoted) {
    char* at = out_.room(32);
    if (quoted) *at++ = '"';
    at = std::to_chars(at, at + 24, value).ptr;
    if (quoted) *at++ = '"';
    out_.end(at);
  }
  void real(uint64_t bits, bool single) {
    const double value =
        single ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))) : std::bit_cast<double>(bits);
    if (std::isnan(value)) {
      const bool usual = bits == (single ? 0x7fc00000u : 0x7ff8000000000000u);
      raw(usual ? std::string("\"NaN\"") : fmt::format("{{\"bits\":\"0x{:x}\"}}", bits));
    } else if (std::isinf(value)) {
      raw(value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    } else if (value == 0) {
      raw(std::signbit(value) ? "-0.0" : "0");
    } else {
      raw(fmt::format("{}", value));
    }
  }
  /// The value of a member, one of a list's or its only one.
  void value(uint32_t field, Coding coding, int64_t integer, uint64_t natural, std::string_view text) {
    const bool wide = !schema::is_narrow(field);
    switch (coding) {
      case Coding::real64: return real(natural, false);
      case Coding::real32: return real(natural, true);
      case Coding::natural:
      case Coding::fixed32:
      case Coding::fixed64: return number(natural, wide);
      case Coding::boolean: return raw(integer ? "true" : "false");
      case Coding::text: return field >= schema::kBytes ? base64(text) : string(text);
      case Coding::none: return;
      default: return number(integer, wide);
    }
  }

 private:
  Bytes& out_;
  std::string escaped_;
};

/// Members of one object, with commas between them.
class Object {
 public:
  explicit Object(Text& text) : text_(text) { text_.byte('{'); }
  /// `key` with quotes and colon.
  [[gnu::always_inline]] Text& member(std::string_view key) {
    if (!std::exchange(first_, false)) text_.byte(',');
    text_.raw(key);
    return text_;
  }
  void string_unless_empty(std::string_view key, std::string_view value) {
    if (!value.empty()) member(key).string(value);
  }
  void number_unless_zero(std::string_view key, uint64_t value) {
    if (value != 0) member(key).number(value, true);
  }
  void unknown(const UnknownFields& fields, int32_t owner) {
    if (fields.empty()) return;
    std::string bytes;
    for (const UnknownField& field : fields)
      if (field.owner == owner) bytes += field.bytes;
    if (!bytes.empty()) member("\"unknownFields\":").base64(bytes);
  }
  void end() { text_.byte('}'); }

 private:
  Text& text_;
  bool first_ = true;
};

template <class Values, class Put>
void put_array(Text& text, const Values& values, const Put& put) {
  text.byte('[');
  bool first = true;
  for (const auto& value : values) {
    if (!std::exchange(first, false)) text.byte(',');
    put(value);
  }
  text.byte(']');
}

void put_list(Text& text, const AttrRecord& attr) {
  Object object(text);
  AttrList list;
  UnknownFields unknown;
  if (auto decoded = decode_list(attr, &unknown)) list = std::move(*decoded);
  else text.damage = std::move(decoded.error());
  const Coding coding = schema::kMembers[attr.field].coding;
  const auto put = [&](const auto& values, const auto& each) {
    if (!values.empty()) put_array(object.member("\"values\":"), values, each);
  };
  put(list.integers, [&](int64_t v) { text.value(attr.field, coding, v, 0, {}); });
  put(list.naturals, [&](uint64_t v) { text.value(attr.field, coding, 0, v, {}); });
  put(list.bits, [&](uint64_t v) { text.value(attr.field, coding, 0, v, {}); });
  put(list.texts, [&](std::string_view v) { text.value(attr.field, coding, 0, 0, v); });
  object.unknown(unknown, UnknownField::kMessage);
  object.end();
}

void put_attrs(Object& object, Text& text, const std::vector<AttrRecord>& attrs, const UnknownFields& unknown) {
  if (attrs.empty()) return;
  int32_t index = 0;
  put_array(object.member("\"attr\":"), attrs, [&](const AttrRecord& attr) {
    Object item(text);
    item.string_unless_empty("\"name\":", attr.name);
    item.string_unless_empty("\"docString\":", attr.doc);
    if (attr.field != 0) {
      item.member(keys().member[attr.field]);
      if (schema::is_list(attr.field)) put_list(text, attr);
      else text.value(attr.field, schema::kMembers[attr.field].coding, attr.integer, attr.natural, attr.bytes);
    }
    item.unknown(unknown, index++);
    item.end();
  });
}

void put_io(Object& object, Text& text, std::string_view key, const IoRecord& io, const UnknownFields& unknown,
            int32_t owner) {
  if (!io.present) return;
  object.member(key);
  Object item(text);
  item.string_unless_empty("\"values\":", io.values);
  item.string_unless_empty("\"shapes\":", io.shapes);
  item.string_unless_empty("\"types\":", io.types);
  item.unknown(unknown, owner);
  item.end();
}

void put_metadata(Object& object, Text& text, const MetadataRecord& record) {
  object.string_unless_empty("\"version\":", record.version);
  put_attrs(object, text, record.attrs, record.unknown);
  object.unknown(record.unknown, UnknownField::kMessage);
}

void put_node(Text& text, const NodeRecord& record) {
  Object object(text);
  object.number_unless_zero("\"id\":", record.id);
  object.string_unless_empty("\"name\":", record.name);
  if (record.type != 0) {
    object.member("\"type\":");
    if (record.type < trace::kNodeTypeNames.size()) {
      text.byte('"');
      text.raw(trace::kNodeTypeNames[record.type]);
      text.byte('"');
    } else {
      text.number(static_cast<int64_t>(record.type), false);
    }
  }
  const auto ids = [&](std::string_view key, const std::vector<uint64_t>& list) {
    if (!list.empty()) put_array(object.member(key), list, [&](uint64_t id) { text.number(id, true); });
  };
  ids("\"ctrlDeps\":", record.ctrl_deps);
  ids("\"dataDeps\":", record.data_deps);
  object.number_unless_zero("\"startTimeMicros\":", record.start_micros);
  object.number_unless_zero("\"durationMicros\":", record.duration_micros);
  put_io(object, text, "\"inputs\":", record.inputs, record.unknown, UnknownField::kInputs);
  put_io(object, text, "\"outputs\":", record.outputs, record.unknown, UnknownField::kOutputs);
  put_attrs(object, text, record.attrs, record.unknown);
  object.unknown(record.unknown, UnknownField::kMessage);
  object.end();
}

class JsonSink : public RecordSink {
 public:
  JsonSink(PackedFile& file, bool lines, int64_t nodes) : file_(file), text_(out_), lines_(lines), nodes_(nodes) {}

  Result<void> metadata(std::string_view, const MetadataRecord& record) override {
    Object object(text_);
    object.member("\"chakraTrace\":").raw(lines_ ? "\"jsonl/1\"" : "\"json/1\"");
    if (lines_) {
      if (nodes_ >= 0) object.member("\"chakraNodes\":").number(nodes_, true);
      put_metadata(object, text_, record);
      object.end();
      text_.byte('\n');
    } else {
      object.member("\"metadata\":");
      Object metadata(text_);
      put_metadata(metadata, text_, record);
      metadata.end();
      object.member("\"nodes\":[");
    }
    if (text_.damage) return Failure(*std::exchange(text_.damage, {}));
    return {};
  }
  Result<void> node(std::string_view, const NodeRecord& record) override {
    if (!lines_) text_.raw(std::exchange(first_, false) ? "\n" : ",\n");
    put_node(text_, record);
    if (text_.damage) return Failure(*std::exchange(text_.damage, {}));
    if (lines_) text_.byte('\n');
    return out_.size() < kPiece ? Result<void>() : flush();
  }
  Result<void> finish() override {
    if (!lines_) text_.raw(first_ ? "]}\n" : "\n]}\n");
    return flush();
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 20;

  Result<void> flush() {
    CHAKRA_TRY(file_.write(out_.view()));
    out_.clear();
    return {};
  }

  PackedFile& file_;
  Bytes out_;
  Text text_;
  bool lines_, first_ = true;
  int64_t nodes_;
};

}  // namespace

std::string json_name(std::string_view name) {
  std::string camel;
  for (size_t i = 0; i < name.size(); ++i)
    if (name[i] != '_') camel += i > 0 && name[i - 1] == '_' ? static_cast<char>(name[i] - 'a' + 'A') : name[i];
  return camel;
}

RecordSinkPtr create_json(PackedFile& file, int64_t nodes) { return std::make_unique<JsonSink>(file, false, nodes); }
RecordSinkPtr create_json_lines(PackedFile& file, int64_t nodes) {
  return std::make_unique<JsonSink>(file, true, nodes);
}

}  // namespace chakra::io
