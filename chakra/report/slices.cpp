#include "chakra/report/slices.h"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chakra/base/bytes.h"
#include "chakra/base/zip.h"

namespace chakra::report {
namespace {

using result::Timeline;

// `job.report.lanes` (2): a timeline has more than 100,000 lanes: ranks, their streams, and operations that overlap on
// a stream

constexpr int64_t kMostLanes = 100'000;

/// Slices that follow each other.
struct SliceLane {
  uint32_t track = 0;
  size_t depth = 0;  ///< of its track
  std::vector<uint32_t> slices;
};

/// Lanes by track and depth.
std::vector<SliceLane> lanes_of(const Timeline& timeline) {
  std::vector<std::vector<uint32_t>> of_track(timeline.tracks.size());
  for (uint32_t i = 0; i < timeline.slices.size(); ++i) of_track[timeline.slices[i].track].push_back(i);
  std::vector<SliceLane> lanes;
  for (uint32_t track = 0; track < of_track.size(); ++track) {
    std::vector<uint32_t>& slices = of_track[track];
    std::stable_sort(slices.begin(), slices.end(), [&](uint32_t a, uint32_t b) {
      const Timeline::Slice &x = timeline.slices[a], &y = timeline.slices[b];
      return x.start_ps != y.start_ps ? x.start_ps < y.start_ps : x.end_ps > y.end_ps;  // the outer slice first
    });
    const size_t first = lanes.size();
    using Busy = std::pair<Picoseconds, size_t>;  // until when, and the lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::set<size_t> free;
    for (const uint32_t i : slices) {
      const Timeline::Slice& slice = timeline.slices[i];
      for (; !busy.empty() && busy.top().first <= slice.start_ps; busy.pop()) free.insert(busy.top().second);
      if (free.empty()) {
        free.insert(lanes.size());
        lanes.push_back({track, lanes.size() - first, {}});
      }
      const size_t at = *free.begin();
      free.erase(free.begin());
      busy.emplace(slice.end_ps, at);
      lanes[at].slices.push_back(i);
    }
  }
  return lanes;
}

Result<std::string> encoded(const std::string& bytes) {
  CHAKRA_ASSIGN(const std::string packed, deflated(bytes));
  std::string text;
  absl::Base64Escape({packed.data(), packed.size()}, &text);
  return text;
}

/// Numbers of seven bits a byte, the lowest first: the first bytes of all numbers, then the second bytes of those that
/// have one, and so on. Bytes of one place are deflated better together: a million random times take a tenth less.
class Numbers {
 public:
  void put(uint64_t value) {
    size_t place = 0;
    for (; value > 127; value >>= 7) byte(place++, static_cast<char>((value & 127) | 128));
    byte(place, static_cast<char>(value));
  }
  void put_step(int64_t value, int64_t after) { put(zigzag(value - after)); }
  void put_step(int64_t value) { put_step(value, std::exchange(last_, value)); }
  friend std::string operator+(std::string text, const Numbers& numbers) {
    for (const std::string& place : numbers.places_) text += place;
    return text;
  }

 private:
  void byte(size_t place, char value) {
    if (place == places_.size()) places_.emplace_back();
    places_[place] += value;
  }
  std::vector<std::string> places_;
  int64_t last_ = 0;
};

/// Times as numbers of units since the first start, to the nearest. Later times never have smaller numbers.
struct Ticks {
  Picoseconds zero = 0, unit = 1;
  bool rounded = false;
  int64_t operator()(Picoseconds time) const {
    const Picoseconds since = time - zero, rest = since % unit;
    return since / unit + (rest >= unit - rest ? 1 : 0);
  }
};

/// The largest unit that divides all times, but at least `least_unit`.
Ticks ticks_of(const Timeline& timeline, const SliceLinks* links, Picoseconds least_unit) {
  Ticks ticks{timeline.slices.empty() ? 0 : timeline.slices[0].start_ps, 0};
  for (const Timeline::Slice& slice : timeline.slices) ticks.zero = std::min(ticks.zero, slice.start_ps);
  const auto add = [&](const auto& each) {
    ticks.unit = std::gcd(ticks.unit, std::gcd(each.start_ps - ticks.zero, each.end_ps - each.start_ps));
  };
  std::for_each(timeline.slices.begin(), timeline.slices.end(), add);
  if (links) std::for_each(links->path.begin(), links->path.end(), add);
  ticks.unit = std::max<Picoseconds>(ticks.unit, 1);
  ticks.rounded = ticks.unit < least_unit;
  if (ticks.rounded) ticks.unit = least_unit;
  return ticks;
}

/// The links by places of slices in the lanes, as members of a JSON object. The bytes hold the number of arrows from
/// each slice, the targets and the kinds of these arrows, the sizes and the members of collectives, and for the pieces
/// of the path the slices, the gaps after the piece before, and the durations.
Result<std::string> packed_links(const Timeline& timeline, const std::vector<SliceLane>& lanes, const SliceLinks& links,
                                 const Ticks& ticks) {
  std::vector<int64_t> places(timeline.slices.size());
  int64_t count = 0;
  for (const SliceLane& lane : lanes)
    for (const uint32_t i : lane.slices) places[i] = count++;
  struct Arrow {
    int64_t from, to;
    size_t kind;
  };
  std::vector<Arrow> arrows;
  std::vector<StringId> kinds;
  for (const Timeline::Flow& flow : links.arrows) {
    const auto kind = std::find(kinds.begin(), kinds.end(), flow.name);
    arrows.push_back({places[flow.from], places[flow.to], static_cast<size_t>(kind - kinds.begin())});
    if (kind == kinds.end()) kinds.push_back(flow.name);
  }
  std::stable_sort(arrows.begin(), arrows.end(),
                   [](const Arrow& a, const Arrow& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  Numbers counts, targets, arrow_kinds, sizes, members, path, gaps, durations;
  size_t a = 0;
  for (int64_t place = 0; place < count; ++place) {
    const size_t first = a;
    for (; a < arrows.size() && arrows[a].from == place; ++a) {
      targets.put_step(arrows[a].to, place);
      arrow_kinds.put(arrows[a].kind);
    }
    counts.put(a - first);
  }
  for (const std::vector<uint32_t>& each : links.collectives) {
    sizes.put(each.size());
    for (const uint32_t i : each) members.put_step(places[i]);
  }
  int64_t last = 0;
  for (const SliceLinks::Piece& each : links.path) {
    const int64_t start = ticks(each.start_ps), end = ticks(each.end_ps);
    path.put_step(places[each.slice]);
    gaps.put(static_cast<uint64_t>(start - std::exchange(last, end)));
    durations.put(static_cast<uint64_t>(end - start));
  }
  CHAKRA_ASSIGN(const std::string bytes,
                encoded(std::string() + counts + targets + arrow_kinds + sizes + members + path + gaps + durations));
  std::string json = ", \"arrows\": " + std::to_string(arrows.size()) +
                     ", \"collectives\": " + std::to_string(links.collectives.size()) +
                     ", \"path\": " + std::to_string(links.path.size()) + ", \"path_of\": ";
  answer::append_text(json, links.path_of);
  json += ", \"kinds\": [";
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (k > 0) json += ", ";
    answer::append_text(json, timeline.strings[kinds[k]]);
  }
  return json + "], \"links\": \"" + bytes + "\"";
}

}  // namespace

Result<PackedSlices> packed_slices(const Timeline& timeline, const SliceLinks* links, Picoseconds least_unit,
                                   Page& page) {
  const std::vector<SliceLane> lanes = lanes_of(timeline);
  if (std::ssize(lanes) > kMostLanes)
    return fail(Code::usage, "job.report.lanes",
                "the timeline would have " + show_count(std::ssize(lanes)) + " lanes, and a page can have " +
                    show_count(kMostLanes) + ": too many operations of a rank overlap; leave out the timeline");
  const Ticks ticks = ticks_of(timeline, links, least_unit);
  Picoseconds length = 0;
  for (const Timeline::Slice& slice : timeline.slices) length = std::max(length, slice.end_ps - ticks.zero);
  std::unordered_map<StringId, uint64_t> places;
  std::vector<StringId> names;
  Numbers gaps, durations, name_places;
  std::string json = "{\"unit_ps\": " + std::to_string(ticks.unit) +
                     ", \"rounded\": " + (ticks.rounded ? "true" : "false") + ", \"lanes\": [";
  for (const SliceLane& lane : lanes) {
    const Timeline::Track& track = timeline.tracks[lane.track];
    if (&lane != lanes.data()) json += ",\n";
    json += "{\"rank\": " + std::to_string(track.rank) + ", \"depth\": " + std::to_string(lane.depth) + ", \"track\": ";
    answer::append_text(json, track.name.substr(0, kMostText));
    json += ", \"slices\": " + std::to_string(lane.slices.size()) + "}";
    int64_t last = 0;
    for (const uint32_t i : lane.slices) {
      const Timeline::Slice& slice = timeline.slices[i];
      const auto [at, added] = places.try_emplace(slice.name, names.size());
      if (added) names.push_back(slice.name);
      const int64_t start = ticks(slice.start_ps), end = ticks(slice.end_ps);
      gaps.put(static_cast<uint64_t>(start - std::exchange(last, end)));
      durations.put(static_cast<uint64_t>(end - start));
      name_places.put(at->second);
    }
  }
  json += "], \"length_ps\": " + std::to_string(length) + ", \"names\": [";
  for (const StringId name : names) {
    if (name != names.front()) json += ",\n";
    answer::append_text(json, timeline.strings[name].substr(0, kMostText));
  }
  CHAKRA_ASSIGN(const std::string bytes, encoded(std::string() + gaps + durations + name_places));
  json += "], \"bytes\": \"" + bytes + "\"";
  if (links) {
    CHAKRA_ASSIGN(const std::string members, packed_links(timeline, lanes, *links, ticks));
    json += members;
  }
  json += "}";
  page.slices += std::ssize(timeline.slices);
  return PackedSlices{std::move(json), ticks.rounded};
}

}  // namespace chakra::report
