// Operations on the devices of a rank, each with the launching call: the basis of the tables of kernels, operators,
// launches and queues.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {

/// Return true for "ProfilerStep#7", and for "ProfilerStep7" (text formats without "#").
inline bool is_step(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep";
  return trace::step_number(name) || (name.starts_with(kStep) && name.size() > kStep.size() &&
                                      name.find_first_not_of("0123456789", kStep.size()) == std::string_view::npos);
}

/// Return for each node the whole node of a piece, or the node itself. A continuation must come after the continued
/// piece; a continuation that a file has earlier counts as a whole node. O(nodes).
std::vector<trace::NodeId> wholes(const trace::Trace& trace);

/// Classification of HolisticTraceAnalysis (`get_kernel_type`).
enum class OperationKind : uint8_t { computation, communication, memory };
inline constexpr std::array<std::string_view, 3> kOperationKinds{"computation", "communication", "memory"};

/// A kernel, copy or memset; all pieces if linking split the operation.
struct DeviceOperation {
  trace::NodeId node = trace::kNoNode;  ///< the first piece
  uint32_t call = trace::kNoRow;        ///< into DeviceWork::calls; kNoRow: the launch is not recorded
  OperationKind kind = OperationKind::computation;
  Picoseconds start = 0, end = 0;
  Picoseconds time() const { return end - start; }
};

/// A recorded launching call on the host, including the time before, during and after a wait.
struct LaunchCall {
  trace::NodeId node = trace::kNoNode;
  Picoseconds start = 0, end = 0;
  uint32_t operations = 0;
  bool graph = false;  ///< launched a whole graph; operations of a graph have no separate launch
};

struct DeviceWork {
  std::vector<DeviceOperation> operations;  ///< by row
  std::vector<LaunchCall> calls;            ///< calls that launched an operation
  std::vector<trace::NodeId> whole;         ///< per node: the whole node of a piece, or the node itself
  std::vector<char> is_operator;            ///< per node; "[chakra|host_gap]" and the like, runtime calls and metadata
                                            ///< are not operators
  int64_t left_out = 0;                     ///< operations outside Job::scope
  Picoseconds left_out_time = 0;
};
/// Cache by rank, for one scope. Several analyses can ask at once.
struct DeviceWorks {
  std::mutex mutex;
  LaunchScope scope = LaunchScope::all;
  std::vector<std::optional<DeviceWork>> ranks;
};
/// Cost: O(nodes + edges) for the first call with this scope. A call with another scope invalidates earlier results.
const DeviceWork& device_work(const Job& job, size_t rank);

/// Return the sum of the times of all operations, also of concurrent operations.
Picoseconds device_time(const DeviceWork& work);
/// Return the first attribute with that name, if any. Name 0 does not match any attribute.
std::optional<trace::Attr> attr_of(const trace::Trace& trace, trace::NodeId node, StringId name);
/// Return true if the node has FLOPs or bytes.
bool says_work(const trace::Trace& trace, trace::NodeId node);

int64_t stream_of(const trace::Trace& trace, trace::NodeId node);  ///< -1: not recorded
int64_t device_of(const trace::Trace& trace, trace::NodeId node);  ///< -1: not recorded

}  // namespace chakra::analyze
