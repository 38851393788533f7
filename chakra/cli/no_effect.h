// Options that changed nothing, or only a part: the result says so.
#pragma once

#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::cli {

/// sim.option.no_effect, a warning: "--align-starts has no effect: the traces have no recorded starts".
Finding no_effect(std::string_view option, std::string_view why);

}  // namespace chakra::cli
