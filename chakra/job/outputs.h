// Output files of a call: prepared one by one; commit() publishes all files or no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/result/result.h"

namespace chakra::job {

using Outputs = FilesTogether<AtomicFile>;

/// Add a file with this text. All functions here: errors base.file.*.
Result<void> add_text(Outputs& outputs, const std::string& path, std::string_view text);
/// Add a file with this answer as JSON, written in pieces; no file for "" and "-" (the caller prints the answer).
Result<void> add_answer(Outputs& outputs, const std::string& path, const answer::Answer& answer);
/// Add a file PREFIX.<name>.csv for each table; no files for "".
Result<void> add_csv(Outputs& outputs, const std::string& prefix, const std::vector<result::NamedTable>& tables);
/// Add a file for each table of an answer. A nested table (rows below rows of another table) gets a file only if the
/// nested table has rows.
Result<void> add_csv(Outputs& outputs, const std::string& prefix, const answer::Answer& answer);
/// Return all files that add_csv() could write. `schema`: an answer without data.
std::vector<std::string> csv_files(const std::string& prefix, const answer::Answer& schema);

}  // namespace chakra::job
