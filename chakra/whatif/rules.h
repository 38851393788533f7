// The rules of kChanges, and shared helpers for their values. Inside whatif.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "chakra/gen/gen.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

inline constexpr double kMostFactor = 1e6;
inline constexpr double kMostWidth = 10;  ///< of a distribution

/// A value of the form `WHAT=X`.
struct Scaled {
  std::string_view what;
  double factor = 1;
};
/// Parse `WHAT=X`. Errors: whatif.rule.form.
Result<Scaled> parse_scaled(std::string_view text, std::string_view form, double least, double most);
/// Return `reached`, or fail if the rule reached no node and no lag. Errors: whatif.rule.nothing.
Result<Reached> reached_something(Reached reached, std::string_view option, std::string_view value,
                                  const std::string& why);

Result<Reached> change_scale(std::string_view value, sim::SimInput& input);
Result<Reached> change_scale_node(std::string_view value, sim::SimInput& input);
Result<Reached> change_remove(std::string_view value, sim::SimInput& input);
/// A change of the options that generated a job.
using ChangeOptions = std::function<void(gen::StepOptions&)>;
/// Generate the job with other options; nullopt if the job is not as it was generated.
std::optional<Result<Reached>> change_generated(std::string_view option, const ChangeOptions& change,
                                                sim::SimInput& input);

Result<Reached> change_tp(std::string_view value, sim::SimInput& input);
Result<Reached> change_pp(std::string_view value, sim::SimInput& input);
Result<Reached> change_dp(std::string_view value, sim::SimInput& input);
Result<Reached> change_micro_batches(std::string_view value, sim::SimInput& input);
Result<Reached> change_batch(std::string_view value, sim::SimInput& input);
Result<Reached> change_slow_link(std::string_view value, sim::SimInput& input);
Result<Reached> change_fail_link(std::string_view value, sim::SimInput& input);
Result<Reached> change_overlap(std::string_view value, sim::SimInput& input);
Result<Reached> change_speed(std::string_view value, sim::SimInput& input);

}  // namespace chakra::whatif
