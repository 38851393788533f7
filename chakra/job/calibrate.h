// Devices and networks from measured times: what `chakra calibrate` does, as calls.
#pragma once

#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/calibrate/calibrate.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct CalibrateDeviceOptions {
  std::vector<std::string> from;  ///< tables of measured kernels; linked traces and folders of them
  std::string output;             ///< the device file
  std::string device;             ///< a name or a device file; "": the one that the tables name
};
options::Options rows_of(CalibrateDeviceOptions& options);

struct CalibratedDevice {
  std::string output;
  calibrate::FittedDevice fitted;
};
/// Fits and writes the file. Errors: those of reading and calibrate::fit_device; base.file.*.
Result<CalibratedDevice> calibrate_device(const CalibrateDeviceOptions& options);
view::Text text_of(const CalibratedDevice& device);
/// Shares where people read percents, null where a kernel is not judged.
answer::Answer answer_of(const CalibratedDevice& device);

struct CalibrateNetworkOptions {
  calibrate::NetworkOptions fit;
  std::string output;  ///< the network file
};
options::Options rows_of(CalibrateNetworkOptions& options);

/// Fits and writes the file. Errors: those of calibrate::fit_network; base.file.*.
Result<calibrate::FittedNetwork> calibrate_network(const CalibrateNetworkOptions& options);
answer::Answer answer_of(const calibrate::FittedNetwork& fitted);
view::Text text_of(const calibrate::FittedNetwork& fitted);

}  // namespace chakra::job
