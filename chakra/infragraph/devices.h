// The devices from which blueprints are built, as infragraph 3.1.0 wires them.
#pragma once

#include <span>

#include "chakra/infragraph/infragraph.h"

namespace chakra::infragraph {

inline constexpr double kGigabit = 1e9 / 8;  ///< bytes

/// "name[index]" and "name[first:end]".
std::string at(std::string_view name, int64_t index);
std::string at(std::string_view name, int64_t first, int64_t end);

/// A server of 2 * factor XPUs and as many NICs.
Device server(int64_t factor);
Device generic_switch(int64_t ports);

/// One device, as an infrastructure of one instance.
Infrastructure dgx_1(std::span<const int64_t> values, std::string& wrong);
Infrastructure dgx_2(std::span<const int64_t> values, std::string& wrong);
Infrastructure dgx_a100(std::span<const int64_t> values, std::string& wrong);
Infrastructure dgx_h100(std::span<const int64_t> values, std::string& wrong);
Infrastructure dgx_gb200(std::span<const int64_t> values, std::string& wrong);
Infrastructure mi300x(std::span<const int64_t> values, std::string& wrong);
Infrastructure one_server(std::span<const int64_t> values, std::string& wrong);
Infrastructure torus(std::span<const int64_t> values, std::string& wrong);

// fabrics.cpp
Infrastructure clos(std::span<const int64_t> values, std::string& wrong);
Infrastructure dragonfly(std::span<const int64_t> values, std::string& wrong);
Infrastructure fat_tree(std::span<const int64_t> values, std::string& wrong);
Infrastructure single_tier(std::span<const int64_t> values, std::string& wrong);

}  // namespace chakra::infragraph
