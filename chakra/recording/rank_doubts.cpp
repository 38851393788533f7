#include "chakra/recording/rank_doubts.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "chakra/recording/export_tools.h"
#include "chakra/recording/rank_names.h"

namespace chakra::recording {

// `pytorch.pair.rank_assumed` (warning): only numbers in names say that recordings are ranks of one job
// `pytorch.pair.unconnected` (error): numbers in names are the only sign that recordings belong to one job

namespace {

/// The path without the digits of the file's name.
std::string without_number(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return (path.parent_path() / name).string();
}

/// "trace_0.json", "trace_1.json", ...: the names of one series.
bool are_numbered(const std::vector<RankFile>& files) {
  std::set<std::string> names;
  std::set<int64_t> ranks;
  for (const RankFile& file : files) names.insert(without_number(file.path)), ranks.insert(file.rank);
  return names.size() == 1 && ranks.size() == files.size() && *ranks.rbegin() == std::ssize(files) - 1;
}

/// What a file shows about the other ranks. A database of a profiler that names no communicator can still communicate.
Result<RecordedRanks> others_of(const std::string& path) {
  CHAKRA_ASSIGN(const std::optional<OpenExport> opened, open_export(path));
  if (!opened) return recorded_ranks(path);
  RecordedRanks found;
  found.has_communication = true;
  return found;
}

}  // namespace

Result<void> check_connected(const std::vector<RankFile>& files, Findings& findings) {
  std::vector<RankFile> doubtful;
  for (const RankFile& file : files)
    if (file.is_doubtful) doubtful.push_back(file);
  const bool have_others =
      std::any_of(files.begin(), files.end(), [&](const RankFile& file) { return file.rank != files.front().rank; });
  if (doubtful.empty() || !have_others) return {};
  if (doubtful.size() == files.size() && are_numbered(doubtful)) return {};

  std::set<int64_t> world, connected;
  for (const RankFile& at : doubtful) {
    for (const RankFile& file : files) {
      if (file.rank != at.rank || connected.contains(at.rank)) continue;
      CHAKRA_ASSIGN(const RecordedRanks found, others_of(file.path));
      if (found.has_others()) connected.insert(at.rank);
      world.insert(found.world.begin(), found.world.end());
    }
    if (!connected.contains(at.rank))
      return fail(Code::bad_input, "pytorch.pair.unconnected",
                  fmt::format("a number in the name is the only sign that this is rank {} of a job: the recording has "
                              "no rank and no communication; if it is, put rank{} into the name, else link each job "
                              "alone",
                              at.rank, at.rank),
                  {at.path});
  }
  if (!std::includes(world.begin(), world.end(), connected.begin(), connected.end()))
    findings.push_back({"pytorch.pair.rank_assumed", Severity::warning, -1, -1,
                        fmt::format("numbers in the names give the ranks of {}, such as rank {} of {}: the recordings "
                                    "do not show that these are ranks of one job",
                                    show_count(std::ssize(doubtful), "file"), doubtful.front().rank,
                                    quote(doubtful.front().path, 200))});
  return {};
}

}  // namespace chakra::recording
