// Programs and profiles of XLA, the compiler of JAX and TensorFlow. An optimized program (HloProto) becomes the traces
// of its devices. A profile (XPlane) becomes one trace per device, with measured times and the edges of its programs.
// docs/reference/formats/xla.md describes the forms and the rules.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::xla {

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
};
/// Recordings; the row of programs alone stands beside the forms of other tools.
inline constexpr std::array<FormatRow, 1> kFormats{
    {{"xplane", "*.xplane.pb, packed as .gz, .zst", "profile of XLA's CPUs, GPUs, TPUs (JAX); read by link"}}};

/// Memory of one device by the compiler's buffer assignment, in bytes.
struct Memory {
  bool known = false;
  uint64_t arguments = 0, outputs = 0, constants = 0;
  uint64_t temporary = 0;  ///< allocated for intermediate values
  uint64_t allocated = 0;  ///< all allocations
  uint64_t live = 0;       ///< the most bytes of intermediate values that are alive together
  uint64_t peak = 0;       ///< these, and all that lives throughout the program
};

/// Fields that this version does not know, by message and number, with their count.
using UnknownParts = std::map<std::pair<std::string_view, uint32_t>, uint64_t>;

/// Executions of one kind of collective.
struct CollectiveCount {
  std::string opcode;
  uint64_t instructions = 0;
  uint64_t executions = 0;  ///< of all devices and runs
};

/// A program, as reported by import and link.
struct ProgramReport {
  std::string name;
  int64_t id = 0;
  int64_t devices = 0, instructions = 0;
  int64_t runs = 0, events = 0;  ///< of a profile: runs of the program, and executed instructions of all devices
  uint64_t flops_once = 0;       ///< of one device, with bodies of loops counted once, as XLA's cost analysis
  uint64_t bytes_once = 0;
  uint64_t flops = 0, bytes = 0;  ///< of the first device and its first run, with all iterations of loops
  Memory memory;
  std::vector<CollectiveCount> collectives;  ///< by opcode
};

struct ImportedProgram {
  trace::ClassJob job;
  ProgramReport report;
};

/// Whether the beginning of a file is that of a program: HloProto, or HLO as text.
bool is_program(std::string_view head);

/// Import a program alone: a trace per device, by classes of devices. Findings: xla.fields.unknown, xla.loop.*,
/// xla.conditional, xla.shape.bound, xla.opcode.unknown, xla.memory.none, xla.custom_call.unknown, xla.ragged. Errors:
/// xla.program.*, xla.groups, xla.devices.unknown, those of ByteSource. Cost: O(bytes + nodes + devices x collectives).
Result<ImportedProgram> import_program(ByteSource source, Findings& findings);

/// A device of a profile.
struct LinkedDevice {
  trace::Trace trace;
  int64_t events = 0;     ///< executed instructions, kernels and copies, one node each
  uint64_t left_out = 0;  ///< dependencies that contradict the recorded times
};
struct LinkedProfile {
  std::vector<LinkedDevice> devices;  ///< ascending by rank: the ordinal of the device
  std::vector<ProgramReport> programs;
  std::string profile;  ///< the files that were read, joined by " + "
  Findings findings;
};

/// Whether a file is a profile or a program of XLA. Errors: those of ByteSource.
Result<bool> is_ours(const std::string& path);

/// Link profiles and programs, in any order: one node per executed instruction, one trace per device. Programs come
/// from the profiles, else from dumps among the files. `folder`: other files among them are ignored. Findings:
/// xla.shape.bound, xla.program.unused, xla.program.number, xla.program.unreadable, xla.chrome.*, xla.run.partial,
/// xla.event.unplaced, xla.event.aggregated, those of import_program, and of GPUs and TPUs xla.program.missing,
/// xla.edge.time, xla.plane.other, xla.run.order. Errors: xla.profile.*, xla.program.*, xla.devices.*, xla.groups,
/// those of ByteSource. Cost: O(bytes + nodes + edges).
Result<LinkedProfile> link_profiles(const std::vector<std::string>& files);
/// Link a profile that holds its programs.
Result<LinkedProfile> link_profile(ByteSource source);

}  // namespace chakra::xla
