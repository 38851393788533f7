// The trace of one device of a profile, run after run. Inside the room.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <vector>

#include "chakra/xla/executions.h"
#include "chakra/xla/nodes.h"
#include "chakra/xla/waits.h"

namespace chakra::xla {

using Events = std::vector<const Profile::Event*>;

class DeviceLinker {
 public:
  /// `groups`: of the job, numbers by members.
  DeviceLinker(int64_t rank, const Profile& profile, std::map<std::vector<int64_t>, uint32_t>& groups);

  trace::Builder& builder() { return builder_; }

  /// Add the nodes of a run. Runs come in the order of their starts. Errors: xla.devices.other, those of unroll.
  Result<void> add(Executed& executed, int64_t run, const Events& events);
  /// Add events without a program, by their starts.
  void add_other(const Events& events);

  LinkedDevice finish() &&;

 private:
  Result<int64_t> logical_device(const Program& program) const;
  Device device(const Executed& executed, int64_t logical, int64_t run);
  trace::NodeId add_time_before(Picoseconds start);
  trace::NodeId add_host_node(std::string_view name, int64_t thread, Picoseconds start, Picoseconds end);
  void add_calls(const Events& events, trace::NodeId before);
  void wait_for_start(trace::NodeId node, const Profile::Event& event, trace::NodeId before, bool waits);
  Picoseconds start_of(const Events& events) const;
  /// Events of a TPU that have begun, each around the next.
  struct Nest {
    struct Open {
      const Profile::Event* event = nullptr;
      trace::NodeId node = trace::kNoNode;
      bool divided = false;  ///< the node has its time: pieces follow
    };
    std::vector<Open> open;
    Picoseconds cursor = 0;  ///< until where the innermost one has nodes
  };
  void add_other(const Events& events, trace::NodeId before);
  void leave(Nest& nest, const Profile::Event* next);
  trace::NodeId add_piece(const Profile::Event& event, Picoseconds start, Picoseconds end, trace::NodeId whole);
  void wait(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind);
  void set_time(trace::NodeId node, Picoseconds start, Picoseconds end);
  void set_times(const Executed& executed, const Unrolled& unrolled, const Executions& executions,
                 const Occurrences& run, const NodeWriter& writer);
  void put_on_line(trace::NodeId node, const Profile::Event& event, bool piece = false);
  void keep_last(const Unrolled& unrolled, const NodeWriter& writer);
  bool is_cpu() const { return profile_.kind == Profile::Kind::cpu; }

  int64_t rank_;
  const Profile& profile_;
  std::map<std::vector<int64_t>, uint32_t>& groups_;
  std::map<std::vector<int64_t>, uint32_t> used_;  ///< of groups_, by this device
  std::map<StringId, int64_t> sequence_;           ///< by group: the number of the next collective
  trace::Builder builder_;
  absl::flat_hash_map<uint32_t, int64_t> threads_;  ///< of a CPU, by line: in the order of their use
  Waits waits_;
  /// The host that starts runs, and events of GPUs.
  struct Host {
    struct Thread {
      trace::NodeId last = trace::kNoNode;  ///< call
      Picoseconds end = 0;
    };
    std::map<int64_t, Thread> threads;                          ///< with calls
    absl::flat_hash_map<uint32_t, trace::NodeId> node_of;       ///< by Profile::calls
    std::vector<std::pair<Picoseconds, trace::NodeId>> begins;  ///< of runs: the time before
    bool follows = false;                                       ///< the run comes behind all earlier ones
  } host_;
  std::vector<trace::NodeId> last_;  ///< of runs since the last gap: nodes that no other node waits for
  Picoseconds end_ = 0;              ///< of all runs so far
  int64_t events_ = 0;
};

}  // namespace chakra::xla
