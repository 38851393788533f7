// The trace of one device of a profile, run after run. Inside the room.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/xla/nodes.h"
#include "chakra/xla/profile.h"

namespace chakra::xla {

/// A program with executions. Does not move: others refer to its parts.
struct Executed {
  explicit Executed(Program of);
  Executed(const Executed&) = delete;
  Executed& operator=(const Executed&) = delete;

  Program program;
  ProgramWork work;
  Communication communication;
  absl::flat_hash_map<std::string_view, uint32_t> number_of;  ///< instructions by name, over all computations
  int64_t tags = 0;                                           ///< the first tag of its messages
  ProgramReport report;
  uint64_t cut_runs = 0, unplaced = 0;
};

class DeviceLinker {
 public:
  /// `groups`: of the job, numbers by members.
  DeviceLinker(int64_t rank, int64_t process, std::map<std::vector<int64_t>, uint32_t>& groups);

  trace::Builder& builder() { return builder_; }

  /// Add the nodes of a run. Runs come in the order of their starts. Errors: xla.devices.other, those of unroll.
  Result<void> add(Executed& executed, int64_t run, const std::vector<const Profile::Event*>& events);

  LinkedDevice finish() &&;

 private:
  Result<int64_t> logical_device(const Program& program) const;
  Device device(const Executed& executed, int64_t logical, int64_t run);
  trace::NodeId add_time_before(Picoseconds start);
  void set_time(trace::NodeId node, Picoseconds start, Picoseconds end);
  void set_times(const Unrolled& unrolled, const Occurrences& run, const NodeWriter& writer);
  void put_on_thread(trace::NodeId node, uint32_t line);
  void keep_last(const Unrolled& unrolled, const NodeWriter& writer);

  int64_t rank_, process_;
  std::map<std::vector<int64_t>, uint32_t>& groups_;
  std::map<std::vector<int64_t>, uint32_t> used_;  ///< of groups_, by this device
  std::map<StringId, int64_t> sequence_;           ///< by group: the number of the next collective
  trace::Builder builder_;
  absl::flat_hash_map<uint32_t, int64_t> threads_;  ///< by line: in the order of their use
  std::vector<trace::NodeId> last_;                 ///< of runs since the last gap: nodes that no other node waits for
  Picoseconds end_ = 0;                             ///< of all runs so far
  int64_t events_ = 0;
};

}  // namespace chakra::xla
