// chakra calibrate
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

Result<int> run_device(const job::CalibrateDeviceOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart(o.from, {o.output}, globals.json));
  CHAKRA_ASSIGN(const job::CalibratedDevice device, job::calibrate_device(o));
  CHAKRA_TRY(show(globals, device));
  return 0;
}

Result<int> run_network(const job::CalibrateNetworkOptions& o, const Globals& globals) {
  std::vector<std::string> inputs = o.fit.files;
  inputs.insert(inputs.end(), o.fit.judge.begin(), o.fit.judge.end());
  CHAKRA_TRY(keep_apart(inputs, {o.output}, globals.json));
  CHAKRA_ASSIGN(const calibrate::FittedNetwork fitted, job::calibrate_network(o));
  CHAKRA_TRY(show(globals, job::answer_of(fitted), job::text_of(fitted)));
  return 0;
}

Syntax device_syntax() { return syntax_of<job::CalibrateDeviceOptions>(run_device); }
Syntax network_syntax() { return syntax_of<job::CalibrateNetworkOptions>(run_network); }

}  // namespace

Syntax calibrate_syntax() {
  return {.below = {{"device", "Fit a device file to measured kernel times", device_syntax},
                    {"network", "Fit a network file to measured collectives", network_syntax}}};
}

}  // namespace chakra::cli
