#include "chakra/job/summarize.h"

#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"

namespace chakra::job {
namespace {

Result<JobSummary> summarize_classes(const std::string& path) {
  CHAKRA_ASSIGN(trace::ClassJob job, io::read_class_job(path));
  JobSummary summary{path, true, job.ranks.size(), job.groups.size(), {}};
  for (trace::Trace& t : job.classes) {
    t.groups.clear();  // names of slots
    summary.traces.push_back(analyze::summarize(t));
    summary.traces.back().ranks = 0;
  }
  for (const trace::ClassJob::Rank& rank : job.ranks) ++summary.traces[rank.cls].ranks;
  return summary;
}

}  // namespace

Result<JobSummary> summarize_job(const std::string& path) {
  if (io::is_class_job(path)) return summarize_classes(path);
  CHAKRA_TRY(foreign::refuse_workload(path, "a trace"));
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
  JobSummary summary{path, false, files.size(), 0, {}};
  summary.traces.resize(files.size());
  io::RankTraces traces(files, {});
  CHAKRA_TRY(each_in_parallel(files.size(), [&](size_t i) -> Result<void> {
    CHAKRA_ASSIGN(const trace::Trace t, traces.read(i));
    analyze::TraceSummary& s = summary.traces[i] = analyze::summarize(t);
    if (!t.defects.empty()) return {};
    if (const auto replayed = analyze::self_replay(t))
      s.replay = {replayed->measured_ps, replayed->replayed_ps, replayed->error};
    return {};
  }));
  return summary;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using answer::column;
using answer::Unit;
using view::Show;

constexpr std::array kClasses{column<&JobSummary::ranks>("ranks", Unit::count, "ranks of the job"),
                              column<&JobSummary::groups>("groups", Unit::count, "process groups of the job")};

}  // namespace

answer::Answer answer_of(const JobSummary& job) {
  answer::Builder to("info");
  to.values("", job.by_classes ? &job : nullptr, kClasses);
  analyze::add_summaries("ranks", "ranks, ascending", job.traces, job.by_classes, !job.by_classes, to);
  analyze::add_summaries("classes", "of a job by classes: identical ranks, shown by the first", job.traces,
                         job.by_classes, job.by_classes, to);
  return std::move(to).finish();
}

// ---- as text ---------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<Show, 8> kTraceText{{
    {.line = "  nodes          {nodes} ({node_types*}); {device_ops} on devices"},
    {.line = "  edges          {dependencies} ({edges*}); {inferred_edges} inferred"},
    {.line = "  durations      {durations_ps} in all, {device_durations_ps} on devices"},
    {.line = "  communication  {count} {type}: {bytes}, {time_ps}", .table = "communication", .first = view::kAllRows},
    {.line = "  group          '{name}' ({description}): [{?#ranks}{#ranks} ranks|all ranks]",
     .table = "groups",
     .first = view::kAllRows},
    {.line = "  self-check     {measured_ps} measured, {replayed_ps} simulated (error {+replay_error})"},
    {.line = "  defects        {?defects}{defects}; run 'chakra check' for the list"},
    {.findings = true},
}};
constexpr view::Text kOfTrace{kTraceText};
constexpr std::array<Show, 3> kInfoText{{
    {.line = "{subject}: {ranks} ranks in {#classes} classes, {groups} groups"},
    {.line = "{file}: rank {rank}", .table = "ranks", .inside = &kOfTrace, .first = view::kAllRows},
    {.line = "class of {ranks} ranks, as {file}: rank {rank}",
     .table = "classes",
     .inside = &kOfTrace,
     .first = view::kAllRows},
}};

}  // namespace

view::Text text_of(const JobSummary& job) { return {kInfoText, job.path}; }

}  // namespace chakra::job
