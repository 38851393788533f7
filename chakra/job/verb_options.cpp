// The options of the calls that have few, a function each.
#include "chakra/job/analyze.h"
#include "chakra/job/calibrate.h"
#include "chakra/job/check.h"
#include "chakra/job/diff.h"
#include "chakra/job/shared_options.h"

namespace chakra::job {
namespace {

constexpr const char* kTracesHelp = "Traces: a file, a prefix (PREFIX.<rank>.et), a folder or a container";

}  // namespace

Options rows_of(AnalyzeOptions& o) {
  return {required({"path", &o.path, kTracesHelp, "PATH"}),
          separated({"--only", &o.only, "Run only these analyses (chakra list analyses)", "NAMES",
                     one_of(names(analyze::kAnalyses)), "Separate several names with commas."}),
          groups_option(o.groups),
          launched_option(o.scope),
          {"--svg", &o.svg, "Draw the worst imbalance of collective sizes across ranks", "FILE"}};
}

Options rows_of(CheckOptions& o) { return {job_option(o.path), groups_option(o.groups), expand_option(o.expand)}; }

Options rows_of(DiffOptions& o) {
  Option threshold{"--threshold", &o.threshold, "Exit with 1 if a difference exceeds P percent in either direction",
                   "P", real_number(0, 1e6)};
  Option least{"--least-share", &o.least_share,
               "Smallest share of the total time, in percent, that --threshold considers", "P", real_number(0, 100)};
  Option fail_over{
      "--fail-over",
      &o.fail_over,
      "Exit with 1 if a step of B is more than P percent longer, such as 3%",
      "P",
      real_number(0, 1e6),
      "If the lengths of steps vary, the limit is at least twice their spread. The result also has the change of the "
      "diagnosis (docs/explanation/diagnosis.md)."};
  Option markdown{"--markdown", &o.markdown, "Print the change of the step and of the diagnosis as Markdown"};
  threshold.excludes = least.excludes = fail_over.excludes = markdown.excludes = "--timing";
  return {required({"a", &o.a, kTracesHelp, "A"}),
          required({"b", &o.b, "Traces to compare with A", "B"}),
          std::move(threshold),
          std::move(least),
          std::move(fail_over),
          std::move(markdown),
          {"--timing", &o.timing, "Compare the measured times of two runs of the same job"}};
}

Options rows_of(CalibrateDeviceOptions& o) {
  return {required({"--from",
                    &o.from,
                    "Tables of measured kernels (CSV), linked traces, or folders of traces",
                    "PATH",
                    {},
                    "Tables may have chakra's format or that of aiconfigurator, Vidur, NeuSight or Liger-Kernel, and "
                    "may be compressed."}),
          required({"-o,--output", &o.output, "Device file to write", "FILE"}),
          {"--device",
           &o.device,
           "Measured device: a name of 'chakra list devices', or a file",
           "NAME|FILE",
           {},
           "Default: the device named in the tables."}};
}

Options rows_of(CalibrateNetworkOptions& o) {
  return {required(
              {"--from", &o.fit.files, "Logs of nccl-tests or rccl-tests, or tables (CSV); may be compressed", "FILE"}),
          required({"-o,--output", &o.output, "Network file to write", "FILE"}),
          {"--judge", &o.fit.judge, "Held-out measurements to judge the fit", "FILE"},
          each_time({"--where",
                     &o.fit.where,
                     "Use only table rows with this value, such as sku=h100_dgx",
                     "COLUMN=VALUE",
                     {},
                     "Applies to tables that have the column."}),
          {"--operation", &o.fit.operation, "Collective of the logs, if they do not name it", "NAME"},
          each_time(separated({"--npus", &o.fit.npus, "Size of the network to write: ranks, or GPUs,NODES", "N[,N]",
                               whole_number(1, int64_t{1} << 24), "Default: the measured sizes."}))};
}

}  // namespace chakra::job
