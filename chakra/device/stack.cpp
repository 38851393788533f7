#include "chakra/device/stack.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/device/device.h"
#include "chakra/device/numbers.h"
#include "chakra/device/units.h"

namespace chakra::device {
namespace {

constexpr double kMostRate = 1e9, kMostSlower = 100, kMostLaunchUs = 1e6, kMostStackError = 100,
                 kMostDispatchRanks = 1e6;
constexpr double kLeastLogitBytes = 1, kMostLogitBytes = 64;
constexpr std::string_view kValue = "device.stack.value";

/// `kernels` is the default: what the tables say.
constexpr std::array<StackRow, 8> kRows{{
    {"kernels", {}, 1, 0, 0, "kernels as they were measured alone, launched in time", {}},
    {"fsdp-eager",
     {{{"A100", 89}, {"H100", 162}}},
     1.52,
     0,
     0.06,
     "fitted to 54 steps of llm-foundry (MPT, FSDP), judged on the 54 others",
     {14, true, true, false}},
    {"torchtitan",
     {{{"H100", 180}}},
     2.2,
     0,
     0.2,
     "fitted to 9 published steps of torchtitan on H100 with HBM2e",
     {14, false, true, true}},
    {"megatron-te",
     {{{"H100", 550}}},
     0.4,
     0,
     0,
     "attention of cuDNN; norms, activations and casts fused; expert-us fitted to three steps of Qwen3 30B",
     {8, false, false, false},
     0,
     0,
     1,
     false,
     8,
     2600},
    {"megatron-lm",
     {},
     1,
     80,
     0.08,
     "host-us fitted to steps of vTrain (Megatron-LM on 1 to 8 A100)",
     {8, false, false, false}},
    {"vllm",
     {},
     0.5,
     0,
     0.1,
     "fitted to 47 measurements of vLLM 0.12 on H100 (aiconfigurator)",
     {},
     850,
     47,
     0.9,
     true},
    {"sglang",
     {},
     0.5,
     0,
     0.1,
     "fitted to 37 measurements of SGLang 0.5 on H100 (aiconfigurator)",
     {},
     0,
     23,
     0.52,
     true},
    {"trtllm",
     {},
     0.5,
     0,
     0.1,
     "fitted to 161 measurements of TensorRT-LLM 1.0 on H100 (aiconfigurator)",
     {},
     300,
     24,
     0.77,
     true},
}};

Stack stack(const StackRow& row) {
  Stack made{std::string(row.name),
             {},
             row.elementwise_time,
             row.host_us * kMicro,
             row.error,
             std::string(row.source),
             row.memory,
             {row.pass_us * kMicro, row.sequence_us * kMicro, row.prefill_share, row.bursts},
             {row.dispatch_ranks, row.expert_us * kMicro}};
  for (const auto& [device, tflops] : row.attention)
    if (!device.empty()) made.attention.push_back({std::string(device), tflops * kTera});
  return made;
}

Result<void> read_attention(const Spec& value, Stack& stack) {
  if (value.kind != Spec::Kind::map)
    return value.error("device.stack.value", "'attention' is a map from the beginning of a device's name to TFLOP/s");
  for (const auto& [device, of] : value.fields) {
    CHAKRA_ASSIGN(const double tflops, number_within(of, device, 1e-3, kMostRate, kValue));
    stack.attention.push_back({device, tflops * kTera});
  }
  return {};
}

/// Keys of the memory that are one of two words: the one that says no, the one that says yes.
struct ChoiceRow {
  std::string_view key, no, yes;
  bool StackMemory::*value;
};
constexpr std::array<ChoiceRow, 3> kChoices{{
    {"activations", "fused", "eager", &StackMemory::eager},
    {"sharding", "zero", "fsdp", &StackMemory::fsdp},
    {"selective", "attention", "per-operator", &StackMemory::per_operator},
}};

Result<void> read_choice(const ChoiceRow& row, const Spec& value, Stack& stack) {
  CHAKRA_ASSIGN(const std::string word, value.string());
  if (word != row.no && word != row.yes)
    return value.error(std::string(kValue), fmt::format("'{}' is {} or {}", row.key, row.no, row.yes));
  stack.memory.*row.value = word == row.yes;
  return {};
}

Result<void> read_field(const std::string& key, const Spec& value, Stack& stack) {
  if (const auto* row =
          std::find_if(kChoices.begin(), kChoices.end(), [&](const ChoiceRow& r) { return r.key == key; });
      row != kChoices.end())
    return read_choice(*row, value, stack);
  if (key == "attention") return read_attention(value, stack);
  if (key == "name" || key == "source") {
    CHAKRA_ASSIGN((key == "name" ? stack.name : stack.source), value.string());
  } else if (key == "elementwise-time") {
    CHAKRA_ASSIGN(stack.elementwise_time, number_within(value, key, 1 / kMostSlower, kMostSlower, kValue));
  } else if (key == "host-us") {
    CHAKRA_ASSIGN(const double us, number_within(value, key, 0, kMostLaunchUs, kValue));
    stack.host_s = us * kMicro;
  } else if (key == "prefill-share") {
    CHAKRA_ASSIGN(stack.serving.prefill_share, number_within(value, key, 0, 1, kValue));
  } else if (key == "products") {
    CHAKRA_ASSIGN(const std::string word, value.string());
    if (word != "sustained" && word != "bursts")
      return value.error(std::string(kValue), "'products' is sustained or bursts");
    stack.serving.bursts = word == "bursts";
  } else if (key == "pass-us" || key == "sequence-us") {
    CHAKRA_ASSIGN(const double us, number_within(value, key, 0, kMostLaunchUs, kValue));
    (key == "pass-us" ? stack.serving.pass_s : stack.serving.sequence_s) = us * kMicro;
  } else if (key == "expert-us") {
    CHAKRA_ASSIGN(const double us, number_within(value, key, 0, kMostLaunchUs, kValue));
    stack.experts.layer_s = us * kMicro;
  } else if (key == "dispatch-ranks") {
    CHAKRA_ASSIGN(const double ranks, number_within(value, key, 0, kMostDispatchRanks, kValue));
    if (ranks != std::floor(ranks)) return value.error(std::string(kValue), "'dispatch-ranks' is a whole number");
    stack.experts.dispatch_ranks = static_cast<int64_t>(ranks);
  } else if (key == "logit-bytes") {
    CHAKRA_ASSIGN(stack.memory.logit_bytes, number_within(value, key, kLeastLogitBytes, kMostLogitBytes, kValue));
  } else if (key == "error") {
    CHAKRA_ASSIGN(stack.error, number_within(value, key, 0, kMostStackError, kValue));
  } else {
    return value.error("device.stack.key", fmt::format("unknown key {}; a stack has 'name', 'attention', "
                                                       "'elementwise-time', 'host-us', 'products', 'pass-us', "
                                                       "'sequence-us', 'prefill-share', 'logit-bytes', 'activations', "
                                                       "'sharding', 'selective', 'dispatch-ranks', 'expert-us', "
                                                       "'error' and 'source'",
                                                       quote(key)));
  }
  return {};
}

Result<Stack> load_stack(const std::string& path) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  if (spec.kind != Spec::Kind::map) return spec.error("device.stack.value", "a stack file must be a map");
  Stack stack;
  for (const auto& [key, value] : spec.fields) CHAKRA_TRY(read_field(key, value, stack));
  if (stack.name.empty()) return spec.error("device.stack.key", "a stack needs 'name'");
  return stack;
}

std::string names() {
  std::string names;
  for (const StackRow& row : kStacks) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

}  // namespace

const std::span<const StackRow> kStacks = kRows;

Result<Stack> find_or_load_stack(const std::string& name_or_file) {
  if (const StackRow* row = find_row(kRows, name_or_file)) return stack(*row);
  if (is_file(name_or_file)) return load_stack(name_or_file);
  return fail(Code::bad_input, "device.stack.unknown",
              fmt::format("{} is neither a stack ({}) nor a file", quote(name_or_file), names()));
}

void use_stack(const Stack& stack, Device& device) {
  device.stack = {stack.name,
                  0,
                  stack.elementwise_time,
                  stack.error,
                  stack.serving.pass_s,
                  stack.serving.sequence_s,
                  stack.memory.fsdp,
                  stack.experts.layer_s,
                  stack.serving.prefill_share};
  if (stack.host_s > 0) device.host_s = stack.host_s;
  if (stack.serving.bursts) device.sustained_time = 1;
  size_t longest = 0;
  for (const AttentionRate& rate : stack.attention) {
    if (!device.name.starts_with(rate.device) || rate.device.size() < longest) continue;
    longest = rate.device.size();
    device.stack.attention_ops_per_s = rate.ops_per_s;
  }
}

Result<void> use_stack(const std::string& name_or_file, Device& device) {
  if (name_or_file.empty()) return {};
  CHAKRA_ASSIGN(const Stack stack, find_or_load_stack(name_or_file));
  use_stack(stack, device);
  return {};
}

}  // namespace chakra::device
