// chakra link
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

Result<int> run_link(const job::LinkJobOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart(o.inputs, {o.output}, globals.json));
  CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(o));
  if (linked.ranks.size() != 1 || o.of_folders())
    for (const job::LinkedRank& rank : linked.ranks) CHAKRA_TRY(keep_apart({}, {rank.output}, globals.json));
  job::Outputs traces;
  for (AtomicFile& file : linked.files) CHAKRA_TRY(traces.add(std::move(file)));
  CHAKRA_TRY(show(globals, linked, std::move(traces)));
  CHAKRA_TRY(recorded::check_errors(o.max_error, linked.replays));
  return 0;
}

}  // namespace

Syntax link_syntax() { return syntax_of<job::LinkJobOptions>(run_link); }

}  // namespace chakra::cli
