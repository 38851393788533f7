// `chakra sim` as a call: simulate a job on a described system.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/astra/astra.h"
#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/options/options.h"
#include "chakra/recorded/recorded.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"
#include "chakra/whatif/whatif.h"

namespace chakra::job {

/// Device work that was not recorded: scale with the device and the speed of a rank, or keep the duration.
enum class Unrecorded : uint8_t { scale, keep };
inline constexpr std::array<std::string_view, 2> kUnrecordedNames{"scale", "keep"};

struct DeviceOptions {
  std::string device, from_device;  ///< a name of the table of devices, or a device file; empty: no scaling
  std::string stack;                ///< of `device`: a name of the table of stacks, or a stack file
  Unrecorded unrecorded = Unrecorded::scale;
};

/// Rules of the simulation.
enum class Rules : uint8_t { native, astra_sim };
inline constexpr std::array<std::string_view, 2> kRuleNames{"native", "astra-sim"};

/// Files and numbers; rows_of() describes each member. Only path and network are required.
struct SimulateOptions {
  std::string path;
  std::string network, system, memory, groups;
  std::string ranks, expand;
  Rules rules = Rules::native;
  astra::Options compat_options;
  std::optional<sim::Congestion> congestion;  ///< nullopt: automatic
  std::string collectives, routing;
  std::optional<recorded::TransferKind> transfers;  ///< nullopt: simulated, or recorded if a recorded job is delayed
  std::optional<int64_t> packet_bytes;
  std::vector<std::string> delays;
  DeviceOptions devices;
  std::optional<double> max_error;  ///< percent
  bool align_starts = false, no_fold = false, no_check = false;
  bool diagnose = false;      ///< fill SimulateResult::diagnoses
  std::string timeline;       ///< a file that the caller writes: fill SimReport::timeline
  bool link_loads = false;    ///< fill SimReport::link_loads
  bool astra_output = false;  ///< in the compatible mode: the text is astra_text_of()
  LoadedPtr loaded = {};      ///< read instead of `path`
  NetworksPtr networks = {};  ///< have `network`

  bool compat() const { return rules == Rules::astra_sim; }
};
options::Options rows_of(SimulateOptions& options);

/// Callbacks during the run, and a way to stop the run.
struct SimulateHooks {
  /// Change the input, after everything is read and proven: only the times of nodes may change.
  /// cli.usage if devices or a roofline of the system set these times.
  std::function<Result<void>(sim::SimInput& input)> change = {};
  std::function<void()> begins = {};  ///< all inputs are read, the simulation begins
  std::function<void(const sim::Progress&)> progress = {};
  const std::atomic<bool>* stop = nullptr;  ///< true: the run ends with a partial result
  std::vector<sim::Wait>* waits = nullptr;  ///< the blocked waits, if the job cannot finish
};

struct SimulateResult {
  std::string path;     ///< the job, as given
  bool compat = false;  ///< by ASTRA-sim's rules
  sim::SimReport report;
  std::string network;                   ///< description of the network
  sim::StepWork step;                    ///< recorded by the generator
  std::optional<whatif::Served> served;  ///< of a generated serving job
  bool recorded_transfers = false;       ///< messages and collectives had the recorded durations
  std::optional<recorded::JobReplay> replay;
  std::optional<recorded::DelayStudy> delays;
  std::vector<recorded::Replayed> replays;
  std::optional<analyze::Diagnoses> diagnoses;
};

/// Read, prove and simulate a job. report.findings has options without effect, and assumptions.
/// Errors: cli.usage for options that are out of range or do not go together; as for reading, check::prove,
/// sim::simulate and astra::simulate.
Result<SimulateResult> simulate_job(SimulateOptions options, const SimulateHooks& hooks = {});

/// Likewise, for a part of another call: the watch of this thread hears the progress, and a run that was stopped is an
/// error. Errors: also sim.interrupted.
Result<SimulateResult> simulate_to_end(const SimulateOptions& options, const std::atomic<bool>* stop);

/// Return the text: the total, ranks, devices, collectives, links, the critical path, findings.
view::Text text_of(const SimulateResult& result);
/// Return the lines that ASTRA-sim prints and that scripts search for, and the findings.
std::string astra_text_of(const SimulateResult& result);
/// Return the result as an answer. `candidates`: with collectives.candidates, which is long, and no text shows. Cost:
/// about the memory of the result.
answer::Answer answer_of(const SimulateResult& result, bool candidates = true);

}  // namespace chakra::job
