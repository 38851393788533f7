// The state of linking one rank, passed from step to step (steps.h is the table of contents). All
// times are nanoseconds since the recording's zero, the earliest start on host or device.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "chakra/link/from_recording.h"
#include "chakra/link/link.h"
#include "chakra/link/steps.h"
#include "chakra/trace/trace.h"

namespace chakra::link {

inline constexpr uint32_t kNone = UINT32_MAX;

/// Free the memory of containers; `x = {}` would keep a vector's memory.
template <class... T>
void release(T&... containers) {
  ((containers = T()), ...);
}

/// Sort as std::stable_sort. Recordings are mostly in order already, so a check often suffices.
template <class Rows, class Before>
void sort_rows(Rows& rows, const Before& before) {
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::stable_sort(rows.begin(), rows.end(), before);
}

/// Tolerance for comparisons of measured times: two clocks are
/// involved, and older files hold whole microseconds.
inline constexpr int64_t kToleranceNs = 1'500;
/// The largest offset between device clock and host clock, where a record proves which operation waits for which.
inline constexpr int64_t kClockSkewNs = 50'000;
/// A start this much later than all known causes explain is not jitter.
inline constexpr int64_t kUnexplainedNs = 20'000;
/// The longest time between two operations of a stream that can be a dispatch gap.
inline constexpr int64_t kLongestGapNs = 10'000;

/// A piece of host time or a device operation: a future node of the graph.
struct Item {
  enum class Kind : uint8_t {
    op,                 ///< first piece of an operator
    op_rest,            ///< a later piece
    annotation,         ///< an annotation's beginning; takes no time
    call,               ///< a launch or blocking call, or its first piece
    call_rest,          ///< the part of a call after its launch
    sync_remainder,     ///< the part of a blocking call after its wait
    gap,                ///< host time outside all operators
    initial_condition,  ///< represents work before the recording
    unrecorded,         ///< represents unrecorded device work; record: the DeviceOp after it
    device,
    device_rest,   ///< the part of a device operation after another operation of its stream began
    message,       ///< a message carried by a kernel beside other messages; takes no time; record: messages
    lost_message,  ///< communication with a missing kernel: without a time; record: messages
    untimed,       ///< an operator of a host trace without a Kineto trace; record: HostOp
  } kind = Kind::op;
  bool waited = false;      ///< a gap that has shrunk to the time after a wait
  bool inside = false;      ///< an operator inside communication, which has the time: takes no time, and is in no chain
  uint32_t record = kNone;  ///< CpuOp, RuntimeCall or DeviceOp
  int64_t start = 0;
  int64_t dur = 0;
  uint32_t lane = 0;    ///< thread or stream
  uint32_t of = kNone;  ///< continues(): the continued item; else the item of the innermost enclosing operator
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

/// The meaning of a runtime call for the graph.
struct CallRole {
  uint32_t first_op = kNone;  ///< the launched device operations: op_order[first_op, last_op)
  uint32_t last_op = kNone;
  bool graph = false;      ///< launches a whole graph
  bool blocks = false;     ///< may wait for the device
  bool leave_out = false;  ///< the profiler's own synchronisation
  bool wait_inferred = false;
  bool feeds_copy = false;                 ///< the time after the wait is the host's part of a copy
  bool queue_full = false;                 ///< waited for room in the launch queue, then launched
  int64_t split_at = -1;                   ///< the launch happens here, inside the call; -1: at its end
  int64_t wait_end = -1;                   ///< the wait ends here, inside the call; -1: no wait
  uint32_t first_wait = 0, last_wait = 0;  ///< waits for Waits::waited_for[first_wait, last_wait)
  uint32_t launch_item = kNone;            ///< the item whose end is the launch
  uint32_t wait_item = kNone;              ///< the item that cannot begin before the wait is over
  uint32_t launched() const { return first_op == kNone ? 0 : last_op - first_op; }
};

/// A dependency between two device operations.
struct EventEdge {
  uint32_t op = 0;
  uint32_t on = 0;
  bool inferred = false;
};

/// A piece of host time that ended after a device operation had run until `at`.
struct HostSpin {
  uint32_t item = 0;  ///< the item of the thread at that time
  uint32_t op = 0;
  int64_t at = 0;
};

/// A message. One kernel carries all messages recorded before its launch.
struct Message {
  uint32_t device_op = 0;
  uint32_t op = 0;  ///< CpuOp: its record
  bool receives = false;
};

/// A record of c10d in the order of calls, for a recording in which some records have no kernel.
struct CommTurn {
  uint32_t op = 0;             ///< CpuOp
  uint32_t device_op = kNone;  ///< its first kernel; kNone: missing
  StringId group = 0;
};

/// A record of communication that CPU threads carry out (Gloo). Rows
/// of Profile::ops; without a Kineto trace, of HostTrace::ops.
struct HostComm {
  uint32_t record = 0;
  uint32_t call = kNone;   ///< the requesting call of c10d; kNone: before the recording, or not found
  uint32_t turn = 0;       ///< the call's index among the calls, which all ranks make in the same order
  StringId group = 0;      ///< 0: unknown
  uint32_t whole = kNone;  ///< for a call with several records: the record that ends last and represents this one
  bool part() const { return whole != kNone; }
};

/// The work of a device operation (of a host trace alone: an operator), from the shapes of its operator.
struct NodeWork {
  uint64_t operations = 0, bytes = 0;
  trace::DType dtype = trace::DType::unknown;
  StringId kernel = 0;  ///< the node's attribute of that name (docs/reference/formats/et.md)
};

// ---- filled by the steps, part by part (Part in steps.h) -----------------------------------------------------------

/// The part of the recording to link.
struct Scope {
  int64_t zero_ns = 0;  ///< the zero of the records' times, since Profile::base_ns
  /// Only launches in this window, since Profile::base_ns, determine the constants; absent: all launches.
  std::optional<std::pair<int64_t, int64_t>> fit_window;
  absl::flat_hash_set<int64_t> left_out;  ///< record-function ids of the records cut off
};

/// Matches operators of the profile with operators of the host trace.
struct Matches {
  std::vector<uint32_t> host_of_op;            ///< CpuOp -> row of HostTrace::ops, or kNone
  std::vector<uint32_t> op_of_host;            ///< the inverse
  absl::flat_hash_set<uint32_t> other_shapes;  ///< rows of Profile::ops with other sizes than in the host trace
};

struct Threads {
  std::vector<std::vector<uint32_t>> ops;       ///< per thread: operators, callers first
  std::vector<std::vector<uint32_t>> calls;     ///< per thread: all calls, by start
  std::vector<std::vector<uint32_t>> launches;  ///< per thread: launching calls, by start
  std::vector<uint32_t> enclosing_op;           ///< RuntimeCall -> innermost CpuOp around it, or kNone
  std::vector<uint32_t> parent_op;              ///< CpuOp -> the enclosing CpuOp, or kNone
  std::vector<char> beside;       ///< per thread: represents messages that run beside the requesting thread
  std::vector<char> carries_out;  ///< per thread: belongs to a backend and runs only communication
};

struct DeviceOrder {
  std::vector<uint32_t> call_of_op;               ///< DeviceOp -> RuntimeCall, or kNone
  std::vector<uint32_t> op_order;                 ///< device operations grouped by call, each group by start
  std::vector<std::vector<uint32_t>> stream_ops;  ///< per stream, by start
  std::vector<uint32_t> ops_by_end;               ///< all device operations
  bool several_devices = false;
  std::vector<uint32_t> previous;                 ///< DeviceOp -> the operation before on its stream, or kNone
  std::vector<EventEdge> overlaps;                ///< began while others of the stream ran; the last of those
  std::vector<const CommKernelRow*> comm_kernel;  ///< DeviceOp -> row by the operation's name; null: not communication
  std::vector<uint32_t> constants_of_stream;      ///< stream -> row of LinkingReport::constants
};

struct Comms {
  std::vector<Message> messages;     ///< by device operation, receives first; then messages with missing kernels
  uint32_t first_lost = 0;           ///< the first message without a kernel
  std::vector<CommTurn> turns;       ///< empty if no kernel is missing
  std::vector<HostComm> host_comms;  ///< by record
};

struct Waits {
  std::vector<CallRole> roles;       ///< per RuntimeCall
  std::vector<uint32_t> waited_for;  ///< device operations, grouped by call, latest end last
  std::vector<EventEdge> events;     ///< across streams
};

/// The future graph.
struct Graph {
  std::vector<StringId> shapes;  ///< of inputs, by row of Profile::shapes; empty: the host trace has the shapes
  std::vector<NodeWork> work;    ///< by DeviceOp; by HostOp if no device was used; empty: no work
  int64_t begin_ns = 0;          ///< start of the first item
  std::vector<Item> items;
  std::vector<std::vector<uint32_t>> chains;  ///< per thread: items in order, each after the item before
  std::vector<HostSpin> spins;                ///< waits for values that a kernel writes while running
  std::vector<uint32_t> item_of_op;           ///< CpuOp -> item
  std::vector<uint32_t> item_of_device_op;    ///< DeviceOp -> the item with the same end
  std::vector<Dependency> deps;               ///< all but the order in chains
};

struct Linking {
  Recording recording;
  trace::Trace& trace;  ///< owns all names and texts
  LinkOptions options;
  int64_t rank = 0;
  LinkingReport report = {};
  Scope scope = {};
  Matches match = {};
  Threads threads = {};
  DeviceOrder device = {};
  Comms comms = {};
  Waits waits = {};
  Graph graph = {};
  Parts filled = {Part::records};  ///< by the completed steps

  HostTrace& host() { return recording.host; }
  const HostTrace& host() const { return recording.host; }
  Profile& profile() { return recording.profile; }
  const Profile& profile() const { return recording.profile; }
  std::string_view text(StringId id) const { return trace.strings[id]; }
  void find(std::string tag, Severity severity, std::string sentence) {
    report.findings.push_back({std::move(tag), severity, -1, -1, std::move(sentence)});
  }

  /// Return the rows [first, second) of Comms::messages that a device operation carries.
  std::pair<uint32_t, uint32_t> messages_of(uint32_t device_op) const;
  /// Return the row of Comms::host_comms of a record, or null.
  const HostComm* host_comm(uint32_t record) const;
  /// Whether a thread's item is communication, or a piece of communication.
  bool communicates(const Item& item) const {
    const bool of_op = item.kind == Item::Kind::op || item.kind == Item::Kind::op_rest;
    return of_op && profile().ops[item.record].host_comm;
  }
  /// Return the arguments of a CpuOp, or of a HostOp if there is no profile.
  ArgumentTexts arguments_of(uint32_t op) const;
  /// Return the constants of the device operation's device.
  const LinkingReport::Constants& constants(uint32_t device_op) const {
    return report.constants[device.constants_of_stream[profile().device_ops[device_op].lane]];
  }
  std::span<const uint32_t> waits_of(const CallRole& role) const {
    return std::span(waits.waited_for).subspan(role.first_wait, role.last_wait - role.first_wait);
  }
  /// Return the launch time of the device operation: the lowest integer if the launch is not recorded.
  int64_t launched_at(uint32_t device_op) const {
    const uint32_t call = device.call_of_op[device_op];
    return call == kNone ? std::numeric_limits<int64_t>::min() : profile().calls[call].start_ns;
  }
};

}  // namespace chakra::link
