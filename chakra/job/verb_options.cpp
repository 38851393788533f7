// The options of the calls that have few, a function each.
#include "chakra/io/io.h"
#include "chakra/job/analyze.h"
#include "chakra/job/calibrate.h"
#include "chakra/job/certify.h"
#include "chakra/job/check.h"
#include "chakra/job/convert.h"
#include "chakra/job/diff.h"
#include "chakra/job/generate.h"
#include "chakra/job/import.h"
#include "chakra/job/link.h"
#include "chakra/job/obfuscate.h"
#include "chakra/job/pack.h"
#include "chakra/job/query.h"
#include "chakra/job/report.h"
#include "chakra/job/select.h"
#include "chakra/job/shared_options.h"
#include "chakra/job/view.h"

namespace chakra::job {
namespace {

constexpr const char* kTracesHelp = "Traces: a file, a prefix (PREFIX.<rank>.et), a folder or a container";

Option launched_option(analyze::LaunchScope& scope) {
  return {"--launched",
          choice(scope, analyze::kLaunchScopes),
          "Device operations to include, by the time of their launch",
          "SCOPE",
          {},
          "all: launched at any time. steps: launched before the last ProfilerStep ends. before-last-step: launched "
          "before the last ProfilerStep begins."};
}

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

Options rows_of(ConvertOptions& o) {
  return {
      required({"paths",
                &o.paths,
                "Traces in any format, or one file of another tool, or a network file",
                "IN...",
                {},
                "Files, a prefix (PREFIX.<rank>.et), a folder, a container, or a job by classes (ranks.json). 'chakra "
                "import' has options for the formats of other tools."}),
      required({"-o,--output",
                &o.output,
                "File to write; for several ranks, a prefix or a folder",
                "OUT",
                {},
                "A name that ends in .gz or .zst selects compression."}),
      {"--from",
       &o.from,
       "Input format (default: detected from the contents)",
       "FORM",
       {},
       "One of " + known_forms(false) + ", or a format of 'chakra import'."},
      {"--to",
       &o.to,
       "Output format (default: from the name of the output)",
       "FORM",
       {},
       "One of " + known_forms(true) +
           ", or text (ASTRA-sim 1.0, SimAI). Of a network file: network (devices and links) or infragraph."}};
}

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

Options rows_of(CaseOptions& o) {
  return {required({"-o,--output", &o.output, "Folder for <case>.<rank>.et", "DIR"}),
          {"--num-npus,--num_npus", &o.ranks, "Number of ranks", "N", whole_number(1, 1 << 20)},
          {"--default-runtime,--default_runtime", &o.runtime_us, "Time of a computation in us", "US",
           whole_number(0, kLongestPs / kPsPerUs)},
          {"--default-tensor-size,--default_tensor_size", &o.cases.tensor_bytes, "Bytes of a load, store or message",
           "BYTES", whole_number(0, INT64_MAX)},
          {"--default-comm-size,--default_comm_size", &o.cases.comm_bytes, "Bytes of a collective", "BYTES",
           whole_number(0, INT64_MAX)}};
}

Options rows_of(ImportOptions& o) {
  return {
      required({"file", &o.input, "A workload of another tool, compressed or not", "FILE"}),
      required({"-o,--output", &o.output, "Prefix of PREFIX.<rank>.et; or a folder, for trace.<rank>.et", "PREFIX"}),
      {"--classes", &o.classes, "Write a folder with one trace per class of identical ranks (ranks.json)"},
      {"--from", &o.form, "Format of the file (default: detected from the contents)", "FORM",
       one_of(names(foreign::kForms))},
      separated({"--dims", &o.read.dims, "text, torch: ranks in each dimension, innermost first: 8,8", "LIST",
                 whole_number(1, INT64_MAX)}),
      {"--num-npus", &o.read.num_npus, "text, torch: number of ranks (default: as in --dims or the file)", "N",
       whole_number(1, INT64_MAX)},
      {"--num-passes", &o.read.num_passes, "text: training iterations", "N", whole_number(1, INT64_MAX)},
      {"--time-unit", &o.read.time_unit, "text, flexflow: time unit of the file", "UNIT",
       one_of({"ns", "us", "ms", "s"}), "Default: us for ASTRA-sim text, ns for SimAI and ms for FlexFlow."},
      {"--coll-size", &o.read.coll_bytes, "msccl: bytes of the collective", "BYTES", whole_number(1, int64_t{1} << 60)},
      {"--default-simulated-run-time", options::time_form(o.read.default_run_time),
       "msccl: time of each reduction and copy, such as 7us", "TIME"}};
}

Options rows_of(LinkJobOptions& o) {
  Option inputs =
      required({"inputs",
                &o.inputs,
                "Recordings of one rank, folders with recordings, or profiles of XLA",
                "HOST DEVICE [DUMP] | DEVICE [DUMP] | XPLANE [HLO] | DIR...",
                {},
                "A PyTorch execution trace and a Kineto trace of one rank in any order, or one of them "
                "alone. Or a folder with the recordings of a job, or two folders: one with host traces and "
                "one with Kineto traces. Flight recorder dumps in the folder add groups and sizes. Or profiles of XLA "
                "(JAX), with dumps of programs that the profiles lack; the output is then a folder, with a trace of "
                "each device."});
  inputs.most = 3;
  return {
      std::move(inputs),
      required({"-o,--output", &o.output, "Trace to write; for several ranks, the folder for trace.<rank>.et", "PATH"}),
      {"--rank", &o.link.rank, "Rank number, if the files have none or a wrong one", "N", whole_number(0, kMostRanks)},
      {"--steps", options::steps_form(o.link.steps), "Link only the ProfilerSteps A to B, inclusive", "A:B"},
      {"--fit-steps",
       options::steps_form(o.link.fit_steps),
       "Estimate launch latency and dispatch gap from these ProfilerSteps only",
       "A:B",
       {},
       "The other steps then serve to judge the estimates."},
      {"--iteration", &o.link.iteration, "Iteration of a Kineto trace to link, from 0", "N",
       whole_number(0, kMostRanks),
       "For a Kineto trace of many iterations with a host trace of one. Default: the iteration of median length."},
      {"--cycle", &o.cycle, "Kineto trace of each rank to link, from 0 in the order of names", "N",
       whole_number(0, kMostRanks), "For a folder in which a schedule with repeat left several traces per rank."},
      {"--process", &o.process, "Process to link, of a database with several processes", "PID",
       whole_number(0, INT64_MAX),
       "For exports of Nsight Systems and databases of rocprofv3. Default: each process that used a device is a rank, "
       "and the output is a folder."},
      {"--salvage",
       &o.link.salvage,
       "Skip damaged records, and keep the intact records of truncated files",
       {},
       {},
       "The report lists each lost record."},
      max_error_option(o.max_error),
      {"--explain", &o.explain, "Explain each edge of this node, instead of printing the report", "NODE",
       whole_number(0, INT64_MAX)}};
}

Options rows_of(PackOptions& o) {
  return {required({"paths",
                    &o.paths,
                    "Traces in any format; with --stats alone, a container",
                    "JOB...",
                    {},
                    "Files, a prefix (PREFIX.<rank>.et), a folder, or a job by classes (ranks.json)."}),
          {"-o,--output", &o.output, "Container to write", "FILE.chakra"},
          {"--append", &o.append, "Add the ranks to an existing container; its blocks stay unchanged"},
          {"--stats", &o.stats, "Show the bytes of each rank, and the bytes read to load a rank"},
          {"--group", &o.group_nodes, "Nodes per packed group", "N", whole_number(1, 1 << 24),
           "Larger groups compress better; smaller groups are faster to search."}};
}

Options rows_of(QueryOptions& o) {
  options::Accepted ready = one_of(names(query::kQueries));
  ready.shown.clear();  // too long for --help
  Options rows{
      job_option(o.path),
      {"sql",
       &o.sql,
       "One SELECT; - or nothing: read statements from standard input",
       "SQL",
       {},
       "'chakra list sql' has the tables. Several statements on standard input end with ';' at the end of a line."},
      {"--named", &o.named, "Run a ready query (chakra list queries)", "NAME", std::move(ready)},
      each_time({"--param",
                 &o.param,
                 "Value of the parameter :NAME of the query",
                 "NAME=VALUE",
                 {},
                 "The value is a whole number, a number, or else a text. A value is never part of the statement."}),
      {"--limit-seconds", &o.limit_seconds, "Stop the query after this time", "SECONDS", real_number(0.001, 1e6),
       "Reading and analyses count neither."},
      {"--limit-memory", &o.limit_memory, "Memory of the query in MiB, without the traces", "MIB",
       whole_number(1, 1'000'000)}};
  Options simulation = simulation_options(o.simulate, "--network");
  for (Option& row : simulation)
    if (options::key_of(row) == "network") row.help = "Simulate the job on this network (YAML), for the tables sim_*";
  add(rows, std::move(simulation));
  return rows;
}

Options rows_of(ReportOptions& o) {
  Option launched = launched_option(o.scope);
  launched.excludes = "--network";
  Option other_network{"--against-network", &o.against_network,
                       "Simulate also on this network: the other job, or the same job", "FILE"};
  other_network.needs = "--network";
  Options rows{required({"path", &o.path, kJobHelp, "PATH"}),
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
               groups_option(o.groups),
               std::move(launched)};
  add(rows, simulation_options(o.simulate, "--network"));
  return rows;
}

Options rows_of(SelectOptions& o) {
  return {
      required({"paths",
                &o.paths,
                "Jobs, and folders of jobs",
                "JOB...",
                {},
                "A job is a file, a prefix (PREFIX.<rank>.et), a folder, a container, or a job by classes. A folder "
                "that is not a job stands for the jobs in the folder."}),
      {"-k,--count", &o.count, "Number of jobs to choose", "N", whole_number(1, 1'000'000)},
      {"--method",
       choice(o.method, synth::kMethodNames),
       "What a good choice is",
       "METHOD",
       {},
       "medoids: the mean distance to the nearest chosen job is small. facility: similar jobs count most, and "
       "distant jobs hardly count."},
      {"--svg", &o.svg, "Draw the fleet, with the chosen jobs", "FILE"}};
}

Options rows_of(ObfuscateOptions& o) {
  return {required({"path", &o.path, "The job; with --reveal, a hidden job", "JOB"}),
          required({"--key",
                    &o.key,
                    "File of the key",
                    "FILE",
                    {},
                    "Equal names have equal hidden names in all jobs that are hidden with this key. Keep the key "
                    "secret."}),
          required({"-o,--output", &o.output, "Folder for the job, without other files", "DIR"}),
          {"--new-key", &o.new_key, "Make the key; a file is never replaced"},
          {"--level", &o.level, "What to hide. 1: names and ids; 2: also sizes and shapes", "N", whole_number(1, 2),
           "At level 2 a simulation takes a similar time, not the same. 'chakra certify' measures the difference."},
          each_time({"--among",
                     &o.among,
                     "Jobs, or a folder of jobs, among which the job must not stand out, for --level 2",
                     "JOB",
                     {},
                     "A size becomes that of a cell, and each cell holds sizes of at least 5 of these jobs, with 4 "
                     "different values. Default: cells of widths of published models."}),
          {"--width", &o.width, "Width of the model, for --level 2. Default: estimated from shapes and sizes", "N",
           whole_number(1, 1'000'000)},
          {"--reveal", &o.reveal, "Restore the names of a hidden job"},
          {"--names",
           &o.names,
           "Sealed file of the names",
           "FILE",
           {},
           "Default: DIR.names; with --reveal, JOB.names. Only the key opens the file."}};
}

Options rows_of(CertifyOptions& o) {
  return {required({"original", &o.original, "The job; with --check, a certificate (JSON)", "ORIGINAL"}),
          required({"shared", &o.shared, "The copy to share: a folder, or a job in any other form", "SHARED"}),
          {"-o,--output",
           &o.output,
           "Certificate to write: FILE.json, FILE.html, or a name for both",
           "FILE",
           {},
           "A certificate has no names, sizes or attributes of the original, and can be shared."},
          each_time({"--among",
                     &o.among,
                     "Jobs, or a folder of jobs, among which the copy must not stand out",
                     "JOB",
                     {},
                     "The attacks use these jobs as candidates. The original and the copy are left out."}),
          {"--level", &o.level, "Level that the copy claims (default: by the mark of 'chakra obfuscate')", "N",
           whole_number(0, 3), "1: names and ids; 2: also sizes; 3: also structure."},
          {"--examples", &o.examples, "Show nodes of both jobs; never part of the certificate"},
          {"--check", &o.check, "Compare a certificate with the copy, without the original"}};
}

Options rows_of(UnpackOptions& o) {
  return {required({"path", &o.path, "The container", "FILE.chakra"}),
          required({"-o,--output", &o.output, "Folder for trace.<rank>.et", "DIR"}),
          separated({"--ranks", &o.ranks, "Only these ranks", "R,R,...", whole_number(0, INT64_MAX)}),
          {"--nodes", &o.nodes, "Only these nodes of each rank: first node (from 0) and count", "FIRST[:COUNT]"},
          {"--to", &o.to, "Format: et, json or jsonl; append .gz or .zst to compress the files", "FORM"}};
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
