// The nodes of a stage: streams, what each waits for, and the places of neighbours.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/gen/plan.h"

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
    kContext,
    kExperts,
    kContextSend,
    kContextReceive,
    kStreams
  };

  explicit StageNodes(const StepOptions& options) : o_(options) { last_.fill(trace::kNoNode); }

  StringId intern(std::string_view text) { return b_.trace.strings.intern(text); }

  /// Has the next computation, and what leaves before it, wait for a node besides the computation before it.
  void wait(trace::NodeId node) {
    if (node != trace::kNoNode && std::find(awaited_.begin(), awaited_.end(), node) == awaited_.end())
      awaited_.push_back(node);
  }
  trace::NodeId compute(StringId name, const Work& work, std::string_view kernel = {});
  trace::NodeId compute(std::string_view name, const Work& work) { return compute(intern(name), work); }
  /// A collective after the last computation and the nodes `on`; where nothing overlaps, the next computation waits for
  /// it.
  trace::NodeId collective(StringId name, trace::CommType type, double bytes, StringId group, Stream stream,
                           std::span<const trace::NodeId> on = {});
  /// The parts of an uneven all-to-all, as trace::Comm has them; empty: even.
  struct Split {
    std::string_view in, out;
  };
  Split split(std::string_view in, std::string_view out) {
    return in.empty() ? Split{} : Split{b_.trace.texts.add(in), b_.trace.texts.add(out)};
  }
  void set(trace::NodeId node, const Split& split) {
    if (split.in.empty()) return;
    b_.comm(node).in_split = split.in;
    b_.comm(node).out_split = split.out;
  }
  /// A message to or from the rank that is so far along an axis.
  trace::NodeId message(StringId name, trace::NodeType type, Stream stream, std::pair<Axis, int64_t> neighbour,
                        int64_t tag, double bytes, trace::NodeId after);

  trace::NodeId computed() const { return computed_; }  ///< the last computation
  /// Which neighbour each peer slot is.
  const std::vector<std::pair<Axis, int64_t>>& peers() const { return peers_; }
  /// A node has more operations or bytes, or takes longer, than files can hold.
  bool too_large() const { return too_large_; }
  trace::Trace take() { return std::move(b_).finish(); }

 private:
  trace::NodeId add(StringId name, trace::NodeType type, Stream stream);
  void dep(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind) {
    if (on != trace::kNoNode) b_.dep(node, on, static_cast<uint8_t>(kind));
  }
  uint64_t exact(double number);
  void await(trace::NodeId by) {
    for (const trace::NodeId node : awaited_) dep(by, node, trace::EdgeKind::comm);
  }

  const StepOptions& o_;
  trace::Builder b_;
  trace::NodeId computed_ = trace::kNoNode;
  std::array<trace::NodeId, kStreams> last_;  ///< of each stream but the first
  std::vector<trace::NodeId> awaited_;
  std::vector<std::pair<Axis, int64_t>> peers_;
  bool too_large_ = false;
};

}  // namespace chakra::gen
