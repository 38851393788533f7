// chakra link
#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostRanks = 1 << 30;
constexpr int64_t kMostJobs = 256;

struct LinkOptions {
  job::LinkJobOptions call;
  std::string json, steps, fit_steps;
};

Result<void> run_link(LinkOptions o) {
  CHAKRA_TRY(keep_apart(o.call.inputs, {o.call.output}, o.json));
  CHAKRA_ASSIGN(o.call.link.steps, steps_of("--steps", o.steps));
  CHAKRA_ASSIGN(o.call.link.fit_steps, steps_of("--fit-steps", o.fit_steps));
  CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(o.call));
  if (o.call.of_folders())
    for (const job::LinkedRank& rank : linked.ranks) CHAKRA_TRY(keep_apart({}, {rank.output}, o.json));
  const Json as_json = json_if_asked(o.json, [&] { return to_json(linked); });
  job::Outputs json;
  CHAKRA_TRY(add_json(json, o.json, as_json));
  CHAKRA_TRY(linked.commit());
  CHAKRA_TRY(json.commit());
  if (o.json == "-") print(to_text(as_json));
  else print(view::to_text(report_of(linked)));
  return job::check_errors(o.call.max_error, linked.replays);
}

}  // namespace

Syntax link_syntax() {
  auto options = std::make_shared<LinkOptions>();
  return {
      .options = {{.names = "inputs",
                   .target = &options->call.inputs,
                   .help =
                       "A PyTorch execution trace and a Kineto trace of one rank, in any order; one of them alone; or "
                       "the folder with those of a job, or folders with its host traces and its Kineto traces. Dumps "
                       "of a flight recorder beside them give groups and sizes",
                   .value = "HOST DEVICE [DUMP] | DEVICE [DUMP] | DIR...",
                   .required = true,
                   .most = 3},
                  required({"-o,--output", &options->call.output,
                            "The trace to write; for folders, the folder for trace.<rank>.et", "PATH"}),
                  {"--rank", &options->call.link.rank, "The rank, where the files do not say it or say it wrongly", "N",
                   whole_number(0, kMostRanks)},
                  {"--steps", &options->steps, "Link only the ProfilerSteps A to B, both included", "A:B"},
                  {"--fit-steps", &options->fit_steps,
                   "Estimate launch latency and dispatch gap from the ProfilerSteps A to B only, so that the other "
                   "steps judge them",
                   "A:B"},
                  {"--iteration", &options->call.link.iteration,
                   "Where a Kineto trace of many iterations meets a host trace of one: which to link, from 0 (default: "
                   "the one of median length)",
                   "N", whole_number(0, kMostRanks)},
                  {"--cycle", &options->call.cycle,
                   "Of a folder where a schedule with repeat left several Kineto traces of each rank: which to link, "
                   "from 0 in the order of their names",
                   "N", whole_number(0, kMostRanks)},
                  {"--salvage", &options->call.link.salvage,
                   "Leave damaged records out, and keep the whole records of files that were cut; the report names the "
                   "lost part"},
                  max_error_option(options->call.max_error),
                  {"--explain", &options->call.explain, "Instead of the report, why each edge of a node is there",
                   "NODE", whole_number(0, INT64_MAX)},
                  {"--jobs", &options->call.jobs, "Ranks to link at the same time (default: one per core)", "N",
                   whole_number(1, kMostJobs)},
                  json_option(options->json)},
      .run = exits_with_zero([options] { return run_link(*options); })};
}

}  // namespace chakra::cli
