// Records -> messages.
#include <string>

#include "chakra/base/bytes.h"
#include "chakra/schema/schema.h"

namespace chakra::schema {
namespace {

using namespace wire;

void put_unknown(Bytes& out, const UnknownFields& unknown, int32_t owner) {
  for (const UnknownField& field : unknown)
    if (field.owner == owner) out.end(bytes_at(out.room(field.bytes.size()), field.bytes));
}

/// A nested message that `fill` writes; its length is put before it when it is known.
template <class Fill>
void put_message(Bytes& out, uint32_t field, const Fill& fill) {
  out.end(tag_at(out.room(kMostVarint), field, kText));
  put_sized(out, 1, fill);
}

char* fixed_at(char* at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) *at++ = static_cast<char>(value >> (8 * i));
  return at;
}

void put_value(Bytes& out, const AttrRecord& attr) {
  char* at = out.room(2 * kMostVarint);
  const auto put = [&](uint32_t wire) { return at = tag_at(at, attr.field, wire); };
  switch (is_list(attr.field) ? Coding::text : kMembers[attr.field].coding) {
    case Coding::none: return;
    case Coding::fixed64:
    case Coding::real64: out.end(fixed_at(put(kFixed64), attr.natural, 8)); return;
    case Coding::sfixed64: out.end(fixed_at(put(kFixed64), static_cast<uint64_t>(attr.integer), 8)); return;
    case Coding::fixed32:
    case Coding::real32: out.end(fixed_at(put(kFixed32), attr.natural, 4)); return;
    case Coding::sfixed32: out.end(fixed_at(put(kFixed32), static_cast<uint64_t>(attr.integer), 4)); return;
    case Coding::varint:
    case Coding::boolean: out.end(varint_at(put(kVarint), static_cast<uint64_t>(attr.integer))); return;
    case Coding::natural: out.end(varint_at(put(kVarint), attr.natural)); return;
    case Coding::zigzag: out.end(varint_at(put(kVarint), zigzag(attr.integer))); return;
    case Coding::text: put_text(out, attr.field, attr.bytes); return;
  }
}

void put_attrs(Bytes& out, uint32_t field, const std::vector<AttrRecord>& attrs, const UnknownFields& unknown) {
  for (size_t i = 0; i < attrs.size(); ++i)
    put_message(out, field, [&] {
      put_text_unless_empty(out, kAttrName, attrs[i].name);
      put_text_unless_empty(out, kAttrDoc, attrs[i].doc);
      put_value(out, attrs[i]);
      put_unknown(out, unknown, static_cast<int32_t>(i));
    });
}

void put_ids(Bytes& out, uint32_t field, const std::vector<uint64_t>& ids) {
  if (ids.empty()) return;
  put_message(out, field, [&] {
    for (const uint64_t id : ids) out.end(varint_at(out.room(kMostVarint), id));
  });
}

void put_io(Bytes& out, uint32_t field, const IoRecord& io, const UnknownFields& unknown, int32_t owner) {
  if (!io.present) return;
  put_message(out, field, [&] {
    put_text_unless_empty(out, kIoValues, io.values);
    put_text_unless_empty(out, kIoShapes, io.shapes);
    put_text_unless_empty(out, kIoTypes, io.types);
    put_unknown(out, unknown, owner);
  });
}

}  // namespace

void encode(const NodeRecord& record, Bytes& out) {
  put_number_unless_zero(out, kNodeId, record.id);
  put_text_unless_empty(out, kNodeName, record.name);
  put_number_unless_zero(out, kNodeType, record.type);
  put_ids(out, kNodeCtrlDeps, record.ctrl_deps);
  put_ids(out, kNodeDataDeps, record.data_deps);
  put_number_unless_zero(out, kNodeStart, record.start_micros);
  put_number_unless_zero(out, kNodeDuration, record.duration_micros);
  put_io(out, kNodeInputs, record.inputs, record.unknown, UnknownField::kInputs);
  put_io(out, kNodeOutputs, record.outputs, record.unknown, UnknownField::kOutputs);
  put_attrs(out, kNodeAttr, record.attrs, record.unknown);
  put_unknown(out, record.unknown, UnknownField::kMessage);
}

void encode(const MetadataRecord& record, Bytes& out) {
  put_text_unless_empty(out, kMetadataVersion, record.version);
  put_attrs(out, kMetadataAttr, record.attrs, record.unknown);
  put_unknown(out, record.unknown, UnknownField::kMessage);
}

std::string encode(const NodeRecord& record) {
  Bytes out;
  encode(record, out);
  return std::string(out.view());
}
std::string encode(const MetadataRecord& record) {
  Bytes out;
  encode(record, out);
  return std::string(out.view());
}

void put_list_value(Bytes& out, Coding coding, bool narrow, const ListValue& value) {
  char* const at = out.room(kMostVarint);
  switch (coding) {
    case Coding::real64:
    case Coding::fixed64:
    case Coding::sfixed64: out.end(fixed_at(at, value.bits, 8)); return;
    case Coding::real32:
    case Coding::fixed32:
    case Coding::sfixed32: out.end(fixed_at(at, value.bits, 4)); return;
    case Coding::zigzag:
      out.end(varint_at(at, narrow ? static_cast<uint32_t>(zigzag(static_cast<int32_t>(value.bits)))
                                   : zigzag(static_cast<int64_t>(value.bits))));
      return;
    case Coding::varint:
    case Coding::natural:
    case Coding::boolean: out.end(varint_at(at, value.bits)); return;
    case Coding::text: put_text(out, kListValues, value.text); return;
    case Coding::none: return;
  }
}

void put_list(Bytes& out, Coding coding, std::string_view run) {
  if (coding == Coding::text) out.end(bytes_at(out.room(run.size() + 16), run));
  else if (!run.empty()) put_text(out, kListValues, run);
}

}  // namespace chakra::schema
