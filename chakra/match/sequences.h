// Differences between sequences that should be equal, and the deviating one: the members of a
// group and their collectives, or the two ends of a channel and their messages. At the first
// disagreement the majority decides. The others are aligned with the majority by the fewest
// changes, so that one dropped element is one deviation, not one at every later position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace chakra::match {

struct Deviation {
  enum class How : uint8_t { lacks, extra, differs, swapped } how = How::differs;
  uint32_t member = 0;
  uint32_t index = 0;         ///< position in the majority's sequence
  uint32_t own = 0;           ///< position in the member's sequence; lacks: where the element would be
  uint32_t reference = 0;     ///< a member of the majority ...
  uint32_t its = 0;           ///< ... and its position; extra: where the element would be
  uint32_t swapped_with = 0;  ///< position of the other swapped element in the member's sequence
  uint32_t more = 0;          ///< later deviations of the member
  bool tie = false;           ///< an equal number of members has the opposite view: the later member is named
};

namespace sequences {

constexpr uint32_t kMostChanges = 24;     ///< beyond this, alignments count as equal
constexpr uint32_t kMostDeviations = 16;  ///< per member; later ones are not examined
constexpr uint32_t kFarthestSwap = 4096;
constexpr size_t kMostOpinions = 16;

/// Return the number of elements to drop, add or change to get b (of `to` elements) from a (of
/// `from`), or kMostChanges + 1; same(i, j): whether a[i] and b[j] agree. Ukkonen, "Algorithms for
/// approximate string matching", 1985. Cost: O(elements + kMostChanges^2) if few changes are needed.
template <class Same>
uint32_t changes(uint32_t from, uint32_t to, const Same& same) {
  constexpr int64_t limit = kMostChanges, none = -2;
  const int64_t n = from, m = to;
  if (std::abs(n - m) > limit) return kMostChanges + 1;
  std::vector<int64_t> reach(2 * limit + 3, none), next(reach);  // per diagonal j - i: the furthest i
  const auto at = [&](std::vector<int64_t>& of, int64_t diagonal) -> int64_t& { return of[diagonal + limit + 1]; };
  for (int64_t used = 0; used <= limit; ++used) {
    for (int64_t d = -used; d <= used; ++d) {
      int64_t i = used == 0 ? 0 : std::max({at(reach, d) + 1, at(reach, d - 1), at(reach, d + 1) + 1});
      i = std::min({i, n, m - d});
      if (i < 0 || i + d < 0) {
        at(next, d) = none;
        continue;
      }
      while (i < n && i + d < m && same(static_cast<uint32_t>(i), static_cast<uint32_t>(i + d))) ++i;
      if (i == n && i + d == m) return static_cast<uint32_t>(used);
      at(next, d) = i;
    }
    std::swap(reach, next);
  }
  return kMostChanges + 1;
}

/// The state of find_deviations().
template <class Same>
class Comparison {
 public:
  Comparison(std::span<const uint32_t> lengths, const Same& same)
      : lengths_(lengths), same_(same), state_(lengths.size()), opinion_of_(lengths.size()) {}

  std::vector<Deviation> run() {
    for (uint32_t index = 0;; ++index) {
      const bool any_left = hear_opinions();
      if (speakers_.empty()) {
        if (std::all_of(state_.begin(), state_.end(), [](const State& s) { return s.given_up; })) break;
        // All remaining elements were swapped here.
      } else if ((!any_left && speakers_.size() == 1) || !judge(index)) {
        break;
      }
      for (State& s : state_) ++s.at;
    }
    return std::move(found_);
  }

 private:
  using How = Deviation::How;
  struct State {
    uint32_t at = 0, deviations = 0;
    size_t first = SIZE_MAX;         // in found_
    std::vector<uint32_t> forgiven;  // own places of elements that were swapped
    bool given_up = false;
  };

  bool at_end(uint32_t m) const { return state_[m].at >= lengths_[m]; }
  uint32_t left(uint32_t m) const { return lengths_[m] - std::min(lengths_[m], state_[m].at); }
  bool forgiven(uint32_t m) const {
    const auto& list = state_[m].forgiven;
    return !list.empty() && std::find(list.begin(), list.end(), state_[m].at) != list.end();
  }
  bool agree(uint32_t a, uint32_t b) const {
    return at_end(a) || at_end(b) ? at_end(a) == at_end(b) : same_(a, state_[a].at, b, state_[b].at);
  }

  /// Collect the members' views of the next element. Return whether any member has one.
  bool hear_opinions() {
    speakers_.clear();
    votes_.clear();
    bool any_left = false;
    for (uint32_t m = 0; m < state_.size(); ++m) {
      opinion_of_[m] = UINT32_MAX;
      if (state_[m].given_up || forgiven(m)) continue;
      any_left |= !at_end(m);
      size_t o = 0;
      while (o < speakers_.size() && !agree(speakers_[o], m)) ++o;
      if (o == speakers_.size()) {
        if (o == kMostOpinions) continue;
        speakers_.push_back(m);
        votes_.push_back(0);
      }
      opinion_of_[m] = static_cast<uint32_t>(o);
      ++votes_[o];
    }
    return any_left;
  }

  /// Record the members that deviate from the majority. Return whether the majority has an element here.
  bool judge(uint32_t index) {
    const auto winner = static_cast<uint32_t>(std::max_element(votes_.begin(), votes_.end()) - votes_.begin());
    const uint32_t reference = speakers_[winner];
    const bool advance = left(reference) > 0;
    for (uint32_t m = 0; m < state_.size() && speakers_.size() > 1; ++m) {
      State& s = state_[m];
      if (s.given_up || opinion_of_[m] == winner || forgiven(m)) continue;
      Deviation d{How::differs, m, index, s.at, reference, state_[reference].at, 0, 0, false};
      d.tie = opinion_of_[m] != UINT32_MAX && votes_[opinion_of_[m]] == votes_[winner];
      uint32_t skipped = 0, behind = 0;  // own elements consumed; deviations besides this one
      if (!advance || left(m) == 0) {
        d.how = advance ? How::lacks : How::extra;
        behind = std::max(left(reference), left(m)) - 1;
        s.given_up = true;
      } else {
        skipped = align(d);
      }
      if (s.first == SIZE_MAX) {
        s.first = found_.size();
        found_.push_back(d);
        found_.back().more = behind;
      } else {
        found_[s.first].more += 1 + behind;
      }
      if (++s.deviations >= kMostDeviations) s.given_up = true;
      // A member that advances with the majority is put back by one here.
      s.at += skipped;
      if (advance) --s.at;
    }
    return advance;
  }

  /// Find the deviation of the member from the reference by the fewest changes. Return
  /// the number of the member's elements consumed. Requires elements left in both.
  uint32_t align(Deviation& d) {
    State& s = state_[d.member];
    const uint32_t its_left = left(d.reference), own_left = left(d.member);
    const auto score = [&](uint32_t skip_its, uint32_t skip_own) {
      return changes(its_left - skip_its, own_left - skip_own, [&](uint32_t i, uint32_t j) {
        return same_(d.reference, d.its + skip_its + i, d.member, s.at + skip_own + j);
      });
    };
    const uint32_t differs = score(1, 1), lacks = score(1, 0), extra = score(0, 1);
    const uint32_t least = std::min(lacks, extra), farthest = std::min({its_left, own_left, kFarthestSwap});
    uint32_t distance = 1;
    while (distance < farthest && !(same_(d.reference, d.its + distance, d.member, s.at) &&
                                    same_(d.reference, d.its, d.member, s.at + distance)))
      ++distance;
    // Once taken as swapped, the other element is skipped.
    if (distance < farthest && (differs <= least || (differs == least + 1 && its_left == own_left))) {
      d.how = How::swapped;
      d.swapped_with = s.at + distance;
      s.forgiven.push_back(d.swapped_with);
      return 1;
    }
    if (differs <= least) return 1;
    d.how = lacks <= extra ? How::lacks : How::extra;
    return d.how == How::lacks ? 0 : 2;
  }

  std::span<const uint32_t> lengths_;
  const Same& same_;
  std::vector<State> state_;
  std::vector<Deviation> found_;
  std::vector<uint32_t> opinion_of_;        ///< per member: into the two below
  std::vector<uint32_t> speakers_, votes_;  ///< per view: the first member that has it, and the number of members
};

}  // namespace sequences

/// Find all deviations. Members are in ascending order of rank; same(a, i, b, j): whether element i of
/// member a agrees with element j of member b. Result by index, then member. In a tie between views, that of
/// the first member counts. Cost: O(elements) if all agree; O(elements) more for each member that does not.
template <class Same>
std::vector<Deviation> find_deviations(std::span<const uint32_t> lengths, const Same& same) {
  return sequences::Comparison<Same>(lengths, same).run();
}

}  // namespace chakra::match
