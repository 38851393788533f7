// `chakra calibrate` as calls: fit devices and networks to measured times.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/calibrate/calibrate.h"
#include "chakra/options/options.h"

namespace chakra::job {

struct CalibrateDeviceOptions {
  std::vector<std::string> from;  ///< tables of measured kernels; linked traces and folders of traces
  std::string output;             ///< the device file
  std::string device;             ///< a name or a device file; "": the device named in the tables
};
options::Options rows_of(CalibrateDeviceOptions& options);

/// Fit and write the file. Errors: as for reading and calibrate::fit_device; base.file.*.
Result<calibrate::FittedDevice> calibrate_device(const CalibrateDeviceOptions& options);

struct CalibrateNetworkOptions {
  calibrate::NetworkOptions fit;
  std::string output;  ///< the network file
};
options::Options rows_of(CalibrateNetworkOptions& options);

/// Fit and write the file. Errors: as for calibrate::fit_network; base.file.*.
Result<calibrate::FittedNetwork> calibrate_network(const CalibrateNetworkOptions& options);

}  // namespace chakra::job
