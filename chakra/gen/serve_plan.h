// The plan of a serving job: passes of the ranks, tokens that attention meets in each pass, transfers between ranks.
#pragma once

#include <string>
#include <vector>

#include "chakra/gen/plan.h"

namespace chakra::gen {

/// Equivalent sequences of a replica in a pass.
struct Reach {
  double count = 1;
  double before = 0, tokens = 1;  ///< of a sequence: already in the cache; added by the pass
  double prompt = 0;              ///< of a sequence: all tokens that prefill takes in
};
struct ServePass {
  bool decode = false;
  std::vector<Reach> reaches;
  double tokens = 0, ends = 0;  ///< of a replica: input tokens; tokens with logits
};

/// Return sums over all sequences of a replica.
double keys_met(const ServePass& pass, const Attention& attention, bool causal);  ///< by the tokens, one by one
double remaining_tokens(const ServePass& pass, const Attention& attention);  ///< prompt tokens that decode may reach
double tokens_read(const ServePass& pass, const Attention& attention);       ///< new tokens, and earlier in reach

inline constexpr double kTokenBytes = 4;  ///< of a token's number

/// Ranks that do the same passes.
struct Side {
  std::string prefix;  ///< of group names
  Mesh mesh;
  int64_t first_rank = 0;
  int64_t sequences = 0;              ///< of a replica
  std::vector<int64_t> first_layers;  ///< of each stage; then the number of layers
  std::vector<ServePass> passes;

  int64_t stages() const { return mesh.of(Axis::pp); }
  /// Return the tokens of a replica that layers with this attention have in the cache at the end.
  double held_tokens(const Attention& attention) const;
  std::vector<Slot> slots(bool experts) const;
};

/// A part of the cache, or the tokens, that goes to or comes from another rank.
struct Link {
  int64_t peer = 0;       ///< position in Links::peers
  int64_t sequences = 0;  ///< of a replica that prefills
  double width = 0;       ///< of the cache: elements of a token
};
struct Links {
  std::vector<int64_t> peers;             ///< ranks, ascending
  std::vector<std::vector<Link>> layers;  ///< of the rank's stage
  std::vector<Link> tokens;               ///< from the last stage to the first
};

struct ServePlan {
  ServeOptions o;  ///< all defaults resolved
  StepOptions rates;
  std::vector<Side> sides;  ///< one, or prefill and decode
  bool experts = false;

  bool separate() const { return sides.size() > 1; }
  const Side& side_of(int64_t rank) const { return rank >= sides.back().first_rank ? sides.back() : sides.front(); }
  double element() const { return static_cast<double>(o.bytes_per_element); }
  double cache_element() const { return static_cast<double>(o.kv_bytes_per_element); }
  const Attention& attention(int64_t layer) const { return o.model.block(static_cast<size_t>(layer)).attention; }
  /// Return the elements that a token adds to the cache of a layer; cache_width(): those of a tensor-parallel rank.
  Extent cache(const Attention& attention) const {
    return model::cache_extent(attention, o.absorbed && attention.kv_rank > 0);
  }
  double cache_width(const Attention& attention, const Mesh& mesh) const;

  /// Return the programs of a pass on a mesh: of kinds of layers; then embedding and head (empty without logits).
  std::vector<Unit> units(const Mesh& mesh, const ServePass& pass) const;
  /// Return a pass that uses all parts of the model.
  static ServePass whole_pass() { return {true, {{1, 0, 1, 0}}, 1, 1}; }
  /// Return the transfers between a rank of a side and ranks of the other side. Cost: O(layers x peers).
  Links links(size_t side, int64_t rank) const;
  /// Return the bytes of a link after a prefill pass.
  double cache_bytes(const Link& link, const ServePass& pass, const Attention& attention) const;
  double token_bytes(const Link& link, const ServePass& pass) const;
};

/// Plan a serving job. Errors: those of serve().
Result<ServePlan> serve_plan(const ServeOptions& options);

}  // namespace chakra::gen
