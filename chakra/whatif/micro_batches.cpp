// Another number of micro-batches in a step.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/times.h"
#include "chakra/whatif/passes.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr int64_t kMostMicroBatches = 1 << 16;

/// A trace before and after. Other ranks of its stage share it, but for whom they communicate with.
struct Changed {
  Trace before;
  Restaged after;
  Reached passes;  ///< their nodes, before
};

/// The nodes of all passes, and the time of their computations.
Reached passes_of(const Trace& t, const Stage& stage) {
  Reached reached;
  for (NodeId n = stage.pieces[1].begin; n < stage.pieces.back().begin; ++n) {
    ++reached.nodes;
    if (!trace::is_comm(t.type[n])) reached.time_ps = add_saturated(reached.time_ps, t.dur_ps[n]);
  }
  return reached;
}

/// Traces of one program share their attributes. Those that were read from files have equal ones, if any.
bool same_attrs(const Trace& t, const Trace& other) {
  const trace::Attrs::Range a = t.attrs.range(0, t.attrs.position()), b = other.attrs.range(0, other.attrs.position());
  if (a.first == b.first) return true;
  auto at = a.first, like = b.first;
  for (; !(at == a.last) && !(like == b.last); ++at, ++like) {
    const trace::Attr attr = *at, wanted = *like;
    if (t.strings[attr.name] != other.strings[wanted.name] || attr.value != wanted.value) return false;
  }
  return at == a.last && like == b.last;
}

bool same_stage(const Trace& t, const Trace& other) {
  bool same = t.deps.identity() == other.deps.identity() && t.attr_begin.shares_with(other.attr_begin) &&
              t.metadata.size() == other.metadata.size() && t.comms.size() == other.comms.size() &&
              same_attrs(t, other);
  trace::each_column([&](const auto& row) { same &= (t.*row.column).shares_with(other.*row.column); });
  return same;
}

/// `t` with the passes that another rank of its stage has now.
Trace like(const Trace& t, const Restaged& stage) {
  Trace out = t;
  trace::each_column([&](const auto& row) { out.*row.column = stage.trace.*row.column; });
  out.id = stage.trace.id;
  out.deps = stage.trace.deps;
  out.ctrl = stage.trace.ctrl;
  out.attrs = stage.trace.attrs;
  out.attr_begin = stage.trace.attr_begin;
  out.comms = picked(t.comms, stage.comm_like);
  return out;
}

class MicroBatches {
 public:
  MicroBatches(sim::SimInput& input, int64_t wanted) : in_(input), wanted_(wanted) {}

  Result<Reached> run() {
    Reached reached;
    for (size_t r = 0; r < in_.job.ranks.size(); ++r) {
      Trace& t = in_.job.ranks[r];
      const auto known =
          std::find_if(stages_.begin(), stages_.end(), [&](const Changed& c) { return same_stage(t, c.before); });
      const auto at = static_cast<size_t>(known - stages_.begin());
      if (known != stages_.end()) {
        t = like(t, known->after);
      } else {
        CHAKRA_ASSIGN(const bool found, change(t));
        if (!found) return Reached{};
      }
      const Changed& changed = stages_[at];
      reached.nodes += changed.passes.nodes;
      reached.time_ps = add_saturated(reached.time_ps, changed.passes.time_ps);
      if (in_.transfers) copy_transfers(in_.transfers->rows[r], changed.after.comm_like);
    }
    in_.matching.reset();
    return reached;
  }

 private:
  /// The first rank of a stage. False where it names no passes.
  Result<bool> change(Trace& t) {
    CHAKRA_ASSIGN(const std::optional<Stage> stage, find_passes(t));
    if (!stage) return false;
    CHAKRA_TRY(check(t, *stage));
    CHAKRA_ASSIGN(const std::vector<Copied> pieces, pieces_with(*stage, wanted_));
    CHAKRA_ASSIGN(Restaged after, with_pieces(t, *stage, pieces));
    stages_.push_back({t, std::move(after), passes_of(t, *stage)});
    t = stages_.back().after.trace;
    return true;
  }

  /// All stages have one schedule, which can run with that many.
  Result<void> check(const Trace& t, const Stage& stage) {
    gen::Pipeline pipeline = stage.pipeline;
    if (!schedule_) schedule_ = stage.schedule, pipeline_ = pipeline;
    if (schedule_ != stage.schedule || pipeline_.stages != pipeline.stages || pipeline_.chunks != pipeline.chunks ||
        pipeline_.micro_batches != pipeline.micro_batches)
      return fail(Code::bad_input, "whatif.micro_batches.form",
                  "ranks of the job have different schedules or numbers of micro-batches", {t.file, t.rank});
    pipeline.micro_batches = wanted_;
    if (const std::string why = schedule_->refuse(pipeline); !why.empty())
      return fail(Code::usage, "whatif.micro_batches.schedule",
                  fmt::format("the schedule {} cannot run with them: {}", schedule_->name, why));
    return {};
  }

  static void copy_transfers(std::vector<sim::Transfers::Row>& rows, const std::vector<uint32_t>& like) {
    std::vector<sim::Transfers::Row> copies;
    for (const uint32_t row : like) copies.push_back(rows[row]);
    rows = std::move(copies);
  }

  sim::SimInput& in_;
  int64_t wanted_;
  std::vector<Changed> stages_;
  const gen::ScheduleRow* schedule_ = nullptr;
  gen::Pipeline pipeline_;
};

}  // namespace

Result<int64_t> parse_micro_batches(std::string_view value) {
  int64_t wanted = 0;
  if (parse_decimal(value, wanted) && wanted >= 1 && wanted <= kMostMicroBatches) return wanted;
  return fail(
      Code::usage, "whatif.rule.form",
      fmt::format("{} is not a number of micro-batches, a whole number from 1 to {}", quote(value), kMostMicroBatches));
}

// `whatif.micro_batches.schedule` (2): the schedule of a job cannot run with that many micro-batches
Result<Reached> change_micro_batches(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const int64_t wanted, parse_micro_batches(value));
  CHAKRA_ASSIGN(const Reached reached, MicroBatches(input, wanted).run());
  return reached_something(
      reached, "micro-batches", value,
      "no node has a micro-batch number; jobs of 'chakra gen step' have the numbers, recordings do not");
}

}  // namespace chakra::whatif
