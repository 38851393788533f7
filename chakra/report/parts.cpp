#include "chakra/report/parts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

namespace chakra::report {
namespace {

using PartKey = std::pair<std::string, std::string>;

std::optional<Picoseconds> time_of(const answer::Answer& answer, const std::string& key) {
  const answer::Value* const value = answer.value(key);
  const int64_t* const time = value && value->present ? std::get_if<int64_t>(&value->cell) : nullptr;
  return time ? std::optional(*time) : std::nullopt;
}
std::optional<double> share_of(const answer::Answer& answer, const std::string& key) {
  const answer::Value* const value = answer.value(key);
  const double* const share = value && value->present ? std::get_if<double>(&value->cell) : nullptr;
  return share ? std::optional(*share) : std::nullopt;
}

/// Sources of device time, as in the values `device_time` of a simulation.
struct TimeSource {
  std::string_view key, what, basis;
};
constexpr std::array<TimeSource, 3> kTimeSources{{
    {"device_time.measured_kernels", "device time from measured kernels", "errors of the device file, by kind"},
    {"device_time.estimated", "device time from estimates", "errors of the estimates, on measured kernels"},
    {"device_time.other", "device time that is scaled, or as in the traces", "errors of the scaling"},
}};

void add_device_time(const answer::Answer& answer, const sim::SimReport& report, std::vector<Reliability>& rows) {
  if (time_of(answer, "device_time.time_ps")) {
    for (const TimeSource& source : kTimeSources) {
      const std::string key(source.key);
      if (const auto time = time_of(answer, key + ".time_ps"))
        rows.push_back({std::string(source.what), time, share_of(answer, key + ".error"), std::string(source.basis)});
    }
    return;
  }
  Picoseconds compute = 0;
  for (const sim::RankReport& rank : report.ranks) compute = add_saturated(compute, rank.compute_ps);
  rows.push_back({"computation", compute, std::nullopt, "times in the traces, as recorded or as generated"});
}

void add_collectives(const sim::SimReport& report, std::vector<Reliability>& rows) {
  struct Sum {
    Picoseconds time = 0;
    double off_ps = 0;
    bool any = false, unknown = false;
  };
  Sum fitted, outside, priced;
  for (const sim::CollectiveReport& c : report.collectives) {
    const bool inside = c.fitted && !c.fitted->other_ranks && !c.fitted->other_bytes && !c.fitted->from_parts;
    Sum& sum = inside ? fitted : c.fitted ? outside : priced;
    sum.any = true;
    sum.time = add_saturated(sum.time, c.total_ps);
    if (inside && c.fitted->error_percent >= 0)
      sum.off_ps += static_cast<double>(c.total_ps) * c.fitted->error_percent / 100;
    else sum.unknown = true;
  }
  const auto add = [&](const Sum& sum, const char* what, const char* basis) {
    if (!sum.any) return;
    const bool known = !sum.unknown && sum.time > 0;
    rows.push_back(
        {what, sum.time, known ? std::optional(sum.off_ps / static_cast<double>(sum.time)) : std::nullopt, basis});
  };
  add(fitted, "collectives from measurements", "mean errors of the fits, on measurements that are held out");
  add(outside, "collectives outside of the measured range", "fits, extrapolated or composed of parts");
  add(priced, "collectives by the network model", "latency and bandwidth of the network file");
}

Reliability reliability_of_step(const answer::Answer& answer, Picoseconds makespan) {
  if (const auto measured = share_of(answer, "measured.simulated_transfers.error"))
    return {"step", makespan, measured, "the recording, which can be of another network or device"};
  const auto least = time_of(answer, "published.least_ps"), most = time_of(answer, "published.most_ps");
  if (!least || !most || *least <= 0 || makespan <= 0)
    return {"step", makespan, std::nullopt,
            "no measurement of this job; docs/explanation/accuracy.md has measured steps"};
  const auto step = static_cast<double>(makespan);
  const double off = std::max(step / static_cast<double>(*least), static_cast<double>(*most) / step) - 1;
  return {"step", makespan, std::max(0.0, off), "published steps around their predictions, the one that is most off"};
}

}  // namespace

std::vector<PathPart> path_parts(const sim::SimReport& report) {
  std::map<PartKey, PathPart> sums;
  for (const sim::PathPiece& piece : report.critical_path) {
    const bool collective = piece.kind == sim::PathPiece::Kind::collective;
    std::string kind(sim::kPathKindNames[static_cast<size_t>(piece.kind)]);
    std::string operation(collective ? trace::name(piece.type) : "");
    PathPart& part = sums[{kind, operation}];
    part.kind = std::move(kind);
    part.operation = std::move(operation);
    ++part.pieces;
    part.time_ps += piece.end_ps - piece.start_ps;
  }
  std::vector<PathPart> parts;
  for (auto& [key, part] : sums) {
    if (report.makespan_ps > 0)
      part.share = static_cast<double>(part.time_ps) / static_cast<double>(report.makespan_ps);
    parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.time_ps > b.time_ps; });
  return parts;
}

std::vector<PathChange> path_changes(std::span<const PathPart> a, std::span<const PathPart> b) {
  std::map<PartKey, PathChange> changes;
  PathChange step;
  step.kind = "step";
  const auto at = [&](const PathPart& part) -> PathChange& {
    PathChange& change = changes[{part.kind, part.operation}];
    change.kind = part.kind;
    change.operation = part.operation;
    return change;
  };
  for (const PathPart& part : a) at(part).a_ps = part.time_ps, step.a_ps += part.time_ps;
  for (const PathPart& part : b) at(part).b_ps = part.time_ps, step.b_ps += part.time_ps;
  std::vector<PathChange> rows{step};
  for (auto& [key, change] : changes) rows.push_back(std::move(change));
  for (PathChange& row : rows) {
    row.change_ps = row.b_ps - row.a_ps;
    if (step.a_ps > 0) row.share = static_cast<double>(row.change_ps) / static_cast<double>(step.a_ps);
  }
  std::stable_sort(rows.begin() + 1, rows.end(),
                   [](const auto& x, const auto& y) { return std::abs(x.change_ps) > std::abs(y.change_ps); });
  return rows;
}

std::vector<Reliability> reliability_of(const answer::Answer& answer, const sim::SimReport& report) {
  std::vector<Reliability> rows{reliability_of_step(answer, report.makespan_ps)};
  if (const auto graph = share_of(answer, "measured.recorded_transfers.error"))
    rows.push_back({"step with recorded transfers", time_of(answer, "measured.recorded_transfers.time_ps"), graph,
                    "the self-check of the graph against the recording"});
  add_device_time(answer, report, rows);
  add_collectives(report, rows);
  if (report.late_start && report.makespan_ps > 0) {
    const Picoseconds less = report.makespan_ps - report.late_start->least_makespan_ps;
    rows.push_back({"places of late ranks in their groups", less,
                    static_cast<double>(less) / static_cast<double>(report.makespan_ps),
                    "the step takes at most this time less"});
  }
  const auto misses = time_of(answer, "congestion.closed_misses_ps");
  if (misses && *misses > 0 && report.makespan_ps > 0)
    rows.push_back({"contention for links that the step leaves out", misses,
                    static_cast<double>(*misses) / static_cast<double>(report.makespan_ps),
                    "the largest additional time, by the step"});
  return rows;
}

}  // namespace chakra::report
