// Messages -> records.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <protozero/pbf_reader.hpp>

#include "chakra/schema/plain.h"
#include "chakra/schema/schema.h"

namespace chakra::schema {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view view(protozero::data_view data) { return {data.data(), data.size()}; }
pbf_reader reader_of(std::string_view message) { return {message.data(), message.size()}; }

pbf_wire_type wire_type(Coding coding) {
  switch (coding) {
    case Coding::real64:
    case Coding::fixed64:
    case Coding::sfixed64: return pbf_wire_type::fixed64;
    case Coding::real32:
    case Coding::fixed32:
    case Coding::sfixed32: return pbf_wire_type::fixed32;
    case Coding::text: return pbf_wire_type::length_delimited;
    default: return pbf_wire_type::varint;
  }
}

Failure damaged(std::string text) { return fail(Code::bad_input, "io.et.damaged", std::move(text)); }

/// Runs `read` over a message. protozero throws what it finds wrong; here that becomes a value.
template <class Read>
Result<void> guarded(std::string_view message, const Read& read) {
  try {
    pbf_reader reader(message.data(), message.size());
    return read(reader);
  } catch (const protozero::exception& error) {
    return damaged(fmt::format("not a message of the Chakra schema ({})", error.what()));
  }
}

/// proto3 readers skip a known field with a wire type it cannot have, as if it were unknown.
bool is_text(const pbf_reader& reader) { return reader.wire_type() == pbf_wire_type::length_delimited; }
bool is_varint(const pbf_reader& reader) { return reader.wire_type() == pbf_wire_type::varint; }

/// 32-bit members keep the low 32 bits of a longer varint, as the reference implementation does.
int64_t narrow(uint32_t field, int64_t value) { return is_narrow(field) ? static_cast<int32_t>(value) : value; }

struct Merged : protozero::exception {
  const char* what() const noexcept override { return "a list in two parts"; }
};

void read_value(pbf_reader& reader, AttrRecord& attr, uint32_t field) {
  // The parts of a list would have to be joined; nobody writes such.
  if (is_list(field) && attr.field == field) throw Merged();
  attr.field = field;
  attr.integer = 0;
  attr.natural = 0;
  attr.real = 0;
  attr.bytes = {};
  switch (is_list(field) ? Coding::text : kMembers[field].coding) {
    case Coding::none: break;
    case Coding::real64:
      attr.natural = reader.get_fixed64();
      attr.real = std::bit_cast<double>(attr.natural);
      break;
    case Coding::real32:
      attr.natural = reader.get_fixed32();
      attr.real = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(attr.natural)));
      break;
    case Coding::varint: attr.integer = narrow(field, reader.get_int64()); break;
    case Coding::natural:
      attr.natural = reader.get_uint64();
      if (is_narrow(field)) attr.natural = static_cast<uint32_t>(attr.natural);
      break;
    case Coding::zigzag:
      attr.integer = is_narrow(field) ? protozero::decode_zigzag32(static_cast<uint32_t>(reader.get_uint64()))
                                      : reader.get_sint64();
      break;
    case Coding::fixed32: attr.natural = reader.get_fixed32(); break;
    case Coding::fixed64: attr.natural = reader.get_fixed64(); break;
    case Coding::sfixed32: attr.integer = reader.get_sfixed32(); break;
    case Coding::sfixed64: attr.integer = reader.get_sfixed64(); break;
    case Coding::boolean: attr.integer = reader.get_uint64() != 0; break;
    case Coding::text: attr.bytes = view(reader.get_view()); break;
  }
}

/// The field that the reader is at and does not know, from its tag on.
void keep_unknown(pbf_reader& reader, const char* begin, int32_t owner, UnknownFields& unknown) {
  reader.skip();
  unknown.push_back({owner, {begin, static_cast<size_t>(reader.data().data() - begin)}});
}

/// Requires an empty attribute.
void read_attr(pbf_reader reader, AttrRecord& attr, int32_t owner, UnknownFields& unknown) {
  for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
    const uint32_t field = reader.tag();
    if (field == kAttrName && is_text(reader)) {
      attr.name = view(reader.get_view());
    } else if (field == kAttrDoc && is_text(reader)) {
      attr.doc = view(reader.get_view());
    } else if (field >= 3 && field < kMembers.size() &&
               reader.wire_type() ==
                   (is_list(field) ? pbf_wire_type::length_delimited : wire_type(kMembers[field].coding))) {
      read_value(reader, attr, field);
    } else {
      keep_unknown(reader, begin, owner, unknown);
    }
  }
}

/// Read an attribute as nearly all writers make it: a name, then one integer, text or list. False for other bytes,
/// which read_attr() reads; the attribute then stays empty. Requires an empty attribute.
bool read_plain_attr(std::string_view message, AttrRecord& attr) {
  const char *at = message.data(), *const end = at + message.size();
  std::string_view name, bytes;
  uint32_t tag = 0;
  if (!plain::take_tag(at, end, tag) || tag != plain::tag_of(kAttrName, wire::kText)) return false;
  if (!plain::take_text(at, end, name) || !plain::take_tag(at, end, tag)) return false;
  const uint32_t field = tag >> 3;
  if (field < kDouble || field >= kMembers.size()) return false;
  const Coding coding = is_list(field) ? Coding::text : kMembers[field].coding;
  uint64_t value = 0;
  if (static_cast<pbf_wire_type>(tag & 7) != wire_type(coding)) return false;
  if (!(coding == Coding::text ? plain::take_text(at, end, bytes) : plain::take_varint(at, end, value)) || at != end)
    return false;
  switch (coding) {
    case Coding::text: attr.bytes = bytes; break;
    case Coding::varint: attr.integer = narrow(field, static_cast<int64_t>(value)); break;
    case Coding::natural: attr.natural = is_narrow(field) ? static_cast<uint32_t>(value) : value; break;
    case Coding::boolean: attr.integer = value != 0; break;
    default: return false;
  }
  attr.name = name;
  attr.field = field;
  return true;
}

void add_attr(std::string_view message, std::vector<AttrRecord>& attrs, UnknownFields& unknown) {
  const auto owner = static_cast<int32_t>(attrs.size());
  AttrRecord& attr = attrs.emplace_back();
  if (!read_plain_attr(message, attr)) read_attr(reader_of(message), attr, owner, unknown);
}

IoRecord read_io(pbf_reader reader, IoRecord io, int32_t owner, UnknownFields& unknown) {
  io.present = true;
  for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
    const uint32_t field = reader.tag();
    if (field > kIoTypes || !is_text(reader)) keep_unknown(reader, begin, owner, unknown);
    else if (field == kIoValues) io.values = view(reader.get_view());
    else if (field == kIoShapes) io.shapes = view(reader.get_view());
    else io.types = view(reader.get_view());
  }
  return io;
}

bool read_ids(pbf_reader& reader, std::vector<uint64_t>& ids) {
  if (is_text(reader)) {
    const protozero::data_view packed = reader.get_view();
    for (const char *at = packed.data(), *const end = at + packed.size(); at != end;)
      ids.push_back(protozero::decode_varint(&at, end));
  } else if (is_varint(reader)) ids.push_back(reader.get_uint64());
  else return false;
  return true;
}

/// Calls add(element) for each value of a packed run; false if the member has no such runs.
template <class Add>
bool read_packed(pbf_reader& reader, uint32_t field, AttrRecord& element, const Add& add) {
  const auto each = [&](auto range, auto AttrRecord::*member) {
    for (const auto value : range) {
      element.*member = static_cast<std::decay_t<decltype(element.*member)>>(value);
      add(element);
    }
  };
  switch (kMembers[field].coding) {
    case Coding::real64:
      for (const uint64_t bits : reader.get_packed_fixed64()) {
        element.real = std::bit_cast<double>(element.natural = bits);
        add(element);
      }
      break;
    case Coding::real32:
      for (const uint32_t bits : reader.get_packed_fixed32()) {
        element.natural = bits;
        element.real = static_cast<double>(std::bit_cast<float>(bits));
        add(element);
      }
      break;
    case Coding::varint:
      if (is_narrow(field)) each(reader.get_packed_int32(), &AttrRecord::integer);
      else each(reader.get_packed_int64(), &AttrRecord::integer);
      break;
    case Coding::natural:
      if (is_narrow(field)) each(reader.get_packed_uint32(), &AttrRecord::natural);
      else each(reader.get_packed_uint64(), &AttrRecord::natural);
      break;
    case Coding::zigzag:
      if (is_narrow(field)) each(reader.get_packed_sint32(), &AttrRecord::integer);
      else each(reader.get_packed_sint64(), &AttrRecord::integer);
      break;
    case Coding::fixed32: each(reader.get_packed_fixed32(), &AttrRecord::natural); break;
    case Coding::fixed64: each(reader.get_packed_fixed64(), &AttrRecord::natural); break;
    case Coding::sfixed32: each(reader.get_packed_sfixed32(), &AttrRecord::integer); break;
    case Coding::sfixed64: each(reader.get_packed_sfixed64(), &AttrRecord::integer); break;
    case Coding::boolean: each(reader.get_packed_bool(), &AttrRecord::integer); break;
    default: return false;
  }
  return true;
}

}  // namespace

bool AttrRecord::as_integer(int64_t& value) const {
  uint64_t unsigned_value = 0;
  switch (field == 0 || is_list(field) ? Coding::none : kMembers[field].coding) {
    case Coding::varint:
    case Coding::zigzag:
    case Coding::sfixed32:
    case Coding::sfixed64:
    case Coding::boolean: value = integer; return true;
    case Coding::natural:
    case Coding::fixed32:
    case Coding::fixed64:
      unsigned_value = natural;
      if (unsigned_value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
      value = static_cast<int64_t>(unsigned_value);
      return true;
    default: return false;
  }
}

bool AttrRecord::as_natural(uint64_t& value) const {
  if (field != 0 && !is_list(field)) {
    const Coding coding = kMembers[field].coding;
    if (coding == Coding::natural || coding == Coding::fixed32 || coding == Coding::fixed64) {
      value = natural;
      return true;
    }
  }
  int64_t signed_value = 0;
  if (!as_integer(signed_value) || signed_value < 0) return false;
  value = static_cast<uint64_t>(signed_value);
  return true;
}

void AttrList::clear() {
  integers.clear();
  naturals.clear();
  reals.clear();
  bits.clear();
  texts.clear();
}

Result<AttrList> decode_list(const AttrRecord& attr, UnknownFields* unknown) {
  AttrList list;
  CHAKRA_TRY(decode_list(attr, list, unknown));
  return list;
}

Result<void> decode_list(const AttrRecord& attr, AttrList& list, UnknownFields* unknown) {
  list.clear();
  if (!is_list(attr.field)) return {};
  const uint32_t field = attr.field;
  const Coding coding = kMembers[field].coding;
  if (coding == Coding::natural || coding == Coding::varint)
    if (const std::string_view values = plain::small_values(attr.bytes); !values.empty()) {
      if (coding == Coding::natural) list.naturals.assign(values.begin(), values.end());
      else list.integers.assign(values.begin(), values.end());
      return {};
    }
  // Each element through the scalar reader; packed runs are unrolled into the same.
  const auto add = [&](const AttrRecord& element) {
    switch (coding) {
      case Coding::real64:
      case Coding::real32:
        list.reals.push_back(element.real);
        list.bits.push_back(element.natural);
        break;
      case Coding::natural:
      case Coding::fixed32:
      case Coding::fixed64: list.naturals.push_back(element.natural); break;
      case Coding::text: list.texts.push_back(element.bytes); break;
      default: list.integers.push_back(element.integer);
    }
  };
  return guarded(attr.bytes, [&](pbf_reader& reader) -> Result<void> {
    UnknownFields ignored;
    UnknownFields& others = unknown ? *unknown : ignored;
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      AttrRecord element;
      if (reader.tag() != kListValues) {
        keep_unknown(reader, begin, UnknownField::kMessage, others);
      } else if (reader.wire_type() == wire_type(coding)) {
        read_value(reader, element, field - 1);
        add(element);
      } else if (!is_text(reader) || !read_packed(reader, field, element, add)) {
        keep_unknown(reader, begin, UnknownField::kMessage, others);
      }
    }
    return {};
  });
}

void NodeRecord::clear() {
  id = type = start_micros = duration_micros = 0;
  name = {};
  ctrl_deps.clear();
  data_deps.clear();
  inputs = outputs = {};
  attrs.clear();
  unknown.clear();
}

namespace {

bool read_plain_io(std::string_view message, IoRecord& io) {
  io.present = true;
  const char *at = message.data(), *const end = at + message.size();
  for (const auto& [field, text] :
       {std::pair(kIoValues, &io.values), std::pair(kIoShapes, &io.shapes), std::pair(kIoTypes, &io.types)})
    if (at != end && static_cast<uint8_t>(*at) == plain::tag_of(field, wire::kText))
      if (!plain::take_text(++at, end, *text)) return false;
  return at == end;
}

/// Append the ids of a packed run.
bool take_plain_ids(const char*& at, const char* end, std::vector<uint64_t>& ids) {
  std::string_view run;
  if (!plain::take_text(at, end, run)) return false;
  for (const char *id_at = run.data(), *const run_end = id_at + run.size(); id_at != run_end;)
    if (!plain::take_varint(id_at, run_end, ids.emplace_back())) return false;
  return true;
}

/// Read a node as nearly all writers make it: known fields, in the order of their numbers. add_attr(message) gets the
/// message of each attribute, and returns whether to go on. After false, the record holds a part of the node.
template <class AddAttr>
bool read_plain_node(std::string_view message, NodeRecord& record, const AddAttr& add_attr) {
  const char *at = message.data(), *const end = at + message.size();
  const auto next_is = [&](uint32_t tag) { return at != end && static_cast<uint8_t>(*at) == tag && (++at, true); };
  const auto number = [&](uint32_t field, uint64_t& value) {
    return !next_is(plain::tag_of(field, wire::kVarint)) || plain::take_varint(at, end, value);
  };
  const auto text = [&](uint32_t field, std::string_view& value) {
    return !next_is(plain::tag_of(field, wire::kText)) || plain::take_text(at, end, value);
  };
  const auto ids = [&](uint32_t field, std::vector<uint64_t>& values) {
    return !next_is(plain::tag_of(field, wire::kText)) || take_plain_ids(at, end, values);
  };
  std::string_view inputs, outputs, attr;
  if (!number(kNodeId, record.id) || !text(kNodeName, record.name) || !number(kNodeType, record.type) ||
      !ids(kNodeCtrlDeps, record.ctrl_deps) || !ids(kNodeDataDeps, record.data_deps) ||
      !number(kNodeStart, record.start_micros) || !number(kNodeDuration, record.duration_micros) ||
      !text(kNodeInputs, inputs) || !text(kNodeOutputs, outputs))
    return false;
  record.type = static_cast<uint64_t>(int64_t{static_cast<int32_t>(record.type)});  // an enumeration
  if (inputs.data() && !read_plain_io(inputs, record.inputs)) return false;
  if (outputs.data() && !read_plain_io(outputs, record.outputs)) return false;
  while (next_is(plain::tag_of(kNodeAttr, wire::kText)))
    if (!plain::take_text(at, end, attr) || !add_attr(attr)) return false;
  return at == end;
}

/// Decode a node; add_attr(message) gets the message of each attribute, again from the first on after clear().
template <class Clear, class AddAttr>
Result<void> decode_node(std::string_view message, NodeRecord& record, const Clear& clear, const AddAttr& add_attr) {
  size_t attrs = 0;
  return guarded(message, [&](pbf_reader& reader) -> Result<void> {
    clear();
    if (read_plain_node(message, record, [&](std::string_view attr) {
          add_attr(attr);
          return ++attrs <= kMostAttrs;
        }))
      return {};
    clear();
    attrs = 0;
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      if (reader.tag() == kNodeAttr && is_text(reader)) {
        if (attrs++ == kMostAttrs) return damaged(fmt::format("a node of more than {} attributes", kMostAttrs));
        add_attr(view(reader.get_view()));
        continue;
      }
      const bool text = is_text(reader), varint = is_varint(reader);
      bool known = true;
      switch (reader.tag()) {
        case kNodeId:
          if ((known = varint)) record.id = reader.get_uint64();
          break;
        case kNodeName:
          if ((known = text)) record.name = view(reader.get_view());
          break;
        case kNodeType:
          if ((known = varint)) record.type = static_cast<uint64_t>(static_cast<int64_t>(reader.get_enum()));
          break;
        case kNodeCtrlDeps: known = read_ids(reader, record.ctrl_deps); break;
        case kNodeDataDeps: known = read_ids(reader, record.data_deps); break;
        case kNodeStart:
          if ((known = varint)) record.start_micros = reader.get_uint64();
          break;
        case kNodeDuration:
          if ((known = varint)) record.duration_micros = reader.get_uint64();
          break;
        case kNodeInputs:
          if ((known = text))
            record.inputs = read_io(reader.get_message(), record.inputs, UnknownField::kInputs, record.unknown);
          break;
        case kNodeOutputs:
          if ((known = text))
            record.outputs = read_io(reader.get_message(), record.outputs, UnknownField::kOutputs, record.unknown);
          break;
        default: known = false;
      }
      if (!known) keep_unknown(reader, begin, UnknownField::kMessage, record.unknown);
    }
    return {};
  });
}

}  // namespace

bool plain::read_node(std::string_view message, NodeRecord& record, Attrs& attrs) {
  record.clear();
  size_t size = 0;
  const auto add_attr = [&](std::string_view attr) {
    attrs.messages[size++] = attr;
    return size < attrs.messages.size();
  };
  const bool is_plain = read_plain_node(message, record, add_attr);
  attrs.size = size;
  return is_plain;
}

Result<void> decode(std::string_view message, NodeRecord& record) {
  return decode_node(
      message, record, [&] { record.clear(); },
      [&](std::string_view attr) { add_attr(attr, record.attrs, record.unknown); });
}

Result<void> decode(std::string_view message, NodeRecord& record, std::vector<std::string_view>& attrs) {
  const auto clear = [&] {
    record.clear();
    attrs.clear();
  };
  return decode_node(message, record, clear, [&](std::string_view attr) { attrs.push_back(attr); });
}

Result<void> decode(std::string_view message, AttrRecord& attr) {
  attr = {};
  if (read_plain_attr(message, attr)) return {};
  return guarded(message, [&](pbf_reader& reader) -> Result<void> {
    UnknownFields ignored;
    read_attr(reader, attr, UnknownField::kMessage, ignored);
    return {};
  });
}

Result<void> decode(std::string_view message, MetadataRecord& record) {
  record.version = {};
  record.attrs.clear();
  record.unknown.clear();
  return guarded(message, [&](pbf_reader& reader) -> Result<void> {
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      if (reader.tag() == kMetadataVersion && is_text(reader)) record.version = view(reader.get_view());
      else if (reader.tag() == kMetadataAttr && record.attrs.size() == kMostAttrs)
        return damaged(fmt::format("metadata of more than {} attributes", kMostAttrs));
      else if (reader.tag() == kMetadataAttr && is_text(reader))
        add_attr(view(reader.get_view()), record.attrs, record.unknown);
      else keep_unknown(reader, begin, UnknownField::kMessage, record.unknown);
    }
    return {};
  });
}

bool are_fields(std::string_view bytes) {
  try {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) reader.skip();
    return true;
  } catch (const protozero::exception&) {
    return false;
  }
}

}  // namespace chakra::schema
