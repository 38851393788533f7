// Which step of the user (StepTraceAnnotation) started a run. Inside the room.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/xla/profile.h"

namespace chakra::xla {

/// The annotated steps of a profile. The profile must outlive this object. Cost: O(annotations log annotations).
class AnnotatedSteps {
 public:
  explicit AnnotatedSteps(const Profile& profile);

  struct Step {
    std::string_view name;
    int64_t number = 0;
    uint32_t occurrence = 0;  ///< among those with this name and number
    auto operator<=>(const Step&) const = default;
  };
  /// Return the step around the call of the host that started the run, or, if the host computed the run itself, around
  /// the first event. Steps inside of others do not count. Null: no step, or calls with this number in several steps.
  const Step* of(int64_t run, const Profile::Event& first) const;

 private:
  static constexpr uint32_t kNoStep = UINT32_MAX;
  struct Place {
    Picoseconds start = 0, end = 0;
    uint32_t around = kNoStep;  ///< in the vector of the thread
    uint32_t step = 0;          ///< in steps_
  };
  uint32_t at(uint32_t thread, Picoseconds time) const;

  const Profile& profile_;
  std::map<uint32_t, std::vector<Place>> of_thread_;  ///< by start
  std::vector<Step> steps_;
  absl::flat_hash_map<int64_t, uint32_t> of_run_;
};

}  // namespace chakra::xla
