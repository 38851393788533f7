// chakra calibrate
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

template <class Options>
Syntax calibrate_with() {
  return syntax_of<Options>(
      [](Options& o) { return rows_of(o, {}); },
      [](const Options& o, const Globals& globals) { return show(globals, calibrate(o, globals.control())); });
}

}  // namespace

Syntax calibrate_syntax() {
  return {
      .below = {{"device", "Fit a device file to measured kernel times", calibrate_with<CalibrateDeviceOptions>},
                {"network", "Fit a network file to measured collectives", calibrate_with<CalibrateNetworkOptions>}}};
}

}  // namespace chakra::cli
