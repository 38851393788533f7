// A job on a described system: what `chakra sim` does, as a call.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chakra/astra/astra.h"
#include "chakra/base/base.h"
#include "chakra/job/delays.h"
#include "chakra/job/job_replay.h"
#include "chakra/job/max_error.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

struct DeviceOptions {
  std::string device, from_device;  ///< a name of the table of devices, or a device file; empty: nothing is scaled
  std::string stack;                ///< of `device`: a name of the table of stacks, or a stack file
  std::string unrecorded;           ///< "scale" or "keep": device work that was not recorded
};

/// Files, and the options of the command (`chakra sim --help` says what each is). Only path and network are needed.
struct SimulateOptions {
  std::string path;  ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string network, system, memory, groups;
  std::string ranks;    ///< "FIRST:COUNT": only these
  std::string expand;   ///< "N[:RANK]"
  bool compat = false;  ///< by ASTRA-sim's rules
  astra::Options compat_options;
  std::string congestion;   ///< "auto" (what empty stands for), "closed", "fluid" or "packet"
  std::string collectives;  ///< rules, or a file with them
  std::string routing;
  std::string transfers;  ///< "recorded" or "simulated"
  std::optional<int64_t> packet_bytes;
  std::vector<std::string> delays;
  DeviceOptions devices;
  std::optional<double> max_error;  ///< percent
  bool fold = true;
  bool align_starts = false;
  bool check = true;  ///< prove the job before it runs
  bool timeline = false;
};

/// What the caller is told while it runs, and how it stops the run.
struct SimulateHooks {
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
/// Errors: cli.usage for options that do not go together; those of reading, check::prove, sim::simulate and
/// astra::simulate.
Result<SimulateResult> simulate_job(SimulateOptions options, const SimulateHooks& hooks = {});

/// What people read: the total, ranks, devices, collectives, links, the critical path, findings.
/// Cost: O(all that the result has).
result::Report report_of(const SimulateResult& result);
/// The lines that ASTRA-sim prints and that scripts look for, and the findings.
result::Report astra_report_of(const SimulateResult& result);
/// The result whole; docs/reference/formats/results.md has the keys. Cost: several times the memory of the result.
result::Json to_json(const SimulateResult& result);
/// `ranks`, `collectives`, and where there are any `links` and `critical_path`: whole, for CSV.
std::vector<result::NamedTable> tables_of(const SimulateResult& result);

/// Why there is no result: `error` {tag, text} and `waits[]`, of which the error's text names the first.
result::Json waits_json(const Error& error, const std::vector<sim::Wait>& waits);

}  // namespace chakra::job
