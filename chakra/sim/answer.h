// The rows of answers about a run: each number once, with its key, unit and meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"

namespace chakra::device {
struct PublishedSteps;
}

namespace chakra::sim {

struct ScaledTime;
struct SimReport;

/// Work of a training step, as the generator of the job recorded it. 0: unknown.
struct StepWork {
  int64_t tokens = 0;            ///< of the step, all ranks
  int64_t model_operations = 0;  ///< for a rank: FLOPs of forward and backward, once, without the optimizer
  std::optional<int64_t> model_fp8_operations{};  ///< part of these, in 8 bits; absent: in the mix of what ranks ran
  const device::PublishedSteps* published = nullptr;  ///< steps like this one; null: there are none, or not predicted
};

/// Rates of a run; 0 if the work is unknown.
struct Throughput {
  double tokens_per_s = 0, tokens_per_s_per_rank = 0, model_ops_per_s = 0;
  std::optional<double> mfu;  ///< of the FLOPs of the model (StepWork)
};
Throughput throughput_of(const SimReport& report, const StepWork& step);

/// The parts of a report for an answer.
struct ToAdd {
  bool native = true;      ///< false: only the parts that the rules of ASTRA-sim give
  bool candidates = true;  ///< fill `collectives[].candidates`, which is long
  StepWork step = {};
};
/// Add makespan, ranks, collectives, devices, links, tiers and the critical path. Cost: about the memory of the report.
void add_report(const SimReport& report, const ToAdd& what, answer::Builder& to);
/// Add the likely range of a time of that class: `<prefix>steps`, `least_ps`, `most_ps`, ... Absent without a class,
/// and for a time below all of the class. `prefix` ends in "published.".
void add_published(const std::string& prefix, const device::PublishedSteps* of, Picoseconds time_ps,
                   answer::Builder& to);
/// Add the table `devices`.
void add_devices(const std::vector<ScaledTime>& devices, answer::Builder& to, bool present = true);
/// Add the values `memory`.
void add_memory(const SimReport& report, answer::Builder& to, bool present = true);

}  // namespace chakra::sim
