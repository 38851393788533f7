#include "chakra/sim/engine/queues.h"

#include <algorithm>

namespace chakra::sim {

using trace::NodeId;

Queues::Queues(const ActorJob& job, uint32_t actor) : job_(&job), actor_(actor) {
  const trace::Trace& t = job.trace(actor);
  lanes_ = static_cast<uint32_t>(t.lanes.size());
  queues_.resize(fixed());
  before_.assign(t.size(), trace::kNoNode);
  std::vector<uint32_t> collectives;  // without a lane; in the order of the matching their indices ascend in a group
  for (NodeId n = 0; n < t.size(); ++n)
    if (t.type[n] == trace::NodeType::coll && t.lane[n] == trace::kNoLane && job.match_of(actor, n) != trace::kNoRow)
      collectives.push_back(job.match_of(actor, n));
  std::sort(collectives.begin(), collectives.end());
  for (const uint32_t id : collectives) {
    const match::Collective& c = job.matching.collectives[id];
    const auto [found, added] = group_queues_.emplace(c.group, static_cast<uint32_t>(queues_.size()));
    if (added) queues_.emplace_back();
    queues_[found->second].order.push_back(c.index);
  }
}

}  // namespace chakra::sim
