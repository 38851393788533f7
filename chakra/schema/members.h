// Field numbers of the published schema (package ChakraProtoMsg, proto3), shared
// by reader and writer. docs/reference/formats/et.md explains each field.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace chakra::schema {

inline constexpr uint32_t kMetadataVersion = 1, kMetadataAttr = 2;
inline constexpr uint32_t kNodeId = 1, kNodeName = 2, kNodeType = 3, kNodeCtrlDeps = 4, kNodeDataDeps = 5,
                          kNodeStart = 6, kNodeDuration = 7, kNodeInputs = 8, kNodeOutputs = 9, kNodeAttr = 10;
inline constexpr uint32_t kIoValues = 1, kIoShapes = 2, kIoTypes = 3;
inline constexpr uint32_t kAttrName = 1, kAttrDoc = 2;
inline constexpr uint32_t kListValues = 1;

enum class Coding : uint8_t {
  none,
  real64,
  real32,
  varint,
  natural,
  zigzag,
  fixed32,
  fixed64,
  sfixed32,
  sfixed64,
  boolean,
  text
};

/// The coding of member `field` of the attribute's oneof; each even
/// field from 4 on is the list of the odd field before.
struct Member {
  std::string_view name;
  Coding coding = Coding::none;
};
inline constexpr std::array<Member, 33> kMembers{{
    {},
    {},
    {},
    {"double_val", Coding::real64},
    {"double_list", Coding::real64},
    {"float_val", Coding::real32},
    {"float_list", Coding::real32},
    {"int32_val", Coding::varint},
    {"int32_list", Coding::varint},
    {"int64_val", Coding::varint},
    {"int64_list", Coding::varint},
    {"uint32_val", Coding::natural},
    {"uint32_list", Coding::natural},
    {"uint64_val", Coding::natural},
    {"uint64_list", Coding::natural},
    {"sint32_val", Coding::zigzag},
    {"sint32_list", Coding::zigzag},
    {"sint64_val", Coding::zigzag},
    {"sint64_list", Coding::zigzag},
    {"fixed32_val", Coding::fixed32},
    {"fixed32_list", Coding::fixed32},
    {"fixed64_val", Coding::fixed64},
    {"fixed64_list", Coding::fixed64},
    {"sfixed32_val", Coding::sfixed32},
    {"sfixed32_list", Coding::sfixed32},
    {"sfixed64_val", Coding::sfixed64},
    {"sfixed64_list", Coding::sfixed64},
    {"bool_val", Coding::boolean},
    {"bool_list", Coding::boolean},
    {"string_val", Coding::text},
    {"string_list", Coding::text},
    {"bytes_val", Coding::text},
    {"bytes_list", Coding::text},
}};
inline constexpr uint32_t kDouble = 3, kInt32 = 7, kInt64 = 9, kInt64List = 10, kUint32List = 12, kUint64 = 13,
                          kBool = 27, kBoolList = 28, kString = 29, kBytes = 31;
inline constexpr auto kNarrow = [] {
  std::array<bool, kMembers.size()> narrow{};
  for (size_t field = 0; field < narrow.size(); ++field)
    narrow[field] = kMembers[field].name.find("32") != std::string_view::npos;
  return narrow;
}();
/// Whether the member has 32 bits.
constexpr bool is_narrow(uint32_t field) { return kNarrow[field]; }
constexpr bool is_list(uint32_t field) { return field >= 4 && field % 2 == 0; }

}  // namespace chakra::schema
