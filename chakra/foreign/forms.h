// Helpers shared by the forms of the room: limits, the unit of time, and the start of a Trace.
#pragma once

#include <string>
#include <string_view>

#include "chakra/foreign/foreign.h"

namespace chakra::foreign {

inline Failure cannot_hold(const std::string& why) {
  return fail(Code::bad_input, "foreign.write.cannot_hold",
              "a text of ASTRA-sim or SimAI cannot hold this job: " + why);
}

/// Read the whole source. Errors: those of ByteSource, foreign.large.
Result<std::string> read_all(ByteSource source);

/// Return the picoseconds of a unit; an empty name means `otherwise`. Errors: foreign.time_unit.
Result<Picoseconds> unit_ps(const std::string& name, std::string_view otherwise);

/// Begin a trace of that rank, read from that file.
void begin_trace(trace::Builder& builder, int64_t rank, const std::string& file);

inline constexpr uint8_t kGiven = static_cast<uint8_t>(trace::EdgeKind::given);

/// Add a warning or note about the file as a whole.
inline void note(Findings& findings, std::string tag, Severity severity, std::string text) {
  findings.push_back({std::move(tag), severity, -1, -1, std::move(text)});
}

}  // namespace chakra::foreign
