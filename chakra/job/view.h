// A timeline or a picture of a job: what `chakra view` does, as a call.
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

/// What is viewed: traces, or a CSV of issue and callback lines of a simulator, of which there is a timeline.
enum class ViewInput : uint8_t { traces, csv };
inline constexpr std::array<std::string_view, 2> kViewInputs{"traces", "csv"};

struct ViewOptions {
  std::string path;               ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string output;             ///< the file
  std::string form;               ///< a name of view::kForms; empty: the ending of `output` says it
  std::string ranks;              ///< "FIRST:COUNT": only these
  std::optional<int64_t> rank;    ///< only this one; a graph is drawn of one
  view::GraphOptions graph;       ///< of all forms but the timeline
  std::optional<ViewInput> from;  ///< none: the ending of `path` says it
  int64_t num_npus = 0;           ///< of a CSV: expected; 0: as many as there are
  std::string npu_frequency;      ///< of a CSV: of its ticks; empty: 1GHz
};
options::Options rows_of(ViewOptions& options);

/// What the endings of names say, where the options do not. Errors: cli.usage.
Result<void> settle(ViewOptions& options);

struct ViewedJob {
  /// Contents of a timeline.
  struct TimelineCounts {
    int64_t slices = 0, tracks = 0, ranks = 0, arrows = 0, bytes = 0;
  };
  std::string output, form;
  std::optional<TimelineCounts> timeline = {};
  std::optional<view::GraphCounts> graph = {};
  bool grouped = false;  ///< boxes of the graph stand for several nodes
  Findings findings = {};
};

/// Writes the file. Errors: cli.usage for options that do not go together, for a rank
/// that the job lacks and for a graph of several ranks; view.large for a timeline that no viewer opens, unless `ranks`
/// names all that are in it; those of reading, view::timeline_of, view::read_event_csv and view::write_graph.
/// Cost: that of these.
Result<ViewedJob> view_job(ViewOptions options);
answer::Answer answer_of(const ViewedJob& job);
view::Text text_of(const ViewedJob& job);

}  // namespace chakra::job
