// Trace -> Timeline.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/trace/starts.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr uint32_t kNoSlice = UINT32_MAX;

class TimelineBuilder {
 public:
  TimelineBuilder(const trace::TraceSet& job, Findings& findings) : job_(job), findings_(findings) {}

  Result<result::Timeline> run() {
    int64_t zero_ns = INT64_MAX;
    for (const Trace& t : job_.ranks)
      if (trace::has_starts(t)) zero_ns = std::min(zero_ns, t.base_ns);
    for (const Trace& t : job_.ranks) {
      if (trace::has_starts(t)) {
        const int64_t apart_ns = t.base_ns - zero_ns;
        add(t, trace::inclusive_ends(t), t.start_ps, apart_ns > kLongestPs / kPsPerNs ? 0 : apart_ns * kPsPerNs);
      } else {
        CHAKRA_TRY(add_as_early_as_possible(t));
      }
    }
    return std::move(timeline_);
  }

 private:
  Result<void> add_as_early_as_possible(const Trace& t) {
    CHAKRA_ASSIGN(const std::vector<NodeId> order, trace::running_order(t, "view.cycle"));
    findings_.push_back({"view.not_measured", Severity::note, t.rank, -1,
                         "no start times were measured; nodes are placed as early as their dependencies allow"});
    const std::vector<Picoseconds> ends = trace::earliest_ends(t, order, t.dur_ps);
    std::vector<Picoseconds> starts(t.size());
    for (const NodeId n : t.nodes()) starts[n] = ends[n] - t.dur_ps[n];
    add(t, ends, starts, 0);
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
    StringPool& strings = timeline_.strings;
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
      timeline_.slices.push_back({track, strings.intern(name), strings.intern(trace::name(t.type[n])),
                                  add_saturated(offset, starts[n]), add_saturated(offset, ends[n]), t.id[n]});
    }
    const std::vector<NodeId> shown = trace::shown_nodes(t);
    for (const NodeId n : t.nodes())
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
        const trace::EdgeKind kind = trace::kind_of(t.deps.kind[e]);
        if (kind != trace::EdgeKind::launch && kind != trace::EdgeKind::comm) continue;
        const uint32_t from = slice_of_[shown[t.deps.node[e]]], to = slice_of_[shown[n]];
        if (from != kNoSlice && to != kNoSlice)
          timeline_.flows.push_back({from, to, strings.intern(trace::name(kind))});
      }
  }

  const trace::TraceSet& job_;
  Findings& findings_;
  result::Timeline timeline_;
  std::vector<uint32_t> slice_of_;
};

}  // namespace

Result<result::Timeline> timeline_of(const trace::TraceSet& job, Findings& findings) {
  return TimelineBuilder(job, findings).run();
}

}  // namespace chakra::view
