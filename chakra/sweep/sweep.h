// `chakra sweep` as a call: generate and simulate the points of a space of options.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/fleet/fleet.h"
#include "chakra/options/options.h"
#include "chakra/sweep/space.h"
#include "chakra/view/view.h"

namespace chakra::sweep {

struct SweepOptions {
  std::string file;    ///< docs/reference/formats/sweep.md
  std::string output;  ///< folder for the results of points, which a later call continues
  fleet::Shard shard;  ///< other parts of the points run elsewhere, into the same folder
  std::string svg;     ///< file of the figure of two objectives, which the caller writes; "": none
};
options::Options rows_of(SweepOptions& options);

/// Which value of a result is better.
enum class Goal : uint8_t { none, smaller, larger };
inline constexpr std::array<std::string_view, 3> kGoals{"", "smaller", "larger"};

/// A number or text of a point, taken from the answers of its calls.
struct MetricRow {
  std::string_view name;
  answer::Type type;
  answer::Unit unit;
  Goal goal;
  std::string_view description;
  struct Source {
    std::string_view verb, key;  ///< verb "gen" is both generators; key "ranks[].x": the mean of a column of a table
  };
  std::array<Source, 3> sources = {};  ///< the first one with a value counts
};
inline constexpr size_t kMetricCount = 27;
extern const std::array<MetricRow, kMetricCount> kMetrics;
using MetricValues = std::array<answer::Cell, kMetricCount>;

/// The result of a point. Equal points share one.
struct Outcome {
  MetricValues values;
  std::string tag, text;  ///< of the error that ended the point; "": the point is finished
  Findings findings;      ///< one of each subject

  bool failed() const { return !tag.empty(); }
};

struct Sweep {
  Plan plan;
  std::vector<uint64_t> points;    ///< ascending, as sweep::select_points()
  std::vector<size_t> outcome_of;  ///< of each point
  std::vector<Outcome> outcomes;   ///< of different points, in the order of the points
  int64_t resumed = 0;             ///< outcomes from earlier calls
  std::vector<size_t> objectives;  ///< metrics; the first one decides about the best point
  std::vector<bool> is_front;      ///< of each point: Pareto front of several objectives; empty for one objective
  Findings findings;
  /// Names of columns: each answer of this result refers to them.
  std::shared_ptr<const std::vector<std::string>> names = std::make_shared<const std::vector<std::string>>();

  const Outcome& outcome(size_t point) const { return outcomes[outcome_of[point]]; }
  /// Return the value of an objective, negated if larger is better; nullopt if the point failed or lacks the value.
  std::optional<double> loss(size_t point, size_t metric) const;
};

/// Read the file, and run each different point once, on all cores (cores.h). The result is the same for every number
/// of cores. A finished point is a line of <output>/points.jsonl, with a digest of its options and input files; later
/// calls take the line instead of running the point again, also the lines of shards. A point that fails has the error
/// instead of values; failures to read or write a file are tried again by later calls. Memory: outcomes, networks
/// (Networks), for each core a simulation and a job, and one job more. Errors: those of sweep::read_plan and
/// sweep::select_points; cli.usage; sweep.objective; base.file.*; job.interrupted.
Result<Sweep> run_sweep(const SweepOptions& options);
/// Return the file for the results of points: points.jsonl in the output folder, or that of the shard.
std::string journal_of(const std::string& output, const fleet::Shard& shard);
/// Return all files that the call would read. Errors: as for sweep::read_plan.
Result<std::vector<std::string>> files_of_sweep(const std::string& file);

/// Return the answer. Requires that `sweep.names` lives as long as the answer. Cost: O(points x columns).
answer::Answer answer_of(const Sweep& sweep);
/// Return the text: the best points, the Pareto front, effects of parameters, failures, findings.
std::string sweep_text(const Sweep& sweep);
/// Return the figure of the first two objectives. Requires two objectives.
view::Scatter picture_of(const Sweep& sweep);

}  // namespace chakra::sweep
