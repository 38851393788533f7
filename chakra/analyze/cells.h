// Cell contents that the tables of analyses share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

inline double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
inline double share(Picoseconds part, Picoseconds whole) {
  return share(static_cast<double>(part), static_cast<double>(whole));
}
inline int64_t cell(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }

inline std::string comm_name(trace::NodeType node, trace::CommType type) {
  return node == trace::NodeType::send   ? "SEND"
         : node == trace::NodeType::recv ? "RECV"
                                         : std::string(trace::name(type));
}
inline std::string group_name(std::string_view group) { return group.empty() ? "all" : std::string(group); }

}  // namespace chakra::analyze
