#include "chakra/sim/fold.h"

#include <limits>
#include <numeric>

#include "chakra/sim/equal_costs.h"
#include "chakra/sim/equal_links.h"
#include "chakra/sim/run_size.h"
#include "chakra/sim/ties.h"

namespace chakra::sim {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kWorthFolding = 0.7;  ///< of the nodes of all ranks, on shared links
constexpr double kWorthLate = 2;       ///< times fewer nodes for which groups start late

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

struct Partition {
  std::vector<uint32_t> colors;
  std::optional<uint32_t> exact_members = {};
  std::optional<LinkClasses> links = {};
};

/// The exact partition, unless it is too large: then the one with the largest exact groups that is not, else that with
/// the fewest nodes.
Partition partition(const trace::ClassJob& job, Ties& ties, const Storage& storage, const device::System& system,
                    Prices& prices, const net::Fabric& fabric, double exact_nodes) {
  const auto mates = node_mates(job, storage, system);
  const auto colors = [&](double most) { return refine(job, ties, mates, system, prices, fabric, most, nullptr); };
  const auto nodes = [&](const std::vector<uint32_t>& of) { return size_of_run(job, of).nodes; };
  std::vector<uint32_t> exact = colors(exact_nodes);
  if (nodes(exact) <= exact_nodes) return {std::move(exact), {}};
  std::vector<uint32_t> late;
  for (const uint32_t size : start_late(job, ties, 1)) {
    start_late(job, ties, size - 1);
    late = colors(exact_nodes);
    if (nodes(late) <= exact_nodes) return {std::move(late), size - 1};
  }
  if (!late.empty()) late = colors(kNoLimit);
  start_late(job, ties, UINT32_MAX);
  exact = colors(kNoLimit);
  if (late.empty() || nodes(late) * kWorthLate > nodes(exact)) return {std::move(exact), {}};
  start_late(job, ties, 1);
  return {std::move(late), 1};
}

/// Every rank for itself.
Partition all_ranks(const trace::ClassJob& job) {
  Partition out;
  out.colors.resize(job.ranks.size());
  std::iota(out.colors.begin(), out.colors.end(), uint32_t{0});
  return out;
}

/// The exact partition where transfers share links, unless it saves too little.
Partition partition_on_links(const trace::ClassJob& job, const Ties& ties, const Storage& storage,
                             const device::System& system, Prices& prices, const net::Fabric& fabric) {
  Partition whole = all_ranks(job);
  EqualLinks links(job, ties, prices, fabric);
  if (!links.usable()) return whole;
  const double most = size_of_run(job, whole.colors).rank_nodes * kWorthFolding;
  Partition out;
  out.colors = refine(job, ties, node_mates(job, storage, system), system, prices, fabric, most, &links);
  if (size_of_run(job, out.colors).nodes > most) return whole;
  out.links = links.classes();
  return out;
}

}  // namespace

Result<Folded> fold(trace::ClassJob&& job, const match::GroupTable& table, const device::System& system,
                    const Storage& storage, Prices& prices, const net::Fabric& fabric, const FoldLimits& limits) {
  assert_whole(job);
  Ties ties = find_ties(job, table, prices);
  if (!limits.whole) find_equal_costs(job, ties, prices);
  Partition to = limits.whole ? all_ranks(job)
                 : limits.shared
                     ? partition_on_links(job, ties, storage, system, prices, fabric)
                     : partition(job, ties, storage, system, prices, fabric, static_cast<double>(limits.exact_nodes));
  RunSize size = size_of_run(job, to.colors);
  size.bounded = to.exact_members.has_value();
  const double share = size.rank_nodes > 0 ? size.nodes / size.rank_nodes : 1;
  Folded folded;
  folded.share = share;
  if (share > limits.most_share) return folded;
  CHAKRA_TRY(check_memory(size, limits.memory, job, system, limits.whole));
  folded = make_actors(std::move(job), ties, std::move(to.colors));
  folded.share = share;
  folded.exact_members = to.exact_members;
  folded.links = std::move(to.links);
  return folded;
}

}  // namespace chakra::sim
