// chakra view
#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/view_options.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

Result<view::EventCsvOptions> event_csv_options(const ViewOptions& o) {
  view::EventCsvOptions options;
  options.ranks = o.csv_ranks;
  CHAKRA_ASSIGN(options.hz, view::parse_frequency(o.frequency.empty() ? "1GHz" : o.frequency));
  return options;
}

/// Options that do not go together.
Result<void> check_options(const ViewOptions& o, bool timeline, bool csv) {
  if (timeline && (o.call.graph.group || o.call.graph.focus || o.only != "all"))
    return fail(Code::usage, "cli.usage", "--only, --focus and --group are for graphs, not for timelines");
  if (csv && (o.call.rank || !o.call.ranks.empty()))
    return fail(Code::usage, "cli.usage", "--rank and --ranks are for traces; of a CSV, all ranks are shown");
  if (csv && !timeline)
    return fail(Code::usage, "cli.usage", "a CSV of issue and callback lines gives a timeline (FILE.json)");
  if (!csv && (o.csv_ranks != 0 || !o.frequency.empty()))
    return fail(Code::usage, "cli.usage", "--num-npus and --npu-frequency are for a CSV of issue and callback lines");
  return {};
}

Result<void> run_view(ViewOptions o) {
  if (o.call.form.empty()) o.call.form = view::form_of(o.call.output);
  if (o.call.form.empty())
    return fail(Code::usage, "cli.usage",
                fmt::format("{} says no form by its ending: name one with --to", quote(o.call.output, 200)));
  const bool csv = o.from == "csv" || (o.from.empty() && o.call.path.ends_with(".csv"));
  CHAKRA_TRY(check_options(o, o.call.form == "timeline", csv));
  std::vector<std::string> files{o.call.path};
  if (!csv) {
    CHAKRA_ASSIGN(files, job_files(o.call.path));
  }
  CHAKRA_TRY(keep_apart(files, {o.call.output}, ""));
  if (csv) {
    CHAKRA_ASSIGN(o.call.event_csv, event_csv_options(o));
  }
  const auto only = std::find(view::kOnlyNames.begin(), view::kOnlyNames.end(), o.only);
  o.call.graph.only = static_cast<view::Only>(only - view::kOnlyNames.begin());
  CHAKRA_ASSIGN(const result::Report report, job::view_job(o.call));
  print(view::to_text(report));
  return {};
}

}  // namespace

Syntax view_syntax() {
  auto options = std::make_shared<ViewOptions>();
  return {.options = view_rows(*options), .run = exits_with_zero([options] { return run_view(*options); })};
}

}  // namespace chakra::cli
