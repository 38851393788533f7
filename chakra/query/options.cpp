#include "chakra/job/parts.h"
#include "chakra/query/query.h"

namespace chakra::query {

using options::names;
using options::one_of;
using options::Option;
using options::Options;
using options::real_number;
using options::whole_number;

Options rows_of(QueryOptions& o) {
  options::Accepted ready = one_of(names(query::kQueries));
  ready.shown.clear();  // too long for --help
  Options rows{
      job::job_option(o.path),
      {"sql",
       &o.sql,
       "One SELECT; - or nothing: read statements from standard input",
       "SQL",
       {},
       "'chakra list sql' has the tables. Several statements on standard input end with ';' at the end of a line."},
      {"--named", &o.named, "Run a ready query (chakra list queries)", "NAME", std::move(ready)},
      job::each_time(
          {"--param",
           &o.param,
           "Value of the parameter :NAME of the query",
           "NAME=VALUE",
           {},
           "The value is a whole number, a number, or else a text. A value is never part of the statement."}),
      {"--limit-seconds", &o.limit_seconds, "Stop the query after this time", "SECONDS", real_number(0.001, 1e6),
       "Reading and analyses count neither."},
      {"--limit-memory", &o.limit_memory, "Memory of the query in MiB, without the traces", "MIB",
       whole_number(1, 1'000'000)}};
  Options simulation = job::simulation_options(o.simulate, "--network");
  for (Option& row : simulation)
    if (options::key_of(row) == "network") row.help = "Simulate the job on this network (YAML), for the tables sim_*";
  add(rows, std::move(simulation));
  return rows;
}

}  // namespace chakra::query
