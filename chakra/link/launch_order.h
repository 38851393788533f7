// What each stream had to do at any time: the operations launched on it, and what it waits for since (rules W1 to W3).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <utility>
#include <vector>

#include "chakra/base/row_map.h"
#include "chakra/link/linking.h"

namespace chakra::link {

/// Reads the records and the parts threads, launches and streams. Searches cost O(log operations).
class LaunchOrder {
 public:
  struct Launch {
    int64_t at;
    uint32_t op;
  };

  explicit LaunchOrder(const Linking& l);

  /// Per stream, by the time of the launch.
  const std::vector<Launch>& launches(uint32_t stream) const { return launched_[stream]; }
  /// The last operation launched on a stream before `time`, or first after it; or kNone.
  uint32_t last_before(size_t stream, int64_t time) const;
  uint32_t first_after(size_t stream, int64_t time) const;
  /// The thread's last launching call before, or first after, `time`; or kNone.
  uint32_t launch_before(uint32_t thread, int64_t time) const;
  uint32_t launch_after(uint32_t thread, int64_t time) const;
  /// The last device operation of a launching call, and its stream.
  uint32_t op_of(uint32_t call) const { return l_.device.op_order[l_.waits.roles[call].last_op - 1]; }
  uint32_t stream_of(uint32_t op) const { return p_.device_ops[op].lane; }

  /// A stream's number is unique on its device only; records that do not say theirs mean the only one. kNone: unknown.
  uint32_t stream_numbered(int64_t device, int64_t number) const;

  /// What a stream had to do before `time`: the last operation launched on it, and what it waits for since.
  std::vector<uint32_t> all_before(size_t stream, int64_t time) const;
  /// What the stream had to do before the event that a cuda_sync record names. Correlations are given
  /// out as calls begin, so they also order what an unrecorded cudaEventRecord stood between.
  std::vector<uint32_t> recorded_before(const SyncRecord& sync) const;
  /// A call made a stream wait for `ops`, until it gets an operation itself. Calls come in the order of their starts.
  void note_wait(uint32_t stream, const RuntimeCall& call, std::vector<uint32_t> ops);

 private:
  /// What a stream waits for since a call at this time, until it gets an operation itself.
  struct Pending {
    int64_t at, correlation;
    std::vector<uint32_t> ops;  ///< at most one of each stream, with those of calls before that are pending, too
  };

  void sort_launches();
  bool add_stream(int64_t device, int64_t number, uint32_t stream);
  static std::vector<uint32_t> with_pending(uint32_t op, const Pending* pending);
  void unite(std::vector<uint32_t>& ops, const std::vector<uint32_t>& more) const;
  uint32_t source_stream(const SyncRecord& sync) const;

  const Linking& l_;
  const Profile& p_;
  RowMap call_of_;                                                      ///< by correlation, the first call
  absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t> streams_;  ///< by device (-1: any) and number
  std::vector<std::vector<Launch>> launched_;                           ///< per stream
  std::vector<std::vector<Pending>> pending_;                           ///< per stream, by time
  std::vector<std::vector<uint32_t>> by_correlation_;                   ///< per stream
};

}  // namespace chakra::link
