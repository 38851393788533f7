// Points on all cores: a job is made once, and its points are run while the job is in memory.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>

#include "chakra/base/progress.h"
#include "chakra/job/cores.h"
#include "chakra/job/sweep_parts.h"

namespace chakra::job {

// `sweep.memory` (finding of a point): the job does not fit into the memory of the device

namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{20};

/// A job, and the values that it gives to its points; or the error that all its points have.
struct Source {
  LoadedPtr job;
  Outcome outcome;
  std::optional<Error> error;
};

void take_findings(const Findings& from, Outcome& to) {
  for (const Finding& finding : from)
    if (std::none_of(to.findings.begin(), to.findings.end(), [&](const Finding& f) { return f.tag == finding.tag; }))
      to.findings.push_back({finding.tag, finding.severity, -1, -1, finding.text});
}

/// A watch for the calls of a point: their progress is not that of the sweep, but they stop with the sweep.
class WatchedPoint {
 public:
  explicit WatchedPoint(ProgressPtr sweep) : sweep_(std::move(sweep)), watch_(sweep_ ? &goes_on : nullptr, this) {}

 private:
  ProgressPtr sweep_;
  Watched watch_;

  static bool goes_on(void* self, double) {
    const WatchedToo sweep(static_cast<WatchedPoint*>(self)->sweep_);
    return !was_stopped();
  }
};

template <class Made>
void take_job(Result<Made> made, Source& source) {
  if (!made) {
    source.error = made.error();
    return;
  }
  take_metrics(answer_of(*made), source.outcome.values);
  source.job = std::make_shared<const Loaded>(Loaded{std::move(made->job)});
}

Source make_source(const PointCalls& calls, bool require_fit) {
  Source source;
  Findings findings;
  if (const auto* const step = std::get_if<GenerateStepOptions>(&calls.generate)) {
    take_job(generate_step(*step, findings), source);
  } else if (const auto* const serve = std::get_if<GenerateServeOptions>(&calls.generate)) {
    take_job(generate_serve(*serve, findings), source);
  } else if (Result<LoadedPtr> loaded = load(calls.job); loaded) {
    source.job = std::move(*loaded);
  } else {
    source.error = loaded.error();
  }
  take_findings(findings, source.outcome);
  const MetricValues& values = source.outcome.values;
  if (require_fit && metric_of(values, "fits") == answer::Cell(std::string("no")))
    source.error =
        Error{Code::bad_input,
              "sweep.memory",
              fmt::format("a rank needs {}, but the device has {}",
                          show_bytes(static_cast<double>(std::get<int64_t>(metric_of(values, "memory_bytes")))),
                          show_bytes(static_cast<double>(std::get<int64_t>(metric_of(values, "device_memory_bytes"))))),
              {}};
  return source;
}

Result<void> run_call(PointCalls& calls, const Source& source, Outcome& outcome) {
  if (auto* const simulate = std::get_if<SimulateOptions>(&calls.run)) {
    simulate->loaded = source.job;
    CHAKRA_ASSIGN(const SimulateResult made, simulate_job(*simulate));
    if (made.report.interrupted) return stopped_by_caller();
    take_metrics(answer_of(made, false), outcome.values);
    take_findings(made.report.findings, outcome);
  } else if (auto* const options = std::get_if<WhatIfOptions>(&calls.run)) {
    options->loaded = source.job;
    CHAKRA_ASSIGN(const WhatIf made, what_if(*options));
    take_metrics(answer_of(made), outcome.values);
    take_findings(made.findings, outcome);
  }
  return {};
}

/// Works through groups of points with the same source. A core takes a point of a job in memory; without one, the core
/// makes the next job. At most one more job than cores is in memory.
class Runner {
 public:
  Runner(const sweep::Plan& plan, std::vector<PointWork> work, Journal& journal, std::vector<Outcome>& outcomes)
      : plan_(plan), journal_(journal), outcomes_(outcomes), most_alive_(static_cast<size_t>(cores()) + 1) {
    std::map<std::string, size_t> known;
    for (PointWork& point : work) {
      const auto [at, is_new] = known.emplace(point.source, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[at->second].points.push_back(std::move(point));
      ++total_;
    }
  }

  Result<void> run() {
    CHAKRA_TRY(each_in_parallel(static_cast<size_t>(cores()), [this](size_t) { return work(); }));
    return journal_.sync();
  }

 private:
  struct Group {
    std::vector<PointWork> points;
    size_t begun = 0, finished = 0;
    std::shared_ptr<const Source> source;
  };
  const sweep::Plan& plan_;
  Journal& journal_;
  std::vector<Outcome>& outcomes_;
  size_t most_alive_, total_ = 0;

  std::mutex mutex_;  ///< of all below
  std::condition_variable changed_;
  std::vector<Group> groups_;
  std::deque<size_t> ready_;  ///< groups that have a source and points to begin
  size_t begun_ = 0;          ///< groups
  size_t alive_ = 0, making_ = 0, done_ = 0;
  bool failed_ = false;

  /// The loop of a core.
  Result<void> work() {
    for (std::unique_lock lock(mutex_);;) {
      Result<void> step = keep_going(done_, total_);
      if (!step) failed_ = true;
      if (!step || failed_) return step;
      if (!ready_.empty()) {
        step = next_point(lock);
      } else if (begun_ < groups_.size() && alive_ < most_alive_) {
        step = next_source(lock);
      } else if (making_ > 0) {
        changed_.wait_for(lock, kBetweenQuestions);
      } else {
        return {};
      }
      if (!step) failed_ = true;
      if (!step) return step;
    }
  }

  Result<void> next_source(std::unique_lock<std::mutex>& lock) {
    const size_t g = begun_++;
    ++alive_, ++making_;
    const uint64_t point = groups_[g].points.front().point;
    lock.unlock();
    auto source = std::make_shared<Source>();
    if (Result<PointCalls> calls = calls_of(plan_, point); calls) {
      const WatchedPoint watched(current_watch());
      *source = make_source(*calls, plan_.require_fit);
    } else {
      source->error = calls.error();
    }
    lock.lock();
    --making_;
    groups_[g].source = std::move(source);
    ready_.push_back(g);
    changed_.notify_all();
    return {};
  }

  Result<void> next_point(std::unique_lock<std::mutex>& lock) {
    Group& group = groups_[ready_.front()];
    const PointWork& point = group.points[group.begun++];
    if (group.begun == group.points.size()) ready_.pop_front();
    std::shared_ptr<const Source> source = group.source;
    lock.unlock();
    Result<Outcome> outcome = run_point(point, *source);
    source.reset();
    lock.lock();
    if (!outcome) return Failure(outcome.error());
    outcomes_[point.outcome] = std::move(*outcome);
    ++done_;
    if (++group.finished == group.points.size()) {
      group.source.reset();
      --alive_;
    }
    return {};
  }

  /// Errors of the point are its outcome; other errors end the sweep.
  Result<Outcome> run_point(const PointWork& point, const Source& source) {
    Outcome outcome = source.outcome;
    std::optional<Error> error = source.error;
    if (!error) {
      CHAKRA_ASSIGN(PointCalls calls, calls_of(plan_, point.point));
      const WatchedPoint watched(current_watch());
      if (const Result<void> done = run_call(calls, source, outcome); !done) error = done.error();
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

  std::mutex journal_mutex_;
};

}  // namespace

Result<void> run_points(const sweep::Plan& plan, std::vector<PointWork> work, Journal& journal,
                        std::vector<Outcome>& outcomes) {
  if (work.empty()) return {};
  return Runner(plan, std::move(work), journal, outcomes).run();
}

}  // namespace chakra::job
