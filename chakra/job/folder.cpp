#include "chakra/job/folder.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "chakra/io/io.h"

namespace chakra::job {

Result<Folder> Folder::make() {
  const char* const parent = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/chakra-job-XXXXXX", parent && *parent ? parent : "/tmp");
  if (!::mkdtemp(path.data())) return fail(Code::io, "base.file.create", std::strerror(errno), {path});
  return Folder(std::move(path));
}

Folder::~Folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<void> write_loaded(const Loaded& loaded, const std::string& folder) {
  if (const trace::ClassJob* const classes = loaded.classes()) return io::write_class_job(*classes, folder);
  for (const trace::Trace& t : std::get<trace::TraceSet>(loaded.job).ranks)
    CHAKRA_TRY(io::write_et(t, fmt::format("{}/trace.{}.et", folder, t.rank)));
  return {};
}

}  // namespace chakra::job
