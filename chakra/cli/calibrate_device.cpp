// chakra calibrate device
#include "chakra/calibrate/calibrate.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

struct CalibrateDeviceOptions {
  calibrate::DeviceOptions call;
  std::string output, json;
};

Result<void> run_calibrate_device(const CalibrateDeviceOptions& o) {
  CHAKRA_ASSIGN(const calibrate::FittedDevice fitted, calibrate::fit_device(o.call));
  print(fitted.device.name + "\n");
  return {};
}

}  // namespace

Syntax calibrate_device_syntax() {
  auto o = std::make_shared<CalibrateDeviceOptions>();
  return {.options = {{.names = "--from",
                       .target = &o->call.files,
                       .help = "Tables of measured kernels (CSV, also packed)",
                       .value = "FILE",
                       .required = true},
                      {.names = "-o,--output",
                       .target = &o->output,
                       .help = "The device file to write",
                       .value = "FILE",
                       .required = true},
                      {.names = "--device",
                       .target = &o->call.device,
                       .help = "The device that was measured: a name of 'chakra list devices', or a device file",
                       .value = "NAME|FILE"},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_calibrate_device(*o); })};
}

}  // namespace chakra::cli
