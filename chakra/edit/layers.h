// Trace -> Trace: show the number of layers by the cells of a grid. Removed layers leave their time and their
// dependencies to the layers that stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/edit/grid.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// How the layers of a job are shown: the same for all ranks.
struct LayerHiding {
  Cell cell;            ///< of the number of layers
  int64_t layers = 0;   ///< of the model, in the cell
  int64_t stages = 1;   ///< among which a pipeline divides the layers
  int64_t longest = 0;  ///< the most layers_of() of a rank: fewer than the layers of a stage if the first one differs
  /// Also remove communications that differ between the removed layers, such as buckets of gradients. It is right where
  /// all ranks remove the same ones.
  bool removes_uneven = true;
};
/// Return the factor for the bytes of communications of a layer that stays: the middle of the cell over its least
/// number. It is the same for all jobs of the cell.
double growth(const LayerHiding& hiding);

/// Return the layers of a run of the trace, of which each virtual stage of a pipeline has its own; 0: the trace repeats
/// nothing. Cost: that of find_layers().
int64_t layers_of(const trace::Trace& trace);

/// What hiding layers did to a trace.
struct HiddenLayers {
  int64_t nodes = 0;              ///< removed
  double bytes = 0;               ///< of removed communications
  int64_t before = 0, after = 0;  ///< layers of a run of the trace; 0: the trace repeats nothing
  std::vector<uint8_t> grows;     ///< by node of the result: a communication of a layer
  struct Messages {
    int64_t sent = 0, received = 0;
  };
  std::map<std::string, uint64_t> collectives;  ///< by group, which stay: a hash of their places in the group
  std::map<int64_t, Messages> messages;         ///< by peer: removed
};

/// Remove layers. The layers are equal parts of the operations of a thread (names without digits), or of all nodes of a
/// trace without threads; device operations and communications belong to the operation that launched them. In each run
/// of equal parts, the first and the last part stay, and those after the first (of backward passes: before the last)
/// are removed, until the run has the parts that the least number of layers of the cell would have.
///   - Times: the parts that stay stretch over the time of the run, lane by lane; durations without a start grow by
///     the ratio of the numbers.
///   - Dependencies: an edge to a removed operation ends at its counterpart in the next part that stays. An edge from a
///     removed operation begins at its counterpart in the part before.
///   - Communications that differ between the removed parts stay, unless `removes_uneven`.
/// Ids become places, sequence numbers of groups count up, and attributes that number operations are removed, since
/// they would show gaps. A trace that repeats nothing stays. Errors: edit.layers.few (a run would keep fewer than two
/// parts), edit.layers.order (the result has a cycle). Cost: that of find_layers(), and O(nodes log nodes + edges).
Result<trace::Trace> hide_layers(const trace::Trace& trace, const LayerHiding& hiding, HiddenLayers& hidden);

/// The tag of the errors of LayerAgreement.
inline constexpr std::string_view kLayersDiffer = "edit.layers.ranks";

/// Checks that all ranks keep the same communications.
class LayerAgreement {
 public:
  using GroupKey = std::function<std::string(const std::string& group)>;  ///< the group of the job: unique
  using PeerOf = std::function<int64_t(int64_t peer)>;                    ///< the rank
  /// Errors: edit.layers.ranks (a member of a group keeps other collectives).
  Result<void> add(int64_t rank, const HiddenLayers& hidden, const GroupKey& group_of, const PeerOf& peer_of);
  /// Errors: edit.layers.ranks (a rank keeps messages that a peer with a trace removes).
  Result<void> finish() const;

 private:
  std::map<std::string, std::pair<uint64_t, int64_t>> collectives_;  ///< by group: hash, and the first rank
  std::map<std::pair<int64_t, int64_t>, int64_t> messages_;          ///< from and to: removed sends minus receives
  std::set<int64_t> ranks_;
};

}  // namespace chakra::edit
