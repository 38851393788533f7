#include "chakra/analyze/timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "chakra/analyze/analyze.h"
#include "chakra/base/quantile.h"

namespace chakra::analyze {
namespace {

using answer::Missing;
using result::Table;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using Kind = Table::Kind;

/// A figure of each repetition.
struct Repeated {
  std::vector<double> values;

  void add(double value) { values.push_back(value); }
  /// NaN of none.
  double middle() {
    if (values.empty()) return std::nan("");
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
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

using Splits = std::vector<uint64_t>;

/// What communication nodes of a job count for.
class Traffic {
 public:
  Traffic(const trace::TraceSet& job, const match::Matching& matching) : job_(job), matching_(matching) {
    for (const match::Collective& c : matching.collectives) {
      uint64_t& most = most_.emplace_back(0);
      if (c.doubt != match::Doubt::none) continue;
      for (const match::NodeRef& ref : c.members)
        if (ref.node != trace::kNoNode) most = std::max(most, own_bytes(*job_.ranks[ref.rank].comm(ref.node)));
    }
  }

  OperationKey key(size_t r, NodeId n) const {
    const Trace& t = job_.ranks[r];
    const trace::Comm& comm = *t.comm(n);
    const bool is_coll = t.type[n] == NodeType::coll;
    const uint32_t id = matching_.of_comm[r][t.comm_row[n]];
    const bool matched = is_coll && id != trace::kNoRow;
    return {std::string(is_coll ? trace::name(comm.type) : trace::name(t.type[n])), std::string(t.strings[comm.dtype]),
            matched ? std::max(most_[id], own_bytes(comm)) : own_bytes(comm),
            matched ? static_cast<uint32_t>(group(r, n)->ranks.size()) : 2};
  }

  /// What goes over the links of this rank, at the rate that is called bus bandwidth.
  double bus_bytes(size_t r, NodeId n, const OperationKey& key) const {
    const Trace& t = job_.ranks[r];
    const trace::Comm& comm = *t.comm(n);
    if (t.type[n] != NodeType::coll) return static_cast<double>(comm.bytes);
    const uint32_t members = std::get<3>(key);
    if (const match::Group* const g = group(r, n); g && is_uneven(comm))
      if (const auto place = std::find(g->ranks.begin(), g->ranks.end(), t.rank); place != g->ranks.end())
        return uneven_bytes(comm, static_cast<size_t>(place - g->ranks.begin()), members);
    return trace::algorithm_factor(comm.type, members) * trace::bus_factor(comm.type, members) *
           static_cast<double>(std::get<2>(key));
  }

 private:
  static bool is_uneven(const trace::Comm& comm) {
    return comm.type == trace::CommType::all_to_all && !(comm.in_split.empty() && comm.out_split.empty());
  }

  /// In and out. What comes out of an all-to-all has the elements of what goes in.
  static std::pair<double, double> sides(const trace::Comm& comm) {
    const auto in = static_cast<double>(comm.bytes);
    if (comm.out_bytes > 0) return {in, static_cast<double>(comm.out_bytes)};
    const double elements_in = sum_of_split(comm.in_split), elements_out = sum_of_split(comm.out_split);
    return {in, elements_in > 0 && elements_out > 0 ? in / elements_in * elements_out : in};
  }
  static double sum_of_split(std::string_view text) {
    Splits split;
    if (!trace::parse_split(text, split)) return 0;
    return static_cast<double>(std::accumulate(split.begin(), split.end(), uint64_t{0}));
  }

  static uint64_t own_bytes(const trace::Comm& comm) {
    if (!is_uneven(comm)) return comm.bytes;
    const auto [in, out] = sides(comm);
    return static_cast<uint64_t>(std::llround(std::min(std::max(in, out), 9e18)));
  }

  /// PARAM's: all but the own part, of the side on which that is more.
  static double uneven_bytes(const trace::Comm& comm, size_t place, uint32_t members) {
    const auto to_others = [&](double bytes, std::string_view text) {
      Splits split;
      const double elements = sum_of_split(text);
      if (elements == 0 || !trace::parse_split(text, split) || place >= split.size())
        return bytes / members * (members - 1);
      return bytes * (1 - static_cast<double>(split[place]) / elements);
    };
    const auto [in, out] = sides(comm);
    return std::max(to_others(in, comm.in_split), to_others(out, comm.out_split));
  }

  const match::Group* group(size_t r, NodeId n) const {
    const uint32_t id = matching_.of_comm[r][job_.ranks[r].comm_row[n]];
    return id == trace::kNoRow ? nullptr : &matching_.groups[matching_.collectives[id].group];
  }

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  std::vector<uint64_t> most_;  ///< by collective: the bytes of the member that has most
};

template <class Key, class Times>
const Times& times_of(const std::map<Key, Times>& all, const Key& key) {
  static const Times none;
  const auto found = all.find(key);
  return found == all.end() ? none : found->second;
}

double sum_of(std::span<const Picoseconds> times) {
  return std::accumulate(times.begin(), times.end(), 0.0,
                         [](double sum, Picoseconds t) { return sum + static_cast<double>(t); });
}

Table operations_timing(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  Table t{"operations, waiting included",
          {{"operation", Kind::text, "operation", "the operation"},
           {"type", Kind::text, "type", "the element type"},
           {"bytes", Kind::bytes, "bytes", "bytes of one"},
           {"members", Kind::count, "members", "ranks that take part"},
           {"count", Kind::count, "count", "how many there are, of all members"},
           {"count replayed", Kind::count, "count_replayed", "the same of the replay"},
           {"p50", Kind::time_ps, "p50_ps", "median of their times", Missing::empty},
           {"p50 replayed", Kind::time_ps, "p50_replayed_ps", "the same of the replay", Missing::empty},
           {"ratio", Kind::real, "ratio", "p50 replayed / p50", Missing::empty},
           {"noise", Kind::real, "noise", "half the range over repetitions / their middle", Missing::empty},
           {"p95", Kind::time_ps, "p95_ps", "95th percentile of their times", Missing::empty},
           {"p95 replayed", Kind::time_ps, "p95_replayed_ps", "the same of the replay", Missing::empty},
           {"bus bandwidth", Kind::rate_bytes_per_s, "bus_bandwidth", "median over members, as nccl-tests defines it",
            Missing::empty},
           {"bus bandwidth replayed", Kind::rate_bytes_per_s, "bus_bandwidth_replayed", "the same of the replay",
            Missing::empty}},
          {}};
  std::map<OperationKey, bool> keys;
  for (const auto& [key, times] : recorded.operations) keys[key] = true;
  for (const JobTiming& repetition : replayed)
    for (const auto& [key, times] : repetition.operations) keys[key] = true;
  for (const auto& [key, listed] : keys) {
    const JobTiming::Operation& was = times_of(recorded.operations, key);
    Repeated p50, p95, bus;
    int64_t count = 0;
    for (const JobTiming& repetition : replayed) {
      const JobTiming::Operation& is = times_of(repetition.operations, key);
      count = std::ssize(is.times);
      if (is.times.empty()) continue;
      p50.add(quantile(is.times, 0.5));
      p95.add(quantile(is.times, 0.95));
      bus.add(quantile(is.bus_rates, 0.5));
    }
    const bool there = !was.times.empty();
    const double was50 = quantile(was.times, 0.5);
    const auto& [name, dtype, bytes, members] = key;
    t.rows.push_back({name, dtype, static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)), int64_t{members},
                      std::ssize(was.times), count, cell_if(there, cell_of(was50)), cell_of(p50),
                      ratio_of(was50, p50.middle()), p50.noise(), cell_if(there, cell_of(quantile(was.times, 0.95))),
                      cell_of(p95), cell_if(there, quantile(was.bus_rates, 0.5)),
                      cell_if(!bus.values.empty(), bus.middle())});
  }
  return t;
}

Table ranks_timing(const JobTiming& recorded, std::span<const JobTiming> replayed) {
  Table t{"ranks",
          {{"rank", Kind::id, "rank", "the rank"},
           {"span", Kind::time_ps, "span_ps", "from its first start to its last end"},
           {"span replayed", Kind::time_ps, "span_replayed_ps", "the same of the replay", Missing::empty},
           {"span ratio", Kind::real, "span_ratio", "span replayed / span", Missing::empty},
           {"exposed", Kind::time_ps, "exposed_ps", "communication without concurrent computation"},
           {"exposed replayed", Kind::time_ps, "exposed_replayed_ps", "the same of the replay", Missing::empty},
           {"exposed ratio", Kind::real, "exposed_ratio", "exposed replayed / exposed", Missing::empty},
           {"overlap", Kind::time_ps, "overlap_ps", "communication beside which something computes"},
           {"overlap replayed", Kind::time_ps, "overlap_replayed_ps", "the same of the replay", Missing::empty},
           {"overlap ratio", Kind::real, "overlap_ratio", "overlap replayed / overlap", Missing::empty},
           {"span noise", Kind::real, "span_noise", "half the range of spans over repetitions / their middle",
            Missing::empty}},
          {}};
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
          {{"kind", Kind::text, "kind", "the kind of node"},
           {"count", Kind::count, "count", "how many there are"},
           {"count replayed", Kind::count, "count_replayed", "the same of the replay"},
           {"time", Kind::time_ps, "time_ps", "sum of their times", Missing::empty},
           {"time replayed", Kind::time_ps, "time_replayed_ps", "the same of the replay", Missing::empty},
           {"ratio", Kind::real, "ratio", "time replayed / time", Missing::empty},
           {"kolmogorov-smirnov", Kind::share, "kolmogorov_smirnov",
            "largest difference of the two distributions of times", Missing::empty},
           {"wasserstein", Kind::time_ps, "wasserstein_ps", "mean shift from one distribution of times to the other",
            Missing::empty}},
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
  const Traffic traffic(job, matching);
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
      if (!communicates) continue;
      const OperationKey key = traffic.key(r, n);
      JobTiming::Operation& operation = out.operations[key];
      operation.times.push_back(takes);
      if (takes > 0)
        operation.bus_rates.push_back(traffic.bus_bytes(r, n, key) / (static_cast<double>(takes) / kPsPerSecond));
    }
  }
  if (!any)
    return fail(Code::bad_input, "analyze.timing.none",
                fmt::format("no trace of {} has measured times: compare a recorded or replayed job",
                            job.ranks.empty() ? "the job" : quote(job.ranks[0].file)));
  for (auto& [key, operation] : out.operations) {
    std::sort(operation.times.begin(), operation.times.end());
    std::sort(operation.bus_rates.begin(), operation.bus_rates.end());
  }
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
