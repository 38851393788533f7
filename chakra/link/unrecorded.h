// Unrecorded device work (rule U1): kernels inside CUDA graphs, for example, are missing in many recordings.
#pragma once

#include "chakra/link/linking.h"

namespace chakra::link {

/// Reads the records of device operations and calls, call_of_op and previous.
class UnrecordedWork {
 public:
  explicit UnrecordedWork(const Linking& l);

  /// Whether unrecorded work ran before a device operation that, by all known causes, could begin at
  /// `explained_ns`: the operation was queued, since its launch had ended when its stream became free,
  /// and yet began more than kUnexplainedNs later. An operation without a recorded launch was queued
  /// if launched before the recording: correlations are assigned as calls begin.
  bool precedes(uint32_t op, int64_t explained_ns) const;

  /// Report pytorch.device.unrecorded, from LinkingReport::unrecorded.
  static void report(Linking& l);

 private:
  const Linking& l_;
  int64_t first_correlation_ = -1;  ///< of the recorded calls
};

}  // namespace chakra::link
