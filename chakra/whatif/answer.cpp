// The answer of what a change makes of a job.
#include <fmt/core.h>

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
constexpr auto kQuantiles = answer::by_key<int64_t>(Unit::ps);

}  // namespace

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
