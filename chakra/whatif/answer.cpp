// The answer of what a change makes of a job.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "chakra/answer/rows.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

using answer::column;
using answer::Unit;

constexpr std::array kApplied{
    column<Applied>("change", Unit::none, "the name of its option", [](const auto& a) { return a.row->name; }),
    column<&Applied::value>("value", Unit::none, "as it was given"),
    column<Applied>("nodes", Unit::count, "affected nodes, or dependencies with a lag",
                    [](const auto& a) { return a.reached.nodes; }),
    column<Applied>("time_ps", Unit::ps, "their time before", [](const auto& a) { return a.reached.time_ps; }),
    column<Applied>("assumes", Unit::none, "assumptions of the change",
                    [](const auto& a) { return a.reached.again ? a.row->again : a.row->assumes; })};
using Row = Sensitivity::Row;
/// Of the first row, where that saves something.
template <class T>
std::optional<T> most(const Sensitivity& s, T Row::*member) {
  return !s.rows.empty() && s.rows[0].saved_ps > 0 ? std::optional(s.rows[0].*member) : std::nullopt;
}
constexpr std::array kSensitivity{
    column<Sensitivity>("less", Unit::share, "reduction of each kind of time", [](const auto&) { return kLess; }),
    column<&Sensitivity::total_ps>("total_ps", Unit::ps, "the time of the job"),
    column<Sensitivity>("most", Unit::none, "the kind of time with the largest saving",
                        [](const Sensitivity& s) { return most(s, &Row::name); }),
    column<Sensitivity>("most_saves_ps", Unit::ps, "its saving, simulated",
                        [](const Sensitivity& s) { return most(s, &Row::saved_ps); })};
constexpr std::array kKindsOfTime{
    column<&Sensitivity::Row::name>("kind", Unit::none, "the kind of time"),
    column<&Sensitivity::Row::on_path_ps>("on_path_ps", Unit::ps, "its time on the critical path"),
    column<&Sensitivity::Row::slope_ps>("slope_saves_ps", Unit::ps, "saving by the slope"),
    column<&Sensitivity::Row::saved_ps>("simulation_saves_ps", Unit::ps, "saving, simulated"),
    column<&Sensitivity::Row::path_changes>("path_changes", Unit::none,
                                            "the two differ, because the critical path changes")};

constexpr std::array kNoise{column<&Noise::repeats>("repeats", Unit::count, "how many runs"),
                            column<&Noise::seed>("seed", Unit::none, "of the random numbers"),
                            column<&Noise::mean_ps>("mean_ps", Unit::ps, "mean time of the job"),
                            column<Noise>("median_ps", Unit::ps, "half of the runs take at most as long",
                                          [](const Noise& n) { return n.quantile_ps[n.kQuantiles.size() / 2]; }),
                            column<&Noise::least_ps>("least_ps", Unit::ps, "the shortest"),
                            column<&Noise::most_ps>("most_ps", Unit::ps, "the longest")};
/// A predicted ratio of two steps.
struct LikelyChange {
  const device::PublishedPairs* pairs;
  double ratio;
  double off() const { return pairs->factor; }
};
std::string options_of(const device::PublishedPairs& pairs) {
  std::string all;
  for (size_t o = 0; o < device::kStepOptionNames.size(); ++o)
    if (pairs.options & bit(static_cast<device::StepOption>(o)))
      all += fmt::format("{}{}", all.empty() ? "" : ", ", device::kStepOptionNames[o]);
  return all;
}
constexpr std::array kLikelyChange{
    column<LikelyChange>("pairs", Unit::count, "pairs of published steps of one model with other such options",
                         [](const auto& c) { return c.pairs->pairs; }),
    column<LikelyChange>("options", Unit::none, "options in which the pairs differ",
                         [](const auto& c) { return options_of(*c.pairs); }),
    column<LikelyChange>("least", Unit::share,
                         "change / before, of steps or times per token, if after is as much overestimated as in pairs",
                         [](const auto& c) { return c.ratio / c.off() - 1; }),
    column<LikelyChange>("most", Unit::share, "the same, if after is as much underestimated",
                         [](const auto& c) { return c.ratio * c.off() - 1; }),
    column<LikelyChange>("covers", Unit::share, "share of held-out pairs that were within",
                         [](const auto& c) { return c.pairs->covers; })};
constexpr std::array kServed{
    column<&Served::sequences>("sequences", Unit::count, "of a replica at a time, one for each client"),
    column<&Served::tokens>("tokens", Unit::count, "of an answer: the decode steps of the job"),
    column<Served>("token_ps", Unit::ps, "time per output token under load: a step, and a share of others' prompts",
                   [](const Served& s) { return s.token_ps(); }),
    column<&Served::step_ps>("step_ps", Unit::ps, "a decode step of all sequences in the middle of their answers"),
    column<&Served::prompt_ps>("prompt_ps", Unit::ps, "the prefill of one prompt"),
    column<&Served::prompts>("prompts", Unit::none, "prompts of others that a step waits for"),
    column<Served>("first_token_ps", Unit::ps, "time to the first token under load, if each client has a place",
                   [](const Served& s) { return s.first_token_ps(); })};
constexpr auto kQuantiles = answer::by_key<int64_t>(Unit::ps);

}  // namespace

void add_served(const std::string& prefix, const Served* served, answer::Builder& to) {
  to.values(prefix, served, kServed);
  const bool first = served && served->first_token;
  sim::add_published(prefix + "published.", served ? served->token : nullptr, served ? served->token_ps() : 0, to);
  sim::add_published(prefix + "first_published.", first ? served->first_token : nullptr,
                     first ? served->first_token_ps() : 0, to);
}

void add_likely(const Likely& likely, Picoseconds before_ps, Picoseconds after_ps, answer::Builder& to) {
  const Served *const served_before = likely.served_before ? &*likely.served_before : nullptr,
                      *const served_after = likely.served_after ? &*likely.served_after : nullptr;
  const bool serves = served_before && served_after;
  if (serves) before_ps = served_before->token_ps(), after_ps = served_after->token_ps();
  sim::add_published("before_published.", served_before ? nullptr : likely.before, before_ps, to);
  sim::add_published("after_published.", served_before ? nullptr : likely.after, after_ps, to);
  add_served("before_serving.", served_before, to);
  add_served("after_serving.", served_after, to);
  const double least_ps = likely.pairs ? likely.before->shortest_s * kPsPerSecond : 0;
  const bool known = likely.pairs && static_cast<double>(std::min(before_ps, after_ps)) >= least_ps;
  const LikelyChange change{likely.pairs, static_cast<double>(after_ps) / static_cast<double>(before_ps)};
  to.values("change_published.", known ? &change : nullptr, kLikelyChange);
}

void add_changes(const std::vector<Applied>& changes, answer::Builder& to) {
  to.table("changes", "the changes, in order of application", changes, kApplied);
}

void add_sensitivity(const Sensitivity* sensitivity, answer::Builder& to) {
  to.values("sensitivity.", sensitivity, kSensitivity);
  to.table("sensitivity.rows", "savings by kind of time, largest first",
           sensitivity ? sensitivity->rows : std::vector<Sensitivity::Row>(), kKindsOfTime, sensitivity != nullptr);
}

void add_noise(const Noise* noise, answer::Builder& to) {
  to.values("noise.", noise, kNoise);
  answer::ByKey<int64_t> quantiles;
  for (size_t q = 0; noise && q < Noise::kQuantiles.size(); ++q)
    quantiles.emplace_back(fmt::format("{:g}", Noise::kQuantiles[q]), noise->quantile_ps[q]);
  to.table("noise.quantiles_ps", "quantiles of the time of the job", quantiles, kQuantiles, noise != nullptr);
}

}  // namespace chakra::whatif
