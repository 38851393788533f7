#include "chakra/feed/queues.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace chakra::feed {

using trace::NodeId;

Queues::Queues(const trace::Trace& trace, std::span<const Turn> turns)
    : trace_(&trace), lanes_(static_cast<uint32_t>(trace.lanes.size())), turns_(turns.begin(), turns.end()) {
  CHAKRA_ASSERT(turns.size() == trace.comms.size());
  queues_.resize(fixed());
  before_.assign(trace.size(), trace::kNoNode);
  absl::flat_hash_map<uint32_t, uint32_t> queue_of;  // group -> its queue
  for (const NodeId n : trace.nodes()) {
    if (trace.type[n] != trace::NodeType::coll || trace.lane[n] != trace::kNoLane) continue;
    Turn& turn = turns_[trace.comm_row[n]];
    if (turn.group == kNone) continue;
    const auto [found, added] = queue_of.emplace(turn.group, static_cast<uint32_t>(queues_.size()));
    if (added) queues_.emplace_back();
    turn.group = found->second;
    queues_[found->second].order.push_back(turn.index);
  }
  for (auto queue = queues_.begin() + fixed(); queue != queues_.end(); ++queue)
    std::sort(queue->order.begin(), queue->order.end());
}

std::string queue_name(const trace::Trace& trace, uint32_t queue) {
  constexpr std::array<std::string_view, 5> kOwn{"CPU", "compute", "memory", "sends", "receives"};
  if (queue >= trace.lanes.size()) return std::string(kOwn[queue - trace.lanes.size()]);
  const trace::Lane& lane = trace.lanes[queue];
  return lane.kind == trace::Lane::Kind::thread ? fmt::format("thread {}", lane.index)
                                                : fmt::format("device {} stream {}", lane.process, lane.index);
}

}  // namespace chakra::feed
