// The options of the calls that have few, a function each.
#include "chakra/io/io.h"
#include "chakra/job/analyze.h"
#include "chakra/job/calibrate.h"
#include "chakra/job/check.h"
#include "chakra/job/convert.h"
#include "chakra/job/diff.h"
#include "chakra/job/generate.h"
#include "chakra/job/import.h"
#include "chakra/job/link.h"
#include "chakra/job/pack.h"
#include "chakra/job/shared_options.h"
#include "chakra/job/view.h"

namespace chakra::job {
namespace {

constexpr int64_t kMostRanks = 1 << 30;
constexpr const char* kTracesHelp = "Traces: a file, a prefix (PREFIX.<rank>.et), a folder or a container";

}  // namespace

Options rows_of(AnalyzeOptions& o) {
  return {required({"path", &o.path, kTracesHelp, "PATH"}),
          separated({"--only", &o.only, "Run only these analyses (chakra list analyses)", "NAMES",
                     one_of(names(analyze::kAnalyses)), "Separate several names with commas."}),
          groups_option(o.groups),
          {"--launched",
           choice(o.scope, analyze::kLaunchScopes),
           "Which device operations count, by their launch",
           "SCOPE",
           {},
           "all: those of all of the trace. steps: until the last ProfilerStep ends. before-last-step: before it "
           "begins."}};
}

Options rows_of(CheckOptions& o) { return {job_option(o.path), groups_option(o.groups), expand_option(o.expand)}; }

Options rows_of(ConvertOptions& o) {
  return {
      required({"paths",
                &o.paths,
                "Traces of any form, or one file of another tool's form",
                "IN...",
                {},
                "Files, a prefix (PREFIX.<rank>.et), a folder, a container, or a job by classes (ranks.json). 'chakra "
                "import' has options for forms of other tools."}),
      required({"-o,--output",
                &o.output,
                "The file to write; of several ranks a prefix or a folder",
                "OUT",
                {},
                ".gz or .zst at the end of the name packs it."}),
      {"--from",
       &o.from,
       "Form of the inputs; else the contents say it",
       "FORM",
       {},
       "One of " + known_forms(false) + ", or a form of 'chakra import'."},
      {"--to",
       &o.to,
       "Form of the output; else its name says it",
       "FORM",
       {},
       "One of " + known_forms(true) + ", or text (ASTRA-sim 1.0, SimAI)."}};
}

Options rows_of(DiffOptions& o) {
  Option threshold{"--threshold", &o.threshold, "Exit with 1 if something differs by more than P percent, up or down",
                   "P", real_number(0, 1e6)};
  Option least{"--least-share", &o.least_share, "Smallest share of all time, in percent, that counts for --threshold",
               "P", real_number(0, 100)};
  threshold.excludes = least.excludes = "--timing";
  return {required({"a", &o.a, kTracesHelp, "A"}),
          required({"b", &o.b, "What to compare them with", "B"}),
          std::move(threshold),
          std::move(least),
          {"--timing", &o.timing, "Say how alike the measured times are of two runs of the same job"}};
}

Options rows_of(CaseOptions& o) {
  return {required({"-o,--output", &o.output, "Writes DIR/<case>.<rank>.et", "DIR"}),
          {"--num-npus,--num_npus", &o.ranks, "Ranks", "N", whole_number(1, 1 << 20)},
          {"--default-runtime,--default_runtime", &o.runtime_us, "Time of a computation in us", "US",
           whole_number(0, kLongestPs / kPsPerUs)},
          {"--default-tensor-size,--default_tensor_size", &o.cases.tensor_bytes, "Bytes of a load, store or message",
           "BYTES", whole_number(0, INT64_MAX)},
          {"--default-comm-size,--default_comm_size", &o.cases.comm_bytes, "Bytes of a collective", "BYTES",
           whole_number(0, INT64_MAX)}};
}

Options rows_of(ImportOptions& o) {
  return {
      required({"file", &o.input, "A workload of another tool, packed or not", "FILE"}),
      required({"-o,--output", &o.output, "Writes PREFIX.<rank>.et; into a folder, trace.<rank>.et", "PREFIX"}),
      {"--classes", &o.classes, "Write a folder with one trace for each class of equal ranks (ranks.json)"},
      {"--from", &o.form, "Form of the file; else its beginning says it", "FORM", one_of(names(foreign::kForms))},
      separated({"--dims", &o.read.dims, "text: ranks along each dimension of the network, inner first: 8,8", "LIST",
                 whole_number(1, INT64_MAX)}),
      {"--num-npus", &o.read.num_npus, "text: ranks, where neither --dims nor the file says", "N",
       whole_number(1, INT64_MAX)},
      {"--num-passes", &o.read.num_passes, "text: training iterations", "N", whole_number(1, INT64_MAX)},
      {"--time-unit", &o.read.time_unit, "text, flexflow: unit of the file's times", "UNIT",
       one_of({"ns", "us", "ms", "s"}), "Without it, us for ASTRA-sim's text, ns for SimAI's and ms for FlexFlow."},
      {"--coll-size", &o.read.coll_bytes, "msccl: bytes of the collective", "BYTES", whole_number(1, int64_t{1} << 60)},
      {"--default-simulated-run-time", options::time_form(o.read.default_run_time),
       "msccl: time of each reduction and copy, such as 7us", "TIME"}};
}

Options rows_of(LinkJobOptions& o) {
  Option inputs =
      required({"inputs",
                &o.inputs,
                "Traces of one rank, or folders with those of a job",
                "HOST DEVICE [DUMP] | DEVICE [DUMP] | DIR...",
                {},
                "A PyTorch execution trace and a Kineto trace of one rank in any order, or one of them "
                "alone. Or the folder with those of a job, or two folders, one with its host traces and one "
                "with its Kineto traces. Dumps of a flight recorder beside them give groups and sizes."});
  inputs.most = 3;
  return {std::move(inputs),
          required({"-o,--output", &o.output, "The trace to write; of folders the folder for trace.<rank>.et", "PATH"}),
          {"--rank", &o.link.rank, "The rank, where the files do not say it or say it wrongly", "N",
           whole_number(0, kMostRanks)},
          {"--steps", options::steps_form(o.link.steps), "Link only the ProfilerSteps A to B, both included", "A:B"},
          {"--fit-steps",
           options::steps_form(o.link.fit_steps),
           "Estimate launch latency and dispatch gap from these ProfilerSteps only",
           "A:B",
           {},
           "The other steps then judge the estimates."},
          {"--iteration", &o.link.iteration, "Which iteration of a Kineto trace to link, from 0", "N",
           whole_number(0, kMostRanks),
           "For a Kineto trace of many iterations beside a host trace of one. Without it, the iteration of median "
           "length is linked."},
          {"--cycle", &o.cycle, "Which Kineto trace of each rank to link, from 0 in the order of names", "N",
           whole_number(0, kMostRanks), "For a folder where a schedule with repeat left several of each rank."},
          {"--salvage",
           &o.link.salvage,
           "Leave damaged records out, and keep the whole records of cut files",
           {},
           {},
           "The report names each lost record."},
          max_error_option(o.max_error),
          {"--explain", &o.explain, "Instead of the report, why each edge of this node is there", "NODE",
           whole_number(0, INT64_MAX)}};
}

Options rows_of(PackOptions& o) {
  return {required({"paths",
                    &o.paths,
                    "Traces of any form; with --stats alone, a container",
                    "JOB...",
                    {},
                    "Files, a prefix (PREFIX.<rank>.et), a folder, or a job by classes (ranks.json)."}),
          {"-o,--output", &o.output, "The container to write", "FILE.chakra"},
          {"--append", &o.append, "Add the ranks to a container that is there; its blocks stay as they are"},
          {"--stats", &o.stats, "Show the bytes of each rank, and how many reading it takes"},
          {"--group", &o.group_nodes, "Nodes that are packed together", "N", whole_number(1, 1 << 24),
           "More pack better, fewer are found faster."}};
}

Options rows_of(UnpackOptions& o) {
  return {required({"path", &o.path, "The container", "FILE.chakra"}),
          required({"-o,--output", &o.output, "The folder to write trace.<rank>.et into", "DIR"}),
          separated({"--ranks", &o.ranks, "Only these ranks", "R,R,...", whole_number(0, INT64_MAX)}),
          {"--nodes", &o.nodes, "Only these nodes of each rank: the first, from 0, and how many", "FIRST[:COUNT]"},
          {"--to", &o.to, "The form: et, json or jsonl; then .gz or .zst to pack the files", "FORM"}};
}

Options rows_of(CalibrateDeviceOptions& o) {
  return {required({"--from",
                    &o.from,
                    "Tables of measured kernels (CSV), linked traces, or folders of traces",
                    "PATH",
                    {},
                    "Tables have our own form, or that of aiconfigurator, Vidur, NeuSight or Liger-Kernel. They may be "
                    "packed."}),
          required({"-o,--output", &o.output, "The device file to write", "FILE"}),
          {"--device",
           &o.device,
           "The measured device: a name of 'chakra list devices', or a file",
           "NAME|FILE",
           {},
           "Without it, the tables say it."}};
}

Options rows_of(CalibrateNetworkOptions& o) {
  return {required({"--from", &o.fit.files, "Logs of nccl-tests or rccl-tests, or tables (CSV); also packed", "FILE"}),
          required({"-o,--output", &o.output, "The network file to write", "FILE"}),
          {"--judge", &o.fit.judge, "Other measurements, which judge the fit and do not enter it", "FILE"},
          each_time({"--where",
                     &o.fit.where,
                     "Rows of tables that count, such as sku=h100_dgx",
                     "COLUMN=VALUE",
                     {},
                     "For tables that have the column."}),
          {"--operation", &o.fit.operation, "The collective of the logs, where they do not say it", "NAME"},
          each_time(separated({"--npus", &o.fit.npus, "Of the network to write: ranks, or GPUs,NODES", "N[,N]",
                               whole_number(1, int64_t{1} << 24), "Without it, as many as were measured."}))};
}

}  // namespace chakra::job
