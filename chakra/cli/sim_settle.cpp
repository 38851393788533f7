// The options of 'chakra sim' -> those of the call.
#include <fmt/core.h>

#include "chakra/cli/sim_options.h"

namespace chakra::cli {

Result<void> settle(SimOptions& o) {
  if (!o.workload.empty()) {
    if (!o.call.path.empty()) return fail(Code::usage, "cli.usage", "the job is given twice");
    o.call.path = o.workload;
    if (o.compat.empty()) o.compat = "astra-sim";
    o.astra_output = true;
  }
  if (o.call.path.empty()) return fail(Code::usage, "cli.usage", "which job? Give a prefix, a folder or one trace");
  // ASTRA-sim takes a path with "empty" in it for no file.
  if (contains(o.call.groups, "empty")) o.call.groups.clear();
  astra::Options& compat = o.call.compat_options;
  if (o.compat.empty() && (o.astra_output || compat.queues_per_dimension != 1 || !o.backend.empty() ||
                           !o.rendezvous.empty() || compat.injection_scale != 1))
    return fail(Code::usage, "cli.usage",
                "--astra-output, --backend, --num-queues-per-dim, --rendezvous-protocol and --injection-scale are for "
                "--compat");
  compat.congestion_aware = o.backend == "congestion_aware";
  compat.rendezvous = o.rendezvous == "true" || o.rendezvous == "1";
  o.call.compat = !o.compat.empty();
  o.call.fold = !o.no_fold;
  o.call.check = !o.no_check;
  o.call.timeline = !o.timeline.empty();
  return {};
}

Findings ignored_options(const SimOptions& o) {
  Findings findings;
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", o.compute_scale), std::pair("--comm-scale", o.comm_scale)})
    if (!value.empty() && value != "1")
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          fmt::format("{} {} has no effect here, nor in ASTRA-sim", flag, value)});
  for (const auto& [flag, value] :
       {std::pair("--logging-configuration", o.logging), std::pair("--logging-folder", o.logging_folder)})
    if (!value.empty()) findings.push_back(job::no_effect(flag, "nothing is logged; --json says what happens"));
  return findings;
}

}  // namespace chakra::cli
