#include "chakra/cli/no_effect.h"

#include <fmt/format.h>

namespace chakra::cli {

Finding no_effect(std::string_view option, std::string_view why) {
  return {"sim.option.no_effect", Severity::warning, -1, -1, fmt::format("{} has no effect: {}", option, why)};
}

}  // namespace chakra::cli
