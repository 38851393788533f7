// The analyses, a row each, as tables.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "chakra/analyze/analyze.h"
#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/rows.h"
#include "chakra/base/progress.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

/// The rows from `first` on, descending by the number in a column.
void sort_by(Table& table, size_t column, size_t first = 0) {
  std::stable_sort(
      table.rows.begin() + static_cast<std::ptrdiff_t>(first), table.rows.end(),
      [&](const auto& a, const auto& b) { return std::get<int64_t>(a[column]) > std::get<int64_t>(b[column]); });
}

// ---- critical path ------------------------------------------------------------------------------------

/// How the time of one critical path is spent.
struct PathSums {
  struct Sum {
    int64_t pieces = 0;
    Picoseconds time = 0;
  };
  std::array<Sum, kBounds.size()> by_bound{};
  std::array<std::pair<Picoseconds, Picoseconds>, trace::kEdgeKinds.size()> by_edge{};  ///< lag, unexplained
  std::map<std::pair<Bound, std::string_view>, Sum> by_name;
};

PathSums sums_of(const CriticalPath& path, const Trace& t) {
  PathSums sums;
  for (const CriticalPath::Piece& p : path.pieces) {
    const Picoseconds time = p.end_ps - p.start_ps;
    PathSums::Sum& sum = sums.by_bound[static_cast<size_t>(p.bound)];
    ++sum.pieces;
    sum.time += time;
    auto& [lag, unexplained] = sums.by_edge[static_cast<size_t>(p.edge)];
    if (p.bound == Bound::lag) lag += time;
    else if (p.bound == Bound::unexplained) unexplained += time;
    const bool no_node = p.bound >= Bound::lag;
    PathSums::Sum& named = sums.by_name[{p.bound, p.bound == Bound::start ? ""
                                                  : no_node               ? trace::name(p.edge)
                                                                          : t.name_of(p.node)}];
    ++named.pieces;
    named.time += time;
  }
  return sums;
}

Result<std::vector<NamedTable>> critical_paths(const Job& job, Findings&) {
  Table bounds{"Critical path: bottlenecks",
               {{"rank", Kind::id, "rank", "the rank"},
                {"bound", Kind::text, "bound", "kind of bottleneck"},
                {"pieces", Kind::count, "pieces", "pieces of the path"},
                {"time", Kind::time_ps, "time_ps", "their time"},
                {"share", Kind::share, "share", "their share of the path"}},
               {}};
  Table edges{"Critical path: by which edges nodes wait",
              {{"rank", Kind::id, "rank", "the rank"},
               {"edge", Kind::text, "edge", "the kind of edge"},
               {"edges", Kind::count, "edges", "edges of the path"},
               {"lag", Kind::time_ps, "lag_ps", "lags of these edges"},
               {"unexplained", Kind::time_ps, "unexplained_ps", "unexplained waits after these edges"}},
              {}};
  Table names{"Critical path: which nodes",
              {{"rank", Kind::id, "rank", "the rank"},
               {"bound", Kind::text, "bound", "kind of bottleneck"},
               {"name", Kind::text, "name", "name of the node, or the kind of edge"},
               {"pieces", Kind::count, "pieces", "pieces of the path"},
               {"time", Kind::time_ps, "time_ps", "their time"},
               {"share", Kind::share, "share", "their share of the path"}},
              {}};
  Table lengths{"Critical path",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"measured", Kind::text, "measured", "yes, or no where starts were not measured"},
                 {"length", Kind::time_ps, "length_ps", "from the first start to the last end"},
                 {"replay", Kind::time_ps, "replay_ps",
                  "longest path over durations and lags: the time that the graph alone explains"}},
                {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    CHAKRA_ASSIGN(const CriticalPath path, critical_path(t, job.schedules[r]));
    const PathSums sums = sums_of(path, t);
    const Picoseconds length = path.length_ps();
    lengths.rows.push_back({t.rank, std::string(job.schedules[r].measured ? "yes" : "no"), length, path.longest_ps});
    const size_t first_bound = bounds.rows.size(), first_name = names.rows.size();
    std::vector<uint64_t> parts;
    for (size_t b = 0; b < kBounds.size(); ++b) {
      const PathSums::Sum& sum = sums.by_bound[b];
      parts.push_back(static_cast<uint64_t>(sum.time));
      if (sum.pieces)
        bounds.rows.push_back({t.rank, std::string(kBounds[b]), sum.pieces, sum.time, share(sum.time, length)});
    }
    CHAKRA_TRY(check_sum("the critical path by bottleneck", static_cast<uint64_t>(length), parts));
    sort_by(bounds, 3, first_bound);
    for (size_t e = 0; e < sums.by_edge.size(); ++e)
      if (path.edges[e])
        edges.rows.push_back({t.rank, std::string(trace::kEdgeKinds[e].name), path.edges[e], sums.by_edge[e].first,
                              sums.by_edge[e].second});
    parts.clear();
    for (const auto& [key, sum] : sums.by_name) {
      parts.push_back(static_cast<uint64_t>(sum.time));
      names.rows.push_back({t.rank, std::string(kBounds[static_cast<size_t>(key.first)]), std::string(key.second),
                            sum.pieces, sum.time, share(sum.time, length)});
    }
    CHAKRA_TRY(check_sum("the critical path by node", static_cast<uint64_t>(length), parts));
    sort_by(names, 4, first_name);
  }
  return std::vector<NamedTable>{{"critical_path", std::move(lengths)},
                                 {"critical_path_bounds", std::move(bounds)},
                                 {"critical_path_edges", std::move(edges)},
                                 {"critical_path_nodes", std::move(names)}};
}

// ---- time ---------------------------------------------------------------------------------------------

std::string cause(const TimeBudget::Idle& idle) {
  if (!idle.waits) return "idle: the next node has no dependency";
  return fmt::format("idle: {} an edge of kind {}", idle.lag ? "lag of" : "unexplained, after", trace::name(idle.edge));
}

Result<std::vector<NamedTable>> times(const Job& job, Findings&) {
  Table budget{"Time: each moment once",
               {{"rank", Kind::id, "rank", "the rank"},
                {"what runs", Kind::text, "what_runs", "the running work, or the cause of idle time"},
                {"time", Kind::time_ps, "time_ps", "how long"},
                {"share", Kind::share, "share", "share of the rank's time"}},
               {}};
  Table overlap{"Overlap of communication and compute",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"communication", Kind::time_ps, "communication_ps", "communication"},
                 {"overlapped", Kind::time_ps, "overlapped_ps", "communication during computation"},
                 {"exposed", Kind::time_ps, "exposed_ps", "communication without concurrent computation"},
                 {"overlap", Kind::share, "overlap", "overlapped / communication"}},
                {}};
  Table exposed{"Exposed communication",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"type", Kind::text, "type", "the operation, or messages"},
                 {"group", Kind::text, "group", "the process group; empty for messages"},
                 {"time", Kind::time_ps, "time_ps", "exposed communication"},
                 {"share", Kind::share, "share", "its share of exposed communication"}},
                {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    CHAKRA_ASSIGN(const TimeBudget b, time_budget(t, job.schedules[r]));
    const auto row = [&](std::string what, Picoseconds time) {
      if (time > 0) budget.rows.push_back({t.rank, std::move(what), time, share(time, b.total)});
    };
    row("compute alone", b.compute_alone);
    row("compute and communication", b.overlapped);
    row("exposed communication", b.exposed);
    row("memory", b.memory);
    row("device work that was not recorded", b.unrecorded);
    row("host", b.host);
    row("blocked call after its end", b.sync_remainder);
    row("host gap", b.host_gap);
    row("before the recording", b.initial);
    for (const TimeBudget::Idle& idle : b.idle) row(cause(idle), idle.time);
    const Picoseconds comm = b.overlapped + b.exposed;
    if (comm > 0) overlap.rows.push_back({t.rank, comm, b.overlapped, b.exposed, share(b.overlapped, comm)});
    for (const TimeBudget::Exposed& e : b.exposed_by)
      exposed.rows.push_back({t.rank, e.message ? std::string("messages") : std::string(trace::name(e.type)),
                              e.message ? std::string() : group_name(e.group), e.time, share(e.time, b.exposed)});
  }
  return std::vector<NamedTable>{
      {"time", std::move(budget)}, {"overlap", std::move(overlap)}, {"exposed", std::move(exposed)}};
}

// ---- bytes --------------------------------------------------------------------------------------------

Result<std::vector<NamedTable>> bytes(const Job& job, Findings&) {
  struct Sum {
    int64_t count = 0;
    uint64_t bytes = 0;
    Picoseconds time = 0;
  };
  std::map<std::string, Sum> types;
  std::map<std::tuple<std::string, std::string, uint64_t>, Sum> sizes;
  uint64_t total = 0;
  for (const Trace& t : job.traces.ranks) {
    const std::vector<trace::CommSpan> spans = trace::communication_spans(t);
    for (const NodeId n : t.nodes()) {
      const trace::Comm* comm = t.comm(n);
      if (!comm || !trace::is_comm(t.type[n])) continue;
      const std::string type = comm_name(t.type[n], comm->type);
      const std::string group = t.type[n] == trace::NodeType::coll ? group_name(t.strings[comm->group]) : std::string();
      for (Sum* sum : {&types[type], &sizes[{type, group, comm->bytes}]}) {
        ++sum->count;
        sum->bytes = add_bytes(sum->bytes, comm->bytes);
        sum->time = add_saturated(sum->time, spans[t.comm_row[n]].length());
      }
      total = add_bytes(total, comm->bytes);
    }
  }
  Table by_type{"Bytes by type, all ranks",
                {{"type", Kind::text, "type", "the operation"},
                 {"count", Kind::count, "count", "how many there are"},
                 {"bytes", Kind::bytes, "bytes", "sum of comm_size"},
                 {"share", Kind::share, "share", "its share of all bytes"},
                 {"time", Kind::time_ps, "time_ps", "sum of their times"}},
                {}};
  Table by_size{"Bytes by type, group and size, all ranks",
                {{"type", Kind::text, "type", "the operation"},
                 {"group", Kind::text, "group", "the process group; empty for messages"},
                 {"size", Kind::bytes, "size_bytes", "comm_size of one"},
                 {"count", Kind::count, "count", "how many there are"},
                 {"bytes", Kind::bytes, "bytes", "sum of comm_size"},
                 {"share", Kind::share, "share", "its share of all bytes"},
                 {"time", Kind::time_ps, "time_ps", "sum of their times"}},
                {}};
  std::vector<uint64_t> parts;
  const auto whole = static_cast<double>(total);
  for (const auto& [type, sum] : types) {
    parts.push_back(sum.bytes);
    by_type.rows.push_back({type, sum.count, cell(sum.bytes), share(static_cast<double>(sum.bytes), whole), sum.time});
  }
  if (total != UINT64_MAX) CHAKRA_TRY(check_sum("the bytes by type", total, parts));
  parts.clear();
  for (const auto& [key, sum] : sizes) {
    parts.push_back(sum.bytes);
    by_size.rows.push_back({std::get<0>(key), std::get<1>(key), cell(std::get<2>(key)), sum.count, cell(sum.bytes),
                            share(static_cast<double>(sum.bytes), whole), sum.time});
  }
  if (total != UINT64_MAX) CHAKRA_TRY(check_sum("the bytes by size", total, parts));
  sort_by(by_type, 2);
  sort_by(by_size, 4);
  return std::vector<NamedTable>{{"bytes", std::move(by_type)}, {"bytes_by_size", std::move(by_size)}};
}

// ---- imbalance ----------------------------------------------------------------------------------------

Result<std::vector<NamedTable>> imbalance(const Job& job, Findings&) {
  Table kinds{
      "Imbalance of collective sizes across ranks",
      {{"type", Kind::text, "type", "the operation"},
       {"group", Kind::text, "group", "the process group"},
       {"bytes", Kind::text, "bytes", "which bytes differ: sent or received"},
       {"members", Kind::count, "members", "ranks of the group"},
       {"collectives", Kind::count, "collectives", "collectives of the group and type"},
       {"unbalanced", Kind::count, "unbalanced", "collectives whose sizes differ"},
       {"worst largest/mean", Kind::real, "worst_largest_mean", "largest member by the mean, in the worst of them"},
       {"most on rank", Kind::id, "most_on_rank", "rank with most bytes"},
       {"most", Kind::bytes, "most_bytes", "its bytes"},
       {"least on rank", Kind::id, "least_on_rank", "rank with least bytes"},
       {"least", Kind::bytes, "least_bytes", "its bytes"}},
      {}};
  Table ranks{"Bytes by rank of unbalanced collectives",
              {{"type", Kind::text, "type", "the operation"},
               {"group", Kind::text, "group", "the process group"},
               {"bytes", Kind::text, "bytes", "which bytes differ: sent or received"},
               {"rank", Kind::id, "rank", "the rank"},
               {"sum", Kind::bytes, "sum_bytes", "its bytes"},
               {"share", Kind::share, "share", "its share of the bytes of all ranks"}},
              {}};
  Table each{"Unbalanced collectives",
             {{"type", Kind::text, "type", "the operation"},
              {"group", Kind::text, "group", "the process group"},
              {"bytes", Kind::text, "bytes", "which bytes differ: sent or received"},
              {"number", Kind::id, "number", "position among the collectives of the group"},
              {"rank", Kind::id, "rank", "the rank"},
              {"size", Kind::bytes, "size_bytes", "its bytes"}},
             {}};
  for (const Imbalance& i : imbalances(job.traces, job.matching)) {
    const std::string type(trace::name(i.type)), group = group_name(i.group), which = i.received ? "received" : "sent";
    const auto most = std::max_element(i.rank_bytes.begin(), i.rank_bytes.end());
    const auto least = std::min_element(i.rank_bytes.begin(), i.rank_bytes.end());
    const auto rank_at = [&](auto at) { return i.ranks[static_cast<size_t>(at - i.rank_bytes.begin())]; };
    kinds.rows.push_back({type, group, which, static_cast<int64_t>(i.ranks.size()), i.collectives,
                          static_cast<int64_t>(i.rows.size()), i.worst, rank_at(most), cell(*most), rank_at(least),
                          cell(*least)});
    uint64_t total = 0;
    for (const uint64_t b : i.rank_bytes) total = add_bytes(total, b);
    if (total != UINT64_MAX) CHAKRA_TRY(check_sum("the bytes by rank", total, i.rank_bytes));
    for (size_t m = 0; m < i.ranks.size(); ++m)
      ranks.rows.push_back({type, group, which, i.ranks[m], cell(i.rank_bytes[m]),
                            share(static_cast<double>(i.rank_bytes[m]), static_cast<double>(total))});
    for (const Imbalance::Row& row : i.rows)
      for (size_t m = 0; m < i.ranks.size(); ++m)
        each.rows.push_back({type, group, which, int64_t{row.index}, i.ranks[m], cell(row.bytes[m])});
  }
  return std::vector<NamedTable>{{"imbalance", std::move(kinds)},
                                 {"imbalance_ranks", std::move(ranks)},
                                 {"imbalance_collectives", std::move(each), true}};
}

// ---- memory -------------------------------------------------------------------------------------------

// `analyze.no_tensors` (finding): nodes name no tensors: the bytes live are not known.
Result<std::vector<NamedTable>> memory(const Job& job, Findings& findings) {
  Table peaks{"Bytes of tensors live",
              {{"rank", Kind::id, "rank", "the rank"},
               {"device", Kind::text, "device", "the device"},
               {"storages", Kind::count, "storages", "storages that are ever live"},
               {"at the start", Kind::bytes, "at_the_start_bytes", "bytes live from the beginning"},
               {"peak", Kind::bytes, "peak_bytes", "most bytes live"},
               {"at", Kind::time_ps, "at_ps", "when that is, since the rank's first start"},
               {"with", Kind::text, "with", "the node with which that begins"}},
              {}};
  Table over{"Bytes of tensors live over time",
             {{"rank", Kind::id, "rank", "the rank"},
              {"device", Kind::text, "device", "the device"},
              {"from", Kind::time_ps, "from_ps", "since the rank's first start"},
              {"live", Kind::bytes, "live_bytes", "bytes live from then on"}},
             {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    const LiveBytes live = live_bytes(t, job.schedules[r]);
    if (!live.known)
      findings.push_back({"analyze.no_tensors", Severity::note, t.rank, -1,
                          "nodes name no tensors, so the bytes live over time are not known"});
    for (const LiveBytes::Device& d : live.devices) {
      peaks.rows.push_back(
          {t.rank, d.name, d.storages, cell(d.at_start), cell(d.peak), d.peak_ps - job.schedules[r].first,
           d.peak_node == trace::kNoNode ? std::string()
                                         : fmt::format("node {} {}", t.id[d.peak_node], t.name_of(d.peak_node))});
      for (const auto& [time, bytes_live] : d.points)
        over.rows.push_back({t.rank, d.name, time - job.schedules[r].first, cell(bytes_live)});
    }
  }
  return std::vector<NamedTable>{{"memory", std::move(peaks)}, {"memory_over_time", std::move(over), true}};
}

// ---- stragglers ---------------------------------------------------------------------------------------

Result<std::vector<NamedTable>> stragglers(const Job& job, Findings&) {
  const JobTimes found = job_times(job.traces, job.matching);
  const auto ps = [](double ns) {
    return static_cast<Picoseconds>(std::llround(std::clamp(ns, -1e15, 1e15) * static_cast<double>(kPsPerNs)));
  };
  Table late{"Stragglers: ranks that others waited for",
             {{"rank", Kind::id, "rank", "the rank"},
              {"came last to", Kind::count, "came_last_to",
               "collectives to which it came last, alone or with at most half of the members"},
              {"waited for", Kind::time_ps, "waited_for_ps", "how long the members that were not late waited for it"}},
             {}};
  for (const Straggler& s : found.stragglers) late.rows.push_back({s.rank, s.last_at, ps(s.waited_ns)});
  Table clocks{
      "Clocks",
      {{"rank", Kind::id, "rank", "the rank"},
       {"ahead", Kind::time_ps, "ahead_ps", "lead of the clock"},
       {"of rank", Kind::id, "of_rank", "the rank that serves as the reference clock"},
       {"drift (ppm)", Kind::real, "drift_ppm", "drift of the clock, in parts per million"},
       {"uncertainty", Kind::time_ps, "uncertainty_ps", "remaining difference between the ends of collectives"},
       {"collectives", Kind::count, "collectives", "collectives that determine the clock"}},
      {}};
  for (const Clock& c : found.clocks)
    if (c.known && c.rank != c.reference)
      clocks.rows.push_back({c.rank, ps(c.offset_ns), c.reference, c.drift_ppm, ps(c.uncertainty_ns), c.collectives});
  Table waits{"Collectives: waiting for the last member, and transfer",
              {{"type", Kind::text, "type", "the operation"},
               {"group", Kind::text, "group", "the process group"},
               {"size", Kind::bytes, "size_bytes", "bytes of one"},
               {"members", Kind::count, "members", "ranks of the group"},
               {"count", Kind::count, "count", "how many there are"},
               {"waiting", Kind::time_ps, "waiting_ps", "sum of waits for the last member, mean over members"},
               {"transfer", Kind::time_ps, "transfer_ps", "sum of times from the last start to the last end"}},
              {}};
  for (const CollectiveTimes& c : found.collectives)
    waits.rows.push_back({std::string(trace::name(c.type)), group_name(c.group), cell(c.bytes), int64_t{c.members},
                          c.count, ps(c.wait_ns), ps(c.transfer_ns)});
  return std::vector<NamedTable>{{"stragglers", std::move(late)},
                                 {"clocks", std::move(clocks)},
                                 {"collectives", std::move(waits)},
                                 uneven_waits(job, found),
                                 message_waits(job, found)};
}

}  // namespace

constexpr AnalysisRow kAnalysisRows[] = {
    {kDiagnosis, "problems that cost time, with evidence (measured traces)", diagnosis, true},
    {"critical_path", "the chain of nodes that ends last, and its bottlenecks", critical_paths},
    {"time", "overlap, exposed communication, and causes of idle time", times},
    {"bytes", "traffic by type, group and size", bytes, true},
    {"imbalance", "collectives whose sizes differ from rank to rank", imbalance, true},
    {"memory", "bytes of tensors live over time", memory},
    {"stragglers", "clocks of ranks, and stragglers (measured traces)", stragglers, true},
    {"kernels", "kernels by total time; activity of the devices over time", kernels},
    {"operators", "operators by the device time launched under them", operators},
    {"launches", "launching calls, and the delay of the launched operations (measured traces)", launches},
    {"queues", "launched operations that wait on each stream (measured traces)", queues},
    {"bandwidth", "bytes per second of measured collectives and messages", bandwidth, true},
    {"work", "operations and bytes per second over the steps", work},
    {"idle", "idle time of each stream: waits for the host, for a launch, other (measured traces)", idle_causes},
    {"copies", "bandwidth of memory copies by direction (measured traces)", copies},
    {"shapes", "operators by argument shapes: time, FLOP/s, bytes/s and bottleneck", shapes},
    {"modules", "device time by nn.Module and by annotation (measured traces)", modules},
    {"sequences", "sequences of kernels that operators launch repeatedly (measured traces)", sequences},
    {"steps", "steps of each rank, and the wait before the first computation (measured traces)", step_times},
};
constinit const std::span<const AnalysisRow> kAnalyses = kAnalysisRows;

std::vector<NamedTable> empty_tables() {
  const trace::TraceSet none;
  Findings findings;
  std::vector<NamedTable> tables;
  const Result<Job> job = prepare(none, {}, findings);
  for (const AnalysisRow& row : kAnalyses)
    if (auto some = row.run(*job, findings)) std::move(some->begin(), some->end(), std::back_inserter(tables));
  return tables;
}

void join_ranks(Findings& findings) {
  std::map<std::pair<std::string, std::string>, std::pair<size_t, int64_t>> seen;  // first, how often
  Findings joined;
  for (Finding& finding : findings) {
    const auto [found, is_new] = seen.try_emplace({finding.tag, finding.text}, joined.size(), 0);
    ++found->second.second;
    if (is_new) joined.push_back(std::move(finding));
    else joined[found->second.first].rank = -1;
  }
  for (const auto& [key, at] : seen)
    if (at.second > 1) joined[at.first].text = fmt::format("{} ranks: {}", show_count(at.second), key.second);
  findings = std::move(joined);
}

// `analyze.doubtful` (warning): collectives or messages whose ends contradict each other, or may not belong together:
// clocks, waiting and bandwidth leave them out.
Findings findings_of_matching(const match::Matching& matching) {
  Findings findings;
  for (const Finding& finding : matching.findings) {
    const bool unknown = finding.tag == "match.group.unknown";  // the tables say so
    if ((finding.severity == Severity::error && !unknown) || finding.tag == "match.collective.sequence")
      findings.push_back(finding);
  }
  const auto count = [](const auto& of, std::string_view what) {
    const auto doubtful =
        std::count_if(of.begin(), of.end(), [](const auto& each) { return each.doubt != match::Doubt::none; });
    return doubtful == 0 ? std::string()
                         : fmt::format("{} of {}", show_count(doubtful), show_count(std::ssize(of), what));
  };
  const std::string collectives = count(matching.collectives, "collective"),
                    messages = count(matching.messages, "message");
  if (!collectives.empty() || !messages.empty())
    findings.push_back(
        {"analyze.doubtful", Severity::warning, -1, -1,
         fmt::format("clocks, waiting and bandwidth leave out {}{}{}: the ranks contradict each other in "
                     "them, or may not have run them together",
                     collectives, collectives.empty() || messages.empty() ? "" : " and ", messages)});
  return findings;
}

Result<Job> prepare(const trace::TraceSet& traces, const match::GroupTable& groups, Findings& findings) {
  Job job{traces, {}, match::match(traces, groups), LaunchScope::all, true, std::make_shared<DeviceWorks>(), {}};
  job.made = std::make_shared<std::map<std::string_view, std::vector<NamedTable>>>();
  for (const Trace& t : traces.ranks) {
    CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(Schedule schedule, schedule_of(t, findings));
    job.schedules.push_back(std::move(schedule));
  }
  return job;
}

}  // namespace chakra::analyze
