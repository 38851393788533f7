// chakra calibrate device
#include <fmt/core.h>

#include "chakra/calibrate/calibrate.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

struct CalibrateDeviceOptions {
  calibrate::DeviceOptions call;
  std::string output, json;
};

Result<void> run_calibrate_device(const CalibrateDeviceOptions& o) {
  CHAKRA_TRY(keep_apart(o.call.files, {o.output}, o.json));
  CHAKRA_ASSIGN(const calibrate::FittedDevice fitted, calibrate::fit_device(o.call));
  CHAKRA_TRY(write_file(o.output, calibrate::to_device_file(fitted.device)));
  const table::Table kernels = calibrate::kernel_table(fitted);
  if (!o.json.empty()) CHAKRA_TRY(write_json(calibrate::to_json(fitted), o.json));
  if (o.json == "-") return {};
  table::Report report;
  report.parts.emplace_back(fmt::format("{}: {}\n", o.output, fitted.device.name));
  report.parts.emplace_back(table::first_rows(kernels, kernels.rows.size(), "kernels"));
  report.parts.emplace_back(table::Report::Found{fitted.findings, false});
  print(to_text(report));
  return {};
}

}  // namespace

Syntax calibrate_device_syntax() {
  auto o = std::make_shared<CalibrateDeviceOptions>();
  return {.options = {{.names = "--from",
                       .target = &o->call.files,
                       .help = "Tables of measured kernels: CSV of our own form, of aiconfigurator or of Vidur; also "
                               "packed",
                       .value = "FILE",
                       .required = true},
                      {.names = "-o,--output",
                       .target = &o->output,
                       .help = "The device file to write",
                       .value = "FILE",
                       .required = true},
                      {.names = "--device",
                       .target = &o->call.device,
                       .help = "The device that was measured: a name of 'chakra list devices', or a device file; "
                               "without it, what the tables say",
                       .value = "NAME|FILE"},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_calibrate_device(*o); })};
}

}  // namespace chakra::cli
