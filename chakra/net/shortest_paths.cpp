#include "chakra/net/shortest_paths.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace chakra::net {
namespace {

/// Numbers of paths stay finite: all numbers beyond this limit count as equal.
constexpr double kMostPaths = 1e200;

/// Groups hops by a device, those of a device by trunk.
template <class Device>
void group(std::vector<Hop>& hops, size_t devices, const Device& device, std::vector<uint32_t>& first) {
  std::sort(hops.begin(), hops.end(), [&](const Hop& a, const Hop& b) {
    return std::tuple(device(a), a.trunk, a.from, a.to) < std::tuple(device(b), b.trunk, b.from, b.to);
  });
  first.assign(devices + 1, 0);
  for (const Hop& hop : hops) ++first[device(hop) + 1];
  for (size_t d = 0; d < devices; ++d) first[d + 1] += first[d];
}

}  // namespace

ShortestPaths::ShortestPaths(int64_t ranks, uint32_t devices, std::vector<Hop> hops, bool forwarding, DeviceTurns turns)
    : ranks_(static_cast<uint32_t>(ranks)),
      devices_(devices),
      forwarding_(forwarding),
      out_(hops),
      in_(std::move(hops)),
      turns_(std::move(turns)),
      ways_(devices),
      ways_through_(devices) {
  group(
      out_, devices, [](const Hop& hop) { return hop.from; }, out_first_);
  group(
      in_, devices, [](const Hop& hop) { return hop.to; }, in_first_);
  joined_by_switches_ = find_whether_switches_join();
  if (turns_.empty()) return;
  for (uint32_t i = 0; i < out_.size(); ++i) by_to_.push_back({out_[i].to, i});
  for (uint32_t d = 0; d < devices_; ++d)
    std::sort(by_to_.begin() + out_first_[d], by_to_.begin() + out_first_[d + 1],
              [](const End& a, const End& b) { return std::pair(a.to, a.hop) < std::pair(b.to, b.hop); });
}

ShortestPaths::~ShortestPaths() {
  for (auto& ways : ways_) delete ways.load();
  for (auto& ways : ways_through_) delete ways.load();
}

ShortestPaths::Way ShortestPaths::step(const Hop& hop, const Way& rest) const {
  const double paths = std::min(rest.paths * hop.count, kMostPaths);
  return {.far = std::min(add_saturated(rest.far, hop.far), kLongestPs),
          .paths = paths,
          .weight = paths * std::min(hop.rate, rest.weight / rest.paths),
          .latency = add_saturated(rest.latency, hop.latency_ps),
          .hops = rest.hops + 1};
}

/// Dijkstra's algorithm away from the root, against the hops: what is least far is settled first. With hops as the
/// metric the queue holds two distances at most.
std::unique_ptr<const ShortestPaths::Ways> ShortestPaths::find(uint32_t root, bool through) const {
  const uint32_t base = through ? 0 : ranks_;
  auto found = std::make_unique<Ways>(devices_ - base);
  Way of_rank;  // of a root that has no place among them
  const auto way = [&](uint32_t device) -> Way& { return device < base ? of_rank : (*found)[device - base]; };
  using Candidate = std::tuple<Picoseconds, uint32_t, uint32_t>;  // far, hops, device
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  way(root) = Way::at_root();
  candidates.emplace(0, 0, root);
  while (!candidates.empty()) {
    const auto [far, hops, device] = candidates.top();
    candidates.pop();
    const Way rest = way(device);
    if (far != rest.far || hops != rest.hops) continue;
    for (uint32_t i = in_first_[device]; i < in_first_[device + 1]; ++i) {
      const Hop& hop = in_[i];
      if (hop.from < base || hop.from == root) continue;
      const Way by = step(hop, rest);
      Way& known = way(hop.from);
      const auto better = std::tuple(by.far, by.hops) <=> std::tuple(known.far, known.hops);
      if (better == 0) {
        known.paths = std::min(known.paths + by.paths, kMostPaths);
        known.weight = std::min(known.weight + by.weight, kMostPaths);
        known.latency = std::max(known.latency, by.latency);
        ++known.choices;
      } else if (better < 0) {
        known = by;
        known.hop = i;
        known.choices = 1;
        candidates.emplace(by.far, by.hops, hop.from);
      }
    }
  }
  return found;
}

const ShortestPaths::Ways& ShortestPaths::ways_of_orbit(uint32_t root, bool through) const {
  std::atomic<const Ways*>& place = (through ? ways_through_ : ways_)[root];
  if (const Ways* known = place.load(std::memory_order_acquire)) return *known;
  auto found = find(root, through);
  const Ways* expected = nullptr;  // several threads may search at once: the first to be done keeps its ways
  if (place.compare_exchange_strong(expected, found.get(), std::memory_order_acq_rel)) return *found.release();
  return *expected;
}

ShortestPaths::Turned ShortestPaths::ways_to(uint32_t root, bool through) const {
  Turned found{this, nullptr, root, through ? 0 : ranks_};
  found.steps = turns_.place(root);
  found.moved = std::any_of(found.steps.begin(), found.steps.end(), [](uint32_t step) { return step > 0; });
  found.ways = &ways_of_orbit(found.moved ? turns_.turned(root, found.steps, true) : root, through);
  return found;
}

const Hop& ShortestPaths::turned(const Hop& hop, const Turns::Steps& steps, bool back) const {
  return like(hop, turns_.turned(hop.from, steps, back), turns_.turned(hop.to, steps, back));
}

const Hop& ShortestPaths::like(const Hop& hop, uint32_t from, uint32_t to) const {
  const auto first = by_to_.begin() + out_first_[from], last = by_to_.begin() + out_first_[from + 1];
  auto at = std::lower_bound(first, last, to, [](const End& end, uint32_t device) { return end.to < device; });
  const auto same = [&](const Hop& h) { return h.rate == hop.rate && h.latency_ps == hop.latency_ps; };
  while (at != last && at->to == to && !same(out_[at->hop])) ++at;
  CHAKRA_ASSERT(at != last && at->to == to);
  return out_[at->hop];
}

const Hop& ShortestPaths::only_hop(const Turned& ways, uint32_t device) const {
  const Hop& hop = in_[ways[device].hop];
  return ways.moved ? turned(hop, ways.steps, false) : hop;
}

uint32_t ShortestPaths::root_of(int64_t rank) const {
  const auto r = static_cast<size_t>(rank);
  const bool one = in_first_[r + 1] - in_first_[r] == 1 && in_[in_first_[r]].from >= ranks_;
  return one ? in_[in_first_[r]].from : static_cast<uint32_t>(rank);
}

void ShortestPaths::next(uint32_t device, int64_t to, bool through, std::vector<Next>& out) const {
  next(device, to, ways_to_rank(to, through), out);
}

void ShortestPaths::next(uint32_t device, int64_t to, const Turned& ways, std::vector<Next>& out) const {
  out.clear();
  const auto target = static_cast<uint32_t>(to);
  // Distances count to the root, which all paths pass.
  if (device == ways.root) {  // a switch with the one hop to the rank
    const Hop& hop = in_[in_first_[target]];
    return out.push_back({&hop, static_cast<double>(hop.count), static_cast<double>(hop.count), hop.latency_ps});
  }
  if (device >= ways.base)
    if (const Way& way = ways[device]; way.choices == 1)
      return out.push_back({&only_hop(ways, device), way.paths, way.weight, way.latency});
  Way best;
  for (uint32_t i = out_first_[device]; i < out_first_[device + 1]; ++i) {
    const Hop& hop = out_[i];
    Way rest;
    if (hop.to == target) {
      rest = Way::at_root();
    } else if (hop.to >= ways.base) {
      rest = ways[hop.to];
    }
    if (!rest.reaches()) continue;
    const Way by = step(hop, rest);
    const auto better = std::tuple(by.far, by.hops) <=> std::tuple(best.far, best.hops);
    if (better > 0) continue;
    if (better < 0) {
      best = by;
      out.clear();
    }
    out.push_back({&hop, by.paths, by.weight, by.latency});
  }
}

bool ShortestPaths::through_ranks(int64_t from, int64_t to) const {
  if (!forwarding_ || joined_by_switches_) return false;
  const auto begin = static_cast<size_t>(from);
  const Turned ways = ways_to(root_of(to), false);
  for (uint32_t i = out_first_[begin]; i < out_first_[begin + 1]; ++i)
    if (const uint32_t at = out_[i].to; at == to || (at >= ranks_ && ways[at].reaches())) return false;
  return true;
}

double ShortestPaths::paths(int64_t from, int64_t to) const {
  thread_local std::vector<Next> nexts;
  next(static_cast<uint32_t>(from), to, through_ranks(from, to), nexts);
  return std::accumulate(nexts.begin(), nexts.end(), 0.0, [](double sum, const Next& n) { return sum + n.paths; });
}

void ShortestPaths::first_path(int64_t from, int64_t to, std::vector<LinkId>& out) const {
  thread_local std::vector<Next> nexts;
  const Turned ways = ways_to_rank(to, through_ranks(from, to));
  // NOLINTNEXTLINE(bugprone-infinite-loop): it does not see that next() fills `nexts`
  for (auto device = static_cast<uint32_t>(from); device != to; device = nexts[0].hop->to) {
    next(device, to, ways, nexts);
    out.push_back(nexts[0].hop->trunk);
  }
}

Picoseconds ShortestPaths::uses(int64_t from, int64_t to, std::vector<Use>& out) const {
  const Turned ways = ways_to_rank(to, through_ranks(from, to));
  thread_local std::vector<Next> nexts;
  next(static_cast<uint32_t>(from), to, ways, nexts);
  Picoseconds latency = 0;
  for (const Next& n : nexts) latency = std::max(latency, n.latency);
  if (ways.root != to) latency = add_saturated(latency, in_[in_first_[static_cast<size_t>(to)]].latency_ps);
  // As long as there is one way to go on, all goes there.
  auto device = static_cast<uint32_t>(from);
  for (; device != to; next(device, to, ways, nexts)) {
    if (nexts.size() != 1) break;
    out.push_back({nexts[0].hop->trunk, 1});
    device = nexts[0].hop->to;
    if (device == to) return latency;
  }
  // What has come to a device and goes on: those farthest from the target first, so that all has come.
  struct Here {
    uint32_t device;
    double share;
    Picoseconds far;
    uint32_t hops;
  };
  std::vector<Here> front{{device, 1, 0, 0}};
  while (!front.empty()) {
    const auto farthest = std::max_element(front.begin(), front.end(), [](const Here& a, const Here& b) {
      return std::tuple(a.far, a.hops) < std::tuple(b.far, b.hops);
    });
    const Here here = *farthest;
    *farthest = front.back();
    front.pop_back();
    next(here.device, to, ways, nexts);
    double weight = 0;
    for (const Next& n : nexts) weight += n.weight;
    for (const Next& n : nexts) {
      const double share = nexts.size() == 1 ? here.share : here.share * (n.weight / weight);
      out.push_back({n.hop->trunk, share});
      const uint32_t other = n.hop->to;
      if (other == to) continue;
      const auto there = std::find_if(front.begin(), front.end(), [&](const Here& h) { return h.device == other; });
      if (there != front.end()) {
        there->share += share;
        continue;
      }
      const Way& way = ways[other];
      front.push_back({other, share, way.far, way.hops});
    }
  }
  return latency;
}

std::vector<bool> ShortestPaths::reached(uint32_t device, bool back, bool through) const {
  const std::vector<Hop>& hops = back ? in_ : out_;
  const std::vector<uint32_t>& first = back ? in_first_ : out_first_;
  std::vector<bool> seen(devices_);
  std::vector<uint32_t> todo{device};
  seen[device] = true;
  while (!todo.empty()) {
    const uint32_t at = todo.back();
    todo.pop_back();
    if (at != device && at < ranks_ && !through) continue;
    for (uint32_t i = first[at]; i < first[at + 1]; ++i)
      if (const uint32_t other = back ? hops[i].from : hops[i].to; !seen[other]) {
        seen[other] = true;
        todo.push_back(other);
      }
  }
  return seen;
}

std::pair<int64_t, int64_t> ShortestPaths::both_ways(uint32_t device, bool through) const {
  const auto from = reached(device, false, through), to = reached(device, true, through);
  for (uint32_t r = 0; r < ranks_; ++r)
    if (!from[r] || !to[r]) return from[r] ? std::pair<int64_t, int64_t>(r, 0) : std::pair<int64_t, int64_t>(0, r);
  return {-1, -1};
}

bool ShortestPaths::find_whether_switches_join() const {
  const auto begin = out_.begin(), end = begin + out_first_[ranks_];
  const auto hop = std::find_if(begin, end, [&](const Hop& h) { return h.to >= ranks_; });
  return hop == end ? ranks_ <= 1 : both_ways(hop->to, false).first < 0;
}

std::pair<int64_t, int64_t> ShortestPaths::unreachable() const {
  if (joined_by_switches_) return {-1, -1};
  if (forwarding_) return both_ways(0, true);
  for (uint32_t r = 0; r < ranks_; ++r) {
    const auto seen = reached(r, false, false);
    const auto missing = std::find(seen.begin(), seen.begin() + ranks_, false);
    if (missing != seen.begin() + ranks_) return {r, missing - seen.begin()};
  }
  return {-1, -1};
}

}  // namespace chakra::net
