// Two jobs beside each other.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "chakra/analyze/analyze.h"
#include "chakra/analyze/device_work.h"
#include "chakra/base/progress.h"
#include "chakra/trace/sizes.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::Trace;

/// What rows are called, and other texts to compare, numbered for both jobs: a name that many nodes wait for, or a
/// text that many nodes have, is kept once.
class Names {
 public:
  StringPool texts;

  uint32_t row(DiffRow::Kind kind, std::string_view name) {
    const auto [found, added] = rows_.try_emplace({kind, texts.intern(name)}, static_cast<uint32_t>(keys_.size()));
    if (added) keys_.push_back(found->first);
    return found->second;
  }
  size_t rows() const { return keys_.size(); }
  DiffRow::Kind kind(uint32_t row) const { return keys_[row].first; }
  StringId name(uint32_t row) const { return keys_[row].second; }

 private:
  std::map<std::pair<DiffRow::Kind, StringId>, uint32_t> rows_;
  std::vector<std::pair<DiffRow::Kind, StringId>> keys_;
};

/// How often each pair of numbers was met.
class Counts {
 public:
  struct Counted {
    std::pair<uint32_t, uint32_t> pair;
    int64_t count = 1;
  };
  void add(uint32_t a, uint32_t b) {
    if (counted_.size() >= fold_at_) fold();
    counted_.push_back({{a, b}});
  }
  /// Ascending, each pair once.
  const std::vector<Counted>& take() {
    fold();
    return counted_;
  }

 private:
  static constexpr size_t kSome = size_t{1} << 16;
  void fold() {
    std::sort(counted_.begin(), counted_.end(), [](const Counted& x, const Counted& y) { return x.pair < y.pair; });
    size_t kept = 0;
    for (const Counted& next : counted_)
      if (kept > 0 && counted_[kept - 1].pair == next.pair) counted_[kept - 1].count += next.count;
      else counted_[kept++] = next;
    counted_.resize(kept);
    fold_at_ = std::max(kSome, 2 * kept);
  }
  std::vector<Counted> counted_;
  size_t fold_at_ = kSome;
};

struct Side {
  struct Row {
    int64_t count = 0;
    Picoseconds time = 0;
    uint64_t bytes = 0;
  };
  std::vector<Row> rows;  ///< by number; those that only the other job has may be missing
  Counts details;         ///< row, and what a node is beside: shapes, types, and what it waits for
  Counts edges;           ///< rows
  int64_t nodes = 0, edge_count = 0;
  Picoseconds time = 0, span = 0;

  Row row(uint32_t number) const { return number < rows.size() ? rows[number] : Row(); }
};

uint32_t row_of(const Trace& t, NodeId n, Names& names) {
  if (const trace::Comm* comm = t.comm(n); trace::is_comm(t.type[n])) {
    const std::string what = t.type[n] == trace::NodeType::coll
                                 ? std::string(trace::name(comm ? comm->type : trace::CommType::unknown))
                                 : std::string(trace::name(t.type[n]));
    if (!comm) return names.row(DiffRow::Kind::comm, what);
    const std::string_view group = t.strings[comm->group];
    if (t.type[n] != trace::NodeType::coll)
      return names.row(DiffRow::Kind::comm, fmt::format("{} {} bytes", what, comm->bytes));
    return names.row(DiffRow::Kind::comm,
                     fmt::format("{} {} bytes in {}", what, comm->bytes, group.empty() ? "all" : group));
  }
  const Bound bound = bound_of(t, n);
  const bool kernel = bound == Bound::compute || bound == Bound::memory || bound == Bound::unrecorded;
  return names.row(kernel ? DiffRow::Kind::kernel : DiffRow::Kind::op, t.name_of(n));
}

void add_rank(const Trace& t, Names& names, Side& side) {
  std::vector<uint32_t> row(t.size());
  for (const NodeId n : t.nodes()) row[n] = row_of(t, n, names);
  side.rows.resize(names.rows());
  const std::vector<NodeId> whole = wholes(t);
  std::string detail;
  std::vector<StringId> waits;
  for (const NodeId n : t.nodes()) {
    Side::Row& in = side.rows[row[whole[n]]];
    in.time = add_saturated(in.time, t.dur_ps[n]);
    side.time = add_saturated(side.time, t.dur_ps[n]);
    if (whole[n] != n) continue;
    ++in.count;
    ++side.nodes;
    if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n]))
      in.bytes = add_bytes(in.bytes, comm->bytes);
    detail.clear();
    if (t.io_row[n] != trace::kNoRow) {
      const trace::Io& io = t.ios[t.io_row[n]];
      for (const trace::Tensors* tensors : {&io.inputs, &io.outputs})
        detail += fmt::format("{}|{}|", t.strings[tensors->shapes], t.strings[tensors->types]);
    }
    waits.clear();
    for (const NodeId on : t.deps.of(n)) waits.push_back(names.name(row[whole[on]]));
    std::sort(waits.begin(), waits.end());
    for (const StringId wait : waits) fmt::format_to(std::back_inserter(detail), "\n{}", wait);
    side.details.add(row[n], names.texts.intern(detail));
  }
  for (const NodeId n : t.nodes())
    for (const NodeId on : t.deps.of(n)) {
      side.edges.add(row[whole[on]], row[whole[n]]);
      ++side.edge_count;
    }
}

Result<Side> summarize(const trace::TraceSet& job, Names& names, Findings& findings) {
  Side side;
  for (const Trace& t : job.ranks) {
    CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(const Schedule schedule, schedule_of(t, findings));
    side.span = std::max(side.span, schedule.last - schedule.first);
    add_rank(t, names, side);
  }
  if (job.ranks.size() > 1) find_long_times(side.time, -1, findings);
  return side;
}

/// Calls `use(pair, how often only a has it, how often only b has it)`.
template <class Use>
void differences(Counts& a, Counts& b, const Use& use) {
  const auto &x = a.take(), &y = b.take();
  for (size_t i = 0, j = 0; i < x.size() || j < y.size();) {
    const bool left = i < x.size() && (j == y.size() || x[i].pair <= y[j].pair);
    const bool right = j < y.size() && (i == x.size() || y[j].pair <= x[i].pair);
    const auto pair = left ? x[i].pair : y[j].pair;
    const int64_t more = (left ? x[i++].count : 0) - (right ? y[j++].count : 0);
    use(pair, std::max<int64_t>(0, more), std::max<int64_t>(0, -more));
  }
}

double relative(double a, double b) { return a == b ? 0 : a == 0 ? 1e9 : b / a - 1; }

}  // namespace

Result<Diff> diff(const trace::TraceSet& job_a, const trace::TraceSet& job_b, Findings& findings) {
  Names names;
  CHAKRA_ASSIGN(Side a, summarize(job_a, names, findings));
  CHAKRA_TRY(keep_going(1, 3));
  CHAKRA_ASSIGN(Side b, summarize(job_b, names, findings));
  CHAKRA_TRY(keep_going(2, 3));
  Diff diff;
  diff.nodes_a = a.nodes, diff.nodes_b = b.nodes;
  diff.edges_a = a.edge_count, diff.edges_b = b.edge_count;
  diff.time_a = a.time, diff.time_b = b.time;
  diff.span_a = a.span, diff.span_b = b.span;
  differences(a.edges, b.edges, [&](const auto&, int64_t only_a, int64_t only_b) {
    diff.edges_removed += only_a;
    diff.edges_added += only_b;
  });
  std::vector<std::pair<int64_t, int64_t>> only(names.rows());
  differences(a.details, b.details, [&](const auto& pair, int64_t only_a, int64_t only_b) {
    only[pair.first].first += only_a;
    only[pair.first].second += only_b;
  });
  std::vector<uint32_t> rows(names.rows());
  std::iota(rows.begin(), rows.end(), 0);
  std::sort(rows.begin(), rows.end(), [&](uint32_t x, uint32_t y) {
    return std::pair(names.kind(x), names.texts[names.name(x)]) < std::pair(names.kind(y), names.texts[names.name(y)]);
  });
  std::vector<uint64_t> times_a, times_b;
  for (const uint32_t number : rows) {
    const Side::Row x = a.row(number), y = b.row(number);
    if (x.count == 0 && x.time == 0 && y.count == 0 && y.time == 0) continue;
    DiffRow row{names.kind(number),
                std::string(names.texts[names.name(number)]),
                x.count,
                y.count,
                x.time,
                y.time,
                x.bytes,
                y.bytes,
                0,
                0,
                0};
    row.added = std::max<int64_t>(0, y.count - x.count);
    row.removed = std::max<int64_t>(0, x.count - y.count);
    row.changed = std::min(only[number].first, only[number].second);
    diff.added += row.added;
    diff.removed += row.removed;
    diff.changed += row.changed;
    times_a.push_back(static_cast<uint64_t>(x.time));
    times_b.push_back(static_cast<uint64_t>(y.time));
    diff.rows.push_back(std::move(row));
  }
  if (a.time < kLongestPs) CHAKRA_TRY(check_sum("the first job's times", static_cast<uint64_t>(a.time), times_a));
  if (b.time < kLongestPs) CHAKRA_TRY(check_sum("the second job's times", static_cast<uint64_t>(b.time), times_b));
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
    else if (exceeds(real(row.bytes_a), real(row.bytes_b))) {
      const auto [before, after] = show_bytes_apart(row.bytes_a, row.bytes_b);
      out.push_back(fmt::format("{} {}: {} -> {} ({})", kind, quote(row.name, 80), before, after,
                                change(real(row.bytes_a), real(row.bytes_b))));
    }
  }
  return out;
}

}  // namespace chakra::analyze
