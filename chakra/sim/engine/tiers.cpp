#include "chakra/sim/engine/tiers.h"

#include <algorithm>

namespace chakra::sim {

using trace::NodeId;

namespace {

/// count times value, at most the largest number.
template <class Number>
Number times(int64_t count, Number value, Number most) {
  Number product = 0;
  return __builtin_mul_overflow(value, static_cast<Number>(count), &product) || product > most ? most : product;
}

}  // namespace

void Tiers::prepare() {
  const Storage& storage = run_.job.storage;
  for (uint32_t c = 0; c < storage.of_class.size(); ++c) used_.push_back(storage.tiers_of(c));
  places_.resize(run_.actors.size());
  for (uint32_t tier = 0; tier < run_.in.system.tiers.size(); ++tier) switch (run_.in.system.tiers[tier].scope) {
      case device::TierScope::all: add_shared(tier); break;
      case device::TierScope::node: add_per_node(tier); break;
      case device::TierScope::rank: add_per_rank(tier); break;
    }
}

bool Tiers::uses(ActorId a, uint32_t tier) const {
  const std::vector<uint32_t>& used = used_[run_.job.folded.class_of[a]];
  return std::binary_search(used.begin(), used.end(), tier);
}

uint32_t Tiers::add_server(uint32_t tier, int64_t stands_for) {
  servers_.push_back({tier, stands_for, 0, 0, {}});
  return static_cast<uint32_t>(servers_.size() - 1);
}

void Tiers::add_shared(uint32_t tier) {
  const uint32_t server = add_server(tier, 1);
  for (const ActorId a : ids<ActorId>(places_.size()))
    if (uses(a, tier)) places_[a].push_back({tier, server, static_cast<uint64_t>(run_.job.folded.count[a])});
}

void Tiers::add_per_rank(uint32_t tier) {
  for (const ActorId a : ids<ActorId>(places_.size()))
    if (uses(a, tier)) places_[a].push_back({tier, add_server(tier, run_.job.folded.count[a]), 1});
}

/// Nodes whose users are ranks of the same actors have one server.
void Tiers::add_per_node(uint32_t tier) {
  const Folded& folded = run_.job.folded;
  std::map<std::vector<ActorId>, uint32_t> server_of;
  std::vector<ActorId> users;  // of a node
  const auto add_node = [&] {
    if (users.empty()) return;
    std::sort(users.begin(), users.end());
    const auto [found, added] = server_of.try_emplace(users, 0);
    if (added) found->second = add_server(tier, 0);
    ++servers_[found->second].stands_for;
    for (auto at = users.begin(), next = at; added && at != users.end(); at = next) {
      next = std::upper_bound(at, users.end(), *at);
      places_[*at].push_back({tier, found->second, static_cast<uint64_t>(next - at)});
    }
    users.clear();
  };
  int64_t node = -1;
  for (size_t i = 0; i < folded.ranks.size(); ++i) {
    const int64_t own = folded.ranks[i] / run_.in.system.tiers[tier].ranks_per_node;
    if (own != node) add_node();
    node = own;
    if (uses(folded.actor_of[i], tier)) users.push_back(folded.actor_of[i]);
  }
  add_node();
}

const Tiers::Place& Tiers::place(ActorId a, uint32_t tier) const {
  const auto found =
      std::find_if(places_[a].begin(), places_[a].end(), [&](const Place& place) { return place.tier == tier; });
  CHAKRA_ASSERT(found != places_[a].end());
  return *found;
}

/// How long the bytes of an operation move that nobody else shares the server with.
Picoseconds Tiers::alone(const TierUse& use) const {
  return net::serialization(use.bytes, run_.in.system.tiers[use.tier].bytes_per_s);
}

void Tiers::begin(ActorId a, NodeId n, const TierUse& use) {
  const Place& at = place(a, use.tier);
  servers_[at.server].sharing.add(run_.agenda.now, alone(use), at.weight, {a, n});
  expect_end(at.server);
}

void Tiers::expect_end(uint32_t server) {
  Server& s = servers_[server];
  const Picoseconds next = s.sharing.next_end();
  if (!s.sharing.empty()) run_.agenda.events.push(next, {ActorId(server), NodeId(++s.turn), Event::Kind::tier});
}

void Tiers::advance(uint32_t server, uint32_t turn) {
  Server& s = servers_[server];
  if (turn != s.turn) return;
  s.sharing.take_done(run_.agenda.now, done_);
  for (const Node& node : done_) {
    const auto& [a, n] = node;
    const TierUse& use = *run_.job.tier_use(a, n);
    const Picoseconds after = add_saturated(run_.in.system.tiers[s.tier].latency_ps, run_.delay(a, n));
    const Picoseconds end = add_saturated(run_.agenda.now, after);
    run_.agenda.end_at(a, n, end);
    const auto moved = static_cast<int64_t>(place(a, use.tier).weight);
    s.busy = add_saturated(s.busy, times<Picoseconds>(moved, alone(use), kLongestPs));
    count(node, use, end);
  }
  done_.clear();
  expect_end(server);
}

void Tiers::count(const Node& node, const TierUse& use, Picoseconds end) {
  const auto& [a, n] = node;
  const int64_t ranks = run_.job.folded.count[a];
  TierReport::Kind& total = totals_[{use.tier, use.kind}];
  total.count += ranks;
  total.bytes = add_bytes(total.bytes, times<uint64_t>(ranks, use.bytes, UINT64_MAX));
  const Picoseconds took = end - run_.actors[a].times.start[n];
  total.total_ps = add_saturated(total.total_ps, times<Picoseconds>(ranks, took, kLongestPs));
}

void Tiers::summarize() const {
  for (uint32_t tier = 0; tier < run_.in.system.tiers.size(); ++tier) {
    TierReport report{run_.in.system.tiers[tier].name, run_.in.system.tiers[tier].scope, 0, 0, 0, {}};
    for (const auto& [key, total] : totals_) {
      if (key.first != tier) continue;
      TierReport::Kind& kind = report.kinds.emplace_back(total);
      kind.io_kind = run_.job.storage.kinds[key.second];
      if (kind.total_ps > 0)
        kind.bytes_per_s = static_cast<double>(kind.bytes) / (static_cast<double>(kind.total_ps) / kPsPerSecond);
      report.bytes = add_bytes(report.bytes, kind.bytes);
    }
    for (const Server& server : servers_) {
      if (server.tier != tier) continue;
      report.places += server.stands_for;
      report.busy_ps = std::max(report.busy_ps, server.busy);
    }
    if (report.kinds.empty()) continue;
    std::sort(report.kinds.begin(), report.kinds.end(),
              [](const auto& x, const auto& y) { return x.io_kind < y.io_kind; });
    run_.report.tiers.push_back(std::move(report));
  }
}

}  // namespace chakra::sim
