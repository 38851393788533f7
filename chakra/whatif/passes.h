// The passes of a pipeline stage in a trace that names them, as chakra gen step does (docs/reference/formats/et.md),
// and the same stage with other passes. Inside whatif.
#pragma once

#include <optional>
#include <vector>

#include "chakra/gen/gen.h"
#include "chakra/trace/trace.h"

namespace chakra::whatif {

/// Nodes that follow each other in the trace: a pass; or what is before all passes, or after them.
struct Piece {
  gen::Task task;
  int paired = 0;  ///< 1: the pass after it is with_previous; 2: it is itself
  /// Of a forward, the first of its chunk; of another pass, the last pass of its chunk: some nodes are there only.
  bool once = false;
  trace::NodeId begin{0}, end{0};
  trace::NodeId computes = trace::kNoNode;  ///< its first computation on a device
  std::vector<uint32_t> open;               ///< communication that nothing in it waits for, from its begin
};

/// A stage as its trace has it.
struct Stage {
  const gen::ScheduleRow* schedule = nullptr;
  gen::Pipeline pipeline;
  int64_t stage = 0;
  std::vector<Piece> pieces;  ///< what is before the passes, the passes, what is after them
};
/// Nothing where the trace names no passes. Errors: whatif.micro_batches.form.
Result<std::optional<Stage>> find_passes(const trace::Trace& t);

/// A pass of another trace is a copy of one of this.
struct Copied {
  size_t piece;  ///< into Stage::pieces
  int64_t micro_batch = 0;
};
/// The pieces of the stage with that many micro-batches, by its schedule.
/// Errors: whatif.micro_batches.few. Requires that the schedule can run with them.
Result<std::vector<Copied>> pieces_with(const Stage& stage, int64_t micro_batches);

/// The rows of a column that `like` names, in its order; none of a column without rows.
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
  std::vector<uint32_t> comm_like;  ///< by row of its comms which one of the trace before it copies
};
/// The trace made of these pieces. What is not in a piece follows by rule: a pass begins when the one before it on its
/// lanes has ended, and what that has not waited for; receives begin when the pass before the one before has ended.
/// Errors: whatif.micro_batches.form. Cost: O(nodes + edges).
Result<Restaged> with_pieces(const trace::Trace& t, const Stage& stage, const std::vector<Copied>& pieces);

}  // namespace chakra::whatif
