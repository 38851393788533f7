// Which of the shortest routes messages take.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chakra/net/graph.h"
#include "chakra/net/levels.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

bool joins_links(const Fabric& fabric) {
  return fabric.graph && (fabric.routing.kind == Routing::spread || fabric.routing.kind == Routing::adaptive ||
                          fabric.routing.kind == Routing::valiant);
}

/// Whether a message has one way only, whatever the routing chooses from.
bool one_way(const Fabric& fabric, int64_t from, int64_t to) {
  if (fabric.single_way()) return true;
  if (fabric.graph) return false;
  bool one = true;
  for_each_leg(fabric, from, to,
               [&](const Level& level, int64_t, int64_t a, int64_t b) { one &= !has_two_ways(level, a, b); });
  return one;
}

/// SplitMix64's mixing of each number into those before.
uint64_t mix(uint64_t hash, uint64_t value) { return Prng(hash ^ value).next(); }

/// What chooses among several ways at a device: a number in [0, 1), used up from choice to choice (of evenly spread
/// parts), or drawn anew at each device (a switch's hash).
struct Chooser {
  double fraction = 0;
  bool hashes = false;
  uint64_t hash = 0;
  bool each = false;  ///< every route once, whatever it weighs
  double share = 1;   ///< of a message that is spread, what the choices so far leave

  /// A choice among options(0) .. options(count - 1).
  template <class Options>
  size_t operator()(uint64_t device, size_t count, const Options& options) {
    if (hashes) return static_cast<size_t>(Prng(mix(hash, device)).below(count));
    double total = 0, weights = 0;
    for (size_t i = 0; i < count; ++i) {
      total += size_of(options(i));
      weights += options(i).weight;
    }
    double at = fraction * total;
    size_t i = 0;
    for (; i + 1 < count && at >= size_of(options(i)); ++i) at -= size_of(options(i));
    fraction = std::clamp(at / size_of(options(i)), 0.0, 0x1.fffffffffffffp-1);
    share *= options(i).weight / weights;
    return i;
  }

  template <class Option>
  double size_of(const Option& option) const {
    return each ? option.paths : option.weight;
  }
};

/// One of two ways round a ring.
struct RingWay {
  double paths, weight;
};

/// What the hash of a flow begins with.
uint64_t flow_key(const RoutingOptions& routing, int64_t from, int64_t to, uint64_t flow) {
  const auto ranks = static_cast<uint64_t>(from) << 32 | static_cast<uint64_t>(to);
  return mix(mix(mix(0, routing.seed), ranks), flow);
}

// ---- dimensions ----------------------------------------------------------------------------------------

/// Both ways round a ring, from place a to the opposite one, by the rates of their narrowest links.
std::array<RingWay, 2> ring_ways(const Fabric& fabric, const Level& level, int64_t row, int64_t a, int64_t b) {
  if (fabric.odd_links.empty()) return {{{1, 1}, {1, 1}}};
  std::array<double, 2> rate{};
  rate.fill(std::numeric_limits<double>::infinity());
  walk(level, row, a, b, [&](LinkId id) { rate[0] = std::min(rate[0], fabric.link(id).bytes_per_s); });
  walk_down(level, row, a, b, [&](LinkId id) { rate[1] = std::min(rate[1], fabric.link(id).bytes_per_s); });
  const double faster = std::max(rate[0], rate[1]);
  return {{{1, rate[0] / faster}, {1, rate[1] / faster}}};
}

double ways_of(const Fabric& fabric, int64_t from, int64_t to) {
  double ways = 1;
  for_each_leg(fabric, from, to, [&](const Level& level, int64_t, int64_t a, int64_t b) {
    if (has_two_ways(level, a, b)) ways *= 2;
  });
  return ways;
}

/// Appends the links of one way; choose(level, row, a, b) says where it goes down instead of up.
template <class Choose>
void walk_dimensions(const Fabric& fabric, int64_t from, int64_t to, std::vector<LinkId>& out, const Choose& choose) {
  for_each_leg(fabric, from, to, [&](const Level& level, int64_t row, int64_t a, int64_t b) {
    const auto add = [&](LinkId id) { out.push_back(id); };
    if (has_two_ways(level, a, b) && choose(level, row, a, b)) walk_down(level, row, a, b, add);
    else walk(level, row, a, b, add);
  });
}

// ---- graphs --------------------------------------------------------------------------------------------

/// Appends the links of one way; choose(device, hops) says which of several hops is taken.
template <class Choose>
void walk_graph(const ShortestPaths& paths, int64_t from, int64_t to, std::vector<LinkId>& out, const Choose& choose) {
  const bool through = paths.through_ranks(from, to);
  std::vector<ShortestPaths::Next> nexts;
  for (auto device = static_cast<uint32_t>(from); device != to;) {
    paths.next(device, to, through, nexts);
    const Hop& hop = *nexts[nexts.size() == 1 ? 0 : choose(device, nexts)].hop;
    out.push_back(hop.trunk);
    device = hop.to;
  }
}

/// Appends the links of a way over a random intermediate, from switch to switch by the same hash.
void walk_valiant(const Graph& graph, int64_t from, int64_t to, uint64_t hash, std::vector<LinkId>& out) {
  const auto choose = [&](uint32_t device, const auto& nexts) {
    return static_cast<size_t>(Prng(mix(hash, device)).below(nexts.size()));
  };
  const ShortestPaths& paths = *graph.by_link;
  std::vector<ShortestPaths::Next> firsts;
  const bool through = paths.through_ranks(from, to);
  paths.next(static_cast<uint32_t>(from), to, through, firsts);
  const Hop& first = *firsts[firsts.size() == 1 ? 0 : choose(static_cast<uint32_t>(from), firsts)].hop;
  const std::vector<uint32_t>* pool = through ? nullptr : &graph.valiant_by_link->pool(first.to, to).switches;
  if (!pool || pool->empty()) return walk_graph(paths, from, to, out, choose);
  const uint32_t middle = (*pool)[Prng(mix(hash, UINT64_MAX)).below(pool->size())];
  out.push_back(first.trunk);
  walk_graph(paths, first.to, middle, out, choose);
  walk_graph(paths, middle, to, out, choose);
}

/// For each device on a shortest way, the link with which the least busy way begins: its busiest link first, then the
/// sum over its links. Devices nearer to the receiver are settled before those that lead to them.
absl::flat_hash_map<uint32_t, size_t> least_busy(const ShortestPaths& paths, int64_t from, int64_t to,
                                                 const std::function<double(LinkId)>& load) {
  using Busy = std::pair<double, double>;
  absl::flat_hash_map<uint32_t, size_t> choice;
  absl::flat_hash_map<uint32_t, Busy> known{{static_cast<uint32_t>(to), {0, 0}}};
  const bool through = paths.through_ranks(from, to);
  std::vector<ShortestPaths::Next> nexts;
  std::vector<uint32_t> stack{static_cast<uint32_t>(from)};
  while (!stack.empty()) {
    const uint32_t device = stack.back();
    if (known.contains(device)) {
      stack.pop_back();
      continue;
    }
    paths.next(device, to, through, nexts);
    const size_t before = stack.size();
    for (const auto& n : nexts)
      if (!known.contains(n.hop->to)) stack.push_back(n.hop->to);
    if (stack.size() > before) continue;
    Busy best{std::numeric_limits<double>::infinity(), 0};
    for (size_t i = 0; i < nexts.size(); ++i) {
      const double busy = load(nexts[i].hop->trunk);
      const Busy& rest = known.at(nexts[i].hop->to);
      const Busy all{std::max(busy, rest.first), busy + rest.second};
      if (all >= best) continue;
      best = all;
      choice[device] = i;
    }
    known[device] = best;
    stack.pop_back();
  }
  return choice;
}

}  // namespace

const std::array<RoutingRow, 5> kRoutings{{
    {"spread", Routing::spread, "all shortest routes share a message, by the rates of their narrowest links",
     "load balancing packet by packet (spraying), at its best"},
    {"ecmp", Routing::ecmp, "each switch hashes a flow (ranks, group, channel, seed) to one of its shortest next links",
     "equal-cost multipath with N channels (queue pairs) between two ranks"},
    {"single", Routing::single, "the shortest route with the first links of the file", "static routes"},
    {"adaptive", Routing::adaptive, "the least busy shortest route at the start of the message; closed: spread",
     "adaptive routing by flow or flowlet"},
    {"valiant", Routing::valiant,
     "to a random switch with ranks (hashed as by ecmp), then on; closed: the expected shares over all of them",
     "Valiant's randomised routing, of dragonflies against adversarial traffic"},
}};

Result<RoutingOptions> parse_routing(std::string_view text) {
  RoutingOptions options;
  const auto refuse = [&](std::string sentence) { return fail(Code::bad_input, "net.routing", std::move(sentence)); };
  const std::string_view name = text.substr(0, text.find(','));
  const RoutingRow* const row = find_row(kRoutings, name);
  if (!row) return refuse(fmt::format("no routing {}; known: {}", quote(name), names_of(kRoutings)));
  options.kind = row->kind;
  text.remove_prefix(std::min(text.size(), name.size() + 1));
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    uint64_t value = 0;
    if ((key != "channels" && key != "seed") || equals == item.size() || !parse_decimal(item.substr(equals + 1), value))
      return refuse(
          fmt::format("unexpected {} after a routing policy; write, for example, ecmp,channels=4,seed=7", quote(item)));
    if (!options.hashes())
      return refuse(fmt::format("{} applies to ecmp and valiant, not to {}", quote(key), row->name));
    if (key == "seed") {
      options.seed = value;
    } else if (value < 1 || value > kMostChannels) {
      return refuse(fmt::format("{} channels; expected 1 to {}", value, kMostChannels));
    } else {
      options.channels = static_cast<uint32_t>(value);
    }
  }
  return options;
}

// `net.routing` (1): an unknown routing, a number of channels or a seed that cannot be, or a routing that needs
// switches on a network without them
Result<void> check_routing(const Fabric& fabric) {
  if (fabric.routing.kind != Routing::valiant) return {};
  const char* const missing = !fabric.graph                             ? "this network has dimensions"
                              : fabric.devices() == fabric.graph->ranks ? "this network has no switches"
                                                                        : nullptr;
  const auto ranks = static_cast<double>(fabric.size()), devices = static_cast<double>(fabric.devices());
  if (!missing && ranks * (devices - ranks) > static_cast<double>(kMostWays))
    return fail(Code::bad_input, "net.graph.large",
                fmt::format("'valiant' keeps the routes from each switch to all others; a network of {:.0f} ranks and "
                            "{:.0f} switches is too large",
                            ranks, devices - ranks));
  if (!missing) return {};
  return fail(
      Code::bad_input, "net.routing",
      fmt::format("'valiant' sends each message over a random switch of a graph or a whole network, and {}", missing));
}

bool Fabric::has_choice() const {
  if (!graph)
    return std::any_of(dimensions.begin(), dimensions.end(), [](const Dimension& d) { return may_have_two_ways(d); });
  return graph->has_choice;
}

TrunkId Fabric::trunk_count() const {
  return joins_links(*this) ? static_cast<TrunkId>(graph->trunks.trunks.size()) : link_count();
}

Trunk Fabric::trunk(TrunkId id) const {
  if (joins_links(*this)) return graph->trunks.trunks[id];
  const Link one = link(id);
  return {one.bytes_per_s, one.latency_ps, 1};
}

void Fabric::links_of(TrunkId id, std::vector<LinkId>& out) const {
  if (!joins_links(*this)) return out.push_back(id);
  const Trunks& trunks = graph->trunks;
  out.insert(out.end(), trunks.links.begin() + trunks.first[id], trunks.links.begin() + trunks.first[id + size_t{1}]);
}

bool Fabric::spreads_exchanges() const {
  return joins_links(*this) && routing.kind != Routing::valiant && graph->by_trunk->joined_by_switches();
}

void Fabric::add_exchanges(std::span<const int64_t> ranks, size_t extent, std::vector<double>& bytes) const {
  CHAKRA_ASSERT(spreads_exchanges());
  graph->by_trunk->add_exchanges(ranks, extent, bytes);
}

Picoseconds Fabric::uses(int64_t from, int64_t to, uint64_t flow, std::vector<Use>& out) const {
  if (from == to) return 0;
  if (joins_links(*this))
    return routing.kind == Routing::valiant ? graph->valiant_by_trunk->uses(from, to, out)
                                            : graph->by_trunk->uses(from, to, out);
  thread_local Ways ways;
  if (one_way(*this, from, to)) {
    if (graph) {
      ways.links.clear();
      route(from, to, ways.links);
      Picoseconds latency = 0;
      for (const LinkId id : ways.links) {
        out.push_back({id, 1});
        latency = add_saturated(latency, graph->links[id].latency_ps);
      }
      return latency;
    }
    for_each_leg(*this, from, to, [&](const Level& level, int64_t row, int64_t a, int64_t b) {
      walk(level, row, a, b, [&](LinkId id) { out.push_back({id, 1}); });
    });
    return path(from, to).latency_ps;
  }
  if (routing.kind == Routing::adaptive) {
    Fabric spread = *this;
    spread.routing.kind = Routing::spread;
    return spread.uses(from, to, flow, out);
  }
  this->ways(from, to, flow, UINT32_MAX, 0, {}, ways);
  // Parts meet on links: each once, with what all parts make up.
  const size_t begin = out.size();
  Picoseconds longest = 0;
  for (size_t i = 0; i < ways.parts(); ++i) {
    Picoseconds latency = 0;
    for (uint32_t k = ways.first[i]; k < ways.first[i + 1]; ++k) {
      out.push_back({ways.links[k], ways.share(i)});
      latency = add_saturated(latency, link(ways.links[k]).latency_ps);
    }
    longest = std::max(longest, latency);
  }
  const auto first = out.begin() + static_cast<ptrdiff_t>(begin);
  std::sort(first, out.end(), [](const Use& a, const Use& b) { return a.trunk < b.trunk; });
  auto last = first;
  for (auto use = first + 1; use != out.end(); ++use) {
    if (use->trunk == last->trunk) last->share += use->share;
    else *++last = *use;
  }
  out.erase(last + 1, out.end());
  return longest;
}

uint32_t Fabric::link_kinds() const {
  if (graph) return joins_links(*this) ? graph->trunks.kinds : 1;
  uint32_t kinds = 0;
  for_each_level(*this, [&](const Level&) { return ++kinds, false; });
  return kinds;
}

uint32_t Fabric::link_kind(TrunkId id) const {
  if (graph) return joins_links(*this) ? graph->trunks.kind[id] : 0;
  uint32_t kind = 0;
  for_each_level(*this, [&](const Level& level) {
    if (id < level.first_link + level.rows * level.links) return true;
    return ++kind, false;
  });
  return kind;
}

std::vector<double> Fabric::rates_by_kind() const {
  std::vector<double> rates(link_kinds(), 0);
  if (graph) {
    for (TrunkId t = 0; t < trunk_count(); ++t) rates[link_kind(t)] += trunk(t).bytes_per_s;
    return rates;
  }
  size_t kind = 0;
  for_each_level(*this, [&](const Level& level) {
    rates[kind++] = static_cast<double>(level.rows * level.links) * level.dimension->bytes_per_s();
    return false;
  });
  for (const OddLink& odd : odd_links) {
    const uint32_t k = link_kind(odd.link);
    const auto& dimension =
        *std::find_if(dimensions.begin(), dimensions.end(),
                      [k, seen = 0u](const Dimension& d) mutable { return d.ranks > 1 && seen++ == k; });
    rates[k] += odd.bytes_per_s - dimension.bytes_per_s();
  }
  return rates;
}

Path Fabric::alone(int64_t from, int64_t to, uint64_t flow) const {
  if (one_way(*this, from, to)) return path(from, to);
  thread_local std::vector<Use> used;
  used.clear();
  Path path;
  path.latency_ps = uses(from, to, flow, used);
  for (const Use& use : used) path.bytes_per_s = std::min(path.bytes_per_s, trunk(use.trunk).bytes_per_s / use.share);
  return path;
}

void Fabric::ways(int64_t from, int64_t to, uint64_t flow, uint32_t most, uint64_t turn,
                  const std::function<double(LinkId)>& load, Ways& out) const {
  out.clear();
  if (from == to) return;
  const auto add = [&](Chooser chooser) {
    if (graph)
      walk_graph(*graph->by_link, from, to, out.links, [&](uint32_t device, const auto& nexts) {
        return chooser(
            device, nexts.size(), [&](size_t i) -> const auto& { return nexts[i]; });
      });
    else
      walk_dimensions(*this, from, to, out.links, [&](const Level& level, int64_t row, int64_t a, int64_t b) {
        const auto both = ring_ways(*this, level, row, a, b);
        return chooser(static_cast<uint64_t>(level.device_at(row, a)), 2, [&](size_t i) { return both[i]; }) == 1;
      });
    out.first.push_back(static_cast<uint32_t>(out.links.size()));
    return chooser.share;
  };
  switch (one_way(*this, from, to) ? Routing::single : routing.kind) {
    case Routing::single:
      route(from, to, out.links);
      out.first.push_back(static_cast<uint32_t>(out.links.size()));
      return;
    case Routing::ecmp: {
      const uint64_t key = flow_key(routing, from, to, flow);
      for (uint32_t c = 0; c < routing.channels; ++c) add({.hashes = true, .hash = mix(key, c)});
      return;
    }
    case Routing::valiant: {
      const uint64_t key = flow_key(routing, from, to, flow);
      for (uint32_t c = 0; c < routing.channels; ++c) {
        walk_valiant(*graph, from, to, mix(key, c), out.links);
        out.first.push_back(static_cast<uint32_t>(out.links.size()));
      }
      return;
    }
    case Routing::spread: {
      const double all = graph ? graph->by_link->paths(from, to) : ways_of(*this, from, to);
      const auto parts = static_cast<uint32_t>(std::min<double>(all, most));
      // With fewer parts than routes, later messages begin elsewhere: the golden ratio spreads them evenly.
      const double golden = static_cast<double>(turn) * 0.6180339887498949;
      const double shift = parts < all ? golden - std::floor(golden) : 0.5;
      const bool each = parts == all;
      for (uint32_t i = 0; i < parts; ++i) {
        const double share = add({.fraction = (i + shift) / parts, .each = each});
        if (each) out.shares.push_back(share);
      }
      const auto [least, largest] = std::minmax_element(out.shares.begin(), out.shares.end());
      if (each && *largest - *least <= 1e-9 * *largest) out.shares.clear();  // equal but for rounding
      return;
    }
    case Routing::adaptive:
      if (graph) {
        const auto choice = least_busy(*graph->by_link, from, to, load);
        walk_graph(*graph->by_link, from, to, out.links,
                   [&](uint32_t device, const auto&) { return choice.at(device); });
      } else {
        walk_dimensions(*this, from, to, out.links, [&](const Level& level, int64_t row, int64_t a, int64_t b) {
          std::pair<double, double> up, down;
          const auto onto = [&](std::pair<double, double>& busy) {
            return [&](LinkId id) { busy = {std::max(busy.first, load(id)), busy.second + load(id)}; };
          };
          walk(level, row, a, b, onto(up));
          walk_down(level, row, a, b, onto(down));
          return down < up;
        });
      }
      out.first.push_back(static_cast<uint32_t>(out.links.size()));
  }
}

}  // namespace chakra::net
