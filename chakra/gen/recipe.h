// The options of a step or of serving as text. A generated trace has this "recipe" in
// its metadata, so that a what-if can generate the job with other options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::gen {

struct StepOptions;
struct ServeOptions;

/// Return "tp=2;pp=4;...": every option, and the model.
std::string recipe(const StepOptions& options);
/// Return the options in a text of recipe(), or nullopt for any other text.
std::optional<StepOptions> read_recipe(std::string_view text);
/// The same of serving: "serve=1;tp=2;...".
std::string recipe(const ServeOptions& options);
std::optional<ServeOptions> read_serve_recipe(std::string_view text);

/// Add the options to the metadata of a stage.
void describe_recipe(const StepOptions& options, trace::Trace& t);
void describe_recipe(const ServeOptions& options, trace::Trace& t);
/// The device and the stack, by name or file, that give the nodes their times; "": absent.
struct RecipeDevice {
  std::string device, stack;
};
void describe_recipe_device(const RecipeDevice& of, trace::Trace& t);
RecipeDevice recipe_device_of(const trace::Trace& t);

/// Return the recipe in the metadata; "" if absent.
std::string_view recipe_text(const trace::Trace& t);
/// Return the options in the metadata of a stage, or nullopt if absent.
std::optional<StepOptions> recipe_of(const trace::Trace& t);
std::optional<ServeOptions> serve_recipe_of(const trace::Trace& t);

}  // namespace chakra::gen
