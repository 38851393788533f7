// A timeline or a picture of a job: what `chakra view` does, as a call.
#pragma once

#include <optional>
#include <string>

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct ViewOptions {
  std::string path;             ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string output;           ///< the file
  std::string form;             ///< a name of view::kForms
  std::string ranks;            ///< "FIRST:COUNT": only these
  std::optional<int64_t> rank;  ///< only this one; a graph is drawn of one
  view::GraphOptions graph;     ///< of all forms but the timeline
  std::optional<view::EventCsvOptions> event_csv;  ///< `path` is a CSV of issue and callback lines, for a timeline
};

/// Writes the file. The report says what is in it. Requires the form timeline for a CSV. Errors: cli.usage for a rank
/// that the job lacks and for a graph of several ranks; view.large for a timeline that no viewer opens, unless `ranks`
/// names all that are in it; those of reading, view::timeline_of, view::read_event_csv and view::write_graph.
/// Cost: that of these.
Result<result::Report> view_job(const ViewOptions& options);

}  // namespace chakra::job
