// The nodes of a stage: streams, what each waits for, the places of neighbours, what storage reads and writes.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/gen/plan.h"

namespace chakra::gen {

/// A rank that messages go to or come from.
struct Neighbour {
  Axis axis = Axis::pp;
  int64_t steps = 0;    ///< along the axis
  bool listed = false;  ///< instead: `steps` is its position in a list that belongs to the rank
  bool operator==(const Neighbour&) const = default;
};

/// Data that a tier of storage gives or takes (docs/reference/formats/system.md).
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

  /// `prefix`: of the names of groups.
  explicit StageNodes(const StepOptions& options, std::string_view prefix = "");

  StringId intern(std::string_view text) { return b_.trace.strings.intern(text); }

  /// Has the next computation, and what leaves before it, wait for a node besides the computation before it.
  void wait(trace::NodeId node) {
    if (node != trace::kNoNode && std::find(awaited_.begin(), awaited_.end(), node) == awaited_.end())
      awaited_.push_back(node);
  }
  /// `fp8`: a product with 8-bit inputs. `weights`: Step::weights.
  trace::NodeId compute(StringId name, const Work& work, std::string_view kernel = {}, bool fp8 = false,
                        double weights = 0);
  trace::NodeId compute(std::string_view name, const Work& work) { return compute(intern(name), work); }
  /// A collective after the last computation and the nodes `on`; where nothing overlaps, the next computation waits for
  /// it.
  trace::NodeId collective(StringId name, trace::CommType type, double bytes, StringId group, Stream stream,
                           std::span<const trace::NodeId> on = {});
  trace::NodeId message(StringId name, trace::NodeType type, Stream stream, const Neighbour& neighbour, int64_t tag,
                        double bytes, trace::NodeId after);
  /// A MEM_LOAD or MEM_STORE of its bytes, rounded up. Requires that `after` has no node twice.
  trace::NodeId storage(StringId name, trace::NodeType type, const StorageUse& use,
                        std::span<const trace::NodeId> after);
  /// By step of a program its name, after `part` and a point; and of an uneven all-to-all its parts, in and out.
  struct Labels {
    std::vector<StringId> names;
    std::vector<std::pair<std::string_view, std::string_view>> splits;
  };
  Labels labels(const Program& program, const std::string& part);
  /// The steps of a program.
  void run(const Program& program, const Labels& labels);

  /// The next node is the first of a pass, or of what comes after all passes. It says so in attributes
  /// (docs/reference/formats/et.md).
  void begin(const Task& task) { next_pass_ = {name(task.pass), task.micro_batch, task.chunk}; }
  void begin_update() { next_pass_ = {kUpdate, -1, 0}; }
  /// Which place in the pipeline this is, the mesh, and how fast a device is taken to be, in the metadata.
  void describe(const Plan& plan, int64_t stage);

  trace::NodeId computed() const { return computed_; }  ///< the last computation
  /// The host does something of its own for so long after the last computation and what is waited for; the next
  /// computation waits for it.
  void host_works(std::string_view name, int64_t ns);
  /// Has the host go on only when the last computation has ended.
  void host_waits() { host_.computed = computed_; }
  /// Which neighbour each peer slot is.
  const std::vector<Neighbour>& peers() const { return peers_; }
  /// A node has more operations or bytes, or takes longer, than files can hold.
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
  std::string_view split(const std::vector<int64_t>& elements);  ///< as trace::Comm has it
  uint64_t exact(double number);
  /// What a product reaches.
  double flop_per_s(bool fp8) const;
  void await(trace::NodeId by) {
    for (const trace::NodeId node : awaited_) dep(by, node, trace::EdgeKind::comm);
  }

  const StepOptions& o_;
  trace::Builder b_;
  trace::NodeId computed_ = trace::kNoNode;
  struct {
    trace::NodeId last = trace::kNoNode;
    trace::NodeId arrived = trace::kNoNode;   ///< a message that it has to wait for before it goes on
    trace::NodeId computed = trace::kNoNode;  ///< a computation, likewise
  } host_;
  std::array<trace::NodeId, kStreams> last_;  ///< of each stream but the first
  std::vector<trace::NodeId> awaited_;
  std::vector<Neighbour> peers_;
  bool too_large_ = false, described_ = false;
  std::array<StringId, kAxisNames.size()> groups_;  ///< by axis
  struct {
    std::string_view name = {};  ///< "": the next node begins none
    int64_t micro_batch = -1, chunk = 0;
  } next_pass_;
  /// Of run(): by step its node, and whether another waits for it; what the step waits for.
  struct {
    std::vector<trace::NodeId> nodes, on;
    std::vector<uint8_t> awaited;
  } run_;
};

}  // namespace chakra::gen
