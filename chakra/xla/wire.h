// What readers of protobuf messages in this room share. Reading throws protozero::exception, which each public function
// catches. Inside the room.
#pragma once

#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <vector>

#include "chakra/xla/xla.h"

namespace chakra::xla {

inline std::string_view view(protozero::data_view data) { return {data.data(), data.size()}; }
inline bool is_text(const protozero::pbf_reader& reader) {
  return reader.wire_type() == protozero::pbf_wire_type::length_delimited;
}
inline bool is_varint(const protozero::pbf_reader& reader) {
  return reader.wire_type() == protozero::pbf_wire_type::varint;
}

/// Skip a field that this version does not know, and count the field.
inline void skip(protozero::pbf_reader& reader, std::string_view message, UnknownParts& unknown) {
  ++unknown[{message, reader.tag()}];
  reader.skip();
}

/// Append the numbers of a repeated field, packed or not.
inline void read_numbers(protozero::pbf_reader& reader, std::vector<int64_t>& to) {
  if (is_varint(reader)) {
    to.push_back(reader.get_int64());
  } else if (is_text(reader)) {
    for (const int64_t number : reader.get_packed_int64()) to.push_back(number);
  } else {
    reader.skip();
  }
}

}  // namespace chakra::xla
