// What a replay really worked (--compute work), and what it moved from and to files (--files).
#include <fmt/core.h>

#include <algorithm>

#include "chakra/analyze/analyze.h"
#include "chakra/options/options.h"
#include "chakra/run/replay.h"

namespace chakra::run {
namespace {

using options::no_effect;

using answer::Missing;
using replay::FilesMoved;
using replay::WorkDone;
using result::Table;

Table::Cell whole(uint64_t number) { return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX)); }

/// "" where nothing was done.
Table::Cell per_second(uint64_t amount, Picoseconds time) {
  if (time <= 0) return std::string();
  return static_cast<double>(amount) / (static_cast<double>(time) / kPsPerSecond);
}

/// Options of --compute work that nothing needed.
void add_unneeded_options(const ReplayOptions& o, const ReplayedJob& job, Findings& findings) {
  uint64_t operations = 0, bytes = 0;
  const WorkDone* of_any = nullptr;
  for (const replay::RankRun& run : job.runs) {
    if (!run.computed.work) continue;
    of_any = &*run.computed.work;
    operations = add_bytes(operations, of_any->wanted_operations);
    bytes = add_bytes(bytes, of_any->wanted_bytes);
  }
  if (!of_any) return;
  for (const std::string& text : o.compute_settings) {
    const std::string name = text.substr(0, text.find('='));
    const std::string option = fmt::format("--compute-option {}", text);
    if (name == "buffer" && bytes == 0) findings.push_back(no_effect(option, "no node has bytes to copy"));
    else if (name != "buffer" && operations == 0) findings.push_back(no_effect(option, "no node has operations"));
    else if (name == "threads" && of_any->threads_without_effect)
      findings.push_back(no_effect(option, fmt::format("{} cannot set its threads", of_any->library)));
  }
}

// `replay.work.none` (warning): no node of a rank has an amount of work, so `--compute work` did none.
// `replay.work.timed` (note): nodes without operations and bytes took their recorded time.
// `replay.work.type` (note): operations of other element types were done in float32.
void add_findings_of_work(const WorkDone& w, int64_t rank, Findings& findings) {
  const auto add = [&](std::string_view tag, Severity severity, std::string text) {
    findings.push_back({std::string(tag), severity, rank, -1, std::move(text)});
  };
  const int64_t without = w.timed + w.silent;
  const std::string rest = fmt::format(
      "{} took their recorded time, {} in all{}", show_count(w.timed), show_time(w.timed_ps),
      w.silent == 0 ? "" : fmt::format(", and {} without work or duration took no time", show_count(w.silent)));
  if (w.nodes == 0)
    add("replay.work.none", Severity::warning,
        without == 0 ? "the rank has no nodes of computation: no work was done"
                     : fmt::format("no node has FLOPs or bytes (num_ops, tensor_size), so no work was done: of {} "
                                   "nodes of computation {}",
                                   show_count(without), rest));
  else if (without > 0)
    add("replay.work.timed", Severity::note,
        fmt::format("{} of {} nodes of computation have neither FLOPs nor bytes: {}", show_count(without),
                    show_count(w.nodes + without), rest));
  if (w.other_types > 0)
    add("replay.work.type", Severity::note,
        fmt::format("{} nodes have FLOPs in another type than float32 (op_dtype); they ran in float32",
                    show_count(w.other_types)));
}

}  // namespace

Table work_table(const ReplayedJob& job) {
  using Kind = Table::Kind;
  Table out{"work", {}, {}};
  const auto column = [&](const char* name, Kind kind, const char* key, const char* meaning, bool of_run = false) {
    if (!of_run || !job.dry) out.columns.push_back({name, kind, key, meaning, Missing::empty});
  };
  column("rank", Kind::id, "rank", "the rank");
  column("nodes", Kind::count, "nodes", "nodes with known work");
  column("operations", Kind::count, "operations", "FLOPs executed", true);
  column("operations wanted", Kind::count, "operations_wanted", "FLOPs of the nodes");
  column("operations per s", Kind::rate_ops_per_s, "operations_per_s", "FLOP/s over the time of matrix multiplications",
         true);
  column("bytes", Kind::bytes, "bytes", "bytes that copies read and wrote", true);
  column("bytes wanted", Kind::bytes, "bytes_wanted", "bytes of the nodes");
  column("rate", Kind::rate_bytes_per_s, "rate", "over the time of copies", true);
  column("by recorded time", Kind::count, "by_recorded_time", "nodes that took their recorded time");
  column("recorded time", Kind::time_ps, "recorded_time_ps", "that time");
  for (size_t r = 0; r < std::max(job.runs.size(), job.asked.size()); ++r) {
    const std::optional<WorkDone> work = job.dry ? job.asked[r] : job.runs[r].computed.work;
    if (!work) continue;
    const WorkDone& w = *work;
    const int64_t rank = job.recorded.ranks[r].rank;
    if (job.dry)
      out.rows.push_back({rank, w.nodes, whole(w.wanted_operations), whole(w.wanted_bytes), w.timed, w.timed_ps});
    else
      out.rows.push_back({rank, w.nodes, whole(w.operations), whole(w.wanted_operations),
                          per_second(w.operations, w.product_ps), whole(w.bytes), whole(w.wanted_bytes),
                          per_second(w.bytes, w.copy_ps), w.timed, w.timed_ps});
  }
  return out;
}

Table files_table(const ReplayedJob& job) {
  using Kind = Table::Kind;
  Table out{"files",
            {{"rank", Kind::id, "rank", "the rank"},
             {"tier", Kind::text, "tier", "the tier of storage; empty if the nodes have no tier"},
             {"loads", Kind::count, "loads", "loads"},
             {"read", Kind::bytes, "read_bytes", "bytes read"},
             {"read rate", Kind::rate_bytes_per_s, "read_rate", "over their time", Missing::empty},
             {"stores", Kind::count, "stores", "stores"},
             {"written", Kind::bytes, "written_bytes", "what they wrote"},
             {"write rate", Kind::rate_bytes_per_s, "write_rate", "over their time", Missing::empty},
             {"working set", Kind::bytes, "working_set_bytes", "size of the file"},
             {"places", Kind::text, "places", "in which order its places are used"}},
            {}};
  for (size_t r = 0; r < job.runs.size(); ++r) {
    if (!job.runs[r].computed.files) continue;
    for (const FilesMoved::Tier& tier : job.runs[r].computed.files->tiers)
      out.rows.push_back({job.recorded.ranks[r].rank, tier.name, tier.loads, whole(tier.read_bytes),
                          per_second(tier.read_bytes, tier.read_ps), tier.stores, whole(tier.written_bytes),
                          per_second(tier.written_bytes, tier.write_ps), whole(tier.file_bytes),
                          std::string(tier.order)});
  }
  return out;
}

// `replay.files.untold` (note): loads and stores without a size used no file.
// `replay.files.cached` (note): rates of files are those of the page cache.
void add_work_findings(const ReplayOptions& o, ReplayedJob& job) {
  Findings findings;
  add_unneeded_options(o, job, findings);
  bool moved = false;
  for (size_t r = 0; r < job.runs.size(); ++r) {
    const int64_t rank = job.recorded.ranks[r].rank;
    if (const auto& work = job.runs[r].computed.work) add_findings_of_work(*work, rank, findings);
    const auto& files = job.runs[r].computed.files;
    if (!files) continue;
    moved |= !files->tiers.empty();
    if (files->untold > 0)
      findings.push_back({"replay.files.untold", Severity::note, rank, -1,
                          fmt::format("{} loads and stores have no size (bytes, tensor_size): they used no file, and "
                                      "took the time of --compute {}",
                                      show_count(files->untold), job.compute)});
  }
  if (moved && o.file_cache == "cached")
    findings.push_back({"replay.files.cached", Severity::note, -1, -1,
                        "the rates are those of the page cache; --file-cache synced or direct measures the disk"});
  analyze::join_ranks(findings);
  job.findings.insert(job.findings.end(), findings.begin(), findings.end());
}

}  // namespace chakra::run
