// The passes of a pipeline stage in a trace that names passes, as chakra gen step does
// (docs/reference/formats/et.md), and the same stage with other passes. Inside whatif.
#pragma once

#include <optional>
#include <vector>

#include "chakra/gen/gen.h"
#include "chakra/trace/trace.h"

namespace chakra::whatif {

/// Consecutive nodes of the trace: a pass; or the nodes before all passes, or after all passes.
struct Piece {
  gen::Task task;
  int paired = 0;  ///< 1: the next pass is with_previous; 2: this pass is
  /// The first forward, or the last other pass, of a chunk: some nodes exist only there.
  bool once = false;
  trace::NodeId begin{0}, end{0};
  trace::NodeId computes = trace::kNoNode;  ///< the first computation on a device
  std::vector<uint32_t> open;               ///< communication that the piece does not wait for: offsets from `begin`
};

/// A stage as read from its trace.
struct Stage {
  const gen::ScheduleRow* schedule = nullptr;
  gen::Pipeline pipeline;
  int64_t stage = 0;
  std::vector<Piece> pieces;  ///< before the passes, the passes, after the passes
};
/// Find the passes of a trace; nullopt if the trace names no passes. Errors: whatif.micro_batches.form.
Result<std::optional<Stage>> find_passes(const trace::Trace& t);

/// A pass of a new trace, as a copy of a pass of this trace.
struct Copied {
  size_t piece;  ///< into Stage::pieces
  int64_t micro_batch = 0;
};
/// Return the pieces of the stage with that many micro-batches, by its schedule.
/// Errors: whatif.micro_batches.few. Requires that the schedule can run with that number.
Result<std::vector<Copied>> pieces_with(const Stage& stage, int64_t micro_batches);

/// Return the rows of a column that `like` names, in the order of `like`; an empty column stays empty.
template <class T, class Row>
Column<T> picked(const Column<T>& from, const std::vector<Row>& like) {
  Column<T> column;
  if (from.empty()) return column;
  column.resize(like.size());
  const std::span<T> rows = column.edit();
  for (size_t n = 0; n < like.size(); ++n) rows[n] = from[like[n]];
  return column;
}

struct Restaged {
  trace::Trace trace;
  std::vector<uint32_t> comm_like;  ///< by row of the new comms, the copied row of the old comms
};
/// Make a trace from these pieces. Dependencies between pieces follow by rule: a pass begins when the previous
/// pass on its lanes has ended, with all communication that the previous pass has not waited for; receives begin
/// when the pass before the previous one has ended. Errors: whatif.micro_batches.form. Cost: O(nodes + edges).
Result<Restaged> with_pieces(const trace::Trace& t, const Stage& stage, const std::vector<Copied>& pieces);

}  // namespace chakra::whatif
