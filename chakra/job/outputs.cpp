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

constinit const TableForm kCsv{"csv", view::write_csv}, kArrow{"arrow", view::write_arrow};

Result<void> add_table(Outputs& outputs, const std::string& path, const TableForm& form, const answer::Table& table) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(form.write(table, [&](std::string_view piece) { return file.write(piece); }));
  return outputs.add(std::move(file));
}

namespace {

std::string file_of(const std::string& prefix, const TableForm& form, const answer::Table& table) {
  return fmt::format("{}.{}.{}", prefix, table.key, form.ending);
}

}  // namespace

Result<void> add_tables(Outputs& outputs, const std::string& prefix, const TableForm& form,
                        const answer::Answer& answer) {
  if (prefix.empty()) return {};
  for (const answer::Table& table : answer.tables())
    if (table.present && (table.parent < 0 || table.rows > 0))
      CHAKRA_TRY(add_table(outputs, file_of(prefix, form, table), form, table));
  return {};
}

Result<void> add_tables(Outputs& outputs, const TableFiles& files, const answer::Answer& answer) {
  CHAKRA_TRY(add_tables(outputs, files.csv, kCsv, answer));
  return add_tables(outputs, files.arrow, kArrow, answer);
}

void append_files(std::vector<std::string>& to, const TableFiles& files, const answer::Answer& schema) {
  for (const auto& [prefix, form] : {std::pair(&files.csv, &kCsv), {&files.arrow, &kArrow}})
    if (!prefix->empty())
      for (const answer::Table& table : schema.tables()) to.push_back(file_of(*prefix, *form, table));
}

}  // namespace chakra::job
