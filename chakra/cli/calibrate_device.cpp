// chakra calibrate device
#include <fmt/core.h>

#include <filesystem>

#include "chakra/calibrate/calibrate.h"
#include "chakra/cli/cli.h"
#include "chakra/io/io.h"

namespace chakra::cli {
namespace {

struct CalibrateDeviceOptions {
  calibrate::DeviceOptions call;
  std::vector<std::string> from;
  std::string output, json;
};

/// A trace or a folder of traces; all else is a table.
bool is_job(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const char* packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
  return name.ends_with(".et") || std::filesystem::is_directory(path);
}

Result<void> run_calibrate_device(const CalibrateDeviceOptions& o) {
  CHAKRA_TRY(keep_apart(o.from, {o.output}, o.json));
  calibrate::DeviceOptions call = o.call;
  for (const std::string& path : o.from) {
    if (!is_job(path)) {
      call.files.push_back(path);
      continue;
    }
    CHAKRA_ASSIGN(trace::TraceSet job, io::read_job(path));
    for (trace::Trace& trace : job.ranks) call.traces.push_back(std::move(trace));
  }
  CHAKRA_ASSIGN(const calibrate::FittedDevice fitted, calibrate::fit_device(call));
  CHAKRA_TRY(write_file(o.output, calibrate::to_device_file(fitted.device)));
  const result::Table kernels = calibrate::kernel_table(fitted);
  if (!o.json.empty()) CHAKRA_TRY(write_json(calibrate::to_json(fitted), o.json));
  if (o.json == "-") return {};
  result::Report report;
  report.parts.emplace_back(fmt::format("{}: {}\n", o.output, fitted.device.name));
  report.parts.emplace_back(result::first_rows(kernels, kernels.rows.size(), "kernels"));
  report.parts.emplace_back(result::Report::Found{fitted.findings, false});
  print(to_text(report));
  return {};
}

}  // namespace

Syntax calibrate_device_syntax() {
  auto o = std::make_shared<CalibrateDeviceOptions>();
  return {.options = {required({"--from", &o->from,
                                "Measured kernels: tables in CSV of our own form, of aiconfigurator, Vidur, NeuSight "
                                "or Liger-Kernel, also packed; or linked traces (.et) and folders of them",
                                "PATH"}),
                      required({"-o,--output", &o->output, "The device file to write", "FILE"}),
                      {"--device", &o->call.device,
                       "The device that was measured: a name of 'chakra list devices', or a device file; without it, "
                       "what the tables say",
                       "NAME|FILE"},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_calibrate_device(*o); })};
}

}  // namespace chakra::cli
