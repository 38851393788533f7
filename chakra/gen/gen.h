// Workloads made from a description of a model and of how it is spread over ranks: the trace of a training step of a
// transformer, as a job by classes of ranks (docs/reference/generating.md says what it holds and what it omits); and
// small named cases (cases.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/gen/cases.h"  // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::gen {

/// One training step of a decoder-only transformer. Ranks: tensor-parallel (with sequence parallelism) times
/// pipeline times data parallel with the optimizer's state shared out.
struct StepOptions {
  // The model.
  int64_t layers = 8;
  int64_t hidden = 1024;
  int64_t ffn = 4096;  ///< width of the MLP between its matrices
  int64_t heads = 16;
  int64_t kv_heads = 0;     ///< fewer than heads: grouped-query attention; 0: as many as heads
  int64_t head_dim = 0;     ///< 0: hidden / heads
  int64_t sequence = 2048;  ///< tokens
  int64_t vocabulary = 32'000;
  bool gated = true;   ///< the MLP has two matrices in (SwiGLU), else one (GELU)
  bool causal = true;  ///< attention does half of its products: those with what comes before

  // The step.
  int64_t micro_batches = 8;     ///< per pipeline
  int64_t micro_batch_size = 1;  ///< sequences

  // Ranks: tp * pp * dp.
  int64_t tp = 1, pp = 1, dp = 1;
  int64_t virtual_stages = 1;      ///< per pipeline stage: its layers are that many pieces of the model
  std::string order = "tp-dp-pp";  ///< of ranks: neighbours in the first have neighbouring numbers

  // The device.
  int64_t bytes_per_element = 2;  ///< of parameters and activations
  int64_t gradient_bytes = 4;     ///< of an element of the gradients that are reduced
  double peak_flop_per_s = 989e12;
  double memory_bytes_per_s = 3350e9;
  double efficiency = 0.6;  ///< the share of the peak that a matrix product reaches
};

/// The whole numbers among the options: name on the command line, bounds, meaning.
struct NumberRow {
  std::string_view name;
  std::string_view description;
  int64_t StepOptions::*value;
  int64_t least, most;
};
extern const std::array<NumberRow, 16> kNumbers;

struct PresetRow {
  std::string_view name;
  std::string_view description;
  StepOptions options;
};
extern const std::array<PresetRow, 5> kPresets;

/// Elements of all matrices, embedding and head included, of the whole model.
double parameters(const StepOptions& options);

/// The ranks of a pipeline stage are a class, so there are pp of them. Group slots "tp" and "dp"; groups "tp0", ...,
/// "dp0", ... Cost: O(nodes of the classes + ranks).
/// Errors (all usage): gen.step.range, gen.step.divide (what must be a multiple of what), gen.step.layers,
/// gen.step.order, gen.step.large.
Result<trace::ClassJob> step(const StepOptions& options);

}  // namespace chakra::gen
