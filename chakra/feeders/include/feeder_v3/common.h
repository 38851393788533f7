// Names and constants of FeederV3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "et_def.pb.h"

namespace Chakra::FeederV3 {

using NodeId = uint64_t;
using ETFeederId = uint64_t;
using ChakraNode = ChakraProtoMsg::Node;
using ChakraGlobalMetadata = ChakraProtoMsg::GlobalMetadata;
using ChakraAttr = ChakraProtoMsg::AttributeProto;

inline constexpr bool DEFAULT_STRICT_TYPING = false;
inline constexpr size_t DEFAULT_ETFEEDER_CACHE_SIZE = 1024;  ///< parsed nodes that a feeder caches
inline constexpr bool RESOLVE_DATA_DEPS = true;
inline constexpr bool RESOLVE_CTRL_DEPS = true;

}  // namespace Chakra::FeederV3
