#include "chakra/sim/equal_links.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "chakra/sim/alone.h"

namespace chakra::sim {
namespace {

using trace::ClassJob;
using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kMostListed = size_t{1} << 24;

/// A sum of hashes, which does not depend on the order. Different multisets have equal sums only by chance, as
/// different values have equal hashes of 64 bits.
struct Sum {
  uint64_t a = 0, b = 0;

  void add(uint64_t hash) {
    a += hash;
    b += mixed(hash ^ 0x9e3779b97f4a7c15);
  }
  static uint64_t mixed(uint64_t x) {  // the finalizer of SplitMix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
};
uint64_t joined(uint64_t hash, uint64_t value) { return Sum::mixed(hash * 0x9e3779b97f4a7c15 + value + 1); }

/// Per class of traces: the slots of the peers to which it sends.
std::vector<std::vector<uint32_t>> slots_with_sends(const ClassJob& job) {
  std::vector<std::vector<uint32_t>> out;
  for (const Trace& t : job.classes) {
    std::set<uint32_t> slots;
    for (const NodeId n : t.nodes())
      if (t.type[n] == NodeType::send && t.comm(n) && t.comm(n)->dst >= 0)
        slots.insert(static_cast<uint32_t>(t.comm(n)->dst));
    out.emplace_back(slots.begin(), slots.end());
  }
  return out;
}

/// The number of distinct smaller sizes in a list of transfers, by size.
std::map<uint64_t, uint32_t> sizes_of(const std::vector<coll::Transfer>& list) {
  std::map<uint64_t, uint32_t> sizes;
  for (const coll::Transfer& t : list) sizes.emplace(t.bytes, 0);
  uint32_t smaller = 0;
  for (auto& [bytes, number] : sizes) number = smaller++;
  return sizes;
}

enum Side : uint64_t { kSends = 1, kReceives, kCarries, kGathers };

}  // namespace

EqualLinks::EqualLinks(const ClassJob& job, const Ties& ties, const net::Fabric& fabric, size_t most)
    : job_(job), ties_(ties), fabric_(fabric), most_(most) {
  const net::RoutingOptions& routing = fabric.routing;
  usable_ = routing.kind != net::Routing::adaptive && routing.kind != net::Routing::valiant && routing.channels == 1 &&
            fabric.burst_bytes == 0;
}

EqualLinks::EqualLinks(const ClassJob& job, const Ties& ties, Prices& prices, const net::Fabric& fabric)
    : EqualLinks(job, ties, fabric, kMostListed) {
  for (uint32_t g = 0; g < ties.groups.size() && usable_; ++g) list_group(g, prices);
  const std::vector<std::vector<uint32_t>> slots = slots_with_sends(job);
  for (uint32_t r = 0; r < job.ranks.size() && usable_; ++r)
    for (const uint32_t slot : slots[job.ranks[r].cls]) list_message(r, slot);
  number_links();
}

EqualLinks::EqualLinks(const ClassJob& job, const Ties& ties, const coll::Plan& plan, std::span<const uint32_t> order,
                       const net::Fabric& fabric, size_t most)
    : EqualLinks(job, ties, fabric, most) {
  CHAKRA_ASSERT(ties.groups.size() == 1);
  roots_.assign(1, 0);
  Patterns known;
  if (usable_) list_plan(0, plan, order, known);
  number_links();
}

/// Links of equal rate and latency.
void EqualLinks::number_links() {
  Numbering numbers;
  for (const net::TrunkId id : trunks_.ids) {
    const net::Trunk trunk = fabric_.trunk(id);
    trunks_.classes.push_back(numbers({std::bit_cast<int64_t>(trunk.bytes_per_s), trunk.latency_ps, trunk.links}));
  }
  trunks_.count = numbers.size();
}

/// The collectives of a group: each operation that its members' traces call, once.
void EqualLinks::list_group(uint32_t g, Prices& prices) {
  const Members& group = ties_.groups[g];
  std::set<std::pair<uint32_t, uint32_t>> ports;
  for (size_t m = 0; m < group.index.size(); ++m) {
    if (group.index[m] == kNobody || group.port[m] == kNobody) {
      usable_ = false;
      return;
    }
    ports.emplace(job_.ranks[group.index[m]].cls, group.port[m]);
  }
  std::set<std::tuple<CommType, uint64_t, uint32_t>> seen;
  Patterns known;
  uint64_t& roots = roots_.emplace_back(0);
  for (const auto& [cls, number] : ports) {
    const Port& port = ties_.ports[cls][number];
    usable_ = usable_ && !port.by_place;
    for (const Comm* call : port.calls) {
      const coll::Operation op{call->type, call->bytes, root_place(group, call->root), {}};
      if (!usable_ || call->type == CommType::unknown || !seen.emplace(op.type, op.bytes, op.root).second) continue;
      roots = joined(roots, op.root);
      if (!prices.refusal(group.shape, op).empty()) {
        usable_ = false;
        continue;
      }
      const coll::Choice& choice = prices.choice(group.shape, op);
      list_plan(g, choice.plan, choice.order, known);
    }
  }
}

/// Rounds are one pattern if the same transfers are equally large in both.
void EqualLinks::list_plan(uint32_t g, const coll::Plan& plan, std::span<const uint32_t> order, Patterns& known) {
  const Members& group = ties_.groups[g];
  const auto rank = [&](uint32_t member) { return group.index[order.empty() ? member : order[member]]; };
  const int64_t by_order = known.orders({order.begin(), order.end()});
  for (const coll::Round& round : plan.rounds) {
    std::vector<int64_t> key{by_order,     round.shift,  round.shifts,    round.apart,
                             round.stride, round.extent, round.together()};
    const std::map<uint64_t, uint32_t> sizes = sizes_of(round.list);
    for (const coll::Transfer& t : round.list) key.insert(key.end(), {t.from, t.to, sizes.at(t.bytes)});
    const size_t before = known.rounds.size();
    const uint32_t pattern = known.rounds(key);
    if (known.rounds.size() == before) continue;
    usable_ = usable_ && transfers_of(round, plan.members) <= most_ - transfers_.size();
    if (!usable_) return;
    coll::each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
      add({rank(from), rank(to), g, pattern, round.list.empty() ? 0 : sizes.at(bytes), 0, 0}, group.flow);
    });
    if (!usable_) return;
    const coll::Rows rows(plan, round);
    for (uint32_t row = 0; row < rows.count() && round.together(); ++row) {
      Row& made = rows_.emplace_back(Row{g, pattern, {}});
      for (uint32_t c = 0; c < rows.extent; ++c) made.ranks.push_back(rank(rows.member(row, c)));
    }
  }
}

void EqualLinks::list_message(uint32_t r, uint32_t slot) {
  const uint32_t to = ties_.end_of[job_.ranks[r].first_peer + slot];
  if (to == kNobody) usable_ = false;
  else add({r, to, kNobody, slot, 0, 0, 0}, 0);
}

void EqualLinks::add(const Transfer& transfer, uint64_t flow) {
  if (transfers_.size() == most_) usable_ = false;
  if (!usable_) return;
  Transfer& made = transfers_.emplace_back(transfer);
  made.first_use = uses_.size();
  route_.clear();
  made.latency = fabric_.uses(job_.ranks[made.from].rank, job_.ranks[made.to].rank, flow, route_);
  for (const net::Use& use : route_) uses_.push_back({number_of(use.trunk), use.share});
}

uint32_t EqualLinks::number_of(net::TrunkId trunk) {
  const auto [known, added] = trunks_.number_of.try_emplace(trunk, static_cast<uint32_t>(trunks_.ids.size()));
  if (added) trunks_.ids.push_back(trunk);
  return known->second;
}

std::span<const EqualLinks::Use> EqualLinks::uses_of(size_t t) const {
  const size_t end = t + 1 < transfers_.size() ? transfers_[t + 1].first_use : uses_.size();
  return std::span(uses_).subspan(transfers_[t].first_use, end - transfers_[t].first_use);
}

std::vector<uint32_t> EqualLinks::split(const std::vector<uint32_t>& colors) {
  std::vector<uint64_t> group_hash;
  for (const Members& group : ties_.groups) {
    uint64_t hash = joined(roots_[group_hash.size()], group.costs);
    for (size_t m = 0; m < group.index.size(); ++m)
      hash = joined(joined(hash, group.index[m] == kNobody ? UINT64_MAX : colors[group.index[m]]), group.port[m]);
    group_hash.push_back(hash);
  }
  const auto context = [&](uint32_t group, uint32_t pattern) {
    return joined(group == kNobody ? 0 : group_hash[group], pattern);
  };
  std::vector<Sum> of_rank(colors.size()), of_link(trunks_.ids.size());
  for (size_t i = 0; i < transfers_.size(); ++i) {
    const Transfer& t = transfers_[i];
    Sum links;
    for (const Use& use : uses_of(i)) links.add(joined(trunks_.classes[use.link], std::bit_cast<uint64_t>(use.share)));
    uint64_t hash = joined(context(t.group, t.pattern), colors[t.from]);
    for (const uint64_t value :
         {uint64_t{colors[t.to]}, uint64_t{t.size}, static_cast<uint64_t>(t.latency), links.a, links.b})
      hash = joined(hash, value);
    of_rank[t.from].add(joined(hash, kSends));
    of_rank[t.to].add(joined(hash, kReceives));
    for (const Use& use : uses_of(i))
      of_link[use.link].add(joined(joined(hash, kCarries), std::bit_cast<uint64_t>(use.share)));
  }
  for (const Row& row : rows_) {
    Sum sum;
    for (const uint32_t r : row.ranks) sum.add(joined(colors[r], kGathers));
    for (const uint32_t r : row.ranks) of_rank[r].add(joined(joined(context(row.group, row.pattern), sum.a), sum.b));
  }
  const auto number = [](Numbering& numbers, int64_t first, const Sum& sum) {
    return numbers({first, static_cast<int64_t>(sum.a), static_cast<int64_t>(sum.b)});
  };
  Numbering links, ranks;
  for (size_t l = 0; l < of_link.size(); ++l) trunks_.classes[l] = number(links, trunks_.classes[l], of_link[l]);
  trunks_.count = links.size();
  std::vector<uint32_t> out;
  for (const Sum& sum : of_rank) out.push_back(number(ranks, 0, sum));
  return out;
}

LinkClasses EqualLinks::classes() const {
  LinkClasses out;
  out.trunks.resize(trunks_.count);
  for (size_t l = 0; l < trunks_.ids.size(); ++l) {
    out.class_of.emplace_back(trunks_.ids[l], trunks_.classes[l]);
    out.trunks[trunks_.classes[l]].push_back(trunks_.ids[l]);
  }
  std::sort(out.class_of.begin(), out.class_of.end());
  return out;
}

}  // namespace chakra::sim
