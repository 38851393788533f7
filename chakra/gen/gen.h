// Synthetic workloads: the trace of a training step, as a job by classes of ranks, made from
// a description of a model and of its distribution over ranks (docs/reference/generating.md
// lists the contents and omissions); and small named cases (cases.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/gen/cases.h"  // IWYU pragma: export
#include "chakra/gen/communication.h"
#include "chakra/gen/layout.h"  // IWYU pragma: export
#include "chakra/gen/recipe.h"  // IWYU pragma: export
#include "chakra/gen/schedule.h"
#include "chakra/gen/serve.h"  // IWYU pragma: export
#include "chakra/model/model.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

enum class ContextKind : uint8_t { ring, gather, all_to_all };
inline constexpr std::array<std::string_view, 3> kContextNames{"ring", "gather", "all-to-all"};  ///< by ContextKind
/// Activation recomputation in backward: off; attention (fused: only its scores); all but attention, sums
/// over ranks and every second matrix multiplication of a layer, as torchtitan's "op" does; all of a layer.
enum class Recompute : uint8_t { none, selective, per_operator, full };
inline constexpr std::array<std::string_view, 4> kRecomputeNames{"none", "selective", "per-operator",
                                                                 "full"};  ///< by Recompute

/// An optimizer, which updates the parameters.
struct OptimizerRow {
  std::string_view name;
  double state_bytes;  ///< of optimizer state for each element, beside the parameter in 32 bits
  bool orthogonal;     ///< momentum of layer matrices only, orthogonalized by Newton-Schulz; all else as AdamW
  std::string_view description;
};
inline constexpr std::array<OptimizerRow, 6> kOptimizers{{
    {"adamw", 8, false, "two moments in 32 bits"},
    {"adamw-bf16", 4, false, "two moments in 16 bits"},
    {"adamw-8bit", 2 + 8.0 / 256, false, "two moments in 8 bits, with a scale in 32 bits for 256 of them"},
    {"sgd", 0, false, "no moments"},
    {"sgd-momentum", 4, false, "one moment in 32 bits"},
    {"muon", 4, true, "one moment in 32 bits, five steps of Newton and Schulz; other parameters by adamw"},
}};

/// When the host waits for computations: not at all; for the last computation of each forward and
/// backward pass, as a loop that reads the loss does; or for the last computation of each part
/// (embedding, layer, head), as timers of layers do. The host always waits for messages of other stages.
enum class HostWaits : uint8_t { messages, passes, parts };
inline constexpr std::array<std::string_view, 3> kHostWaitNames{"messages", "passes", "parts"};  ///< by HostWaits

inline constexpr int64_t kMostSampleBytes = int64_t{1} << 40;
/// Data that a step reads from or writes to tiers of storage; an empty tier: no such data.
struct StepStorage {
  std::string data_tier;           ///< the first stage reads a micro-batch before the forward pass
  int64_t sample_bytes = 0;        ///< of a sequence; 0: 4 per token
  std::string checkpoint_tier;     ///< ranks write parameters and optimizer, each element by one rank
  bool checkpoint_behind = false;  ///< write the previous step's state during this step, until the optimizer starts
  std::string restart_tier;        ///< each rank reads its state at the beginning
};

/// How a framework trains (docs/reference/formats/stack.md).
struct Framework {
  double logit_bytes = 0;     ///< of a 16-bit logit during the loss, copies included; 0: 2
  bool eager = false;         ///< operations are not fused: backward keeps the output of each operation
  bool fsdp = false;          ///< PyTorch's FSDP and DTensor: settled()
  bool per_operator = false;  ///< selective recomputation is Recompute::per_operator
  /// Ranks of a node: a token goes once to each node with one of its experts (DeepEP, HybridEP). 0: once to each
  /// expert.
  int64_t dispatch_ranks = 0;
};

/// One training step on tp x cp x dp x pp ranks. The experts of a layer
/// arrange the ranks of a stage as etp x ep x (tp x cp x dp / (etp x ep)).
struct StepOptions {
  model::Model model = model::default_model();

  int64_t sequence = 0;          ///< tokens; 0: the model's
  int64_t micro_batches = 8;     ///< per pipeline
  int64_t micro_batch_size = 1;  ///< sequences

  int64_t tp = 1, cp = 1, pp = 1, dp = 1;
  int64_t ep = 1, etp = 0;  ///< etp 0: as tp
  int64_t virtual_stages = 1;
  std::string order = "tp-cp-ep-dp-pp";  ///< of ranks: neighbours on the first axis have consecutive numbers
  std::string schedule;                  ///< of kSchedules; empty: 1f1b, or interleaved with virtual stages

  /// Between the tensor-parallel parts a rank has a share of the tokens, if the model permits.
  bool sequence_parallel = true;
  bool keep_gathered = false;   ///< gathered inputs of a matrix multiplication are kept for backward
  int64_t zero = 1;             ///< data-parallel ranks shard: 1 optimizer, 2 also gradients, 3 also parameters
  int64_t zero_ranks = 0;       ///< neighbours of dp that shard, the others have copies; 0: all of dp
  bool fused_attention = true;  ///< attention scores never reach memory
  std::optional<bool> dropout;  ///< masks are kept; absent: only with learned positions, as in GPT-2's family
  ContextKind context = ContextKind::ring;
  Recompute recompute = Recompute::none;
  size_t optimizer = 0;  ///< an index into kOptimizers
  /// Low-rank adapters beside the multiplications of attention and, with lora_mlp, of MLPs; all else is frozen. 0: off.
  int64_t lora_rank = 0;
  bool lora_mlp = true;
  /// Experts are chosen by Zipf's law: the r-th most popular expert in proportion
  /// to 1 / r^skew. The seed gives the order of popularity in each layer.
  double expert_skew = 0;
  int64_t seed = 0;
  bool overlap = true;  ///< computations run beside a collective if independent of the result
  bool clip = false;    ///< gradients are scaled by their norm
  bool ends = true;     ///< with embedding, head and loss; an MLP has no such parts
  StepStorage storage;

  int64_t bytes_per_element = 2;  ///< of parameters and activations
  bool fp16 = false;              ///< two-byte elements are float16, not bfloat16
  int64_t gradient_bytes = 4;     ///< of an element of the gradients
  Framework framework;
  /// Matrix multiplications of the layers read 8-bit inputs (generating.md, "8 bits").
  bool fp8 = false;
  double peak_flop_per_s = 989e12;
  double fp8_flop_per_s = 0;  ///< the peak of these multiplications; 0: twice peak_flop_per_s
  double memory_bytes_per_s = 3350e9;
  double efficiency = 0.6;                     ///< the share of the peak that a matrix multiplication reaches
  int64_t host_ns = 0;                         ///< time of a host to launch an operation; 0: the trace has no host
  HostWaits host_waits = HostWaits::messages;  ///< when the host synchronizes with the device
};

/// Return the options as the framework applies them. PyTorch's FSDP shards parameters in 32 bits
/// only, and in pipelines gathers and reduces once a step, as ZeRO 1 does. DTensor keeps the tensors
/// that tensor parallelism gathers, and takes 16 bytes of a logit if ranks share the vocabulary.
StepOptions settled(StepOptions options);

/// The integers among the options: name on the command line, bounds, meaning.
struct NumberRow {
  std::string_view name;
  std::string_view description;
  int64_t StepOptions::*value;
  int64_t least, most;
};
extern const std::array<NumberRow, 16> kNumbers;
struct SwitchRow {
  std::string_view name;
  std::string_view description;
  bool StepOptions::*value;
};
extern const std::array<SwitchRow, 7> kSwitches;

struct PresetRow {
  std::string_view name;
  std::string_view description;
  StepOptions (*options)();
};
extern const std::array<PresetRow, 5> kPresets;

/// Generate a step, with a class for each pipeline stage. Group slots "tp", "dp" ("dp-cp" if context is
/// parallel), "cp", "ep", "etp", "edp", "tied"; groups "tp0", ... Cost: O(nodes of the classes + ranks).
/// Errors (all usage): gen.step.range, gen.step.divide (a number must be a multiple of another),
/// gen.step.layers, gen.step.order, gen.step.schedule, gen.step.large.
Result<trace::ClassJob> step(const StepOptions& options);

/// Bytes that a rank holds during the step.
struct Memory {
  double parameters = 0, gradients = 0, optimizer = 0, activations_peak = 0;
  double working = 0;  ///< at the peak, of the current part: recomputed or gathered tensors, gradients not yet reduced
  double tensors() const { return parameters + gradients + optimizer + activations_peak + working; }
  /// Return rounding and unused memory of an allocator: 5 %, as in published steps (docs/explanation/accuracy.md).
  double allocator() const { return tensors() / 20; }
  double sum() const { return tensors() + allocator(); }
};
struct ClassStats {
  int64_t first_rank = 0, ranks = 0;
  double parameters = 0, operations = 0;  ///< of a rank
  double fp8_operations = 0;              ///< part of these: multiplications with 8-bit inputs (StepOptions::fp8)
  Memory memory;
  std::vector<Communication> communication;
  std::vector<StorageSum> storage;
};
/// A kind of operator whose work several ranks duplicate.
struct Surplus {
  std::string name;
  double operations = 0;  ///< of the step, over all ranks
};
struct StepStats {
  int64_t parameters = 0, active_parameters = 0;
  double trained_parameters = 0;  ///< those of adapters; 0: all parameters are trained
  double tokens = 0, operations = 0, fp8_operations = 0;
  double bubble = 0;  ///< idle time over work of the schedule, if a forward pass takes as long as each gradient
  bool bubble_depends = false;  ///< the bubble differs if these times differ
  std::vector<ClassStats> classes;
  std::vector<Surplus> surplus;
};
/// Return sums over the nodes of the job that step() makes of these options; memory by formulas (generating.md).
Result<StepStats> stats(const StepOptions& options, const trace::ClassJob& job);

}  // namespace chakra::gen
