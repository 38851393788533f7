// `chakra obfuscate` as a call: hide names, ids and sizes of a job, or restore the names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::share {

struct ObfuscateOptions {
  std::string path;                ///< the job; with `reveal` a hidden job
  std::string key;                 ///< file of the key
  bool new_key = false;            ///< make the key
  int64_t level = 1;               ///< 1: names and ids; 2: also sizes; 3: also the number of layers and stages
  std::vector<std::string> among;  ///< jobs of a fleet, for the grid of sizes; empty: the shipped grid
  int64_t width = 0;               ///< of the model; 0: by synth::guess_attributes()
  int64_t layers = 0;              ///< of the model; 0: by edit::layers_of()
  bool reveal = false;             ///< restore the names
  std::string names;               ///< sealed file of the names; empty: OUT.names, with `reveal` PATH.names
  std::string output;              ///< folder for the job
};
options::Options rows_of(ObfuscateOptions& options);

struct ObfuscatedJob {
  struct Dropped {
    std::string name;  ///< of an attribute
    int64_t count = 0;
  };
  std::string output;      ///< the folder
  std::string names_file;  ///< the sealed names
  int64_t ranks = 0, nodes = 0;
  int64_t hidden_nodes = 0;              ///< nodes whose name was hidden
  int64_t texts = 0;                     ///< different texts that were hidden, or were restored
  int64_t words = 0;                     ///< words of lists that became "?"
  std::vector<Dropped> dropped;          ///< attributes that were removed, by name
  std::vector<std::string> other_files;  ///< of the folder, not part of the job: not copied
  bool revealed = false;
  struct Sizes {
    std::optional<int64_t> width;                              ///< of the model; absent: unknown
    std::optional<double> width_low, width_high, width_shown;  ///< the cell of the width
    int64_t shown = 0;                                         ///< different sizes of communications in the copy
    int64_t changed = 0, removed = 0;  ///< sizes that became those of cells, and works of nodes that were removed
    double bytes = 0;                  ///< communicated in the copy, over those of the job
  };
  struct Layers {
    int64_t layers = 0;  ///< of the model; of a stage where stages are hidden
    bool of_stage = false;
    double low = 0, high = 0;       ///< the cell of the number
    int64_t before = 0, after = 0;  ///< layers in a row, in the rank or class with the most
    int64_t removed = 0;            ///< nodes of all ranks; of a job by classes, of the classes
    int64_t without = 0;            ///< ranks or classes that repeat nothing
  };
  struct Stages {
    int64_t stages = 1, shown = 1;    ///< of the job and of the copy
    bool hidden = false;              ///< else the number stays visible
    std::optional<double> low, high;  ///< the cell of the number
  };
  struct Experts {
    int64_t experts = 0;              ///< of a layer, on each rank; 0: unknown
    bool hidden = false;              ///< else the number stays visible
    std::optional<double> low, high;  ///< the cell of the number
  };
  int64_t level = 1;
  std::optional<Sizes> sizes;      ///< from level 2 on
  std::optional<Layers> layers;    ///< at level 3
  std::optional<Stages> stages;    ///< at level 3
  std::optional<Experts> experts;  ///< at level 3, of a job with experts
  Findings findings;
};

/// Return the sealed file of the names.
std::string names_file_of(const ObfuscateOptions& options);

/// Write trace.<rank>.et, or a job by classes, into a folder without other files. Ranks are hidden in parallel. All
/// files appear together. Findings: those of seal::Key::read; job.obfuscate.edges, .tiers, .width, .far, .priced,
/// .among, .work, .layers, .stages, .passes, .schedule, .experts. Errors: cli.usage; edit.grid.few; edit.layers.few,
/// .order, .ranks; edit.stages.group, .class; job.obfuscate.layers (level 3 of a job that repeats nothing);
/// job.obfuscate.output (the folder has other files), .again (the job is hidden already), .plain (`reveal` of a job
/// that is not hidden), .names
/// (`reveal` with the names of another job); those of edit::hide, edit::reveal, seal::Key, io::read_rank and
/// io::read_class_job; base.file.*. Cost: that of reading and writing. From level 2 on, ranks with
/// up to kMostKept nodes together (first_look.h) stay in memory between the two passes over the job; the other ranks
/// are read twice, and each core holds one. Ranks are hidden again if they disagree on the communications of layers. A
/// fleet is read twice.
Result<ObfuscatedJob> obfuscate_job(const ObfuscateOptions& options);

answer::Answer answer_of(const ObfuscatedJob& job);
view::Text text_of(const ObfuscatedJob& job);

}  // namespace chakra::share
