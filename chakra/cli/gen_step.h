// What 'chakra gen step' is asked for.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/cli/gen_options.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {

/// The values of --dtype.
inline constexpr std::array<std::string_view, 3> kStepTypes{"bf16", "fp16", "fp32"};

struct StepOptions {
  job::StepJobOptions call;
  std::string preset, model, order, context, recompute, host_waits, optimizer, dtype;
  std::array<std::optional<int64_t>, gen::kNumbers.size()> numbers;  ///< parallel to gen::kNumbers
  std::array<std::optional<bool>, gen::kSwitches.size()> switches;   ///< parallel to gen::kSwitches
  gen::ModelChange change;
  std::optional<double> expert_skew;
  DeviceOptions device;
  std::optional<double> fp8_tflops;
  bool mtp = false;
};

/// All rows. Their targets are in `options`.
std::vector<Option> step_rows(StepOptions& options);

}  // namespace chakra::cli
