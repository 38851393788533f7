// The models of a caller in a simulation.
#include "chakra/facade/calls.h"

namespace chakra {
inline namespace v1 {
namespace {

// `job.models.time` (1): Models::prices() of a caller gives a node a negative time

/// The models of a caller, before the simulation.
Result<void> price(sim::SimInput& input, Models& models) {
  const auto price_one = [&](trace::Trace& t, int64_t rank) -> Result<void> {
    trace::Trace copy = t;  // what the caller looks at does not change meanwhile; columns are shared
    const Trace shown = TraceMaker::make(std::make_shared<const trace::Trace>(std::move(copy)));
    CHAKRA_TRY(models.prices(shown, rank, t.dur_ps.edit()));
    for (const Picoseconds time : t.dur_ps)
      if (time < 0) return fail(Code::bad_input, "job.models.time", "Models::prices() gives a negative time");
    return {};
  };
  if (!input.classes) {
    for (trace::Trace& t : input.job.ranks) CHAKRA_TRY(price_one(t, t.rank));
    return {};
  }
  std::vector<int64_t> first(input.classes->classes.size(), -1);
  for (const trace::ClassJob::Rank& rank : input.classes->ranks)
    if (first[rank.cls] < 0) first[rank.cls] = rank.rank;
  for (size_t c = 0; c < first.size(); ++c) CHAKRA_TRY(price_one(input.classes->classes[c], first[c]));
  return {};
}

}  // namespace

Result<void> Models::prices(const Trace&, int64_t, std::span<int64_t>) { return {}; }
Result<std::optional<int64_t>> Models::collective(const Meeting&) { return std::optional<int64_t>(); }

}  // namespace v1

namespace facade {

Result<void> use_models(sim::SimInput& input, Models& models) {
  CHAKRA_TRY(price(input, models));
  input.fold = input.fold && models.rank_independent();
  input.collective_time = [&models](const sim::Meeting& m) {
    return models.collective({m.group, trace::name(m.type), m.bytes, m.members, m.first_ps, m.last_ps});
  };
  return {};
}

}  // namespace facade
}  // namespace chakra
