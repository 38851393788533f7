// Output files of a call: prepared one by one; commit() publishes all files or no file.
#pragma once

#include <functional>
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

/// A form of tables as files.
struct TableForm {
  std::string_view ending;
  Result<void> (*write)(const answer::Table& table, const std::function<Result<void>(std::string_view piece)>& write);
};
extern const TableForm kCsv, kArrow;
/// Prefixes of the files of tables; "": no files.
struct TableFiles {
  std::string csv, arrow;
};
/// Add a file of this table.
Result<void> add_table(Outputs& outputs, const std::string& path, const TableForm& form, const answer::Table& table);
/// Add a file PREFIX.<key>.<ending> for each table of the answer, without nested tables that have no rows; no file for
/// "".
Result<void> add_tables(Outputs& outputs, const std::string& prefix, const TableForm& form,
                        const answer::Answer& answer);
Result<void> add_tables(Outputs& outputs, const TableFiles& files, const answer::Answer& answer);
/// Append all files that add_tables() could write. `schema`: an answer without data.
void append_files(std::vector<std::string>& to, const TableFiles& files, const answer::Answer& schema);

}  // namespace chakra::job
