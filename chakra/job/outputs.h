// Output files of a call: prepared one by one; commit() publishes all files or no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"

namespace chakra::job {

using Outputs = FilesTogether<AtomicFile>;

/// Add a file with this text. All functions here: errors base.file.*.
Result<void> add_text(Outputs& outputs, const std::string& path, std::string_view text);
/// Add a file with this answer as JSON, written in pieces; no file for "" and "-" (the caller prints the answer).
Result<void> add_answer(Outputs& outputs, const std::string& path, const answer::Answer& answer);
/// Add a CSV file of this table.
Result<void> add_csv(Outputs& outputs, const std::string& path, const answer::Table& table);
/// Add a file PREFIX.<key>.csv for each table of the answer, without nested tables that have no rows; no file for "".
Result<void> add_csv(Outputs& outputs, const std::string& prefix, const answer::Answer& answer);
/// Return all files that add_csv() could write. `schema`: an answer without data.
std::vector<std::string> csv_files(const std::string& prefix, const answer::Answer& schema);

}  // namespace chakra::job
