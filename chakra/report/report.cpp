#include "chakra/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/job/job.h"
#include "chakra/report/links.h"

namespace chakra::report {

// `job.report.omitted` (note): the page lacks rows of large tables
// `job.report.cut` (note): the page has only the beginnings of long texts
// `job.report.rounded` (note): times of the timelines are rounded, because the page would be too large
// `job.report.large` (warning): a page with timelines is larger than 8 MB
// `job.report.congestion` (warning): two simulations have different contention models
// `job.report.slices` (2): the timeline of a page would have more than 2,000,000 operations
// `job.report.cells` (note): the workbook has only the beginnings of texts that are too long for a cell

namespace {

void note_omissions(ReportedJob& job) {
  const auto find = [&](const char* tag, std::string text) {
    job.findings.push_back({tag, Severity::note, -1, -1, std::move(text)});
  };
  int64_t ranks = 0;
  for (const ReportedSide& side : job.sides) ranks += side.ranks;
  if (job.page.rows_omitted > 0)
    find("job.report.omitted",
         fmt::format("the page lacks {} rows of large tables, and shows {} of {} ranks",
                     show_count(job.page.rows_omitted), show_count(job.page.ranks), show_count(ranks)));
  if (job.page.texts_cut > 0)
    find("job.report.cut", fmt::format("the page has only the first {} bytes of {}", kMostText,
                                       show_count(job.page.texts_cut, "long text")));
  if (job.page.exact_bytes > 0)
    find("job.report.rounded",
         fmt::format("the timeline rounds times to {}, because the page would have {} with exact times; tables have "
                     "exact times, and so have the files of 'chakra view' and 'chakra sim --timeline'",
                     show_time(kCoarseUnit), show_bytes(static_cast<double>(job.page.exact_bytes))));
  if (job.page.html.size() > kMostPage && job.page.slices > 0) {
    find(
        "job.report.large",
        fmt::format("the page has {}, so browsers open it slowly: its timeline has {}; leave out --timeline, or choose "
                    "ranks with 'chakra view --ranks'",
                    show_bytes(static_cast<double>(job.page.html.size())), show_count(job.page.slices, "operation")));
    job.findings.back().severity = Severity::warning;
  }
  if (job.workbook.texts_cut > 0)
    find("job.report.cells",
         fmt::format("the workbook has only the beginnings of {}", show_count(job.workbook.texts_cut, "long text")));
}

/// A word of a command line.
std::string word_of(const std::string& text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("_./:=+-,", c) != nullptr; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// The command line of a call.
template <class Call>
std::string command_of(std::string_view verb, Call call) {
  Call fresh;
  const options::Options rows = rows_of(call), unchanged = rows_of(fresh);
  std::string line = fmt::format("chakra {}", verb);
  for (const options::Option& row : rows) {
    const std::string name = options::name_of(row);
    if (!options::is_placed(row) && !options::is_given(rows, unchanged, name)) continue;
    const auto* const each = std::get_if<std::vector<std::string>*>(&row.target);
    const auto add = [&](const std::string& value) {
      line += options::is_placed(row) ? " " + word_of(value) : fmt::format(" {} {}", name, word_of(value));
    };
    if (options::is_flag(row)) line += " " + name;
    else if (each && row.one_each) std::for_each((*each)->begin(), (*each)->end(), add);
    else add(options::text_of(row));
  }
  return line;
}

/// The job of a side, as a path or in memory, and its network.
struct SideOptions {
  std::string path, network;
  job::LoadedPtr loaded;
};

Result<match::GroupTable> groups_of(const ReportOptions& o) {
  return o.groups.empty() ? match::GroupTable() : match::load_groups(o.groups);
}

/// Analyze and check a job.
Result<ReportedSide> measure(const ReportOptions& o, const SideOptions& of, Findings& findings) {
  const job::AnalyzeOptions analyze{
      .path = of.path, .groups = o.groups, .only = {}, .scope = o.scope, .details = true, .loaded = of.loaded};
  const job::CheckOptions check{.path = of.path, .groups = o.groups, .expand = {}, .loaded = of.loaded};
  job::AnalyzedJob analyzed;
  {
    const ProgressPart part(0, 0.6);
    CHAKRA_ASSIGN(analyzed, job::analyze_job(analyze));
  }
  const ProgressPart part(0.6, 1);
  CHAKRA_ASSIGN(const job::CheckedJob checked, job::check_job(check));
  // The check has these.
  std::erase_if(analyzed.findings, [](const Finding& finding) { return finding.tag.starts_with("match."); });
  ReportedSide side{of.path, static_cast<int64_t>(analyzed.ranks), {}, {}, {}};
  side.answers.emplace_back(answer_of(analyzed), command_of("analyze", analyze));
  side.answers.emplace_back(answer_of(checked), command_of("check", check));
  for (const auto& [answer, command] : side.answers)
    findings.insert(findings.end(), answer.findings().begin(), answer.findings().end());
  if (o.timeline) {
    CHAKRA_ASSIGN(const trace::TraceSet traces, job::read_job(of.path, of.loaded, {.texts = true}));
    CHAKRA_ASSIGN(side.timeline, view::timeline_of(traces, findings));
    CHAKRA_ASSIGN(const match::GroupTable groups, groups_of(o));
    const job::SliceFinder finder(*side.timeline);
    side.links = links_of(*side.timeline, finder, traces, groups);
    CHAKRA_TRY(add_path(*side.timeline, finder, traces, side.links));
  }
  return side;
}

/// The memory of a rank of each class, if the job is generated and by classes.
std::vector<gen::ClassStats> memory_of(const job::Loaded& loaded) {
  const trace::ClassJob* const classes = loaded.classes();
  if (!classes || classes->classes.empty()) return {};
  const std::optional<gen::StepOptions> step = gen::recipe_of(classes->classes.front());
  if (!step) return {};
  Result<gen::StepStats> stats = gen::stats(*step, *classes);
  return stats ? std::move(stats->classes) : std::vector<gen::ClassStats>();
}

/// What the loads of links over time are, and how far they are off.
std::string load_basis(const sim::SimReport& run) {
  if (run.congestion == sim::Congestion::fluid) return "rates of the flows in the run: exact means of each interval";
  if (run.congestion == sim::Congestion::packet)
    return "packets that the links sent in the run: exact means of each interval";
  const std::string demand =
      "demand in closed form: each collective and message loads its links evenly over its time, and does not wait for "
      "others, so a load can exceed 100 %";
  return demand + (run.link_loads.sampled
                       ? "; of many equivalent groups only the first were examined, so links carry at "
                         "least these loads, and more links have a load"
                       : "; at a time within an interval the load is at most the peak");
}

/// Simulate a job. The memory of a job with tensors is analyzed.
Result<ReportedSide> simulate(const ReportOptions& o, const SideOptions& of, const std::atomic<bool>* stop,
                              Findings& findings) {
  job::SimulateOptions call = o.simulate;
  call.path = of.path;
  call.network = of.network;
  call.groups = o.groups;
  call.loaded = of.loaded;
  call.diagnose = call.link_loads = !call.compat();
  if (o.timeline) call.timeline = o.output;  // fills the report; the caller writes the page
  CHAKRA_ASSIGN(job::SimulateResult result, job::simulate_to_end(call, stop));
  ReportedSide side{of.path + " on " + of.network, static_cast<int64_t>(result.report.ranks.size()), {}, {}, {}};
  call.timeline.clear();
  side.answers.emplace_back(answer_of(result, false), command_of("sim", call));
  const answer::Answer& simulation = side.answers.front().first;
  findings.insert(findings.end(), simulation.findings().begin(), simulation.findings().end());
  const bool all_ranks = call.ranks.empty() && call.expand.empty();
  side.predicted = {path_parts(result.report), reliability_of(simulation, result.report),
                    all_ranks ? memory_of(*of.loaded) : std::vector<gen::ClassStats>(), result.report.link_loads,
                    call.compat() ? "" : load_basis(result.report)};
  if (all_ranks && !of.loaded->classes()) {
    const job::AnalyzeOptions analyze{
        .path = of.path, .groups = o.groups, .only = {"memory"}, .scope = {}, .details = true, .loaded = of.loaded};
    CHAKRA_ASSIGN(const job::AnalyzedJob analyzed, job::analyze_job(analyze));
    side.answers.emplace_back(answer_of(analyzed), command_of("analyze", analyze));
  }
  side.answers.emplace_back(answer_of(*side.predicted), "");
  if (!o.timeline) return side;
  side.timeline = std::move(result.report.timeline);
  const job::SliceFinder finder(*side.timeline);
  CHAKRA_ASSIGN(const match::GroupTable groups, groups_of(o));
  if (of.loaded->classes()) {
    side.links = links_of(*side.timeline, finder, *of.loaded->classes(), groups);
  } else if (call.expand.empty()) {  // else ranks are not those of the job
    side.links = links_of(*side.timeline, finder, std::get<trace::TraceSet>(of.loaded->job), groups);
  }
  add_path(finder, result.report.critical_path, side.links);
  return side;
}

Result<ReportedSide> side_of(const ReportOptions& o, const SideOptions& of, const std::atomic<bool>* stop,
                             Findings& findings) {
  return of.network.empty() ? measure(o, of, findings) : simulate(o, of, stop, findings);
}

/// The contention model of a simulation.
std::string contention_of(const ReportedSide& side) {
  const answer::Value* const mode = side.answers.front().first.value("congestion.mode");
  const auto* const text = mode ? std::get_if<std::string>(&mode->cell) : nullptr;
  return text ? *text : "";
}

/// Compare both sides. Jobs by classes are not compared node by node: that would expand all ranks.
Result<void> compare(const SideOptions& a, const SideOptions& b, ReportedJob& made) {
  if (made.sides[0].predicted && made.sides[1].predicted) {
    made.differences = path_changes(made.sides[0].predicted->path, made.sides[1].predicted->path);
    const std::string mode_a = contention_of(made.sides[0]), mode_b = contention_of(made.sides[1]);
    if (mode_a != mode_b)
      made.comparison.push_back(
          {"job.report.congestion", Severity::warning, -1, -1,
           fmt::format("the contention model of the jobs is {} and {}, so a part of the difference "
                       "comes from the models; choose one with --congestion",
                       mode_a, mode_b)});
  }
  const bool same = a.loaded == b.loaded, classes = a.loaded->classes() || b.loaded->classes();
  if (same || (classes && made.sides[0].predicted)) return {};
  CHAKRA_ASSIGN(
      made.diff,
      job::diff_jobs(
          {.a = a.path, .b = b.path, .steps = !made.sides[0].predicted, .loaded_a = a.loaded, .loaded_b = b.loaded}));
  made.findings.insert(made.findings.end(), made.diff->findings.begin(), made.diff->findings.end());
  return {};
}

std::vector<Part> parts_of(const ReportedSide& side) {
  std::vector<Part> parts;
  for (const auto& [answer, command] : side.answers) parts.push_back({&answer, command});
  return parts;
}

/// Browsers stay fast with some million slices.
Result<void> check_slices(const ReportedJob& made) {
  constexpr size_t kMostSlices = 2'000'000;
  size_t slices = 0;
  for (const ReportedSide& side : made.sides) slices += side.timeline ? side.timeline->slices.size() : 0;
  if (slices <= kMostSlices) return {};
  return fail(
      Code::usage, "job.report.slices",
      fmt::format("the timeline has {} operations, and a page can have {}; leave out --timeline, or choose ranks "
                  "with 'chakra view --ranks'",
                  show_count(static_cast<int64_t>(slices)), show_count(kMostSlices)),
      {made.path});
}

Result<void> make_page(const ReportOptions& o, ReportedJob& made) {
  std::vector<Subject> subjects;
  for (const ReportedSide& side : made.sides)
    subjects.push_back({side.name, side.ranks, parts_of(side), side.timeline ? &*side.timeline : nullptr,
                        side.timeline ? &side.links : nullptr});
  std::vector<answer::Answer> answers;
  std::vector<Part> both;
  answers.reserve(2);  // `both` refers to the answers
  if (!made.differences.empty()) {
    answer::Builder to("report");
    add_differences(made.differences, to);
    both.push_back({&answers.emplace_back(std::move(to).finish(made.comparison))});
  }
  if (made.diff) {
    const job::DiffOptions call{.a = made.diff->a, .b = made.diff->b, .markdown = made.diff->steps.has_value()};
    both.push_back({&answers.emplace_back(answer_of(*made.diff)), command_of("diff", call)});
  }
  CHAKRA_TRY(check_slices(made));
  CHAKRA_ASSIGN(made.page, page_of(subjects, both));
  CHAKRA_TRY(keep_going());
  if (!o.xlsx.empty()) {
    CHAKRA_ASSIGN(made.workbook, workbook_of(subjects, both));
  }
  return {};
}

}  // namespace

Result<ReportedJob> report_job(const ReportOptions& o, const std::atomic<bool>* stop) {
  CHAKRA_TRY(options::check_call(o));
  ReportedJob made;
  made.path = o.path;
  made.output = o.output;
  std::vector<SideOptions> sides{{o.path, o.simulate.network, o.loaded}};
  if (!o.against.empty() || !o.against_network.empty())
    sides.push_back({o.against.empty() ? o.path : o.against,
                     o.against_network.empty() ? o.simulate.network : o.against_network, nullptr});
  const double step = 0.9 / static_cast<double>(sides.size());
  for (size_t i = 0; i < sides.size(); ++i) {
    const ProgressPart part(static_cast<double>(i) * step, static_cast<double>(i + 1) * step);
    if (i > 0 && o.against.empty()) sides[i].loaded = sides[0].loaded;
    if (!sides[i].loaded) {
      const ProgressPart reading(0, 0.5);
      CHAKRA_ASSIGN(sides[i].loaded, job::load(sides[i].path));
    }
    const ProgressPart rest(0.5, 1);
    Findings findings;
    CHAKRA_ASSIGN(ReportedSide side, side_of(o, sides[i], stop, findings));
    for (Finding& finding : findings) {
      if (sides.size() > 1) finding.text = side.name + ": " + finding.text;
      made.findings.push_back(std::move(finding));
    }
    CHAKRA_TRY(keep_going());
    made.sides.push_back(std::move(side));
  }
  const ProgressPart part(0.9, 1);
  made.ranks = made.sides[0].ranks;
  if (sides.size() > 1) CHAKRA_TRY(compare(sides[0], sides[1], made));
  made.findings.insert(made.findings.end(), made.comparison.begin(), made.comparison.end());
  CHAKRA_TRY(keep_going());
  CHAKRA_TRY(make_page(o, made));
  note_omissions(made);
  return made;
}

}  // namespace chakra::report
