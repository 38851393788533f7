#include "chakra/job/report.h"

#include <fmt/core.h>

#include <utility>

#include "chakra/base/progress.h"
#include "chakra/job/analyze.h"
#include "chakra/job/check.h"

namespace chakra::job {

// `job.report.omitted` (note): the page lacks rows of large tables
// `job.report.cut` (note): the page has only the beginnings of long texts

namespace {

void note_omissions(ReportedJob& job) {
  const auto find = [&](const char* tag, std::string text) {
    job.findings.push_back({tag, Severity::note, -1, -1, std::move(text)});
  };
  if (job.page.rows_omitted > 0)
    find("job.report.omitted",
         fmt::format("the page lacks {} rows of large tables, and shows {} of {} ranks",
                     show_count(job.page.rows_omitted), show_count(job.page.ranks), show_count(job.ranks)));
  if (job.page.texts_cut > 0)
    find("job.report.cut", fmt::format("the page has only the first {} bytes of {} long text{}", report::kMostText,
                                       show_count(job.page.texts_cut), job.page.texts_cut == 1 ? "" : "s"));
}

}  // namespace

Result<ReportedJob> report_job(const ReportOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  LoadedPtr loaded = o.loaded;
  if (!loaded) {
    const ProgressPart part(0, 0.5);
    CHAKRA_ASSIGN(loaded, load(o.path));
  }
  ReportedJob made{o.path, o.output, 0, {}, {}};
  AnalyzedJob analyzed;
  {
    const ProgressPart part(0.5, 0.8);
    CHAKRA_ASSIGN(
        analyzed,
        analyze_job(
            {.path = o.path, .groups = o.groups, .only = {}, .scope = o.scope, .details = true, .loaded = loaded}));
  }
  const ProgressPart part(0.8, 1);
  CHAKRA_ASSIGN(const CheckedJob checked,
                check_job({.path = o.path, .groups = o.groups, .expand = {}, .loaded = loaded}));
  CHAKRA_TRY(keep_going());
  made.ranks = static_cast<int64_t>(analyzed.ranks);
  const answer::Answer analysis = answer_of(analyzed), check = answer_of(checked);
  made.page = report::page_of({o.path, made.ranks, {&analysis, &check}});
  for (const answer::Answer* answer : {&analysis, &check})
    made.findings.insert(made.findings.end(), answer->findings().begin(), answer->findings().end());
  note_omissions(made);
  return made;
}

answer::Answer answer_of(const ReportedJob& job) {
  using answer::column;
  using answer::Unit;
  using report::Page;
  constexpr std::array kReported{column<&ReportedJob::path>("path", Unit::none, "the path of the job"),
                                 column<&ReportedJob::ranks>("ranks", Unit::count, "ranks that were read"),
                                 column<&ReportedJob::output>("output", Unit::none, "the file")};
  constexpr std::array kPage{
      column<&Page::tables>("page.tables", Unit::count, "tables with rows"),
      column<&Page::rows>("page.rows", Unit::count, "rows of all tables"),
      column<&Page::rows_omitted>("page.rows_omitted", Unit::count, "rows of the answers that the page lacks"),
      column<&Page::texts_cut>("page.texts_cut", Unit::count, "long texts of which the page has the beginning"),
      column<&Page::ranks>("page.ranks", Unit::count, "ranks in tables with a row per rank"),
      column<Page>("page.bytes", Unit::bytes, "size of the file",
                   [](const Page& page) { return static_cast<int64_t>(page.html.size()); })};
  answer::Builder to("report");
  to.values("", &job, kReported);
  to.values("", &job.page, kPage);
  return std::move(to).finish(job.findings);
}

view::Text text_of(const ReportedJob&) {
  static constexpr std::array<view::Show, 2> kText{{
      {.line = "{output}: {page.tables} tables with {page.rows} rows about {ranks} rank[{?ranks=1}|s], {page.bytes}; "
               "open the file in a browser"},
      {.findings = true},
  }};
  return {kText};
}

}  // namespace chakra::job
