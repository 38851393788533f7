// What the forms share: records into growing buffers, and what a record's values are.
#pragma once

#include <utility>

#include "chakra/io/et_schema.h"
#include "chakra/io/io.h"
#include "chakra/io/wire.h"

namespace chakra::io {

/// Appends the message to `out`.
void encode(const NodeRecord& record, wire::Bytes& out);
void encode(const MetadataRecord& record, wire::Bytes& out);

constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

/// The beginning of a file without blanks, for sniffing JSON.
std::string json_head(std::string_view head);
/// Whether the bytes are whole fields of protobuf's wire format.
bool are_fields(std::string_view bytes);

/// As protobuf's JSON mapping names a field: "data_deps" is "dataDeps".
std::string json_name(std::string_view name);

/// One element of a list member: `bits` as two's complement or IEEE bits, or `text`.
struct ListValue {
  uint64_t bits = 0;
  std::string_view text;
};
/// Appends an element to a packed run (for text: as a field of its own). `narrow`: the member has 32 bits.
void put_list_value(wire::Bytes& out, schema::Coding coding, bool narrow, const ListValue& value);

inline constexpr size_t kMostAttrs = size_t{1} << 18;  ///< of a message: one may take two bytes there, a hundred here

/// An empty message is a node of which everything is a default, its id 0, too. One may be. A second would have the
/// same id: zero bytes are empty messages, and a crash or a copy that was cut may leave many of them.
class EmptyNodes {
 public:
  /// For each node of a trace. Errors: io.et.damaged.
  Result<void> see(std::string_view message, const RecordSource& source) {
    if (!message.empty() || !std::exchange(any_, true)) return {};
    return fail(Code::bad_input, "io.et.damaged",
                "a second empty message, which would be a second node 0; zero bytes look like this: was the file cut "
                "and filled up?",
                source.place());
  }

 private:
  bool any_ = false;
};

/// Any bytes may look like a message by chance, but hardly like metadata: version, attributes, or nothing.
inline bool is_metadata(const MetadataRecord& record) {
  return record.unknown.empty() || !record.version.empty() || !record.attrs.empty();
}

}  // namespace chakra::io
