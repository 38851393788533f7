// The rules of kChanges, and shared helpers for their values. Inside whatif.
#pragma once

#include <string>
#include <string_view>

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

/// Values of changes. Errors: whatif.rule.form.
struct WantedReplicas {
  int64_t number = 1;
  std::string_view pattern;  ///< of groups, or ""
};
Result<WantedReplicas> parse_replicas(std::string_view value);
struct BatchFactor {
  double factor = 1;
  std::string_view pattern;  ///< of groups, or ""
};
Result<BatchFactor> parse_batch(std::string_view value);
Result<int64_t> parse_micro_batches(std::string_view value);
Result<bool> parse_overlap(std::string_view value);

Result<Reached> change_scale(std::string_view value, sim::SimInput& input);
Result<Reached> change_scale_node(std::string_view value, sim::SimInput& input);
Result<Reached> change_remove(std::string_view value, sim::SimInput& input);
Result<Reached> change_speed(std::string_view value, sim::SimInput& input);
Result<Reached> change_tp(std::string_view value, sim::SimInput& input);
Result<Reached> change_pp(std::string_view value, sim::SimInput& input);
Result<Reached> change_dp(std::string_view value, sim::SimInput& input);
Result<Reached> change_micro_batches(std::string_view value, sim::SimInput& input);
Result<Reached> change_batch(std::string_view value, sim::SimInput& input);
Result<Reached> change_slow_link(std::string_view value, sim::SimInput& input);
Result<Reached> change_fail_link(std::string_view value, sim::SimInput& input);
Result<Reached> change_overlap(std::string_view value, sim::SimInput& input);

// The same changes as options of a generator.
Result<bool> generate_tp(std::string_view value, Recipe& recipe);
Result<bool> generate_pp(std::string_view value, Recipe& recipe);
Result<bool> generate_dp(std::string_view value, Recipe& recipe);
Result<bool> generate_micro_batches(std::string_view value, Recipe& recipe);
Result<bool> generate_batch(std::string_view value, Recipe& recipe);
Result<bool> generate_overlap(std::string_view value, Recipe& recipe);

}  // namespace chakra::whatif
