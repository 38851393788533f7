// What people and programs read of a replay.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "chakra/base/quantile.h"
#include "chakra/run/replay.h"

namespace chakra::run {
namespace {

using answer::column;
using answer::Unit;
using result::Table;
using trace::NodeId;
using Kind = Table::Kind;

constexpr std::array<view::ShowColumn, 6> kShowComputed{{
    {.key = "rank", .heading = "rank"},
    {.key = "operators", .heading = "top-level operators"},
    {.key = "ran", .heading = "ran"},
    {.key = "same_shapes", .heading = "with the recorded shapes", .share = "operators"},
    {.key = "substituted", .heading = "by substitutes"},
    {.key = "live_bytes", .heading = "most live tensors"},
}};
constexpr std::array<view::Show, 7> kReplayText{{
    {.line = "{subject}: {#ranks} of {job_ranks} rank[{?job_ranks=1}|s] [{?dry_run}would run|ran], communication by "
             "{backend}, computation by {compute}[{?repetitions=1}|, {repetitions} repetitions]"},
    {.table = "*", .first = 24},
    {.table = "computed", .first = 24, .columns = kShowComputed},
    {.line = "\n{compared.sentence}"},
    {.table = "compared.*", .first = 24},
    {.table = "compared.findings", .findings = true},
    {.findings = true},
}};

constexpr std::array kReplayed{
    column<&ReplayedJob::path>("path", Unit::none, "the job, as it was asked for"),
    column<&ReplayedJob::backend>("backend", Unit::none, "what communicated"),
    column<&ReplayedJob::compute>("compute", Unit::none, "what computed"),
    column<&ReplayedJob::dry>("dry_run", Unit::none, "nothing ran"),
    column<&ReplayedJob::repetitions>("repetitions", Unit::count, "how often it ran"),
    column<ReplayedJob>("start", Unit::none, "recorded: ranks begin as far apart as recorded; or together",
                        [](const auto& job) { return std::string(job.as_recorded ? "recorded" : "together"); }),
    column<&ReplayedJob::ranks>("job_ranks", Unit::count, "ranks of the job that ran"),
    column<&ReplayedJob::recorded_ranks>("recorded_ranks", Unit::count, "ranks of the job that was read")};
/// Per rank and row of Trace::comms: the bytes of the operation's member that has most, so that all of its members here
/// are in one row.
std::vector<std::vector<uint64_t>> operation_bytes(const ReplayedJob& job) {
  const auto is_uneven = [](const replay::Operation& op) {
    return op.kind == replay::Operation::Kind::collective && !(op.in_split.empty() && op.out_split.empty());
  };
  std::vector<std::vector<uint64_t>> bytes;
  std::map<std::pair<std::string_view, uint64_t>, uint64_t> most;  // by group and index
  for (size_t r = 0; r < job.recorded.ranks.size(); ++r) {
    const trace::Trace& t = job.recorded.ranks[r];
    bytes.emplace_back(t.comms.size());
    for (size_t row = 0; row < t.comms.size(); ++row) {
      const replay::Operation& op = job.plans[r].steps[row].operation;
      bytes[r][row] = is_uneven(op) ? std::max(op.in_bytes, op.out_bytes) : t.comms[row].bytes;
      if (op.kind != replay::Operation::Kind::collective) continue;
      uint64_t& all = most[{op.group, op.index}];
      all = std::max(all, bytes[r][row]);
    }
  }
  for (size_t r = 0; r < bytes.size(); ++r)
    for (size_t row = 0; row < bytes[r].size(); ++row)
      if (const replay::Operation& op = job.plans[r].steps[row].operation;
          op.kind == replay::Operation::Kind::collective)
        bytes[r][row] = most.at({op.group, op.index});
  return bytes;
}

/// Operations of one type, element type, size and number of members, over all ranks and repetitions.
Table operations_table(const ReplayedJob& job) {
  struct Row {
    int64_t count = 0;  ///< of a repetition
    std::vector<Picoseconds> times{};
  };
  using Key = std::tuple<std::string, std::string, uint64_t, uint32_t>;
  std::map<Key, Row> rows;
  const std::vector<std::vector<uint64_t>> bytes_of = operation_bytes(job);
  for (size_t r = 0; r < job.recorded.ranks.size(); ++r) {
    const trace::Trace& t = job.recorded.ranks[r];
    for (const NodeId n : t.nodes()) {
      if (!trace::is_comm(t.type[n]) || !job.ran(r, n)) continue;
      const replay::Operation& op = job.plans[r].step(n).operation;
      const bool is_collective = op.kind == replay::Operation::Kind::collective;
      Row& row =
          rows[{std::string(is_collective ? trace::name(op.type) : trace::name(t.type[n])), std::string(op.dtype),
                bytes_of[r][t.comm_row[n]], is_collective ? static_cast<uint32_t>(op.members.size()) : 2}];
      ++row.count;
      for (const auto& times : job.runs.empty() ? std::span<const replay::NodeTimes>() : std::span(job.runs[r].times))
        row.times.push_back(times.end[n] - times.start[n]);
    }
  }
  Table out{"",
            {{"operation", Kind::text, "operation", "the operation"},
             {"type", Kind::text, "type", "the element type"},
             {"bytes", Kind::bytes, "bytes", "bytes of one, of the member that has most"},
             {"members", Kind::count, "members", "ranks that take part"},
             {"count", Kind::count, "count", "how many ran, of all members, in a repetition"}},
            {}};
  if (!job.dry) {
    out.columns.push_back({"p50", Kind::time_ps, "p50_ps", "median of their times; not of a dry run"});
    out.columns.push_back({"p95", Kind::time_ps, "p95_ps", "95th percentile of their times; not of a dry run"});
  }
  for (auto& [key, row] : rows) {
    const auto& [name, dtype, bytes, members] = key;
    auto& cells = out.rows.emplace_back(std::vector<Table::Cell>{
        name, dtype, static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)), int64_t{members}, row.count});
    if (job.dry) continue;
    std::sort(row.times.begin(), row.times.end());
    cells.emplace_back(whole_quantile(row.times, 0.5));
    cells.emplace_back(whole_quantile(row.times, 0.95));
  }
  return out;
}

/// From the first start to the last end of a rank, median over repetitions; and what it did.
Table ranks_table(const ReplayedJob& job) {
  Table out{"",
            {{"rank", Kind::id, "rank", "the rank"},
             {"nodes", Kind::count, "nodes", "nodes that ran, without metadata"},
             {"collectives", Kind::count, "collectives", "those of them that are collectives"},
             {"messages", Kind::count, "messages", "those of them that send or receive"}},
            {}};
  if (!job.dry) {
    out.columns.push_back({"span", Kind::time_ps, "span_ps", "from the first start to the last end: median"});
    out.columns.push_back({"longest span", Kind::time_ps, "longest_span_ps", "the longest repetition"});
  }
  for (size_t r = 0; r < job.recorded.ranks.size(); ++r) {
    const trace::Trace& t = job.recorded.ranks[r];
    int64_t nodes = 0, collectives = 0, messages = 0;
    for (const NodeId n : t.nodes()) {
      if (!job.ran(r, n) || t.type[n] == trace::NodeType::metadata) continue;
      ++nodes;
      collectives += t.type[n] == trace::NodeType::coll;
      messages += t.type[n] == trace::NodeType::send || t.type[n] == trace::NodeType::recv;
    }
    auto& cells = out.rows.emplace_back(std::vector<Table::Cell>{t.rank, nodes, collectives, messages});
    if (job.dry) continue;
    std::vector<Picoseconds> spans;
    for (const replay::NodeTimes& times : job.runs[r].times) spans.push_back(replay_span(job, r, times));
    std::sort(spans.begin(), spans.end());
    cells.emplace_back(whole_quantile(spans, 0.5));
    cells.emplace_back(spans.back());
  }
  return out;
}

}  // namespace

view::Text text_of(const ReplayedJob& job) { return {kReplayText, job.path}; }

answer::Answer answer_of(const ReplayedJob& job) {
  answer::Builder to("replay");
  to.values("", &job, kReplayed);
  result::add_table(to, "ranks", ranks_table(job), true, "ranks of this process");
  result::add_table(to, "operations", operations_table(job), true, "communication by type, element type and size");
  add_computed(job, to);
  result::add_table(to, "work", work_table(job), true, "work that was done (--compute work)");
  result::add_table(to, "files", files_table(job), true, "loads and stores in files (--files)");
  const recorded::TimesCompared* const compared = job.compared ? &*job.compared : nullptr;
  recorded::add_times("compared.", compared, to);
  to.findings("compared.findings", "what was found in comparing", compared ? compared->findings : Findings(), compared);
  return std::move(to).finish(job.findings);
}

}  // namespace chakra::run
