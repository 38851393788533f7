// Fabrics: devices, links and paths.
#include "chakra/net/net.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "chakra/net/axes.h"
#include "chakra/net/graph.h"
#include "chakra/net/levels.h"

namespace chakra::net {
namespace {

/// The first odd link that is not before `link`.
auto first_odd(const Fabric& fabric, LinkId link) {
  return std::lower_bound(fabric.odd_links.begin(), fabric.odd_links.end(), link,
                          [](const OddLink& odd, LinkId id) { return odd.link < id; });
}

bool has_odd_links(const Fabric& fabric, const Level& level, int64_t row) {
  if (fabric.odd_links.empty()) return false;
  const auto odd = first_odd(fabric, level.link_at(row, 0));
  return odd != fabric.odd_links.end() && odd->link < level.link_at(row, 0) + level.links;
}

}  // namespace

Picoseconds serialization(uint64_t bytes, double bytes_per_s) {
  return picoseconds(static_cast<double>(bytes) / bytes_per_s);
}

int64_t Fabric::size() const {
  if (graph) return graph->ranks;
  int64_t size = 1;
  for (const Dimension& dimension : dimensions) size *= dimension.ranks;
  return size;
}

std::vector<Axis> Fabric::axes() const {
  if (graph) return graph->axes;
  std::vector<Axis> axes;
  for (const Dimension& d : dimensions) add_axis(axes, d.ranks, d.topology().form);
  return axes;
}

int64_t Fabric::devices() const {
  if (graph) return static_cast<int64_t>(graph->names.size());
  int64_t devices = size();
  for_each_level(*this, [&](const Level& level) {
    devices += level.switches;
    return false;
  });
  return devices;
}

std::string Fabric::device_name(uint32_t device) const {
  if (graph) return graph->names[device];
  const int64_t number = device - size();
  return number < 0 ? fmt::format("{}", device) : fmt::format("switch {}", number);
}
std::string Fabric::link_name(LinkId id) const {
  const Link of = link(id);
  return fmt::format("{} -> {}", device_name(of.from), device_name(of.to));
}

const Reduction* Fabric::reduction(int64_t device) const {
  const int64_t number = device - size();
  if (reductions.empty() || number < 0) return nullptr;
  const Reduction* found = nullptr;
  if (graph) found = &reductions[static_cast<size_t>(number)];
  else
    for_each_level(*this, [&](const Level& level) {
      if (device < level.first_switch || device >= level.first_switch + level.switches) return false;
      found = &reductions[static_cast<size_t>(level.dimension - dimensions.data())];
      return true;
    });
  return found && found->bytes_per_s > 0 ? found : nullptr;
}

LinkId Fabric::link_count() const {
  if (graph) return static_cast<LinkId>(graph->links.size());
  int64_t count = 0;
  for_each_level(*this, [&](const Level& level) {
    count += level.rows * level.links;
    return false;
  });
  return static_cast<LinkId>(count);
}

Link Fabric::link(LinkId id) const {
  if (graph) return graph->links[id];
  Link link;
  for_each_level(*this, [&](const Level& level) {
    const int64_t number = id - level.first_link;
    if (number >= level.rows * level.links) return false;
    const int64_t row = number / level.links;
    const auto [a, b] = level.topology().ends(number % level.links, level.ranks);
    link = {static_cast<uint32_t>(level.device_at(row, a)), static_cast<uint32_t>(level.device_at(row, b)),
            level.dimension->bytes_per_s(), level.dimension->latency_ps()};
    return true;
  });
  if (const auto odd = first_odd(*this, id); odd != odd_links.end() && odd->link == id) {
    link.bytes_per_s = odd->bytes_per_s;
    link.latency_ps = odd->latency_ps;
  }
  return link;
}

LinkId Fabric::link_between(int64_t from, int64_t to) const {
  const int64_t count = devices(), ranks = size();
  if (from < 0 || to < 0 || from >= count || to >= count || from == to) return kNoLink;
  if (graph) return graph->between(from, to);
  LinkId found = kNoLink;
  for_each_level(*this, [&](const Level& level) {
    struct Stand {
      int64_t row, place;
    };
    const auto stand = [&](int64_t device) -> std::optional<Stand> {
      if (device < ranks) return Stand{level.row_of(device), level.place_of(device)};
      const int64_t row = device - level.first_switch;
      return row >= 0 && row < level.switches ? std::optional(Stand{row, level.ranks}) : std::nullopt;
    };
    const auto a = stand(from), b = stand(to);
    if (!a || !b || a->row != b->row) return false;
    const int64_t link = level.topology().between(a->place, b->place, level.ranks);
    if (link >= 0) found = level.link_at(a->row, link);
    return true;
  });
  return found;
}

Path Fabric::path(int64_t from, int64_t to) const {
  Path path;
  if (graph) {
    thread_local std::vector<LinkId> links;
    links.clear();
    route(from, to, links);
    for (const LinkId id : links) {
      path.latency_ps = add_saturated(path.latency_ps, graph->links[id].latency_ps);
      path.bytes_per_s = std::min(path.bytes_per_s, graph->links[id].bytes_per_s);
    }
    if (!links.empty()) path.first = links.front(), path.last = links.back();
    path.links = static_cast<uint32_t>(links.size());
    return path;
  }
  for_each_leg(*this, from, to, [&](const Level& level, int64_t row, int64_t a, int64_t b) {
    const TopologyRow& topology = level.topology();
    const int64_t n = level.ranks;
    if (path.first == kNoLink) path.first = level.link_at(row, topology.between(a, topology.next(a, b, n), n));
    path.last = level.link_at(row, topology.between(topology.previous(a, b, n), b, n));
    const int64_t hops = topology.hops(a, b, n);
    path.links += static_cast<uint32_t>(hops);
    const auto add = [&](int64_t times, Picoseconds latency, double rate) {
      Picoseconds sum = 0;
      if (__builtin_mul_overflow(latency, times, &sum)) sum = kLongestPs;
      path.latency_ps = add_saturated(path.latency_ps, sum);
      path.bytes_per_s = std::min(path.bytes_per_s, rate);
    };
    if (!has_odd_links(*this, level, row))
      return add(hops, level.dimension->latency_ps(), level.dimension->bytes_per_s());
    walk(level, row, a, b, [&](LinkId id) {
      const Link one = link(id);
      add(1, one.latency_ps, one.bytes_per_s);
    });
  });
  return path;
}

void Fabric::route(int64_t from, int64_t to, std::vector<LinkId>& out) const {
  if (graph) return graph->by_link->first_path(from, to, out);
  for_each_leg(*this, from, to, [&](const Level& level, int64_t row, int64_t a, int64_t b) {
    walk(level, row, a, b, [&](LinkId id) { out.push_back(id); });
  });
}

std::vector<int64_t> Fabric::placement(std::span<const int64_t> ranks) const {
  if (!odd_links.empty() || ranks.empty()) return {ranks.begin(), ranks.end()};
  std::vector<int64_t> out(ranks.size(), 0);
  int64_t weight = 1;
  if (graph) {
    const bool spreads = routing.kind != Routing::ecmp && routing.kind != Routing::single;
    if (!(spreads || !has_choice())) return {ranks.begin(), ranks.end()};
    if (!graph->places) {  // turned so that the first rank is the first of its orbit
      if (graph->turns.empty()) return {ranks.begin(), ranks.end()};
      const Turns::Steps steps = graph->turns.place(static_cast<uint32_t>(ranks[0]));
      for (size_t i = 0; i < ranks.size(); ++i)
        out[i] = graph->turns.turned(static_cast<uint32_t>(ranks[i]), steps, true);
      return out;
    }
    for (size_t level = 0; level < graph->places->children.size(); ++level) {
      const std::vector<uint32_t>& place = graph->places->place[level];
      const int64_t n = graph->places->children[level], first = place[static_cast<size_t>(ranks[0])];
      for (size_t i = 0; i < ranks.size(); ++i) {
        const int64_t apart = place[static_cast<size_t>(ranks[i])] - first;
        out[i] += weight * (apart < 0 ? apart + n : apart);
      }
      weight *= n;
    }
    return out;
  }
  for_each_level(*this, [&](const Level& level) {
    const int64_t n = level.ranks, first = level.place_of(ranks[0]);
    // On a line the order of the places matters; elsewhere all places are equivalent.
    const bool line = level.topology().form == RowForm::line;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const int64_t apart = level.place_of(ranks[i]) - first;
      out[i] += weight * (line ? apart + n - 1 : apart < 0 ? apart + n : apart);
    }
    weight *= line ? 2 * n - 1 : n;
    return false;
  });
  return out;
}

std::string Fabric::describe() const {
  if (graph)
    return fmt::format("{} of {} ranks, {} switches, {} links", graph->title, graph->ranks,
                       static_cast<int64_t>(graph->names.size()) - graph->ranks, graph->links.size());
  std::string out;
  for (const Dimension& d : dimensions)
    out += fmt::format("{}{} of {}, {:g} GiB/s ({}), {:g} ns per link", out.empty() ? "" : "; ", d.topology().name,
                       d.ranks, d.gib_per_s, show_rate(d.bytes_per_s()), d.latency_ns);
  if (!odd_links.empty()) out += fmt::format("; {} links differ from the others", odd_links.size());
  return out;
}

}  // namespace chakra::net
