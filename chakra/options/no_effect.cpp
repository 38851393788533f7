// Findings about options without effect.
#include <fmt/core.h>

#include "chakra/options/options.h"

namespace chakra::options {
namespace {

Finding finding(std::string_view option, std::string_view how, std::string_view why) {
  return {"sim.option.no_effect", Severity::warning, -1, -1, fmt::format("{} {}: {}", option, how, why)};
}

}  // namespace

Finding no_effect(std::string_view option, std::string_view why) { return finding(option, "has no effect", why); }
Finding partial_effect(std::string_view option, std::string_view why) {
  return finding(option, "has no effect on a part", why);
}

}  // namespace chakra::options
