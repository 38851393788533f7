// Traces of one form in another one: what `chakra convert` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct ConvertOptions {
  std::vector<std::string> paths;  ///< jobs of any form, together one job; or one file of another tool's form
  std::string output;  ///< a file; of several ranks a prefix (PREFIX.<rank>.et) or a folder, made where it ends in "/"
  std::string from = {};  ///< form of the inputs; empty: told by their contents
  std::string to = {};    ///< form of the output; empty: told by its name
};
options::Options rows_of(ConvertOptions& options);

struct ConvertedJob {
  std::string output;                ///< where it is: the file, the prefix or the folder
  std::vector<std::string> outputs;  ///< the files: by rank, or one with the whole job
  size_t ranks = 0;
  std::optional<int64_t> nodes;  ///< not counted in another tool's form
  Findings findings;             ///< of reading another tool's form
};

/// Writes the ranks of jobs as files of another form, with nothing lost. All of them appear together when it returns.
/// Errors: cli.usage for forms that cannot be read or written and for outputs that would replace an input,
/// cli.convert.recording, io.job.rank_twice, those of reading, of io::copy_records and of foreign::write.
/// Cost: O(files). Records go from file to file one by one; another tool's form is in memory as a whole.
Result<ConvertedJob> convert_job(const ConvertOptions& options);
view::Text text_of(const ConvertedJob& job);
answer::Answer answer_of(const ConvertedJob& job);

/// The names of the forms that traces can be written in, or read from, with commas between them.
std::string known_forms(bool written);

}  // namespace chakra::job
