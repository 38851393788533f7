// Points on all cores: a job is made once, and its points are run while the job is in memory.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/job/parts.h"
#include "chakra/sweep/parts.h"

namespace chakra::sweep {

// `sweep.memory` (finding of a point): the job does not fit into the memory of the device

namespace {

constexpr std::chrono::milliseconds kPause{20};
constexpr std::array kMemoryMetrics{"memory_bytes", "memory_at_most_bytes", "device_memory_bytes", "fits"};

/// A job, and the values that it gives to its points; or the error that all its points have.
struct Source {
  job::LoadedPtr job;
  Outcome outcome;
  std::optional<Error> error;
};

void take_findings(const Findings& from, Outcome& to) {
  for (const Finding& finding : from) {
    const auto same = [&](const Finding& other) { return subject_of(other) == subject_of(finding); };
    if (std::none_of(to.findings.begin(), to.findings.end(), same))
      to.findings.push_back({finding.tag, finding.severity, -1, -1, finding.text});
  }
}

template <class Made>
void take_job(Result<Made> made, Source& source) {
  if (!made) {
    source.error = made.error();
    return;
  }
  take_metrics(answer_of(*made), source.outcome.values);
  source.job = std::make_shared<const job::Loaded>(job::Loaded{std::move(made->job)});
}

Source make_source(const PointCalls& calls) {
  Source source;
  Findings findings;
  if (const auto* const step = std::get_if<generate::GenerateStepOptions>(&calls.generate)) {
    take_job(generate::generate_step(*step, findings), source);
  } else if (const auto* const serve = std::get_if<generate::GenerateServeOptions>(&calls.generate)) {
    take_job(generate::generate_serve(*serve, findings), source);
  } else if (Result<job::LoadedPtr> loaded = job::load(calls.job); loaded) {
    source.job = std::move(*loaded);
  } else {
    source.error = loaded.error();
  }
  take_findings(findings, source.outcome);
  return source;
}

bool has_device(const job::SimulateOptions& run) { return !run.devices.device.empty() || !run.system.empty(); }
bool has_device(const job::WhatIfOptions& run) { return !run.devices.device.empty() || !run.system.empty(); }

/// Whether the call runs the source's job on the source's device.
bool keeps_memory(const PointCalls& calls) {
  const auto* const simulate = std::get_if<job::SimulateOptions>(&calls.run);
  return calls.run.index() == 0 || (simulate && !has_device(*simulate));
}

/// Take the ranks and the memory of the job that ran, on the device of the run if it has one, else of the source.
void take_ran(const sim::SimReport& report, bool own_device, MetricValues& values) {
  metric_of(values, "ranks") = std::ssize(report.ranks);
  const answer::Cell of_source = metric_of(values, "device_memory_bytes");
  for (const char* name : kMemoryMetrics) metric_of(values, name) = {};  // a what-if can leave the memory unknown
  if (!report.memory) return;
  sim::MemoryUse use = *report.memory;
  if (const auto* const bytes = std::get_if<int64_t>(&of_source); bytes && !own_device)
    use.device_bytes = static_cast<double>(*bytes);
  metric_of(values, "memory_bytes") = int64_t{std::llround(use.bytes)};
  metric_of(values, "memory_at_most_bytes") = int64_t{std::llround(use.most())};
  if (use.device_bytes <= 0) return;
  metric_of(values, "device_memory_bytes") = int64_t{std::llround(use.device_bytes)};
  metric_of(values, "fits") = std::string(sim::fits(use));
}

/// Remove the times, which are those of no real run.
void keep_memory(MetricValues& values) {
  MetricValues kept;
  metric_of(kept, "ranks") = metric_of(values, "ranks");
  for (const char* name : kMemoryMetrics) metric_of(kept, name) = std::move(metric_of(values, name));
  values = std::move(kept);
}

/// Fail if the job does not fit into the memory of its device.
Result<void> check_fit(const MetricValues& values) {
  if (metric_of(values, "fits") != answer::Cell(std::string("no"))) return {};
  const auto bytes = [&](std::string_view name) {
    return show_bytes(static_cast<double>(std::get<int64_t>(metric_of(values, name))));
  };
  return fail(
      Code::bad_input, "sweep.memory",
      fmt::format("a rank needs {}, but the device has {}", bytes("memory_bytes"), bytes("device_memory_bytes")));
}

Result<void> run_call(PointCalls& calls, const Source& source, const job::NetworksPtr& networks, Outcome& outcome) {
  if (auto* const simulate = std::get_if<job::SimulateOptions>(&calls.run)) {
    simulate->loaded = source.job;
    simulate->networks = networks;
    CHAKRA_ASSIGN(const job::SimulateResult made, job::simulate_job(*simulate));
    if (made.report.interrupted) return stopped_by_caller();
    take_metrics(answer_of(made, false), outcome.values);
    if (!simulate->compat()) take_ran(made.report, has_device(*simulate), outcome.values);
    take_findings(made.report.findings, outcome);
  } else if (auto* const options = std::get_if<job::WhatIfOptions>(&calls.run)) {
    options->loaded = source.job;
    options->networks = networks;
    CHAKRA_ASSIGN(const job::WhatIf made, job::what_if(*options));
    take_metrics(answer_of(made), outcome.values);
    take_ran(made.report, has_device(*options), outcome.values);
    take_findings(made.findings, outcome);
  }
  return {};
}

/// Points with the same source.
struct Group {
  std::vector<PointWork> points;
  size_t begun = 0, finished = 0;
  std::shared_ptr<const Source> source;
};

/// The order of the work: a point of a job in memory, else the next job. At most one more job than cores is in memory.
/// Not thread safe.
class Queue {
 public:
  explicit Queue(std::vector<PointWork> work) : most_alive_(static_cast<size_t>(cores()) + 1) {
    std::map<std::string, size_t> known;
    for (PointWork& point : work) {
      const auto [at, is_new] = known.emplace(point.source, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[at->second].points.push_back(std::move(point));
    }
  }

  /// Return the group of the next point of a job in memory; null: there is none.
  Group* next_ready() {
    if (ready_.empty()) return nullptr;
    Group& group = *ready_.front();
    if (++group.begun == group.points.size()) ready_.pop_front();
    return &group;
  }
  /// Return the group of the next job to make; null: there is none, or too many jobs are in memory.
  Group* next_to_make() {
    if (begun_ == groups_.size() || alive_ == most_alive_) return nullptr;
    ++alive_, ++making_;
    return &groups_[begun_++];
  }
  bool is_making() const { return making_ > 0; }
  void made(Group& group) {
    --making_;
    ready_.push_back(&group);
  }
  void finished_point(Group& group) {
    if (++group.finished < group.points.size()) return;
    group.source.reset();
    --alive_;
  }

 private:
  std::vector<Group> groups_;
  std::deque<Group*> ready_;  ///< groups with a source and points to begin
  size_t most_alive_, begun_ = 0, alive_ = 0, making_ = 0;
};

/// Runs the work of a queue on all cores.
class Runner {
 public:
  Runner(const Plan& plan, std::vector<PointWork> work, Journal& journal, std::vector<Outcome>& outcomes)
      : plan_(plan), journal_(journal), outcomes_(outcomes), total_(work.size()), queue_(std::move(work)) {}

  Result<void> run() {
    CHAKRA_TRY(each_in_parallel(static_cast<size_t>(cores()), [this](size_t) { return work(); }));
    return journal_.sync();
  }

 private:
  const Plan& plan_;
  Journal& journal_;
  std::mutex journal_mutex_;
  std::vector<Outcome>& outcomes_;
  const size_t total_;
  const job::NetworksPtr networks_ = std::make_shared<job::Networks>();

  std::mutex mutex_;  ///< of all below
  std::condition_variable changed_;
  Queue queue_;
  size_t done_ = 0;
  bool failed_ = false;

  /// The loop of a core.
  Result<void> work() {
    std::unique_lock lock(mutex_);
    for (Result<void> step;;) {
      if (step) step = keep_going(done_, total_);
      failed_ |= !step;
      if (failed_) return step;
      if (Group* const ready = queue_.next_ready()) {
        step = run_next(*ready, lock);
      } else if (Group* const next = queue_.next_to_make()) {
        make_source_of(*next, lock);
      } else if (queue_.is_making()) {
        changed_.wait_for(lock, kPause);
      } else {
        return {};
      }
    }
  }

  void make_source_of(Group& group, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    auto source = std::make_shared<Source>();
    if (Result<PointCalls> calls = calls_of(plan_, group.points.front().point); calls) {
      const WatchedApart watched;
      *source = make_source(*calls);
    } else {
      source->error = calls.error();
    }
    lock.lock();
    group.source = std::move(source);
    queue_.made(group);
    changed_.notify_all();
  }

  /// Run the point that the group began last.
  Result<void> run_next(Group& group, std::unique_lock<std::mutex>& lock) {
    const PointWork& point = group.points[group.begun - 1];
    std::shared_ptr<const Source> source = group.source;
    lock.unlock();
    Result<Outcome> outcome = run_point(point, *source);
    source.reset();
    lock.lock();
    if (!outcome) return Failure(outcome.error());
    outcomes_[point.outcome] = std::move(*outcome);
    ++done_;
    queue_.finished_point(group);
    return {};
  }

  Result<void> run_if_it_fits(PointCalls& calls, const Source& source, Outcome& outcome) {
    const bool known = keeps_memory(calls);
    if (known && plan_.require_fit) CHAKRA_TRY(check_fit(source.outcome.values));
    CHAKRA_TRY(run_call(calls, source, networks_, outcome));
    if (known || !plan_.require_fit) return {};
    Result<void> fits = check_fit(outcome.values);
    if (!fits) keep_memory(outcome.values);
    return fits;
  }

  /// Errors of the point are its outcome; other errors end the sweep.
  Result<Outcome> run_point(const PointWork& point, const Source& source) {
    Outcome outcome = source.outcome;
    std::optional<Error> error = source.error;
    if (!error) {
      CHAKRA_ASSIGN(PointCalls calls, calls_of(plan_, point.point));
      const WatchedApart watched;
      if (const Result<void> done = run_if_it_fits(calls, source, outcome); !done) error = done.error();
    }
    CHAKRA_TRY(keep_going());
    if (error) {
      if (error->code == Code::interrupted) return Failure(std::move(*error));
      const std::string place = error->place.text();
      outcome.tag = error->tag;
      outcome.text = place.empty() ? error->text : fmt::format("{}: {}", place, error->text);
      if (error->code == Code::io) return outcome;  // tried again by the next call
    }
    const std::lock_guard lock(journal_mutex_);
    CHAKRA_TRY(journal_.add(point.key, outcome));
    return outcome;
  }
};

}  // namespace

Result<void> run_points(const Plan& plan, std::vector<PointWork> work, Journal& journal,
                        std::vector<Outcome>& outcomes) {
  if (work.empty()) return {};
  return Runner(plan, std::move(work), journal, outcomes).run();
}

}  // namespace chakra::sweep
