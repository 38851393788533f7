#include "chakra/sim/fold.h"

#include <numeric>

#include "chakra/sim/run_size.h"
#include "chakra/sim/ties.h"

namespace chakra::sim {
namespace {

void assert_whole(const trace::ClassJob& job) {
  CHAKRA_ASSERT(job.group_slots.size() == job.classes.size());
  CHAKRA_ASSERT(job.peer_slots.size() == job.classes.size());
  int64_t before = INT64_MIN;
  for (const trace::ClassJob::Rank& r : job.ranks) {
    CHAKRA_ASSERT(r.rank > before);
    CHAKRA_ASSERT(r.cls < job.classes.size());
    CHAKRA_ASSERT(r.first_group + job.group_slots[r.cls].size() <= job.group_of.size());
    CHAKRA_ASSERT(r.first_peer + size_t{job.peer_slots[r.cls]} <= job.peer_of.size());
    before = r.rank;
  }
}

}  // namespace

Result<Folded> fold(trace::ClassJob&& job, const match::GroupTable& table, const device::System& system,
                    const Storage& storage, Prices& prices, const net::Fabric& fabric, const FoldLimits& limits) {
  assert_whole(job);
  const Ties ties = find_ties(job, table, prices);
  std::vector<uint32_t> colors(job.ranks.size());
  if (limits.whole) std::iota(colors.begin(), colors.end(), uint32_t{0});
  else colors = refine(job, ties, node_mates(job, storage, system), system, prices, fabric);
  CHAKRA_TRY(check_memory(size_of_run(job, colors), limits.memory, job, system, limits.whole));
  return make_actors(std::move(job), ties, std::move(colors));
}

}  // namespace chakra::sim
