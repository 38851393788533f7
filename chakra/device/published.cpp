#include "chakra/device/published.h"

#include <algorithm>
#include <array>

#include "chakra/device/device.h"

namespace chakra::device {
namespace {

constexpr std::string_view kPlain = "kernels";  ///< the stack without a name
using Devices = std::array<std::string_view, 2>;
constexpr Devices kA100{"A100", "A100"}, kH100{"H100", "H100"}, kBoth{"A100", "H100"};

/// As tools/predict_steps.py predicts them. Of 40 steps and more the range of the middle 90 %; of n fewer, that of all:
/// a further one is inside in (n - 1) / (n + 1) of the cases.
constexpr std::array<PublishedSteps, 8> kClasses{{
    {"fsdp-eager", kBoth, true, false, 216, 0.89, 1.24, 0.9, "llm-foundry: MPT, FSDP, on A100 and H100"},
    {"torchtitan", kH100, true, false, 9, 0.83, 1.48, 0.8, "torchtitan: Llama 3.1 on H100"},
    {"megatron-te", kBoth, true, false, 16, 0.92, 1.09, 0.88, "Megatron-LM on A100 and Megatron-Bridge on H100, dense"},
    {"megatron-lm", kA100, true, false, 109, 0.83, 1.36, 0.9, "vTrain: GPTs on 64 to 512 A100"},
    {kPlain, kBoth, true, false, 366, 0.84, 1.51, 0.9,
     "dense steps of five sets on A100 and H100, all without their stack"},
    {kPlain, kBoth, false, false, 365, 0.84, 2.04, 0.9, "dense steps of five sets on A100 and H100, by the data sheet"},
    {"", kH100, true, true, 7, 0.73, 2.47, 0.75,
     "Megatron-Bridge: models with experts on H100, with its stack and without"},
    {kPlain, kH100, false, true, 7, 0.88, 2.73, 0.75,
     "Megatron-Bridge: models with experts on H100, by the data sheet"},
}};

}  // namespace

const std::span<const PublishedSteps> kPublishedSteps = kClasses;

const PublishedSteps* published_steps(const Device& device, bool experts) {
  if (device.others) return nullptr;
  const std::string_view stack = device.stack.name.empty() ? kPlain : std::string_view(device.stack.name);
  const auto* const row = std::find_if(kClasses.begin(), kClasses.end(), [&](const PublishedSteps& of) {
    return (device.name.starts_with(of.devices[0]) || device.name.starts_with(of.devices[1])) &&
           of.kernels == !device.kernels.empty() && of.experts == experts && (of.stack.empty() || of.stack == stack);
  });
  return row == kClasses.end() ? nullptr : &*row;
}

}  // namespace chakra::device
