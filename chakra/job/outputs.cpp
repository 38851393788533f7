#include "chakra/job/outputs.h"

#include <fmt/core.h>

#include "chakra/view/view.h"

namespace chakra::job {

Result<void> add_text(Outputs& outputs, const std::string& path, std::string_view text) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(file.write(text));
  return outputs.add(std::move(file));
}

Result<void> add_answer(Outputs& outputs, const std::string& path, const answer::Answer& answer) {
  if (path.empty() || path == "-") return {};
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(answer::write_json(answer, [&](std::string_view piece) { return file.write(piece); }));
  return outputs.add(std::move(file));
}

Result<void> add_csv(Outputs& outputs, const std::string& path, const answer::Table& table) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(view::write_csv(table, [&](std::string_view piece) { return file.write(piece); }));
  return outputs.add(std::move(file));
}

Result<void> add_csv(Outputs& outputs, const std::string& prefix, const answer::Answer& answer) {
  if (prefix.empty()) return {};
  for (const answer::Table& table : answer.tables())
    if (table.present && (table.parent < 0 || table.rows > 0))
      CHAKRA_TRY(add_csv(outputs, fmt::format("{}.{}.csv", prefix, table.key), table));
  return {};
}

std::vector<std::string> csv_files(const std::string& prefix, const answer::Answer& schema) {
  std::vector<std::string> files;
  if (!prefix.empty())
    for (const answer::Table& table : schema.tables()) files.push_back(fmt::format("{}.{}.csv", prefix, table.key));
  return files;
}

}  // namespace chakra::job
