// Serving: a batch of prompts goes through a transformer (prefill), then each sequence grows token by token (decode),
// with the keys and values of earlier tokens in a cache. docs/reference/serving.md has the formulas.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/gen/communication.h"
#include "chakra/model/model.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

/// Ranks that do the same passes: tp x pp x dp. A data-parallel rank is a replica with a batch of its own; ep of them
/// share out the experts.
struct ServeMesh {
  int64_t tp = 1, pp = 1, dp = 1, ep = 1;
};

struct ServeOptions {
  model::Model model;

  ServeMesh mesh;                 ///< of all ranks, or of those that decode
  ServeMesh prefill{0, 0, 0, 0};  ///< ranks of their own for prefill, before the others; 0: 1 where another is given
  bool separate() const { return prefill.tp > 0 || prefill.pp > 0 || prefill.dp > 0 || prefill.ep > 0; }

  /// Tokens of the sequences of a replica of `mesh`: of their prompts; without prompts what the first step attends to,
  /// its own token included. A single number stands for all of `batch`.
  std::vector<int64_t> contexts{1024};
  int64_t batch = 0;    ///< sequences of a replica; 0: as many as contexts
  bool prompts = true;  ///< the job begins with prefill
  int64_t chunk = 0;    ///< tokens of a prompt that prefill takes at once; 0: all
  int64_t steps = 1;    ///< of decode: each adds a token to every sequence

  bool absorbed = true;     ///< latent attention keeps latents and decodes on them; else keys and values of all heads
  bool all_logits = false;  ///< of all tokens of a prompt, not only of the last one
  bool merged_products = true;  ///< products of one input with several matrices are one, as servers do
  bool overlap = true;          ///< computations that need no result of a collective run beside it

  int64_t bytes_per_element = 2;     ///< of parameters and activations
  bool fp8 = false;                  ///< matrices of layers lie in 8 bits, and products read 8 bits an element
  int64_t kv_bytes_per_element = 0;  ///< of the cache; 0: likewise
  std::string kv_tier;               ///< of storage, with a share of the cache
  double kv_tier_share = 0;

  double peak_flop_per_s = 989e12;
  double memory_bytes_per_s = 3350e9;
  double efficiency = 0.6;    ///< the share of the peak that a matrix product reaches
  double fp8_flop_per_s = 0;  ///< the peak of products with 8-bit inputs; 0: twice the other
  /// What the host takes between two passes, when no kernel runs: for a pass, and for each of its sequences.
  int64_t pass_ns = 0, sequence_ns = 0;
};

struct ServeNumberRow {
  std::string_view name;
  std::string_view description;
  int64_t& (*value)(ServeOptions& options);
  int64_t least, most;
};
extern const std::array<ServeNumberRow, 13> kServeNumbers;
struct ServeSwitchRow {
  std::string_view name;
  std::string_view description;
  bool ServeOptions::*value;
};
extern const std::array<ServeSwitchRow, 5> kServeSwitches;

/// A class for each pipeline stage, or more where ranks of one send or take different parts of the cache. Group slots
/// "tp", "ep", "etp", with "prefill-" before those of ranks of their own. Cost: O(nodes of the classes + ranks), with
/// ranks of their own for prefill also O(ranks x layers).
/// Errors (all usage): gen.serve.range, gen.serve.divide, gen.serve.large, gen.serve.unsupported.
Result<trace::ClassJob> serve(const ServeOptions& options);

/// Of all prefill passes, or all decode steps, all ranks.
struct PhaseStats {
  double tokens = 0;                            ///< that go in
  double operations = 0;                        ///< products only, a multiply-add counts 2
  double surplus = 0;                           ///< of them those that one rank alone would not do
  double parameter_bytes = 0, cache_bytes = 0;  ///< read
};
/// Bytes that a rank holds at most.
struct ServeMemory {
  double parameters = 0;
  double cache = 0;        ///< of its layers and heads, when all is done; without the share in a tier
  double expanded = 0;     ///< keys and values of all heads, which latent attention keeps between chunks of a prompt
  double activations = 0;  ///< inputs and output of an operator, the most of them all
  double sum() const { return parameters + cache + expanded + activations; }
};
struct ServeClassStats {
  bool prefill = false, decode = false;  ///< what its ranks do
  int64_t first_rank = 0, ranks = 0;
  double parameters = 0, operations = 0;  ///< of a rank
  double parameter_bytes = 0, cache_bytes = 0;
  ServeMemory memory;
  std::vector<Communication> communication;  ///< messages in the groups "pp" and "kv"
  std::vector<StorageSum> storage;
};
struct ServeStats {
  int64_t parameters = 0, active_parameters = 0;
  int64_t kv_bytes_per_token = 0;  ///< as the cache holds it, all layers
  PhaseStats prefill, decode;
  double transfer_bytes = 0;  ///< of the cache, from ranks of prefill to those of decode
  std::vector<ServeClassStats> classes;
};
/// Of the job that serve() makes of these options.
Result<ServeStats> serve_stats(const ServeOptions& options, const trace::ClassJob& job);

}  // namespace chakra::gen
