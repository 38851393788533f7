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

Result<void> add_csv(Outputs& outputs, const std::string& prefix, const std::vector<result::NamedTable>& tables) {
  if (prefix.empty()) return {};
  for (const result::NamedTable& t : tables)
    CHAKRA_TRY(add_text(outputs, fmt::format("{}.{}.csv", prefix, t.name), view::to_csv(t.table)));
  return {};
}

}  // namespace chakra::job
