// Version 0.0.1 (.eg), up-converted. It has no metadata; its node types are one less from COMP on, for it had no
// METADATA; its parents are what a node waits for. docs/reference/formats/et.md says the rest.
#include <fmt/core.h>

#include <deque>
#include <protozero/pbf_reader.hpp>

#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using wire::Bytes;

constexpr uint32_t kId = 1, kName = 2, kType = 3, kParent = 4, kAttribute = 5, kRunTime = 7;
/// INVALID, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL
constexpr std::array<uint64_t, 7> kTypes{0, 2, 3, 4, 5, 6, 7};
constexpr uint32_t kAttrName = 1, kAttrType = 2, kAttrDoc = 3, kFloat = 4, kInt = 5, kString = 6, kFloats = 7,
                   kInts = 8, kStrings = 9;

Failure unknown(std::string_view what, uint32_t field) {
  return fail(
      Code::bad_input, "io.eg.field",
      fmt::format("{} with a field {} that version 0.0.1 does not have; conversion is not possible", what, field));
}

class EgSource : public RecordSource {
 public:
  explicit EgSource(ByteSource source) : file_(std::move(source)) {}

  Result<bool> next(std::string_view& message) override {
    out_.clear();
    if (!std::exchange(any_metadata_, true)) {
      MetadataRecord metadata;
      AttrRecord schema;
      schema.name = "schema";
      schema.field = schema::kString;
      schema.bytes = "0.0.1";
      metadata.version = "0.0.4";
      metadata.attrs.push_back(schema);
      encode(metadata, out_);
    } else {
      std::string_view old;
      CHAKRA_ASSIGN(const bool any, file_.next(old));
      if (!any) return false;
      Result<void> converted;
      try {
        converted = node(pbf_reader(old.data(), old.size()));
      } catch (const protozero::exception& error) {
        converted =
            fail(Code::bad_input, "io.eg.damaged", fmt::format("not a node of the schema 0.0.1 ({})", error.what()));
      }
      if (!converted) {
        converted.error().place = file_.place();
        return Failure(std::move(converted.error()));
      }
    }
    message = out_.view();
    return true;
  }
  Place place() const override { return file_.place(); }

 private:
  static bool is(const pbf_reader& reader, pbf_wire_type wire) { return reader.wire_type() == wire; }
  static std::string_view text(pbf_reader& reader) {
    const auto view = reader.get_view();
    return {view.data(), view.size()};
  }

  Result<void> node(pbf_reader reader) {
    NodeRecord record;
    lists_.clear();
    while (reader.next()) {
      const uint32_t field = reader.tag();
      if (field == kId && is(reader, pbf_wire_type::varint)) {
        record.id = reader.get_uint64();
      } else if (field == kName && is(reader, pbf_wire_type::length_delimited)) {
        record.name = text(reader);
      } else if (field == kType && is(reader, pbf_wire_type::varint)) {
        const uint64_t type = reader.get_uint64();
        if (type >= kTypes.size())
          return fail(Code::bad_input, "io.eg.field", fmt::format("version 0.0.1 has no node type {}", type));
        record.type = kTypes[type];
      } else if (field == kParent && is(reader, pbf_wire_type::varint)) {
        record.data_deps.push_back(reader.get_uint64());
      } else if (field == kParent && is(reader, pbf_wire_type::length_delimited)) {
        for (const uint64_t parent : reader.get_packed_uint64()) record.data_deps.push_back(parent);
      } else if (field == kAttribute && is(reader, pbf_wire_type::length_delimited)) {
        CHAKRA_TRY(attribute(reader.get_message(), record.attrs.emplace_back()));
      } else if (field == kRunTime && is(reader, pbf_wire_type::varint)) {
        record.duration_micros = reader.get_uint64();
      } else {
        return unknown("a node", field);
      }
    }
    encode(record, out_);
    return {};
  }

  Result<void> attribute(pbf_reader reader, AttrRecord& attr) {
    Bytes list;
    while (reader.next()) {
      const uint32_t field = reader.tag();
      const auto wire = reader.wire_type();
      ListValue value;
      if (field == kAttrName && wire == pbf_wire_type::length_delimited) {
        attr.name = text(reader);
      } else if (field == kAttrDoc && wire == pbf_wire_type::length_delimited) {
        attr.doc = text(reader);
      } else if (field == kAttrType && wire == pbf_wire_type::varint) {
        reader.skip();  // which of the others is set, which they say themselves
      } else if (field == kFloat && wire == pbf_wire_type::fixed32) {
        attr.field = 5;
        attr.natural = reader.get_fixed32();
      } else if (field == kInt && wire == pbf_wire_type::varint) {
        attr.field = schema::kInt64;
        attr.integer = reader.get_int64();
      } else if (field == kString && wire == pbf_wire_type::length_delimited) {
        attr.field = schema::kString;
        attr.bytes = text(reader);
      } else if (field == kFloats && wire == pbf_wire_type::fixed32) {
        attr.field = 6;
        value.bits = reader.get_fixed32();
        put_list_value(list, schema::Coding::real32, true, value);
      } else if (field == kInts && wire == pbf_wire_type::varint) {
        attr.field = schema::kInt64List;
        value.bits = reader.get_uint64();
        put_list_value(list, schema::Coding::varint, false, value);
      } else if (field == kStrings && wire == pbf_wire_type::length_delimited) {
        attr.field = schema::kString + 1;
        value.text = text(reader);
        put_list_value(list, schema::Coding::text, false, value);
      } else {
        return unknown("an attribute", field);
      }
    }
    if (schema::is_list(attr.field)) {
      Bytes message;
      put_list(message, schema::kMembers[attr.field].coding, list.view());
      attr.bytes = lists_.emplace_back(message.view());
    }
    return {};
  }

  EtFile file_;
  Bytes out_;
  bool any_metadata_ = false;
  std::deque<std::string> lists_;
};

}  // namespace

RecordSourcePtr open_eg(ByteSource source) { return std::make_unique<EgSource>(std::move(source)); }

}  // namespace chakra::io
