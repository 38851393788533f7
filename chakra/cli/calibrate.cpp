// chakra calibrate
#include "chakra/cli/cli.h"

namespace chakra::cli {

Syntax calibrate_syntax() {
  return {.below = {{"device", "Fit a device file to measured kernel times", calibrate_device_syntax},
                    {"network", "Fit a network file to measured collectives", calibrate_network_syntax}}};
}

}  // namespace chakra::cli
