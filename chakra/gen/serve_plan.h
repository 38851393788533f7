// A job of serving, decided: who does which passes, what attention meets in each, what goes from whom to whom.
#pragma once

#include <string>
#include <vector>

#include "chakra/gen/plan.h"

namespace chakra::gen {

/// Alike sequences of a replica in a pass.
struct Reach {
  double count = 1;
  double before = 0, tokens = 1;  ///< of a sequence: in the cache already; that the pass adds
  double prompt = 0;              ///< of a sequence: all that prefill takes in
};
struct ServePass {
  bool decode = false;
  std::vector<Reach> reaches;
  double tokens = 0, ends = 0;  ///< of a replica: that go in; whose logits are computed
};

/// Of a replica, all its sequences together.
double keys_met(const ServePass& pass, const Attention& attention, bool causal);  ///< by its tokens, one by one
double remaining_tokens(const ServePass& pass, const Attention& attention);  ///< of a prompt's, those decode may reach
double tokens_read(const ServePass& pass, const Attention& attention);       ///< new ones, and earlier ones in reach

inline constexpr double kTokenBytes = 4;  ///< of a word's number

/// Ranks that do the same passes.
struct Side {
  std::string prefix;  ///< of its groups
  Mesh mesh;
  int64_t first_rank = 0;
  int64_t sequences = 0;              ///< of a replica
  std::vector<int64_t> first_layers;  ///< of each stage, and their number
  std::vector<ServePass> passes;

  int64_t stages() const { return mesh.of(Axis::pp); }
  /// The cache when all is done: tokens that layers with this attention hold of a replica.
  double held_tokens(const Attention& attention) const;
  std::vector<Slot> slots(bool experts) const;
};

/// A part of the cache, or the tokens, that goes to or comes from another rank.
struct Link {
  int64_t peer = 0;       ///< position in Links::peers
  int64_t sequences = 0;  ///< of those of a replica that prefills
  double width = 0;       ///< of the cache: elements of a token
};
struct Links {
  std::vector<int64_t> peers;             ///< ranks, ascending
  std::vector<std::vector<Link>> layers;  ///< of the rank's stage
  std::vector<Link> tokens;               ///< the last stage's to the first one's
};

struct ServePlan {
  ServeOptions o;  ///< nothing left to a default
  StepOptions rates;
  std::vector<Side> sides;  ///< one, or prefill and decode
  bool experts = false;

  bool separate() const { return sides.size() > 1; }
  double element() const { return static_cast<double>(o.bytes_per_element); }
  double cache_element() const { return static_cast<double>(o.kv_bytes_per_element); }
  const Attention& attention(int64_t layer) const { return o.model.block(static_cast<size_t>(layer)).attention; }
  /// Elements that a token leaves in the cache of a layer, and of them those of a tensor-parallel rank.
  Extent cache(const Attention& attention) const {
    return model::cache_extent(attention, o.absorbed && attention.kv_rank > 0);
  }
  double cache_width(const Attention& attention, const Mesh& mesh) const;

  /// Programs of a pass on a mesh: of kinds of layers; then embedding, head (empty where the pass has no logits).
  std::vector<Unit> units(const Mesh& mesh, const ServePass& pass) const;
  /// A pass that all parts of the model have.
  static ServePass whole_pass() { return {true, {{1, 0, 1, 0}}, 1, 1}; }
  /// Of a rank of a side: what it gives to, or gets from, ranks of the other one. Cost: O(layers x peers).
  Links links(size_t side, int64_t rank) const;
  /// Bytes of a link after a pass of prefill.
  double cache_bytes(const Link& link, const ServePass& pass, const Attention& attention) const;
  double token_bytes(const Link& link, const ServePass& pass) const;
};

/// Errors: those of serve().
Result<ServePlan> serve_plan(const ServeOptions& options);

}  // namespace chakra::gen
