// A step's options as text. A generated trace has them in its metadata ("recipe"), so that a what-if can make the step
// with other ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::gen {

struct StepOptions;

/// "tp=2;pp=4;...": every option, and the model.
std::string recipe(const StepOptions& options);
/// The options of which recipe() made the text. Nothing where it is not such a text.
std::optional<StepOptions> read_recipe(std::string_view text);

/// Adds the options to the metadata of a stage.
void describe_recipe(const StepOptions& options, trace::Trace& t);
/// The device and the stack, by their names or files, that the nodes have their times of; "": none.
struct RecipeDevice {
  std::string device, stack;
};
void describe_recipe_device(const RecipeDevice& of, trace::Trace& t);
RecipeDevice recipe_device_of(const trace::Trace& t);

/// Those of a stage. Nothing where there are none.
std::optional<StepOptions> recipe_of(const trace::Trace& t);

}  // namespace chakra::gen
