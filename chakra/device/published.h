// Training steps that others published, against their predictions: how far a predicted step can be from a real one.
// docs/explanation/accuracy.md, "The likely range of a step", has the sets and how each row was measured.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace chakra::device {

struct Device;

/// A class of steps. A further step of the class is within the range in `covers` of the cases, if it is like them.
struct PublishedSteps {
  std::string_view stack;                   ///< of the predictions; "": of any stack
  std::array<std::string_view, 2> devices;  ///< with the published steps: how their names begin
  bool kernels = false;                     ///< predicted with a device file, not with a data sheet
  bool experts = false;                     ///< steps with experts
  int64_t steps = 0;                        ///< number of published steps
  double least = 1, most = 1;               ///< their published time over the predicted one
  double covers = 0;                        ///< a share
  std::string_view source;
};
extern const std::span<const PublishedSteps> kPublishedSteps;

/// The shortest published step: shorter ones wait for their host, and no published step shows for how long.
inline constexpr double kShortestPublished_s = 0.07;

/// Return the class of a step on a device with its stack. Null without published steps: devices other than A100 and
/// H100, or other than that of the class, constants of the caller's own (Device::others), most stacks without measured
/// kernels.
const PublishedSteps* published_steps(const Device& device, bool experts);

}  // namespace chakra::device
