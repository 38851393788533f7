// Trace -> Timeline.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "chakra/trace/starts.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr uint32_t kNoSlice = UINT32_MAX;
constexpr StringId kNoName = UINT32_MAX;

class TimelineBuilder {
 public:
  TimelineBuilder(const trace::TraceSet& job, Findings& findings) : job_(job), findings_(findings) {}

  Result<result::Timeline> run() {
    CHAKRA_TRY(place_unmeasured());
    int64_t zero_ns = INT64_MAX;
    for (const Trace& t : job_.ranks)
      if (trace::has_starts(t)) zero_ns = std::min(zero_ns, t.base_ns);
    for (const trace::RankIndex r : job_.indices()) {
      const Trace& t = job_.ranks[r];
      if (trace::has_starts(t)) {
        const int64_t apart_ns = t.base_ns - zero_ns;
        add(t, trace::inclusive_ends(t), t.start_ps, apart_ns > kLongestPs / kPsPerNs ? 0 : apart_ns * kPsPerNs);
        continue;
      }
      findings_.push_back({"view.not_measured", Severity::note, t.rank, -1,
                           "no start times were measured; nodes are placed as early as their dependencies allow"});
      std::vector<Picoseconds> starts(t.size());
      for (const NodeId n : t.nodes()) starts[n] = earliest_ends_[r][n] - t.dur_ps[n];
      add(t, earliest_ends_[r], starts, 0);
      earliest_ends_[r] = {};
    }
    return std::move(timeline_);
  }

 private:
  /// Without measured starts, nodes end as early as the dependencies allow.
  Result<void> place_unmeasured() {
    earliest_ends_.resize(job_.ranks.size());
    std::vector<std::optional<Error>> cycles(job_.ranks.size());
    trace::each_rank(job_, [&](trace::RankIndex r) {
      const Trace& t = job_.ranks[r];
      if (trace::has_starts(t)) return;
      if (const auto order = trace::running_order(t, "view.cycle"))
        earliest_ends_[r] = trace::earliest_ends(t, *order, t.dur_ps);
      else cycles[r] = order.error();
    });
    for (const std::optional<Error>& cycle : cycles)
      if (cycle) return Failure(*cycle);
    return {};
  }

  void add(const Trace& t, std::span<const Picoseconds> ends, std::span<const Picoseconds> starts, Picoseconds offset) {
    const bool measured = trace::has_starts(t);
    const auto first_track = static_cast<uint32_t>(timeline_.tracks.size());
    for (const trace::Lane& lane : t.lanes)
      timeline_.tracks.push_back({t.rank, lane.kind == trace::Lane::Kind::thread
                                              ? fmt::format("thread {}", lane.index)
                                              : fmt::format("device {} stream {}", lane.process, lane.index)});
    uint32_t other = kNoSlice;  // nodes that say not where they ran
    slice_of_.assign(t.size(), kNoSlice);
    names_.assign(t.strings.size(), kNoName);
    if (job_.ranks.size() == 1) timeline_.slices.reserve(t.size());
    for (const NodeId n : t.nodes()) {
      if ((measured && !t.has_start(n)) || t.part_of[n] != trace::kNoNode || t.type[n] == trace::NodeType::metadata)
        continue;
      const std::string_view name = t.name_of(n);
      if (name == trace::kHostGap || name == trace::kInitialCondition) continue;
      uint32_t track = 0;
      if (t.lane[n] != trace::kNoLane) {
        track = first_track + t.lane[n];
      } else {
        if (other == kNoSlice) {
          other = static_cast<uint32_t>(timeline_.tracks.size());
          timeline_.tracks.push_back({t.rank, "nodes"});
        }
        track = other;
      }
      slice_of_[n] = static_cast<uint32_t>(timeline_.slices.size());
      timeline_.slices.push_back({track, name_of(t, n), name_of(t.type[n]), add_saturated(offset, starts[n]),
                                  add_saturated(offset, ends[n]), t.id[n]});
    }
    const std::vector<NodeId> shown = trace::shown_nodes(t);
    for (const NodeId n : t.nodes())
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
        const trace::EdgeKind kind = trace::kind_of(t.deps.kind[e]);
        if (kind != trace::EdgeKind::launch && kind != trace::EdgeKind::comm) continue;
        const uint32_t from = slice_of_[shown[t.deps.node[e]]], to = slice_of_[shown[n]];
        if (from != kNoSlice && to != kNoSlice)
          timeline_.flows.push_back({from, to, timeline_.strings.intern(trace::name(kind))});
      }
  }

  StringId name_of(const Trace& t, NodeId n) {
    StringId& name = names_[t.name[n]];
    if (name == kNoName) name = timeline_.strings.intern(t.name_of(n));
    return name;
  }
  StringId name_of(trace::NodeType type) {
    StringId& name = types_.try_emplace(type, kNoName).first->second;
    if (name == kNoName) name = timeline_.strings.intern(trace::name(type));
    return name;
  }

  const trace::TraceSet& job_;
  Findings& findings_;
  result::Timeline timeline_;
  std::vector<std::vector<Picoseconds>> earliest_ends_;  ///< by rank without measured starts
  std::vector<uint32_t> slice_of_;
  std::vector<StringId> names_;  ///< by string of the trace
  std::map<trace::NodeType, StringId> types_;
};

}  // namespace

Result<result::Timeline> timeline_of(const trace::TraceSet& job, Findings& findings) {
  return TimelineBuilder(job, findings).run();
}

}  // namespace chakra::view
