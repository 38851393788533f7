// The nodes of a stage: streams, what each waits for, and the places of neighbours.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "chakra/gen/stage_work.h"

namespace chakra::gen {

class StageNodes {
 public:
  enum Stream : int64_t {
    kCompute,
    kTensor,
    kData,
    kSendForward,
    kSendBackward,
    kReceiveForward,
    kReceiveBackward,
    kStreams
  };

  explicit StageNodes(const StageWork& model) : m_(model) { last_.fill(trace::kNoNode); }

  /// Has the next computation, and what leaves before it, wait for a node besides the computation before it.
  void wait(trace::NodeId node) {
    if (node != trace::kNoNode) awaited_.push_back(node);
  }
  void compute(std::string_view name, const Work& work);
  /// A collective after the last computation.
  trace::NodeId collective(std::string_view name, trace::CommType type, double bytes, std::string_view group,
                           Stream stream);
  /// Each tensor-parallel rank's tokens to all of them, and the reverse; no node without tensor parallelism.
  trace::NodeId gather(std::string_view name);
  trace::NodeId scatter(std::string_view name);
  /// A collective of the data-parallel ranks, one after the other.
  trace::NodeId over_data(std::string_view name, trace::CommType type, double bytes);
  /// The activations of a micro-batch to or from a neighbour: -1 the stage before, 1 the one after.
  void message(std::string_view name, trace::NodeType type, Stream stream, int64_t neighbour, int64_t tag,
               trace::NodeId after);

  trace::NodeId computed() const { return computed_; }  ///< the last computation
  /// Which neighbour each peer slot is.
  const std::vector<int64_t>& peers() const { return peers_; }
  /// A node has more operations or bytes, or takes longer, than files can hold.
  bool too_large() const { return too_large_; }
  trace::Trace take() { return std::move(b_).finish(); }

 private:
  trace::NodeId add(std::string_view name, trace::NodeType type, Stream stream);
  void dep(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind) {
    if (on != trace::kNoNode) b_.dep(node, on, static_cast<uint8_t>(kind));
  }
  uint64_t exact(double number);
  void await(trace::NodeId by) {
    for (const trace::NodeId node : awaited_) dep(by, node, trace::EdgeKind::comm);
  }

  const StageWork& m_;
  trace::Builder b_;
  trace::NodeId computed_ = trace::kNoNode;
  std::array<trace::NodeId, kStreams> last_;
  std::vector<trace::NodeId> awaited_;
  std::vector<int64_t> peers_;
  bool too_large_ = false;
};

}  // namespace chakra::gen
