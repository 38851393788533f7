#include "chakra/net/trunks.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace chakra::net {
namespace {

constexpr int kMostRounds = 64;

/// Classes of devices, numbered by their first device: the coarsest equitable partition (colour refinement).
std::vector<uint32_t> classes_of(uint32_t ranks, uint32_t devices, const std::vector<Link>& links,
                                 const std::vector<uint32_t>& groups) {
  using End = std::array<int64_t, 4>;  // which way, class at the other end, rate, latency
  std::vector<uint32_t> color(devices);
  for (uint32_t d = 0; d < devices; ++d) color[d] = d < ranks ? d : ranks + (groups.empty() ? 0 : groups[d]);
  size_t count = 0;
  std::vector<std::vector<End>> ends(devices);
  std::vector<int64_t> key;
  for (int round = 0; round < kMostRounds; ++round) {
    for (auto& of_device : ends) of_device.clear();
    for (const Link& link : links) {
      const auto rate = std::bit_cast<int64_t>(link.bytes_per_s);
      ends[link.from].push_back({0, color[link.to], rate, link.latency_ps});
      ends[link.to].push_back({1, color[link.from], rate, link.latency_ps});
    }
    absl::flat_hash_map<std::vector<int64_t>, uint32_t> numbers;
    std::vector<uint32_t> refined(devices);
    for (uint32_t d = 0; d < devices; ++d) {
      key.assign(1, color[d]);
      if (d >= ranks) {
        std::sort(ends[d].begin(), ends[d].end());
        for (const End& end : ends[d]) key.insert(key.end(), end.begin(), end.end());
      }
      refined[d] = numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
    }
    color = std::move(refined);
    if (numbers.size() == count) return color;
    count = numbers.size();
  }
  std::iota(color.begin(), color.end(), 0u);
  return color;
}

}  // namespace

std::vector<Hop> each_link(const std::vector<Link>& links) {
  std::vector<Hop> hops;
  hops.reserve(links.size());
  for (const Link& link : links)
    hops.push_back({link.from, link.to, static_cast<LinkId>(hops.size()), 1, link.latency_ps});
  return hops;
}

Trunks find_trunks(int64_t ranks, uint32_t devices, const std::vector<Link>& links,
                   const std::vector<uint32_t>& groups) {
  Trunks found;
  found.of = classes_of(static_cast<uint32_t>(ranks), devices, links, groups);
  const std::vector<uint32_t>& color = found.of;
  std::vector<uint32_t>& size = found.size;
  for (const uint32_t c : color) {
    if (c >= size.size()) size.resize(c + size_t{1}, 0);
    ++size[c];
  }
  found.devices = static_cast<uint32_t>(size.size());
  absl::flat_hash_map<std::array<int64_t, 4>, LinkId> numbers;
  std::vector<LinkId> trunk_of;
  for (const Link& link : links) {
    const auto rate = std::bit_cast<int64_t>(link.bytes_per_s);
    const auto [known, added] = numbers.try_emplace({color[link.from], color[link.to], rate, link.latency_ps},
                                                    static_cast<LinkId>(found.trunks.size()));
    if (added) {
      found.trunks.push_back({0, link.latency_ps, 0});
      found.hops.push_back({color[link.from], color[link.to], known->second, 0, link.latency_ps});
    }
    found.trunks[known->second].bytes_per_s += link.bytes_per_s;
    ++found.trunks[known->second].links;
    trunk_of.push_back(known->second);
  }
  absl::flat_hash_map<std::array<int64_t, 3>, uint32_t> kinds;
  for (const Trunk& t : found.trunks)
    found.kind.push_back(kinds
                             .try_emplace({std::bit_cast<int64_t>(t.bytes_per_s), t.latency_ps, int64_t{t.links}},
                                          static_cast<uint32_t>(kinds.size()))
                             .first->second);
  found.kinds = static_cast<uint32_t>(kinds.size());
  found.first.assign(found.trunks.size() + 1, 0);
  for (size_t t = 0; t < found.trunks.size(); ++t) {
    found.hops[t].count = found.trunks[t].links / size[found.hops[t].from];
    found.first[t + 1] = found.first[t] + found.trunks[t].links;
  }
  found.links.resize(links.size());
  std::vector<uint32_t> at(found.first.begin(), found.first.end() - 1);
  for (LinkId l = 0; l < links.size(); ++l) found.links[at[trunk_of[l]]++] = l;
  return found;
}

}  // namespace chakra::net
