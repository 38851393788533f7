#include "chakra/fleet/work.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "chakra/base/memory.h"
#include "chakra/base/progress.h"
#include "chakra/fleet/jobs.h"
#include "chakra/job/parts.h"
#include "chakra/seal/seal.h"

namespace chakra::fleet {

// `fleet.work` (1): the file is not a work list
// `fleet.killed` (failure of a task): attempts ended without an outcome

namespace {

constexpr std::chrono::milliseconds kBetweenTries{20};
constexpr double kMemoryShare = 0.8;
constexpr std::string_view kStopped = "job.interrupted";  ///< tag of tasks that stopped with their process

Failure damaged(const std::string& path, size_t line, std::string_view what) {
  return fail(Code::bad_input, "fleet.work", fmt::format("{}: not a work list of 'chakra fleet'", what),
              {path, -1, static_cast<int64_t>(line)});
}

std::string text_of(const Spec& spec, std::string_view key) {
  const std::string* const text = text_at(spec, key);
  return text ? *text : "";
}
int64_t number_at(const Spec& spec, std::string_view key) {
  const Spec* const field = spec.find(key);
  return field ? field->integer().value_or(-1) : -1;
}

std::string line_of(const FleetJob& job) {
  std::string line = "{";
  append_member(line, "job", job.name);
  append_member(line, "path", job.path);
  append_member(line, "key", job.key);
  return line + fmt::format(",\"bytes\":{},\"ranks\":{}}}\n", job.bytes, job.rank_count);
}
std::string line_of(const recording::RankInput& rank) {
  std::string line = "{";
  append_member(line, "host", rank.host);
  append_member(line, "device", rank.device);
  return line + fmt::format(",\"rank\":{},\"known\":{}}}\n", rank.rank, rank.rank_known);
}

/// Memory that running tasks share. Thread safe.
class MemoryBudget {
 public:
  /// `limit` 0: a share of the free memory.
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {
    if (limit > 0) return;
    const uint64_t free = available_memory();
    limit_ = free == UINT64_MAX ? free : static_cast<uint64_t>(static_cast<double>(free) * kMemoryShare);
  }
  /// Wait until the bytes fit. A task that never fits waits until no other task runs.
  void take(uint64_t bytes) {
    std::unique_lock lock(mutex_);
    while (running_ > 0 && bytes > limit_ - std::min(limit_, used_) && !was_stopped())
      changed_.wait_for(lock, kBetweenTries);
    used_ += bytes;
    ++running_;
  }
  void give(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    --running_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t limit_, used_ = 0;
  size_t running_ = 0;
};

/// The loop of a process over the phases.
class FleetRun {
 public:
  FleetRun(const WorkList& work, const TasksOf& tasks_of, const RunTask& run, const FleetOptions& options,
           Journals& journals)
      : work_(work), run_(run), o_(options), journals_(journals), memory_(options.memory) {
    for (size_t j = 0; j < work.jobs.size(); ++j) {
      by_job_.push_back(tasks_of(work.jobs[j], j));
      for (const FleetTask& task : by_job_.back()) phases_ = std::max<size_t>(phases_, task.phase + size_t{1});
    }
  }

  Result<void> run() {
    for (auto changed = std::chrono::steady_clock::now();;) {
      const size_t before = attempted_.size();
      size_t waiting = 0;
      for (size_t phase = 0; phase < phases_; ++phase) {
        if (phase > 0 && !o_.shard.is_all()) CHAKRA_TRY(journals_.refresh());
        std::vector<const FleetTask*> ready;
        waiting += find_ready(phase, ready);
        CHAKRA_TRY(each_in_parallel(ready.size(), [&](size_t i) { return attempt(*ready[i]); }));
      }
      const auto now = std::chrono::steady_clock::now();
      if (attempted_.size() > before) changed = now;
      if (waiting == 0) break;
      if (now - changed >= std::chrono::seconds(o_.wait_s)) break;
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(std::chrono::seconds(1), std::chrono::seconds(o_.wait_s)));
      CHAKRA_TRY(keep_going());
      CHAKRA_ASSIGN(const bool grew, journals_.refresh());
      if (grew) changed = std::chrono::steady_clock::now();
    }
    return journals_.sync();
  }

 private:
  const WorkList& work_;
  const RunTask& run_;
  const FleetOptions& o_;
  Journals& journals_;
  std::vector<std::vector<FleetTask>> by_job_;
  size_t phases_ = 0;
  std::mutex mutex_;
  std::set<std::string> attempted_;  ///< in this call
  MemoryBudget memory_;

  bool was_attempted(const FleetTask& task) {
    const std::lock_guard lock(mutex_);
    return attempted_.contains(task.key);
  }
  /// Whether the task will not run in this call.
  bool is_over(const FleetTask& task) {
    if (was_attempted(task)) return true;
    const std::optional<Outcome> last = journals_.find(task.key);
    return last && (last->state == State::done || (last->state == State::failed && !o_.again));
  }
  bool is_done(const FleetTask& task) const {
    const std::optional<Outcome> last = journals_.find(task.key);
    return last && last->state == State::done;
  }

  /// Collect the tasks of a phase that can run. Return the number of tasks that wait for other processes.
  size_t find_ready(size_t phase, std::vector<const FleetTask*>& ready) {
    size_t waiting = 0;
    for (const std::vector<FleetTask>& tasks : by_job_) {
      bool all_done = true, failed = false;
      for (const FleetTask& task : tasks) {
        if (task.phase >= phase || is_done(task)) continue;
        all_done = false;
        failed |= is_over(task);
      }
      if (failed) continue;
      for (const FleetTask& task : tasks) {
        if (task.phase != phase || !o_.shard.has(work_.jobs[task.job].name, task.number) || is_over(task)) continue;
        if (all_done) ready.push_back(&task);
        else ++waiting;
      }
    }
    return waiting;
  }

  Result<void> attempt(const FleetTask& task) {
    {
      const std::lock_guard lock(mutex_);
      attempted_.insert(task.key);
    }
    Outcome outcome{task.key};
    if (!o_.again && journals_.attempts(task.key) >= kMostAttempts) {
      outcome.state = State::failed;
      outcome.tag = "fleet.killed";
      outcome.text = fmt::format("{} attempts ended without a result; the process was killed, or ran out of memory",
                                 kMostAttempts);
      return journals_.add(outcome);
    }
    memory_.take(task.memory);
    const Result<void> done = attempt_with_memory(task, outcome);
    memory_.give(task.memory);
    return done;
  }

  Result<void> attempt_with_memory(const FleetTask& task, Outcome& outcome) {
    CHAKRA_TRY(keep_going());
    CHAKRA_TRY(journals_.add(outcome));
    const auto begin = std::chrono::steady_clock::now();
    Result<TaskDone> done = [&] {
      const WatchedApart watched;
      return run_(work_.jobs[task.job], task);
    }();
    if (was_stopped()) {
      outcome.state = State::again;
      outcome.tag = kStopped;
      CHAKRA_TRY(journals_.add(outcome));
    }
    CHAKRA_TRY(keep_going());
    using Micros = std::chrono::microseconds;
    outcome.wall_us = std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - begin).count();
    outcome.state = State::done;
    if (done) {
      outcome.values = std::move(done->values);
    } else {
      const Error& error = done.error();
      if (error.code == Code::interrupted) return Failure(error);
      const std::string place = error.place.text();
      outcome.state = error.code == Code::io ? State::again : State::failed;
      outcome.tag = error.tag;
      outcome.text = place.empty() ? error.text : fmt::format("{}: {}", place, error.text);
    }
    CHAKRA_TRY(journals_.add(outcome));
    std::error_code ignored;  // a rest costs space only
    if (done && !done->remove.empty()) std::filesystem::remove_all(done->remove, ignored);
    return {};
  }
};

void take_values(const std::map<std::string, std::string>& values, FleetJobState& state) {
  const auto take = [&](const char* key, auto& to) {
    const auto at = values.find(key);
    if (at == values.end()) return;
    auto& value = to.emplace();
    if constexpr (std::same_as<std::remove_reference_t<decltype(value)>, std::string>) value = at->second;
    else if (!parse_decimal(at->second, value)) to.reset();
  };
  take("ranks", state.ranks);
  take("nodes", state.nodes);
  take("measured_ps", state.measured_ps);
  take("self_check_error", state.self_check_error);
  take("warnings", state.warnings);
  take("diagnosis", state.diagnosis);
  take("place", state.place);
  take("cost_ps", state.cost_ps);
  take("share", state.share);
}

}  // namespace

std::string FleetPaths::below(const std::string& path) const {
  return (std::filesystem::path(output_) / path).string();
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  std::string full = std::filesystem::absolute(path, error).lexically_normal().string();
  if (full.size() > 1 && full.ends_with('/')) full.pop_back();
  return full.empty() ? path : full;
}

void name_jobs(WorkList& work) {
  std::sort(work.jobs.begin(), work.jobs.end(), [](const FleetJob& a, const FleetJob& b) { return a.path < b.path; });
  std::set<std::string> known, taken;
  work.twice += static_cast<int64_t>(
      std::erase_if(work.jobs, [&](const FleetJob& job) { return !known.insert(identity_of(job.path)).second; }));
  for (FleetJob& job : work.jobs) {
    std::string base = std::filesystem::path(job.path).filename().string();
    if (base.empty()) base = "job";
    job.name = base;
    for (int64_t copy = 2; !taken.insert(job.name).second; ++copy) job.name = fmt::format("{}-{}", base, copy);
  }
}

std::string key_of_files(std::string_view options, const std::vector<std::string>& files) {
  std::string all = fmt::format("{}\n{}\n", CHAKRA_VERSION, options);
  for (const std::string& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0)
      all += fmt::format("{} {}.{:09} ", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    all += file + '\n';
  }
  return seal::digest_of(all);
}

Result<void> write_work(const WorkList& work, const std::string& path) {
  std::string text = "{";
  append_member(text, "fleet", work.verb);
  append_member(text, "key", work.key);
  text += fmt::format(",\"jobs\":{},\"twice\":{}}}\n", work.jobs.size(), work.twice);
  for (const std::string& left : work.left_out) {
    text += '{';
    append_member(text, "left_out", left);
    text += "}\n";
  }
  for (const FleetJob& job : work.jobs) {
    text += line_of(job);
    for (const recording::RankInput& rank : job.ranks) text += line_of(rank);
  }
  return write_file(path, text);
}

Result<WorkList> read_work(const std::string& path) {
  CHAKRA_ASSIGN(const std::string text, read_file(path));
  WorkList work;
  size_t line = 0;
  int64_t jobs = -1;
  for (const std::string_view object : lines_of(text)) {
    const Result<Spec> spec = parse_spec(object, path);
    ++line;
    if (!spec || spec->kind != Spec::Kind::map) return damaged(path, line, "a line without a JSON object");
    if (line == 1) {
      work.verb = text_of(*spec, "fleet");
      work.key = text_of(*spec, "key");
      jobs = number_at(*spec, "jobs");
      work.twice = number_at(*spec, "twice");
    } else if (spec->find("left_out")) {
      work.left_out.push_back(text_of(*spec, "left_out"));
    } else if (spec->find("job")) {
      work.jobs.push_back({text_of(*spec, "job"),
                           text_of(*spec, "path"),
                           text_of(*spec, "key"),
                           static_cast<uint64_t>(std::max<int64_t>(0, number_at(*spec, "bytes"))),
                           number_at(*spec, "ranks"),
                           {}});
    } else if (spec->find("rank") && !work.jobs.empty()) {
      work.jobs.back().ranks.push_back({number_at(*spec, "rank"), text_of(*spec, "known") == "true",
                                        text_of(*spec, "host"), text_of(*spec, "device")});
    } else {
      return damaged(path, line, "an unknown line");
    }
  }
  for (const FleetJob& job : work.jobs)
    if (job.name.empty() || job.name == "." || job.name == ".." || job.name.find('/') != std::string::npos ||
        job.key.size() < 16 || job.key.find_first_not_of("0123456789abcdef") != std::string::npos ||
        (!job.ranks.empty() && static_cast<int64_t>(job.ranks.size()) != job.rank_count))
      return damaged(path, 0, fmt::format("job {}", quote(job.name)));
  if (jobs != static_cast<int64_t>(work.jobs.size()))
    return damaged(path, 1, fmt::format("{} jobs instead of {}", work.jobs.size(), jobs));
  return work;
}

Result<void> run_tasks(const WorkList& work, const TasksOf& tasks_of, const RunTask& run, const FleetOptions& options,
                       Journals& journals) {
  return FleetRun(work, tasks_of, run, options, journals).run();
}

std::vector<FleetJobState> states_of(const WorkList& work, const TasksOf& tasks_of, const Journals& journals) {
  std::vector<FleetJobState> states;
  for (size_t j = 0; j < work.jobs.size(); ++j) {
    const FleetJob& job = work.jobs[j];
    FleetJobState& state = states.emplace_back();
    state.name = job.name;
    state.path = job.path;
    if (job.rank_count >= 0) state.ranks = job.rank_count;
    for (const FleetTask& task : tasks_of(job, j)) {
      ++state.tasks;
      const std::optional<Outcome> last = journals.find(task.key);
      if (!last) continue;
      state.wall_us += last->wall_us;
      if (last->state == State::done) {
        ++state.tasks_done;
        take_values(last->values, state);
      } else if (state.tag.empty() && last->tag != kStopped) {
        state.state = FleetState::failed;
        state.task =
            job.ranks.empty() || task.phase % 2 != 0 ? "" : fmt::format("rank {}", job.ranks[task.number].rank);
        state.tag = last->tag;
        state.text = last->text;
      }
    }
    if (state.tag.empty() && state.tasks_done == state.tasks) state.state = FleetState::done;
  }
  return states;
}

}  // namespace chakra::fleet
