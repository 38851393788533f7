// The whole state of a run. Its parts are plain data, each declared with the functions that change the part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/astra/astra.h"
#include "chakra/astra/clock.h"
#include "chakra/astra/collectives.h"
#include "chakra/astra/memory.h"
#include "chakra/astra/messages.h"
#include "chakra/astra/quirks.h"
#include "chakra/astra/rings.h"
#include "chakra/astra/workload.h"

namespace chakra::astra {

struct Run {
  explicit Run(const Input& input) : in(input) {}

  const Input& in;
  Clock clock;
  feed::Graphs graphs;           ///< of the ranks so far
  std::vector<uint32_t> unlike;  ///< ranks that do not share columns with an earlier rank
  std::vector<Rank> ranks;
  Collectives collectives;
  Messages messages;
  Rings rings;
  Memories memories;
  std::optional<Error> error;  ///< the first error; ends the run
  Report report;
  uint32_t quirks = 0;                   ///< one bit per Quirk that was met
  std::vector<feed::Ready> now_ready;    ///< scratch memory of node_done
  std::vector<ReadyNodes::Node> begins;  ///< scratch memory of issue

  Picoseconds now() const { return clock.now(); }
  size_t dims() const { return in.fabric.dimensions.size(); }
  void note(Quirk quirk) { quirks |= 1u << static_cast<unsigned>(quirk); }
  void end_with(Error why) {
    if (!error) error = std::move(why);
  }
};

/// Truncate to whole nanoseconds.
Picoseconds ticks(double ns);
/// Make an error of a node of the workload.
Failure bad(const Run& run, uint32_t r, trace::NodeId n, std::string tag, const std::string& text);

}  // namespace chakra::astra
