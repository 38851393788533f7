#include "chakra/job/paths.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "chakra/filetype/filetype.h"
#include "chakra/io/io.h"

namespace chakra::job {

namespace fs = std::filesystem;

Result<std::vector<std::string>> job_files(const std::string& path) {
  if (io::is_class_job(path)) {
    const std::string folder = fs::path(path).parent_path().string();
    return std::vector<std::string>{is_directory(path) ? path : folder.empty() ? "." : folder};
  }
  CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(path));
  std::vector<std::string> files;
  for (const io::RankFile& rank : ranks) files.push_back(rank.path);
  return files;
}

namespace {

/// What a run before this one wrote into its input folder by --json.
bool is_result(const std::string& path) {
  if (!is_file(path)) return false;
  const Result<const filetype::Row*> row = filetype::recognise(path, static_cast<unsigned>(filetype::Group::other));
  return row && *row && (*row)->name == filetype::kResult;
}

}  // namespace

Result<void> keep_apart(const std::vector<std::string>& inputs, std::vector<std::string> outputs,
                        const std::string& json) {
  if (std::find(outputs.begin(), outputs.end(), "-") != outputs.end())
    return fail(Code::usage, "cli.usage", "only JSON can be written to standard output (--json -)");
  if (json != "-") outputs.push_back(json);
  std::erase(outputs, "");
  if (outputs.empty()) return {};
  std::error_code ignored;
  std::set<std::string> written;            // files by their place, and those that exist also by what they are (links)
  std::map<std::string, std::string> read;  // the same; in folders with the path, as they may be results
  const auto identities = [](const std::string& path) {
    std::set<std::string> found{resolve_links(path)};
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) found.insert(fmt::format("{}:{}", status.st_dev, status.st_ino));
    return found;
  };
  for (const std::string& input : inputs) {
    if (!is_directory(input)) {
      if (!input.empty())
        for (const std::string& identity : identities(input)) read.insert_or_assign(identity, "");
      continue;
    }
    CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(input));
    for (const std::string& name : names)
      if (const std::string path = (fs::path(input) / name).string(); !is_directory(path))
        for (const std::string& identity : identities(path)) read.try_emplace(identity, path);
  }
  for (const std::string& output : outputs) {
    // Devices and pipes take what they get.
    if (fs::exists(output, ignored) && !is_file(output) && !is_directory(output)) continue;
    std::set<std::string> self = identities(output);
    for (const std::string& identity : self) {
      if (const auto at = read.find(identity); at != read.end() && (at->second.empty() || !is_result(at->second)))
        return fail(Code::usage, "cli.usage",
                    fmt::format("{} is an input and would be overwritten", quote(output, 200)));
      if (written.contains(identity))
        return fail(Code::usage, "cli.usage", fmt::format("two results would be written to {}", quote(output, 200)));
    }
    written.merge(self);
  }
  return {};
}

Result<void> keep_other_ranks_out(const std::string& folder, const std::vector<std::string>& outputs,
                                  const std::vector<std::string>& inputs) {
  if (!is_directory(folder)) return {};
  if (io::is_class_job(folder))
    return fail(Code::usage, "cli.usage", "the folder holds a job by classes (ranks.json); choose another folder",
                {folder});
  const auto found = io::find_ranks(folder);
  if (!found) return {};  // it has no trace of a rank
  std::set<std::string> known;
  for (const auto* paths : {&outputs, &inputs})
    for (const std::string& path : *paths) known.insert(resolve_links(path));
  for (const io::RankFile& file : *found)
    if (!known.contains(resolve_links(file.path)))
      return fail(
          Code::usage, "cli.usage",
          "the folder holds a trace of another job, which would become a rank of this one; choose another folder "
          "or remove the trace",
          {file.path});
  return {};
}

}  // namespace chakra::job
