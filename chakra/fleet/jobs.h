// Jobs and folders of jobs that a call reads one after the other: a fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/io/io.h"
#include "chakra/trace/roles.h"
#include "chakra/trace/trace.h"

namespace chakra::fleet {

struct Fleet {
  std::vector<std::string> jobs;  ///< paths, ascending
  size_t twice = 0;               ///< left out: other paths of these jobs
};
/// Return the jobs that these paths name. A folder that is not a job stands for the entries of the folder, except
/// hidden ones. An argument that names no file is an error; a file of a folder can still be unreadable. Errors: as for
/// io::find_ranks.
Result<Fleet> fleet_of(const std::vector<std::string>& paths);
/// Return all files of the jobs, for keep_apart(). Errors: as for fleet_of().
Result<std::vector<std::string>> files_of_fleet(const std::vector<std::string>& paths);
/// Return the path of a job without links and "..", which is equal for all paths of the job.
std::string identity_of(const std::string& path);

/// Traces that stand for a whole job: a rank, or a class of equal ranks.
using UsePart = std::function<Result<void>(const trace::Trace& trace, int64_t ranks, const trace::RolesByName& roles)>;
/// Read a job trace by trace: `use` gets each rank, or each class with the number of its ranks. Return the number of
/// ranks. Memory: one trace, or one trace of each class. Errors: as for reading; those of `use`; job.interrupted.
Result<int64_t> for_each_part(const std::string& path, const UsePart& use, const io::ReadOptions& read = {});
/// Do the same with a job by classes in memory.
Result<void> for_each_part(const trace::ClassJob& job, const UsePart& use);

}  // namespace chakra::fleet
