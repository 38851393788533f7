// Log of the messages that a rank received: to compare emulated traffic with a simulation or a switch's counters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {

/// Return nanoseconds since 1970.
int64_t now_ns();

class FlowLog {
 public:
  /// An empty `name` disables the log.
  FlowLog(std::string name, int64_t rank) : name_(std::move(name)), rank_(rank) {}

  void add(const replay::Operation& operation, uint32_t round, int64_t source, uint64_t bytes, int64_t first_ns);
  /// Write NAME.RANK.csv. Errors: those of write_file.
  Result<void> write() const;

 private:
  std::string name_;
  int64_t rank_;
  std::string rows_;
};

}  // namespace chakra::replay_fabric
