#include "chakra/fleet/jobs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "chakra/base/progress.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"

namespace chakra::fleet {
namespace {

/// Add the job that an argument names, or the entries of a folder that is not a job.
Result<void> add_jobs(const std::string& path, std::vector<std::string>& jobs) {
  if (!io::is_class_job(path)) {
    const auto ranks = io::find_ranks(path);
    if (!ranks && !is_directory(path)) return Failure(ranks.error());
    if (!ranks) {
      CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(path));
      for (const std::string& name : names)
        if (!name.starts_with('.')) jobs.push_back((std::filesystem::path(path) / name).string());
      return {};
    }
  }
  jobs.push_back(path);
  return {};
}

}  // namespace

std::string identity_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

Result<Fleet> fleet_of(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) CHAKRA_TRY(add_jobs(path, all));
  std::sort(all.begin(), all.end());
  std::set<std::string> known;
  Fleet fleet;
  for (std::string& path : all)
    if (known.insert(identity_of(path)).second) fleet.jobs.push_back(std::move(path));
    else ++fleet.twice;
  return fleet;
}

Result<std::vector<std::string>> files_of_fleet(const std::vector<std::string>& paths) {
  CHAKRA_ASSIGN(const Fleet fleet, fleet_of(paths));
  std::vector<std::string> files;
  for (const std::string& path : fleet.jobs)
    if (const auto some = job::job_files(path)) files.insert(files.end(), some->begin(), some->end());
    else files.push_back(path);
  return files;
}

Result<void> for_each_part(const trace::ClassJob& job, const UsePart& use) {
  std::vector<int64_t> ranks(job.classes.size(), 0);
  for (const trace::ClassJob::Rank& rank : job.ranks) ++ranks[rank.cls];
  const std::vector<trace::RolesByName> roles = trace::roles_of_slots(job);
  for (size_t c = 0; c < job.classes.size(); ++c)
    if (ranks[c] > 0) CHAKRA_TRY(use(job.classes[c], ranks[c], roles[c]));
  return {};
}

Result<int64_t> for_each_part(const std::string& path, const UsePart& use, const io::ReadOptions& read) {
  if (io::is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob job, io::read_class_job(path, read));
    CHAKRA_TRY(for_each_part(job, use));
    return std::ssize(job.ranks);
  }
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
  io::RankTraces traces(files, read);
  for (size_t i = 0; i < files.size(); ++i) {
    CHAKRA_ASSIGN(const trace::Trace t, traces.read(i));
    CHAKRA_TRY(use(t, 1, {}));
    CHAKRA_TRY(keep_going());
  }
  return std::ssize(files);
}

}  // namespace chakra::fleet
