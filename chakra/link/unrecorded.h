// Device work that was not recorded (rule U1): kernels inside CUDA graphs, for one, are missing in many recordings.
#pragma once

#include "chakra/link/linking.h"

namespace chakra::link {

/// Reads the records of device operations and calls, call_of_op and previous.
class UnrecordedWork {
 public:
  explicit UnrecordedWork(const Linking& l);

  /// Whether work that was not recorded ran before a device operation that everything known lets begin at
  /// `explained_ns`: the operation was queued, for its launch had ended when its stream became free, and yet it began
  /// more than kUnexplainedNs later. One whose launch is not recorded was queued if its launch came before the
  /// recording: correlations are given out as calls begin.
  bool precedes(uint32_t op, int64_t explained_ns) const;

  /// Finding: pytorch.device.unrecorded, from LinkingReport::unrecorded.
  static void report(Linking& l);

 private:
  const Linking& l_;
  int64_t first_correlation_ = -1;  ///< of the recorded calls
};

}  // namespace chakra::link
