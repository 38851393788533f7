#include "chakra/job/parts.h"
#include "chakra/report/report.h"

namespace chakra::report {

using options::Option;
using options::Options;
using options::required;

Options rows_of(ReportOptions& o) {
  Option launched = job::launched_option(o.scope);
  launched.excludes = "--network";
  Option other_network{"--against-network", &o.against_network,
                       "Simulate also on this network: the other job, or the same job", "FILE"};
  other_network.needs = "--network";
  Options rows{required({"path", &o.path, job::kJobHelp, "PATH"}),
               required({"-o,--output", &o.output, "Page to write", "FILE.html"}),
               {"--against",
                &o.against,
                "Compare with this job",
                "PATH",
                {},
                "With --network, both jobs are simulated with the same options."},
               std::move(other_network),
               {"--timeline",
                &o.timeline,
                "Add a timeline of all operations to the page",
                {},
                {},
                "Of a simulated job by classes, a timeline of one rank of each class. At most 2,000,000 operations."},
               {"--xlsx", &o.xlsx, "Write all tables also to this workbook, each on a sheet", "FILE.xlsx"},
               job::groups_option(o.groups),
               std::move(launched)};
  add(rows, job::simulation_options(o.simulate, "--network"));
  return rows;
}

}  // namespace chakra::report
