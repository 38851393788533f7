// Numbers of threads and streams by first use. Inside recording.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::recording {

class LaneNumbers {
 public:
  /// Return the place of the lane in `lanes`, the threads or the streams of a profile, where a new lane is added.
  uint32_t of(std::vector<trace::Lane>& lanes, const trace::Lane& lane) {
    const auto [found, added] =
        known_.try_emplace(std::tuple(lane.kind, lane.process, lane.index), static_cast<uint32_t>(lanes.size()));
    if (added) lanes.push_back(lane);
    return found->second;
  }

 private:
  absl::flat_hash_map<std::tuple<trace::Lane::Kind, int64_t, int64_t>, uint32_t> known_;
};

}  // namespace chakra::recording
