// Parts of reports: what several calls say, and what is long enough to stand in a file of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/job/delays.h"
#include "chakra/job/job_replay.h"
#include "chakra/job/simulate.h"
#include "chakra/link/link.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// 0 where there is no whole.
inline double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// A job against its own measurement.
/// The job, its ranks, and of each step the rank where it is off most.
result::Report::Rows rows_of(const JobReplay& replay);
/// What was measured, and what delays change: all of it missing where there is none. `with_ns`: as `link` says it.
void add_measured(const std::string& prefix, const std::optional<JobReplay>& replay, answer::Builder& to,
                  bool with_ns = false);
void add_delays(const std::optional<DelayStudy>& study, answer::Builder& to);

// What two runs differ in.
/// "+144.6 ms (+56.48 %)".
std::string signed_text(Picoseconds change, Picoseconds before);
/// The job, its ranks, and of each step the rank where it changes most.
result::Table change_table(const RunChange& change);
/// `before_ps`, `after_ps`, `change_ps`, `ranks[]`; null: the part is absent. `prefix`: "" or "delays.".
void add_change(const std::string& prefix, const RunChange* change, answer::Builder& to);

// What delays change.
/// A line with the change of the total, the rules, and what changes; of each step the rank where it changes most.
void add_parts(const DelayStudy& study, result::Report& report);

// Devices.
/// One row for each pair of devices and way of scaling.
result::Table device_table(const sim::SimReport& report);
/// "rates per rank: 31.20 to 40.10 TFLOP/s, 820.1 GB/s, MFU 4.1 % of H100-SXM", a line; "" where no work is known.
std::string rates_line(const sim::SimReport& report);
/// "device time: 83.04 % from measured kernels (off by 4.72 %), 16.96 % estimated (off by 70.1 %)", a line; "" where
/// nothing is predicted.
std::string reliability_line(const sim::SimReport& report);
/// "1234 tokens/s, 154.3 per rank; model 401.2 TFLOP/s per rank, MFU 40.55 %", a line; "" where the generator does not
/// say the tokens of the job.
std::string throughput_line(const SimulateResult& result);
/// By the tokens that the generator of the job says; 0 where it does not.
struct Throughput {
  double tokens_per_s = 0, tokens_per_s_per_rank = 0, model_ops_per_s = 0;
  std::optional<double> mfu;  ///< of the model's operations: what is computed again does not count
};
Throughput throughput_of(const SimulateResult& result);

// A simulation.
/// One row per rank; unless all are wanted, of ranks that were simulated as one the first.
result::Table rank_table(const sim::SimReport& report, bool all);
/// A row per group; unless all are wanted, groups of which the same is to be said share one.
result::Table collective_table(const sim::SimReport& report, bool all);
result::Table link_table(const sim::SimReport& report);
/// What the critical path is made of, the largest first; adds up to the makespan.
result::Table path_table(const sim::SimReport& report);

// Storage.
/// A row per tier that was used.
result::Table tier_table(const sim::SimReport& report);

// Work that comes from shapes.
/// Lines, each without its label, none where there is nothing to say.
std::vector<std::string> work_lines(const link::WorkReport& work);

}  // namespace chakra::job
