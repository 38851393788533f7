// The parts of the library that the command needs beside the public headers: the rows of the options structs, the keys
// of tables, and answers of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/chakra.h"
#include "chakra/facade/fields.h"
#include "chakra/options/options.h"

namespace chakra::facade {

/// Return the keys of all tables that the answers of a command can have, such as "sim". Cost: that of making answers.
std::vector<std::string> tables_of(std::string_view command);

/// Return a line for each finding.
std::string to_text(const std::vector<Finding>& findings);

struct TextValue {
  std::string_view key, meaning;  ///< live as long as the program, like the columns below
  std::string value;
};
/// Return an answer with these values. `text`: for to_text().
Answer answer_of(std::string_view verb, const std::vector<TextValue>& values, std::string text);
/// Return the answer of `chakra list` with a table of texts.
Answer list_answer(const std::vector<std::string_view>& columns, std::vector<std::vector<std::string>> rows);
/// Write the JSON and the CSV that the caller of a verb asked for.
Result<void> write_files(const Answer& answer, const Control& control);

}  // namespace chakra::facade
