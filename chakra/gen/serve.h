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
#include "chakra/gen/model.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

/// Ranks that do the same passes: tp x pp x dp. A data-parallel rank is a
/// replica with a separate batch; ep data-parallel ranks share the experts.
struct ServeMesh {
  int64_t tp = 1, pp = 1, dp = 1, ep = 1;
};

struct ServeOptions {
  Model model;

  ServeMesh mesh;                 ///< all ranks, or the ranks that decode
  ServeMesh prefill{0, 0, 0, 0};  ///< separate ranks for prefill, before the others; 0: 1 if another size is given
  bool separate() const { return prefill.tp > 0 || prefill.pp > 0 || prefill.dp > 0 || prefill.ep > 0; }

  /// Tokens of the sequences of a replica of `mesh`: of the prompts; without prompts, the tokens that
  /// the first step attends to, including the new token. A single number applies to all of `batch`.
  std::vector<int64_t> contexts{1024};
  int64_t batch = 0;    ///< sequences of a replica; 0: as many as contexts
  bool prompts = true;  ///< the job begins with prefill
  int64_t chunk = 0;    ///< tokens of a prompt in one prefill pass; 0: all
  int64_t steps = 1;    ///< decode steps: each adds a token to every sequence

  bool absorbed = true;     ///< latent attention caches latents and decodes on them; else keys and values of all heads
  bool all_logits = false;  ///< for all tokens of a prompt, not only for the last
  bool merged_products = true;  ///< one matrix multiplication for all matrices of one input, as in servers
  bool overlap = true;          ///< computations run beside a collective if independent of the result

  int64_t bytes_per_element = 2;     ///< of parameters and activations
  bool fp8 = false;                  ///< matrices of layers have 8 bits, and multiplications read 8-bit elements
  int64_t kv_bytes_per_element = 0;  ///< of the cache; 0: bytes_per_element
  std::string kv_tier;               ///< storage tier with a share of the cache
  double kv_tier_share = 0;

  double peak_flop_per_s = 989e12;
  double memory_bytes_per_s = 3350e9;
  double efficiency = 0.6;    ///< the share of the peak that a matrix multiplication reaches
  double fp8_flop_per_s = 0;  ///< the peak of multiplications with 8-bit inputs; 0: twice peak_flop_per_s
  /// Host time between two passes, when no kernel runs: for a pass, and for each sequence of the pass.
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

/// Generate serving, with a class for each pipeline stage, or more if ranks of a stage send or receive
/// different parts of the cache. Group slots "tp", "ep", "etp", with the prefix "prefill-" for separate
/// prefill ranks. Cost: O(nodes of the classes + ranks), with separate prefill ranks also O(ranks x layers).
/// Errors (all usage): gen.serve.range, gen.serve.divide, gen.serve.large, gen.serve.unsupported.
Result<trace::ClassJob> serve(const ServeOptions& options);

/// Sums over all prefill passes, or all decode steps, of all ranks.
struct PhaseStats {
  double tokens = 0;                            ///< input tokens
  double operations = 0;                        ///< matrix multiplications only, a multiply-add counts 2
  double surplus = 0;                           ///< part of these that a single rank would not do
  double parameter_bytes = 0, cache_bytes = 0;  ///< read
};
/// The most bytes that a rank holds.
struct ServeMemory {
  double parameters = 0;
  double cache = 0;        ///< of the rank's layers and heads, at the end; without the share in a tier
  double expanded = 0;     ///< keys and values of all heads, which latent attention keeps between chunks of a prompt
  double activations = 0;  ///< inputs and output of the largest operator
  double sum() const { return parameters + cache + expanded + activations; }
};
struct ServeClassStats {
  bool prefill = false, decode = false;  ///< phases of these ranks
  int64_t first_rank = 0, ranks = 0;
  double parameters = 0, operations = 0;  ///< of a rank
  double parameter_bytes = 0, cache_bytes = 0;
  ServeMemory memory;
  std::vector<Communication> communication;  ///< messages in the groups "pp" and "kv"
  std::vector<StorageSum> storage;
};
struct ServeStats {
  int64_t parameters = 0, active_parameters = 0;
  int64_t kv_bytes_per_token = 0;  ///< in the cache, over all layers
  PhaseStats prefill, decode;
  double transfer_bytes = 0;  ///< of the cache, from prefill ranks to decode ranks
  std::vector<ServeClassStats> classes;
};
/// Return statistics of the job that serve() makes of these options.
Result<ServeStats> serve_stats(const ServeOptions& options, const trace::ClassJob& job);

}  // namespace chakra::gen
