// Another tool's workload as traces: what `chakra import` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/foreign/foreign.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct ImportOptions {
  std::string input;           ///< a workload of another tool, packed or not
  std::string output;          ///< prefix of the traces; a folder, made where it ends in "/", for trace.<rank>.et
  std::string form = {};       ///< a name of foreign::kForms; empty: told by the beginning
  bool classes = false;        ///< a folder with a job by classes, not a file per rank
  foreign::Options read = {};  ///< what the file does not say
  /// A file that the caller writes, to appear with the traces: not the input and not one of them. "" and "-": none.
  std::string report = {};
};
options::Options rows_of(ImportOptions& options);

struct ImportedJob {
  std::string input;
  std::string prefix;  ///< of the traces; the folder of a job by classes
  size_t classes = 0;  ///< 0: a file per rank
  size_t ranks = 0;
  int64_t nodes = 0;
  std::vector<std::string> outputs;  ///< by rank
  Findings findings;
  FilesTogether<AtomicFile> files;   ///< of the outputs; a caller may add some
  std::optional<AtomicFile> report;  ///< empty; created before the others, so that a wrong path costs nothing

  /// The files appear, all of them or none. Errors: base.file.write.
  Result<void> commit() { return files.commit(); }
};

/// A job that is too large for a file per rank (foreign::kMostNodes) is written by classes, with a finding, if its form
/// has classes.
/// Errors: cli.usage for options that are not for the form and for outputs that would replace the input, those of
/// foreign::read and io::write_et. Cost: that of foreign::read; the job is in memory.
Result<ImportedJob> import_job(const ImportOptions& options);
view::Text text_of(const ImportedJob& job);
answer::Answer answer_of(const ImportedJob& job);

}  // namespace chakra::job
