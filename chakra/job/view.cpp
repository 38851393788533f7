#include "chakra/job/view.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/analyze/analyze.h"
#include "chakra/io/io.h"
#include "chakra/job/paths.h"
#include "chakra/job/ranks.h"

namespace chakra::job {
namespace {

using result::Report;

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

ViewedJob viewed(const ViewOptions& o, std::string line, Findings findings) {
  ViewedJob job{o.output, o.form, {}, findings};
  job.report.parts.emplace_back(std::move(line));
  job.report.parts.emplace_back(Report::Found{std::move(findings)});
  return job;
}

Result<ViewedJob> write_timeline(const ViewOptions& o, const result::Timeline& timeline, Findings findings) {
  const std::string& output = o.output;
  CHAKRA_TRY(view::write_chrome_trace(timeline, output));
  analyze::join_ranks(findings);
  size_t ranks = 0;
  int64_t last = -1;
  for (const result::Timeline::Track& track : timeline.tracks) ranks += track.rank != last, last = track.rank;
  return viewed(
      o,
      fmt::format("{}: {} slices on {} tracks of {} ranks, {} arrows, {}; open it in https://ui.perfetto.dev\n", output,
                  show_count(static_cast<int64_t>(timeline.slices.size())), timeline.tracks.size(), ranks,
                  show_count(static_cast<int64_t>(timeline.flows.size())),
                  show_bytes(static_cast<double>(file_size(output)))),
      std::move(findings));
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

/// The ranks that are asked for, or all.
Result<trace::TraceSet> read(const ViewOptions& o) {
  Findings none;  // all ranks that are named are there
  if (!o.ranks.empty()) return read_ranks(o.path, {}, o.ranks, -1, none);
  if (io::is_class_job(o.path) || !o.rank) {
    CHAKRA_ASSIGN(trace::TraceSet job, io::read_job(o.path));
    if (o.rank) std::erase_if(job.ranks, [&](const trace::Trace& t) { return t.rank != *o.rank; });
    if (o.rank && job.ranks.empty())
      return fail(Code::usage, "cli.usage", fmt::format("rank {} does not exist", *o.rank), {o.path});
    return job;
  }
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(o.path));
  trace::TraceSet job;
  for (const io::RankFile& file : files) {
    if (file.rank != *o.rank && files.size() > 1) continue;
    CHAKRA_ASSIGN(trace::Trace t, io::read_rank(file));
    if (t.rank == *o.rank) job.ranks.push_back(std::move(t));
  }
  if (job.ranks.empty())
    return fail(Code::usage, "cli.usage", fmt::format("rank {} does not exist", *o.rank), {o.path});
  return job;
}

/// "graph.dot: 9 nodes, 7 data and 2 control edges".
std::string graph_line(const ViewOptions& o, const view::GraphCounts& counts) {
  std::string text =
      fmt::format("{}: {} {}, {} data and {} control edges", o.output, show_count(counts.boxes),
                  o.graph.group ? "boxes" : "nodes", show_count(counts.data), show_count(counts.control));
  if (counts.indirect) text += fmt::format(", {} indirect ones", show_count(counts.indirect));
  if (counts.inside) text += fmt::format(", {} more inside boxes", show_count(counts.inside));
  if (counts.absent)
    text += fmt::format("; {} of them from {} node{} that {} not in the file", show_count(counts.to_absent),
                        show_count(counts.absent), counts.absent == 1 ? "" : "s", counts.absent == 1 ? "is" : "are");
  return text + "\n";
}

Result<ViewedJob> view_graph(const ViewOptions& o, const trace::TraceSet& job) {
  if (job.ranks.size() > 1)
    return fail(Code::usage, "cli.usage",
                fmt::format("a graph shows one rank, but there are {}: choose with --rank", job.ranks.size()),
                {o.path});
  const trace::Trace& t = job.ranks[0];
  Findings findings;
  CHAKRA_ASSIGN(const view::GraphCounts counts, view::write_graph(t, o.form, o.graph, o.output, findings));
  return viewed(o, graph_line(o, counts), std::move(findings));
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
  if (o.from == ViewInput::csv && o.form != "timeline")
    return fail(Code::usage, "cli.usage", "a CSV of issue and callback lines gives a timeline (FILE.json)");
  std::vector<std::string> inputs{o.path};
  if (o.from == ViewInput::traces) {
    CHAKRA_ASSIGN(inputs, job_files(o.path));
  }
  CHAKRA_TRY(keep_apart(inputs, {o.output}));
  const bool timeline = o.form == "timeline";
  if (o.from == ViewInput::csv) return view_csv(o);
  CHAKRA_ASSIGN(const trace::TraceSet job, read(o));
  if (!timeline) return view_graph(o, job);
  Findings findings;
  CHAKRA_ASSIGN(const result::Timeline slices, view::timeline_of(job, findings));
  CHAKRA_TRY(check_size(o, slices, job.ranks.size()));
  return write_timeline(o, slices, std::move(findings));
}

answer::Answer answer_of(const ViewedJob& job) {
  constexpr std::array kViewed{
      answer::column<&ViewedJob::output>("output", answer::Unit::none, "the file"),
      answer::column<&ViewedJob::form>("form", answer::Unit::none, "format, such as timeline or svg")};
  answer::Builder to("view");
  to.values("", &job, kViewed);
  return std::move(to).finish(job.findings);
}

}  // namespace chakra::job
