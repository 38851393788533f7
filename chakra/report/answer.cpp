// The answer and the text of `chakra report`.
#include <array>

#include "chakra/generate/generate.h"
#include "chakra/report/report.h"

namespace chakra::report {
namespace {

using answer::column;
using answer::Unit;

constexpr std::array kReported{column<&ReportedJob::path>("path", Unit::none, "the path of the job"),
                               column<&ReportedJob::ranks>("ranks", Unit::count, "ranks that were read or simulated"),
                               column<&ReportedJob::output>("output", Unit::none, "the file")};
constexpr std::array kPage{
    column<&Page::tables>("page.tables", Unit::count, "tables with rows"),
    column<&Page::rows>("page.rows", Unit::count, "rows of all tables"),
    column<&Page::rows_omitted>("page.rows_omitted", Unit::count, "rows of the answers that the page lacks"),
    column<&Page::texts_cut>("page.texts_cut", Unit::count, "long texts of which the page has the beginning"),
    column<&Page::slices>("page.slices", Unit::count, "operations of the timelines"),
    column<&Page::ranks>("page.ranks", Unit::count, "ranks in tables with a row per rank"),
    column<Page>("page.bytes", Unit::bytes, "size of the file",
                 [](const Page& page) { return static_cast<int64_t>(page.html.size()); })};
constexpr std::array kWorkbook{
    column<&Workbook::sheets>("workbook.sheets", Unit::count, "sheets"),
    column<&Workbook::rows>("workbook.rows", Unit::count, "rows of all tables"),
    column<&Workbook::numbers_as_texts>("workbook.numbers_as_texts", Unit::count,
                                        "whole numbers with more than 15 digits, which are texts"),
    column<&Workbook::texts_cut>("workbook.texts_cut", Unit::count, "texts that are too long for a cell"),
    column<Workbook>("workbook.bytes", Unit::bytes, "size of the file",
                     [](const auto& book) { return static_cast<int64_t>(book.bytes.size()); })};
constexpr std::array kPath{
    column<&PathPart::kind>("kind", Unit::none, "kind of pieces"),
    column<&PathPart::operation>("operation", Unit::none, "operation of collectives; else empty"),
    column<&PathPart::pieces>("pieces", Unit::count, "pieces of the critical path"),
    column<&PathPart::time_ps>("time_ps", Unit::ps, "sum of the pieces; all parts add up to the step"),
    column<&PathPart::share>("share", Unit::share, "share of the step")};
constexpr std::array kReliability{
    column<&Reliability::what>("what", Unit::none, "the prediction"),
    column<&Reliability::time_ps>("time_ps", Unit::ps,
                                  "the predicted time; except for the step, summed over ranks or groups"),
    column<&Reliability::error>("error", Unit::share, "error of the prediction; null: not known"),
    column<&Reliability::basis>("basis", Unit::none, "what the error rests on, or the reason why it is unknown")};
constexpr std::array kDifferences{
    column<&PathChange::kind>("kind", Unit::none, "step, or the kind of pieces of the critical path"),
    column<&PathChange::operation>("operation", Unit::none, "operation of collectives; else empty"),
    column<&PathChange::a_ps>("a_ps", Unit::ps, "time in the first simulation"),
    column<&PathChange::b_ps>("b_ps", Unit::ps, "time in the second simulation"),
    column<&PathChange::change_ps>("change_ps", Unit::ps, "b_ps - a_ps; the parts add up to the step"),
    column<&PathChange::share>("share", Unit::share, "change_ps by the first step")};

constexpr std::array kLoadValues{column<&Predicted::link_loads_are>(
                                     "link_loads_are", Unit::none, "meaning and error of the loads of links over time"),
                                 column<Predicted>("loaded_links", Unit::count, "links with a load",
                                                   [](const Predicted& is) { return is.link_loads.links; })};
constexpr std::array kLoads{
    column<&sim::LoadPiece::link>("link", Unit::none, "the link; one of all links with equal loads"),
    column<&sim::LoadPiece::links>("links", Unit::count, "links with equal loads, this one included"),
    column<&sim::LoadPiece::start_ps>("start_ps", Unit::ps, "start of the interval"),
    column<&sim::LoadPiece::end_ps>("end_ps", Unit::ps, "end of the interval"),
    column<&sim::LoadPiece::share>("share", Unit::share, "mean load in the interval, by the rate of the link"),
    column<&sim::LoadPiece::peak>("peak", Unit::share,
                                  "in closed form: the load at a time is at most this; null: not known")};

void add_predicted(const std::string& prefix, const Predicted* predicted, answer::Builder& to) {
  static const Predicted kNone;
  const Predicted& is = predicted ? *predicted : kNone;
  to.table(prefix + "path_parts", "critical path by kind of piece", is.path, kPath, predicted != nullptr);
  to.table(prefix + "reliability", "reliability of the predicted times", is.reliability, kReliability,
           predicted != nullptr);
  generate::add_memory_by_class(prefix + "memory_by_class", is.memory, to, predicted && !is.memory.empty());
  const bool loads = predicted && !is.link_loads_are.empty();
  to.values(prefix, loads ? &is : nullptr, kLoadValues);
  to.table(prefix + "link_loads", "load of the busiest links over time", is.link_loads.busiest, kLoads, loads);
}

}  // namespace

void add_differences(const std::vector<PathChange>& differences, answer::Builder& to) {
  to.table("differences", "changes of the step and of parts of the critical path", differences, kDifferences,
           !differences.empty());
}

answer::Answer answer_of(const Predicted& predicted) {
  answer::Builder to("report");
  add_predicted("", &predicted, to);
  return std::move(to).finish();
}

answer::Answer answer_of(const ReportedJob& job) {
  answer::Builder to("report");
  to.values("", &job, kReported);
  to.values("", &job.page, kPage);
  to.values("", job.workbook.bytes.empty() ? nullptr : &job.workbook, kWorkbook);
  const auto predicted = [&](size_t side) {
    return job.sides.size() > side && job.sides[side].predicted ? &*job.sides[side].predicted : nullptr;
  };
  add_predicted("", predicted(0), to);
  add_predicted("against.", predicted(1), to);
  add_differences(job.differences, to);
  return std::move(to).finish(job.findings);
}

view::Text text_of(const ReportedJob&) {
  static constexpr std::array<view::Show, 3> kText{{
      {.line = "{output}: {page.tables} tables with {page.rows} rows about {ranks} rank[{?ranks=1}|s], {page.bytes}; "
               "open the file in a browser"},
      {.line = "{?workbook.sheets}workbook: {workbook.sheets} sheets with {workbook.rows} rows, {workbook.bytes}"},
      {.findings = true},
  }};
  return {kText};
}

}  // namespace chakra::report
