#include "chakra/job/parts.h"
#include "chakra/linking/link.h"

namespace chakra::linking {

using options::Option;
using options::Options;
using options::required;
using options::whole_number;

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
      {"--rank", &o.link.rank, "Rank number, if the files have none or a wrong one", "N",
       whole_number(0, job::kMostRanks)},
      {"--steps", options::steps_form(o.link.steps), "Link only the ProfilerSteps A to B, inclusive", "A:B"},
      {"--fit-steps",
       options::steps_form(o.link.fit_steps),
       "Estimate launch latency and dispatch gap from these ProfilerSteps only",
       "A:B",
       {},
       "The other steps then serve to judge the estimates."},
      {"--iteration", &o.link.iteration, "Iteration of a Kineto trace to link, from 0", "N",
       whole_number(0, job::kMostRanks),
       "For a Kineto trace of many iterations with a host trace of one. Default: the iteration of median length."},
      {"--cycle", &o.cycle, "Recording of each rank to link, from 0 in the order of names", "N",
       whole_number(0, job::kMostRanks),
       "For a folder with several recordings of a rank, which a schedule with repeat or chakra_et.record() left."},
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
      job::max_error_option(o.max_error),
      {"--explain", &o.explain, "Explain each edge of this node, instead of printing the report", "NODE",
       whole_number(0, INT64_MAX)}};
}

}  // namespace chakra::linking
