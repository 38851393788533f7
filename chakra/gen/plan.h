// The plan of a step: the mesh, the parts of the model as programs, the owners of the parts, the groups.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chakra/gen/blocks.h"
#include "chakra/gen/layout.h"
#include "chakra/gen/program.h"

namespace chakra::gen {

/// A part of the model on a stage.
struct Part {
  std::string name;  ///< "layer3", "embedding", "head"
  std::shared_ptr<const Unit> unit;
  Parameters parameters;
};

struct Plan {
  StepOptions o;  ///< all defaults resolved
  Mesh mesh;
  Layout layout;
  Pipeline pipeline;
  const ScheduleRow* schedule = nullptr;
  /// Kinds of layers, with all experts chosen equally; then the parts before and after the layers, and a layer of MTP.
  std::vector<std::shared_ptr<const Unit>> kinds;
  std::vector<int64_t> first_layers;  ///< of each piece of the model; then the number of layers
  /// Ranks that sum gradients and shard: for dense parts, for experts.
  Slot data, experts;
  Slot replicas;  ///< further ranks that sum gradients, and do not shard; size 1: no such ranks

  int64_t pieces() const { return static_cast<int64_t>(first_layers.size()) - 1; }
  int64_t piece(int64_t stage, int64_t chunk) const { return schedule->piece(pipeline, stage, chunk); }
  /// Return the stage that has the piece and works on this chunk's micro-batches.
  int64_t holder(int64_t piece, int64_t chunk) const;
  /// Return the parts of a rank with the experts of this place of ep. Cost: compiles layers with skewed experts.
  std::vector<Part> parts(int64_t piece, int64_t place) const;
  /// Return the number of places of ep whose ranks do different work.
  int64_t places() const { return o.expert_skew > 0 ? o.ep : 1; }
  /// Return the elements of a part that a rank has, if ZeRO shards
  /// from this level on: the optimizer 1, gradients 2, parameters 3.
  double held(const Parameters& part, int64_t level) const {
    const double dense = level < 3 ? part.dense - part.frozen_dense : part.dense;
    const double of_experts = level < 3 ? part.experts - part.frozen_experts : part.experts;
    return o.zero >= level ? data.share(dense) + experts.share(of_experts) : dense + of_experts;
  }
  /// Return held() without sharding.
  static double all(const Parameters& part, int64_t level) {
    return part.dense + part.experts - (level < 3 ? part.frozen_dense + part.frozen_experts : 0);
  }
  /// Return whether ranks shard the parameters: no rank has all parameters of the part outside the work on the part.
  bool gathers(const Parameters& part) const { return held(part, 3) < part.dense + part.experts; }
  const std::shared_ptr<const Unit>& front() const { return kinds[o.model.blocks.size()]; }
  const std::shared_ptr<const Unit>& end() const { return kinds[o.model.blocks.size() + 1]; }
  const std::shared_ptr<const Unit>& prediction() const { return kinds[o.model.blocks.size() + 2]; }
  /// Return whether first and last stage have the same table, and each a part of the table's gradient.
  bool tied_apart() const {
    return (o.model.tied || o.model.mtp_layers > 0) && o.ends && pipeline.stages > 1 && schedule->copies == 1;
  }
  std::vector<Slot> slots(int64_t stage) const;

 private:
  std::shared_ptr<const Unit> skewed(BlockRow::Place kind, const Block& block, int64_t layer, int64_t place) const;
};

/// Return the average bytes of optimizer state for an element of a part:
/// the moments, and the parameter in 32 bits if the model has another type.
double optimizer_bytes(const StepOptions& options, const Parameters& part);

/// Plan a step. Errors: those of step().
Result<Plan> plan(const StepOptions& options);
/// Return the first layer of each piece, then the number of layers. If the layers cannot be dealt out evenly, the
/// embedding and the head (`ends`) count as a layer each, and the pieces after the first get the remaining layers.
std::vector<int64_t> deal_layers(int64_t layers, int64_t pieces, bool ends);
/// Return the elements of the adapters of `lora_rank`, over all layers.
double adapters(const StepOptions& options);
/// Compile the parts for `mesh`, in the order of Plan::kinds.
std::vector<std::shared_ptr<const Unit>> compile_parts(const StepOptions& options, const Mesh& mesh);

}  // namespace chakra::gen
