#include "chakra/whatif/jitter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "chakra/base/progress.h"
#include "chakra/base/quantile.h"
#include "chakra/whatif/rules.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

/// In (0, 1].
double uniform(Prng& random) { return (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53; }
/// Standard normal: G. Box, M. Muller, 1958.
double normal(Prng& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

}  // namespace

const std::array<DistributionRow, 4> kDistributions{{
    {"uniform", "evenly between 1 - WIDTH and 1 + WIDTH, which is at most 1", 1,
     [](double width, Prng& random) { return 1 + width * (2 * uniform(random) - 1); }},
    {"normal", "mean 1, standard deviation WIDTH, which is at most 0.5; never below 0", 0.5,  // mean 1.004 then
     [](double width, Prng& random) { return std::max(0.0, 1 + width * normal(random)); }},
    {"lognormal", "mean 1; the logarithm has the standard deviation WIDTH", kMostWidth,
     [](double width, Prng& random) { return std::exp(width * normal(random) - width * width / 2); }},
    {"exponential", "1 and a delay with the mean WIDTH", kMostWidth,
     [](double width, Prng& random) { return 1 - width * std::log(uniform(random)); }},
}};

Result<Jitter> parse_jitter(std::string_view text) {
  const size_t equals = text.rfind('='), colon = text.rfind(':');
  Jitter jitter;
  if (equals != std::string_view::npos && colon != std::string_view::npos && equals < colon) {
    const std::string_view distribution = text.substr(equals + 1, colon - equals - 1);
    for (const DistributionRow& row : kDistributions)
      if (row.name == distribution) jitter.distribution = &row;
  }
  const double most = jitter.distribution ? jitter.distribution->most_width : kMostWidth;
  if (!jitter.distribution || !parse_decimal(text.substr(colon + 1), jitter.width) || !(jitter.width >= 0) ||
      jitter.width > most)
    return fail(
        Code::usage, "whatif.rule.form",
        fmt::format("{} does not have the form KIND=DISTRIBUTION:WIDTH, such as compute=lognormal:0.1; WIDTH is a "
                    "number from 0 to {:g}{}; 'chakra list distributions' lists the distributions",
                    quote(text), most, jitter.distribution ? fmt::format(" of {}", jitter.distribution->name) : ""));
  jitter.kind = std::string(text.substr(0, equals));
  CHAKRA_TRY(parse_selector(jitter.kind));
  return jitter;
}

Result<Noise> noise(const sim::SimInput& input, const std::vector<Jitter>& jitters, int64_t repeats, uint64_t seed) {
  CHAKRA_ASSERT(repeats > 0);
  Noise out;
  out.repeats = repeats;
  out.seed = seed;
  Prng random(seed);
  std::vector<Picoseconds> totals;
  for (int64_t i = 0; i < repeats; ++i) {
    CHAKRA_TRY(keep_going(static_cast<size_t>(i) + 1, static_cast<size_t>(repeats) + 1));
    sim::SimInput varied = copy_of(input);
    varied.node_times = varied.decisive_path = false;
    for (const Jitter& jitter : jitters) {
      CHAKRA_ASSIGN(const Selector selector, parse_selector(jitter.kind));
      const Reached reached =
          scale_each(varied, selector, [&] { return jitter.distribution->draw(jitter.width, random); });
      CHAKRA_TRY(reached_something(reached, "jitter", jitter.kind, "the job has no time of that kind"));
    }
    CHAKRA_ASSIGN(const sim::SimReport report, sim::simulate(std::move(varied)));
    totals.push_back(report.makespan_ps);
    out.mean_ps += static_cast<double>(report.makespan_ps) / static_cast<double>(repeats);
  }
  std::sort(totals.begin(), totals.end());
  out.least_ps = totals.front();
  out.most_ps = totals.back();
  for (size_t q = 0; q < Noise::kQuantiles.size(); ++q)
    out.quantile_ps[q] = whole_quantile(totals, Noise::kQuantiles[q]);
  return out;
}

}  // namespace chakra::whatif
