// The answer, the text and the figure of a sweep.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "chakra/sweep/parts.h"

namespace chakra::sweep {
namespace {

using answer::Cell;
using answer::column;
using answer::Info;
using answer::Missing;
using answer::Series;
using answer::Type;
using answer::Unit;

constexpr size_t kBest = 10, kFront = 20;  ///< rows of the text

/// The choice of a parameter at each point.
struct Chosen {
  const std::vector<std::vector<Setting>>* choices = nullptr;
  size_t dimension = 0, place = 0;  ///< of the parameter among those of the dimension
  size_t count() const { return choices->size(); }
  const Setting& setting(size_t choice) const { return (*choices)[choice][place]; }
};

Chosen chosen_of(const Plan& plan, size_t parameter) {
  for (size_t d = 0; d < plan.dimensions.size(); ++d) {
    const std::vector<size_t>& all = plan.dimensions[d].parameters;
    if (const auto at = std::find(all.begin(), all.end(), parameter); at != all.end())
      return {&plan.dimensions[d].choices, d, static_cast<size_t>(at - all.begin())};
  }
  CHAKRA_ASSERT(false);
  return {};
}

/// A parameter with several settings.
bool is_varied(const Chosen& chosen) {
  for (size_t c = 1; c < chosen.count(); ++c)
    if (chosen.setting(c) != chosen.setting(0)) return true;
  return false;
}

Cell cell_of(const Setting& setting, Type type) {
  if (!setting) return {};
  const std::string text = text_of(setting);
  int64_t whole = 0;
  double real = 0;
  if (type == Type::whole && parse_decimal(text, whole)) return whole;
  if (type == Type::real && parse_decimal(text, real)) return real;
  if (type == Type::truth) return text == "true";
  return text;
}

/// The type that all settings of a parameter have.
Type type_of(const Chosen& chosen) {
  bool all_whole = true, all_real = true, all_truth = true;
  for (size_t c = 0; c < chosen.count(); ++c) {
    if (!chosen.setting(c)) continue;
    const std::string text = text_of(chosen.setting(c));
    int64_t whole = 0;
    double real = 0;
    all_whole &= parse_decimal(text, whole);
    all_real &= parse_decimal(text, real);
    all_truth &= text == "true" || text == "false";
  }
  return all_whole ? Type::whole : all_real ? Type::real : all_truth ? Type::truth : Type::text;
}

/// The table of points, for some of the points.
std::vector<Series> columns_of(const Sweep& sweep, std::span<const size_t> points) {
  std::vector<Series> columns;
  const auto add = [&](const Info& info, const auto& get) {
    Series& series = columns.emplace_back(info);
    series.reserve(points.size());
    for (const size_t p : points) series.add(get(p));
  };
  add({"point", Type::whole, Unit::id, "number of the point, from 0"},
      [](size_t p) { return Cell(static_cast<int64_t>(p)); });
  std::vector<std::vector<size_t>> choices;
  for (const size_t p : points) choices.push_back(choices_of(sweep.plan, sweep.points[p]));
  for (size_t i = 0; i < sweep.plan.parameters.size(); ++i) {
    const Chosen chosen = chosen_of(sweep.plan, i);
    if (!is_varied(chosen)) continue;
    const std::string& key = (*sweep.names)[i];
    const Type type = type_of(chosen);
    Series& series = columns.emplace_back(Info{key, type, Unit::none, "a varied option", Missing::null, false, key});
    for (const auto& of_point : choices) series.add(cell_of(chosen.setting(of_point[chosen.dimension]), type));
  }
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    const auto has = [&](const Outcome& outcome) { return outcome.values[m].index() != 0; };
    if (!sweep.outcomes.empty() && std::none_of(sweep.outcomes.begin(), sweep.outcomes.end(), has)) continue;
    add({kMetrics[m].name, kMetrics[m].type, kMetrics[m].unit, kMetrics[m].description, Missing::left_out},
        [&](size_t p) { return sweep.outcome(p).values[m]; });
  }
  add({"pareto", Type::truth, Unit::none, "on the Pareto front of several objectives", Missing::left_out},
      [&](size_t p) { return sweep.is_front.empty() ? Cell() : Cell(bool(sweep.is_front[p])); });
  const auto of_failed = [](const Outcome& outcome, const std::string& text) {
    return outcome.failed() ? Cell(text) : Cell();
  };
  add({"failure", Type::text, Unit::none, "tag of the error, if the point failed", Missing::left_out},
      [&](size_t p) { return of_failed(sweep.outcome(p), sweep.outcome(p).tag); });
  add({"failure_text", Type::text, Unit::none, "text of that error", Missing::left_out},
      [&](size_t p) { return of_failed(sweep.outcome(p), sweep.outcome(p).text); });
  return columns;
}

std::vector<size_t> all_points(const Sweep& sweep) {
  std::vector<size_t> all(sweep.points.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

/// Points that have the first objective, from the best one on; points with equal results in their order.
std::vector<size_t> ranked_points(const Sweep& sweep, size_t metric) {
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t p = 0; p < sweep.points.size(); ++p)
    if (const std::optional<double> loss = sweep.loss(p, metric)) ranked.emplace_back(*loss, p);
  std::sort(ranked.begin(), ranked.end());
  std::vector<size_t> points;
  for (const auto& [loss, point] : ranked) points.push_back(point);
  return points;
}

// ---- tables ----------------------------------------------------------------------------------------------------

struct Best {
  size_t metric = 0;
  std::optional<int64_t> point;
  Cell value;
};
constexpr std::array kBestRows{
    column<Best>("objective", Unit::none, "name of the objective",
                 [](const Best& b) { return kMetrics[b.metric].name; }),
    column<Best>("goal", Unit::none, "better values are smaller or larger",
                 [](const Best& b) { return kGoals[static_cast<size_t>(kMetrics[b.metric].goal)]; }),
    column<&Best::point>("point", Unit::id, "the best point, the first of equal ones"),
    column<&Best::value>("value", Unit::none, "its value, in the unit of the column of points")};

struct Fixed {
  std::string_view option;
  std::string value;
};
constexpr std::array kFixed{column<&Fixed::option>("option", Unit::none, "an option with one value"),
                            column<&Fixed::value>("value", Unit::none, "the value; empty: not given")};

struct Varied {
  std::string_view option;
  int64_t values = 0;
  std::optional<double> importance;
};
constexpr std::array kVaried{column<&Varied::option>("option", Unit::none, "a varied option"),
                             column<&Varied::values>("values", Unit::count, "values of the option"),
                             column<&Varied::importance>("importance", Unit::share,
                                                         "share of the variance of the first objective that the values "
                                                         "explain; eta squared, or, if not every combination of "
                                                         "values has a result, epsilon squared")};

struct FailureGroup {
  std::string_view tag;
  int64_t points = 0;
  std::string_view text;
};
constexpr std::array kGroups{column<&FailureGroup::tag>("failure", Unit::none, "tag of the error"),
                             column<&FailureGroup::points>("points", Unit::count, "points that failed with this error"),
                             column<&FailureGroup::text>("text", Unit::none, "the error of the first point")};

constexpr std::array kSweepValues{
    column<Sweep>("file", Unit::none, "the file of the sweep", [](const Sweep& s) { return s.plan.file; }),
    column<Sweep>("candidates", Unit::count, "combinations of all values, without constraints",
                  [](const Sweep& s) { return static_cast<int64_t>(s.plan.size().value_or(0)); }),
    column<Sweep>(
        "sample", Unit::count, "points of the random sample that was asked for",
        [](const Sweep& s) { return s.plan.sample; }, Missing::left_out),
    column<Sweep>(
        "seed", Unit::none, "random seed for the sample",
        [](const Sweep& s) { return s.plan.sample ? std::optional(s.plan.seed) : std::nullopt; }, Missing::left_out),
    column<Sweep>("failed", Unit::count, "points that failed",
                  [](const Sweep& s) {
                    int64_t failed = 0;
                    for (size_t p = 0; p < s.points.size(); ++p) failed += s.outcome(p).failed();
                    return failed;
                  }),
    column<Sweep>("different", Unit::count, "different points: equal points run once",
                  [](const Sweep& s) { return static_cast<int64_t>(s.outcomes.size()); }),
    column<&Sweep::resumed>("resumed", Unit::count, "different points that an earlier sweep had finished")};

std::vector<Best> best_of(const Sweep& sweep) {
  std::vector<Best> best;
  for (const size_t metric : sweep.objectives) {
    Best& one = best.emplace_back(Best{metric, {}, {}});
    const std::vector<size_t> ranked = ranked_points(sweep, metric);
    if (ranked.empty()) continue;
    one.point = static_cast<int64_t>(ranked[0]);
    one.value = sweep.outcome(ranked[0]).values[metric];
  }
  return best;
}

std::vector<FailureGroup> failures_of(const Sweep& sweep) {
  std::map<std::string_view, FailureGroup> by_tag;
  for (size_t p = 0; p < sweep.points.size(); ++p) {
    const Outcome& outcome = sweep.outcome(p);
    if (!outcome.failed()) continue;
    FailureGroup& group = by_tag[outcome.tag];
    if (group.points++ == 0) group.tag = outcome.tag, group.text = outcome.text;
  }
  std::vector<FailureGroup> groups;
  for (const auto& [tag, group] : by_tag) groups.push_back(group);
  return groups;
}

/// Effects of all varied options on the first objective, as columns: their unit is that of the objective.
struct EffectTables {
  std::vector<Varied> varied;
  std::vector<Series> columns;
};
EffectTables effect_tables_of(const Sweep& sweep) {
  const MetricRow* const objective = sweep.objectives.empty() ? nullptr : &kMetrics[sweep.objectives[0]];
  const Unit unit = objective ? objective->unit : Unit::none;
  EffectTables tables;
  tables.columns = {Series({"option", Type::text, Unit::none, "a varied option"}),
                    Series({"value", Type::text, Unit::none, "the value; empty: not given"}),
                    Series({"points", Type::whole, Unit::count, "points with this value"}),
                    Series({"failed", Type::whole, Unit::count, "points that have no value of the first objective"}),
                    Series({"mean", Type::real, unit, "mean of the first objective"}),
                    Series({"best", Type::real, unit, "best value of the first objective"}),
                    Series({"spread", Type::real, unit, "standard deviation of the first objective"})};
  std::vector<std::optional<double>> results;
  std::vector<std::vector<size_t>> choices;
  const bool larger = objective && objective->goal == Goal::larger;
  for (size_t p = 0; p < sweep.points.size(); ++p) {
    const std::optional<double> loss = sweep.loss(p, sweep.objectives[0]);
    results.push_back(loss && larger ? std::optional(-*loss) : loss);
    choices.push_back(choices_of(sweep.plan, sweep.points[p]));
  }
  const bool complete =
      sweep.plan.size() == sweep.points.size() &&
      std::all_of(results.begin(), results.end(), [](const auto& result) { return result.has_value(); });
  for (size_t i = 0; i < sweep.plan.parameters.size(); ++i) {
    const Chosen chosen = chosen_of(sweep.plan, i);
    if (!is_varied(chosen)) continue;
    std::map<Setting, size_t> place;  // choices of `points` can have equal settings
    std::vector<size_t> place_of(chosen.count()), choice;
    std::vector<std::string> texts;
    for (size_t c = 0; c < chosen.count(); ++c) {
      const auto [at, is_new] = place.emplace(chosen.setting(c), texts.size());
      if (is_new) texts.push_back(text_of(chosen.setting(c)));
      place_of[c] = at->second;
    }
    for (const auto& of_point : choices) choice.push_back(place_of[of_point[chosen.dimension]]);
    const Effects effects = effects_of(results, choice, texts.size(), !larger, complete);
    tables.varied.push_back({(*sweep.names)[i], std::ssize(texts), effects.importance});
    const auto cell = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
    for (size_t c = 0; c < texts.size(); ++c) {
      const Effect& effect = effects.choices[c];
      if (effect.points == 0) continue;  // a sample, or constraints, have none
      const std::array<Cell, 7> row{(*sweep.names)[i], texts[c],          effect.points,      effect.failed,
                                    cell(effect.mean), cell(effect.best), cell(effect.spread)};
      for (size_t k = 0; k < row.size(); ++k) tables.columns[k].add(row[k]);
    }
  }
  return tables;
}

std::vector<Fixed> fixed_of(const Sweep& sweep) {
  std::vector<Fixed> fixed;
  for (size_t i = 0; i < sweep.plan.parameters.size(); ++i)
    if (const Chosen chosen = chosen_of(sweep.plan, i); !is_varied(chosen))
      fixed.push_back({(*sweep.names)[i], text_of(chosen.setting(0))});
  return fixed;
}

/// All of the answer beside the points.
void add_summary(const Sweep& sweep, answer::Builder& to) {
  to.values("", &sweep, kSweepValues);
  to.table("best", "the best point by each objective", best_of(sweep), kBestRows);
  EffectTables effects = effect_tables_of(sweep);
  to.table("varied", "options with several values", effects.varied, kVaried);
  to.table("effects", "results by the value of an option; the other options vary", std::move(effects.columns));
  to.table("fixed", "options with one value", fixed_of(sweep), kFixed);
  to.table("failures", "errors of points, by tag", failures_of(sweep), kGroups);
}

}  // namespace

answer::Answer answer_of(const Sweep& sweep) {
  answer::Builder to("sweep");
  add_summary(sweep, to);
  to.table("points", "the points, in the order of the file; varied options are columns, too",
           columns_of(sweep, all_points(sweep)));
  return std::move(to).finish(sweep.findings);
}

// ---- as text ---------------------------------------------------------------------------------------------------

namespace {

/// Options and results of points, with the objectives first.
std::vector<view::ShowColumn> shown_columns(const Sweep& sweep, const answer::Table& points) {
  std::vector<view::ShowColumn> columns{{.key = "point", .heading = "point"}};
  for (size_t i = 0; i < sweep.plan.parameters.size(); ++i)
    if (is_varied(chosen_of(sweep.plan, i)))
      columns.push_back({.key = (*sweep.names)[i], .heading = (*sweep.names)[i]});
  std::vector<std::string_view> keys;
  for (const size_t metric : sweep.objectives)
    if (points.column(kMetrics[metric].name)) keys.push_back(kMetrics[metric].name);
  for (const std::string_view key :
       {"makespan_ps", "likely_least_ps", "likely_most_ps", "token_ps", "likely_token_least_ps", "likely_token_most_ps",
        "change_ps", "noise_median_ps", "prediction_error", "tokens_per_s", "mfu", "exposed_comm_ps", "memory_bytes",
        "fits"})
    if (points.column(key) && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  for (const std::string_view key : keys) {
    view::ShowColumn shown{.key = key, .heading = key.substr(0, key.rfind("_ps")), .hide = view::Hide::missing};
    if (key == "exposed_comm_ps") shown.share = "makespan_ps";
    columns.push_back(shown);
  }
  return columns;
}

}  // namespace

std::string sweep_text(const Sweep& sweep) {
  static constexpr std::array<view::ShowColumn, 3> kVariedText{{{.key = "option", .heading = "option"},
                                                                {.key = "values", .heading = "values"},
                                                                {.key = "importance", .heading = "importance"}}};
  static constexpr std::array<view::ShowColumn, 7> kEffectsText{{{.key = "option", .heading = "option"},
                                                                 {.key = "value", .heading = "value"},
                                                                 {.key = "points", .heading = "points"},
                                                                 {.key = "failed", .heading = "failed"},
                                                                 {.key = "mean", .heading = "mean"},
                                                                 {.key = "best", .heading = "best"},
                                                                 {.key = "spread", .heading = "spread"}}};
  std::vector<size_t> best = ranked_points(sweep, sweep.objectives[0]), front;
  for (const size_t p : best)
    if (!sweep.is_front.empty() && sweep.is_front[p]) front.push_back(p);
  best.resize(std::min(best.size(), kBest));
  const std::string_view objective = kMetrics[sweep.objectives[0]].name;
  const std::string best_title = fmt::format("best points by {}", objective),
                    importance_title = fmt::format("share of the variance of {} that an option explains", objective),
                    effects_title = fmt::format("{} by the value of an option", objective);
  answer::Builder to("sweep");
  add_summary(sweep, to);
  to.table("points", "", columns_of(sweep, best));
  to.table("front", "", columns_of(sweep, front));
  const answer::Answer shown = std::move(to).finish(sweep.findings);
  const std::vector<view::ShowColumn> columns = shown_columns(sweep, *shown.table("points"));
  const std::string head = fmt::format(
      "{{file}}: {}, {{failed}} failed; {{different}} different, {{resumed}} of them "
      "from earlier sweeps",
      show_count(std::ssize(sweep.points), "point"));
  const std::array<view::Show, 9> kText{{
      {.line = head},
      {.line = ""},
      {.table = "points", .title = best_title, .first = kBest, .columns = columns},
      {.table = "front", .title = "Pareto front", .first = kFront, .columns = columns},
      {.table = "varied",
       .title = importance_title,
       .first = view::kAllRows,
       .ranked = "importance",
       .columns = kVariedText},
      {.table = "effects", .title = effects_title, .first = 30, .columns = kEffectsText},
      {.when = "{?#failures}", .line = "\nfailures"},
      {.line = "  {points} of {failure}: {text}", .table = "failures", .first = view::kAllRows},
      {.findings = true},
  }};
  return view::to_text(shown, {kText});
}

view::Scatter picture_of(const Sweep& sweep) {
  CHAKRA_ASSERT(sweep.objectives.size() >= 2);
  const MetricRow &x = kMetrics[sweep.objectives[0]], &y = kMetrics[sweep.objectives[1]];
  view::Scatter figure;
  figure.title = fmt::format("{} and {} of {} points", x.name, y.name, sweep.points.size());
  figure.note = "a point is a point of the sweep; orange: Pareto front";
  figure.x = x.name;
  figure.y = y.name;
  figure.same_scale = false;
  for (size_t p = 0; p < sweep.points.size(); ++p) {
    const auto at = [&](size_t objective) { return sweep.loss(p, sweep.objectives[objective]); };
    const std::optional<double> left = at(0), up = at(1);
    if (!left || !up) continue;
    std::string label;
    const std::vector<size_t> choices = choices_of(sweep.plan, sweep.points[p]);
    for (size_t i = 0; i < sweep.plan.parameters.size(); ++i)
      if (const Chosen chosen = chosen_of(sweep.plan, i); is_varied(chosen))
        label += fmt::format("{}{} {}", label.empty() ? "" : ", ", (*sweep.names)[i],
                             text_of(chosen.setting(choices[chosen.dimension])));
    const double sign_x = x.goal == Goal::larger ? -1 : 1, sign_y = y.goal == Goal::larger ? -1 : 1;
    figure.points.push_back({std::move(label), sign_x * *left, sign_y * *up, 0, sweep.is_front[p]});
  }
  return figure;
}

}  // namespace chakra::sweep
