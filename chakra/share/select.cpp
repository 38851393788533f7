#include "chakra/share/select.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/progress.h"
#include "chakra/fleet/fleet.h"
#include "chakra/job/parts.h"

namespace chakra::share {

using answer::column;
using answer::Unit;

// `job.select.none` (1): none of the jobs can be read
// `job.select.unread` (warning): jobs that cannot be read are left out
// `job.select.all` (note): as many jobs are chosen as there are
// `job.select.coverage` (warning): the chosen jobs are near to less than half of the fleet
// `job.select.unknown` (note): features that some jobs do not tell do not separate these jobs
// `job.select.equal` (warning): no feature differs between the jobs
// `job.select.twice` (note): arguments that name a job once more, under the same or another path, count once
// `job.select.radius` (note): the radius of coverage is 0, or that of few jobs
// `job.select.random` (warning): the chosen jobs differ from the fleet as much as random jobs

namespace {

constexpr double kPoorCoverage = 0.5;
constexpr size_t kFewJobs = 10;

Result<SelectedJobs::Job> read_job(const std::string& path) {
  SelectedJobs::Job is{path, 0, {}, {}};
  synth::JobFeatures sum;
  CHAKRA_ASSIGN(is.ranks, fleet::for_each_part(
                              path, [&](const trace::Trace& t, int64_t ranks, const auto& roles) -> Result<void> {
                                sum.add(t, ranks, roles);
                                return {};
                              }));
  is.features = sum.finish();
  return is;
}

void note_findings(SelectedJobs& is, size_t twice) {
  const auto find = [&](const char* tag, Severity severity, std::string text) {
    is.findings.push_back({tag, severity, -1, -1, std::move(text)});
  };
  const size_t jobs = is.jobs.size(), chosen = is.selection.chosen.size();
  size_t unknown = 0, dimensions = 0;
  for (const synth::Scale& scale : is.scales) {
    unknown += scale.unknown > 0 && scale.unknown < jobs;
    dimensions += scale.scale > 0;
  }
  if (unknown > 0)
    find("job.select.unknown", Severity::note,
         fmt::format("{} features are unknown for some jobs, which stand in the middle of these features", unknown));
  if (jobs > 1 && dimensions == 0)
    find("job.select.equal", Severity::warning, "no feature differs between the jobs, so the first ones are chosen");
  if (chosen == jobs) find("job.select.all", Severity::note, "all jobs are chosen");
  else if (is.selection.covered < kPoorCoverage)
    find("job.select.coverage", Severity::warning,
         fmt::format("only {:.0f} % of the jobs are within {:.2g} of a chosen job; table 'coverage' shows what more "
                     "jobs would cover",
                     100 * is.selection.covered, is.selection.radius));
  if (twice > 0)
    find("job.select.twice", Severity::note, fmt::format("{} paths name a job once more and were left out", twice));
  if (chosen < jobs && is.selection.radius == 0 && dimensions > 0)
    find("job.select.radius", Severity::note,
         "a tenth of all pairs of jobs are equal, so the radius is 0: only jobs equal to a chosen one are covered");
  else if (chosen < jobs && jobs < kFewJobs)
    find("job.select.radius", Severity::note,
         fmt::format("the radius is a percentile of the distances between {} jobs: the coverage means little", jobs));
  if (chosen < jobs && dimensions > 0 && is.selection.difference >= is.selection.random_difference)
    find("job.select.random", Severity::warning,
         "the weighted jobs differ from the fleet as much as random jobs; choose more jobs");
  for (const SelectedJobs::Unread& unread : is.unread)
    find("job.select.unread", Severity::warning,
         fmt::format("{} was left out: {} [{}]", quote(unread.path), unread.error.text, unread.error.tag));
}

}  // namespace

Result<SelectedJobs> select_jobs(const SelectOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(const fleet::Fleet found, fleet::fleet_of(o.paths));
  const std::vector<std::string>& fleet = found.jobs;
  std::vector<std::optional<Result<SelectedJobs::Job>>> read(fleet.size());
  {
    const ProgressPart part(0, 0.8);
    CHAKRA_TRY(each_in_parallel(fleet.size(), [&](size_t i) -> Result<void> {
      read[i] = read_job(fleet[i]);
      return {};
    }));
  }
  SelectedJobs is;
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < fleet.size(); ++i) {
    if (!*read[i]) {
      is.unread.push_back({fleet[i], read[i]->error()});
      continue;
    }
    rows.push_back((*read[i])->features);
    is.jobs.push_back(std::move(**read[i]));
  }
  if (is.jobs.empty() && is.unread.size() == 1) return Failure(is.unread[0].error);
  if (is.jobs.empty())
    return fail(Code::bad_input, "job.select.none",
                fleet.empty() ? "the folder is empty"
                              : fmt::format("none of {} jobs can be read; the first: {}: {} [{}]", fleet.size(),
                                            quote(fleet[0]), is.unread[0].error.text, is.unread[0].error.tag),
                {o.paths.empty() ? "" : o.paths[0]});
  if (o.count > std::ssize(is.jobs))
    return fail(Code::usage, "cli.usage",
                fmt::format("--count {}: there are only {} jobs that can be read", o.count, is.jobs.size()));
  synth::ScaledFleet scaled = synth::scale(rows);
  CHAKRA_ASSIGN(is.selection, synth::select(scaled.points, static_cast<size_t>(o.count), o.method));
  const auto places = synth::plane(scaled.points);
  for (size_t i = 0; i < is.jobs.size(); ++i) is.jobs[i].place = places[i];
  is.scales = std::move(scaled.scales);
  note_findings(is, found.twice);
  return is;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

/// A chosen job, or any job, of the whole.
struct Row {
  const SelectedJobs* all;
  size_t at;  ///< of `chosen`, or of `jobs`
  const SelectedJobs::Job& chosen() const { return all->jobs[all->selection.chosen[at]]; }
  const SelectedJobs::Job& job() const { return all->jobs[at]; }
  size_t nearest() const { return all->selection.nearest[at]; }
};
std::vector<Row> rows_of(const SelectedJobs& all, size_t count) {
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) rows.push_back({&all, i});
  return rows;
}

struct FeatureOfFleet {
  const synth::FeatureRow* row;
  const synth::Scale* scale;
};

constexpr std::array kChosen{
    column<Row>("job", Unit::none, "path of the job", [](const Row& r) { return r.chosen().path; }),
    column<Row>("ranks", Unit::count, "ranks of the job", [](const Row& r) { return r.chosen().ranks; }),
    column<Row>("weight", Unit::share, "weight of the job, so that weighted means of chosen jobs are near those of all",
                [](const Row& r) { return r.all->selection.weights[r.at]; }),
    column<Row>("represents", Unit::count, "jobs that are nearest to this one",
                [](const Row& r) { return static_cast<int64_t>(r.all->selection.represented[r.at]); })};
constexpr std::array kFleetJobs{
    column<Row>("job", Unit::none, "path of the job", [](const Row& r) { return r.job().path; }),
    column<Row>("ranks", Unit::count, "ranks of the job", [](const Row& r) { return r.job().ranks; }),
    column<Row>("nearest", Unit::none, "path of the nearest chosen job",
                [](const Row& r) { return r.all->jobs[r.all->selection.chosen[r.nearest()]].path; }),
    column<Row>("distance", Unit::none, "distance to that job",
                [](const Row& r) { return r.all->selection.distance[r.at]; }),
    column<Row>("x", Unit::none, "place in the figure: the direction of the largest spread",
                [](const Row& r) { return r.job().place[0]; }),
    column<Row>("y", Unit::none, "place in the figure: the direction of the second largest spread",
                [](const Row& r) { return r.job().place[1]; }),
    answer::rows<Row>("features", "the features, in the order of table 'features'")};
constexpr std::array kValues{column<double>("", Unit::none,
                                            "a feature, in the order of table 'features'; null: unknown",
                                            [](const double& value) { return value; })};
constexpr std::array kCoverage{
    column<synth::Coverage>("jobs", Unit::count, "chosen jobs, one after the other by the largest gain",
                            [](const synth::Coverage& c) { return static_cast<int64_t>(c.jobs); }),
    column<&synth::Coverage::covered>("covered", Unit::share, "share of the fleet within the radius of a chosen job"),
    column<&synth::Coverage::mean_distance>("mean_distance", Unit::none, "mean distance to the nearest chosen job")};
constexpr std::array kFeatures{
    column<FeatureOfFleet>("feature", Unit::none, "name of the feature",
                           [](const FeatureOfFleet& f) { return f.row->name; }),
    column<FeatureOfFleet>("meaning", Unit::none, "meaning of the feature",
                           [](const FeatureOfFleet& f) { return f.row->meaning; }),
    column<FeatureOfFleet>("median", Unit::none, "median of the fleet",
                           [](const FeatureOfFleet& f) { return f.scale->middle; }),
    column<FeatureOfFleet>("scale", Unit::none, "difference that counts as a distance of 1; 0: equal for all jobs",
                           [](const FeatureOfFleet& f) { return f.scale->scale; }),
    column<FeatureOfFleet>("unknown", Unit::count, "jobs without a value",
                           [](const FeatureOfFleet& f) { return static_cast<int64_t>(f.scale->unknown); })};
constexpr std::array kUnread{column<&SelectedJobs::Unread::path>("job", Unit::none, "path of a job that was left out"),
                             column<SelectedJobs::Unread>("error", Unit::none, "tag of the error",
                                                          [](const SelectedJobs::Unread& u) { return u.error.tag; }),
                             column<SelectedJobs::Unread>("text", Unit::none, "text of the error",
                                                          [](const SelectedJobs::Unread& u) { return u.error.text; })};
constexpr std::array kWhole{
    column<SelectedJobs>("fleet", Unit::count, "jobs that were read",
                         [](const SelectedJobs& s) { return static_cast<int64_t>(s.jobs.size()); }),
    column<SelectedJobs>("covered", Unit::share, "share of the fleet within the radius of a chosen job",
                         [](const SelectedJobs& s) { return s.selection.covered; }),
    column<SelectedJobs>("radius", Unit::none, "the 10th percentile of the distances between jobs",
                         [](const SelectedJobs& s) { return s.selection.radius; }),
    column<SelectedJobs>("mean_distance", Unit::none, "mean distance to the nearest chosen job",
                         [](const SelectedJobs& s) { return s.selection.mean_distance; }),
    column<SelectedJobs>("difference", Unit::none,
                         "how far features of the weighted chosen jobs are from those of the fleet (1-Wasserstein)",
                         [](const SelectedJobs& s) { return s.selection.difference; }),
    column<SelectedJobs>("random_difference", Unit::none, "the same of as many random jobs, mean of 100",
                         [](const SelectedJobs& s) { return s.selection.random_difference; })};

}  // namespace

answer::Answer answer_of(const SelectedJobs& is) {
  std::vector<FeatureOfFleet> features;
  for (size_t f = 0; f < is.scales.size(); ++f) features.push_back({&synth::features()[f], &is.scales[f]});
  const std::vector<Row> jobs = rows_of(is, is.jobs.size());
  answer::Builder to("select");
  to.values("", &is, kWhole);
  to.table("chosen", "the chosen jobs, ascending by path", rows_of(is, is.selection.chosen.size()), kChosen);
  to.table("coverage", "what greedy selections of 1, 2, ... jobs cover", is.selection.coverage, kCoverage);
  to.table("jobs", "all jobs, ascending by path", jobs, kFleetJobs);
  to.children(
      "jobs", "features", jobs, [](const Row& r) -> const auto& { return r.job().features; }, kValues);
  to.table("features", "what describes a job (docs/explanation/selection.md)", features, kFeatures);
  to.table("unread", "jobs that could not be read", is.unread, kUnread);
  return std::move(to).finish(is.findings);
}

view::Text text_of(const SelectedJobs&) {
  static constexpr std::array<view::ShowColumn, 4> kChosenText{{{.key = "job", .heading = "job"},
                                                                {.key = "ranks", .heading = "ranks"},
                                                                {.key = "weight", .heading = "weight"},
                                                                {.key = "represents", .heading = "represents"}}};
  static constexpr std::array<view::Show, 5> kText{{
      {.line = "{#chosen} of {fleet} jobs: they cover {covered} of the fleet within a distance of {radius}"},
      {.line = "  mean distance to the nearest chosen job {mean_distance}; features differ from the fleet by "
               "{difference} (random jobs: {random_difference})"},
      {.line = ""},
      {.table = "chosen", .first = view::kAllRows, .columns = kChosenText},
      {.findings = true},
  }};
  return {kText};
}

view::Scatter picture_of(const SelectedJobs& is) {
  view::Scatter figure;
  figure.title = fmt::format("{} of {} jobs", is.selection.chosen.size(), is.jobs.size());
  figure.note =
      "a point is a job; orange: chosen, the area is the weight; distances are those of the two widest directions";
  for (const SelectedJobs::Job& job : is.jobs) figure.points.push_back({job.path, job.place[0], job.place[1]});
  for (size_t c = 0; c < is.selection.chosen.size(); ++c)
    figure.points[is.selection.chosen[c]].weight = is.selection.weights[c];
  for (const size_t chosen : is.selection.chosen) figure.points[chosen].marked = true;
  return figure;
}

}  // namespace chakra::share
