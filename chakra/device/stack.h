// Software stacks: how a framework uses a device. A device file has kernels as libraries
// run them alone. A stack describes the framework's attention, its fusion of elementwise
// work, and the time of its host to launch an operation. docs/reference/formats/stack.md.
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

/// The rate of a stack's attention on a family of devices: FLOP/s of the model (4 x
/// tokens^2 / 2 for each head and element of the head forward, twice as many backward).
struct AttentionRate {
  std::string device;  ///< a name, or the beginning of names: "A100"
  double ops_per_s = 0;
};

/// Memory use of a framework during a training step.
struct StackMemory {
  double logit_bytes = 14;  ///< of a logit during the loss: the logits and their copies
  bool eager = false;       ///< operations are not fused: backward keeps the output of each operation
  bool fsdp = false;        ///< ranks shard parameters in 32 bits only, and in pipelines gather parameters once a step
  bool per_operator = false;  ///< the framework's selective recomputation keeps every second matrix multiplication
};

/// How a framework brings tokens to experts.
struct StackExperts {
  int64_t dispatch_ranks = 0;  ///< of a node: a token goes once to each node (gen::Framework::dispatch_ranks)
  double layer_s = 0;          ///< a layer, forward and backward, beyond its kernels and messages
};

/// Time of a framework between passes of serving.
struct StackServing {
  double pass_s = 0, sequence_s = 0;  ///< for a pass; for each sequence of the pass
  double prefill_share = 1;           ///< of other sequences' prompts: share that delays a sequence between tokens
  bool bursts = false;                ///< multiplications follow memory-bound work: ignore Device::sustained_time
};

struct Stack {
  std::string name;
  std::vector<AttentionRate> attention{};  ///< by device; all other devices use their tables
  double elementwise_time = 1;             ///< of operations without multiplications, relative to fused kernels
  double host_s = 0;                       ///< that the host needs to launch an operation; 0: as in the device file
  double error = 0;                        ///< of whole steps outside of the fit of the constants; 0: unknown
  std::string source{};
  StackMemory memory{};
  StackServing serving{};
  StackExperts experts{};
};

/// The effect of a stack on a device.
struct StackUse {
  std::string name{};
  double attention_ops_per_s = 0;     ///< 0: by the tables
  double elementwise_time = 1;        ///< of operations without multiplications
  double error = 0;                   ///< of whole steps; 0: unknown
  double pass_s = 0, sequence_s = 0;  ///< of the host between passes of serving
  bool fsdp = false;                  ///< StackMemory::fsdp
  double expert_layer_s = 0;          ///< StackExperts::layer_s
  double prefill_share = 1;           ///< StackServing::prefill_share
};

/// A row of the table, in the units of stack files: TFLOP/s, microseconds.
struct StackRow {
  std::string_view name;
  std::array<std::pair<std::string_view, double>, 2> attention;  ///< "": no rate
  double elementwise_time, host_us, error;
  std::string_view source;
  StackMemory memory;
  double pass_us = 0, sequence_us = 0, prefill_share = 1;
  bool bursts = false;
  int64_t dispatch_ranks = 0;
  double expert_us = 0;
};
extern const std::span<const StackRow> kStacks;

/// Find a row, or load a file. Errors: device.stack.unknown, device.stack.key, device.stack.value; those of load_spec.
Result<Stack> find_or_load_stack(const std::string& name_or_file);

/// Apply the stack to the device.
void use_stack(const Stack& stack, Device& device);
/// Apply a stack, given by name or file; empty: no change. Errors: those of find_or_load_stack.
Result<void> use_stack(const std::string& name_or_file, Device& device);

}  // namespace chakra::device
