// The published schema of a trace (docs/reference/formats/et.md): the contents of messages as records; messages ->
// records and back, in protobuf's wire format. A record's texts are views of the message that was decoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/schema/members.h"
#include "chakra/schema/plain.h"
#include "chakra/schema/wire.h"

namespace chakra::schema {

/// One attribute. `field` is the member of the oneof that is set (3 to 32), 0 if no member is set.
struct AttrRecord {
  std::string_view name, doc;
  uint32_t field = 0;
  int64_t integer = 0;     ///< int32, int64, sint*, sfixed*, bool
  uint64_t natural = 0;    ///< uint32, uint64, fixed*; the bits of float and double
  double real = 0;         ///< float, double
  std::string_view bytes;  ///< string, bytes; the raw list message for the list members

  /// Return the value if the member is an integer and the value fits. Writers differ in the member they use.
  bool as_integer(int64_t& value) const;
  bool as_natural(uint64_t& value) const;
};

/// The values of a list member, decoded; the vector that fits the member's type is filled.
struct AttrList {
  std::vector<int64_t> integers;
  std::vector<uint64_t> naturals;
  std::vector<double> reals;
  std::vector<uint64_t> bits;  ///< of the reals
  std::vector<std::string_view> texts;

  void clear();  ///< keeps the room
};

/// Fields outside the schema are kept unchanged, tag included.
struct UnknownField {
  static constexpr int32_t kMessage = -1, kInputs = -2, kOutputs = -3;
  int32_t owner = kMessage;  ///< the owner: the message, its inputs, outputs, or the attribute of that index
  std::string_view bytes;
};
using UnknownFields = std::vector<UnknownField>;
/// Errors: io.et.damaged.
Result<AttrList> decode_list(const AttrRecord& attr, UnknownFields* unknown = nullptr);
/// The same, into a list that keeps its room. After an error, the list holds the values before the damage.
Result<void> decode_list(const AttrRecord& attr, AttrList& list, UnknownFields* unknown = nullptr);

struct IoRecord {
  bool present = false;  ///< the field exists, possibly empty
  std::string_view values, shapes, types;
};
struct NodeRecord {
  uint64_t id = 0;
  std::string_view name;
  uint64_t type = 0;  ///< as stored; NodeType has only some values
  std::vector<uint64_t> ctrl_deps, data_deps;
  uint64_t start_micros = 0, duration_micros = 0;
  IoRecord inputs, outputs;
  std::vector<AttrRecord> attrs;
  UnknownFields unknown;

  /// Reset the record, but keep the room of lists.
  void clear();
};
struct MetadataRecord {
  std::string_view version;
  std::vector<AttrRecord> attrs;
  UnknownFields unknown;
};

/// Errors: io.et.damaged (the caller adds the place of the message).
Result<void> decode(std::string_view message, NodeRecord& record);
Result<void> decode(std::string_view message, MetadataRecord& record);
/// The same, but with the messages of attributes in `attrs`, undecoded: NodeRecord::attrs stays empty.
Result<void> decode(std::string_view message, NodeRecord& record, std::vector<std::string_view>& attrs);
/// Decode the message of an attribute, without unknown fields. Errors: io.et.damaged.
Result<void> decode(std::string_view message, AttrRecord& attr);

/// Return the record as a message: fields in the order of their numbers, then
/// unknown fields. decode() of the message gives an equal record.
std::string encode(const NodeRecord& record);
std::string encode(const MetadataRecord& record);
/// Append the same to `out`.
void encode(const NodeRecord& record, wire::Bytes& out);
void encode(const MetadataRecord& record, wire::Bytes& out);

/// Any bytes may look like a message by chance, but hardly like metadata: version, attributes, or an empty message.
inline bool is_metadata(const MetadataRecord& record) {
  return record.unknown.empty() || !record.version.empty() || !record.attrs.empty();
}

inline constexpr size_t kMostAttrs = size_t{1} << 18;  ///< of a message: two bytes each suffice, a record takes 100

/// Whether the bytes are complete fields of protobuf's wire format.
bool are_fields(std::string_view bytes);

/// One element of a list member: `bits` as two's complement or IEEE bits, or `text`.
struct ListValue {
  uint64_t bits = 0;
  std::string_view text;
};
/// Append an element to a packed run (text: as a separate field). `narrow`: the member has 32 bits.
void put_list_value(wire::Bytes& out, Coding coding, bool narrow, const ListValue& value);
/// Append the list message of a run made by put_list_value().
void put_list(wire::Bytes& out, Coding coding, std::string_view run);

}  // namespace chakra::schema
