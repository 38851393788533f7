#include "chakra/convert/import.h"
#include "chakra/convert/pack.h"
#include "chakra/convert/traces.h"
#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"

namespace chakra::convert {

using options::names;
using options::one_of;
using options::Options;
using options::required;
using options::whole_number;

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

Options rows_of(ImportOptions& o) {
  return {
      required({"file", &o.input, "A workload of another tool, compressed or not", "FILE"}),
      required({"-o,--output", &o.output, "Prefix of PREFIX.<rank>.et; or a folder, for trace.<rank>.et", "PREFIX"}),
      {"--classes", &o.classes, "Write a folder with one trace per class of identical ranks (ranks.json)"},
      {"--from", &o.form, "Format of the file (default: detected from the contents)", "FORM",
       one_of(names(foreign::kForms))},
      job::separated({"--dims", &o.read.dims, "text, torch: ranks in each dimension, innermost first: 8,8", "LIST",
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

Options rows_of(UnpackOptions& o) {
  return {required({"path", &o.path, "The container", "FILE.chakra"}),
          required({"-o,--output", &o.output, "Folder for trace.<rank>.et", "DIR"}),
          job::separated({"--ranks", &o.ranks, "Only these ranks", "R,R,...", whole_number(0, INT64_MAX)}),
          {"--nodes", &o.nodes, "Only these nodes of each rank: first node (from 0) and count", "FIRST[:COUNT]"},
          {"--to", &o.to, "Format: et, json or jsonl; append .gz or .zst to compress the files", "FORM"}};
}

}  // namespace chakra::convert
