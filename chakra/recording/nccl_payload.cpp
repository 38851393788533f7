#include "chakra/recording/nccl_payload.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace chakra::recording {
namespace {

/// A payload begins with four numbers of 64 bits: domain, schema, size and offset of the data.
constexpr size_t kHeader = 32;

/// Names of members, as NCCL and RCCL give them (nvtx_payload_schemas.h). The communicator comes first.
struct MemberRow {
  std::string_view name;
  int64_t NcclArguments::*number = nullptr;
};
constexpr std::array<MemberRow, 6> kMembers{{{"NCCL communicator ID"},
                                             {"Message size [bytes]", &NcclArguments::bytes},
                                             {"No. of ranks", &NcclArguments::ranks},
                                             {"Rank", &NcclArguments::rank},
                                             {"Peer rank", &NcclArguments::peer},
                                             {"Root", &NcclArguments::root}}};

/// Types of members that are whole numbers, as NVTX numbers them (NVTX_PAYLOAD_ENTRY_TYPE_*).
struct TypeRow {
  int64_t type;
  size_t bytes;
};
constexpr std::array<TypeRow, 11> kTypes{
    {{5, 4}, {6, 4}, {7, 8}, {8, 8}, {9, 8}, {10, 8}, {15, 4}, {16, 4}, {17, 8}, {18, 8}, {22, 8}}};

template <class Number>
Number value_at(std::string_view bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

std::string communicator_name(uint64_t communicator) { return fmt::format("nccl:{:016x}", communicator); }

Result<NcclPayloads> NcclPayloads::read(const ExportedBase& base) {
  NcclPayloads payloads;
  CHAKRA_TRY(each_row(
      base, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
      {{"domainId"}, {"schemaId"}, {"idx"}, {"type"}, {"name"}, {"offset"}, {"flags", false}},
      [&](const ExportTable& table) -> Result<void> {
        const auto* const member = std::find_if(kMembers.begin(), kMembers.end(),
                                                [&](const MemberRow& row) { return row.name == table.text(4); });
        if (member == kMembers.end() || table.integer(6, 0) != 0) return {};  // others; arrays
        const Field field{table.integer(3), table.integer(5, 0), static_cast<size_t>(member - kMembers.begin())};
        Schema& schema = payloads.schemas_[{table.integer(0), table.integer(1)}];
        const auto [known, added] = schema.fields.emplace(table.integer(2), field);
        if (!added && !(known->second == field)) schema.differs = true;
        return {};
      }));
  return payloads;
}

std::optional<NcclArguments> NcclPayloads::decode(std::string_view payload) const {
  if (payload.size() < kHeader) return std::nullopt;
  const auto schema = schemas_.find({value_at<int64_t>(payload, 0), value_at<int64_t>(payload, 8)});
  if (schema == schemas_.end() || schema->second.differs) return std::nullopt;
  const uint64_t size = value_at<uint64_t>(payload, 16), offset = value_at<uint64_t>(payload, 24);
  if (offset < kHeader || offset > payload.size() || size > payload.size() - offset) return std::nullopt;
  const std::string_view data = payload.substr(offset, size);
  NcclArguments arguments;
  for (const auto& [index, field] : schema->second.fields) {
    const auto* const type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& row) { return row.type == field.type; });
    if (type == kTypes.end() || field.offset < 0 || static_cast<uint64_t>(field.offset) > data.size() ||
        type->bytes > data.size() - static_cast<size_t>(field.offset))
      return std::nullopt;
    const auto at = static_cast<size_t>(field.offset);
    const int64_t number = type->bytes == 4 ? value_at<int32_t>(data, at) : value_at<int64_t>(data, at);
    if (const auto member = kMembers[field.member].number) arguments.*member = std::max<int64_t>(-1, number);
    else arguments.communicator = static_cast<uint64_t>(number);
  }
  return arguments;
}

}  // namespace chakra::recording
