// `chakra import` as a call: import another tool's workload as traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/foreign/foreign.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"
#include "chakra/xla/xla.h"

namespace chakra::convert {

struct ImportOptions {
  std::string input;           ///< a workload of another tool, compressed or not
  std::string output;          ///< prefix of the traces; a folder, made where it ends in "/", for trace.<rank>.et
  std::string form = {};       ///< a name of foreign::kForms; empty: detected from the first bytes
  bool classes = false;        ///< write a folder with a job by classes, instead of a file per rank
  foreign::Options read = {};  ///< values that the file does not have
  /// A file that the caller writes together with the traces; must not be the input or a trace. "" and "-": no file.
  std::string report = {};
};
options::Options rows_of(ImportOptions& options);

struct ImportedJob {
  std::string input;
  std::string prefix;  ///< of the traces; the folder of a job by classes
  size_t classes = 0;  ///< 0: a file per rank
  size_t ranks = 0;
  int64_t nodes = 0;
  std::vector<std::string> outputs;          ///< by rank
  std::vector<xla::ProgramReport> programs;  ///< a program of XLA
  Findings findings;
  FilesTogether<AtomicFile> files;  ///< the outputs; a caller may add files

  /// Publish all files, or no file. Errors: base.file.write.
  Result<void> commit() { return files.commit(); }
};

/// Import a workload. A job with too many nodes for a file per rank (foreign::kMostNodes) is written by classes, with a
/// finding, if the format has classes.
/// Errors: cli.usage for options that do not apply to the format and for outputs that would replace the input; as for
/// foreign::read and io::write_et. Cost: that of foreign::read; the job is held in memory.
Result<ImportedJob> import_job(const ImportOptions& options);
view::Text text_of(const ImportedJob& job);
answer::Answer answer_of(const ImportedJob& job);

}  // namespace chakra::convert
