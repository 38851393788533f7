// The metadata of a rank as numbers that differ from the numbers of its master: ranks of groups, sizes, places.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chakra::pack {

/// Return the differences of `own` from `master`, both messages; none if more than numbers differs.
std::optional<std::string> number_differences(std::string_view own, std::string_view master);
/// Return the message that has these differences from `master`; none if they do not fit.
std::optional<std::string> with_differences(std::string_view master, std::string_view differences);

}  // namespace chakra::pack
