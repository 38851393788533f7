#include "chakra/device/published.h"

#include <algorithm>
#include <array>

#include "chakra/device/device.h"

namespace chakra::device {
namespace {

constexpr std::string_view kPlain = "kernels";  ///< the stack without a name
using Devices = std::array<std::string_view, 2>;
constexpr auto kStep = Measured::step, kToken = Measured::token, kFirst = Measured::first_token;
constexpr Devices kA100{"A100", "A100"}, kH100{"H100", "H100"}, kBoth{"A100", "H100"};

constexpr unsigned kBatch = bit(StepOption::batch), kDp = bit(StepOption::dp), kTp = bit(StepOption::tp),
                   kMesh = kDp | kTp | bit(StepOption::pp), kDevice = bit(StepOption::device);
/// Nine of ten pairs are within the factor. `covers` is the share of the pairs of one half of the steps that the factor
/// of the other half holds, mean of 40 random halves (docs/explanation/accuracy.md). A row with a device counts only
/// pairs with two devices: other pairs are better.
constexpr std::array<PublishedPairs, 4> kFsdpPairs{{{kDp, 60, 1.07, 0.85},
                                                    {kDp | kBatch, 132, 1.14, 0.85},
                                                    {kDevice, 34, 1.12, 0.84},
                                                    {kDevice | kDp | kBatch, 60, 1.17, 0.87}}};
constexpr std::array<PublishedPairs, 3> kMegatronPairs{
    {{kBatch, 189, 1.24, 0.89}, {kMesh, 284, 1.46, 0.88}, {kMesh | kBatch, 1720, 1.46, 0.89}}};
constexpr std::array<PublishedPairs, 6> kPlainPairs{{{kBatch, 190, 1.23, 0.89},
                                                     {kDp, 60, 1.07, 0.85},
                                                     {kDp | kBatch, 321, 1.23, 0.89},
                                                     {kMesh, 344, 1.43, 0.89},
                                                     {kMesh | kBatch, 1852, 1.45, 0.89},
                                                     {kDevice | kDp | kBatch, 60, 1.61, 0.86}}};
constexpr std::array<PublishedPairs, 6> kSheetPairs{{{kBatch, 190, 1.25, 0.89},
                                                     {kDp, 60, 1.07, 0.85},
                                                     {kDp | kBatch, 321, 1.25, 0.89},
                                                     {kMesh, 344, 1.42, 0.88},
                                                     {kMesh | kBatch, 1852, 1.45, 0.88},
                                                     {kDevice | kDp | kBatch, 60, 1.60, 0.86}}};

constexpr std::array<PublishedPairs, 3> kVllmPairs{
    {{kBatch, 270, 1.12, 0.88}, {kTp, 135, 1.11, 0.87}, {kBatch | kTp, 948, 1.13, 0.89}}};
constexpr std::array<PublishedPairs, 3> kSglangPairs{
    {{kBatch, 75, 1.10, 0.9}, {kTp, 93, 1.26, 0.89}, {kBatch | kTp, 354, 1.26, 0.91}}};
constexpr std::array<PublishedPairs, 3> kTrtllmPairs{
    {{kBatch, 692, 1.21, 0.9}, {kTp, 519, 1.17, 0.9}, {kBatch | kTp, 3294, 1.23, 0.89}}};

/// As tools/predict_steps.py predicts them. Of 40 steps and more the range of the middle 90 %; of n fewer, that of all:
/// a further one is inside in (n - 1) / (n + 1) of the cases.
constexpr std::array<PublishedSteps, 14> kClasses{{
    {"fsdp-eager", kBoth, true, false, kStep, 216, 0.89, 1.24, 0.9, "llm-foundry: MPT, FSDP, on A100 and H100", 0.07,
     kFsdpPairs},
    {"torchtitan", kH100, true, false, kStep, 9, 0.83, 1.48, 0.8, "torchtitan: Llama 3.1 on H100"},
    {"megatron-te", kBoth, true, false, kStep, 16, 0.92, 1.09, 0.88,
     "Megatron-LM on A100 and Megatron-Bridge on H100, dense"},
    {"megatron-lm", kA100, true, false, kStep, 109, 0.83, 1.36, 0.9, "vTrain: GPTs on 64 to 512 A100", 0.07,
     kMegatronPairs},
    {kPlain, kBoth, true, false, kStep, 366, 0.84, 1.51, 0.9,
     "dense steps of five sets on A100 and H100, all without their stack", 0.07, kPlainPairs},
    {kPlain, kBoth, false, false, kStep, 365, 0.84, 2.04, 0.9,
     "dense steps of five sets on A100 and H100, by the data sheet", 0.07, kSheetPairs},
    {"megatron-te", kH100, true, true, kStep, 9, 0.75, 2.10, 0.8,
     "Megatron-Bridge with experts on H100: 22 measurements in 9 layouts"},
    {"", kH100, true, true, kStep, 9, 0.57, 1.87, 0.8,
     "Megatron-Bridge with experts on H100, without its stack: 22 measurements in 9 layouts"},
    {kPlain, kH100, false, true, kStep, 9, 0.66, 2.73, 0.8,
     "Megatron-Bridge with experts on H100, by the data sheet: 22 measurements in 9 layouts"},
    {"vllm", kH100, true, false, kToken, 138, 0.82, 1.05, 0.9, "vLLM 0.12: Qwen3 32B and Llama 3.1 70B on H100", 0.008,
     kVllmPairs},
    {"sglang", kH100, true, false, kToken, 84, 0.83, 1.07, 0.9, "SGLang 0.5: Qwen3 32B on H100", 0.0075, kSglangPairs},
    {"trtllm", kH100, true, false, kToken, 357, 0.83, 1.16, 0.9, "TensorRT-LLM 1.0: Qwen3 32B and Llama 3.1 8B on H100",
     0.0027, kTrtllmPairs},
    {"vllm", kH100, true, false, kFirst, 36, 0.35, 1.15, 0.95,
     "vLLM 0.12, 4 and 8 clients: Qwen3 32B and Llama 3.1 70B on H100", 0.07},
    {"trtllm", kH100, true, false, kFirst, 72, 1.00, 5.45, 0.9,
     "TensorRT-LLM 1.0, 8 clients: Qwen3 32B and Llama 3.1 8B on H100", 0.07},
}};

}  // namespace

const std::span<const PublishedSteps> kPublishedSteps = kClasses;

const PublishedSteps* published_steps(const Device& device, bool experts, Measured what) {
  if (device.others) return nullptr;
  const std::string_view stack = device.stack.name.empty() ? kPlain : std::string_view(device.stack.name);
  const auto* const row = std::find_if(kClasses.begin(), kClasses.end(), [&](const PublishedSteps& of) {
    return (device.name.starts_with(of.devices[0]) || device.name.starts_with(of.devices[1])) &&
           of.kernels == !device.kernels.empty() && of.experts == experts && of.what == what &&
           (of.stack.empty() || of.stack == stack);
  });
  return row == kClasses.end() ? nullptr : &*row;
}

const PublishedPairs* published_pairs(const PublishedSteps& before, const PublishedSteps& after, unsigned options) {
  if (&before != &after || options == 0) return nullptr;
  const auto row = std::find_if(before.pairs.begin(), before.pairs.end(), [&](const PublishedPairs& of) {
    return (options & ~of.options) == 0 && (of.options & kDevice) == (options & kDevice);
  });
  return row == before.pairs.end() ? nullptr : &*row;
}

}  // namespace chakra::device
