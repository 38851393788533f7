// Where sequences that should be equal are not, and who is to blame: the members of a group and their collectives,
// or the two ends of a channel and their messages. At the first place where members disagree the majority decides;
// the others are aligned with it by what takes the fewest changes, so that one dropped element is one deviation and
// not one at every place after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace chakra::match {

struct Deviation {
  enum class How : uint8_t { lacks, extra, differs, swapped } how = How::differs;
  uint32_t member = 0;
  uint32_t index = 0;         ///< place in what the majority does
  uint32_t own = 0;           ///< place in the member's sequence; lacks: where it would be
  uint32_t reference = 0;     ///< a member of the majority ...
  uint32_t its = 0;           ///< ... and its place; extra: where it would be
  uint32_t swapped_with = 0;  ///< own place of the other one
  uint32_t more = 0;          ///< deviations of the member behind this one
  bool tie = false;           ///< as many say the opposite: the later member is named
};

namespace sequences {

constexpr uint32_t kMostChanges = 24;     ///< beyond, alignments are not told apart
constexpr uint32_t kMostDeviations = 16;  ///< of a member; what is behind is not looked at
constexpr uint32_t kFarthestSwap = 4096;
constexpr size_t kMostOpinions = 16;

/// How many elements to drop, add or change to make b (of `to` elements) of a (of `from`), or kMostChanges + 1;
/// same(i, j): whether a[i] and b[j] agree. Ukkonen, "Algorithms for approximate string matching", 1985.
/// Cost: O(elements + kMostChanges^2) where few changes are needed.
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

}  // namespace sequences

/// Members stand in ascending order of rank; same(a, i, b, j): whether element i of member a agrees with element j of
/// member b. By index, then member. Where opinions are equally many, that of the first member counts.
/// Cost: O(elements) where all agree; O(elements) more for each member that does not.
template <class Same>
std::vector<Deviation> find_deviations(std::span<const uint32_t> lengths, const Same& same) {
  using How = Deviation::How;
  struct State {
    uint32_t at = 0, deviations = 0;
    size_t first = SIZE_MAX;         // in `found`
    std::vector<uint32_t> forgiven;  // own places of elements that were swapped
    bool given_up = false;
  };
  const auto members = static_cast<uint32_t>(lengths.size());
  std::vector<State> state(members);
  std::vector<Deviation> found;
  const auto at_end = [&](uint32_t m) { return state[m].at >= lengths[m]; };
  const auto forgiven = [&](uint32_t m) {
    const auto& list = state[m].forgiven;
    return !list.empty() && std::find(list.begin(), list.end(), state[m].at) != list.end();
  };
  const auto agree = [&](uint32_t a, uint32_t b) {
    return at_end(a) || at_end(b) ? at_end(a) == at_end(b) : same(a, state[a].at, b, state[b].at);
  };
  std::vector<uint32_t> opinion_of(members), speakers, votes;
  for (uint32_t index = 0;; ++index) {
    speakers.clear();
    votes.clear();
    bool any_left = false;
    for (uint32_t m = 0; m < members; ++m) {
      opinion_of[m] = UINT32_MAX;
      if (state[m].given_up || forgiven(m)) continue;
      any_left |= !at_end(m);
      size_t o = 0;
      while (o < speakers.size() && !agree(speakers[o], m)) ++o;
      if (o == speakers.size()) {
        if (o == sequences::kMostOpinions) continue;
        speakers.push_back(m);
        votes.push_back(0);
      }
      opinion_of[m] = static_cast<uint32_t>(o);
      ++votes[o];
    }
    if (speakers.empty() || (!any_left && speakers.size() == 1)) {
      if (speakers.empty() && std::any_of(state.begin(), state.end(), [&](const State& s) { return !s.given_up; })) {
        for (State& s : state) ++s.at;  // all that are left were swapped here
        continue;
      }
      break;
    }
    const auto winner = static_cast<uint32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    const uint32_t reference = speakers[winner];
    const State r = state[reference];
    const uint32_t left = lengths[reference] - std::min(lengths[reference], r.at);
    bool advance = left > 0;
    for (uint32_t m = 0; m < members && speakers.size() > 1; ++m) {
      State& s = state[m];
      if (s.given_up || opinion_of[m] == winner || forgiven(m)) continue;
      Deviation d{How::differs, m, index, s.at, reference, r.at, 0, 0, false};
      d.tie = opinion_of[m] != UINT32_MAX && votes[opinion_of[m]] == votes[winner];
      const uint32_t mine = lengths[m] - std::min(lengths[m], s.at);
      uint32_t skipped = 0, behind = 0;  // own elements dealt with; deviations besides this one
      if (left == 0 || mine == 0) {
        d.how = left == 0 ? How::extra : How::lacks;
        behind = std::max(left, mine) - 1;
        s.given_up = true;
      } else {
        const auto score = [&](uint32_t skip_its, uint32_t skip_own) {
          return sequences::changes(left - skip_its, mine - skip_own, [&](uint32_t i, uint32_t j) {
            return same(reference, r.at + skip_its + i, m, s.at + skip_own + j);
          });
        };
        uint32_t differs = score(1, 1), lacks = score(1, 0), extra = score(0, 1), distance = 1;
        const uint32_t farthest = std::min({left, mine, sequences::kFarthestSwap});
        while (distance < farthest &&
               !(same(reference, r.at + distance, m, s.at) && same(reference, r.at, m, s.at + distance)))
          ++distance;
        // Taken as swapped, the other one counts no more.
        const uint32_t least = std::min(lacks, extra);
        const bool swapped = distance < farthest && (differs <= least || (differs == least + 1 && left == mine));
        if (swapped) {
          d.how = How::swapped;
          d.swapped_with = s.at + distance;
          s.forgiven.push_back(d.swapped_with);
          skipped = 1;
        } else if (differs <= std::min(lacks, extra)) {
          skipped = 1;
        } else if (lacks <= extra) {
          d.how = How::lacks;
        } else {
          d.how = How::extra;
          skipped = 2;
        }
      }
      if (s.first == SIZE_MAX) {
        s.first = found.size();
        found.push_back(d);
        found.back().more = behind;
      } else {
        found[s.first].more += 1 + behind;
      }
      if (++s.deviations >= sequences::kMostDeviations) s.given_up = true;
      // A member that advances with the majority is put back by one here.
      s.at += skipped;
      if (advance) --s.at;
    }
    if (!advance) break;  // the majority is at its end
    for (State& s : state) ++s.at;
  }
  return found;
}

}  // namespace chakra::match
