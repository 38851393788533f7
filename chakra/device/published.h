// Training steps and times of serving that others published, against their predictions: how far a prediction can be
// from a measurement.
// docs/explanation/accuracy.md, "The likely range of a step", has the sets and how each row was measured.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace chakra::device {

struct Device;

/// What a class has measurements of: training steps; per output token under load; to the first token of at most
/// kMostClients clients.
enum class Measured : uint8_t { step, token, first_token };
inline constexpr int64_t kMostClients = 8;

/// Options in which two steps of one model differ.
enum class StepOption : uint8_t { batch, dp, tp, pp, device };
inline constexpr std::array<std::string_view, 5> kStepOptionNames{"batch", "dp", "tp", "pp", "device"};
constexpr unsigned bit(StepOption option) { return 1u << static_cast<unsigned>(option); }

/// Pairs of published steps of one model that differ in some of the options and in nothing else. The measured ratio of
/// their times was within `factor` of the predicted one, up or down, in `covers` of held-out pairs.
struct PublishedPairs {
  unsigned options = 0;  ///< bits, by StepOption
  int64_t pairs = 0;
  double factor = 1;
  double covers = 0;  ///< a share
};

/// A class of steps. A further step of the class is within the range in `covers` of the cases, if it is like them.
struct PublishedSteps {
  std::string_view stack;                   ///< of the predictions; "": of any stack
  std::array<std::string_view, 2> devices;  ///< with the published steps: how their names begin
  bool kernels = false;                     ///< predicted with a device file, not with a data sheet
  bool experts = false;                     ///< steps with experts
  Measured what = Measured::step;
  int64_t steps = 0;           ///< number of published steps
  double least = 1, most = 1;  ///< their published time over the predicted one
  double covers = 0;           ///< a share
  std::string_view source;
  /// The shortest published time: shorter ones wait for their host, and no published one shows for how long.
  double shortest_s = 0.07;
  std::span<const PublishedPairs> pairs = {};  ///< of its steps, fewer options first
};
extern const std::span<const PublishedSteps> kPublishedSteps;

/// Return the class of a measurement on a device with its stack. Null without published ones: devices other than A100
/// and H100, or other than that of the class, constants of the caller's own (Device::others), most stacks without
/// measured kernels, serving of models with experts.
const PublishedSteps* published_steps(const Device& device, bool experts, Measured what = Measured::step);

/// Return the pairs that tell the error of a predicted ratio of two steps, which differ in `options` (bits) and in
/// nothing else. Null: the steps are of two classes, or no published pairs differ so.
const PublishedPairs* published_pairs(const PublishedSteps& before, const PublishedSteps& after, unsigned options);

}  // namespace chakra::device
