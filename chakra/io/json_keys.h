// The keys of the JSON forms.
#pragma once

#include <cstdint>

#include "chakra/base/base.h"
#include "chakra/base/text_map.h"

namespace chakra::io {

/// The names of JSON, and the names of protobuf, which protobuf's readers also accept.
enum class Key : uint8_t {
  id,
  name,
  type,
  ctrl_deps,
  data_deps,
  start,
  duration,
  inputs,
  outputs,
  attr,
  unknown_fields,
  version,
  doc,
  values,
  shapes,
  types,
  trace,
  nodes,
  metadata,
  member  ///< of the oneof
};
struct KeyRow {
  Key key;
  uint32_t field = 0;  ///< of a member
};
const TextMap<KeyRow>& json_keys();

}  // namespace chakra::io
