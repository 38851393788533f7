#include "chakra/net/change.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/base/times.h"
#include "chakra/net/graph.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

/// Bandwidth and latency, which identical links of a graph have in common.
using Likeness = std::pair<double, Picoseconds>;

std::map<Likeness, int64_t> likenesses(const Graph& graph) {
  std::map<Likeness, int64_t> classes;
  for (const Link& link : graph.links) ++classes[{link.bytes_per_s, link.latency_ps}];
  return classes;
}

std::vector<uint32_t> real_dimensions(const Fabric& fabric) {
  std::vector<uint32_t> real;
  for (uint32_t d = 0; d < fabric.dimensions.size(); ++d)
    if (fabric.dimensions[d].ranks > 1) real.push_back(d);
  return real;
}

/// A graph of the links for which change(link) is true, as it leaves them. `alike`: equal links stay equal.
template <class Change>
std::shared_ptr<Graph> changed_graph(const Fabric& fabric, bool alike, const Change& change) {
  auto graph = std::make_shared<Graph>();
  graph->ranks = fabric.size();
  graph->axes = fabric.axes();
  if (fabric.graph) {
    graph->title = fabric.graph->title;
    graph->names = fabric.graph->names;
    graph->groups = fabric.graph->groups;
    graph->metric = fabric.graph->metric;
    graph->forwarding = fabric.graph->forwarding;
    if (alike) graph->turns = fabric.graph->turns;
  } else {
    for (int64_t d = 0; d < fabric.devices(); ++d) graph->names.push_back(fabric.device_name(static_cast<uint32_t>(d)));
  }
  for (LinkId id = 0; id < fabric.link_count(); ++id)
    if (Link link = fabric.link(id); change(link)) graph->links.push_back(link);
  graph->finish();
  return graph;
}

Fabric on_graph(const Fabric& fabric, std::shared_ptr<Graph> graph) {
  Fabric changed;
  if (!fabric.reductions.empty())
    for (int64_t device = fabric.size(); device < fabric.devices(); ++device) {
      const Reduction* reduction = fabric.reduction(device);
      changed.reductions.push_back(reduction ? *reduction : Reduction{});
    }
  graph->forget_places(changed.reductions);
  changed.graph = std::move(graph);
  changed.routing = fabric.routing;
  changed.burst_bytes = fabric.burst_bytes;
  return changed;
}

bool joins(const Link& link, const std::pair<uint32_t, uint32_t>& ends) {
  return (link.from == ends.first && link.to == ends.second) || (link.from == ends.second && link.to == ends.first);
}

/// By name or number; -1: none.
int64_t device_of(const Fabric& fabric, std::string_view text) {
  int64_t number = 0;
  if (parse_decimal(text, number)) return number < fabric.devices() ? number : -1;
  for (int64_t d = 0; d < fabric.devices(); ++d)
    if (fabric.device_name(static_cast<uint32_t>(d)) == text) return d;
  return -1;
}

/// A change of one link leaves ranks in different places, so that ways to each are kept.
Result<void> check_ways(const Fabric& fabric) {
  const auto ranks = static_cast<double>(fabric.size()), devices = static_cast<double>(fabric.devices());
  const bool by_switches = fabric.graph && fabric.graph->by_link->joined_by_switches();
  if (ranks * (by_switches ? devices - ranks : devices) <= static_cast<double>(kMostWays)) return {};
  return fail(Code::bad_input, "net.graph.large",
              fmt::format("a network of {} ranks and {} devices is too large to compute routes with one changed link",
                          fabric.size(), fabric.devices()));
}

}  // namespace

std::vector<LinkClass> link_classes(const Fabric& fabric) {
  std::vector<LinkClass> classes;
  if (fabric.graph) {
    for (const auto& [like, links] : likenesses(*fabric.graph))
      classes.push_back({fmt::format("{}, {}", show_rate(like.first), show_time(like.second)), links});
    return classes;
  }
  for (const uint32_t d : real_dimensions(fabric)) {
    const Dimension& dimension = fabric.dimensions[d];
    classes.push_back({fmt::format("dimension {} ({})", d, dimension.topology().name),
                       fabric.size() / dimension.ranks * dimension.topology().links(dimension.ranks)});
  }
  return classes;
}

Fabric with_class(const Fabric& fabric, size_t link_class, double rate_factor, double latency_factor) {
  if (fabric.graph) {
    auto like = likenesses(*fabric.graph).begin()->first;
    size_t at = 0;
    for (const auto& [key, links] : likenesses(*fabric.graph))
      if (at++ == link_class) like = key;
    return on_graph(fabric, changed_graph(fabric, true, [&](Link& link) {
                      if (Likeness{link.bytes_per_s, link.latency_ps} == like) {
                        link.bytes_per_s *= rate_factor;
                        link.latency_ps = times(link.latency_ps, latency_factor);
                      }
                      return true;
                    }));
  }
  const uint32_t d = real_dimensions(fabric)[link_class];
  Fabric changed = fabric;
  changed.dimensions[d].gib_per_s *= rate_factor;
  changed.dimensions[d].latency_ns *= latency_factor;
  int64_t first = 0;
  for (const uint32_t before : real_dimensions(fabric)) {
    const Dimension& dimension = fabric.dimensions[before];
    const int64_t links = fabric.size() / dimension.ranks * dimension.topology().links(dimension.ranks);
    if (before == d)
      for (OddLink& odd : changed.odd_links)
        if (odd.link >= first && odd.link < first + links) {
          odd.bytes_per_s *= rate_factor;
          odd.latency_ps = times(odd.latency_ps, latency_factor);
        }
    first += links;
  }
  for (CollectiveFit& fit : changed.fits)
    if (fit.dimension == d)
      for (ProtocolFit& protocol : fit.protocols) {
        protocol.wire_gib_per_s *= rate_factor;
        protocol.step_ns *= latency_factor;
      }
  return changed;
}

// `net.change.link` (1): devices that do not exist, or that no link joins
// `net.change.fits` (1): a link of a network with measured collectives, which were measured on whole links
Result<std::pair<uint32_t, uint32_t>> find_link(const Fabric& fabric, std::string_view text) {
  if (!fabric.fits.empty())
    return fail(Code::bad_input, "net.change.fits",
                "the network's measured collectives do not depend on single links; leave out 'collectives'");
  for (size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    const int64_t from = device_of(fabric, text.substr(0, dash)), to = device_of(fabric, text.substr(dash + 1));
    if (from < 0 || to < 0) continue;
    if (fabric.link_between(from, to) != kNoLink || fabric.link_between(to, from) != kNoLink)
      return std::pair(static_cast<uint32_t>(from), static_cast<uint32_t>(to));
    return fail(Code::bad_input, "net.change.link",
                fmt::format("no link joins {} and {}", quote(text.substr(0, dash)), quote(text.substr(dash + 1))));
  }
  return fail(Code::bad_input, "net.change.link",
              fmt::format("{} does not name two devices of the network, such as 0-1 or 0-switch 0", quote(text)));
}

Result<Fabric> with_slow_link(const Fabric& fabric, std::pair<uint32_t, uint32_t> ends, double rate_factor) {
  if (fabric.graph) {
    CHAKRA_TRY(check_ways(fabric));
    return on_graph(fabric, changed_graph(fabric, false, [&](Link& link) {
                      if (joins(link, ends)) link.bytes_per_s *= rate_factor;
                      return true;
                    }));
  }
  Fabric changed = fabric;
  for (const auto& [from, to] : {ends, std::pair(ends.second, ends.first)}) {
    const LinkId id = fabric.link_between(from, to);
    if (id == kNoLink) continue;
    const Link link = fabric.link(id);
    std::erase_if(changed.odd_links, [&](const OddLink& odd) { return odd.link == id; });
    changed.odd_links.push_back({id, link.bytes_per_s * rate_factor, link.latency_ps});
  }
  std::sort(changed.odd_links.begin(), changed.odd_links.end(),
            [](const OddLink& a, const OddLink& b) { return a.link < b.link; });
  return changed;
}

Result<Fabric> with_links(const Fabric& fabric, std::span<const OddLink> links) {
  std::map<LinkId, const OddLink*> set;
  for (const OddLink& link : links) set[link.link] = &link;
  if (fabric.graph) {
    CHAKRA_TRY(check_ways(fabric));
    LinkId id = 0;  // changed_graph visits the links in this order
    return on_graph(fabric, changed_graph(fabric, false, [&](Link& link) {
                      if (const auto found = set.find(id++); found != set.end()) {
                        link.bytes_per_s = found->second->bytes_per_s;
                        link.latency_ps = found->second->latency_ps;
                      }
                      return true;
                    }));
  }
  Fabric changed = fabric;
  std::erase_if(changed.odd_links, [&](const OddLink& odd) { return set.contains(odd.link); });
  Fabric even = fabric;
  even.odd_links.clear();
  for (const auto& [id, odd] : set) {
    const Link usual = even.link(id);
    if (usual.bytes_per_s != odd->bytes_per_s || usual.latency_ps != odd->latency_ps) changed.odd_links.push_back(*odd);
  }
  std::sort(changed.odd_links.begin(), changed.odd_links.end(),
            [](const OddLink& a, const OddLink& b) { return a.link < b.link; });
  return changed;
}

Result<Fabric> without_link(const Fabric& fabric, std::pair<uint32_t, uint32_t> ends) {
  CHAKRA_TRY(check_ways(fabric));
  const std::shared_ptr<Graph> graph =
      changed_graph(fabric, false, [&](const Link& link) { return !joins(link, ends); });
  if (const auto [from, to] = graph->by_link->unreachable(); from >= 0)
    return fail(Code::bad_input, "net.graph.unreachable",
                fmt::format("without the link no route leads from rank {} to rank {}", from, to));
  return on_graph(fabric, graph);
}

Fabric as_graph(const Fabric& fabric) {
  return fabric.graph ? fabric : on_graph(fabric, changed_graph(fabric, true, [](const Link&) { return true; }));
}

}  // namespace chakra::net
