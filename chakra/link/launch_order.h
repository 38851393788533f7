// The pending work of each stream at any time: the launched operations, and the waits since (rules W1 to W3).
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

  /// Return the launches per stream, by time.
  const std::vector<Launch>& launches(uint32_t stream) const { return launched_[stream]; }
  /// Return the last operation launched on a stream before `time`, or first after `time`; or kNone.
  uint32_t last_before(size_t stream, int64_t time) const;
  uint32_t first_after(size_t stream, int64_t time) const;
  /// Return the thread's last launching call before, or first after, `time`; or kNone.
  uint32_t launch_before(uint32_t thread, int64_t time) const;
  uint32_t launch_after(uint32_t thread, int64_t time) const;
  /// Return the last device operation of a launching call, and its stream.
  uint32_t op_of(uint32_t call) const { return l_.device.op_order[l_.waits.roles[call].last_op - 1]; }
  uint32_t stream_of(uint32_t op) const { return p_.device_ops[op].lane; }

  /// Return a stream by number, unique per device; records without a device mean the only device. kNone: unknown.
  uint32_t stream_numbered(int64_t device, int64_t number) const;

  /// Return the work of a stream before `time`: the last operation launched on the stream, and the waits since then.
  std::vector<uint32_t> all_before(size_t stream, int64_t time) const;
  /// Return the work of the stream before the event named by a cuda_sync record. Correlations are assigned
  /// as calls begin, so the correlations also give the position of an unrecorded cudaEventRecord.
  std::vector<uint32_t> recorded_before(const SyncRecord& sync) const;
  /// Note that a call made a stream wait for `ops`, until the stream gets an operation. Call in the order of starts.
  void note_wait(uint32_t stream, const RuntimeCall& call, std::vector<uint32_t> ops);

 private:
  /// The waits of a stream since a call at this time, until the stream gets an operation.
  struct Pending {
    int64_t at, correlation;
    std::vector<uint32_t> ops;  ///< at most one of each stream, including pending waits of earlier calls
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
