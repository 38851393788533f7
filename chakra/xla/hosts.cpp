#include "chakra/xla/hosts.h"

namespace chakra::xla {

Ranks ranks_of(const std::set<int64_t>& devices) {
  constexpr int64_t kOfProcess = 2048;
  Ranks ranks;
  if (devices.empty() || *devices.rbegin() < kOfProcess) return ranks;
  for (const int64_t device : devices) ranks.emplace(device, static_cast<int64_t>(ranks.size()));
  return ranks;
}

void set_ranks(const Ranks& ranks, Program& program) {
  for (int64_t& device : program.devices)
    if (const auto rank = ranks.find(device); rank != ranks.end()) device = rank->second;
}

}  // namespace chakra::xla
