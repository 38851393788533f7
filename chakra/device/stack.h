// Software stacks: what a framework does with a device. A device file has kernels as libraries run them alone; a stack
// says which attention it calls, how much of elementwise work it fuses, and what its host takes to launch an operation.
// docs/reference/formats/stack.md.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::device {

struct Device;

/// The rate of a stack's attention on a family of devices: operations of the model (4 x tokens^2 / 2 for each head and
/// element of it forward, twice that backward) per second.
struct AttentionRate {
  std::string device;  ///< a name, or how names begin: "A100"
  double ops_per_s = 0;
};

/// What a framework keeps in memory during a training step.
struct StackMemory {
  double logit_bytes = 14;  ///< of a logit while the loss is at work: the logits and their copies
  bool eager = false;       ///< operations are not fused: backward keeps what each of them leaves
  bool fsdp = false;        ///< ranks that share parameters out have them in 32 bits only, and in pipelines once a step
  bool per_operator = false;  ///< what the framework calls selective recomputation keeps every second product
};

/// What a framework takes in serving, between passes.
struct StackServing {
  double pass_s = 0, sequence_s = 0;  ///< for a pass, and for each of its sequences
  double prefill_share = 1;           ///< of the prompts of others, what a sequence waits for between its tokens
  bool bursts = false;                ///< products follow memory-bound work: Device::sustained_time does not count
};

struct Stack {
  std::string name;
  std::vector<AttentionRate> attention{};  ///< of devices that it does not name: as their tables say
  double elementwise_time = 1;             ///< of operations without products, over what fused kernels take
  double host_s = 0;                       ///< that the host needs to launch an operation; 0: as the device file says
  double error = 0;                        ///< of whole steps that the constants were not fitted to; 0: not known
  std::string source{};
  StackMemory memory{};
  StackServing serving{};
};

/// What a stack makes of a device.
struct StackUse {
  std::string name{};
  double attention_ops_per_s = 0;  ///< 0: as the tables say
  double elementwise_time = 1;     ///< of operations without products
  double error = 0;                ///< of whole steps; 0: not known
};

/// A row of the table, in the units of stack files: TFLOP/s, microseconds.
struct StackRow {
  std::string_view name;
  std::array<std::pair<std::string_view, double>, 2> attention;  ///< "" where it says nothing
  double elementwise_time, host_us, error;
  std::string_view source;
  StackMemory memory;
  double pass_us = 0, sequence_us = 0, prefill_share = 1;
  bool bursts = false;
};
extern const std::span<const StackRow> kStacks;

/// A row's name, or a file. Errors: device.stack.unknown, device.stack.key, device.stack.value, and those of load_spec.
Result<Stack> find_or_load_stack(const std::string& name_or_file);

/// The device as that stack uses it.
void use_stack(const Stack& stack, Device& device);
/// The same, by the stack's name or file; empty: nothing. Errors: those of find_or_load_stack.
Result<void> use_stack(const std::string& name_or_file, Device& device);

}  // namespace chakra::device
