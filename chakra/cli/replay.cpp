// chakra replay
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using ReplayAsked = With<RunOptions>;

options::Options replay_rows(ReplayAsked& o) {
  options::Options rows = rows_of(o.options, {{"path", &o.path}});
  options::Options tables = table_options(o.files);
  for (options::Option& row : tables) row.excludes = "--flows";
  add(rows, std::move(tables));
  return rows;
}

Result<int> run_replay(const ReplayAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job job, open(o.path, {.keep = false}));
  return show(globals, job.run(o.options, globals.control(o.files)));
}

}  // namespace

Syntax replay_syntax() { return syntax_of<ReplayAsked>(replay_rows, run_replay); }

}  // namespace chakra::cli
