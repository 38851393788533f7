// Which nodes of a trace belong to the passes of micro-batches, and not to the update of the parameters. Inside edit.
#pragma once

#include <cstdint>

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

}  // namespace chakra::edit
