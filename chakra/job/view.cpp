#include "chakra/job/view.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/analyze/analyze.h"
#include "chakra/io/io.h"
#include "chakra/job/analyze.h"
#include "chakra/job/paths.h"
#include "chakra/job/ranks.h"
#include "chakra/job/timeline_clocks.h"
#include "chakra/job/timeline_counters.h"

namespace chakra::job {
namespace {

/// About what the file has for a slice beside its name and for an arrow, and how much of it viewers still open.
constexpr uint64_t kSliceBytes = 120, kArrowBytes = 240, kMostBytes = uint64_t{500} << 20;

/// A file that no viewer opens is not written unasked.
Result<void> check_size(const ViewOptions& o, const result::Timeline& timeline, size_t ranks) {
  uint64_t bytes = kArrowBytes * timeline.flows.size();
  for (const result::Timeline::Slice& slice : timeline.slices)
    bytes += kSliceBytes + timeline.strings[slice.name].size();
  if (bytes <= kMostBytes || ranks < 2 || !o.ranks.empty()) return {};
  const uint64_t fit = std::max<uint64_t>(1, ranks * kMostBytes / bytes);
  return fail(Code::usage, "view.large",
              fmt::format("the timeline of {} ranks has {} slices, about {}, too many for browsers: choose ranks, such "
                          "as --ranks 0:{} (the first {}); --ranks with all ranks writes the timeline anyway",
                          ranks, show_count(static_cast<int64_t>(timeline.slices.size())),
                          show_bytes(static_cast<double>(bytes)), fit, fit),
              {o.path});
}

Result<ViewedJob> write_timeline(const ViewOptions& o, const result::Timeline& timeline, Findings findings) {
  const std::string& output = o.output;
  CHAKRA_TRY(find_row(view::kForms, o.form)->timeline(timeline, output));
  analyze::join_ranks(findings);
  ViewedJob::TimelineCounts counts{
      std::ssize(timeline.slices), std::ssize(timeline.tracks),   0,
      std::ssize(timeline.flows),  std::ssize(timeline.counters), static_cast<int64_t>(file_size(output))};
  int64_t last = -1;
  for (const result::Timeline::Track& track : timeline.tracks) counts.ranks += track.rank != last, last = track.rank;
  return ViewedJob{output, o.form, counts, {}, false, std::move(findings)};
}

Result<ViewedJob> view_csv(const ViewOptions& o) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.path));
  Findings findings;
  view::EventCsvOptions csv;
  csv.ranks = o.num_npus;
  CHAKRA_ASSIGN(csv.hz, view::parse_frequency(o.npu_frequency.empty() ? "1GHz" : o.npu_frequency));
  CHAKRA_ASSIGN(const result::Timeline timeline, view::read_event_csv(std::move(source), csv, findings));
  return write_timeline(o, timeline, std::move(findings));
}

/// The ranks that are asked for, or all. `how`: a timeline needs the texts of tensors.
Result<trace::TraceSet> read(const ViewOptions& o, const io::ReadOptions& how) {
  Findings none;  // all ranks that are named are there
  if (!o.ranks.empty()) return read_ranks(o.path, {}, o.ranks, -1, none, how);
  if (io::is_class_job(o.path) || !o.rank) {
    CHAKRA_ASSIGN(trace::TraceSet job, io::read_job(o.path, how));
    if (o.rank) std::erase_if(job.ranks, [&](const trace::Trace& t) { return t.rank != *o.rank; });
    if (o.rank && job.ranks.empty())
      return fail(Code::usage, "cli.usage", fmt::format("rank {} does not exist", *o.rank), {o.path});
    return job;
  }
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(o.path));
  trace::TraceSet job;
  for (const io::RankFile& file : files) {
    if (file.rank != *o.rank && files.size() > 1) continue;
    CHAKRA_ASSIGN(trace::Trace t, io::read_rank(file, how));
    if (t.rank == *o.rank) job.ranks.push_back(std::move(t));
  }
  if (job.ranks.empty())
    return fail(Code::usage, "cli.usage", fmt::format("rank {} does not exist", *o.rank), {o.path});
  return job;
}

/// One rank of each class: ranks whose traces are equal except for ranks and groups.
std::vector<int64_t> class_ranks(const trace::TraceSet& job) {
  const trace::ClassJob classes = trace::by_class(trace::TraceSet(job));
  std::vector<int64_t> ranks;
  std::vector<bool> seen(classes.classes.size());
  for (const trace::ClassJob::Rank& rank : classes.ranks) {
    if (!seen[rank.cls]) ranks.push_back(rank.rank);
    seen[rank.cls] = true;
  }
  return ranks;
}

/// The worst stragglers, and the one for which others wait the least. Empty: no rank waits for another.
std::vector<int64_t> outlier_ranks(const trace::TraceSet& job) {
  std::vector<int64_t> ranks;
  for (const analyze::Straggler& each : analyze::job_times(job, match::match(job)).stragglers)
    ranks.push_back(each.rank);
  if (ranks.size() > kOutliers) ranks.erase(ranks.begin() + kOutliers - 1, ranks.end() - 1);
  return ranks;
}

// `view.pick.none` (2): no rank waits for another in measured collectives, so --pick outliers finds no ranks
// `view.picked` (note): the timeline shows some ranks of the job, or --pick has found nothing to leave out

constexpr size_t kMostNamed = 16;  ///< ranks in a finding

/// Keep the ranks of `pick`, and report them.
Result<void> pick_ranks(const ViewOptions& o, trace::TraceSet& job, Findings& findings) {
  if (o.pick == Pick::all) return {};
  const std::vector<int64_t> ranks = o.pick == Pick::classes ? class_ranks(job) : outlier_ranks(job);
  if (ranks.empty())
    return fail(Code::usage, "view.pick.none",
                "no rank waits for another in measured collectives, so there are no outliers; choose with --ranks",
                {o.path});
  const size_t all = job.ranks.size();
  std::erase_if(job.ranks, [&](const auto& t) { return std::find(ranks.begin(), ranks.end(), t.rank) == ranks.end(); });
  std::string shown;
  for (size_t i = 0; i < std::min(ranks.size(), kMostNamed); ++i)
    shown += fmt::format("{}{}", i > 0 ? ", " : "", ranks[i]);
  if (ranks.size() > kMostNamed) shown += ", ...";
  findings.push_back({"view.picked", Severity::note, -1, -1,
                      ranks.size() == all
                          ? fmt::format("--pick {} leaves out no rank of {}", kPicks[static_cast<size_t>(o.pick)], all)
                          : fmt::format("the timeline shows {} of {} ranks: {}", ranks.size(), all, shown)});
  return {};
}

Result<ViewedJob> view_graph(const ViewOptions& o, const trace::TraceSet& job) {
  if (job.ranks.size() > 1)
    return fail(Code::usage, "cli.usage",
                fmt::format("a graph shows one rank, but there are {}: choose with --rank", job.ranks.size()),
                {o.path});
  const trace::Trace& t = job.ranks[0];
  Findings findings;
  CHAKRA_ASSIGN(const view::GraphCounts counts, view::write_graph(t, o.form, o.graph, o.output, findings));
  return ViewedJob{o.output, o.form, {}, counts, o.graph.group, std::move(findings)};
}

}  // namespace

Result<void> settle(ViewOptions& o) {
  if (o.form.empty()) o.form = view::form_of(o.output);
  if (o.form.empty() && !o.output.empty())
    return fail(Code::usage, "cli.usage",
                fmt::format("unknown file extension of {}; select the format with --to", quote(o.output, 200)));
  if (!o.from) o.from = o.path.ends_with(".csv") ? ViewInput::csv : ViewInput::traces;
  return {};
}

Result<ViewedJob> view_job(ViewOptions o) {
  CHAKRA_TRY(settle(o));
  CHAKRA_TRY(options::check_call(o));
  const bool timeline = find_row(view::kForms, o.form)->timeline;
  if (o.from == ViewInput::csv && !timeline)
    return fail(Code::usage, "cli.usage", "a CSV of issue and callback lines gives a timeline (FILE.json or .pftrace)");
  std::vector<std::string> inputs{o.path};
  if (o.from == ViewInput::traces) {
    CHAKRA_ASSIGN(inputs, job_files(o.path));
  }
  CHAKRA_TRY(keep_apart(inputs, {o.output}));
  if (o.from == ViewInput::csv) return view_csv(o);
  if (!timeline && o.pick != Pick::all)
    return fail(Code::usage, "cli.usage",
                "--pick chooses ranks of a timeline, and a graph shows one: choose with --rank");
  CHAKRA_ASSIGN(trace::TraceSet job, read(o, {.texts = timeline}));
  if (!timeline) return view_graph(o, job);
  Findings findings;
  CHAKRA_TRY(pick_ranks(o, job, findings));
  CHAKRA_ASSIGN(result::Timeline slices, timeline_of(job, findings));
  view::add_queue_counters(slices);
  CHAKRA_TRY(add_memory_counters(job, true, slices));
  CHAKRA_TRY(check_size(o, slices, job.ranks.size()));
  return write_timeline(o, slices, std::move(findings));
}

answer::Answer answer_of(const ViewedJob& job) {
  using answer::column;
  using answer::Unit;
  using Timeline = ViewedJob::TimelineCounts;
  using Graph = view::GraphCounts;
  constexpr std::array kViewed{column<&ViewedJob::output>("output", Unit::none, "the file"),
                               column<&ViewedJob::form>("form", Unit::none, "format, such as timeline or svg")};
  constexpr std::array kTimeline{
      column<&Timeline::slices>("slices", Unit::count, "nodes that are shown"),
      column<&Timeline::tracks>("tracks", Unit::count, "threads and streams"),
      column<&Timeline::ranks>("ranks", Unit::count, "ranks"),
      column<&Timeline::arrows>("arrows", Unit::count, "launches and communication"),
      column<&Timeline::counters>("counters", Unit::count, "values over time, such as queues"),
      column<&Timeline::bytes>("bytes", Unit::bytes, "size of the file")};
  constexpr std::array kGrouped{column<&ViewedJob::grouped>("grouped", Unit::none, "boxes stand for several nodes")};
  constexpr std::array kGraph{
      column<&Graph::boxes>("boxes", Unit::count, "boxes that are drawn"),
      column<&Graph::data>("data", Unit::count, "data dependencies"),
      column<&Graph::control>("control", Unit::count, "calls"),
      column<&Graph::indirect>("indirect", Unit::count, "dependencies through nodes that are not drawn"),
      column<&Graph::inside>("inside", Unit::count, "dependencies inside of a box"),
      column<&Graph::absent>("absent", Unit::count, "nodes that edges name and the file lacks"),
      column<&Graph::to_absent>("to_absent", Unit::count, "edges from these, also counted as data or control")};
  answer::Builder to("view");
  to.values("", &job, kViewed);
  to.values("timeline.", job.timeline ? &*job.timeline : nullptr, kTimeline);
  to.values("graph.", job.graph ? &job : nullptr, kGrouped);
  to.values("graph.", job.graph ? &*job.graph : nullptr, kGraph);
  return std::move(to).finish(job.findings);
}

view::Text text_of(const ViewedJob&) {
  static constexpr std::array<view::Show, 3> kText{{
      {.line = "{output}: {timeline.slices} slices on {timeline.tracks} tracks of {timeline.ranks} ranks, "
               "{timeline.arrows} arrows, {timeline.bytes}; open it in https://ui.perfetto.dev"},
      {.line = "{output}: {graph.boxes} [{?graph.grouped}boxes|nodes], {graph.data} data and {graph.control} control "
               "edges[{?graph.indirect}, {graph.indirect} indirect ones][{?graph.inside}, {graph.inside} more inside "
               "boxes][{?graph.absent}; {graph.to_absent} of them from {graph.absent} node[{?graph.absent=1}|s] that "
               "[{?graph.absent=1}is|are] not in the file]"},
      {.findings = true},
  }};
  return {kText};
}

}  // namespace chakra::job
