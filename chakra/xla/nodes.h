// Ops -> nodes of a trace. Import and link differ in names of groups, in numbers of peers, and in times. Inside the
// room.
#pragma once

#include <functional>
#include <vector>

#include "chakra/xla/communication.h"
#include "chakra/xla/unroll.h"

namespace chakra::xla {

/// The device, its names for partners, and the times of a run.
struct Device {
  int64_t logical = 0;
  std::function<StringId(Communication::Key key, const Meeting& meeting)> group;
  std::function<int64_t(Communication::Key key, bool sends, size_t number)> peer;  ///< of a message
  int64_t self = 0;                                                                ///< its own number as a peer
  int64_t tags = 0;  ///< the first tag of the program's messages
  int64_t run = -1;  ///< of a profile: the number of the run, an attribute of its nodes
  /// Adds an edge; none: the writer adds edges to the trace.
  std::function<void(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind)> wait;
};

/// Adds the nodes of a program to a trace.
class NodeWriter {
 public:
  NodeWriter(trace::Builder& builder, const Program& program, const ProgramWork& work,
             const Communication& communication, Device device);

  /// Add the nodes of an op: one, then the messages of a permute. `kernel`: becomes an attribute.
  void add(const Unrolled& unrolled, uint32_t op, std::string_view kernel = "");
  /// Add another kernel of the op added last: a node that waits as the op does.
  trace::NodeId add_part(const Unrolled& unrolled, uint32_t op, std::string_view kernel);
  /// Forget the ops of a run: the next op has the number 0.
  void begin_run() { nodes_.clear(); }

  struct OpNodes {
    trace::NodeId main = trace::kNoNode;
    trace::NodeId first = trace::kNoNode;  ///< that others wait for: a permute is done when its messages are
    trace::NodeId parts = trace::kNoNode;  ///< behind the messages: other kernels
    trace::NodeId end = trace::kNoNode;    ///< one behind the last
  };
  const OpNodes& of(uint32_t op) const { return nodes_[op]; }

 private:
  trace::NodeId add_node(const Instruction& i, trace::NodeType type);
  void describe(const Op& op, const Instruction& i, std::string_view kernel);
  void add_collective(Communication::Key key, trace::NodeId node);
  void add_messages(Communication::Key key, trace::NodeId node);
  void depend(trace::NodeId node, const Unrolled& unrolled, const Op& op);
  uint64_t operand_bytes(Communication::Key key) const;
  StringId name_of(const Instruction& i);

  trace::Builder& b_;
  trace::Trace& t_;
  const Program& p_;
  const ProgramWork& work_;
  const Communication& communication_;
  Device device_;
  std::vector<OpNodes> nodes_;  ///< by op
  std::map<Communication::Key, int64_t> tag_of_;
  struct Names {
    StringId opcode, op_name, target, iterations, channel, run, kernel, unknown;
  } names_;  ///< of attributes
};

/// Attribute of a node: how many calls of unknown work it has. Its FLOPs and bytes lack these calls.
inline constexpr std::string_view kUnknownWork = "unknown_work";

/// Add findings about a program: unknown fields, opcodes and work, memory, loops and conditionals. `unrolled`: of a
/// program without a profile; null where the times are measured.
void report_program(const Program& program, const ProgramWork& work, const Unrolled* unrolled, Findings& findings);
/// Fill in what does not depend on a run. `unrolled`: of one device and run.
ProgramReport report_of(const Program& program, const ProgramWork& work, const Unrolled& unrolled);
/// Add the executions of collectives of another run or device.
void count_collectives(const Program& program, const Unrolled& unrolled, ProgramReport& report);
/// Put the memory and the name of the program into the metadata of a trace.
void add_metadata(trace::Trace& trace, const Program& program);

}  // namespace chakra::xla
