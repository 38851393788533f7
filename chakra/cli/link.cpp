// chakra link
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

Result<int> run_link(const job::LinkJobOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart(o.inputs, {o.output}, globals.json));
  CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(o));
  if (o.of_folders())
    for (const job::LinkedRank& rank : linked.ranks) CHAKRA_TRY(keep_apart({}, {rank.output}, globals.json));
  const Json as_json = json_if_asked(globals.json, [&] { return to_json(linked); });
  job::Outputs json;
  CHAKRA_TRY(add_json(json, globals.json, as_json));
  CHAKRA_TRY(linked.commit());
  CHAKRA_TRY(json.commit());
  if (globals.json == "-") print(to_text(as_json));
  else print(view::to_text(report_of(linked)));
  CHAKRA_TRY(job::check_errors(o.max_error, linked.replays));
  return 0;
}

}  // namespace

Syntax link_syntax() { return syntax_of<job::LinkJobOptions>(run_link); }

}  // namespace chakra::cli
