// chakra link
#include <fmt/core.h>

#include <limits>

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

/// "3:5", "3:" or "3".
Result<std::optional<std::pair<int64_t, int64_t>>> read_steps(const char* option, const std::string& value) {
  if (value.empty()) return std::nullopt;
  const size_t colon = value.find(':');
  const std::string_view text = value;
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  const bool good =
      parse_decimal(text.substr(0, colon), first) &&
      (colon == std::string::npos ? (last = first, true)
                                  : colon + 1 == text.size() || parse_decimal(text.substr(colon + 1), last));
  if (!good || first < 0 || last < first)
    return fail(Code::usage, "cli.usage", fmt::format("{} takes A:B, A: or A, not {}", option, quote(value)));
  return std::pair(first, last);
}

Result<void> run_link(LinkOptions o) {
  CHAKRA_TRY(keep_apart(o.call.inputs, {o.call.output}, o.json));
  CHAKRA_ASSIGN(o.call.link.steps, read_steps("--steps", o.steps));
  CHAKRA_ASSIGN(o.call.link.fit_steps, read_steps("--fit-steps", o.fit_steps));
  CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(o.call));
  if (o.call.of_folders())
    for (const job::LinkedRank& rank : linked.ranks) CHAKRA_TRY(keep_apart({}, {rank.output}, o.json));
  const Json as_json = json_if_asked(o.json, [&] { return to_json(linked); });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json, prepare_json(as_json, o.json));
  CHAKRA_TRY(linked.commit());
  if (json) CHAKRA_TRY(json->commit());
  if (o.json == "-") print(cli::to_text(as_json));
  else print(view::to_text(report_of(linked)));
  return job::check_errors(o.call.max_error, linked.replays);
}

}  // namespace

Syntax link_syntax() {
  auto options = std::make_shared<LinkOptions>();
  return {
      .options =
          {{.names = "inputs",
            .target = &options->call.inputs,
            .help = "A PyTorch execution trace and a Kineto trace of one rank, in any order; one of them alone; or the "
                    "folder with those of a job, or two folders with its host traces and its Kineto traces",
            .value = "HOST DEVICE | DEVICE | DIR [DIR]",
            .required = true,
            .most = 2},
           {.names = "-o,--output",
            .target = &options->call.output,
            .help = "The trace to write; for folders, the folder for trace.<rank>.et",
            .value = "PATH",
            .required = true},
           {.names = "--rank",
            .target = &options->call.link.rank,
            .help = "The rank, where the files do not say it or say it wrongly",
            .value = "N",
            .accepted = whole_number(0, kMostRanks)},
           {.names = "--steps",
            .target = &options->steps,
            .help = "Link only the ProfilerSteps A to B, both included",
            .value = "A:B"},
           {.names = "--fit-steps",
            .target = &options->fit_steps,
            .help =
                "Estimate launch latency and dispatch gap from the ProfilerSteps A to B only, so that the other steps "
                "judge them",
            .value = "A:B"},
           {.names = "--iteration",
            .target = &options->call.link.iteration,
            .help = "Where a Kineto trace of many iterations meets a host trace of one: which to link, from 0 "
                    "(default: the "
                    "one of median length)",
            .value = "N",
            .accepted = whole_number(0, kMostRanks)},
           {.names = "--salvage",
            .target = &options->call.link.salvage,
            .help = "Leave damaged records out, and keep the whole records of files that were cut; the report names "
                    "the lost part"},
           max_error_option(options->call.max_error),
           {.names = "--explain",
            .target = &options->call.explain,
            .help = "Instead of the report, why each edge of a node is there",
            .value = "NODE",
            .accepted = whole_number(0, INT64_MAX)},
           {.names = "--jobs",
            .target = &options->call.jobs,
            .help = "Ranks to link at the same time (default: one per core)",
            .value = "N",
            .accepted = whole_number(1, kMostJobs)},
           json_option(options->json)},
      .run = exits_with_zero([options] { return run_link(*options); })};
}

}  // namespace chakra::cli
