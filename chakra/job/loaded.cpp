#include "chakra/job/loaded.h"

#include <utility>

namespace chakra::job {

Result<LoadedPtr> load(const std::string& path) {
  Loaded loaded;
  if (io::is_class_job(path)) {
    CHAKRA_ASSIGN(loaded.job, io::read_class_job(path, {.texts = true}));
  } else {
    CHAKRA_ASSIGN(loaded.job, io::read_job(path, {.texts = true}));
  }
  return std::make_shared<const Loaded>(std::move(loaded));
}

bool is_class_job(const std::string& path, const LoadedPtr& loaded) {
  return loaded ? loaded->classes() != nullptr : io::is_class_job(path);
}

Result<trace::ClassJob> read_class_job(const std::string& path, const LoadedPtr& loaded) {
  if (loaded) return *loaded->classes();
  return io::read_class_job(path);
}

Result<trace::TraceSet> read_job(const std::string& path, const LoadedPtr& loaded, io::ReadOptions options) {
  if (!loaded) return io::read_job(path, options);
  if (const trace::ClassJob* classes = loaded->classes()) return io::expand(*classes, path);
  return std::get<trace::TraceSet>(loaded->job);
}

Result<net::Fabric> Networks::load(const std::string& path, Findings& findings) {
  std::shared_ptr<const Network> network;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = networks_.find(path); found != networks_.end()) network = found->second;
  }
  if (!network) {
    Network read;
    CHAKRA_ASSIGN(read.fabric, net::load_fabric(path, &read.findings));
    network = std::make_shared<const Network>(std::move(read));
    const uint64_t bytes = file_size(path);
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes <= kMostBytes && networks_.emplace(path, network).second) bytes_ += bytes;
  }
  findings.insert(findings.end(), network->findings.begin(), network->findings.end());
  return network->fabric;
}

Result<net::Fabric> load_network(const std::string& path, const NetworksPtr& networks, Findings& findings) {
  return networks ? networks->load(path, findings) : net::load_fabric(path, &findings);
}

}  // namespace chakra::job
