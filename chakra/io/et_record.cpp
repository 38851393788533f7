// Decoding single messages, and cutting a file into them.
#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <limits>
#include <protozero/pbf_reader.hpp>

#include "chakra/io/et_schema.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using schema::Coding;

std::string_view view(protozero::data_view data) { return {data.data(), data.size()}; }

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

tl::unexpected<Error> damaged(std::string text) { return fail(Code::bad_input, "io.et.damaged", std::move(text)); }

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
int64_t narrow(uint32_t field, int64_t value) { return schema::is_narrow(field) ? static_cast<int32_t>(value) : value; }

struct Merged : protozero::exception {
  const char* what() const noexcept override { return "a list in two parts"; }
};

void read_value(pbf_reader& reader, AttrRecord& attr, uint32_t field) {
  // The parts of a list would have to be joined; nobody writes such.
  if (schema::is_list(field) && attr.field == field) throw Merged();
  attr.field = field;
  attr.integer = 0;
  attr.natural = 0;
  attr.real = 0;
  attr.bytes = {};
  switch (schema::is_list(field) ? Coding::text : schema::kMembers[field].coding) {
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
      if (schema::is_narrow(field)) attr.natural = static_cast<uint32_t>(attr.natural);
      break;
    case Coding::zigzag:
      attr.integer = schema::is_narrow(field) ? protozero::decode_zigzag32(static_cast<uint32_t>(reader.get_uint64()))
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
    if (field == schema::kAttrName && is_text(reader)) {
      attr.name = view(reader.get_view());
    } else if (field == schema::kAttrDoc && is_text(reader)) {
      attr.doc = view(reader.get_view());
    } else if (field >= 3 && field < schema::kMembers.size() &&
               reader.wire_type() == (schema::is_list(field) ? pbf_wire_type::length_delimited
                                                             : wire_type(schema::kMembers[field].coding))) {
      read_value(reader, attr, field);
    } else {
      keep_unknown(reader, begin, owner, unknown);
    }
  }
}

void add_attr(pbf_reader reader, std::vector<AttrRecord>& attrs, UnknownFields& unknown) {
  const auto owner = static_cast<int32_t>(attrs.size());
  read_attr(reader, attrs.emplace_back(), owner, unknown);
}

IoRecord read_io(pbf_reader reader, IoRecord io, int32_t owner, UnknownFields& unknown) {
  io.present = true;
  for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
    const uint32_t field = reader.tag();
    if (field > schema::kIoTypes || !is_text(reader)) keep_unknown(reader, begin, owner, unknown);
    else if (field == schema::kIoValues) io.values = view(reader.get_view());
    else if (field == schema::kIoShapes) io.shapes = view(reader.get_view());
    else io.types = view(reader.get_view());
  }
  return io;
}

bool read_ids(pbf_reader& reader, std::vector<uint64_t>& ids) {
  if (is_text(reader)) {
    const auto packed = reader.get_packed_uint64();
    ids.reserve(ids.size() + packed.size());  // each has a byte or more
    for (const uint64_t id : packed) ids.push_back(id);
  } else if (is_varint(reader)) ids.push_back(reader.get_uint64());
  else return false;
  return true;
}

}  // namespace

bool AttrRecord::as_integer(int64_t& value) const {
  uint64_t unsigned_value = 0;
  switch (field == 0 || schema::is_list(field) ? Coding::none : schema::kMembers[field].coding) {
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
  if (field != 0 && !schema::is_list(field)) {
    const Coding coding = schema::kMembers[field].coding;
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

Result<AttrList> decode_list(const AttrRecord& attr, UnknownFields* unknown) {
  AttrList list;
  if (!schema::is_list(attr.field)) return list;
  const uint32_t field = attr.field;
  const Coding coding = schema::kMembers[field].coding;
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
  CHAKRA_TRY(guarded(attr.bytes, [&](pbf_reader& reader) -> Result<void> {
    UnknownFields ignored;
    UnknownFields& others = unknown ? *unknown : ignored;
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      AttrRecord element;
      if (reader.tag() != schema::kListValues) {
        keep_unknown(reader, begin, UnknownField::kMessage, others);
      } else if (reader.wire_type() == wire_type(coding)) {
        read_value(reader, element, field - 1);
        add(element);
      } else if (is_text(reader)) {  // packed
        const auto each = [&](auto range, auto AttrRecord::*member) {
          for (const auto value : range) {
            element.*member = static_cast<std::decay_t<decltype(element.*member)>>(value);
            add(element);
          }
        };
        switch (coding) {
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
            if (schema::is_narrow(field)) each(reader.get_packed_int32(), &AttrRecord::integer);
            else each(reader.get_packed_int64(), &AttrRecord::integer);
            break;
          case Coding::natural:
            if (schema::is_narrow(field)) each(reader.get_packed_uint32(), &AttrRecord::natural);
            else each(reader.get_packed_uint64(), &AttrRecord::natural);
            break;
          case Coding::zigzag:
            if (schema::is_narrow(field)) each(reader.get_packed_sint32(), &AttrRecord::integer);
            else each(reader.get_packed_sint64(), &AttrRecord::integer);
            break;
          case Coding::fixed32: each(reader.get_packed_fixed32(), &AttrRecord::natural); break;
          case Coding::fixed64: each(reader.get_packed_fixed64(), &AttrRecord::natural); break;
          case Coding::sfixed32: each(reader.get_packed_sfixed32(), &AttrRecord::integer); break;
          case Coding::sfixed64: each(reader.get_packed_sfixed64(), &AttrRecord::integer); break;
          case Coding::boolean: each(reader.get_packed_bool(), &AttrRecord::integer); break;
          default: keep_unknown(reader, begin, UnknownField::kMessage, others);
        }
      } else {
        keep_unknown(reader, begin, UnknownField::kMessage, others);
      }
    }
    return {};
  }));
  return list;
}

Result<void> decode(std::string_view message, NodeRecord& record) {
  record.id = record.type = record.start_micros = record.duration_micros = 0;
  record.name = {};
  record.ctrl_deps.clear();
  record.data_deps.clear();
  record.inputs = record.outputs = {};
  record.attrs.clear();
  record.unknown.clear();
  return guarded(message, [&](pbf_reader& reader) -> Result<void> {
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      const bool text = is_text(reader), varint = is_varint(reader);
      bool known = true;
      switch (reader.tag()) {
        case schema::kNodeId:
          if ((known = varint)) record.id = reader.get_uint64();
          break;
        case schema::kNodeName:
          if ((known = text)) record.name = view(reader.get_view());
          break;
        case schema::kNodeType:
          if ((known = varint)) record.type = static_cast<uint64_t>(static_cast<int64_t>(reader.get_enum()));
          break;
        case schema::kNodeCtrlDeps: known = read_ids(reader, record.ctrl_deps); break;
        case schema::kNodeDataDeps: known = read_ids(reader, record.data_deps); break;
        case schema::kNodeStart:
          if ((known = varint)) record.start_micros = reader.get_uint64();
          break;
        case schema::kNodeDuration:
          if ((known = varint)) record.duration_micros = reader.get_uint64();
          break;
        case schema::kNodeInputs:
          if ((known = text))
            record.inputs = read_io(reader.get_message(), record.inputs, UnknownField::kInputs, record.unknown);
          break;
        case schema::kNodeOutputs:
          if ((known = text))
            record.outputs = read_io(reader.get_message(), record.outputs, UnknownField::kOutputs, record.unknown);
          break;
        case schema::kNodeAttr:
          if (record.attrs.size() == kMostAttrs)
            return damaged(fmt::format("a node of more than {} attributes", kMostAttrs));
          if ((known = text)) add_attr(reader.get_message(), record.attrs, record.unknown);
          break;
        default: known = false;
      }
      if (!known) keep_unknown(reader, begin, UnknownField::kMessage, record.unknown);
    }
    return {};
  });
}

Result<void> decode(std::string_view message, MetadataRecord& record) {
  record.version = {};
  record.attrs.clear();
  record.unknown.clear();
  return guarded(message, [&](pbf_reader& reader) -> Result<void> {
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      if (reader.tag() == schema::kMetadataVersion && is_text(reader)) record.version = view(reader.get_view());
      else if (reader.tag() == schema::kMetadataAttr && record.attrs.size() == kMostAttrs)
        return damaged(fmt::format("metadata of more than {} attributes", kMostAttrs));
      else if (reader.tag() == schema::kMetadataAttr && is_text(reader))
        add_attr(reader.get_message(), record.attrs, record.unknown);
      else keep_unknown(reader, begin, UnknownField::kMessage, record.unknown);
    }
    return {};
  });
}

// ---- EtFile --------------------------------------------------------------------------------------

namespace {
constexpr size_t kFirstBuffer = size_t{1} << 18;
constexpr uint64_t kLongestMessage = uint64_t{1} << 31;
}  // namespace

Result<EtFile> EtFile::open(const std::string& path) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return EtFile(std::move(source));
}

/// Makes at least `wanted` bytes available, if the file has them. The buffer grows with what is
/// there, not with what a length prefix claims.
Result<bool> EtFile::fill(size_t wanted) {
  while (end_ - begin_ < wanted && !ended_) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      buffer_at_ += static_cast<int64_t>(begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(std::max(kFirstBuffer, buffer_.size() * 2));
    const size_t room = buffer_.size() - end_;
    CHAKRA_ASSIGN(const size_t got, source_.read({buffer_.data() + end_, room}));
    end_ += got;
    ended_ = got < room;
  }
  return end_ - begin_ >= wanted;
}

Result<bool> EtFile::next(std::string_view& message) {
  CHAKRA_TRY(fill(protozero::max_varint_length));
  message_at_ = buffer_at_ + static_cast<int64_t>(begin_);
  if (begin_ == end_) return false;
  const char* at = buffer_.data() + begin_;
  uint64_t length = 0;
  try {
    length = protozero::decode_varint(&at, buffer_.data() + end_);
  } catch (const protozero::end_of_buffer_exception&) {
    return fail(Code::bad_input, "io.et.truncated", "the file ends inside the length of a message", place());
  } catch (const protozero::exception&) {
    return fail(Code::bad_input, "io.et.damaged", "no message length where one should be", place());
  }
  const auto prefix = static_cast<size_t>(at - (buffer_.data() + begin_));
  if (length > kLongestMessage)
    return fail(Code::bad_input, "io.et.damaged", fmt::format("a message of {} bytes cannot be", length), place());
  CHAKRA_ASSIGN(const bool whole, fill(prefix + length));
  if (!whole)
    return fail(Code::bad_input, "io.et.truncated",
                fmt::format("a message of {} bytes runs past the end of the file", length), place());
  message = {buffer_.data() + begin_ + prefix, length};
  begin_ += prefix + length;
  return true;
}

}  // namespace chakra::io
