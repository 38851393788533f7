// Workloads made from a description of a model and of how it is spread over ranks: the trace of a training step, as a
// job by classes of ranks (docs/reference/generating.md says what it holds and what it omits); and small named cases
// (cases.h).
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
/// What backward computes again: nothing; attention (fused: only its scores); all but attention, sums over ranks and
/// every second product of a layer, as torchtitan's "op" does; all of a layer.
enum class Recompute : uint8_t { none, selective, per_operator, full };
inline constexpr std::array<std::string_view, 4> kRecomputeNames{"none", "selective", "per-operator",
                                                                 "full"};  ///< by Recompute

/// What updates the parameters.
struct OptimizerRow {
  std::string_view name;
  double state_bytes;  ///< that it keeps for each element beside the parameter in 32 bits
  bool orthogonal;     ///< momentum of a layer's matrices alone, made orthogonal by Newton and Schulz; else as AdamW
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

/// Which computations a host waits for: none; the last one of each forward and backward pass, as a loop that reads the
/// loss does; or the last one of each part (embedding, layer, head), as timers of layers do. For messages of other
/// stages it always waits.
enum class HostWaits : uint8_t { messages, passes, parts };
inline constexpr std::array<std::string_view, 3> kHostWaitNames{"messages", "passes", "parts"};  ///< by HostWaits

inline constexpr int64_t kMostSampleBytes = int64_t{1} << 40;
/// What of a step is read from or written to tiers of storage; an empty tier: nothing.
struct StepStorage {
  std::string data_tier;           ///< the first stage reads a micro-batch before its forward pass
  int64_t sample_bytes = 0;        ///< of a sequence; 0: 4 a token
  std::string checkpoint_tier;     ///< parameters and optimizer are written, each element by one rank
  bool checkpoint_behind = false;  ///< those of the step before, beside this step, until the optimizer changes them
  std::string restart_tier;        ///< at the beginning each rank reads what it holds
};

/// How a framework trains (docs/reference/formats/stack.md).
struct Framework {
  double logit_bytes = 0;     ///< of a logit of 16 bits while the loss is at work, its copies included; 0: 2
  bool eager = false;         ///< operations are not fused: backward keeps what each of them leaves
  bool fsdp = false;          ///< PyTorch's FSDP and DTensor: settled()
  bool per_operator = false;  ///< its selective recomputation is Recompute::per_operator
};

/// One training step, and the ranks that do it: tp x cp x dp x pp. The experts of a layer see the ranks of a stage as
/// etp x ep x (tp x cp x dp / (etp x ep)).
struct StepOptions {
  model::Model model = model::default_model();

  int64_t sequence = 0;          ///< tokens; 0: the model's
  int64_t micro_batches = 8;     ///< per pipeline
  int64_t micro_batch_size = 1;  ///< sequences

  int64_t tp = 1, cp = 1, pp = 1, dp = 1;
  int64_t ep = 1, etp = 0;  ///< etp 0: as tp
  int64_t virtual_stages = 1;
  std::string order = "tp-cp-ep-dp-pp";  ///< of ranks: neighbours in the first have neighbouring numbers
  std::string schedule;                  ///< of kSchedules; empty: 1f1b, or interleaved with virtual stages

  /// Between the tensor-parallel parts a rank has a share of the tokens, where the model lets share them out.
  bool sequence_parallel = true;
  bool keep_gathered = false;   ///< what is gathered for a product is kept for backward
  int64_t zero = 1;             ///< what data-parallel ranks share out: 1 optimizer, 2 also gradients, 3 parameters
  int64_t zero_ranks = 0;       ///< neighbours of dp that share out, others have copies; 0: all of dp
  bool fused_attention = true;  ///< its scores never reach memory
  std::optional<bool> dropout;  ///< masks are kept; absent: with learned positions, as GPT-2's family
  ContextKind context = ContextKind::ring;
  Recompute recompute = Recompute::none;
  size_t optimizer = 0;  ///< an index into kOptimizers
  /// Low-rank adapters beside the products of attention and, with lora_mlp, of MLPs; all else is frozen. 0: none.
  int64_t lora_rank = 0;
  bool lora_mlp = true;
  /// Experts are chosen by Zipf's law: the r-th most popular 1 / r^skew as often, in an order of each layer by the
  /// seed.
  double expert_skew = 0;
  int64_t seed = 0;
  bool overlap = true;  ///< computations that need no result of a collective run beside it
  bool clip = false;    ///< gradients are scaled by their norm
  bool ends = true;     ///< with embedding, head and loss; an MLP has none
  StepStorage storage;

  int64_t bytes_per_element = 2;  ///< of parameters and activations
  bool fp16 = false;              ///< two bytes are float16, not bfloat16
  int64_t gradient_bytes = 4;     ///< of an element of the gradients
  Framework framework;
  /// Products of the layers read their inputs in 8 bits (generating.md, "8 bits").
  bool fp8 = false;
  double peak_flop_per_s = 989e12;
  double fp8_flop_per_s = 0;  ///< the peak of these products; 0: twice the other
  double memory_bytes_per_s = 3350e9;
  double efficiency = 0.6;                     ///< the share of the peak that a matrix product reaches
  int64_t host_ns = 0;                         ///< what a host needs to launch an operation; 0: the trace has no host
  HostWaits host_waits = HostWaits::messages;  ///< what it waits for
};

/// The options as their framework takes them. PyTorch's FSDP shares parameters out in 32 bits alone, and in pipelines
/// gathers and reduces once a step, as ZeRO 1 does; DTensor keeps what tensor parallelism gathers, and takes 16 bytes
/// of a logit where ranks share the vocabulary out.
StepOptions settled(StepOptions options);

/// The whole numbers among the options: name on the command line, bounds, meaning.
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

/// A class for each pipeline stage. Group slots "tp", "dp" ("dp-cp" where context is parallel), "cp", "ep", "etp",
/// "edp", "tied"; groups "tp0", ... Cost: O(nodes of the classes + ranks).
/// Errors (all usage): gen.step.range, gen.step.divide (what must be a multiple of what), gen.step.layers,
/// gen.step.order, gen.step.schedule, gen.step.large.
Result<trace::ClassJob> step(const StepOptions& options);

/// Bytes that a rank holds while it does the step.
struct Memory {
  double parameters = 0, gradients = 0, optimizer = 0, activations_peak = 0;
  double working = 0;  ///< at the peak, of the part at work: what is computed again, gathered, not yet reduced
  double tensors() const { return parameters + gradients + optimizer + activations_peak + working; }
  /// What an allocator rounds up and leaves unused: 5 %, as published steps have it (docs/explanation/accuracy.md).
  double allocator() const { return tensors() / 20; }
  double sum() const { return tensors() + allocator(); }
};
struct ClassStats {
  int64_t first_rank = 0, ranks = 0;
  double parameters = 0, operations = 0;  ///< of a rank
  double fp8_operations = 0;              ///< of them those of products with 8-bit inputs (StepOptions::fp8)
  Memory memory;
  std::vector<Communication> communication;
  std::vector<StorageSum> storage;
};
/// A kind of operator whose work some ranks do more than once.
struct Surplus {
  std::string name;
  double operations = 0;  ///< of the step, all ranks
};
struct StepStats {
  int64_t parameters = 0, active_parameters = 0;
  double trained_parameters = 0;  ///< those of adapters; 0: all parameters are trained
  double tokens = 0, operations = 0, fp8_operations = 0;
  double bubble = 0;  ///< the schedule's idle time over its work, where a forward takes as long as each gradient
  bool bubble_depends = false;  ///< it is another one where they take different times
  std::vector<ClassStats> classes;
  std::vector<Surplus> surplus;
};
/// Of the job that step() makes of these options, counted node by node; memory by formulas (generating.md).
Result<StepStats> stats(const StepOptions& options, const trace::ClassJob& job);

}  // namespace chakra::gen
