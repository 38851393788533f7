// Which algorithm is taken: that of the least predicted time.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "chakra/coll/algorithms.h"
#include "chakra/net/net.h"

namespace chakra::coll {
namespace {

using trace::CommType;

/// Transfers that are looked at to price one candidate.
constexpr uint64_t kMostTransfers = uint64_t{1} << 21;
constexpr double kClose = 1.005;       ///< times within this factor of the least count as equal
constexpr uint64_t kMostCrowd = 2048;  ///< more transfers at a time cost more than they are worth in a tie
constexpr size_t kMostNear = 256;      ///< members of a graph whose distances are all looked at
constexpr size_t kMostSwaps = 64;      ///< members whose order is improved

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

/// Lower bounds of the time of a candidate, before its plan is made.
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

/// Rounds of the lane with the most.
uint32_t longest_lane(const Plan& plan) {
  std::vector<uint32_t> rounds(plan.lanes, 0);
  for (const Round& round : plan.rounds) ++rounds[round.lane];
  return rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
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

std::vector<uint32_t> grid_order(const Place& place) {
  const std::vector<net::Axis> axes = place.fabric->axes();
  if (axes.size() < 2 || place.ranks.size() < 3) return {};
  // Along a line there and back, elsewhere upwards: the position of each place that occurs.
  size_t differ = 0;
  std::vector<std::vector<int64_t>> position(axes.size());
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<int64_t>& of = position[a];
    of.assign(static_cast<size_t>(axes[a].extent), -1);
    for (const int64_t rank : place.ranks) of[static_cast<size_t>(axes[a].of(rank))] = 0;
    const int64_t count = std::count(of.begin(), of.end(), 0);
    differ += count > 1;
    int64_t k = 0;
    for (int64_t& p : of) {
      if (p < 0) continue;
      p = axes[a].form != net::RowForm::line ? k : k % 2 == 0 ? k / 2 : count - 1 - k / 2;
      ++k;
    }
  }
  if (differ < 2) return {};
  std::vector<uint32_t> order(place.ranks.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](uint32_t x, uint32_t y) {
    for (size_t a = axes.size(); a-- > 0;) {
      const int64_t px = position[a][static_cast<size_t>(axes[a].of(place.ranks[x]))];
      const int64_t py = position[a][static_cast<size_t>(axes[a].of(place.ranks[y]))];
      if (px != py) return px < py;
    }
    return false;
  };
  if (std::is_sorted(order.begin(), order.end(), before)) return {};
  std::stable_sort(order.begin(), order.end(), before);
  const Reordered seen({}, place, order);
  return grid_of(seen.place).size() >= 2 ? order : std::vector<uint32_t>{};
}

Reordered::Reordered(const Operation& o, const Place& p, std::span<const uint32_t> order) : op(o), place(p) {
  if (order.empty()) return;
  place.grid = nullptr;
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

namespace {

/// Tries rows of the table, and keeps the plan of the best one so far.
class Trial {
 public:
  explicit Trial(const Place& place)
      : bounds_(*place.fabric), by_nodes_(place.members() <= kMostNear || grid_of(place).size() < 2) {}

  /// All rows that can do it with the members in this order, `by_grid` those that need a grid.
  void rows(const Operation& op, const Place& place, std::span<const uint32_t> order, bool by_grid) {
    using Needs = AlgorithmRow::Needs;
    for (const AlgorithmRow& row : kAlgorithms) {
      if (by_grid && !row.needs_grid()) continue;
      if (!order.empty() && row.needs == Needs::reduction) continue;  // it has an order of its own
      if (row.needs == Needs::nodes && (!by_nodes_ || (place.members() > kMostNear && grid_of(place).size() >= 2)))
        continue;
      if (row.can(op, place)) one(row, op, place, order, by_grid);
    }
  }
  /// Without an algorithm where none could be priced.
  Choice taken() && {
    choice_.candidates = std::move(candidates_);
    if (best_ != SIZE_MAX) choice_.algorithm = choice_.candidates[best_].algorithm;
    return std::move(choice_);
  }

 private:
  /// What decides between candidates of equal price.
  struct Tie {
    uint64_t crowd = 0;   ///< transfers at a time
    uint32_t rounds = 0;  ///< one after the other
    bool busy = false;    ///< sums and results keep a link busy all the time, which is the price

    /// A busy link hides the latency of a round only as far as other lanes fill it then: fewer rounds are safer.
    bool before(const Tie& other) const {
      const bool by_rounds = busy && other.busy && std::max(crowd, other.crowd) <= kMostCrowd;
      return by_rounds && rounds != other.rounds ? rounds < other.rounds : crowd < other.crowd;
    }
  };

  void one(const AlgorithmRow& row, const Operation& op, const Place& place, std::span<const uint32_t> order,
           bool by_grid) {
    candidates_.push_back({&row, !order.empty() && !by_grid, by_grid, {}});
    ties_.emplace_back();
    if (bounds_.least(row, op, place) > least_) return;
    Plan plan = row.plan(op, place);
    const auto priced = price(plan, place, kMostTransfers, static_cast<double>(least_) * kClose);
    if (!priced) return;
    candidates_.back().predicted_ps = priced->together_ps;
    candidates_.back().sampled = priced->sampled;
    ties_.back() = {at_a_time(plan), longest_lane(plan), op.type == CommType::all_reduce && priced->extra_ps > 0};
    least_ = std::min(least_, priced->together_ps);
    const size_t here = candidates_.size() - 1;
    if (!good(here) || (good(best_) && !ties_[here].before(ties_[best_]))) return;
    best_ = here;
    choice_.plan = std::move(plan);
    choice_.order.assign(order.begin(), order.end());
  }
  bool good(size_t c) const {
    return c != SIZE_MAX && static_cast<double>(*candidates_[c].predicted_ps) <= static_cast<double>(least_) * kClose;
  }

  Bounds bounds_;
  bool by_nodes_;  ///< in large groups nodes are for members that fill no grid
  std::vector<Candidate> candidates_;
  std::vector<Tie> ties_;  ///< of candidates
  Picoseconds least_ = std::numeric_limits<Picoseconds>::max();
  size_t best_ = SIZE_MAX;
  Choice choice_;
};

/// The algorithm of the first rule that can do it, and the order of members in which it can.
struct Ruled {
  const AlgorithmRow* row = nullptr;
  std::vector<uint32_t> order;
};
Ruled rule_for(const Selection& selection, const Operation& op, const Place& place) {
  if (const AlgorithmRow* row = by_rule(selection, op, place)) return {row, {}};
  if (std::none_of(selection.rules.begin(), selection.rules.end(),
                   [&](const Rule& rule) { return rule.covers(op) && rule.algorithm->needs_grid(); }))
    return {};
  std::vector<uint32_t> order = grid_order(place);
  const Reordered seen(op, place, order);
  return {by_rule(selection, seen.op, seen.place), std::move(order)};
}

/// What a rule says.
std::optional<Choice> ruled(const Selection& selection, const Operation& op, const Place& place) {
  auto [row, order] = rule_for(selection, op, place);
  if (!row) return std::nullopt;
  const Reordered seen(op, place, order);
  Choice choice;
  choice.algorithm = row;
  choice.plan = row->plan(seen.op, seen.place);
  choice.order = std::move(order);
  choice.by_rule = true;
  choice.candidates.push_back({row, false, !choice.order.empty(), {}});
  return choice;
}

}  // namespace

Choice choose(const Selection& selection, const Operation& op, const Place& place) {
  CHAKRA_ASSERT(op.type != CommType::unknown);
  if (auto choice = ruled(selection, op, place)) return std::move(*choice);
  Trial trial(place);
  const auto try_order = [&](std::span<const uint32_t> order, bool by_grid) {
    Reordered seen(op, place, order);
    const Grid grid = grid_of(seen.place);
    seen.place.grid = &grid;
    trial.rows(seen.op, seen.place, order, by_grid);
  };
  try_order({}, false);
  const std::vector<uint32_t> near = near_order(place), by_grid = grid_order(place);
  if (!near.empty()) try_order(near, false);
  if (!by_grid.empty() && by_grid != near) try_order(by_grid, true);
  Choice choice = std::move(trial).taken();
  if (choice.algorithm) return choice;
  choice.algorithm = &simplest(op, place);
  choice.plan = choice.algorithm->plan(op, place);
  return choice;
}

std::string refusal(const Selection& selection, const Operation& op, const Place& place) {
  if (place.members() < 2) return {};  // which has nothing to do
  const auto names_it = [&](const Rule& rule) { return rule.covers(op) && !rule.alone; };
  const auto rule = std::find_if(selection.rules.begin(), selection.rules.end(), names_it);
  if (rule == selection.rules.end() || rule_for(selection, op, place).row) return {};
  const AlgorithmRow& row = *rule->algorithm;
  if (!op.splits.empty() && !row.splits) return fmt::format("{} has no parts of unequal sizes", row.name);
  if (row.program) return misfit(*row.program, op, place.members());
  if (row.needs == AlgorithmRow::Needs::nodes)
    return fmt::format("{} needs members on two nodes or more, two or more on each", row.name);
  if (row.needs == AlgorithmRow::Needs::reduction)
    return fmt::format("{} needs a tree of switches with 'reduction' in the network file that joins all members",
                       row.name);
  return fmt::format(
      "{} needs members that fill a grid of two or more dimensions or of nodes{}", row.name,
      row.needs == AlgorithmRow::Needs::grid ? "" : ", one of them with 'reduction' in the network file");
}

}  // namespace chakra::coll
