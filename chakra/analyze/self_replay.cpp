#include "chakra/analyze/self_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/analyze/steps.h"
#include "chakra/base/quantile.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr double kInformativeShare = 0.10;
constexpr double kStallToName = 0.02;
constexpr double kErrorToName = 0.01;

class Replayer {
 public:
  explicit Replayer(const Trace& trace) : t_(trace) {}

  Result<SelfReplay> run() {
    for (const NodeId n : t_.nodes())
      if (t_.has_start(n)) last_ = std::max(last_, measured_end(n));
    if (last_ == 0)
      return fail(
          Code::bad_input, "sim.replay.no_times",
          "the trace has no measured start times, so the self-check cannot compare the graph with a measurement",
          {t_.file});
    CHAKRA_ASSIGN(const std::vector<NodeId> order, trace::running_order(t_, "sim.replay.cycle"));

    end_ = trace::earliest_ends(t_, order, t_.dur_ps);
    result_.measured_ps = last_;
    result_.replayed_ps = *std::max_element(end_.begin(), end_.end());
    result_.error = ratio(result_.replayed_ps, result_.measured_ps);
    result_.half_device_ps = half_device(order, true);
    result_.half_recorded_ps = half_device(order, false);
    walk_critical_path();
    find_steps();
    compare_device();
    if (result_.stream_stall_share > kStallToName)
      result_.findings.push_back(
          {"sim.replay.stall", Severity::warning, t_.rank, -1,
           fmt::format("a stream stalls for {} of the time without a recorded reason: was the recording sampled or "
                       "filtered, so that device operations or synchronisation are missing?",
                       show_percent(result_.stream_stall_share))});
    if (std::abs(result_.error) > kErrorToName)
      result_.findings.push_back(
          {"sim.replay.error", Severity::warning, t_.rank, -1,
           fmt::format("the graph takes {}, but {} were measured; predictions from the graph are at best as good as "
                       "this error of {:+.2f} %",
                       show_time(result_.replayed_ps), show_time(result_.measured_ps), 100 * result_.error)});
    return result_;
  }

 private:
  Picoseconds measured_end(NodeId n) const { return add_saturated(t_.start_ps[n], t_.dur_ps[n]); }
  Picoseconds replayed_start(NodeId n) const { return end_[n] - t_.dur_ps[n]; }
  static double ratio(Picoseconds replayed, Picoseconds measured) {
    return measured == 0 ? 0 : static_cast<double>(replayed) / static_cast<double>(measured) - 1;
  }

  bool is_unrecorded(NodeId n) const { return t_.name_of(n) == trace::kUnrecorded; }

  Picoseconds half_device(const std::vector<NodeId>& order, bool unrecorded_too) const {
    std::vector<Picoseconds> durations(t_.dur_ps.begin(), t_.dur_ps.end());
    for (const NodeId n : t_.nodes())
      if (t_.on_device(n) && (unrecorded_too || !is_unrecorded(n))) durations[n] /= 2;
    const std::vector<Picoseconds> ends = trace::earliest_ends(t_, order, durations);
    return *std::max_element(ends.begin(), ends.end());
  }

  PathPart part_of(NodeId n) const {
    const std::string_view name = t_.name_of(n);
    if (name == trace::kUnrecorded) return PathPart::unrecorded;
    if (t_.on_device(n)) return PathPart::device;
    if (name == trace::kHostGap) return PathPart::host_gap;
    if (name == trace::kSyncRemainder) return PathPart::sync_remainder;
    if (name == trace::kInitialCondition) return PathPart::initial_condition;
    return PathPart::host_op;
  }

  void walk_critical_path() {
    std::array<double, kPathParts.size()> time{};
    const auto add = [&](PathPart part, Picoseconds ps) { time[static_cast<size_t>(part)] += static_cast<double>(ps); };
    const auto last = NodeId(std::max_element(end_.begin(), end_.end()) - end_.begin());
    for (const trace::ChainLink& link : trace::latest_chain(t_, last, end_)) {
      add(part_of(link.node), t_.dur_ps[link.node]);
      if (replayed_start(link.node) <= 0) break;
      if (link.edge != trace::kNoRow) add(PathPart::constants, t_.deps.lag_of(link.edge));
    }
    double total = 0;
    for (const double t : time) total += t;
    for (size_t i = 0; i < time.size(); ++i) result_.critical_path[i] = total > 0 ? time[i] / total : 0;
    const auto share = [&](PathPart part) { return result_.critical_path[static_cast<size_t>(part)]; };
    result_.informative = share(PathPart::device) + share(PathPart::constants) >= kInformativeShare;
  }

  void find_steps() {
    steps_ = analyze::find_steps(t_);
    const auto measured = step_spans(
        steps_, [&](NodeId n) { return t_.start_ps[n]; }, [&](NodeId n) { return measured_end(n); });
    const auto replayed = step_spans(
        steps_, [&](NodeId n) { return replayed_start(n); }, [&](NodeId n) { return end_[n]; });
    for (size_t i = 0; i < steps_.names.size(); ++i) {
      const bool whole = steps_.names[i] == "recording" && measured[i].length() == 0;  // there is no device
      add_step(steps_.names[i], whole ? result_.measured_ps : measured[i].length(),
               whole ? result_.replayed_ps : replayed[i].length());
    }
    std::vector<double> sizes;
    for (const SelfReplay::Step& step : result_.steps) {
      sizes.push_back(std::abs(step.error));
      if (sizes.back() >= std::abs(result_.worst_error)) result_.worst_error = step.error;
    }
    result_.median_error = quantile_of(std::move(sizes), 0.5);
  }

  void add_step(std::string name, Picoseconds measured, Picoseconds replayed) {
    result_.steps.push_back({std::move(name), measured, replayed, ratio(replayed, measured)});
  }

  void compare_device() {
    std::vector<Picoseconds> errors;
    std::vector<Picoseconds> stall(t_.lanes.size(), 0);
    for (const NodeId n : t_.nodes()) {
      if (!t_.on_device(n) || !t_.has_start(n) || is_unrecorded(n)) continue;
      errors.push_back(std::abs(replayed_start(n) - t_.start_ps[n]));
      Picoseconds explained = 0;
      for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e)
        explained = std::max(explained, add_saturated(measured_end(t_.deps.node[e]), t_.deps.lag_of(e)));
      if (steps_.of[n] >= 0 && t_.lane[n] != trace::kNoLane && t_.start_ps[n] > explained)
        stall[t_.lane[n]] += t_.start_ps[n] - explained;
    }
    if (errors.empty()) return;
    result_.start_error_max_ps = *std::max_element(errors.begin(), errors.end());
    result_.start_error_median_ps = whole_quantile_of(std::move(errors), 0.5);
    double steps = 0;
    for (const SelfReplay::Step& step : result_.steps) steps += static_cast<double>(step.measured_ps);
    for (const Picoseconds s : stall)
      if (steps > 0) result_.stream_stall_share = std::max(result_.stream_stall_share, static_cast<double>(s) / steps);
  }

  const Trace& t_;
  SelfReplay result_;
  Picoseconds last_ = 0;
  std::vector<Picoseconds> end_;
  Steps steps_;
};

}  // namespace

Result<SelfReplay> self_replay(const Trace& trace) {
  trace::assert_whole(trace);
  return Replayer(trace).run();
}

}  // namespace chakra::analyze
