// Options that generators of models have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {

/// Whether anything comes out: a job, numbers or JSON. Errors: cli.usage.
Result<void> check_output(const job::GenerateOptions& files, bool stats);

struct DeviceOptions {
  std::optional<double> peak_tflops, memory_gb_per_s, efficiency;
  std::optional<double> memory_gib;  ///< for --stats

  /// Into options of a generator that have a device.
  template <class To>
  void settle(To& to) const {
    if (peak_tflops) to.peak_flop_per_s = *peak_tflops * 1e12;
    if (memory_gb_per_s) to.memory_bytes_per_s = *memory_gb_per_s * 1e9;
    if (efficiency) to.efficiency = *efficiency;
  }
};
std::vector<Option> device_options(DeviceOptions& device);
Option fp8_option(std::optional<double>& tflops);
/// A device that `name` names says itself how fast it is. Errors: cli.usage.
Result<void> check_device(const std::string& name, const DeviceOptions& device, std::optional<double> fp8_tflops);

Option output_option(std::string& folder);
Option model_option(std::string& model);
/// What of the model is other than its description says: numbers; then the MLP's and attention's kind.
std::vector<Option> model_numbers(gen::ModelChange& change);
std::vector<Option> model_switches(gen::ModelChange& change);
/// Data, checkpoints and restarts of a step.
std::vector<Option> storage_options(gen::StepStorage& storage);
Option stats_option(bool& stats);
/// `name`: of the job.
Option all_ranks_option(bool& all_ranks, const std::string& name);

/// Options that are rows with a name, bounds and a description. `target`: of the row at a position.
template <class Rows, class Targets>
void add_numbers(const Rows& rows, const Targets& target, std::vector<Option>& options) {
  for (size_t i = 0; i < rows.size(); ++i)
    options.push_back({.names = "--" + std::string(rows[i].name),
                       .target = target(i),
                       .help = std::string(rows[i].description),
                       .value = "N",
                       .accepted = whole_number(rows[i].least, rows[i].most)});
}
/// Likewise, which are true or false.
template <class Rows, class Targets>
void add_switches(const Rows& rows, const Targets& target, std::vector<Option>& options) {
  for (size_t i = 0; i < rows.size(); ++i)
    options.push_back({.names = "--" + std::string(rows[i].name),
                       .target = target(i),
                       .help = std::string(rows[i].description),
                       .value = "BOOL"});
}

}  // namespace chakra::cli
