#include "chakra/job/collectives.h"

#include <filesystem>

#include "chakra/foreign/foreign.h"

namespace chakra::job {
namespace {

/// Programs whose paths are relative to a folder.
coll::ProgramReader programs_in(std::filesystem::path folder) {
  return [folder = std::move(folder)](const std::string& file) -> Result<std::shared_ptr<const coll::Program>> {
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open((folder / file).string()));
    return foreign::read_program(std::move(source), file);
  };
}

}  // namespace

Result<coll::Selection> read_collectives(const std::string& rules) {
  if (!is_file(rules)) return coll::parse_selection(rules, "--collectives", programs_in({}));
  CHAKRA_ASSIGN(const std::string text, read_file(rules));
  const foreign::FormRow* const form = foreign::form_of(text);
  if (form && form->name == "msccl") return coll::parse_selection(rules, "--collectives", programs_in({}));
  return coll::parse_selection(text, rules, programs_in(std::filesystem::path(rules).parent_path()));
}

}  // namespace chakra::job
