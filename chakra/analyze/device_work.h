// The operations that ran on the devices of a rank, each with the call that launched it: the tables of kernels,
// operators, launches and queues begin with them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {

/// "ProfilerStep#7"; also "ProfilerStep7", which text forms without "#" can say.
inline bool is_step(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep";
  return trace::step_number(name) || (name.starts_with(kStep) && name.size() > kStep.size() &&
                                      name.find_first_not_of("0123456789", kStep.size()) == std::string_view::npos);
}

/// Of each node that of which it is a piece, or itself. A continuation comes after what it continues; one that a file
/// has before it stands for itself. O(nodes).
std::vector<trace::NodeId> wholes(const trace::Trace& trace);

/// As HolisticTraceAnalysis tells kernels apart (`get_kernel_type`).
enum class OperationKind : uint8_t { computation, communication, memory };
inline constexpr std::array<std::string_view, 3> kOperationKinds{"computation", "communication", "memory"};

/// A kernel, copy or memset; where linking cut it into pieces, all of them.
struct DeviceOperation {
  trace::NodeId node = trace::kNoNode;  ///< the first piece
  uint32_t call = trace::kNoRow;        ///< into DeviceWork::calls; kNoRow: its launch is not recorded
  OperationKind kind = OperationKind::computation;
  Picoseconds start = 0, end = 0;
  Picoseconds time() const { return end - start; }
};

/// A call on the host that launched something, as recorded: with what it did before, while and after it waited.
struct LaunchCall {
  trace::NodeId node = trace::kNoNode;
  Picoseconds start = 0, end = 0;
  uint32_t operations = 0;
  bool graph = false;  ///< it launched a whole graph, whose operations have no launch of their own
};

struct DeviceWork {
  std::vector<DeviceOperation> operations;  ///< by row
  std::vector<LaunchCall> calls;            ///< those that launched one of them
  std::vector<trace::NodeId> whole;         ///< per node: that of which it is a piece, or itself
  std::vector<char> is_operator;            ///< per node; "[chakra|host_gap]" and its like, runtime calls and metadata
                                            ///< are no operators
  int64_t left_out = 0;                     ///< operations that Job::scope leaves out
  Picoseconds left_out_time = 0;
};
/// What was collected, by rank, and for which scope.
struct DeviceWorks {
  LaunchScope scope = LaunchScope::all;
  std::vector<std::optional<DeviceWork>> ranks;
};
/// Cost: O(nodes + edges) for the first table that asks with this scope. A later scope ends what was returned before.
const DeviceWork& device_work(const Job& job, size_t rank);

/// The time of all operations, those beside each other added up.
Picoseconds device_time(const DeviceWork& work);
/// The first attribute of that name, if the node has one. A name of 0 is that of no attribute.
std::optional<trace::Attr> attr_of(const trace::Trace& trace, trace::NodeId node, StringId name);
/// Whether the node has operations or bytes.
bool says_work(const trace::Trace& trace, trace::NodeId node);

int64_t stream_of(const trace::Trace& trace, trace::NodeId node);  ///< -1: not said
int64_t device_of(const trace::Trace& trace, trace::NodeId node);  ///< -1: not said

}  // namespace chakra::analyze
