#include "chakra/job/parts.h"
#include "chakra/share/share.h"

namespace chakra::share {

using options::choice;
using options::Options;
using options::required;
using options::whole_number;

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
  return {
      required({"path", &o.path, "The job; with --reveal, a hidden job", "JOB"}),
      required({"--key",
                &o.key,
                "File of the key",
                "FILE",
                {},
                "Equal names have equal hidden names in all jobs that are hidden with this key. Keep the key "
                "secret."}),
      required({"-o,--output", &o.output, "Folder for the job, without other files", "DIR"}),
      {"--new-key", &o.new_key, "Make the key; a file is never replaced"},
      {"--level", &o.level, "Hide 1: names and ids; 2: also sizes and shapes; 3: also layers, stages, experts", "N",
       whole_number(1, 3),
       "From level 2 on, a simulation takes a similar time, not the same. 'chakra certify' measures the difference. "
       "Level 3 keeps the last stages of a pipeline, with their ranks. What stays visible is a warning."},
      job::each_time({"--among",
                      &o.among,
                      "Jobs, or a folder of jobs, among which the job must not stand out",
                      "JOB",
                      {},
                      "From --level 2 on. A size becomes that of a cell, and each cell holds sizes of at least 5 of "
                      "these jobs, with 4 different values. Default: cells of widths of published models."}),
      {"--width", &o.width, "Width of the model, from --level 2 on. Default: estimated from shapes and sizes", "N",
       whole_number(1, 1'000'000)},
      {"--layers", &o.layers, "Layers of the model, for --level 3. Default: equal parts of the operations", "N",
       whole_number(1, 1'000'000)},
      {"--reveal", &o.reveal, "Restore the names of a hidden job"},
      {"--names",
       &o.names,
       "Sealed file of the names",
       "FILE",
       {},
       "Default: DIR.names; with --reveal, JOB.names. Only the key opens the file."}};
}

}  // namespace chakra::share
