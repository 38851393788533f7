// The metadata of a rank as numbers that differ from the numbers of its master: ranks of groups, sizes, places.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chakra::pack {

/// Return the differences between two messages; std::nullopt if the messages differ in more than numbers.
std::optional<std::string> number_differences(std::string_view own, std::string_view master);
/// Return the message with these differences from `master`; std::nullopt if the differences do not fit the master.
std::optional<std::string> with_differences(std::string_view master, std::string_view differences);

}  // namespace chakra::pack
