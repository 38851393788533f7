#include "chakra/link/device_names.h"

#include <algorithm>
#include <set>

namespace chakra::link {

void keep_device_names(const DeviceNames& names, std::span<const trace::Lane> streams, trace::Trace& trace) {
  std::map<int64_t, std::string_view> used;
  for (const trace::Lane& stream : streams)
    if (const auto found = names.find(stream.process); found != names.end())
      used.emplace(stream.process, found->second);
  // A device that the list lacks has the name that all others have.
  const auto differs = [&](const auto& entry) { return entry.second != names.begin()->second; };
  if (used.empty() && !streams.empty() && !names.empty() && std::none_of(names.begin(), names.end(), differs))
    used.emplace(names.begin()->first, names.begin()->second);
  std::set<std::string_view> different;
  for (const auto& [id, name] : used) different.insert(name);
  for (const auto& [id, name] : used) {
    const std::string key = different.size() == 1 ? "device_name" : "device_name_" + std::to_string(id);
    trace.metadata.push_back({trace.strings.intern(key), trace.texts.add(name)});
    if (different.size() == 1) return;
  }
}

}  // namespace chakra::link
