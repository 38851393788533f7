#include "chakra/net/graph.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace chakra::net {
namespace {

/// Links grouped by a device: a counting sort, which keeps links in order.
template <class Device>
void group(const std::vector<Link>& links, size_t devices, const Device& device, std::vector<LinkId>& grouped,
           std::vector<uint32_t>& first) {
  first.assign(devices + 1, 0);
  for (const Link& link : links) ++first[device(link) + 1];
  for (size_t d = 0; d < devices; ++d) first[d + 1] += first[d];
  grouped.resize(links.size());
  std::vector<uint32_t> at(first.begin(), first.end() - 1);
  for (size_t l = 0; l < links.size(); ++l) grouped[at[device(links[l])]++] = static_cast<LinkId>(l);
}

/// Marks what can be reached from rank 0 over links grouped by device, whose other end `end` tells.
template <class End>
std::vector<bool> reached(const std::vector<LinkId>& grouped, const std::vector<uint32_t>& first, const End& end) {
  std::vector<bool> seen(first.size() - 1);
  std::vector<uint32_t> todo{0};
  seen[0] = true;
  while (!todo.empty()) {
    const uint32_t device = todo.back();
    todo.pop_back();
    for (uint32_t i = first[device]; i < first[device + 1]; ++i)
      if (const uint32_t other = end(grouped[i]); !seen[other]) {
        seen[other] = true;
        todo.push_back(other);
      }
  }
  return seen;
}

}  // namespace

Graph::~Graph() {
  for (auto& ways : ways_) delete ways.load();
}

void Graph::finish() {
  group(
      links, names.size(), [](const Link& link) { return link.from; }, out, out_first);
  group(
      links, names.size(), [](const Link& link) { return link.to; }, in, in_first);
  ways_ = std::vector<std::atomic<const Ways*>>(static_cast<size_t>(ranks));
}

std::pair<int64_t, int64_t> Graph::unreachable() const {
  // All ranks reach each other if rank 0 reaches all and all reach rank 0.
  const auto from_first = reached(out, out_first, [&](LinkId l) { return links[l].to; });
  const auto to_first = reached(in, in_first, [&](LinkId l) { return links[l].from; });
  for (int64_t r = 0; r < ranks; ++r) {
    if (!from_first[static_cast<size_t>(r)]) return {0, r};
    if (!to_first[static_cast<size_t>(r)]) return {r, 0};
  }
  return {-1, -1};
}

LinkId Graph::between(int64_t from, int64_t to) const {
  const auto device = static_cast<size_t>(from);
  for (uint32_t i = out_first[device]; i < out_first[device + 1]; ++i)
    if (links[out[i]].to == to) return out[i];
  return kNoLink;
}

std::unique_ptr<const Graph::Ways> Graph::find_ways(int64_t rank) const {
  auto found = std::make_unique<Ways>(names.size());
  Ways& ways = *found;
  for (Way& way : ways) way.latency_ps = kNever;
  // Away from the rank, against the links: what is least far is settled first.
  using Candidate = std::tuple<Picoseconds, uint32_t, uint32_t>;  // latency, links, device
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto start = static_cast<uint32_t>(rank);
  ways[start].latency_ps = 0;
  candidates.emplace(0, 0, start);
  while (!candidates.empty()) {
    const auto [latency, count, device] = candidates.top();
    candidates.pop();
    if (latency != ways[device].latency_ps || count != ways[device].links) continue;
    for (uint32_t i = in_first[device]; i < in_first[device + 1]; ++i) {
      const LinkId id = in[i];
      const Link& link = links[id];
      Way& way = ways[link.from];
      const Picoseconds through = add_saturated(latency, link.latency_ps);
      const auto better = std::tuple(through, count + 1, id) <=> std::tuple(way.latency_ps, way.links, way.next);
      if (link.from == start || better >= 0) continue;
      const bool nearer = through != way.latency_ps || count + 1 != way.links;
      const Way& rest = ways[device];
      way = {through, id, device == start ? id : rest.last,
             device == start || link.bytes_per_s < links[rest.narrowest].bytes_per_s ? id : rest.narrowest, count + 1};
      if (nearer) candidates.emplace(through, count + 1, link.from);
    }
  }
  return found;
}

const Graph::Ways& Graph::ways_to(int64_t rank) const {
  std::atomic<const Ways*>& place = ways_[static_cast<size_t>(rank)];
  if (const Ways* known = place.load(std::memory_order_acquire)) return *known;
  auto found = find_ways(rank);
  const Ways* expected = nullptr;
  if (place.compare_exchange_strong(expected, found.get(), std::memory_order_acq_rel)) return *found.release();
  return *expected;
}

Path Graph::path(int64_t from, int64_t to) const {
  if (from == to) return {};
  const Way& way = ways_to(to)[static_cast<size_t>(from)];
  return {way.latency_ps, links[way.narrowest].bytes_per_s, way.next, way.last, way.links};
}

void Graph::route(int64_t from, int64_t to, std::vector<LinkId>& out_links) const {
  const Ways& ways = ways_to(to);
  for (auto device = static_cast<uint32_t>(from); device != to; device = links[out_links.back()].to)
    out_links.push_back(ways[device].next);
}

}  // namespace chakra::net
