#include "chakra/edit/runs.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace chakra::edit {
namespace {

constexpr size_t kLeastParts = 3;
constexpr size_t kLeastPeriod = 3;      ///< of a layer; shorter parts are layers only beside longer ones
constexpr size_t kMostPeriod = 20'000;  ///< operations of a layer
constexpr double kLeastShare = 0.4;     ///< of the operations that layers fill
constexpr double kLeastExact = 0.25;    ///< of those, in runs of as many layers as the longest
constexpr size_t kMostInPart = 4;       ///< layers that an equal part of single operations can have

/// The most frequent distances between equal values, ascending.
std::vector<size_t> periods_of(std::span<const uint32_t> values) {
  absl::flat_hash_map<uint32_t, size_t> last;
  absl::flat_hash_map<size_t, size_t> counts;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto [at, first] = last.emplace(values[i], i);
    if (!first && i - at->second <= kMostPeriod) ++counts[i - at->second];
    at->second = i;
  }
  std::vector<std::pair<size_t, size_t>> by_count;  // negative order: the most frequent first
  for (const auto& [period, count] : counts) by_count.emplace_back(count, period);
  std::sort(by_count.begin(), by_count.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (by_count.size() > kMostPeriods) by_count.resize(kMostPeriods);
  std::vector<size_t> periods;
  for (const auto& [count, period] : by_count) periods.push_back(period);
  std::sort(periods.begin(), periods.end());
  return periods;
}

void add_runs(std::span<const uint32_t> values, size_t lane, size_t period, std::vector<Run>& runs) {
  for (size_t begin = 0; begin + period < values.size();) {
    size_t end = begin;  // values[i] == values[i + period] for i in [begin, end)
    while (end + period < values.size() && values[end] == values[end + period]) ++end;
    const size_t count = (end - begin) / period + 1;
    if (count >= kLeastParts) runs.push_back({lane, begin, period, count});
    begin = end + 1;
  }
}

/// Intervals of the sequences that are taken.
class Taken {
 public:
  /// Take the run, unless a part of it is taken.
  bool take(const Run& run) {
    auto& lane = lanes_[run.lane];
    const auto after = lane.lower_bound(run.begin);
    if (after != lane.end() && after->first < run.end()) return false;
    if (after != lane.begin() && std::prev(after)->second > run.begin) return false;
    lane.emplace(run.begin, run.end());
    return true;
  }

 private:
  std::map<size_t, std::map<size_t, size_t>> lanes_;  ///< by lane: from begin to end
};

bool varies(std::span<const uint32_t> part) {
  return std::any_of(part.begin(), part.end(), [&](uint32_t value) { return value != part[0]; });
}

/// Of what comes once for each layer, those that differ in a pass included.
bool is_beside(size_t count, size_t layers, size_t in_part) {
  return count <= layers + kFewer && count + in_part >= layers;
}

/// What the runs of a number of layers fill.
struct Filled {
  size_t values = 0, parts = 0;
  double period() const { return static_cast<double>(values) / static_cast<double>(parts); }
};

/// The runs of passes over that many layers, in the order of all_runs().
std::vector<const Run*> passes_of(const std::map<size_t, std::vector<const Run*>>& by_count, size_t layers) {
  std::vector<const Run*> runs;
  for (auto at = by_count.lower_bound(layers - std::min(layers, kFewer)); at != by_count.end() && at->first <= layers;
       ++at)
    runs.insert(runs.end(), at->second.begin(), at->second.end());
  std::sort(runs.begin(), runs.end());  // they lie in one list
  return runs;
}

Filled filled_by(std::span<const Run* const> runs) {
  Filled filled;
  Taken taken;
  for (const Run* run : runs)
    if (taken.take(*run)) filled.values += run->period * run->count, filled.parts += run->count;
  return filled;
}

/// All runs, those of a lane by ascending period.
std::vector<Run> all_runs(std::span<const std::vector<uint32_t>> lanes) {
  std::vector<Run> runs;
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    for (const size_t period : periods_of(lanes[lane])) add_runs(lanes[lane], lane, period, runs);
  return runs;
}

bool can_be_layer(std::span<const std::vector<uint32_t>> lanes, const Run& run) {
  return run.period >= kLeastPeriod && varies(std::span(lanes[run.lane]).subspan(run.begin, run.period));
}

void sort(std::vector<Run>& runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return std::pair(a.lane, a.begin) < std::pair(b.lane, b.begin); });
}

}  // namespace

std::vector<Run> find_runs(std::span<const std::vector<uint32_t>> lanes, size_t layers) {
  std::vector<Run> found;
  Taken taken;
  for (Run run : all_runs(lanes)) {
    if (!can_be_layer(lanes, run)) continue;
    for (size_t in_part = 1; in_part <= kMostInPart; ++in_part) {
      if (run.period % in_part != 0 || !is_beside(run.count * in_part, layers, in_part)) continue;
      if (taken.take(run)) found.push_back({run.lane, run.begin, run.period / in_part, run.count * in_part});
      break;
    }
  }
  sort(found);
  return found;
}

LayerRuns find_layers(std::span<const std::vector<uint32_t>> lanes) {
  const std::vector<Run> runs = all_runs(lanes);
  size_t all = 0;
  for (const std::vector<uint32_t>& lane : lanes) all += lane.size();
  const auto is_layer = [&](const Run& run) { return can_be_layer(lanes, run); };
  std::map<size_t, std::vector<const Run*>> by_count;
  for (const Run& run : runs)
    if (is_layer(run)) by_count[run.count].push_back(&run);
  LayerRuns found;
  std::optional<Filled> best;
  for (const auto& [layers, of] : by_count) {
    const Filled filled = filled_by(passes_of(by_count, layers)), exact = filled_by(of);
    if (static_cast<double>(filled.values) < kLeastShare * static_cast<double>(all)) continue;
    if (static_cast<double>(exact.values) < kLeastExact * static_cast<double>(filled.values)) continue;
    if (best &&
        (filled.period() > best->period() || (filled.period() == best->period() && filled.values <= best->values)))
      continue;
    best = filled;
    found.layers = layers;
  }
  if (!best) return {};
  Taken taken;
  const auto keep = [&](const Run& run) {
    if (taken.take(run)) found.runs.push_back(run);
  };
  for (const Run* run : passes_of(by_count, found.layers)) keep(*run);
  for (const Run& run : runs)  // one or two operations a layer, as those of an optimizer
    if (is_beside(run.count, found.layers, 1)) keep(run);
  sort(found.runs);
  return found;
}

}  // namespace chakra::edit
