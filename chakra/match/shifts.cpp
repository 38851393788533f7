#include "chakra/match/shifts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/base/quantile.h"

namespace chakra::match {
namespace {

constexpr size_t kMostCandidates = 1024;
constexpr size_t kMostSamples = 64;         ///< pairs that judge a candidate
constexpr size_t kFewestPairs = 4;          ///< from which their pattern in time tells something
constexpr double kClearlyBest = 4;          ///< times less disagreement than any other candidate
constexpr double kNoiseNs = 1000;           ///< times of some recordings are whole microseconds
constexpr double kMostDisagreement = 0.05;  ///< of the time from one collective to the next
constexpr double kNearestShare = 4;  ///< the clock must be this much nearer than the distance to another candidate
constexpr double kNormalSpread = 1.4826, kNormalTail = 1.6449;  ///< from median and 90th percentile to one deviation

int64_t length(const RecordedCalls& calls) { return std::ssize(calls); }

double quantile(std::vector<double>& values, double share) {
  return nth_of(values, static_cast<size_t>(share * static_cast<double>(values.size() - 1)));
}

double median_gap(const RecordedCalls& calls) {
  std::vector<double> gaps;
  for (size_t i = 1; i < calls.size(); ++i) gaps.push_back(std::abs(calls[i].end_ns - calls[i - 1].end_ns));
  return gaps.empty() ? 0 : quantile(gaps, 0.5);
}

/// For each i, how many elements from text[i] on equal those from pattern[0] on. Gusfield's Z algorithm.
std::vector<size_t> matches_of(const RecordedCalls& pattern, const RecordedCalls& text) {
  const size_t n = pattern.size(), all = n + text.size();
  const auto kind = [&](size_t i) { return i < n ? pattern[i].kind : text[i - n].kind; };
  std::vector<size_t> z(all, 0);
  for (size_t i = 1, left = 0, right = 0; i < all; ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < all && kind(z[i]) == kind(i + z[i])) ++z[i];
    if (i + z[i] > right) left = i, right = i + z[i];
  }
  return {z.begin() + static_cast<ptrdiff_t>(n), z.end()};
}

/// Where each step begins and ends among the calls; empty where steps do not follow each other.
struct StepSpan {
  int64_t first, last;
};
std::map<int64_t, StepSpan> spans_of(const RecordedCalls& calls) {
  std::map<int64_t, StepSpan> spans;
  for (int64_t i = 0; i < length(calls); ++i) {
    const int64_t step = calls[static_cast<size_t>(i)].step;
    if (step < 0) continue;
    const auto [span, added] = spans.try_emplace(step, StepSpan{i, i});
    if (added && (span->first != spans.rbegin()->first)) return {};
    if (!added && span->second.last + 1 != i) return {};
    span->second.last = i;
  }
  return spans;
}

/// The shift that most votes are for, if they are four fifths or more.
std::optional<int64_t> winner(const std::map<int64_t, size_t>& votes) {
  size_t sum = 0;
  auto most = votes.begin();
  for (auto vote = votes.begin(); vote != votes.end(); ++vote) {
    sum += vote->second;
    if (vote->second > most->second) most = vote;
  }
  if (sum == 0 || 5 * most->second < 4 * sum) return std::nullopt;
  return most->first;
}

/// At least half of the pairs are of one kind.
bool mostly_of_one_kind(const RecordedCalls& a, const RecordedCalls& b, int64_t shift) {
  size_t equal = 0, pairs = 0;
  for (int64_t i = std::max<int64_t>(0, -shift); i < length(b) && i + shift < length(a); ++i, ++pairs)
    equal += a[static_cast<size_t>(i + shift)].kind == b[static_cast<size_t>(i)].kind;
  return 2 * equal >= pairs;
}

std::optional<Shift> nearest_to(const std::vector<Shift>& candidates, double offset_ns) {
  const auto away = [&](const Shift& s) { return std::abs(s.offset_ns - offset_ns); };
  const Shift* best = nullptr;
  for (const Shift& s : candidates)
    if (!best || away(s) < away(*best)) best = &s;
  if (!best) return std::nullopt;
  double other = INFINITY;
  for (const Shift& s : candidates)
    if (&s != best) other = std::min(other, std::abs(s.offset_ns - best->offset_ns));
  return away(*best) * kNearestShare <= other ? std::optional(*best) : std::nullopt;
}

}  // namespace

Shift measure_shift(const RecordedCalls& a, const RecordedCalls& b, int64_t shift) {
  const int64_t begin = std::max<int64_t>(0, -shift), end = std::min(length(b), length(a) - shift);
  Shift found{shift, 0, 0, static_cast<size_t>(std::max<int64_t>(0, end - begin))};
  if (found.pairs == 0) return found;
  std::vector<double> apart;
  for (const bool all : {false, true}) {
    const auto stride = static_cast<int64_t>((found.pairs + kMostSamples - 1) / kMostSamples);
    for (int64_t i = begin; i < end && (apart.empty() || !all); i += stride) {
      const RecordedCall &x = a[static_cast<size_t>(i + shift)], &y = b[static_cast<size_t>(i)];
      if (all || (x.together && y.together)) apart.push_back(y.end_ns - x.end_ns);
    }
    if (apart.size() > 1) break;
    if (!all) apart.clear();
  }
  for (int64_t i = begin; i < end && apart.empty(); ++i)
    apart.push_back(b[static_cast<size_t>(i)].end_ns - a[static_cast<size_t>(i + shift)].end_ns);
  found.offset_ns = quantile(apart, 0.5);
  for (double& value : apart) value = std::abs(value - found.offset_ns);
  found.spread_ns = std::max(kNormalSpread * quantile(apart, 0.5), quantile(apart, 0.9) / kNormalTail);
  return found;
}

std::optional<Shift> shift_by_steps(const RecordedCalls& a, const RecordedCalls& b) {
  const std::map<int64_t, StepSpan> of_a = spans_of(a), of_b = spans_of(b);
  if (of_a.empty() || of_b.empty()) return std::nullopt;
  // A ring buffer may hold the end of the first step only, and the beginning of the last.
  std::map<int64_t, size_t> sure, perhaps;
  bool common = false;
  for (const auto& [step, span] : of_b) {
    const auto found = of_a.find(step);
    if (found == of_a.end()) continue;
    common = true;
    const bool first = step != of_a.begin()->first && step != of_b.begin()->first;
    const bool last = step != of_a.rbegin()->first && step != of_b.rbegin()->first;
    ++(first ? sure : perhaps)[found->second.first - span.first];
    ++(last ? sure : perhaps)[found->second.last - span.last];
  }
  if (!common) {  // one begins behind the other's end
    const bool behind = of_b.begin()->first > of_a.rbegin()->first;
    return behind || of_b.rbegin()->first < of_a.begin()->first
               ? std::optional(Shift{behind ? length(a) : -length(b), 0, 0, 0})
               : std::nullopt;
  }
  const std::optional<int64_t> shift = winner(sure.empty() ? perhaps : sure);
  if (!shift || !mostly_of_one_kind(a, b, *shift)) return std::nullopt;
  return measure_shift(a, b, *shift);
}

std::vector<int64_t> shifts_by_kind(const RecordedCalls& a, const RecordedCalls& b) {
  std::vector<int64_t> shifts;
  if (a.empty() || b.empty()) return shifts;
  const int64_t shorter = std::min(length(a), length(b));
  const int64_t fewest = std::min(shorter, std::max<int64_t>(3, shorter / 4));
  const std::vector<size_t> in_b = matches_of(a, b), in_a = matches_of(b, a);  // from where on the other begins
  for (int64_t i = length(b) - 1; i > 0; --i) {
    const int64_t pairs = std::min(length(b) - i, length(a));
    if (pairs >= fewest && std::cmp_greater_equal(in_b[static_cast<size_t>(i)], pairs)) shifts.push_back(-i);
  }
  for (int64_t i = 0; i < length(a); ++i) {
    const int64_t pairs = std::min(length(a) - i, length(b));
    if (pairs >= fewest && std::cmp_greater_equal(in_a[static_cast<size_t>(i)], pairs)) shifts.push_back(i);
  }
  return shifts;
}

std::optional<Shift> find_shift(const RecordedCalls& a, const RecordedCalls& b, std::optional<double> offset_ns) {
  if (std::optional<Shift> by_steps = shift_by_steps(a, b)) return by_steps;
  std::vector<int64_t> shifts = shifts_by_kind(a, b);
  if (shifts.size() > kMostCandidates) {
    std::nth_element(shifts.begin(), shifts.begin() + kMostCandidates, shifts.end(),
                     [](int64_t x, int64_t y) { return std::pair(std::abs(x), x) < std::pair(std::abs(y), y); });
    shifts.resize(kMostCandidates);
  }
  std::vector<Shift> candidates;
  for (const int64_t shift : shifts) candidates.push_back(measure_shift(a, b, shift));
  if (candidates.size() == 1) return candidates[0];
  if (offset_ns) return nearest_to(candidates, *offset_ns);
  const auto less = [](const Shift& x, const Shift& y) { return x.spread_ns < y.spread_ns; };
  std::vector<Shift> judged = candidates;
  std::erase_if(judged, [](const Shift& s) { return s.pairs < kFewestPairs; });
  const auto best = std::min_element(judged.begin(), judged.end(), less);
  if (best != judged.end() && best->spread_ns <= kMostDisagreement * median_gap(a)) {
    double next = INFINITY;
    for (auto s = judged.begin(); s != judged.end(); ++s)
      if (s != best) next = std::min(next, s->spread_ns);
    if (kClearlyBest * best->spread_ns + kNoiseNs < next) return *best;
  }
  // Recordings that have as much of it, from places that the wall clock shows at the same time.
  if (a.size() != b.size()) return std::nullopt;
  const std::optional<Shift> by_clock = nearest_to(candidates, 0);
  return by_clock && by_clock->shift == 0 ? by_clock : std::nullopt;
}

}  // namespace chakra::match
