#include "chakra/xla/steps.h"

#include <algorithm>
#include <tuple>

namespace chakra::xla {

AnnotatedSteps::AnnotatedSteps(const Profile& profile) : profile_(profile) {
  std::vector<const Profile::Annotation*> sorted;
  for (const Profile::Annotation& annotation : profile.annotations) sorted.push_back(&annotation);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Profile::Annotation* a, const Profile::Annotation* b) {
    return std::tuple(a->start, -a->length) < std::tuple(b->start, -b->length);
  });
  std::map<std::pair<std::string_view, int64_t>, uint32_t> seen;
  for (const Profile::Annotation* const a : sorted) {
    std::vector<Place>& places = of_thread_[a->thread];
    uint32_t around = places.empty() ? kNoStep : static_cast<uint32_t>(places.size() - 1);
    while (around != kNoStep && places[around].end <= a->start) around = places[around].around;
    places.push_back({a->start, add_saturated(a->start, a->length), around, static_cast<uint32_t>(steps_.size())});
    steps_.push_back({a->name, a->step, seen[{a->name, a->step}]++});
  }
  for (const Profile::Start& start : profile.starts) {
    const uint32_t step = at(start.thread, start.start);
    if (step == kNoStep) continue;  // other threads wait for the run
    const auto [found, added] = of_run_.try_emplace(start.run, step);
    if (!added && found->second != step) found->second = kNoStep;
  }
}

/// The outermost step around a time.
uint32_t AnnotatedSteps::at(uint32_t thread, Picoseconds time) const {
  const auto places = of_thread_.find(thread);
  if (places == of_thread_.end()) return kNoStep;
  const auto behind = std::upper_bound(places->second.begin(), places->second.end(), time,
                                       [](Picoseconds t, const Place& place) { return t < place.start; });
  uint32_t step = kNoStep;
  uint32_t place = static_cast<uint32_t>(behind - places->second.begin()) - 1;  // none: kNoStep
  for (; place != kNoStep; place = places->second[place].around)
    if (time < places->second[place].end) step = places->second[place].step;
  return step;
}

const AnnotatedSteps::Step* AnnotatedSteps::of(int64_t run, const Profile::Event& first) const {
  const auto found = of_run_.find(run);
  const uint32_t step = found != of_run_.end() ? found->second : at(profile_.lines[first.line].thread, first.start);
  return step == kNoStep ? nullptr : &steps_[step];
}

}  // namespace chakra::xla
