// chakra view
#include "chakra/view/view.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/analyze/analyze.h"
#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostRanks = 1 << 30;
constexpr int64_t kMostHops = 1'000'000;
constexpr int64_t kMostBoxes = 1'000;
/// About what the file has for a slice beside its name and for an arrow, and how much of it viewers still open.
constexpr uint64_t kSliceBytes = 120, kArrowBytes = 240, kMostBytes = uint64_t{500} << 20;

struct Options {
  std::string path, output, from, to, only = "all", frequency, some_ranks;
  std::optional<uint64_t> focus;
  std::optional<int64_t> rank;
  int64_t hops = 2, boxes = 30, ranks = 0;
  bool group = false;
};

const char* s(size_t count) { return count == 1 ? "" : "s"; }

/// A file that no viewer opens is not written unasked.
Result<void> check_size(const Options& o, const table::Timeline& timeline, size_t ranks) {
  uint64_t bytes = kArrowBytes * timeline.flows.size();
  for (const table::Timeline::Slice& slice : timeline.slices)
    bytes += kSliceBytes + timeline.strings[slice.name].size();
  if (bytes <= kMostBytes || ranks < 2 || !o.some_ranks.empty()) return {};
  const uint64_t fit = std::max<uint64_t>(1, ranks * kMostBytes / bytes);
  return fail(Code::usage, "view.large",
              fmt::format("the timeline of {} ranks has {} slices, about {}, more than browsers open: choose ranks, "
                          "such as --ranks 0:{} (the first {}); --ranks with all of them writes it nevertheless",
                          ranks, show_count(static_cast<int64_t>(timeline.slices.size())),
                          show_bytes(static_cast<double>(bytes)), fit, fit),
              {o.path});
}

Result<void> write_timeline(const table::Timeline& timeline, const std::string& output, Findings findings) {
  CHAKRA_TRY(view::write_chrome_trace(timeline, output));
  analyze::join_ranks(findings);
  size_t ranks = 0;
  int64_t last = -1;
  for (const table::Timeline::Track& track : timeline.tracks) ranks += track.rank != last, last = track.rank;
  print(fmt::format("{}: {} slices on {} tracks of {} ranks, {} arrows, {}; open it in https://ui.perfetto.dev\n",
                    output, show_count(static_cast<int64_t>(timeline.slices.size())), timeline.tracks.size(), ranks,
                    show_count(static_cast<int64_t>(timeline.flows.size())),
                    show_bytes(static_cast<double>(file_size(output)))));
  print(to_text(findings));
  return {};
}

Result<void> view_csv(const Options& o) {
  CHAKRA_TRY(keep_apart({o.path}, {o.output}, ""));
  view::EventCsvOptions options;
  options.ranks = o.ranks;
  CHAKRA_ASSIGN(options.hz, view::parse_frequency(o.frequency.empty() ? "1GHz" : o.frequency));
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.path));
  Findings findings;
  CHAKRA_ASSIGN(const table::Timeline timeline, view::read_event_csv(std::move(source), options, findings));
  return write_timeline(timeline, o.output, findings);
}

/// The ranks that are asked for, or all.
Result<trace::TraceSet> read(const Options& o) {
  Findings none;  // all ranks that are named are there
  if (!o.some_ranks.empty()) return job::read_ranks(o.path, o.some_ranks, -1, none);
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

Result<void> view_graph(const Options& o, std::string_view form, const trace::TraceSet& job) {
  if (job.ranks.size() > 1)
    return fail(Code::usage, "cli.usage",
                fmt::format("a graph is drawn of one rank and there are {}: choose with --rank", job.ranks.size()),
                {o.path});
  const trace::Trace& t = job.ranks[0];
  view::GraphOptions options;
  for (size_t i = 0; i < view::kOnlyNames.size(); ++i)
    if (view::kOnlyNames[i] == o.only) options.only = static_cast<view::Only>(i);
  options.focus = o.focus;
  options.hops = o.hops;
  options.group = o.group;
  options.boxes = static_cast<size_t>(o.boxes);
  Findings findings;
  const bool graphml = form == "graphml";
  CHAKRA_ASSIGN(
      const view::GraphCounts counts,
      graphml || form == "dot"
          ? view::write_graph(t, graphml ? view::GraphForm::graphml : view::GraphForm::dot, options, o.output, findings)
          : view::draw_graph(t, form, options, o.output, findings));
  std::string text = fmt::format("{}: {} {}, {} data and {} control edges", o.output, show_count(counts.boxes),
                                 o.group ? "boxes" : "nodes", show_count(counts.data), show_count(counts.control));
  if (counts.indirect) text += fmt::format(", {} indirect ones", show_count(counts.indirect));
  if (counts.inside) text += fmt::format(", {} more inside boxes", show_count(counts.inside));
  if (counts.absent)
    text += fmt::format("; {} of them from {} node{} that {} not in the file", show_count(counts.to_absent),
                        show_count(counts.absent), s(static_cast<size_t>(counts.absent)),
                        counts.absent == 1 ? "is" : "are");
  print(text + "\n" + to_text(findings));
  return {};
}

Result<void> run_view(const Options& o) {
  const std::string_view form = o.to.empty() ? view::form_of(o.output) : std::string_view(o.to);
  if (form.empty())
    return fail(Code::usage, "cli.usage",
                fmt::format("{} says no form by its ending: name one with --to", quote(o.output, 200)));
  const bool timeline = form == "timeline";
  if (timeline && (o.group || o.focus || o.only != "all"))
    return fail(Code::usage, "cli.usage", "--only, --focus and --group are for graphs, not for timelines");
  if (o.from == "csv" || (o.from.empty() && o.path.ends_with(".csv"))) {
    if (o.rank || !o.some_ranks.empty())
      return fail(Code::usage, "cli.usage", "--rank and --ranks are for traces; of a CSV, all ranks are shown");
    if (timeline) return view_csv(o);
    return fail(Code::usage, "cli.usage", "a CSV of issue and callback lines gives a timeline (FILE.json)");
  }
  if (o.ranks != 0 || !o.frequency.empty())
    return fail(Code::usage, "cli.usage", "--num-npus and --npu-frequency are for a CSV of issue and callback lines");
  CHAKRA_ASSIGN(const std::vector<std::string> files, job_files(o.path));
  CHAKRA_TRY(keep_apart(files, {o.output}, ""));
  CHAKRA_ASSIGN(const trace::TraceSet job, read(o));
  if (!timeline) return view_graph(o, form, job);
  Findings findings;
  CHAKRA_ASSIGN(const table::Timeline slices, view::timeline_of(job, findings));
  CHAKRA_TRY(check_size(o, slices, job.ranks.size()));
  return write_timeline(slices, o.output, findings);
}

}  // namespace

Syntax view_syntax() {
  auto o = std::make_shared<Options>();
  std::vector<std::string> forms;
  for (const view::FormRow& row : view::kForms) forms.emplace_back(row.name);
  Option some_ranks = ranks_option(o->some_ranks);
  some_ranks.excludes = "--rank";
  return {
      .options =
          {{.names = "path",
            .target = &o->path,
            .help =
                "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder; or FILE.csv with issue and callback lines",
            .value = "PATH",
            .required = true},
           {.names = "-o,--output",
            .target = &o->output,
            .help = "What to write; its ending says the form",
            .value = "FILE",
            .required = true},
           {.names = "--to",
            .target = &o->to,
            .help = "The form, where the ending does not say it",
            .accepted = one_of(forms)},
           {.names = "--from",
            .target = &o->from,
            .help = "What PATH is, where its ending does not say it",
            .accepted = one_of(std::vector<std::string>{"traces", "csv"})},
           {.names = "--rank",
            .target = &o->rank,
            .help = "Only this rank; a graph is drawn of one",
            .value = "N",
            .accepted = whole_number(0, kMostRanks)},
           some_ranks,
           {.names = "--only",
            .target = &o->only,
            .help = "Graphs: only nodes of a kind, and who waits for whom through the others",
            .accepted = one_of(std::vector<std::string>(view::kOnlyNames.begin(), view::kOnlyNames.end()))},
           {.names = "--focus",
            .target = &o->focus,
            .help = "Graphs: only what is near the node of this id",
            .value = "NODE",
            .accepted = {[](const std::string& text) {
              uint64_t id = 0;
              return parse_decimal(text, id) ? std::string() : fmt::format("{} is not the id of a node", quote(text));
            }}},
           {.names = "--hops",
            .target = &o->hops,
            .help = "Graphs: how many edges away from --focus (default: 2)",
            .value = "N",
            .accepted = whole_number(0, kMostHops),
            .needs = "--focus"},
           {.names = "--group",
            .target = &o->group,
            .help = "Graphs: a box for many nodes, by lane and by what called them, repetitions as one"},
           {.names = "--boxes",
            .target = &o->boxes,
            .help = "Graphs: at most N boxes with --group (default: 30)",
            .value = "N",
            .accepted = whole_number(2, kMostBoxes),
            .needs = "--group"},
           {.names = "--num-npus,--num_npus",
            .target = &o->ranks,
            .help = "CSV: expect N ranks; others are an error (default: all)",
            .value = "N",
            .accepted = whole_number(1, kMostRanks)},
           {.names = "--npu-frequency,--npu_frequency",
            .target = &o->frequency,
            .help = "CSV: ticks per second: MHz, or with a unit, such as 1.5GHz (default: 1GHz)",
            .value = "FREQUENCY"}},
      .run = exits_with_zero([o] { return run_view(*o); })};
}

}  // namespace chakra::cli
