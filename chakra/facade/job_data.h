// What all copies of a Job share. Inside facade.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chakra/base/progress.h"
#include "chakra/facade/calls.h"
#include "chakra/job/job.h"

namespace chakra {
inline namespace v1 {

using job::LoadedPtr;

inline constexpr double kRead = 0.3;  ///< share of a verb that reads the traces; an estimate

/// What all copies of a Job share.
struct JobData {
  std::string path;  ///< "" of a job that no file has
  bool keep = true;  ///< the traces stay in memory
  Answer made;

  std::string name() const { return path.empty() ? "job" : path; }  ///< in texts
  /// The traces, which are read when they are wanted first.
  Result<LoadedPtr> load() const {
    const ProgressPart part(0, kRead);
    std::unique_lock<std::timed_mutex> lock;
    CHAKRA_ASSIGN(lock, locked());
    const Reading reading(*this);
    if (loaded_) return loaded_;
    CHAKRA_ASSIGN(LoadedPtr loaded, job::load(path));
    if (keep) loaded_ = loaded;
    return loaded;
  }
  /// The traces for a call; null: the call reads those that it needs.
  Result<LoadedPtr> for_call() const { return keep || path.empty() ? load() : LoadedPtr(); }
  /// A path that holds the job: its own, or that of a folder it is written to and that goes with the job.
  Result<std::string> on_disk() const {
    if (!path.empty()) return path;
    CHAKRA_ASSIGN(const LoadedPtr loaded, load());
    std::unique_lock<std::timed_mutex> lock;
    CHAKRA_ASSIGN(lock, locked());
    const Reading reading(*this);
    if (!folder_) {
      CHAKRA_ASSIGN(job::Folder folder, job::Folder::make());
      CHAKRA_TRY(job::write_loaded(*loaded, folder.path()));
      folder_.emplace(std::move(folder));
    }
    return folder_->path();
  }
  /// The files of the job, and `more` that a call reads. A job in memory has no files.
  Result<std::vector<std::string>> inputs(std::vector<std::string> more = {}) const {
    if (path.empty()) return more;
    CHAKRA_ASSIGN(const std::vector<std::string> files, job::job_files(path));
    more.insert(more.end(), files.begin(), files.end());
    return more;
  }
  void hold(LoadedPtr loaded) { loaded_ = std::move(loaded); }

 private:
  /// The lock, for which a call that is watched can stop waiting. Errors: job.busy in a progress function that uses the
  /// job that is being read.
  Result<std::unique_lock<std::timed_mutex>> locked() const {
    if (reader_ == std::this_thread::get_id())
      return fail(Code::usage, "job.busy", "the job is being read; a progress function cannot use the same job");
    std::unique_lock<std::timed_mutex> lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(20))) CHAKRA_TRY(keep_going());
    return lock;
  }
  struct Reading {
    explicit Reading(const JobData& data) : of(data) { of.reader_ = std::this_thread::get_id(); }
    ~Reading() { of.reader_ = std::thread::id(); }
    const JobData& of;
  };

  mutable std::timed_mutex mutex_;
  mutable std::atomic<std::thread::id> reader_;  ///< the thread that holds the lock
  mutable LoadedPtr loaded_;
  mutable std::optional<job::Folder> folder_;
};
struct JobMaker {
  static Job make(std::string path, LoadedPtr loaded, Answer made = {}, bool keep = true) {
    auto data = std::make_shared<JobData>();
    data->path = std::move(path);
    data->keep = keep;
    data->made = std::move(made);
    data->hold(std::move(loaded));
    return Job(std::move(data));
  }
  static const JobData& get(const Job& job) { return *job.data_; }
};

inline std::optional<Error> error_of(const Result<void>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

}  // namespace v1
}  // namespace chakra
