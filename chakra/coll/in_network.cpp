// Switches that reduce. Each member is responsible for one of n parts of the buffer: for it the switch sums what all
// members send up, and later sends the result to all. The two overlap, so that a port carries S (1 + 1/n) each way.
// Between switches of a tree a link carries S each way, whatever is below it.
//
// As transfers: each member sends to the next one in the order in which a walk round the tree meets them. The walk
// passes each link of the tree once each way. In a tree, the port of the first and of the last member on a switch so
// carries S on one of its ways; the other way sets the time.
#include <absl/container/flat_hash_map.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {
namespace {

constexpr double kSame = 1e-9;

/// A group on one switch of a network of dimensions with identical links: O(members), without looking at links.
std::optional<SwitchTraffic> on_one_switch(const Place& place, double units) {
  const net::Fabric& fabric = *place.fabric;
  if (fabric.graph || !fabric.odd_links.empty()) return std::nullopt;
  std::optional<size_t> along;
  const std::vector<net::Axis> axes = fabric.axes();
  for (size_t a = 0; a < axes.size(); ++a) {
    const auto differs = [&](int64_t rank) { return axes[a].of(rank) != axes[a].of(place.ranks[0]); };
    if (std::none_of(place.ranks.begin(), place.ranks.end(), differs)) continue;
    if (along) return std::nullopt;
    along = a;
  }
  if (!along || fabric.reductions[*along].bytes_per_s == 0) return std::nullopt;
  const net::Reduction& reduction = fabric.reductions[*along];
  const net::Dimension& dimension = fabric.dimensions[*along];
  return SwitchTraffic{.list = {},
                       .units = units,
                       .slowdown = std::max(1.0, dimension.bytes_per_s() / reduction.bytes_per_s),
                       .way_ps = add_saturated(dimension.latency_ps(), dimension.latency_ps()),
                       .latency_ps = reduction.latency_ps};
}

/// A walk round the tree of switches that joins the members.
class Walk {
 public:
  /// `fabric`: the place's, under Routing::spread.
  Walk(const Place& place, const net::Fabric& fabric) : place_(place), fabric_(fabric) {
    order_.resize(place.ranks.size());
    std::iota(order_.begin(), order_.end(), 0u);
    const std::vector<net::Axis> axes = fabric_.axes();
    std::vector<uint32_t> first(axes.empty() ? order_.size() : 0);
    for (uint32_t m = 0; m < first.size(); ++m) first[m] = first_device(m);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      if (axes.empty()) return first[a] < first[b];
      for (size_t x = axes.size(); x-- > 0;)
        if (const int64_t pa = axes[x].of(place.ranks[a]), pb = axes[x].of(place.ranks[b]); pa != pb) return pa < pb;
      return false;
    });
  }

  /// `port`: units through a member's port, `between`: through links between switches.
  std::optional<SwitchTraffic> traffic(double port, double between) {
    bool crossed = false;
    for (size_t i = 0; i < order_.size(); ++i) {
      const uint32_t from = order_[i], to = order_[i + 1 < order_.size() ? i + 1 : 0];
      const bool crosses = fabric_.path(place_.ranks[from], place_.ranks[to]).links > 2;
      crossed = crossed || crosses;
      if (!add({from, to, crosses ? between : port})) return std::nullopt;
    }
    if (!is_tree()) return std::nullopt;
    traffic_.way_ps = longest_way();
    traffic_.slowdown = slowdown();
    if (!end_together(port / between) && !crossed && std::is_sorted(order_.begin(), order_.end())) {
      traffic_.list.clear();
      traffic_.units = port;
    }
    return std::move(traffic_);
  }

 private:
  struct Carried {
    double units = 0, passes = 0;
  };

  uint32_t first_device(uint32_t member) {
    links_.clear();
    fabric_.route(place_.ranks[member], place_.ranks[member == 0 ? 1 : 0], links_);
    return links_.empty() ? 0 : fabric_.link(links_[0]).to;
  }

  /// False where the way leads over what does not reduce.
  bool add(const SwitchTraffic::Load& load) {
    traffic_.list.push_back(load);
    const int64_t from = place_.ranks[load.from], to = place_.ranks[load.to];
    uses_.clear();
    fabric_.uses(from, to, 0, uses_);
    double& seconds = seconds_.emplace_back(0);
    for (const net::Use& use : uses_) {
      seconds = std::max(seconds, load.units * use.share / fabric_.trunk(use.trunk).bytes_per_s);
      links_.clear();
      fabric_.links_of(use.trunk, links_);
      const double share = use.share / static_cast<double>(links_.size());
      for (const net::LinkId id : links_) {
        const net::Link link = fabric_.link(id);
        const bool arrives = link.to == to && fabric_.reduction(link.from);
        if (!arrives && !fabric_.reduction(link.to)) return false;
        Carried& carried = carried_[id];
        carried.units += load.units * share;
        carried.passes += share;
      }
    }
    links_.clear();
    fabric_.route(from, to, links_);
    Picoseconds latency = 0;
    for (const net::LinkId id : links_)
      if (const net::Reduction* reduction = fabric_.reduction(fabric_.link(id).to))
        latency = add_saturated(latency, reduction->latency_ps);
    traffic_.latency_ps = std::max(traffic_.latency_ps, latency);
    return true;
  }

  /// A walk round a tree passes each link once each way, or as one of several that share what passes.
  bool is_tree() const {
    return std::all_of(carried_.begin(), carried_.end(), [&](const auto& entry) {
      const net::Link link = fabric_.link(entry.first);
      const double passes = entry.second.passes;
      const auto back = carried_.find(fabric_.link_between(link.to, link.from));
      return passes <= 1 + kSame && back != carried_.end() && std::abs(passes - back->second.passes) <= kSame;
    });
  }

  uint32_t farthest_from(uint32_t member) const {
    uint32_t far = member;
    Picoseconds most = -1;
    for (const uint32_t m : order_) {
      const Picoseconds latency = m == member ? -1 : fabric_.path(place_.ranks[member], place_.ranks[m]).latency_ps;
      if (latency > most) most = latency, far = m;
    }
    return far;
  }

  /// From the farthest member up to the switch that has all sums, in the middle of the longest route, and back down to
  /// the farthest member, which may be the same one. In a tree the member farthest from any is an end of that route.
  Picoseconds longest_way() {
    const uint32_t a = farthest_from(0), b = farthest_from(a);
    links_.clear();
    fabric_.route(place_.ranks[a], place_.ranks[b], links_);
    const auto back = [&](net::LinkId id) {
      const net::Link link = fabric_.link(id);
      const net::LinkId other = fabric_.link_between(link.to, link.from);
      return other == net::kNoLink ? link.latency_ps : fabric_.link(other).latency_ps;
    };
    Picoseconds to_b = 0, from_b = 0, from_a = 0, to_a = 0;
    for (const net::LinkId id : links_) {
      to_b = add_saturated(to_b, fabric_.link(id).latency_ps);
      from_b = add_saturated(from_b, back(id));
    }
    Picoseconds least = links_.size() < 2 ? to_b : 2 * kLongestPs;
    for (size_t i = 0; i + 1 < links_.size(); ++i) {
      const Picoseconds there = fabric_.link(links_[i]).latency_ps, here = back(links_[i]);
      from_a = add_saturated(from_a, there);
      to_a = add_saturated(to_a, here);
      to_b -= there;
      from_b -= here;
      least = std::min(least, add_saturated(std::max(from_a, from_b), std::max(to_a, to_b)));
    }
    return least;
  }

  /// All results hang on all members: where a link is slow, no transfer takes less by more than the factor `apart`.
  /// Returns whether some had to be longer.
  bool end_together(double apart) {
    const double longest = *std::max_element(seconds_.begin(), seconds_.end());
    bool longer = false;
    for (size_t i = 0; i < seconds_.size(); ++i) {
      if (seconds_[i] * apart * (1 + kSame) >= longest) continue;
      traffic_.list[i].units *= longest / seconds_[i];
      longer = true;
    }
    return longer;
  }

  double slowdown() const {
    double by_links = 0, by_all = 0;  // how long the busiest link takes
    for (const auto& [id, carried] : carried_) {
      const net::Link link = fabric_.link(id);
      double rate = link.bytes_per_s;
      by_links = std::max(by_links, carried.units / rate);
      for (const uint32_t end : {link.from, link.to})
        if (const net::Reduction* reduction = fabric_.reduction(end)) rate = std::min(rate, reduction->bytes_per_s);
      by_all = std::max(by_all, carried.units / rate);
    }
    return by_all / by_links;
  }

  const Place& place_;
  const net::Fabric& fabric_;
  std::vector<uint32_t> order_;
  SwitchTraffic traffic_;
  absl::flat_hash_map<net::LinkId, Carried> carried_;
  std::vector<double> seconds_;  ///< per unit of bytes, of each transfer alone
  std::vector<net::Use> uses_;
  std::vector<net::LinkId> links_;
};

}  // namespace

std::optional<SwitchTraffic> switch_traffic(CommType type, const Place& place) {
  if (!place.fabric || place.fabric->reductions.empty() || place.members() < 2) return std::nullopt;
  // Units of a part. Of an operation that only sums, or only sends results, the way that carries more counts for both.
  const double n = place.members(), port = type == CommType::all_reduce ? n + 1 : n;
  if (auto traffic = on_one_switch(place, port)) return traffic;
  // A tree is set up once, whatever the routing policy.
  if (place.fabric->routing.kind == net::Routing::spread) return Walk(place, *place.fabric).traffic(port, n);
  net::Fabric spread = *place.fabric;
  spread.routing.kind = net::Routing::spread;
  return Walk(place, spread).traffic(port, n);
}

Outline in_network(const Operation& op, const Place& place) {
  Outline o = direct(op, place);
  o.switches = *switch_traffic(op.type, place);
  return o;
}

/// Half of all that is carried in each round: sums up, then results down.
void in_network_traffic(const Outline& o, uint32_t k, Round& round) {
  const SwitchTraffic& switches = o.switches;
  const auto bytes_of = [&](double units) {
    const double all = units * switches.slowdown * static_cast<double>(o.unit_bytes);
    const uint64_t whole = all < 0x1p64 ? static_cast<uint64_t>(std::round(all)) : UINT64_MAX;
    return o.rounds < 2 ? whole : k == 0 ? whole - whole / 2 : whole / 2;
  };
  round.latency_ps = switches.latency_of(k == 0);
  if (switches.list.empty()) {
    round.shift = round.shifts = round.apart = 1;
    round.bytes = bytes_of(switches.units);
    return;
  }
  round.shift = 0;
  round.extent = 0;
  for (const SwitchTraffic::Load& load : switches.list)
    round.list.push_back({load.from, load.to, bytes_of(load.units)});
}

}  // namespace chakra::coll
