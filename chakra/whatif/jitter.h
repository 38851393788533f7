// Noise: times that vary from run to run, drawn from seeded distributions, and the effect on the total.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sim/sim.h"

namespace chakra::whatif {

struct Selector;

/// A random factor on a time. `width` is the width in the option, from 0 to `most_width`.
struct DistributionRow {
  std::string_view name, description;
  double most_width;
  double (*draw)(double width, Prng& random);
};
extern const std::array<DistributionRow, 4> kDistributions;

/// The option "KIND=DISTRIBUTION:WIDTH".
struct Jitter {
  std::string kind;
  const DistributionRow* distribution = nullptr;
  double width = 0;
};
/// Parse a jitter. Errors: whatif.rule.form, whatif.kind.unknown.
Result<Jitter> parse_jitter(std::string_view text);

struct Noise {
  static constexpr std::array<double, 5> kQuantiles{0.05, 0.25, 0.5, 0.75, 0.95};
  int64_t repeats = 0;
  uint64_t seed = 0;
  double mean_ps = 0;
  std::array<Picoseconds, kQuantiles.size()> quantile_ps{};  ///< of the total, by base/quantile.h
  Picoseconds least_ps = 0, most_ps = 0;
};
/// Run the job `repeats` times. Each time every node of a kind takes a separate factor on its time; a collective
/// or a message takes one factor for all its ranks. The same seed gives the same result. Requires a repeat.
/// Errors: whatif.rule.nothing, those of simulate. Cost: a simulation each time.
Result<Noise> noise(const sim::SimInput& input, const std::vector<Jitter>& jitters, int64_t repeats, uint64_t seed);

}  // namespace chakra::whatif
