// Two runs of the same ranks, in answers: a job against its own measurement, and what a change changes.
#include <cmath>
#include <map>

#include "chakra/answer/rows.h"
#include "chakra/recorded/answer.h"

namespace chakra::recorded {
namespace {

using answer::column;
using answer::joined;
using answer::Missing;
using answer::rows;
using answer::Unit;

/// How long a run of a kind took; null where there was none.
template <class Row, TransferKind kKind>
constexpr auto run_time(std::string_view key) {
  return column<Row>(key, Unit::ps, "time of that run", [](const Row& r) {
    return r.times.has(kKind) ? std::optional(r.times.run(kKind)) : std::nullopt;
  });
}
template <class Row, TransferKind kKind>
constexpr auto run_error(std::string_view key) {
  return column<Row>(key, Unit::share, "time / measured - 1", [](const Row& r) {
    return r.times.has(kKind) ? std::optional(r.times.error(kKind)) : std::nullopt;
  });
}
template <class Row, bool kNs>
constexpr std::array<answer::Column<Row>, 5> compared() {
  using enum TransferKind;
  std::array<answer::Column<Row>, 5> columns{
      column<Row>("measured_ps", Unit::ps, "its measured time", [](const Row& r) { return r.times.measured_ps; }),
      run_time<Row, recorded>("recorded_transfers.time_ps"), run_error<Row, recorded>("recorded_transfers.error"),
      run_time<Row, simulated>("simulated_transfers.time_ps"), run_error<Row, simulated>("simulated_transfers.error")};
  for (answer::Column<Row>& each : columns) each.also_ns = kNs && each.unit == Unit::ps;
  return columns;
}

struct Whole {
  Compared times;
};
template <bool kNs>
constexpr auto kMeasured = compared<Whole, kNs>();
template <bool kNs>
constexpr auto kMeasuredRanks = joined(joined(std::array{column<&JobReplay::Rank::rank>("rank", Unit::id, "the rank")},
                                              compared<JobReplay::Rank, kNs>()),
                                       std::array{rows<JobReplay::Rank>("steps", "its training steps")});
template <bool kNs>
constexpr auto kMeasuredSteps = joined(std::array{column<&JobReplay::Step::name>("name", Unit::none,
                                                                                 "the name of the step")},
                                       compared<JobReplay::Step, kNs>());

/// By how much the two kinds of runs are off; of those that there are the first that tests the graph.
double badness(const Compared& times) {
  for (const TransferKind kind : {TransferKind::recorded, TransferKind::simulated})
    if (times.has(kind)) return std::abs(times.error(kind));
  return 0;
}
/// A step at the rank where it stands out most.
struct WorstStep {
  std::string name;
  int64_t rank = 0;
  Compared times;
};
constexpr auto kWorstSteps =
    joined(std::array{column<&WorstStep::name>("name", Unit::none, "the name of the step"),
                      column<&WorstStep::rank>("rank", Unit::id, "the rank with the largest error")},
           compared<WorstStep, false>());
std::vector<WorstStep> worst_steps(const std::vector<JobReplay::Rank>& ranks) {
  std::vector<WorstStep> worst;
  std::map<std::string_view, size_t> known;
  for (const JobReplay::Rank& rank : ranks)
    for (const JobReplay::Step& step : rank.steps) {
      if (step.times.measured_ps == 0 || step.name == "recording") continue;
      const auto [at, added] = known.try_emplace(step.name, worst.size());
      if (added) worst.push_back({step.name, rank.rank, step.times});
      else if (badness(step.times) > badness(worst[at->second].times))
        worst[at->second] = {step.name, rank.rank, step.times};
    }
  return worst;
}

template <bool kNs>
void add_measured(const std::string& prefix, const std::optional<JobReplay>& replay, answer::Builder& to) {
  const Whole whole{replay ? replay->job() : Compared{}};
  to.values(prefix, replay ? &whole : nullptr, kMeasured<kNs>);
  const std::vector<JobReplay::Rank> none;
  const std::vector<JobReplay::Rank>& ranks = replay ? replay->ranks() : none;
  to.table(prefix + "ranks", "ranks against their measurement", ranks, kMeasuredRanks<kNs>, replay.has_value());
  to.children(
      prefix + "ranks", "steps", ranks, [](const auto& rank) -> const auto& { return rank.steps; },
      kMeasuredSteps<kNs>);
  to.table(prefix + "steps", "steps against their measurement, each with the rank of the largest error",
           worst_steps(ranks), kWorstSteps, replay.has_value());
}

template <class Row>
constexpr std::array<answer::Column<Row>, 3> changed() {
  return {column<Row>("before_ps", Unit::ps, "without the change", [](const Row& r) { return r.change.before_ps; }),
          column<Row>("after_ps", Unit::ps, "with it", [](const Row& r) { return r.change.after_ps; }),
          column<Row>("change_ps", Unit::ps, "after_ps - before_ps", [](const Row& r) { return r.change.change(); })};
}
struct ChangedStep {
  std::string name;
  RunChange::Change change;
};
struct ChangedRank {
  int64_t rank = 0;
  RunChange::Change change;
  std::vector<ChangedStep> steps;
};
struct MostChanged {
  std::string name;
  int64_t rank = 0;
  RunChange::Change change;
};
struct Delayed {
  DelayRule rule;
  int64_t nodes = 0;
};
constexpr auto kChanged = changed<ChangedRank>();
constexpr auto kChangedRanks =
    joined(joined(std::array{column<&ChangedRank::rank>("rank", Unit::id, "the rank")}, kChanged),
           std::array{rows<ChangedRank>("steps", "its training steps")});
constexpr auto kChangedSteps =
    joined(std::array{column<&ChangedStep::name>("name", Unit::none, "the name of the step")}, changed<ChangedStep>());
constexpr auto kMostChanged =
    joined(std::array{column<&MostChanged::name>("name", Unit::none, "the name of the step"),
                      column<&MostChanged::rank>("rank", Unit::id, "the rank with the largest change")},
           changed<MostChanged>());
constexpr std::array kDelays{
    column<Delayed>("rank", Unit::id, "the rank of the rule; null: all ranks",
                    [](const auto& d) { return d.rule.rank; }),
    column<Delayed>("pattern", Unit::none, "the names of nodes", [](const auto& d) { return d.rule.pattern; }),
    column<Delayed>("time_ps", Unit::ps, "the delay of each", [](const auto& d) { return d.rule.time_ps; }),
    column<&Delayed::nodes>("nodes", Unit::count, "how many it delays"),
    column<Delayed>("total_ps", Unit::ps, "all of these delays",
                    [](const auto& d) { return multiply_saturated(d.rule.time_ps, d.nodes); })};

std::vector<ChangedRank> changed_ranks(const RunChange& study) {
  std::vector<ChangedRank> ranks;
  for (size_t i = 0; i < study.ranks.size(); ++i) {
    ChangedRank& rank = ranks.emplace_back(ChangedRank{study.ranks[i].rank, study.ranks[i].finish, {}});
    for (size_t s = 0; s < study.ranks[i].steps.size(); ++s)
      rank.steps.push_back({std::string(study.steps[i].names[s]), study.ranks[i].steps[s]});
  }
  return ranks;
}

std::vector<MostChanged> most_changed(const std::vector<ChangedRank>& ranks) {
  std::vector<MostChanged> most;
  std::map<std::string_view, size_t> known;
  for (const ChangedRank& rank : ranks)
    for (const ChangedStep& step : rank.steps) {
      if (step.change.before_ps == 0 && step.change.after_ps == 0) continue;
      const auto [at, added] = known.try_emplace(step.name, most.size());
      if (added) most.push_back({step.name, rank.rank, step.change});
      else if (std::abs(step.change.change()) > std::abs(most[at->second].change.change()))
        most[at->second] = {step.name, rank.rank, step.change};
    }
  return most;
}

}  // namespace

void add_measured(const std::string& prefix, const std::optional<JobReplay>& replay, answer::Builder& to,
                  bool with_ns) {
  if (with_ns) add_measured<true>(prefix, replay, to);
  else add_measured<false>(prefix, replay, to);
}

void add_change(const std::string& prefix, const RunChange* change, answer::Builder& to) {
  const ChangedRank whole{0, change ? change->job : RunChange::Change{}, {}};
  to.values(prefix, change ? &whole : nullptr, kChanged);
  const std::vector<ChangedRank> ranks = change ? changed_ranks(*change) : std::vector<ChangedRank>();
  to.table(prefix + "ranks", "change of the finish of each rank", ranks, kChangedRanks, change != nullptr);
  to.children(
      prefix + "ranks", "steps", ranks, [](const auto& rank) -> const auto& { return rank.steps; }, kChangedSteps);
  to.table(prefix + "steps", "change of each step, at the rank with the largest change", most_changed(ranks),
           kMostChanged, change != nullptr);
}

void add_delays(const std::optional<DelayStudy>& study, answer::Builder& to) {
  add_change("delays.", study ? &*study : nullptr, to);
  std::vector<Delayed> rules;
  for (size_t r = 0; study && r < study->rules.size(); ++r) rules.push_back({study->rules[r], study->nodes[r]});
  to.table("delays.rules", "the rules of --delay", rules, kDelays, study.has_value());
}

}  // namespace chakra::recorded
