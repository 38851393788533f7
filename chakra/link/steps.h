// The steps of linking as tables: each row lists the parts of Linking that a step
// reads and the parts that it fills. link.cpp runs the rows in order.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::link {

struct Linking;

/// The data that steps hand on to each other.
enum class Part : uint8_t {
  records,       ///< Linking::recording
  scope,         ///< Scope::fit_window, left_out
  matches,       ///< Matches
  zero,          ///< Scope::zero_ns, the zero of the records' times
  host_comms,    ///< Comms::host_comms, Threads::beside, carries_out
  threads,       ///< Threads except beside and carries_out
  launches,      ///< DeviceOrder::call_of_op, op_order; CallRole of calls that launch
  streams,       ///< DeviceOrder::stream_ops, ops_by_end, several_devices, previous, overlaps
  comm_kernels,  ///< DeviceOrder::comm_kernel
  comm_records,  ///< DeviceOp::comm of kernels without a record
  groups,        ///< HostComm::group
  work,          ///< Graph::work, LinkingReport::work
  messages,      ///< Comms::messages
  waits,         ///< Waits: calls that block, events
  constants,     ///< LinkingReport::constants, DeviceOrder::constants_of_stream, CallRole::split_at
  chains,        ///< Graph: items and chains of the host, item_of_op, begin_ns
  spins,         ///< Graph::spins
  device_items,  ///< Graph: items of the device, item_of_device_op, their deps
  comm_deps,     ///< Graph::deps around host_comms
  host_deps,     ///< Graph::deps between threads, and from the device to blocking calls
  report,        ///< findings and numbers of the report, which no step reads
};

/// A set of parts.
struct Parts {
  uint32_t bits = 0;
  constexpr Parts() = default;
  constexpr Parts(std::initializer_list<Part> parts) {
    for (const Part part : parts) bits |= uint32_t{1} << static_cast<unsigned>(part);
  }
  constexpr bool contains(Parts others) const { return (others.bits & ~bits) == 0; }
  constexpr void add(Parts others) { bits |= others.bits; }
};

struct Step {
  std::string_view name;
  Parts reads;
  Parts fills;
  Result<void> (*run)(Linking& l);
};

/// For recordings with a profile, with or without a host trace.
extern const std::span<const Step> kSteps;
/// For a host trace alone.
extern const std::span<const Step> kHostSteps;

constexpr Parts all_filled(std::span<const Step> steps) {
  Parts filled{Part::records};
  for (const Step& step : steps) filled.add(step.fills);
  return filled;
}
/// Return the name of the first step that reads a part before a step has filled the part; empty if the order is right.
constexpr std::string_view first_too_early(std::span<const Step> steps) {
  Parts filled{Part::records};
  for (const Step& step : steps) {
    if (!filled.contains(step.reads)) return step.name;
    filled.add(step.fills);
  }
  return {};
}

/// The parts filled by the steps of either table.
inline constexpr Parts kEndParts{Part::matches,   Part::host_comms, Part::groups, Part::chains,
                                 Part::host_deps, Part::work,       Part::report};

// ---- the functions of the rows ---------------------------------------------------------------------------------

/// Cut the profile down to the requested ProfilerSteps. Errors: pytorch.scope.steps.
Result<void> keep_steps(Linking& l);
/// Match the operators by ids, else by the order of names; of several iterations, keep one. Errors:
/// pytorch.match.*, pytorch.scope.iteration, pytorch.pair.process.
Result<void> match_host_ops(Linking& l);
/// Set the zero of the profile's times to the earliest time. Errors: pytorch.kineto.time.
Result<void> set_zero(Linking& l);
/// Find communication that CPU threads carry out; move records of messages to separate threads.
void find_host_comms(Linking& l);
void find_comm_groups(Linking& l);
/// Find the launch of each device operation, the launching thread, and the order of operations on the streams.
void attach_device_ops(Linking& l);
/// Report pytorch.salvage.missing: after records were left out, the estimated
/// share of operations and of recorded time that is missing.
void report_loss(Linking& l);
/// Derive records of communication kernels without a record from the launching operators (DeviceOp::comm).
void ask_callers(Linking& l);
void derive_work(Linking& l);
/// Do the same for a host trace alone.
void derive_host_work(Linking& l);
void find_messages(Linking& l);
/// Find calls of c10d with missing kernels.
void find_lost_comms(Linking& l);
/// Find the dependencies of waiting calls and streams.
void find_waits(Linking& l);
void estimate_constants(Linking& l);
void build_chains(Linking& l);
/// Find waits for values that a kernel writes; cuts items and chains of the host.
void find_host_spins(Linking& l);
/// Add deps of the kinds launch, stream, event, contention, sync.
void add_device_edges(Linking& l);
/// Add deps of the kinds comm and data around host_comms; shrinks gaps and cuts items.
void find_comm_waits(Linking& l);
/// Add deps of the kind thread and more of kind sync; shrinks gaps and cuts items.
void find_host_waits(Linking& l);
/// Replace the steps from match to here for a host trace alone: fill report, matches, chains and deps.
void chain_host_ops(Linking& l);

}  // namespace chakra::link
