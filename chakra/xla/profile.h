// A profile of XLA in memory: the executed instructions with their times, and the programs that the file holds. Inside
// the room. The numbers of the fields are those of openxla/xla's xplane.proto.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/xla/xla.h"

namespace chakra::xla {

struct Profile {
  struct Program {
    std::string_view name;   ///< "jit_step(34)"
    std::string_view bytes;  ///< HloProto
  };
  static constexpr int64_t kNotStated = -1;
  struct Event {
    std::string_view op, module;  ///< of a GPU or TPU: "" where the profile does not name them
    std::string_view name;        ///< of the kernel or copy of a GPU; of a TPU as `op`
    int64_t program = 0, run = 0, device = 0;
    int64_t correlation = kNotStated;   ///< of a GPU: the number of the call that started the event
    int64_t step = kNotStated;          ///< of a TPU: in `steps`
    uint32_t call = kNoCall;            ///< of a GPU: in `calls`
    uint32_t line = 0;                  ///< in `lines`
    Picoseconds longest = 0;            ///< of a CPU: its time at most, if other threads go on after the event
    Picoseconds start = 0, length = 0;  ///< start: since base_ns
  };
  static constexpr uint32_t kNoCall = UINT32_MAX;
  /// A call of the host that started an event of a GPU.
  struct Call {
    std::string_view name;
    int64_t correlation = 0, thread = 0;
    int64_t begin_ns = 0;               ///< of its line
    Picoseconds start = 0, length = 0;  ///< as those of events
  };
  /// A step that the user named (StepTraceAnnotation).
  struct Annotation {
    std::string_view name;
    int64_t step = 0;
    uint32_t thread = 0;                ///< as Line::thread
    int64_t begin_ns = 0;               ///< of its line
    Picoseconds start = 0, length = 0;  ///< as those of events
  };
  /// A call of the host that started a run.
  struct Start {
    int64_t run = 0;
    uint32_t thread = 0;
    int64_t begin_ns = 0;
    Picoseconds start = 0;
  };
  struct Line {
    int64_t id = 0, begin_ns = 0;
    uint32_t thread = 0;    ///< of the host
    bool overlaps = false;  ///< its events run side by side: asynchronous instructions of a TPU
  };
  /// Of the devices.
  enum class Kind : uint8_t { cpu, gpu, tpu };

  std::shared_ptr<const std::string> bytes;  ///< the views' text
  std::string file;
  Kind kind = Kind::cpu;
  std::vector<Program> programs;
  std::vector<Event> events;
  std::vector<Line> lines;  ///< with events
  std::vector<Call> calls;  ///< with an event each
  std::vector<std::string_view> steps;
  std::vector<Annotation> annotations;
  std::vector<Start> starts;
  int64_t base_ns = 0;
  int64_t process = 0;
  std::string_view jax_version;
  uint64_t aggregated = 0;                            ///< events without a time
  std::map<std::string_view, uint64_t> other_events;  ///< of devices, not read, by plane
  UnknownParts unknown;
  /// Of the form for browsers, which states no numbers of programs: `Event::program` is kNotStated.
  struct Browser {
    std::shared_ptr<std::set<std::string, std::less<>>> names;  ///< the views' text, instead of `bytes`
    bool full = false;                                          ///< as many events as the form keeps
    uint64_t open_ends = 0;  ///< ends on other threads that belong to one of several instructions
  };
  std::optional<Browser> browser;
};

/// Return the time between the beginnings of two lines, which count from the start of the profile or from 1970.
inline Picoseconds since(int64_t begin_ns, int64_t later_ns) {
  int64_t ns = 0;
  if (__builtin_sub_overflow(later_ns, begin_ns, &ns)) ns = later_ns < begin_ns ? -INT64_MAX : INT64_MAX;
  return ns < 0 ? -multiply_saturated(kPsPerNs, -std::max(ns, -INT64_MAX)) : multiply_saturated(kPsPerNs, ns);
}

/// Read an XSpace. Errors: xla.profile.damaged, xla.profile.kinds, xla.profile.empty. Cost: O(bytes).
Result<Profile> parse_profile(std::shared_ptr<const std::string> bytes, const std::string& file);
/// Read the form for browsers (Chrome trace) of a profile of CPUs. Errors: xla.chrome.json, xla.chrome.time,
/// xla.chrome.devices, xla.profile.empty, those of ByteSource. Cost: O(bytes + events log events).
Result<Profile> parse_chrome(ByteSource source);

}  // namespace chakra::xla
