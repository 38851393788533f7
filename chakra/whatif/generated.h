// Unedited generated jobs: their metadata has the options of the generator (the recipe), from which a changed
// job can be generated. Inside whatif.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

/// The options of a generator, and the device and the stack that gave the nodes their times.
struct Recipe {
  std::variant<gen::StepOptions, gen::ServeOptions> options;
  gen::RecipeDevice of;
};
/// Return the recipe in the metadata of a rank, or of the first rank; nullopt if absent.
std::optional<Recipe> recipe_of(const trace::Trace& t);
std::optional<Recipe> recipe_of(const trace::TraceSet& job);

/// Return the device of the recipe with its stack as a system, empty without a device. Errors: those of the file.
Result<device::System> system_of(const Recipe& recipe);
/// Generate the job of a recipe, on its system. Errors: those of the generator.
Result<trace::ClassJob> generate(const Recipe& recipe, const device::System& system, Findings& findings);
/// Return the device that all ranks are priced on: that of the run, else that of the recipe (system_of()); null: none.
const device::Device* device_of(const device::System& recipe, const device::System& run);
/// Whether the job is as its recipe generates it, on its system. Cost: that of generating it.
bool is_as_generated(const Recipe& recipe, const sim::SimInput& input);
/// Generate the job again with one change, a name of kChanges; nullopt if the generator has no such option or value,
/// or if the job is not as it was generated. Errors: those of the value and of the generator.
std::optional<Result<Reached>> generate_with(std::string_view change, std::string_view value, sim::SimInput& input);

/// Return a warning that a job with a recipe is changed by the rule for other jobs, and why; nullopt for jobs without
/// a recipe.
std::optional<Finding> not_generated(std::string_view change, std::string_view value, const sim::SimInput& input);

/// Refuse a change that generate_with() does not make and that has no rule for jobs of `gen serve`, and say why.
/// Errors: whatif.mesh.recipe.
Result<void> check_other_rule(std::string_view change, std::string_view value, const sim::SimInput& input);

/// Return a warning with the keys of the stack that have no effect on a trace on the device, which has the stack;
/// nullopt if there are none. Leaves out keys that a missing host makes useless (sim.device.host), and prefill-share.
/// Cost: O(nodes).
std::optional<Finding> stack_keys_without_effect(const device::Stack& stack, const device::Device& device,
                                                 const trace::Trace& trace);

}  // namespace chakra::whatif
