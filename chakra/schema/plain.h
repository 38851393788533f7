// Read messages as nearly all writers make them: tags of one or two bytes, sizes and numbers of at most nine bytes.
// A function returns false for other messages, which decode() then reads or refuses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/schema/members.h"
#include "chakra/schema/wire.h"

namespace chakra::schema {
struct NodeRecord;
}

namespace chakra::schema::plain {

/// Take a varint of at most nine bytes.
inline bool take_varint(const char*& at, const char* end, uint64_t& value) {
  if (at == end) return false;
  value = static_cast<uint8_t>(*at++);
  if (value < 0x80) return true;
  value &= 0x7f;
  const char* const last = end - at < 8 ? end : at + 8;
  for (int shift = 7; at != last; shift += 7) {
    const uint64_t byte = static_cast<uint8_t>(*at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Take a text, after its size.
inline bool take_text(const char*& at, const char* end, std::string_view& text) {
  uint64_t size = 0;
  if (!take_varint(at, end, size) || static_cast<uint64_t>(end - at) < size) return false;
  text = {at, size};
  at += size;
  return true;
}

/// Take a tag of one or two bytes.
inline bool take_tag(const char*& at, const char* end, uint32_t& tag) {
  if (at == end) return false;
  tag = static_cast<uint8_t>(*at++);
  if (tag < 0x80) return true;
  if (at == end || static_cast<uint8_t>(*at) >= 0x80) return false;
  tag = (tag & 0x7f) | static_cast<uint32_t>(static_cast<uint8_t>(*at++)) << 7;
  return true;
}

constexpr uint32_t tag_of(uint32_t field, uint32_t wire) { return field << 3 | wire; }

/// The values of the message of a list: one packed run, in which each value takes one byte; else none.
inline std::string_view small_values(std::string_view message) {
  if (message.size() < 2 || message[0] != tag_of(kListValues, wire::kText)) return {};
  if (message.size() > 0x81 || static_cast<uint8_t>(message[1]) != message.size() - 2) return {};
  for (const char byte : message.substr(2))
    if (static_cast<uint8_t>(byte) >= 0x80) return {};
  return message.substr(2);
}

/// The messages of the attributes of a node.
struct Attrs {
  std::array<std::string_view, 64> messages;
  size_t size = 0;
};
/// Read a node: known fields in the order of their numbers, and not too many attributes, which the record then lacks.
/// After false, record and attributes hold a part of the node.
bool read_node(std::string_view message, NodeRecord& record, Attrs& attrs);

}  // namespace chakra::schema::plain
