// chakra fleet
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

template <class Options>
using Verb = Result<Answer> (*)(const std::vector<std::string>& paths, const Options& options, Control control);

template <class Options, Verb<Options> Run>
Syntax fleet_with() {
  using Asked = With<Options>;
  return syntax_of<Asked>(
      [](Asked& o) {
        options::Options rows = rows_of(o.options, {{"paths", &o.paths}});
        add(rows, table_options(o.files));
        return rows;
      },
      [](const Asked& o, const Globals& globals) {
        ProgressLine line("tasks");
        return show(globals, Run(o.paths, o.options, line.on(globals.control(o.files))));
      });
}

Syntax merge_syntax() {
  using Asked = With<FleetMergeOptions>;
  return syntax_of<Asked>(
      [](Asked& o) {
        options::Options rows = rows_of(o.options, {});
        add(rows, table_options(o.files));
        return rows;
      },
      [](const Asked& o, const Globals& globals) {
        return show(globals, fleet_merge(o.options, globals.control(o.files)));
      });
}

}  // namespace

Syntax fleet_syntax() {
  return {.below = {{"analyze", "Analyze many jobs", fleet_with<FleetAnalyzeOptions, fleet_analyze>},
                    {"link", "Link recordings of many jobs", fleet_with<FleetLinkOptions, fleet_link>},
                    {"merge", "Report on a fleet without running tasks", merge_syntax}}};
}

}  // namespace chakra::cli
