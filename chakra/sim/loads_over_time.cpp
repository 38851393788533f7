#include "chakra/sim/loads_over_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace chakra::sim {
namespace {

constexpr double kEqualLoad = 1e-4;  ///< of a link's rate
constexpr Picoseconds kLoadIntervals = net::HistoryKeeper::kIntervals;

Picoseconds length_of(size_t interval, Picoseconds interval_ps, Picoseconds until) {
  const Picoseconds start = static_cast<Picoseconds>(interval) * interval_ps;
  return std::clamp<Picoseconds>(until - start, 0, interval_ps);
}

double time_loaded(const LinkLoadsOverTime& link, Picoseconds interval_ps, Picoseconds until) {
  double loaded = 0;
  for (size_t i = 0; i < link.mean.size(); ++i)
    loaded += link.mean[i] * static_cast<double>(length_of(i, interval_ps, until));
  return loaded;
}

/// Intervals with equal loads are one piece.
void add_pieces(const LinkLoadsOverTime& link, Picoseconds interval_ps, Picoseconds until,
                std::vector<LoadPiece>& out) {
  const size_t first = out.size();
  for (size_t i = 0; i < link.mean.size(); ++i) {
    const Picoseconds start = static_cast<Picoseconds>(i) * interval_ps, length = length_of(i, interval_ps, until);
    if (length == 0 || link.mean[i] <= 0) continue;
    const std::optional<double> peak = link.peak.empty() ? std::nullopt : std::optional(link.peak[i]);
    if (out.size() > first && out.back().end_ps == start && std::abs(out.back().share - link.mean[i]) < 1e-9 &&
        out.back().peak == peak)
      out.back().end_ps = start + length;
    else out.push_back({link.link, link.links, start, start + length, link.mean[i], peak});
  }
}

}  // namespace

LoadsOverTime loads_over_time(std::vector<LinkLoadsOverTime> links, Picoseconds interval_ps, Picoseconds until) {
  LoadsOverTime out;
  std::map<std::vector<int64_t>, size_t> known;
  std::vector<LinkLoadsOverTime> distinct;
  for (LinkLoadsOverTime& link : links) {
    out.links += link.links;
    std::vector<int64_t> key;
    for (const std::vector<double>* loads : {&link.mean, &link.peak})
      for (const double share : *loads) key.push_back(std::llround(std::min(share, 1e9) / kEqualLoad));
    const auto [at, added] = known.try_emplace(std::move(key), distinct.size());
    if (added) distinct.push_back(std::move(link));
    else distinct[at->second].links += link.links;
  }
  std::vector<double> loaded;
  for (const LinkLoadsOverTime& link : distinct) loaded.push_back(time_loaded(link, interval_ps, until));
  std::vector<size_t> order(distinct.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return loaded[a] > loaded[b]; });
  if (order.size() > kMostLoadedLinks) order.resize(kMostLoadedLinks);
  for (const size_t at : order) add_pieces(distinct[at], interval_ps, until, out.busiest);
  return out;
}

LoadsOverTime loads_over_time(const net::Fabric& fabric, const net::LinkHistory& history, Picoseconds until) {
  std::vector<LinkLoadsOverTime> links;
  for (const net::LinkHistory::Row& row : history.rows) {
    const net::Link link = fabric.link(row.link);
    LinkLoadsOverTime& made = links.emplace_back();
    made.link = fabric.link_name(row.link);
    made.links = row.links;
    for (size_t i = 0; i < row.bytes.size(); ++i) {
      const Picoseconds length = length_of(i, history.interval_ps, until);
      const double most =
          link.bytes_per_s * static_cast<double>(row.links) * static_cast<double>(length) / kPsPerSecond;
      made.mean.push_back(length > 0 ? row.bytes[i] / most : 0);
    }
  }
  LoadsOverTime out = loads_over_time(std::move(links), history.interval_ps, until);
  out.sampled = history.cut;
  return out;
}

Picoseconds load_interval(Picoseconds until) { return std::max<Picoseconds>(1, until / kLoadIntervals + 1); }

}  // namespace chakra::sim
