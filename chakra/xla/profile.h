// A profile of XLA in memory: the executed instructions with their times, and the programs that the file holds. Inside
// the room. The numbers of the fields are those of openxla/xla's xplane.proto.
#pragma once

#include <memory>
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
  struct Event {
    std::string_view op, module;
    int64_t program = 0, run = 0, device = 0;
    Picoseconds start = 0, length = 0;  ///< start: since base_ns
    uint32_t line = 0;                  ///< the thread, counted over the file
  };
  std::shared_ptr<const std::string> bytes;  ///< the views' text
  std::string file;
  std::vector<Program> programs;
  std::vector<Event> events;
  int64_t base_ns = 0;
  int64_t process = 0;
  std::string_view jax_version;
  uint64_t aggregated = 0;  ///< events without a time
  UnknownParts unknown;
};

/// Read an XSpace. Errors: xla.profile.damaged, xla.profile.device, xla.profile.empty. Cost: O(bytes).
Result<Profile> parse_profile(std::shared_ptr<const std::string> bytes, const std::string& file);

}  // namespace chakra::xla
