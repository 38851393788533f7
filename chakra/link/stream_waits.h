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

  /// The waits of streams that cuda_sync records name, as they were asked for. Before all others.
  void find_recorded();
  /// A call that makes a stream wait, where no record says which stream waits for what.
  void look_at(uint32_t call);
  /// What a graph's operations wait for is not recorded. Where its own stream does not explain a start, it
  /// was the operation of another stream that ended last before it.
  void order_graph(const CallRole& role);
  /// When all are found: sorted, each once.
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
