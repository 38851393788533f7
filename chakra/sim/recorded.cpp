#include "chakra/sim/recorded.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/times.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/metadata.h"

namespace chakra::sim {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr std::string_view kStart = "rank_start_ns", kDrift = "clock_drift_ppb";
constexpr int64_t kMostStartNs = kLongestPs / kPsPerNs;
constexpr int64_t kMostDriftPpb = 100'000'000;
constexpr size_t kUnknownRanksNamed = 6;

/// An attribute of the metadata; nothing where there is none of that name.
Result<std::optional<int64_t>> number(const Trace& t, std::string_view name, int64_t most) {
  const auto attr = trace::metadata(t, name);
  if (!attr) return std::optional<int64_t>();
  const auto value = attr->integer();
  if (!value || *value > most || *value < -most)
    return fail(Code::bad_input, "sim.start",
                fmt::format("{} of rank {} is not a whole number from {} to {}", name, t.rank, -most, most), {t.file});
  return value;
}

void put_number(Trace& t, std::string_view name, int64_t value) {
  const StringId id = t.strings.intern(name);
  const auto known =
      std::find_if(t.metadata.begin(), t.metadata.end(), [&](const trace::Attr& attr) { return attr.name == id; });
  if (known != t.metadata.end()) known->value = value;
  else t.metadata.push_back({id, value});
}

}  // namespace

void Transfers::Row::scale(double factor) {
  for (Picoseconds* time : {&transfer_ps, &own_ps, &after_ps})
    if (*time >= 0) *time = times(*time, factor);
  pieces *= factor;
}

Result<std::optional<RecordedStart>> recorded_start(const Trace& trace) {
  CHAKRA_ASSIGN(const auto start, number(trace, kStart, kMostStartNs));
  CHAKRA_ASSIGN(const auto drift, number(trace, kDrift, kMostDriftPpb));
  if (!start) return std::optional<RecordedStart>();
  return std::optional<RecordedStart>({*start, drift.value_or(0)});
}

void set_recorded_start(Trace& trace, const RecordedStart& start) {
  put_number(trace, kStart, start.start_ns);
  put_number(trace, kDrift, start.drift_ppb);
}

bool has_recorded_start(const Trace& t) {
  return std::any_of(t.metadata.begin(), t.metadata.end(),
                     [&](const trace::Attr& attr) { return t.strings[attr.name] == kStart; });
}
bool has_recorded_starts(const trace::TraceSet& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(), has_recorded_start);
}
bool has_recorded_starts(const trace::ClassJob& job) {
  return std::any_of(job.classes.begin(), job.classes.end(), has_recorded_start);
}

Result<void> begin_as_recorded(SimInput& input, Findings& findings) {
  if (input.align_starts) return {};
  std::vector<std::pair<int64_t, const Trace*>> ranks;
  if (input.classes && has_recorded_starts(*input.classes))
    for (const trace::ClassJob::Rank& r : input.classes->ranks)
      ranks.emplace_back(r.rank, &input.classes->classes[r.cls]);
  else if (!input.classes && has_recorded_starts(input.job))
    for (const Trace& t : input.job.ranks) ranks.emplace_back(t.rank, &t);
  std::vector<std::optional<RecordedStart>> starts;
  int64_t first_ns = INT64_MAX;
  for (const auto& [rank, trace] : ranks) {
    CHAKRA_ASSIGN(std::optional<RecordedStart> start, recorded_start(*trace));
    if (start) first_ns = std::min(first_ns, start->start_ns);
    starts.push_back(start);
  }
  std::string unknown;
  size_t without = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const device::RankTraits& known = input.system.traits(ranks[i].first);
    if (known.start_given) continue;
    if (starts[i]) input.system.unlike[ranks[i].first].start_ps = (starts[i]->start_ns - first_ns) * kPsPerNs;
    else if (++without <= kUnknownRanksNamed)
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", ranks[i].first);
  }
  if (without > 0)
    findings.push_back({"sim.start.unknown", Severity::warning, -1, -1,
                        fmt::format("{} of {} ranks have no recorded start and begin with the first rank: {}{}",
                                    without, ranks.size(), unknown, without > kUnknownRanksNamed ? ", ..." : "")});
  return {};
}

}  // namespace chakra::sim
