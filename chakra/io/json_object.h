// One object of the JSON forms -> a message.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/io/json_values.h"

namespace chakra::io {

/// Reads one object into a record and the record into a message. Strings of the
/// record belong to the parser or to `texts_`, until the next object.
class ObjectReader {
 public:
  Result<void> node(ondemand::object& object, wire::Bytes& out);
  /// `nodes`: the number of nodes that the file announces; unchanged if the file announces no number.
  Result<void> metadata(ondemand::object& object, wire::Bytes& out, int64_t& nodes);

 private:
  void start();
  /// Read text, or {"base64": "..."} for bytes that are not UTF-8.
  Result<void> string(std::string_view key, JsonValue& value, std::string_view& text);
  Result<void> base64(std::string_view key, JsonValue& value, std::string_view& bytes);
  /// Read complete fields of protobuf's wire format: a message written with incomplete fields would be unreadable.
  template <class Record = NodeRecord>
  Result<void> unknown(std::string_view key, JsonValue& value, int32_t owner, UnknownFields& fields);
  Result<void> io(std::string_view key, JsonValue& value, IoRecord& record, int32_t owner, UnknownFields& fields);
  Result<void> attrs(std::string_view key, JsonValue& value, std::vector<AttrRecord>& attrs, UnknownFields& fields);
  Result<void> only_value(std::string_view key, JsonValue& value, AttrRecord& attr);
  Result<void> member_value(std::string_view key, JsonValue& value, uint32_t field, ListValue& read);
  Result<void> list(std::string_view key, JsonValue& value, AttrRecord& attr);

  NodeRecord node_;
  std::deque<std::string> texts_, lists_;
};

}  // namespace chakra::io
