// The steps of linking as tables: each row says which parts of Linking a step reads and which it fills. link.cpp walks
// them, in order.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::link {

struct Linking;

/// What steps hand on to each other.
enum class Part : uint8_t {
  records,       ///< Linking::recording
  scope,         ///< Scope::fit_window, left_out
  matches,       ///< Matches
  zero,          ///< Scope::zero_ns; the records' times count from it
  host_comms,    ///< Comms::host_comms, Threads::beside, carries_out
  threads,       ///< Threads but for beside and carries_out
  launches,      ///< DeviceOrder::call_of_op, op_order; CallRole of calls that launch
  streams,       ///< DeviceOrder::stream_ops, ops_by_end, several_devices, previous, overlaps
  comm_kernels,  ///< DeviceOrder::comm_kernel
  comm_records,  ///< DeviceOp::comm of kernels that have no record
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

/// For recordings with a profile; with or without a host trace.
extern const std::span<const Step> kSteps;
/// For a host trace alone.
extern const std::span<const Step> kHostSteps;

constexpr Parts all_filled(std::span<const Step> steps) {
  Parts filled{Part::records};
  for (const Step& step : steps) filled.add(step.fills);
  return filled;
}
/// The name of the first step that reads a part which no step before it fills; empty: none.
constexpr std::string_view first_too_early(std::span<const Step> steps) {
  Parts filled{Part::records};
  for (const Step& step : steps) {
    if (!filled.contains(step.reads)) return step.name;
    filled.add(step.fills);
  }
  return {};
}

/// The parts that the steps of either table fill.
inline constexpr Parts kEndParts{Part::matches,   Part::host_comms, Part::groups, Part::chains,
                                 Part::host_deps, Part::work,       Part::report};

// ---- the functions of the rows ---------------------------------------------------------------------------------

/// Cuts the profile down to the ProfilerSteps that are asked for. Errors: pytorch.scope.steps.
Result<void> keep_steps(Linking& l);
/// Which operator is which, by ids, else by the order of names; of several iterations one stays. Errors:
/// pytorch.match.*, pytorch.scope.iteration, pytorch.pair.process.
Result<void> match_host_ops(Linking& l);
/// The profile's times count from the earliest of them. Errors: pytorch.kineto.time.
Result<void> set_zero(Linking& l);
/// Communication that CPU threads carry out; gives records of messages threads of their own.
void find_host_comms(Linking& l);
void find_comm_groups(Linking& l);
/// Who launched what, from where, and the order in which the streams ran it.
void attach_device_ops(Linking& l);
/// pytorch.salvage.missing: where records were left out, how much of the operations and of the recorded time is
/// missing, as far as the rest tells.
void report_loss(Linking& l);
/// Records of communication kernels that have none, from the operators that launch them (DeviceOp::comm).
void ask_callers(Linking& l);
void derive_work(Linking& l);
/// The same for a host trace alone.
void derive_host_work(Linking& l);
void find_messages(Linking& l);
/// Calls of c10d whose kernels are missing.
void find_lost_comms(Linking& l);
/// What calls and streams wait for.
void find_waits(Linking& l);
void estimate_constants(Linking& l);
void build_chains(Linking& l);
/// Waits for what a kernel writes; cuts items and chains of the host.
void find_host_spins(Linking& l);
/// Deps of the kinds launch, stream, event, contention, sync.
void add_device_edges(Linking& l);
/// Deps of the kinds comm and data around host_comms; shrinks gaps and cuts items.
void find_comm_waits(Linking& l);
/// Deps of the kind thread and more of kind sync; shrinks gaps and cuts items.
void find_host_waits(Linking& l);
/// Instead of the steps from match to here: report, matches, chains and deps of a host trace alone.
void chain_host_ops(Linking& l);

}  // namespace chakra::link
