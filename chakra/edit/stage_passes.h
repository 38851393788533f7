// What nodes of a trace mean for a pipeline: passes of micro-batches, and collectives that a stage can leave. Inside
// edit.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "chakra/trace/trace.h"

namespace chakra::edit {

/// Nodes before the first one that the trace marks as update, or all nodes.
class Passes {
 public:
  explicit Passes(const trace::Trace& t) : end_(t.size()) {
    const StringId pass = t.strings.find("pass");
    if (pass == 0) return;
    for (const trace::NodeId n : t.nodes())
      for (const trace::Attr& attr : t.attrs_of(n))
        if (attr.name == pass && attr.text() == "update") {
          end_ = static_cast<uint32_t>(n);
          return;
        }
  }
  bool holds(trace::NodeId n) const { return static_cast<uint32_t>(n) < end_; }

 private:
  uint32_t end_;
};

/// Whether each member of a collective has the whole buffer, so that a member can leave.
inline bool has_whole_buffers(trace::CommType type) {
  using trace::CommType;
  constexpr auto kWhole = std::to_array<CommType>(
      {CommType::unknown, CommType::all_reduce, CommType::broadcast, CommType::reduce, CommType::barrier});
  return std::find(kWhole.begin(), kWhole.end(), type) != kWhole.end();
}
/// Why a collective of other types keeps its members.
inline std::string text_of_parts(const trace::Trace& t, trace::NodeId n) {
  return fmt::format("node {} ({}) of rank {} exchanges parts of a buffer between stages, so no stage can be removed",
                     t.id[n], quote(t.name_of(n)), t.rank);
}

}  // namespace chakra::edit
