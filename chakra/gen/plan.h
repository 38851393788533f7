// A step, decided: its mesh, the parts of the model as programs, who has which part, which groups there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chakra/gen/layout.h"
#include "chakra/gen/program.h"
#include "chakra/model/blocks.h"

namespace chakra::gen {

using model::Attention, model::Batch, model::Block, model::BlockRow, model::Experts, model::Family, model::Model;

/// A part of the model on a stage.
struct Part {
  std::string name;  ///< "layer3", "embedding", "head"
  std::shared_ptr<const Unit> unit;
  Parameters parameters;
};

struct Plan {
  StepOptions o;  ///< nothing left to a default
  Mesh mesh;
  Layout layout;
  Pipeline pipeline;
  const ScheduleRow* schedule = nullptr;
  /// Of layers, all experts chosen alike; then what is before and after them, and a layer of multi-token prediction.
  std::vector<std::shared_ptr<const Unit>> kinds;
  std::vector<int64_t> first_layers;  ///< of each piece of the model, and their number
  /// Whose ranks sum gradients, and share things out: of dense parts, of experts.
  Slot data, experts;
  Slot replicas;  ///< further ranks that sum gradients, and share nothing out; size 1: none

  int64_t pieces() const { return static_cast<int64_t>(first_layers.size()) - 1; }
  int64_t piece(int64_t stage, int64_t chunk) const { return schedule->piece(pipeline, stage, chunk); }
  /// The stage that has the piece and works with this chunk's micro-batches.
  int64_t holder(int64_t piece, int64_t chunk) const;
  /// What a rank does whose experts are those of this place of ep. Cost: compiles layers whose experts are skewed.
  std::vector<Part> parts(int64_t piece, int64_t place) const;
  /// Ranks of a stage do different work: by their place of ep.
  int64_t places() const { return o.expert_skew > 0 ? o.ep : 1; }
  /// Elements of a part that a rank has, where ZeRO shares them out from this level on: of the optimizer 1, of
  /// gradients 2, of parameters 3.
  double held(const Parameters& part, int64_t level) const {
    const double dense = level < 3 ? part.dense - part.frozen_dense : part.dense;
    const double of_experts = level < 3 ? part.experts - part.frozen_experts : part.experts;
    return o.zero >= level ? data.share(dense) + experts.share(of_experts) : dense + of_experts;
  }
  /// held() where a rank has all of it.
  static double all(const Parameters& part, int64_t level) {
    return part.dense + part.experts - (level < 3 ? part.frozen_dense + part.frozen_experts : 0);
  }
  /// Ranks share its parameters out: no rank has them all for longer than it works with them.
  bool gathers(const Parameters& part) const { return held(part, 3) < part.dense + part.experts; }
  const std::shared_ptr<const Unit>& front() const { return kinds[o.model.blocks.size()]; }
  const std::shared_ptr<const Unit>& end() const { return kinds[o.model.blocks.size() + 1]; }
  const std::shared_ptr<const Unit>& prediction() const { return kinds[o.model.blocks.size() + 2]; }
  /// First and last stage have the same table, and each a part of its gradient.
  bool tied_apart() const {
    return (o.model.tied || o.model.mtp_layers > 0) && o.ends && pipeline.stages > 1 && schedule->copies == 1;
  }
  std::vector<Slot> slots(int64_t stage) const;

 private:
  std::shared_ptr<const Unit> skewed(BlockRow::Place kind, const Block& block, int64_t layer, int64_t place) const;
};

/// Bytes that the optimizer keeps of an element of a part, on average: its moments, and the parameter in 32 bits where
/// that is not the model's type.
double optimizer_bytes(const StepOptions& options, const Parameters& part);

/// Errors: those of step().
Result<Plan> plan(const StepOptions& options);
/// The first layer of each of the pieces, and the number of layers. Where the layers cannot be dealt out evenly, the
/// embedding and the head (`ends`) count as a layer each, and the remaining ones go to the pieces after the first.
std::vector<int64_t> deal_layers(int64_t layers, int64_t pieces, bool ends);
/// Elements of the adapters of `lora_rank`, of all layers.
double adapters(const StepOptions& options);
/// Parts spread over `mesh`, as Plan::kinds.
std::vector<std::shared_ptr<const Unit>> compile_parts(const StepOptions& options, const Mesh& mesh);

}  // namespace chakra::gen
