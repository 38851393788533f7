#include "chakra/analyze/timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using TimingKind = Table::Kind;

/// A figure of each repetition.
struct Repeated {
  std::vector<double> values;

  void add(double value) { values.push_back(value); }
  /// NaN of none.
  double middle() {
    if (values.empty()) return std::nan("");
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
  }
  /// "" of a single repetition.
  Table::Cell noise() {
    const double mid = middle();
    if (values.size() < 2 || mid == 0) return std::string();
    return (values.back() - values.front()) / 2 / mid;
  }
};

Table::Cell cell_of(double time_ps) { return static_cast<int64_t>(std::llround(time_ps)); }
Table::Cell cell_if(bool there, Table::Cell cell) { return there ? cell : Table::Cell(std::string()); }
/// Empty where there is none.
Table::Cell cell_of(Repeated& figure) {
  return figure.values.empty() ? Table::Cell(std::string()) : cell_of(figure.middle());
}
Table::Cell ratio_of(double recorded, double replayed) {
  if (recorded == 0 || std::isnan(replayed)) return std::string();
  return std::round(replayed / recorded * 1e4) / 1e4;
}

/// As PARAM and nccl-tests have it; 0 where nothing moves.
double bus_rate(const OperationKey& key, double time_ps) {
  const auto& [name, dtype, bytes, members] = key;
  if (time_ps <= 0) return 0;
  const auto type = std::find(trace::kCommTypeNames.begin(), trace::kCommTypeNames.end(), name);
  double factor = 1;  // of a message
  if (type != trace::kCommTypeNames.end()) {
    const auto t = static_cast<trace::CommType>(type - trace::kCommTypeNames.begin());
    factor = trace::algorithm_factor(t, members) * trace::bus_factor(t, members);
  }
  return factor * static_cast<double>(bytes) / (time_ps / kPsPerSecond);
}

template <class Key>
const std::vector<Picoseconds>& times_of(const std::map<Key, std::vector<Picoseconds>>& all, const Key& key) {
  static const std::vector<Picoseconds> none;
  const auto found = all.find(key);
  return found == all.end() ? none : found->second;
}

double sum_of(std::span<const Picoseconds> times) {
  return std::accumulate(times.begin(), times.end(), 0.0,
                         [](double sum, Picoseconds t) { return sum + static_cast<double>(t); });
}

Table operations_timing(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  Table t{"operations, waiting included", {}, {}};
  for (const char* name : {"operation", "type"}) t.columns.push_back({name, TimingKind::text});
  t.columns.push_back({"bytes", TimingKind::bytes});
  for (const char* name : {"members", "count", "count replayed"}) t.columns.push_back({name, TimingKind::count});
  for (const char* name : {"p50", "p50 replayed"}) t.columns.push_back({name, TimingKind::time_ps});
  for (const char* name : {"ratio", "noise"}) t.columns.push_back({name, TimingKind::text});
  for (const char* name : {"p95", "p95 replayed"}) t.columns.push_back({name, TimingKind::time_ps});
  for (const char* name : {"bus bandwidth", "bus bandwidth replayed"})
    t.columns.push_back({name, TimingKind::rate_bytes_per_s});
  std::map<OperationKey, bool> keys;
  for (const auto& [key, times] : recorded.operations) keys[key] = true;
  for (const JobTiming& repetition : replayed)
    for (const auto& [key, times] : repetition.operations) keys[key] = true;
  for (const auto& [key, there] : keys) {
    const auto& was = times_of(recorded.operations, key);
    Repeated p50, p95;
    int64_t count = 0;
    for (const JobTiming& repetition : replayed) {
      const auto& is = times_of(repetition.operations, key);
      count = static_cast<int64_t>(is.size());
      if (is.empty()) continue;
      p50.add(static_cast<double>(percentile_of(is, 50)));
      p95.add(static_cast<double>(percentile_of(is, 95)));
    }
    const auto was50 = static_cast<double>(percentile_of(was, 50));
    const auto& [name, dtype, bytes, members] = key;
    t.rows.push_back({name, dtype, static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)), int64_t{members},
                      static_cast<int64_t>(was.size()), count, cell_if(!was.empty(), cell_of(was50)), cell_of(p50),
                      ratio_of(was50, p50.middle()), p50.noise(), cell_if(!was.empty(), percentile_of(was, 95)),
                      cell_of(p95), cell_if(!was.empty(), bus_rate(key, was50)),
                      cell_if(!p50.values.empty(), bus_rate(key, p50.middle()))});
  }
  return t;
}

Table ranks_timing(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  Table t{"ranks", {{"rank", TimingKind::count}}, {}};
  for (const char* name : {"span", "exposed", "overlap"}) {
    t.columns.push_back({name, TimingKind::time_ps});
    t.columns.push_back({fmt::format("{} replayed", name), TimingKind::time_ps});
    t.columns.push_back({fmt::format("{} ratio", name), TimingKind::text});
  }
  t.columns.push_back({"span noise", TimingKind::text});
  for (const JobTiming::Rank& was : recorded.ranks) {
    Repeated span, exposed, overlap;
    for (const JobTiming& repetition : replayed)
      for (const JobTiming::Rank& is : repetition.ranks)
        if (is.rank == was.rank) {
          span.add(static_cast<double>(is.span));
          exposed.add(static_cast<double>(is.exposed));
          overlap.add(static_cast<double>(is.overlap()));
        }
    if (span.values.empty()) continue;
    auto& row = t.rows.emplace_back(std::vector<Table::Cell>{was.rank});
    const auto add = [&](Picoseconds before, Repeated& after) {
      row.insert(row.end(), {before, cell_of(after.middle()), ratio_of(static_cast<double>(before), after.middle())});
    };
    add(was.span, span);
    add(was.exposed, exposed);
    add(was.overlap(), overlap);
    row.push_back(span.noise());
  }
  return t;
}

Table kinds_timing(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  Table t{"kinds of nodes",
          {{"kind", TimingKind::text},
           {"count", TimingKind::count},
           {"count replayed", TimingKind::count},
           {"time", TimingKind::time_ps},
           {"time replayed", TimingKind::time_ps},
           {"ratio", TimingKind::text},
           {"kolmogorov-smirnov", TimingKind::share},
           {"wasserstein", TimingKind::time_ps}},
          {}};
  std::set<std::string> kinds;
  for (const auto& [kind, times] : recorded.kinds) kinds.insert(kind);
  for (const JobTiming& repetition : replayed)
    for (const auto& [kind, times] : repetition.kinds) kinds.insert(kind);
  for (const std::string& kind : kinds) {
    const std::vector<Picoseconds>& was = times_of(recorded.kinds, kind);
    Repeated time, share, shift;
    int64_t count = 0;
    for (const JobTiming& repetition : replayed)
      if (const auto is = repetition.kinds.find(kind); is != repetition.kinds.end()) {
        count = std::ssize(is->second);
        time.add(sum_of(is->second));
        if (was.empty()) continue;
        share.add(largest_share_difference(was, is->second));
        shift.add(mean_shift_ps(was, is->second));
      }
    t.rows.push_back({kind, std::ssize(was), count, cell_if(!was.empty(), cell_of(sum_of(was))), cell_of(time),
                      ratio_of(sum_of(was), time.middle()), cell_if(!share.values.empty(), share.middle()),
                      cell_of(shift)});
  }
  return t;
}

/// visit(x, share of a, share of b) from each value on.
template <class Visit>
void walk_shares(std::span<const Picoseconds> a, std::span<const Picoseconds> b, const Visit& visit) {
  CHAKRA_ASSERT(!a.empty() && !b.empty());
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const Picoseconds x = j == b.size() || (i < a.size() && a[i] <= b[j]) ? a[i] : b[j];
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    visit(x, static_cast<double>(i) / static_cast<double>(a.size()),
          static_cast<double>(j) / static_cast<double>(b.size()));
  }
}

}  // namespace

Picoseconds percentile_of(std::span<const Picoseconds> sorted, double percent) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(at, 1, sorted.size()) - 1];
}

double largest_share_difference(std::span<const Picoseconds> a, std::span<const Picoseconds> b) {
  double largest = 0;
  walk_shares(a, b, [&](Picoseconds, double of_a, double of_b) { largest = std::max(largest, std::abs(of_a - of_b)); });
  return largest;
}

double mean_shift_ps(std::span<const Picoseconds> a, std::span<const Picoseconds> b) {
  double area = 0, apart = 0;
  Picoseconds before = 0;
  walk_shares(a, b, [&](Picoseconds x, double of_a, double of_b) {
    area += apart * (static_cast<double>(x) - static_cast<double>(before));
    apart = std::abs(of_a - of_b);
    before = x;
  });
  return area;
}

Result<JobTiming> timing_of(const trace::TraceSet& job, const match::GroupTable& groups, Findings& findings) {
  JobTiming out;
  const match::Matching matching = match::match(job, groups);
  bool any = false;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const Trace& t = job.ranks[r];
    CHAKRA_ASSIGN(const Schedule schedule, schedule_of(t, findings));
    CHAKRA_ASSIGN(const TimeBudget budget, time_budget(t, schedule));
    const Picoseconds compute = budget.compute_alone + budget.overlapped;
    out.ranks.push_back({t.rank, budget.total, compute, budget.exposed + budget.overlapped, budget.exposed});
    any |= schedule.measured;
    const std::vector<trace::CommSpan> spans = trace::communication_spans(t);
    for (const NodeId n : t.nodes()) {
      if (!t.has_start(n) || t.type[n] == NodeType::metadata || trace::is_piece_of_communication(t, n)) continue;
      const bool communicates = trace::is_comm(t.type[n]) && t.comm_row[n] != trace::kNoRow;
      const Picoseconds takes = communicates ? spans[t.comm_row[n]].length() : schedule.end[n] - schedule.start[n];
      out.kinds[std::string(kBounds[static_cast<size_t>(bound_of(t, n))])].push_back(takes);
      const trace::Comm* comm = t.comm(n);
      if (!comm || !trace::is_comm(t.type[n])) continue;
      const bool is_coll = t.type[n] == NodeType::coll;
      uint32_t members = 2;
      if (const uint32_t id = matching.of_comm[r][t.comm_row[n]]; is_coll && id != trace::kNoRow)
        members = static_cast<uint32_t>(matching.groups[matching.collectives[id].group].ranks.size());
      out.operations[{std::string(is_coll ? trace::name(comm->type) : trace::name(t.type[n])),
                      std::string(t.strings[comm->dtype]), comm->bytes, members}]
          .push_back(takes);
    }
  }
  if (!any)
    return fail(Code::bad_input, "analyze.timing.none",
                fmt::format("no trace of {} has measured times: compare a recorded or replayed job",
                            job.ranks.empty() ? "the job" : quote(job.ranks[0].file)));
  for (auto& [key, times] : out.operations) std::sort(times.begin(), times.end());
  for (auto& [kind, times] : out.kinds) std::sort(times.begin(), times.end());
  join_ranks(findings);
  return out;
}

std::vector<result::NamedTable> timing_tables(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  CHAKRA_ASSERT(!replayed.empty());
  return {{"operations", operations_timing(recorded, replayed)},
          {"ranks", ranks_timing(recorded, replayed)},
          {"kinds", kinds_timing(recorded, replayed)}};
}

std::string largest_difference(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  std::string most;
  double largest = -1, was = 0, is = 0;
  std::map<std::string, double> sums_before;  // of kinds that the recording lacks: 0
  for (const JobTiming& repetition : replayed)
    for (const auto& [kind, times] : repetition.kinds) sums_before[kind] = 0;
  for (const auto& [kind, times] : recorded.kinds) sums_before[kind] = sum_of(times);
  for (const auto& [kind, before] : sums_before) {
    Repeated sums;
    for (const JobTiming& repetition : replayed) sums.add(sum_of(times_of(repetition.kinds, kind)));
    const double after = sums.middle();
    if (std::abs(after - before) <= largest) continue;
    largest = std::abs(after - before);
    most = kind;
    was = before;
    is = after;
  }
  if (largest <= 0) return "no kind of node differs in its time";
  return fmt::format("{} differs most: {} in all, {} replayed ({})", most, show_time(std::llround(was)),
                     show_time(std::llround(is)),
                     was > 0 ? fmt::format("{:+.2f} %", 100 * (is / was - 1)) : std::string("new"));
}

}  // namespace chakra::analyze
