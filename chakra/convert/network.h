// Network files in another form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::convert {

/// The forms of networks that convert writes: "infragraph", and "network" (devices and links).
bool is_network_form(std::string_view form);
/// Write a network file in another form, and return the number of ranks.
/// Errors: those of net::load_fabric and net::to_infragraph_file, base.file.*.
Result<int64_t> convert_network(const std::string& input, const std::string& form, const std::string& output,
                                Findings& findings);

}  // namespace chakra::convert
