// `chakra obfuscate` as a call: hide the names and ids of a job, or restore the names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct ObfuscateOptions {
  std::string path;      ///< the job; with `reveal` a hidden job
  std::string key;       ///< file of the key
  bool new_key = false;  ///< make the key
  bool reveal = false;   ///< restore the names
  std::string names;     ///< sealed file of the names; empty: OUT.names, with `reveal` PATH.names
  std::string output;    ///< folder for the job
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
  Findings findings;
};

/// Return the sealed file of the names.
std::string names_file_of(const ObfuscateOptions& options);

/// Write trace.<rank>.et, or a job by classes, into a folder without other files. Ranks are hidden in parallel. All
/// files appear together. Findings: those of seal::Key::read; job.obfuscate.edges, .tiers. Errors:
/// cli.usage; job.obfuscate.output (the folder has other files), .again (the job is hidden already), .plain (`reveal`
/// of a job that is not hidden), .names (`reveal` with the names of another job); those of edit::hide, edit::reveal,
/// seal::Key, io::read_rank and io::read_class_job; base.file.*. Cost: that of reading and writing; each core holds one
/// rank.
Result<ObfuscatedJob> obfuscate_job(const ObfuscateOptions& options);

answer::Answer answer_of(const ObfuscatedJob& job);
view::Text text_of(const ObfuscatedJob& job);

}  // namespace chakra::job
