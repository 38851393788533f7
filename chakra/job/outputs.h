// Results of a call as files: they are prepared one by one, and appear together with commit() or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"

namespace chakra::job {

using Outputs = FilesTogether<AtomicFile>;

/// A file with this text. Errors: base.file.*, of these functions.
Result<void> add_text(Outputs& outputs, const std::string& path, std::string_view text);
/// A file of this answer as JSON, written in pieces; none for "" and "-", which the caller prints.
Result<void> add_answer(Outputs& outputs, const std::string& path, const answer::Answer& answer);
/// A file of this table as CSV.
Result<void> add_csv(Outputs& outputs, const std::string& path, const answer::Table& table);
/// A file PREFIX.<key>.csv for each table that the answer has, but of those that belong to rows of another one only
/// where there are rows; none for "".
Result<void> add_csv(Outputs& outputs, const std::string& prefix, const answer::Answer& answer);
/// The files that it may write. `schema`: an answer of nothing.
std::vector<std::string> csv_files(const std::string& prefix, const answer::Answer& schema);

}  // namespace chakra::job
