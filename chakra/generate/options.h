// Options of the generators in the form that users write: names, common units. Missing options come from a preset, the
// model or the generator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/files.h"
#include "chakra/generate/serve.h"
#include "chakra/generate/step.h"
#include "chakra/model/model.h"
#include "chakra/options/options.h"

namespace chakra::generate {

/// Speed of a device without a device file.
struct DeviceRates {
  std::optional<double> peak_tflops, fp8_tflops;  ///< 10^12 FLOP/s
  std::optional<double> memory_gb_per_s;          ///< 10^9 bytes per second
  std::optional<double> efficiency;               ///< share of the peak
  std::optional<double> memory_gib;               ///< of the device
};

/// Number format of parameters and activations.
enum class StepType : uint8_t { bf16, fp16, fp32 };
inline constexpr std::array<std::string_view, 3> kStepTypes{"bf16", "fp16", "fp32"};

struct GenerateStepOptions {
  std::string preset, model;
  model::ModelChange change;                                         ///< of the model
  std::array<std::optional<int64_t>, gen::kNumbers.size()> numbers;  ///< parallel to gen::kNumbers
  std::array<std::optional<bool>, gen::kSwitches.size()> switches;   ///< parallel to gen::kSwitches
  bool mtp = false;
  std::string schedule, order, optimizer;
  std::optional<gen::ContextKind> context;
  std::optional<gen::Recompute> recompute;
  std::optional<gen::HostWaits> host_waits;
  std::optional<StepType> type;
  bool fp8 = false;
  std::optional<double> expert_skew;
  gen::StepStorage storage;
  std::string device, stack;
  DeviceRates rates;
  bool stats = false;     ///< the text has memory and communication
  GenerateOptions files;  ///< its name is "step"
};
options::Options rows_of(GenerateStepOptions& options);
/// Return the options with the values that missing options take from the preset and the generator: options that make
/// equal jobs become equal, except for schedule, device and stack. Errors: as for generate_step().
Result<GenerateStepOptions> settled(const GenerateStepOptions& options);
/// Resolve the options, and make the job with the other generate_step(). Errors: also cli.usage; as for
/// model::find_or_read_model and model::changed.
Result<StepJob> generate_step(const GenerateStepOptions& options, Findings& findings);

struct GenerateServeOptions {
  std::string model;
  model::ModelChange change;
  std::vector<int64_t> contexts;
  std::array<std::optional<int64_t>, gen::kServeNumbers.size()> numbers;  ///< parallel to gen::kServeNumbers
  std::array<std::optional<bool>, gen::kServeSwitches.size()> switches;   ///< parallel to gen::kServeSwitches
  std::string kv_tier;
  std::optional<double> kv_tier_share;
  bool fp8 = false;
  std::string device, stack;
  DeviceRates rates;
  bool stats = false;
  GenerateOptions files;  ///< the name is "serve"
};
options::Options rows_of(GenerateServeOptions& options);
Result<GenerateServeOptions> settled(const GenerateServeOptions& options);  ///< likewise
Result<ServeJob> generate_serve(const GenerateServeOptions& options, Findings& findings);

}  // namespace chakra::generate
