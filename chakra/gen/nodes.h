// The nodes of a stage: streams, dependencies, the places of neighbours, storage traffic.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/gen/plan.h"

namespace chakra::gen {

/// The rank at the other end of messages.
struct Neighbour {
  Axis axis = Axis::pp;
  int64_t steps = 0;    ///< along the axis
  bool listed = false;  ///< `steps` is instead a position in a list of the rank
  bool operator==(const Neighbour&) const = default;
};

/// Data that moves to or from a tier of storage (docs/reference/formats/system.md).
struct StorageUse {
  std::string_view tier, kind;  ///< kind: io_kind
  double bytes = 0;
};

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
    kLoad,
    kStore,
    kStreams
  };

  /// `prefix`: for the names of groups.
  explicit StageNodes(const StepOptions& options, std::string_view prefix = "");

  StringId intern(std::string_view text) { return b_.trace.strings.intern(text); }

  /// Make the next computation, and messages before it, wait for a node besides the previous computation.
  void wait(trace::NodeId node) {
    if (node != trace::kNoNode && std::find(awaited_.begin(), awaited_.end(), node) == awaited_.end())
      awaited_.push_back(node);
  }
  /// Add a computation. `fp8`: a matrix multiplication with 8-bit inputs. `weights`: Step::weights.
  trace::NodeId compute(StringId name, const Work& work, std::string_view kernel = {}, bool fp8 = false,
                        double weights = 0);
  trace::NodeId compute(std::string_view name, const Work& work) { return compute(intern(name), work); }
  /// Add a collective after the last computation and the nodes `on`.
  /// Without overlap, the next computation waits for the collective.
  trace::NodeId collective(StringId name, trace::CommType type, double bytes, StringId group, Stream stream,
                           std::span<const trace::NodeId> on = {});
  trace::NodeId message(StringId name, trace::NodeType type, Stream stream, const Neighbour& neighbour, int64_t tag,
                        double bytes, trace::NodeId after);
  /// Add a MEM_LOAD or MEM_STORE, with bytes rounded up. Requires that `after` has no duplicates.
  trace::NodeId storage(StringId name, trace::NodeType type, const StorageUse& use,
                        std::span<const trace::NodeId> after);
  /// By step of a program: the name, after `part` and a point; and the splits of an uneven all-to-all, in and out.
  struct Labels {
    std::vector<StringId> names;
    std::vector<std::pair<std::string_view, std::string_view>> splits;
  };
  Labels labels(const Program& program, const std::string& part);
  /// Add the steps of a program.
  void run(const Program& program, const Labels& labels);

  /// Begin a pass, or the update after all passes: the next node is the first
  /// one, and carries attributes for it (docs/reference/formats/et.md).
  void begin(const Task& task) { next_pass_ = {name(task.pass), task.micro_batch, task.chunk}; }
  void begin_update() { next_pass_ = {kUpdate, -1, 0}; }
  /// Add the place in the pipeline, the mesh, and the assumed rates of the device to the metadata.
  void describe(const Plan& plan, int64_t stage);
  /// Add these rates alone, and to each following computation the bytes of weight matrices.
  void describe_rates();

  trace::NodeId computed() const { return computed_; }  ///< the last computation
  /// Add work of the host of that length after the last computation
  /// and the awaited nodes; the next computation waits for the work.
  void host_works(std::string_view name, int64_t ns);
  /// Make the host continue only when the last computation has ended.
  void host_waits() { host_.computed = computed_; }
  /// Return the neighbour in each peer slot.
  const std::vector<Neighbour>& peers() const { return peers_; }
  /// Return whether a node has more FLOPs or bytes, or takes longer, than files can hold.
  bool too_large() const { return too_large_; }
  trace::Trace take() { return std::move(b_).finish(); }

 private:
  trace::NodeId add(StringId name, trace::NodeType type, Stream stream);
  trace::NodeId launch();
  void say_pass();
  void dep(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind) {
    if (on != trace::kNoNode) b_.dep(node, on, static_cast<uint8_t>(kind));
  }
  trace::NodeId hop(StringId name, const Step& step);
  std::string_view split(const std::vector<int64_t>& elements);  ///< in the form of trace::Comm
  uint64_t exact(double number);
  /// Return the rate of a matrix multiplication.
  double flop_per_s(bool fp8) const;
  void await(trace::NodeId by) {
    for (const trace::NodeId node : awaited_) dep(by, node, trace::EdgeKind::comm);
  }

  const StepOptions& o_;
  trace::Builder b_;
  trace::NodeId computed_ = trace::kNoNode;
  struct {
    trace::NodeId last = trace::kNoNode;
    trace::NodeId arrived = trace::kNoNode;   ///< a message that the host must wait for next
    trace::NodeId computed = trace::kNoNode;  ///< a computation, likewise
  } host_;
  std::array<trace::NodeId, kStreams> last_;  ///< of each stream but the first
  std::vector<trace::NodeId> awaited_;
  std::vector<Neighbour> peers_;
  bool too_large_ = false, described_ = false;
  std::array<StringId, kAxisNames.size()> groups_;  ///< by axis
  struct {
    std::string_view name = {};  ///< "": no pass begins
    int64_t micro_batch = -1, chunk = 0;
  } next_pass_;
  /// State of run(): by step, its node, and whether another step waits for the node; the nodes to wait for.
  struct {
    std::vector<trace::NodeId> nodes, on;
    std::vector<uint8_t> awaited;
  } run_;
};

}  // namespace chakra::gen
