#include "chakra/sweep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/base/join.h"
#include "chakra/base/progress.h"
#include "chakra/job/parts.h"
#include "chakra/sweep/parts.h"

namespace chakra::sweep {

using options::Options;
using options::required;

// `sweep.objective` (1): an objective that no result has, or of which neither direction is better, or that needs an
// option which the file lacks
// `sweep.objective.none` (warning): an objective of which no finished point has a value
// `sweep.journal.damaged` (warning): lines of points.jsonl that are not results
// `sweep.failed` (warning): points without a result

namespace {

constexpr double kSelected = 0.02, kKeyed = 0.05;  ///< shares of the work

/// Whether all points have random times.
bool has_jitter(const Plan& plan) {
  for (const Dimension& dimension : plan.dimensions)
    for (size_t i = 0; i < dimension.parameters.size(); ++i) {
      const Parameter& parameter = plan.parameters[dimension.parameters[i]];
      if (parameter.section != "what_if" || parameter.key != "jitter") continue;
      return std::all_of(dimension.choices.begin(), dimension.choices.end(),
                         [&](const std::vector<Setting>& choice) { return choice[i].has_value(); });
    }
  return false;
}

/// Jobs of different sizes have different numbers of tokens, so their times do not compare.
const char* default_objective(const Plan& plan) {
  if (has_jitter(plan)) return "noise_median_ps";
  if (plan.has("generate") && plan.has("simulate")) return "tokens_per_s";
  return plan.has("simulate") || plan.has("what_if") ? "makespan_ps" : "memory_bytes";
}

/// Generated jobs record no device.
Result<void> check_device(const Plan& plan, const MetricRow& metric, const Place& place) {
  if (metric.name != "mfu" || plan.has("job") || !plan.has("simulate")) return {};
  const bool given = std::any_of(plan.parameters.begin(), plan.parameters.end(), [](const Parameter& p) {
    return p.section == "simulate" && (p.key == "device" || p.key == "system");
  });
  if (given) return {};
  return fail(Code::bad_input, "sweep.objective",
              "objective mfu needs the option device of simulate; that of generate sets the times of the job only",
              place);
}

Result<std::vector<size_t>> objectives_of(const Plan& plan) {
  std::vector<Named> names = plan.objectives;
  if (names.empty()) names.push_back({default_objective(plan), {}});
  std::vector<size_t> objectives;
  for (const Named& name : names) {
    const MetricRow* const row = find_row(kMetrics, name.text);
    std::vector<std::string> known;
    for (const MetricRow& each : kMetrics)
      if (each.goal != Goal::none) known.emplace_back(each.name);
    const std::string nearest = options::suggestion(name.text, known);
    if (!row || row->goal == Goal::none)
      return fail(Code::bad_input, "sweep.objective",
                  fmt::format("unknown objective {}{}", quote(name.text),
                              nearest.empty() ? fmt::format("; known: {}", join(known, ", ")) : nearest),
                  name.place);
    const auto metric = static_cast<size_t>(row - kMetrics.data());
    if (std::find(objectives.begin(), objectives.end(), metric) != objectives.end())
      return fail(Code::bad_input, "sweep.objective", fmt::format("objective {} is given twice", row->name),
                  name.place);
    objectives.push_back(metric);
    CHAKRA_TRY(check_device(plan, *row, name.place));
  }
  return objectives;
}

/// Find equal points, take outcomes of earlier calls, and return the other points.
Result<std::vector<PointWork>> plan_work(Sweep& sweep, Journal& journal) {
  PointKeys keys(sweep.plan);
  std::vector<PointKey> key_of(sweep.points.size());
  CHAKRA_TRY(each_in_parallel(sweep.points.size(), [&](size_t i) -> Result<void> {
    CHAKRA_ASSIGN(key_of[i], keys.key_of(sweep.points[i]));
    return {};
  }));
  std::map<std::string, size_t> known;
  std::vector<PointWork> work;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto [at, is_new] = known.emplace(key_of[i].key, sweep.outcomes.size());
    sweep.outcome_of.push_back(at->second);
    if (!is_new) continue;
    sweep.outcomes.emplace_back();
    if (std::optional<Outcome> outcome = journal.take(key_of[i].key)) {
      sweep.outcomes.back() = std::move(*outcome);
      ++sweep.resumed;
    } else {
      work.push_back({sweep.points[i], at->second, std::move(key_of[i].source), key_of[i].key});
    }
  }
  return work;
}

void find_front(Sweep& sweep) {
  if (sweep.objectives.size() < 2) return;
  std::vector<size_t> places;
  std::vector<std::vector<double>> losses;
  for (size_t p = 0; p < sweep.points.size(); ++p) {
    std::vector<double> all;
    for (const size_t metric : sweep.objectives)
      if (const std::optional<double> loss = sweep.loss(p, metric)) all.push_back(*loss);
    if (all.size() < sweep.objectives.size()) continue;
    places.push_back(p);
    losses.push_back(std::move(all));
  }
  sweep.is_front.assign(sweep.points.size(), false);
  const std::vector<bool> front = pareto_front(losses);
  for (size_t i = 0; i < places.size(); ++i) sweep.is_front[places[i]] = front[i];
}

/// The findings of points, one for each subject.
void note_findings(Sweep& sweep, size_t damaged) {
  const auto warn = [&](const char* tag, std::string text) {
    sweep.findings.push_back({tag, Severity::warning, -1, -1, std::move(text)});
  };
  if (damaged > 0)
    warn("sweep.journal.damaged",
         fmt::format("points.jsonl has {} without a result", show_count(static_cast<int64_t>(damaged), "line")));
  std::map<std::string, std::pair<const Finding*, size_t>> by_subject;
  size_t failed = 0;
  for (size_t p = 0; p < sweep.points.size(); ++p) {
    failed += sweep.outcome(p).failed();
    for (const Finding& finding : sweep.outcome(p).findings) {
      auto& [first, count] = by_subject[subject_of(finding)];
      if (!first || finding.severity > first->severity) first = &finding;
      ++count;
    }
  }
  for (const auto& [subject, found] : by_subject)
    sweep.findings.push_back(
        {found.first->tag, found.first->severity, -1, -1,
         fmt::format("{}, such as: {}", show_count(static_cast<int64_t>(found.second), "point"), found.first->text)});
  for (const size_t metric : sweep.objectives) {
    bool none = failed < sweep.points.size();
    for (size_t p = 0; p < sweep.points.size() && none; ++p) none = !sweep.loss(p, metric);
    if (none)
      warn("sweep.objective.none",
           fmt::format("no point has a value of the objective {}, so there is no best point; table 'points' has the "
                       "values that can be objectives",
                       kMetrics[metric].name));
  }
  if (failed > 0)
    warn("sweep.failed", fmt::format("{} of {} failed; table 'failures' has the reasons", failed,
                                     show_count(std::ssize(sweep.points), "point")));
}

}  // namespace

Options rows_of(SweepOptions& o) {
  return {required({"file", &o.file, "The space of options (docs/reference/formats/sweep.md)", "FILE.yml"}),
          required({"-o,--output",
                    &o.output,
                    "Folder for the results of points",
                    "DIR",
                    {},
                    "A later sweep into this folder takes the results of equal points from there."}),
          fleet::shard_option(o.shard),
          {"--svg", &o.svg, "Draw the first two objectives, with the Pareto front", "FILE"}};
}

std::optional<double> Sweep::loss(size_t point, size_t metric) const {
  const Outcome& of = outcome(point);
  if (of.failed()) return std::nullopt;
  const answer::Cell& cell = of.values[metric];
  const auto* const whole = std::get_if<int64_t>(&cell);
  const auto* const real = std::get_if<double>(&cell);
  if (!whole && !real) return std::nullopt;
  const double value = whole ? static_cast<double>(*whole) : *real;
  return kMetrics[metric].goal == Goal::larger ? -value : value;
}

Result<Sweep> run_sweep(const SweepOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  Sweep sweep;
  CHAKRA_ASSIGN(sweep.plan, read_sweep(o.file));
  CHAKRA_ASSIGN(sweep.objectives, objectives_of(sweep.plan));
  if (!o.svg.empty() && sweep.objectives.size() < 2)
    return fail(Code::usage, "cli.usage", "--svg needs two objectives: 'objectives: [A, B]'", {o.file});
  auto names = std::make_shared<std::vector<std::string>>();
  for (const Parameter& parameter : sweep.plan.parameters) names->push_back(parameter.name);
  sweep.names = std::move(names);
  {
    const ProgressPart part(0, kSelected);
    CHAKRA_ASSIGN(const std::vector<uint64_t> points, select_points(sweep.plan, sweep.findings));
    for (size_t i = 0; i < points.size(); ++i)
      if (o.shard.has("", i)) sweep.points.push_back(points[i]);
  }
  size_t damaged = 0;
  CHAKRA_ASSIGN(Journal journal, Journal::open(o.output, o.shard, damaged));
  std::vector<PointWork> work;
  {
    const ProgressPart part(kSelected, kKeyed);
    CHAKRA_ASSIGN(work, plan_work(sweep, journal));
  }
  {
    const ProgressPart part(kKeyed, 1);
    CHAKRA_TRY(run_points(sweep.plan, std::move(work), journal, sweep.outcomes));
  }
  find_front(sweep);
  note_findings(sweep, damaged);
  return sweep;
}

Result<std::vector<std::string>> files_of_sweep(const std::string& file) {
  CHAKRA_ASSIGN(const Plan plan, read_sweep(file));
  std::vector<std::string> files{file};
  for (const Dimension& dimension : plan.dimensions)
    for (const std::vector<Setting>& choice : dimension.choices)
      for (size_t i = 0; i < choice.size(); ++i)
        for (const std::string& text : choice[i].value_or(std::vector<std::string>())) {
          const std::vector<std::string> some = files_of_setting(plan.parameters[dimension.parameters[i]], text);
          files.insert(files.end(), some.begin(), some.end());
        }
  return files;
}

}  // namespace chakra::sweep
