// The state of linking one rank, passed from step to step (link.cpp is the table of contents). All
// times are nanoseconds since the recording's zero, the earliest start on host or device.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "chakra/link/comm_kernels.h"
#include "chakra/link/host_trace.h"
#include "chakra/link/kineto.h"
#include "chakra/link/link.h"

namespace chakra::pytorch {

inline constexpr uint32_t kNone = UINT32_MAX;

/// Frees the memory of containers; `x = {}` would keep a vector's.
template <class... T>
void release(T&... containers) {
  ((containers = T()), ...);
}

/// std::stable_sort, but recordings stand mostly in order, and then looking is enough.
template <class Rows, class Before>
void sort_rows(Rows& rows, const Before& before) {
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::stable_sort(rows.begin(), rows.end(), before);
}

/// Measured times are compared with this much patience: two clocks are involved, and older files
/// hold whole microseconds.
inline constexpr int64_t kToleranceNs = 1'500;
/// How far the device's clock may be off the host's where a record leaves no doubt who waits for whom.
inline constexpr int64_t kClockSkewNs = 50'000;
/// A start this much later than everything known explains is not jitter.
inline constexpr int64_t kUnexplainedNs = 20'000;
/// The longest time between two operations of a stream that passes for a dispatch gap.
inline constexpr int64_t kLongestGapNs = 10'000;

/// A piece of host time or a device operation: a node of the graph to be.
struct Item {
  enum class Kind : uint8_t {
    op,                 ///< first piece of an operator
    op_rest,            ///< a later piece
    annotation,         ///< an annotation's beginning; takes no time
    call,               ///< a launch or blocking call, or its first piece
    call_rest,          ///< what a call does after its launch
    sync_remainder,     ///< what a blocking call does after its wait
    gap,                ///< host time that no operator accounts for
    initial_condition,  ///< stands for work before the recording
    unrecorded,         ///< stands for device work that was not recorded; record: the DeviceOp after it
    device,
    device_rest,  ///< what a device operation does after another one of its stream began
    message,      ///< one that a kernel carries beside others; takes no time of its own; record: messages
    untimed,      ///< an operator of a host trace without a Kineto trace; record: HostOp
  } kind = Kind::op;
  bool waited = false;      ///< a gap that has shrunk to what followed a wait
  uint32_t record = kNone;  ///< CpuOp, RuntimeCall or DeviceOp
  int64_t start = 0;
  int64_t dur = 0;
  uint32_t lane = 0;    ///< thread or stream
  uint32_t of = kNone;  ///< continues(): the item that it continues; else that of the innermost operator around it
  int64_t end() const { return start + dur; }
  bool continues() const {
    return kind == Kind::op_rest || kind == Kind::call_rest || kind == Kind::device_rest ||
           kind == Kind::sync_remainder;
  }
};

struct Dependency {
  uint32_t item = 0;
  uint32_t on = 0;
  trace::EdgeKind kind = trace::EdgeKind::program;
  bool inferred = false;
  uint32_t lag = 0;  ///< a latency, so 4 s are plenty
};
static_assert(sizeof(Item) == 32 && sizeof(Dependency) == 16);  // a gigabyte of recordings has two million

/// What a runtime call means for the graph.
struct CallRole {
  uint32_t first_op = kNone;  ///< the device operations it launched: op_order[first_op, last_op)
  uint32_t last_op = kNone;
  bool graph = false;      ///< launches a whole graph
  bool blocks = false;     ///< may wait for the device
  bool leave_out = false;  ///< the profiler's own synchronisation
  bool wait_inferred = false;
  bool feeds_copy = false;                 ///< what follows the wait is the host's part of a copy
  bool queue_full = false;                 ///< it waited for room in the launch queue, and launched then
  int64_t split_at = -1;                   ///< the launch happens here, inside the call; -1: at its end
  int64_t wait_end = -1;                   ///< the wait ends here, inside the call; -1: it did not wait
  uint32_t first_wait = 0, last_wait = 0;  ///< what it waits for: Linking::waited_for[first_wait, last_wait)
  uint32_t launch_item = kNone;            ///< whose end is the launch
  uint32_t wait_item = kNone;              ///< that cannot begin before the wait is over
  uint32_t launched() const { return first_op == kNone ? 0 : last_op - first_op; }
};

/// A device operation that waits for another one.
struct EventEdge {
  uint32_t op = 0;
  uint32_t on = 0;
  bool inferred = false;
};

/// A piece of host time that ended when a device operation had run until `at`.
struct HostSpin {
  uint32_t item = 0;  ///< what the thread did then
  uint32_t op = 0;
  int64_t at = 0;
};

/// A message whose kernel carries all that were recorded before its launch.
struct Message {
  uint32_t device_op = 0;
  uint32_t op = 0;  ///< CpuOp: its record
  bool receives = false;
};

/// A record of communication that CPU threads carry out (Gloo). Rows of Kineto::ops; without a Kineto trace, of
/// HostTrace::ops.
struct HostComm {
  uint32_t record = 0;
  uint32_t call = kNone;  ///< c10d's, that asked for it; kNone: before the recording, or not found
  uint32_t turn = 0;      ///< among the calls that were made, which all ranks make in one order
  StringId group = 0;     ///< 0: not known
  bool part = false;      ///< of a call that has several records, another one ends last and stands for all
};

/// What a device operation (of a host trace alone: an operator) does, from the shapes of its operator.
struct NodeWork {
  uint64_t operations = 0, bytes = 0;
  trace::DType dtype = trace::DType::unknown;
};

struct Linking {
  Kineto kineto;
  HostTrace host;  ///< empty where there is none
  bool has_host = false;
  StringPool* strings = nullptr;
  Arena* texts = nullptr;
  LinkReport report;
  LinkOptions options;
  int64_t rank = 0;
  int64_t zero_ns = 0;  ///< what the records' times count from, since Kineto::base_ns

  // scope
  /// What is launched then, since Kineto::base_ns, tells the constants; none: all.
  std::optional<std::pair<int64_t, int64_t>> fit_window;
  absl::flat_hash_set<int64_t> out_of_scope;  ///< record-function ids of what was cut off

  // match
  std::vector<uint32_t> host_of_op;  ///< CpuOp -> row of HostTrace::ops, or kNone
  std::vector<uint32_t> op_of_host;  ///< and back

  // device
  std::vector<uint32_t> call_of_op;               ///< DeviceOp -> RuntimeCall, or kNone
  std::vector<uint32_t> op_order;                 ///< device operations grouped by call, each group by start
  std::vector<CallRole> roles;                    ///< per RuntimeCall
  std::vector<uint32_t> waited_for;               ///< device operations, of a call together, latest end last
  std::vector<std::vector<uint32_t>> stream_ops;  ///< per stream, by start
  std::vector<uint32_t> ops_by_end;               ///< all device operations
  bool several_devices = false;
  std::vector<uint32_t> previous;                      ///< DeviceOp -> the one before on its stream, or kNone
  std::vector<EventEdge> overlaps;                     ///< began while others of its stream ran; the last of those
  std::vector<std::vector<uint32_t>> thread_ops;       ///< per thread: operators, callers first
  std::vector<std::vector<uint32_t>> thread_calls;     ///< per thread: all calls, by start
  std::vector<std::vector<uint32_t>> thread_launches;  ///< per thread: launching calls, by start
  std::vector<uint32_t> enclosing_op;                  ///< RuntimeCall -> innermost CpuOp around it, or kNone
  std::vector<uint32_t> parent_op;                     ///< CpuOp -> the one around it, or kNone
  std::vector<const CommKernelRow*> comm_kernel;       ///< DeviceOp -> by its name; null: not communication
  std::vector<EventEdge> events;                       ///< across streams
  std::vector<Message> messages;                       ///< by device operation, receives first
  std::vector<HostComm> host_comms;                    ///< by record
  std::vector<char> beside;       ///< per thread: it stands for messages that run beside the thread that asked for them
  std::vector<char> carries_out;  ///< per thread: it belongs to a backend and runs nothing but communication
  std::vector<uint32_t> constants_of_stream;  ///< stream -> row of report.constants

  // work
  std::vector<NodeWork> work;  ///< by DeviceOp, of a host trace alone by HostOp; empty: of none

  // graph
  int64_t begin_ns = 0;  ///< start of the first item
  std::vector<Item> items;
  std::vector<std::vector<uint32_t>> chains;  ///< per thread: its items in order, each after the one before
  std::vector<HostSpin> spins;                ///< waits for what a kernel writes while it runs
  std::vector<uint32_t> item_of_op;           ///< CpuOp -> item
  std::vector<uint32_t> item_of_device_op;    ///< DeviceOp -> item that its end is the end of
  std::vector<Dependency> deps;               ///< all but those in chains

  /// Those of `messages` that a device operation carries: rows [first, second).
  std::pair<uint32_t, uint32_t> messages_of(uint32_t device_op) const {
    const auto first = std::partition_point(messages.begin(), messages.end(),
                                            [&](const Message& m) { return m.device_op < device_op; });
    const auto last =
        std::partition_point(first, messages.end(), [&](const Message& m) { return m.device_op <= device_op; });
    return {static_cast<uint32_t>(first - messages.begin()), static_cast<uint32_t>(last - messages.begin())};
  }

  /// The row of host_comms of a record, or null.
  const HostComm* host_comm(uint32_t record) const {
    const auto found = std::partition_point(host_comms.begin(), host_comms.end(),
                                            [&](const HostComm& comm) { return comm.record < record; });
    return found == host_comms.end() || found->record != record ? nullptr : &*found;
  }

  const LinkReport::Constants& constants(uint32_t device_op) const {
    return report.constants[constants_of_stream[kineto.device_ops[device_op].lane]];
  }
  std::span<const uint32_t> waits_of(const CallRole& role) const {
    return std::span(waited_for).subspan(role.first_wait, role.last_wait - role.first_wait);
  }
  /// When the device operation was launched: before everything if its launch is not recorded.
  int64_t launched_at(uint32_t device_op) const {
    const uint32_t call = call_of_op[device_op];
    return call == kNone ? std::numeric_limits<int64_t>::min() : kineto.calls[call].start_ns;
  }
  std::string_view text(StringId id) const { return (*strings)[id]; }
  void find(std::string tag, Severity severity, std::string sentence) {
    report.findings.push_back({std::move(tag), severity, -1, -1, std::move(sentence)});
  }
};

// The steps, in order. Each says what it fills in.

/// Cuts the Kineto trace down to the steps that are asked for; fit_window. Errors:
/// pytorch.scope.steps.
Result<void> keep_steps(Linking& l);
/// host_of_op, op_of_host. Errors: pytorch.match.*, pytorch.scope.iteration.
Result<void> match_host_ops(Linking& l);
/// The same where nothing but names and their order joins the two; cuts the Kineto trace down to one
/// iteration if it holds several.
Result<void> match_by_names(Linking& l);
/// thread_ops alone.
void sort_thread_ops(Linking& l);
/// Kineto's times count from the earliest of them. Errors: pytorch.kineto.time.
Result<void> set_zero(Linking& l);
/// host_comms, beside, carries_out; gives records of messages threads of their own. Of a host trace alone: host_comms.
void find_host_comms(Linking& l);
/// host_comms (group).
void find_comm_groups(Linking& l);
/// call_of_op, op_order, roles (launches), stream_ops, ops_by_end, previous, overlaps, thread_ops, thread_calls,
/// thread_launches, enclosing_op, parent_op, comm_kernel.
void attach_device_ops(Linking& l);
/// Records of communication kernels that have none, from the operators that launch them (DeviceOp::comm).
void ask_callers(Linking& l);
/// work, report.work.
void derive_work(Linking& l);
/// The same for a host trace alone.
void derive_host_work(Linking& l);
/// messages.
void find_messages(Linking& l);
/// roles (blocks, waits_for, wait_end), events.
void find_waits(Linking& l);
/// report.constants, roles (split_at).
void estimate_constants(Linking& l);
/// items and chains of the host, item_of_op.
void build_chains(Linking& l);
/// spins; cuts items and chains of the host.
void find_host_spins(Linking& l);
/// items of the device, deps of the kinds launch, stream, event, contention, sync.
void add_device_edges(Linking& l);
/// deps of the kinds comm and data around host_comms; shrinks gaps and cuts items.
void find_comm_waits(Linking& l);
/// deps of the kind thread and more of kind sync; shrinks gaps and cuts items.
void find_host_waits(Linking& l);
/// Instead of the steps from match to here: report, op_of_host, items, chains and deps of a host trace alone.
void chain_host_ops(Linking& l);
/// Everything as a Trace, communication included.
trace::Trace assemble(Linking& l, trace::Builder& builder, int64_t rank);

}  // namespace chakra::pytorch
