// The arguments of a record of a Kineto trace (kineto_args.cpp),
// and the members around the records (kineto_members.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "chakra/recording/json_value.h"
#include "chakra/recording/profile.h"

namespace chakra::recording {

/// The arguments in use; the reader skips all others.
struct KinetoArgs {
  int64_t correlation = -1, external_id = -1, rf_id = 0, sequence = -1;
  int64_t device = -1, stream = -1, bytes = -1;
  int64_t source_stream = -1, source_correlation = -1;
  bool has_stream = false, has_device = false;
  std::string_view sync_kind;
  std::string_view dims, types, values;  ///< of an operator
  CommRecord comm;
};
/// Read the arguments. With `keep_dims`, `comm` also gets dims and types. Errors: pytorch.kineto.field, those of JSON.
Result<void> read_kineto_args(JsonValue& value, bool keep_dims, JsonStream& stream, StringPool& strings, Arena& texts,
                              KinetoArgs& args);

/// Read baseTimeNanoseconds, deviceProperties or distributedInfo; skip other members. Errors: pytorch.kineto.time,
/// pytorch.pair.rank.
Result<void> read_kineto_member(std::string_view key, simdjson::ondemand::document& document, const JsonStream& stream,
                                Profile& profile);

}  // namespace chakra::recording
