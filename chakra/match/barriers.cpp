// The groups of monitored barriers that one rank's recording leaves open. The first rank of a group knows its own
// barriers. A member has the same collectives in the same order, so that the sequences of several groups together
// often leave one way to divide the open barriers among them.
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "chakra/match/match.h"

namespace chakra::match {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::RankIndex;
using trace::Trace;

constexpr size_t kMostGroups = 8;
constexpr size_t kMostStates = 1 << 16;

struct Item {
  NodeId node;
  CommType type;
  uint64_t bytes;
  std::string_view dtype, group;
  int64_t step;
  Picoseconds start;
  bool is_barrier() const { return type == CommType::barrier; }
};

/// A group that open barriers of a rank may be in, and its collectives as its first rank has them.
struct Candidate {
  std::string_view group;
  const Trace* first;
  std::vector<Item> items;
};

using State = std::array<uint32_t, kMostGroups>;  ///< collectives of each candidate that are over

/// Whether two ranks recorded the same collective; sizes of some may differ from member to member.
bool same(const Item& a, const Item& b) {
  if (a.type != b.type || (a.step >= 0 && b.step >= 0 && a.step != b.step)) return false;
  const bool uneven = a.type == CommType::all_to_all || a.type == CommType::scatter || a.is_barrier();
  return uneven || (a.bytes == b.bytes && a.dtype == b.dtype);
}

/// Divides the open barriers of one rank.
class Divider {
 public:
  Divider(std::vector<Item> own, std::vector<Candidate> candidates, std::string_view open)
      : own_(std::move(own)), candidates_(std::move(candidates)), open_(open) {}

  /// Per item the candidate that all ways agree on, kNone where they differ; empty where there is no way, or too many
  /// to be followed. Cost: O(states x candidates).
  std::vector<size_t> run() {
    State end{};
    for (size_t c = 0; c < candidates_.size(); ++c) end[c] = static_cast<uint32_t>(candidates_[c].items.size());
    std::vector<absl::flat_hash_set<State>> reached(own_.size() + 1);
    reached[0].insert(State{});
    size_t states = 1;
    for (size_t i = 0; i < own_.size(); ++i) {
      for (const State& state : reached[i])
        for (size_t c = 0; c < candidates_.size(); ++c)
          if (may_follow(state, i, c)) reached[i + 1].insert(after(state, c));
      states += reached[i + 1].size();
      if (reached[i + 1].empty() || states > kMostStates) return {};
    }
    if (!reached.back().contains(end)) return {};
    reached.back() = {end};
    std::vector<size_t> found(own_.size(), kNone);
    for (size_t i = own_.size(); i-- > 0;) found[i] = keep_ways(reached[i], reached[i + 1], i);
    return found;
  }

  static constexpr size_t kNone = kMostGroups;
  const std::vector<Item>& own() const { return own_; }
  std::string_view group(size_t candidate) const { return candidates_[candidate].group; }

 private:
  static State after(State state, size_t c) {
    ++state[c];
    return state;
  }

  /// Whether the next collective of a candidate may be the rank's item. Barriers that the first rank of two groups
  /// entered one after the other come in that order, for each blocks all members.
  bool may_follow(const State& state, size_t i, size_t c) const {
    const Candidate& candidate = candidates_[c];
    if (state[c] == candidate.items.size()) return false;
    const Item &mine = own_[i], &theirs = candidate.items[state[c]];
    if ((mine.group != open_ && mine.group != candidate.group) || !same(mine, theirs)) return false;
    if (!mine.is_barrier()) return true;
    return std::none_of(candidates_.begin(), candidates_.end(), [&](const Candidate& other) {
      const uint32_t next = state[static_cast<size_t>(&other - candidates_.data())];
      return other.first == candidate.first && next < other.items.size() && other.items[next].is_barrier() &&
             other.items[next].start < theirs.start;
    });
  }

  /// Drops states that lead nowhere. Returns the candidate of item `i` on all ways that are left, or kNone.
  size_t keep_ways(absl::flat_hash_set<State>& states, const absl::flat_hash_set<State>& next, size_t i) const {
    std::array<bool, kMostGroups> taken{};
    absl::flat_hash_set<State> kept;
    for (const State& state : states)
      for (size_t c = 0; c < candidates_.size(); ++c)
        if (may_follow(state, i, c) && next.contains(after(state, c))) {
          taken[c] = true;
          kept.insert(state);
        }
    states = std::move(kept);
    if (std::count(taken.begin(), taken.end(), true) != 1) return kNone;
    return static_cast<size_t>(std::find(taken.begin(), taken.end(), true) - taken.begin());
  }

  std::vector<Item> own_;
  std::vector<Candidate> candidates_;
  std::string_view open_;
};

class Barriers {
 public:
  Barriers(trace::TraceSet& job, std::span<const RankWindow> windows, std::string_view open)
      : job_(job), windows_(windows), open_(open), steps_(common_steps(windows)) {}

  void divide(RankIndex r) {
    Trace& t = job_.ranks[r];
    if (t.strings.find(open_) == 0) return;
    std::vector<Candidate> candidates = candidates_of(t);
    if (candidates.empty() || candidates.size() > kMostGroups) return;
    std::vector<Item> own = items(r, [&](std::string_view group) {
      return group == open_ ||
             std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.group == group; });
    });
    Divider divider(std::move(own), std::move(candidates), open_);
    const std::vector<size_t> found = divider.run();
    std::vector<std::pair<NodeId, std::string>> named;  // names first: interning may move texts
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i] != Divider::kNone && divider.own()[i].group == open_)
        named.emplace_back(divider.own()[i].node, divider.group(found[i]));
    for (const auto& [node, group] : named) t.comms.edit(t.comm_row[node]).group = t.strings.intern(group);
  }

 private:
  /// Groups of the rank that have another first rank, whose barriers there are.
  std::vector<Candidate> candidates_of(const Trace& t) const {
    std::vector<Candidate> candidates;
    for (const trace::ProcessGroup& group : t.groups) {
      const bool is_member =
          group.ranks.empty() || std::find(group.ranks.begin(), group.ranks.end(), t.rank) != group.ranks.end();
      const Trace* const first = job_.find(group.ranks.empty() ? 0 : group.ranks[0]);
      if (!is_member || !first || first == &t) continue;
      const RankIndex index(first - job_.ranks.data());
      Candidate candidate{group.name, first, items(index, [&](std::string_view name) { return name == group.name; })};
      if (std::any_of(candidate.items.begin(), candidate.items.end(), [](const Item& i) { return i.is_barrier(); }))
        candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  /// The collectives of a rank in some groups, in the order of their starts, as far as all ranks recorded the steps.
  template <class Wanted>
  std::vector<Item> items(RankIndex r, const Wanted& wanted) const {
    const Trace& t = job_.ranks[r];
    std::vector<Item> found;
    for (const NodeId n : t.nodes()) {
      const Comm* const c = t.comm(n);
      if (!c || t.type[n] != trace::NodeType::coll || !t.has_start(n) || !wanted(t.strings[c->group])) continue;
      const int64_t step = windows_[r].steps[n];
      if (step >= 0 && (step < steps_.first || step > steps_.second)) continue;
      found.push_back({n, c->type, c->bytes, t.strings[c->dtype], t.strings[c->group], step, t.start_ps[n]});
    }
    std::stable_sort(found.begin(), found.end(), [](const Item& a, const Item& b) { return a.start < b.start; });
    return found;
  }

  trace::TraceSet& job_;
  std::span<const RankWindow> windows_;
  std::string_view open_;
  std::pair<int64_t, int64_t> steps_;
};

}  // namespace

void choose_barriers(trace::TraceSet& job, std::span<const RankWindow> windows, std::string_view open) {
  CHAKRA_ASSERT(windows.size() == job.ranks.size());
  Barriers barriers(job, windows, open);
  for (const RankIndex r : job.indices()) barriers.divide(r);
}

}  // namespace chakra::match
