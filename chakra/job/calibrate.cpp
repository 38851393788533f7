#include "chakra/job/calibrate.h"

#include <fmt/core.h>

#include <filesystem>

#include "chakra/io/io.h"

namespace chakra::job {
namespace {

/// A trace or a folder of traces; all else is a table.
bool is_job(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const char* packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
  return name.ends_with(".et") || std::filesystem::is_directory(path);
}

}  // namespace

Result<calibrate::FittedDevice> calibrate_device(const CalibrateDeviceOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  calibrate::DeviceOptions call{{}, o.device, {}};
  for (const std::string& path : o.from) {
    if (!is_job(path)) {
      call.files.push_back(path);
      continue;
    }
    CHAKRA_ASSIGN(trace::TraceSet job, io::read_job(path));
    for (trace::Trace& trace : job.ranks) call.traces.push_back(std::move(trace));
  }
  CHAKRA_ASSIGN(calibrate::FittedDevice fitted, calibrate::fit_device(call));
  CHAKRA_TRY(write_file(o.output, calibrate::to_device_file(fitted.device)));
  fitted.output = o.output;
  return fitted;
}

Result<calibrate::FittedNetwork> calibrate_network(const CalibrateNetworkOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(calibrate::FittedNetwork fitted, calibrate::fit_network(o.fit));
  CHAKRA_TRY(write_file(o.output, fitted.text));
  return fitted;
}

}  // namespace chakra::job
