// `chakra convert` as a call: convert traces from one format to another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::convert {

struct ConvertOptions {
  std::vector<std::string> paths;  ///< jobs in any format, together one job; or one file in another tool's format
  std::string output;  ///< a file; of several ranks a prefix (PREFIX.<rank>.et) or a folder, made where it ends in "/"
  std::string from = {};  ///< format of the inputs; empty: detected from the contents
  std::string to = {};    ///< format of the output; empty: derived from the name
};
options::Options rows_of(ConvertOptions& options);

struct ConvertedJob {
  std::string output;                ///< the file, the prefix or the folder
  std::vector<std::string> outputs;  ///< the files: one per rank, or one for the whole job
  size_t ranks = 0;
  std::optional<int64_t> nodes;  ///< not counted in another tool's format
  Findings findings;             ///< from reading another tool's format
};

/// Convert the ranks of jobs to another format, without loss. All output files appear together at the end.
/// Errors: cli.usage for formats that cannot be read or written and for outputs that would replace an input;
/// cli.convert.recording, io.job.rank_twice; as for reading, io::copy_records and foreign::write.
/// Cost: O(files). Records are streamed from file to file; a file in another tool's format is held in memory.
Result<ConvertedJob> convert_job(const ConvertOptions& options);
view::Text text_of(const ConvertedJob& job);
answer::Answer answer_of(const ConvertedJob& job);

/// Return the names of the formats that can be written (or read), separated by commas.
std::string known_forms(bool written);

}  // namespace chakra::convert
