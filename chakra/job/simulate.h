// A job on a described system: what `chakra sim` does, as a call.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/astra/astra.h"
#include "chakra/base/base.h"
#include "chakra/job/delays.h"
#include "chakra/job/job_replay.h"
#include "chakra/job/loaded.h"
#include "chakra/job/max_error.h"
#include "chakra/options/options.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::job {

/// Device work that was not recorded: scaled with the device and the speed of a rank, or as long as it was.
enum class Unrecorded : uint8_t { scale, keep };
inline constexpr std::array<std::string_view, 2> kUnrecordedNames{"scale", "keep"};

struct DeviceOptions {
  std::string device, from_device;  ///< a name of the table of devices, or a device file; empty: nothing is scaled
  std::string stack;                ///< of `device`: a name of the table of stacks, or a stack file
  Unrecorded unrecorded = Unrecorded::scale;
};

/// Whose rules hold.
enum class Rules : uint8_t { native, astra_sim };
inline constexpr std::array<std::string_view, 2> kRuleNames{"native", "astra-sim"};

/// Files and numbers; rows_of() has a sentence on each member. Only path and network are needed.
struct SimulateOptions {
  std::string path;
  std::string network, system, memory, groups;
  std::string ranks, expand;
  Rules rules = Rules::native;
  astra::Options compat_options;
  std::optional<sim::Congestion> congestion;  ///< none: automatic
  std::string collectives, routing;
  std::optional<TransferKind> transfers;  ///< none: simulated; recorded where a recorded job is delayed
  std::optional<int64_t> packet_bytes;
  std::vector<std::string> delays;
  DeviceOptions devices;
  std::optional<double> max_error;  ///< percent
  bool align_starts = false, no_fold = false, no_check = false;
  bool timeline = false;  ///< not an option of its own: fill SimReport::timeline
  LoadedPtr loaded = {};  ///< instead of what `path` names

  bool compat() const { return rules == Rules::astra_sim; }
};
options::Options rows_of(SimulateOptions& options);

/// What the caller is told while it runs, and how it stops the run.
struct SimulateHooks {
  /// The last word on what runs, once all is read and proven: times of nodes may change, and nothing else.
  /// cli.usage where devices or a roofline of the system give these times.
  std::function<Result<void>(sim::SimInput& input)> change = {};
  std::function<void()> begins = {};  ///< all is read, the simulation begins
  std::function<void(const sim::Progress&)> progress = {};
  const std::atomic<bool>* stop = nullptr;  ///< the run ends with what there is
  std::vector<sim::Wait>* waits = nullptr;  ///< who waits for whom, where the job cannot finish
};

struct SimulateResult {
  std::string path;     ///< the job, as it was asked for
  bool compat = false;  ///< by ASTRA-sim's rules
  sim::SimReport report;
  std::string network;              ///< what it was
  int64_t tokens = 0;               ///< of the step, as its generator says; 0: it does not
  int64_t model_operations = 0;     ///< likewise, of a rank: without what is computed again
  bool recorded_transfers = false;  ///< messages and collectives took as long as they were recorded
  std::optional<JobReplay> replay;
  std::optional<DelayStudy> delays;
  std::vector<Replayed> replays;
};

/// Reads, proves and simulates a job. What had no effect, or was assumed, is among report.findings.
/// Errors: cli.usage for options that are out of range or do not go together; those of reading, check::prove,
/// sim::simulate and astra::simulate.
Result<SimulateResult> simulate_job(SimulateOptions options, const SimulateHooks& hooks = {});

/// What people read of the answer: the total, ranks, devices, collectives, links, the critical path, findings.
view::Text text_of(const SimulateResult& result);
/// The lines that ASTRA-sim prints and that scripts look for, and the findings.
std::string astra_text_of(const SimulateResult& result);
/// The result whole. Cost: about the memory of the result.
answer::Answer answer_of(const SimulateResult& result);

/// Why there is no result: `error` {tag, text} and `waits[]`, of which the error's text names the first.
answer::Answer answer_of(const Error& error, const std::vector<sim::Wait>& waits);

}  // namespace chakra::job
