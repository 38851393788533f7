// A job in memory, so that several calls read it once: what `loaded` of their options is. Where there is none, calls
// read `path`.
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
/// Null: the path is read. What it points to is never changed; calls copy it, which shares the columns of traces.
using LoadedPtr = std::shared_ptr<const Loaded>;

/// With all that the files say. Errors: those of io::read_job and io::read_class_job. Cost: that of reading.
Result<LoadedPtr> load(const std::string& path);

bool is_class_job(const std::string& path, const LoadedPtr& loaded);
/// Requires is_class_job().
Result<trace::ClassJob> read_class_job(const std::string& path, const LoadedPtr& loaded);
/// A job by classes is expanded. Errors: as io::read_job.
Result<trace::TraceSet> read_job(const std::string& path, const LoadedPtr& loaded, io::ReadOptions options = {});

}  // namespace chakra::job
