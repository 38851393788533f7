// Which algorithm is taken: that of the least predicted time.
#include <algorithm>
#include <limits>
#include <numeric>

#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::coll {
namespace {

using trace::CommType;

/// Transfers that are looked at to price one candidate.
constexpr uint64_t kMostTransfers = uint64_t{1} << 21;
constexpr size_t kMostNear = 256;  ///< members of a graph whose distances are all looked at
constexpr size_t kMostSwaps = 64;  ///< members whose order is improved

// ---- orders ----------------------------------------------------------------------------------------------

bool is_line(const Place& place) {
  const auto& dimensions = place.fabric->dimensions;
  size_t larger = 0;
  for (const net::Dimension& d : dimensions) larger += d.ranks > 1;
  return larger == 1 && std::any_of(dimensions.begin(), dimensions.end(), [](const net::Dimension& d) {
           return d.ranks > 1 && d.topology().form == net::RowForm::line;
         });
}

/// Up the line over every other member, and back over those between.
std::vector<uint32_t> there_and_back(const Place& place) {
  std::vector<uint32_t> up(place.ranks.size());
  std::iota(up.begin(), up.end(), 0u);
  std::sort(up.begin(), up.end(), [&](uint32_t a, uint32_t b) { return place.ranks[a] < place.ranks[b]; });
  std::vector<uint32_t> order;
  for (size_t i = 0; i < up.size(); i += 2) order.push_back(up[i]);
  for (size_t i = up.size() / 2 * 2; i > 0; i -= 2) order.push_back(up[i - 1]);
  return order;
}

/// Those that hang on the same switch together.
std::vector<uint32_t> by_switch(const Place& place) {
  std::vector<uint32_t> order(place.ranks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<uint32_t> nearest(place.ranks.size());  // the last device before a member, as the first one sees it
  for (size_t i = 1; i < nearest.size(); ++i)
    if (const net::LinkId last = place.fabric->path(place.ranks[0], place.ranks[i]).last; last != net::kNoLink)
      nearest[i] = place.fabric->link(last).from;
  if (nearest.size() > 1)
    if (const net::LinkId last = place.fabric->path(place.ranks[1], place.ranks[0]).last; last != net::kNoLink)
      nearest[0] = place.fabric->link(last).from;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return nearest[a] < nearest[b]; });
  return order;
}

/// From each to the nearest that is left, by links, then by latency; then, in small groups, parts are turned round
/// while that makes the way shorter.
std::vector<uint32_t> nearest_next(const Place& place) {
  const size_t n = place.ranks.size();
  using Distance = std::pair<uint32_t, Picoseconds>;
  std::vector<Distance> distance(n * n);
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b) {
      const net::Path path = place.fabric->path(place.ranks[a], place.ranks[b]);
      distance[a * n + b] = {path.links, path.latency_ps};
    }
  std::vector<uint32_t> order{0};
  std::vector<char> taken(n, 0);
  taken[0] = 1;
  while (order.size() < n) {
    const size_t at = order.back();
    uint32_t best = 0;
    bool found = false;
    for (uint32_t b = 0; b < n; ++b)
      if (!taken[b] && (!found || distance[at * n + b] < distance[at * n + best])) best = b, found = true;
    taken[best] = 1;
    order.push_back(best);
  }
  const auto links = [&](size_t a, size_t b) { return int64_t{distance[order[a % n] * n + order[b % n]].first}; };
  for (bool better = n <= kMostSwaps; std::exchange(better, false);)
    for (size_t i = 0; i + 2 < n; ++i)
      for (size_t k = i + 2; k < n && i + n > k; ++k) {
        if (links(i, k) + links(i + 1, k + 1) >= links(i, i + 1) + links(k, k + 1)) continue;
        std::reverse(order.begin() + static_cast<ptrdiff_t>(i) + 1, order.begin() + static_cast<ptrdiff_t>(k) + 1);
        better = true;
      }
  return order;
}

// ---- candidates --------------------------------------------------------------------------------------------

/// What bounds a candidate before its plan is made.
struct Bounds {
  double most_bytes_per_s = 0;

  explicit Bounds(const net::Fabric& fabric) {
    for (const net::Dimension& d : fabric.dimensions) most_bytes_per_s = std::max(most_bytes_per_s, d.bytes_per_s());
    for (const net::OddLink& odd : fabric.odd_links) most_bytes_per_s = std::max(most_bytes_per_s, odd.bytes_per_s);
    if (!fabric.graph) return;
    for (net::LinkId id = 0; id < fabric.link_count(); ++id)
      most_bytes_per_s = std::max(most_bytes_per_s, fabric.link(id).bytes_per_s);
  }

  /// Trees of an all-reduce send one piece after the other along each edge: the bytes alone take as many rounds.
  Picoseconds least(const AlgorithmRow& row, const Operation& op, const Place& place) const {
    if (op.type != CommType::all_reduce) return 0;
    const Outline o = row.outline(op, place);
    const double bytes = static_cast<double>(o.rounds) * static_cast<double>(o.unit_bytes);
    if (o.edges.empty()) return row.name == "tree" ? picoseconds(bytes / most_bytes_per_s) : 0;
    return picoseconds(bytes / most_bytes_per_s);
  }
};

uint64_t at_a_time(const Plan& plan) {
  uint64_t most = 0;
  for (const Round& round : plan.rounds)
    most = std::max(most, round.list.empty() ? uint64_t{round.shifts} * plan.members : round.list.size());
  return most;
}

/// What is taken where pricing all would cost too much: the algorithm with the fewest transfers at a time that scales.
const AlgorithmRow& simplest(const Operation& op, const Place& place) {
  for (const char* name : {"hierarchical", "ring", "bruck", "dissemination", "tree", "linear", "pairwise"})
    if (const AlgorithmRow* row = find_algorithm(name); row->can(op, place)) return *row;
  CHAKRA_ASSERT(!"some algorithm does every operation");
  return kAlgorithms[0];
}

}  // namespace

std::vector<uint32_t> near_order(const Place& place) {
  if (place.ranks.size() < 3) return {};
  std::vector<uint32_t> order;
  if (place.fabric->graph) order = place.ranks.size() <= kMostNear ? nearest_next(place) : by_switch(place);
  else if (is_line(place)) order = there_and_back(place);
  return std::is_sorted(order.begin(), order.end()) ? std::vector<uint32_t>{} : order;
}

Reordered::Reordered(const Operation& o, const Place& p, std::span<const uint32_t> order) : op(o), place(p) {
  if (order.empty()) return;
  const size_t n = order.size();
  for (const uint32_t member : order) ranks_.push_back(p.ranks[member]);
  place.ranks = ranks_;
  op.root = static_cast<uint32_t>(std::find(order.begin(), order.end(), o.root) - order.begin());
  if (o.splits.empty()) return;
  splits_.resize(n * n);
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b) splits_[a * n + b] = o.splits[order[a] * n + order[b]];
  op.splits = splits_;
}

Choice choose(const Selection& selection, const Operation& op, const Place& place, double close) {
  CHAKRA_ASSERT(op.type != CommType::unknown);
  CHAKRA_ASSERT(close >= 1);
  Choice choice;
  if (const AlgorithmRow* row = by_rule(selection, op, place)) {
    choice.algorithm = row;
    choice.plan = row->plan(op, place);
    choice.by_rule = true;
    choice.candidates.push_back({row, false, {}});
    return choice;
  }
  const std::vector<uint32_t> near = near_order(place);
  const Reordered reordered(op, place, near);
  const Bounds bounds(*place.fabric);
  std::vector<uint64_t> crowd;  // of candidates
  Picoseconds least = std::numeric_limits<Picoseconds>::max();
  size_t best = SIZE_MAX;
  for (const bool is_near : {false, true}) {
    if (is_near && near.empty()) continue;
    for (const AlgorithmRow& row : kAlgorithms) {
      const Operation& this_op = is_near ? reordered.op : op;
      const Place& this_place = is_near ? reordered.place : place;
      if (!row.can(this_op, this_place)) continue;
      choice.candidates.push_back({&row, is_near, {}});
      crowd.push_back(0);
      if (bounds.least(row, this_op, this_place) > least) continue;
      Plan plan = row.plan(this_op, this_place);
      const auto priced = price(plan, this_place, kMostTransfers);
      if (!priced) continue;
      choice.candidates.back().predicted_ps = priced->together_ps;
      crowd.back() = at_a_time(plan);
      least = std::min(least, priced->together_ps);
      // The plan of the best so far is kept; a tie is looked at below.
      const auto good = [&](size_t c) {
        return c != SIZE_MAX &&
               static_cast<double>(*choice.candidates[c].predicted_ps) <= static_cast<double>(least) * close;
      };
      const size_t here = choice.candidates.size() - 1;
      if (!good(here) || (good(best) && crowd[best] <= crowd[here])) continue;
      best = here;
      choice.plan = std::move(plan);
    }
  }
  if (best == SIZE_MAX) {
    choice.algorithm = &simplest(op, place);
    choice.plan = choice.algorithm->plan(op, place);
    return choice;
  }
  choice.algorithm = choice.candidates[best].algorithm;
  if (choice.candidates[best].near) choice.order = near;
  return choice;
}

}  // namespace chakra::coll
