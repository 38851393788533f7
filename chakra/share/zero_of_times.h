// The new zero of the times of a shared job, so that no date is shared. Inside share.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "chakra/io/io.h"
#include "chakra/trace/trace.h"

namespace chakra::share {

/// Return the zero by the first node with a start, in nanoseconds since 1970; 0 for a trace without times.
int64_t zero_of(const trace::Trace& trace);

/// The zero of a job by ranks: that of the first rank with times. Ranks without times do not need the zero, so that no
/// file is searched for them.
class ZeroOfTimes {
 public:
  /// `files` must outlive this object.
  explicit ZeroOfTimes(const std::vector<io::RankFile>& files) : files_(files) {}
  /// Return the zero for a rank. Can be called by several threads. Errors: those of io::open_records.
  Result<int64_t> operator()(const trace::Trace& trace);

 private:
  const std::vector<io::RankFile>& files_;
  size_t next_ = 0;
  int64_t zero_ns_ = 0;
  std::mutex mutex_;
};

}  // namespace chakra::share
