// Two jobs beside each other.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::Trace;

using RowKey = std::pair<DiffRow::Kind, std::string>;
/// What a node is beside its kind: shapes, types, and the kinds of nodes that it waits for.
using Detail = std::string;

struct Side {
  struct Row {
    int64_t count = 0;
    Picoseconds time = 0;
    uint64_t bytes = 0;
    std::map<Detail, int64_t> details;
  };
  std::map<RowKey, Row> rows;
  std::map<std::string, int64_t> edges;
  int64_t nodes = 0, edge_count = 0;
  Picoseconds time = 0, span = 0;
};

RowKey key_of(const Trace& t, NodeId n) {
  if (const trace::Comm* comm = t.comm(n); trace::is_comm(t.type[n])) {
    const std::string what = t.type[n] == trace::NodeType::coll
                                 ? std::string(trace::name(comm ? comm->type : trace::CommType::unknown))
                                 : std::string(trace::name(t.type[n]));
    if (!comm) return {DiffRow::Kind::comm, what};
    const std::string_view group = t.strings[comm->group];
    if (t.type[n] != trace::NodeType::coll) return {DiffRow::Kind::comm, fmt::format("{} {} bytes", what, comm->bytes)};
    return {DiffRow::Kind::comm, fmt::format("{} {} bytes in {}", what, comm->bytes, group.empty() ? "all" : group)};
  }
  const Bound bound = bound_of(t, n);
  const bool kernel = bound == Bound::compute || bound == Bound::memory || bound == Bound::unrecorded;
  return {kernel ? DiffRow::Kind::kernel : DiffRow::Kind::op, std::string(t.name_of(n))};
}

Result<Side> summarize(const trace::TraceSet& job, Findings& findings) {
  Side side;
  for (const Trace& t : job.ranks) {
    CHAKRA_ASSIGN(const Schedule schedule, schedule_of(t, findings));
    side.span = std::max(side.span, schedule.last - schedule.first);
    // Keys once per kind of node: names repeat.
    std::vector<const RowKey*> key(t.size());
    std::vector<NodeId> whole(t.size());
    for (NodeId n = 0; n < t.size(); ++n) {
      whole[n] = n;
      for (int i = 0; i < 64 && t.part_of[whole[n]] != trace::kNoNode; ++i) whole[n] = t.part_of[whole[n]];
      key[n] = &side.rows.try_emplace(key_of(t, n)).first->first;
    }
    std::map<std::pair<const RowKey*, const RowKey*>, int64_t> edges;
    for (NodeId n = 0; n < t.size(); ++n) {
      Side::Row& row = side.rows[*key[whole[n]]];
      row.time = add_saturated(row.time, t.dur_ps[n]);
      side.time = add_saturated(side.time, t.dur_ps[n]);
      if (whole[n] != n) continue;
      ++row.count;
      ++side.nodes;
      if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n]))
        row.bytes = add_bytes(row.bytes, comm->bytes);
      Detail detail;
      if (t.io_row[n] != trace::kNoRow) {
        const trace::Io& io = t.ios[t.io_row[n]];
        for (const trace::Tensors* tensors : {&io.inputs, &io.outputs})
          detail += fmt::format("{}|{}|", t.strings[tensors->shapes], t.strings[tensors->types]);
      }
      std::vector<std::string> waits;
      for (const NodeId on : t.deps.of(n)) waits.push_back(key[whole[on]]->second);
      std::sort(waits.begin(), waits.end());
      for (const std::string& wait : waits) detail += '\n' + wait;
      ++row.details[std::move(detail)];
    }
    for (NodeId n = 0; n < t.size(); ++n)
      for (const NodeId on : t.deps.of(n)) {
        ++edges[{key[whole[on]], key[whole[n]]}];
        ++side.edge_count;
      }
    for (const auto& [ends, count] : edges)
      side.edges[fmt::format("{}\n{}\n{}\n{}", static_cast<int>(ends.first->first), ends.first->second,
                             static_cast<int>(ends.second->first), ends.second->second)] += count;
  }
  if (job.ranks.size() > 1) find_long_times(side.time, -1, findings);
  std::erase_if(side.rows, [](const auto& row) { return row.second.count == 0 && row.second.time == 0; });
  return side;
}

/// Counts that only the one has, and only the other.
template <class Map>
std::pair<int64_t, int64_t> differences(const Map& a, const Map& b) {
  int64_t only_a = 0, only_b = 0;
  for (const auto& [key, count] : a) {
    const auto found = b.find(key);
    only_a += std::max<int64_t>(0, count - (found == b.end() ? 0 : found->second));
  }
  for (const auto& [key, count] : b) {
    const auto found = a.find(key);
    only_b += std::max<int64_t>(0, count - (found == a.end() ? 0 : found->second));
  }
  return {only_a, only_b};
}

double relative(double a, double b) { return a == b ? 0 : a == 0 ? 1e9 : b / a - 1; }

}  // namespace

Result<Diff> diff(const trace::TraceSet& job_a, const trace::TraceSet& job_b, Findings& findings) {
  CHAKRA_ASSIGN(const Side a, summarize(job_a, findings));
  CHAKRA_ASSIGN(const Side b, summarize(job_b, findings));
  Diff diff;
  diff.nodes_a = a.nodes, diff.nodes_b = b.nodes;
  diff.edges_a = a.edge_count, diff.edges_b = b.edge_count;
  diff.time_a = a.time, diff.time_b = b.time;
  diff.span_a = a.span, diff.span_b = b.span;
  std::tie(diff.edges_removed, diff.edges_added) = differences(a.edges, b.edges);
  std::map<RowKey, std::pair<const Side::Row*, const Side::Row*>> rows;
  for (const auto& [key, row] : a.rows) rows[key].first = &row;
  for (const auto& [key, row] : b.rows) rows[key].second = &row;
  static const Side::Row kNone;
  std::vector<uint64_t> times_a, times_b;
  for (const auto& [key, both] : rows) {
    const Side::Row &x = both.first ? *both.first : kNone, &y = both.second ? *both.second : kNone;
    DiffRow row{key.first, key.second, x.count, y.count, x.time, y.time, x.bytes, y.bytes, 0, 0, 0};
    row.added = std::max<int64_t>(0, y.count - x.count);
    row.removed = std::max<int64_t>(0, x.count - y.count);
    const auto [only_a, only_b] = differences(x.details, y.details);
    row.changed = std::min(only_a, only_b);
    diff.added += row.added;
    diff.removed += row.removed;
    diff.changed += row.changed;
    times_a.push_back(static_cast<uint64_t>(x.time));
    times_b.push_back(static_cast<uint64_t>(y.time));
    diff.rows.push_back(std::move(row));
  }
  if (a.time < kLongestPs) CHAKRA_CHECK(check_sum("the first job's times", static_cast<uint64_t>(a.time), times_a));
  if (b.time < kLongestPs) CHAKRA_CHECK(check_sum("the second job's times", static_cast<uint64_t>(b.time), times_b));
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& x, const DiffRow& y) {
    return std::abs(x.time_b - x.time_a) > std::abs(y.time_b - y.time_a);
  });
  return diff;
}

std::vector<std::string> exceeding(const Diff& d, double threshold, double least_share) {
  std::vector<std::string> out;
  const auto exceeds = [&](double a, double b) { return std::abs(relative(a, b)) > threshold; };
  const auto change = [](double a, double b) {
    return a == 0 ? std::string("new") : fmt::format("{:+.2f} %", relative(a, b) * 100);
  };
  const auto real = [](auto value) { return static_cast<double>(value); };
  if (exceeds(real(d.span_a), real(d.span_b)))
    out.push_back(fmt::format("the span: {} -> {} ({})", show_time(d.span_a), show_time(d.span_b),
                              change(real(d.span_a), real(d.span_b))));
  if (const int64_t nodes = d.added + d.removed + d.changed; real(nodes) > threshold * real(d.nodes_a))
    out.push_back(fmt::format("the structure: {} nodes added, {} removed, {} changed, of {}", show_count(d.added),
                              show_count(d.removed), show_count(d.changed), show_count(d.nodes_a)));
  for (const DiffRow& row : d.rows) {
    const bool large = real(row.time_a) >= least_share * real(std::max<Picoseconds>(d.time_a, 1)) ||
                       real(row.time_b) >= least_share * real(std::max<Picoseconds>(d.time_b, 1));
    const std::string_view kind = kDiffKinds[static_cast<size_t>(row.kind)];
    if (large && exceeds(real(row.time_a), real(row.time_b)))
      out.push_back(fmt::format("{} {}: {} -> {} ({})", kind, quote(row.name, 80), show_time(row.time_a),
                                show_time(row.time_b), change(real(row.time_a), real(row.time_b))));
    else if (exceeds(real(row.bytes_a), real(row.bytes_b)))
      out.push_back(fmt::format("{} {}: {} -> {} ({})", kind, quote(row.name, 80), show_bytes(real(row.bytes_a)),
                                show_bytes(real(row.bytes_b)), change(real(row.bytes_a), real(row.bytes_b))));
  }
  return out;
}

}  // namespace chakra::analyze
