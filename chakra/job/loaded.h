// A job in memory, for several calls that should read the job once: member `loaded` of the options. If `loaded` is
// null, a call reads `path`.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "chakra/base/base.h"
#include "chakra/io/io.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

struct Loaded {
  std::variant<trace::TraceSet, trace::ClassJob> job;

  const trace::ClassJob* classes() const { return std::get_if<trace::ClassJob>(&job); }
};
/// Null: the path is read. The pointee never changes; calls copy the job, and the copy shares the columns of traces.
using LoadedPtr = std::shared_ptr<const Loaded>;

/// Read a job completely. Errors: as for io::read_job and io::read_class_job. Cost: that of reading.
Result<LoadedPtr> load(const std::string& path);

bool is_class_job(const std::string& path, const LoadedPtr& loaded);
/// Requires is_class_job().
Result<trace::ClassJob> read_class_job(const std::string& path, const LoadedPtr& loaded);
/// Read a job; a job by classes is expanded. Errors: as for io::read_job.
Result<trace::TraceSet> read_job(const std::string& path, const LoadedPtr& loaded, io::ReadOptions options = {});

}  // namespace chakra::job
