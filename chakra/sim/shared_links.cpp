#include "chakra/sim/shared_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <queue>

namespace chakra::sim {
namespace {

constexpr double kShareRounding = 1e-6;  ///< of shares
constexpr size_t kMostCombined = 6;      ///< loads that come and go, beyond which the others count by their mean
constexpr size_t kMostLinksNamed = 8;

struct Asked {
  double mean = 0, peak = 0;
  Picoseconds since = 0;
};

/// How much more than its whole rate a link is asked for, on average, by loads that are at their peak for a part of the
/// time and away for the rest of it, independently of each other.
double excess_by_chance(std::vector<Asked>& loads) {
  double always = 0, peaks = 0;
  std::erase_if(loads, [&](const Asked& a) {
    peaks += a.peak;
    if (a.mean < a.peak * (1 - kShareRounding)) return false;
    always += a.mean;
    return true;
  });
  if (peaks <= 1 + kShareRounding) return 0;
  if (loads.size() > kMostCombined)
    std::sort(loads.begin(), loads.end(), [](const Asked& a, const Asked& b) { return a.peak > b.peak; });
  for (; loads.size() > kMostCombined; loads.pop_back()) always += loads.back().mean;
  double excess = 0;
  for (size_t set = 0; set < size_t{1} << loads.size(); ++set) {
    double probability = 1, sum = always;
    for (size_t i = 0; i < loads.size(); ++i) {
      const double part = loads[i].mean / loads[i].peak;
      const bool there = set >> i & 1;
      probability *= there ? part : 1 - part;
      if (there) sum += loads[i].peak;
    }
    excess += probability * std::max(0.0, sum - 1 - kShareRounding);
  }
  return excess;
}

/// Likewise, of loads whose peaks meet as far as they can. Sorts them.
double excess_at_most(std::vector<Asked>& loads) {
  std::sort(loads.begin(), loads.end(),
            [](const Asked& a, const Asked& b) { return a.mean * b.peak > b.mean * a.peak; });
  double excess = 0, sum = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    sum += loads[i].peak;
    const double next = i + 1 < loads.size() ? loads[i + 1].mean / loads[i + 1].peak : 0;
    excess += (loads[i].mean / loads[i].peak - next) * std::max(0.0, sum - 1 - kShareRounding);
  }
  return excess;
}

/// Likewise, where loads that began at the same time meet at their peaks, and others by chance.
double expected_excess(std::vector<Asked>& loads) {
  const double most = excess_at_most(loads);
  if (most <= kShareRounding) return 0;
  std::sort(loads.begin(), loads.end(), [](const Asked& a, const Asked& b) { return a.since < b.since; });
  join_equal(loads, &Asked::since);
  if (loads.size() == 1) return most;
  return std::min(most, excess_by_chance(loads));
}

/// The most that overlap at a time. Sorts them.
uint32_t most_at_once(std::vector<Span>& spans) {
  const auto earlier = [](const Span& a, const Span& b) { return a.begin < b.begin; };
  if (!std::is_sorted(spans.begin(), spans.end(), earlier)) std::stable_sort(spans.begin(), spans.end(), earlier);
  std::priority_queue<Picoseconds, std::vector<Picoseconds>, std::greater<>> ends;
  size_t most = 0;
  for (const Span& span : spans) {
    while (!ends.empty() && ends.top() <= span.begin) ends.pop();
    ends.push(span.end);
    most = std::max(most, ends.size());
  }
  return static_cast<uint32_t>(most);
}

}  // namespace

uint32_t SharedLinks::timeline(std::vector<Span>&& spans) {
  const uint32_t most = most_at_once(spans);
  uint64_t hash = spans.size();
  for (const Span& span : spans)
    hash = (hash ^ static_cast<uint64_t>(span.begin) ^ static_cast<uint64_t>(span.end) << 20) * 0x9e3779b97f4a7c15 + 1;
  std::vector<uint32_t>& same_hash = known_[hash];
  for (const uint32_t t : same_hash)
    if (timelines_[t] == spans) return t;
  same_hash.push_back(static_cast<uint32_t>(timelines_.size()));
  timelines_.push_back(std::move(spans));
  most_at_once_.push_back(most);
  flows_.emplace_back();
  demands_.push_back(0);
  return same_hash.back();
}

uint32_t SharedLinks::add(const coll::Plan& plan, std::span<const uint32_t> order,
                          std::span<const std::vector<int64_t>> groups, size_t count, uint64_t flow, double seconds,
                          std::vector<Span> spans) {
  CHAKRA_ASSERT(!spans.empty());
  const uint32_t t = timeline(std::move(spans));
  loads_.add(t, plan, order, groups, count, flow, seconds);
  demands_[t] = 1;
  return t;
}

void SharedLinks::add_again(const coll::Plan& plan, std::span<const uint32_t> order,
                            std::span<const std::vector<int64_t>> groups, size_t count, uint64_t flow, double seconds,
                            std::vector<Span> spans) {
  CHAKRA_ASSERT(!spans.empty());
  loads_.add(timeline(std::move(spans)), plan, order, groups, count, flow, seconds);
}

void SharedLinks::count(uint32_t timeline, const coll::Plan& plan, size_t groups) {
  double transfers = 0, rounds = 0;
  for (const coll::Round& round : plan.rounds) {
    if (round.list.empty() && round.shift == 0) continue;
    rounds += 1;
    transfers += round.list.empty() ? static_cast<double>(uint64_t{round.shifts} * plan.members)
                                    : static_cast<double>(round.list.size());
  }
  if (rounds == 0) return;
  flows_[timeline].all += transfers * static_cast<double>(groups) * fabric_.routing.channels;
  flows_[timeline].rounds = std::max(flows_[timeline].rounds, rounds);
}

/// Flows under way, summed over all beginnings and ends of rounds. Rounds of one timeline begin and end together.
double SharedLinks::rate_changes() const {
  struct Step {
    Picoseconds time;
    double flows, rounds;
  };
  std::vector<Step> steps;
  for (size_t t = 0; t < timelines_.size(); ++t) {
    const double at_once = flows_[t].all / flows_[t].rounds;
    for (const Span& span : timelines_[t]) {
      steps.push_back({span.begin, at_once, flows_[t].rounds});
      steps.push_back({span.end, -at_once, 0});
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.time != b.time ? a.time < b.time : a.flows < b.flows; });
  double now = 0, sum = 0;
  for (const Step& step : steps) {
    now += step.flows;
    sum += std::max(now, 0.0) * step.rounds;
  }
  return sum;
}

/// One for all places with equal loads that may be asked for more than they have, the fullest first.
std::vector<SharedLinks::Row> SharedLinks::rows(const std::vector<LinkLoads::Place>& places) const {
  absl::flat_hash_map<std::vector<int64_t>, size_t> numbers;
  std::vector<Row> rows;
  std::vector<int64_t> key;
  for (size_t p = 0; p < places.size(); ++p) {
    double peaks = 0;
    key.clear();
    for (const LinkLoad& load : places[p].loads) {
      peaks += load.peak * most_at_once_[load.timeline];
      for (const double share : {load.mean, load.peak}) key.push_back(std::llround(share / kShareRounding));
      key.push_back(load.timeline);
    }
    if (peaks <= 1 + 2 * kShareRounding) continue;
    const auto [known, added] = numbers.try_emplace(key, rows.size());
    if (added) rows.push_back({p, 0, peaks});
    ++rows[known->second].count;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.peaks > b.peaks; });
  return rows;
}

/// Appends when the place is asked for more than it has.
SharedLink SharedLinks::look_at(const LinkLoads::Place& place, std::vector<Excess>& out) {
  edges_.clear();
  for (uint32_t i = 0; i < place.loads.size(); ++i)
    for (const Span& span : timelines_[place.loads[i].timeline]) {
      if (span.begin == span.end) continue;
      edges_.push_back({span.begin, i, true});
      edges_.push_back({span.end, i, false});
    }
  std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  active_.assign(place.loads.size(), 0);
  since_.assign(place.loads.size(), 0);
  std::vector<Asked> asked;
  SharedLink link;
  double lacks = 0;
  for (size_t e = 0; e < edges_.size();) {
    const Picoseconds now = edges_[e].time;
    for (; e < edges_.size() && edges_[e].time == now; ++e) {
      active_[edges_[e].load] += edges_[e].begins ? 1 : UINT32_MAX;
      if (edges_[e].begins) since_[edges_[e].load] = now;
    }
    if (e == edges_.size()) break;
    asked.clear();
    double means = 0, peaks = 0;
    for (size_t i = 0; i < active_.size(); ++i) {
      if (active_[i] == 0 || !(place.loads[i].peak > 0)) continue;
      asked.push_back({place.loads[i].mean * active_[i], place.loads[i].peak * active_[i], since_[i]});
      means += asked.back().mean;
      peaks += asked.back().peak;
    }
    if (peaks <= 1 + kShareRounding) continue;
    const double excess = expected_excess(asked);
    if (excess <= kShareRounding) continue;
    lacks += excess * static_cast<double>(edges_[e].time - now);
    link.most = std::max(link.most, peaks);
    out.push_back({now, edges_[e].time, excess});
  }
  link.lacks_ps = static_cast<Picoseconds>(std::min(lacks, static_cast<double>(kLongestPs)));
  return link;
}

std::string SharedLinks::name(const LinkLoads::Place& place) const {
  if (place.trunk == net::kNoLink) {
    return fabric_.dimensions.empty() ? "an average link" : fmt::format("an average link of dimension {}", place.kind);
  }
  std::vector<net::LinkId> links;
  fabric_.links_of(place.trunk, links);
  return fabric_.link_name(links[0]);
}

namespace {

/// How many spans of a timeline run, on average over each interval.
std::vector<double> running(const std::vector<Span>& spans, Picoseconds interval, Picoseconds until) {
  std::vector<double> share(static_cast<size_t>((until - 1) / interval + 1), 0);
  for (const Span& span : spans)
    net::each_interval(span.begin, std::min(span.end, until), interval, [&](size_t i, Picoseconds passed) {
      const Picoseconds length = std::min(interval, until - static_cast<Picoseconds>(i) * interval);
      share[i] += static_cast<double>(passed) / static_cast<double>(length);
    });
  return share;
}

}  // namespace

LoadsOverTime SharedLinks::demand(const std::vector<LinkLoads::Place>& places, Picoseconds until) const {
  if (until <= 0) return {};
  const Picoseconds interval = load_interval(until);
  std::vector<std::vector<double>> runs;
  for (const std::vector<Span>& spans : timelines_) runs.push_back(running(spans, interval, until));
  std::vector<LinkLoadsOverTime> links;
  for (const LinkLoads::Place& place : places) {
    LinkLoadsOverTime& link = links.emplace_back();
    link.link = name(place);
    link.mean.assign(runs.empty() ? 0 : runs[0].size(), 0);
    link.peak = link.mean;
    if (place.trunk != net::kNoLink) {
      std::vector<net::LinkId> ids;
      fabric_.links_of(place.trunk, ids);
      link.links = std::ssize(ids);
    }
    for (const LinkLoad& load : place.loads) {
      if (!demands_[load.timeline]) continue;
      for (size_t i = 0; i < link.mean.size(); ++i) {
        const double share = runs[load.timeline][i];
        link.mean[i] += load.mean * share;
        if (share > 0) link.peak[i] += load.peak * most_at_once_[load.timeline];
      }
    }
  }
  const bool sampled = std::ranges::any_of(places, [](const auto& place) { return place.trunk == net::kNoLink; });
  if (sampled)
    for (LinkLoadsOverTime& link : links) link.peak.clear();
  LoadsOverTime out = loads_over_time(std::move(links), interval, until);
  out.sampled = sampled;
  return out;
}

Sharing SharedLinks::find(LoadsOverTime* over_time, Picoseconds until) {
  const std::vector<LinkLoads::Place> places = loads_.places();
  if (over_time) *over_time = demand(places, until);
  Sharing found;
  for (size_t t = 0; t < timelines_.size(); ++t)
    found.flows += flows_[t].all * static_cast<double>(timelines_[t].size());
  std::vector<Excess> excess;
  for (const Row& row : rows(places)) {
    SharedLink link = look_at(places[row.place], excess);
    if (link.lacks_ps == 0) continue;
    found.count += row.count;
    link.name = name(places[row.place]);
    found.links.push_back(std::move(link));
  }
  std::stable_sort(found.links.begin(), found.links.end(),
                   [](const SharedLink& a, const SharedLink& b) { return a.lacks_ps > b.lacks_ps; });
  if (found.links.size() > kMostLinksNamed) found.links.resize(kMostLinksNamed);
  if (found.count > 0) found.rate_changes = rate_changes();
  // At each time the link that is asked for most.
  std::sort(excess.begin(), excess.end(), [](const Excess& a, const Excess& b) { return a.begin < b.begin; });
  const auto less = [](const Excess& a, const Excess& b) { return a.share < b.share; };
  std::priority_queue<Excess, std::vector<Excess>, decltype(less)> open(less);
  Picoseconds now = 0;
  double longer = 0;
  for (size_t i = 0; i < excess.size() || !open.empty();) {
    while (!open.empty() && open.top().end <= now) open.pop();
    if (open.empty()) {
      if (i == excess.size()) break;
      now = excess[i].begin;
    }
    while (i < excess.size() && excess[i].begin <= now) open.push(excess[i++]);
    const Picoseconds next = i < excess.size() ? std::min(excess[i].begin, open.top().end) : open.top().end;
    longer += open.top().share * static_cast<double>(next - now);
    now = next;
  }
  found.longer_ps = static_cast<Picoseconds>(std::min(longer, static_cast<double>(kLongestPs)));
  return found;
}

}  // namespace chakra::sim
