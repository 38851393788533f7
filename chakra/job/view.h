// `chakra view` as a call: write a timeline or a figure of a job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

/// The input: traces, or a CSV file with issue and callback lines of a simulator (timeline only).
enum class ViewInput : uint8_t { traces, csv };
inline constexpr std::array<std::string_view, 2> kViewInputs{"traces", "csv"};

/// Ranks that stand for a large job: all, one of each class of equal ranks, or those that others wait for the longest
/// and the one that others wait for the least.
enum class Pick : uint8_t { all, classes, outliers };
inline constexpr std::array<std::string_view, 3> kPicks{"all", "classes", "outliers"};
inline constexpr size_t kOutliers = 8;

struct ViewOptions {
  std::string path;               ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string output;             ///< the file
  std::string form;               ///< a name of view::kForms; empty: from the ending of `output`
  std::string ranks;              ///< "FIRST:COUNT": only these
  std::optional<int64_t> rank;    ///< only this rank; a graph shows one rank
  Pick pick = Pick::all;          ///< of a timeline
  view::GraphOptions graph;       ///< for all forms except timelines
  std::optional<ViewInput> from;  ///< nullopt: from the ending of `path`
  int64_t num_npus = 0;           ///< for a CSV: expected number; 0: as many as in the file
  std::string npu_frequency;      ///< for a CSV: frequency of ticks; empty: 1GHz
};
options::Options rows_of(ViewOptions& options);

/// Fill in missing options from the endings of names. Errors: cli.usage.
Result<void> settle(ViewOptions& options);

struct ViewedJob {
  /// Contents of a timeline.
  struct TimelineCounts {
    int64_t slices = 0, tracks = 0, ranks = 0, arrows = 0, counters = 0, bytes = 0;
  };
  std::string output, form;
  std::optional<TimelineCounts> timeline = {};
  std::optional<view::GraphCounts> graph = {};
  bool grouped = false;  ///< boxes of the graph stand for several nodes
  Findings findings = {};
};

/// Write the file. Cost: that of the calls below. Errors: cli.usage for options that do not go together, for an unknown
/// rank, and for a graph of several ranks. Errors: view.large for a timeline that is too large for viewers, unless
/// `ranks` lists all of its ranks. Other errors: as for reading, timeline_of, view::read_event_csv and
/// view::write_graph.
Result<ViewedJob> view_job(ViewOptions options);
answer::Answer answer_of(const ViewedJob& job);
view::Text text_of(const ViewedJob& job);

}  // namespace chakra::job
