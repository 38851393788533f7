// The processes and the communicators in a profiler's database, which may hold all processes of a machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::recording {

/// Which process of a recording to read, and the groups of its job. `process` -1: the only one.
struct ProcessChoice {
  int64_t process = -1;
  std::vector<trace::ProcessGroup> groups;
};

/// A communicator as one process sees it.
struct SeenCommunicator {
  int64_t size = -1, place = -1;  ///< -1: its creation is not recorded
};

struct ExportSurvey {
  struct Process {
    int64_t device = -1;                                    ///< the lowest that it used
    std::map<std::string, SeenCommunicator> communicators;  ///< by name
  };
  std::map<int64_t, Process> processes;  ///< by process id: those that used a device, or a communicator

  /// Return the number of processes that used a device.
  int64_t ranks() const {
    return std::count_if(processes.begin(), processes.end(), [](const auto& one) { return one.second.device >= 0; });
  }
  void use_device(int64_t process, int64_t device) {
    int64_t& lowest = processes[process].device;
    lowest = lowest < 0 ? device : std::min(lowest, device);
  }
  void use_communicator(int64_t process, const std::string& name, int64_t size, int64_t place) {
    SeenCommunicator& seen = processes[process].communicators[name];
    if (size > 0 && place >= 0 && place < size) seen = {size, place};
  }
};

}  // namespace chakra::recording
