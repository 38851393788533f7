// A job in memory, for several calls that should read the job once: member `loaded` of the options. If `loaded` is
// null, a call reads `path`. Likewise networks in memory: member `networks`.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "chakra/base/base.h"
#include "chakra/io/io.h"
#include "chakra/net/net.h"
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

/// Networks by path, each read once; copies share the graph and its routes. Thread safe. Files must not change.
class Networks {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;  ///< of files to keep; further networks are read each time

  /// Errors and findings: as for net::load_fabric.
  Result<net::Fabric> load(const std::string& path, Findings& findings);

 private:
  struct Network {
    net::Fabric fabric;
    Findings findings;
  };
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Network>> networks_;
  uint64_t bytes_ = 0;
};
using NetworksPtr = std::shared_ptr<Networks>;
/// Return the network from `networks`, or read the file if `networks` is null.
Result<net::Fabric> load_network(const std::string& path, const NetworksPtr& networks, Findings& findings);

}  // namespace chakra::job
