// Streams that wait for operations of other streams through events (docs/explanation/linking.md, "Waits").
#pragma once

#include <absl/container/flat_hash_map.h>

#include <vector>

#include "chakra/link/launch_order.h"

namespace chakra::link {

/// The runtime calls by kind, and the synchronisation records that belong to them.
struct CallIndex {
  std::vector<CallKind> kinds;                              ///< per RuntimeCall
  absl::flat_hash_map<int64_t, const SyncRecord*> sync_of;  ///< by correlation of the call
};

/// Fills Waits::events.
class StreamWaits {
 public:
  StreamWaits(Linking& l, const CallIndex& calls, LaunchOrder& order)
      : l_(l), p_(l.profile()), calls_(calls), order_(order) {}

  /// Find the waits of streams named by cuda_sync records, in the order of the requests. Call before all others.
  void find_recorded();
  /// Process a call that makes a stream wait, where no record names the streams.
  void look_at(uint32_t call);
  /// Order a graph's operations, whose waits are not recorded. If the stream does not explain a start,
  /// the operation waited for the operation of another stream that ended last before the start.
  void order_graph(const CallRole& role);
  /// Sort the waits and remove duplicates, after all have been found.
  void finish();

 private:
  const SyncRecord* stream_wait_of(uint32_t call) const;
  uint32_t last_compute_launch(uint32_t thread, int64_t time) const;
  uint32_t enclosing_comm_op(uint32_t call) const;
  uint32_t stream_of(uint32_t op) const { return p_.device_ops[op].lane; }
  int64_t end_of(uint32_t op) const { return p_.device_ops[op].end_ns(); }

  Linking& l_;
  const Profile& p_;
  const CallIndex& calls_;
  LaunchOrder& order_;
};

}  // namespace chakra::link
