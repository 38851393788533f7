// Jobs of the facade: a path or traces in memory, and the calls of `job` with them.
#include "chakra/job/job.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "chakra/base/progress.h"
#include "chakra/facade/facade.h"
#include "chakra/facade/folder.h"
#include "chakra/io/io.h"
#include "chakra/view/view.h"

namespace chakra {
inline namespace v1 {

using facade::take;
using job::LoadedPtr;

namespace {
constexpr double kRead = 0.3;  ///< share of a verb that reads the traces; an estimate
}

/// What all copies of a Job share.
struct JobData {
  std::string path;  ///< "" of a job that no file has
  Answer made;

  std::string name() const { return path.empty() ? "job" : path; }  ///< in texts
  /// The traces, which are read when they are wanted first.
  Result<LoadedPtr> load() const {
    const ProgressPart part(0, kRead);
    std::unique_lock<std::timed_mutex> lock;
    CHAKRA_ASSIGN(lock, locked());
    const Reading reading(*this);
    if (!loaded_) {
      CHAKRA_ASSIGN(loaded_, job::load(path));
    }
    return loaded_;
  }
  /// A path that holds the job: its own, or that of a folder it is written to and that goes with the job.
  Result<std::string> on_disk() const {
    if (!path.empty()) return path;
    CHAKRA_ASSIGN(const LoadedPtr loaded, load());
    std::unique_lock<std::timed_mutex> lock;
    CHAKRA_ASSIGN(lock, locked());
    const Reading reading(*this);
    if (!folder_) {
      CHAKRA_ASSIGN(facade::Folder folder, facade::Folder::make());
      CHAKRA_TRY(facade::write_loaded(*loaded, folder.path()));
      folder_.emplace(std::move(folder));
    }
    return folder_->path();
  }
  void keep(LoadedPtr loaded) { loaded_ = std::move(loaded); }

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
  mutable std::optional<facade::Folder> folder_;
};
struct JobMaker {
  static Job make(std::string path, LoadedPtr loaded, Answer made = {}) {
    auto data = std::make_shared<JobData>();
    data->path = std::move(path);
    data->made = std::move(made);
    data->keep(std::move(loaded));
    return Job(std::move(data));
  }
  static const JobData& get(const Job& job) { return *job.data_; }
};

namespace {

// `job.interrupted` (130): the caller's Control said stop
// `job.busy` (2): a progress function uses the job that is being read
// `job.models.time` (1): Models::prices() of a caller gives a node a negative time

Failure interrupted() { return fail(Code::interrupted, "job.interrupted", "stopped, as the caller asked for"); }

/// Run a verb so that the caller's Control hears the progress, and can stop the verb. Loops of the rooms ask it.
template <class Run>
auto watched(const Control& control, const Run& run) -> decltype(run()) {
  if (control.progress && !control.progress(control.user, 0)) return interrupted();
  auto made = [&]() -> decltype(run()) {
    const Watched watch(control.progress, control.user);  // no function: hides the watch of a caller that is watched
    auto result = run();
    if (was_stopped()) return interrupted();  // also where a room gave another error for the input that it lacked
    return result;
  }();
  if (made && control.progress) control.progress(control.user, 1);  // too late to stop
  return made;
}

/// Text and answer of what a call gives.
template <class Made>
Answer public_answer(const Made& made) {
  answer::Answer answer = answer_of(made);
  std::string text = view::to_text(answer, text_of(made));
  return AnswerMaker::make(std::move(answer), std::move(text));
}

/// Runs a call with the options of its public struct, and gives its answer.
template <class Call, class Asked, class Run>
Result<Answer> answer(const Asked& asked, Call call, const Run& run) {
  CHAKRA_TRY(take(asked, call));
  const ProgressPart rest(kRead, 1);
  CHAKRA_ASSIGN(const auto made, run(std::move(call)));
  return public_answer(made);
}

/// The models of a caller, before the simulation.
Result<void> price(sim::SimInput& input, Models& models) {
  const auto price_one = [&](trace::Trace& t, int64_t rank) -> Result<void> {
    trace::Trace copy = t;  // what the caller looks at does not change meanwhile; columns are shared
    const Trace shown = TraceMaker::make(std::make_shared<const trace::Trace>(std::move(copy)));
    CHAKRA_TRY(models.prices(shown, rank, t.dur_ps.edit()));
    for (const Picoseconds time : t.dur_ps)
      if (time < 0) return fail(Code::bad_input, "job.models.time", "Models::prices() gives a negative time");
    return {};
  };
  if (!input.classes) {
    for (trace::Trace& t : input.job.ranks) CHAKRA_TRY(price_one(t, t.rank));
    return {};
  }
  std::vector<int64_t> first(input.classes->classes.size(), -1);
  for (const trace::ClassJob::Rank& rank : input.classes->ranks)
    if (first[rank.cls] < 0) first[rank.cls] = rank.rank;
  for (size_t c = 0; c < first.size(); ++c) CHAKRA_TRY(price_one(input.classes->classes[c], first[c]));
  return {};
}

/// Puts the models of a caller into what runs.
Result<void> use(sim::SimInput& input, Models& models) {
  CHAKRA_TRY(price(input, models));
  input.fold = input.fold && models.rank_independent();
  input.collective_time = [&models](const sim::Meeting& m) {
    return models.collective({m.group, trace::name(m.type), m.bytes, m.members, m.first_ps, m.last_ps});
  };
  return {};
}

}  // namespace

Result<void> Models::prices(const Trace&, int64_t, std::span<int64_t>) { return {}; }
Result<std::optional<int64_t>> Models::collective(const Meeting&) { return std::optional<int64_t>(); }

const std::string& Job::path() const { return data_->path; }
const Answer& Job::made() const { return data_->made; }

Result<std::vector<int64_t>> Job::ranks(Control control) const {
  return watched(control, [&]() -> Result<std::vector<int64_t>> {
    CHAKRA_ASSIGN(const LoadedPtr loaded, data_->load());
    std::vector<int64_t> ranks;
    std::visit(
        [&](const auto& job) {
          for (const auto& each : job.ranks) ranks.push_back(each.rank);
        },
        loaded->job);
    return ranks;
  });
}

namespace {

Result<Trace> trace_of(const LoadedPtr& loaded, int64_t rank) {
  const auto absent = fail(Code::usage, "cli.usage", fmt::format("the job has no trace of rank {}", rank));
  if (const trace::ClassJob* const classes = loaded->classes()) {
    const auto& ranks = classes->ranks;
    const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const auto& each) { return each.rank == rank; });
    if (found == ranks.end()) return absent;
    return TraceMaker::make(
        std::make_shared<const trace::Trace>(trace::concrete(*classes, static_cast<size_t>(found - ranks.begin()))));
  }
  const trace::Trace* const found = std::get<trace::TraceSet>(loaded->job).find(rank);
  if (!found) return absent;
  return TraceMaker::make({loaded, found});
}

}  // namespace

Result<Trace> Job::trace(int64_t rank, Control control) const {
  return watched(control, [&]() -> Result<Trace> {
    CHAKRA_ASSIGN(const LoadedPtr loaded, data_->load());
    return trace_of(loaded, rank);
  });
}

Result<Answer> Job::check(const CheckOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::CheckOptions call;
    CHAKRA_ASSIGN(call.loaded, data_->load());
    call.path = data_->name();
    return answer(options, std::move(call), [](const job::CheckOptions& asked) { return job::check_job(asked); });
  });
}

Result<Answer> Job::simulate(const SimulateOptions& options, Control control, Models* models) const {
  return watched(control, [&]() -> Result<Answer> {
    job::SimulateOptions call;
    CHAKRA_ASSIGN(call.loaded, data_->load());
    call.path = data_->name();
    job::SimulateHooks hooks;
    if (control.progress)
      hooks.progress = [](const sim::Progress& p) { (void)keep_going(p.nodes_done, p.nodes); };  // the engine asks
    if (models) {
      if (options.congestion && options.congestion != Congestion::closed)
        return fail(Code::usage, "cli.usage", "a caller's models require the contention model closed");
      if (options.compat != Compat::native)
        return fail(Code::usage, "cli.usage", "a caller's models require the native mode");
      call.congestion = sim::Congestion::closed;
      hooks.change = [&](sim::SimInput& input) { return use(input, *models); };
    }
    return answer(options, std::move(call), [&](const job::SimulateOptions& asked) -> Result<job::SimulateResult> {
      CHAKRA_ASSIGN(job::SimulateResult result, job::simulate_job(asked, hooks));
      CHAKRA_TRY(recorded::check_errors(asked.max_error, result.replays));
      return result;
    });
  });
}

Result<Answer> Job::what_if(const WhatIfOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::WhatIfOptions call;
    CHAKRA_ASSIGN(call.loaded, data_->load());
    call.path = data_->name();
    return answer(options, std::move(call), [](const job::WhatIfOptions& asked) { return job::what_if(asked); });
  });
}

Result<Answer> Job::analyze(const AnalyzeOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::AnalyzeOptions call;
    CHAKRA_ASSIGN(call.loaded, data_->load());
    call.path = data_->name();
    call.details = true;
    return answer(options, std::move(call), [](const job::AnalyzeOptions& asked) { return job::analyze_job(asked); });
  });
}

Result<Answer> Job::diff(const Job& other, const DiffOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::DiffOptions call;
    call.a = data_->name();
    call.b = JobMaker::get(other).name();
    CHAKRA_ASSIGN(call.loaded_a, data_->load());
    CHAKRA_ASSIGN(call.loaded_b, JobMaker::get(other).load());
    return answer(options, std::move(call), [](const job::DiffOptions& asked) { return job::diff_jobs(asked); });
  });
}

Result<Answer> Job::run(const RunOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::ReplayOptions call;
    CHAKRA_ASSIGN(call.path, data_->on_disk());
    return answer(options, std::move(call), [](const job::ReplayOptions& asked) { return job::replay_job(asked); });
  });
}

Result<Job> Job::edit(const EditOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Job> {
    job::SimulateOptions call;
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(const LoadedPtr loaded, data_->load());
    const ProgressPart rest(kRead, 1);
    Findings findings;
    CHAKRA_ASSIGN(trace::TraceSet ranks, job::read_ranks(data_->path, loaded, call.ranks, -1, findings));
    match::GroupTable groups;
    CHAKRA_TRY(job::expand_job(call.expand, ranks, groups, findings));
    const std::string text = view::to_text(findings);
    return JobMaker::make("", std::make_shared<const job::Loaded>(job::Loaded{std::move(ranks)}),
                          AnswerMaker::make(answer::Builder("edit").finish(std::move(findings)), text));
  });
}

namespace {

Result<Answer> write_as(const std::string& from, const std::string& path, const WriteOptions& options) {
  if (path.ends_with(".chakra")) {
    if (!options.to.empty()) return fail(Code::usage, "cli.usage", "a container has a fixed format; leave out 'to'");
    CHAKRA_ASSIGN(const job::PackedJob packed, job::pack_job({.paths = {from}, .output = path}));
    return public_answer(packed);
  }
  job::ConvertOptions call;
  call.paths = {from};
  call.output = path;
  CHAKRA_TRY(take(options, call));
  if (call.to.empty() && std::filesystem::path(path).extension().empty()) call.to = "et";
  CHAKRA_ASSIGN(const job::ConvertedJob converted, job::convert_job(call));
  return public_answer(converted);
}

}  // namespace

Result<Answer> Job::write(const std::string& path, const WriteOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_ASSIGN(const std::string from, data_->on_disk());
    const ProgressPart rest(kRead, 1);
    return write_as(from, path, options);
  });
}

Result<Answer> Job::view(const std::string& path, const ViewOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::ViewOptions call;
    CHAKRA_ASSIGN(call.path, data_->on_disk());
    call.output = path;
    call.from = job::ViewInput::traces;
    return answer(options, std::move(call), [](const job::ViewOptions& asked) { return job::view_job(asked); });
  });
}

// ---- making jobs ------------------------------------------------------------------------------------------------

Result<Job> Job::from(std::span<const Trace> traces) {
  if (traces.empty()) return fail(Code::usage, "cli.usage", "a job needs traces");
  trace::TraceSet set;
  for (const Trace& trace : traces) set.ranks.push_back(TraceMaker::get(trace));
  std::stable_sort(set.ranks.begin(), set.ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  const auto same = std::adjacent_find(set.ranks.begin(), set.ranks.end(),
                                       [](const auto& a, const auto& b) { return a.rank == b.rank; });
  if (same != set.ranks.end())
    return fail(Code::bad_input, "io.job.rank_twice", fmt::format("two traces of rank {}", same->rank));
  return JobMaker::make("", std::make_shared<const job::Loaded>(job::Loaded{std::move(set)}));
}

Result<Job> open(const std::string& path) {
  if (path.empty()) return fail(Code::usage, "cli.usage", "the job is missing: give a prefix, a folder or one trace");
  if (!io::is_class_job(path)) CHAKRA_TRY(io::find_ranks(path));
  return JobMaker::make(path, nullptr);
}

Result<Job> link(const std::vector<std::string>& recordings, const LinkOptions& options, Control control) {
  return watched(control, [&]() -> Result<Job> {
    job::LinkJobOptions call;
    call.inputs = recordings;
    CHAKRA_TRY(take(options, call));
    std::optional<facade::Folder> folder;
    if (call.output.empty()) {
      CHAKRA_ASSIGN(folder, facade::Folder::make());
      call.output = call.inputs.empty() || call.of_folders() ? folder->path() : folder->path() + "/trace.0.et";
    }
    CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(call));
    CHAKRA_TRY(keep_going());
    CHAKRA_TRY(linked.commit());
    CHAKRA_TRY(recorded::check_errors(call.max_error, linked.replays));
    Answer made = public_answer(linked);
    if (!folder) return JobMaker::make(call.output, nullptr, std::move(made));
    CHAKRA_ASSIGN(LoadedPtr loaded, job::load(call.output));
    return JobMaker::make("", std::move(loaded), std::move(made));
  });
}

namespace {

/// The job of a generator, and what it says of it.
template <class Call, class Asked>
Result<Job> generated(const Asked& options, const Control& control, auto generator) {
  return watched(control, [&]() -> Result<Job> {
    Call call;
    call.stats = true;  // no files are asked for
    CHAKRA_TRY(take(options, call));
    Findings findings;
    CHAKRA_ASSIGN(auto made, generator(call, findings));
    CHAKRA_TRY(keep_going());
    answer::Answer found = job::answer_of(made);
    std::string text = view::to_text(found, text_of(made)) + view::to_text(findings, "");
    Answer answer = AnswerMaker::make(std::move(found), std::move(text));
    return JobMaker::make("", std::make_shared<const job::Loaded>(job::Loaded{std::move(made.job)}), std::move(answer));
  });
}

}  // namespace

Result<Job> generate(const StepOptions& options, Control control) {
  return generated<job::GenerateStepOptions>(
      options, control, [](const auto& o, Findings& findings) { return job::generate_step(o, findings); });
}

Result<Job> generate(const ServeOptions& options, Control control) {
  return generated<job::GenerateServeOptions>(
      options, control, [](const auto& o, Findings& findings) { return job::generate_serve(o, findings); });
}

Result<Answer> calibrate(const CalibrateDeviceOptions& options) {
  return answer(options, job::CalibrateDeviceOptions{},
                [](const job::CalibrateDeviceOptions& call) { return job::calibrate_device(call); });
}
Result<Answer> calibrate(const CalibrateNetworkOptions& options) {
  job::CalibrateNetworkOptions call;
  CHAKRA_TRY(take(options, call));
  CHAKRA_ASSIGN(const calibrate::FittedNetwork fitted, job::calibrate_network(call));
  answer::Answer found = job::answer_of(fitted);
  std::string text = view::to_text(found, job::text_of(fitted));
  return AnswerMaker::make(std::move(found), std::move(text));
}

Result<std::vector<std::string>> names(std::string_view kind) {
  const job::KindRow* const row = find_row(job::kKinds, kind);
  if (!row)
    return fail(Code::usage, "cli.usage", fmt::format("no kind {}; known: {}", quote(kind), names_of(job::kKinds)));
  const result::Table table = row->table();
  std::vector<std::string> names;
  for (const auto& cells : table.rows)
    if (const auto* name = std::get_if<std::string>(&cells[0])) names.push_back(*name);
  return names;
}

bool is_public_name(std::string_view text) { return job::is_public_name(text); }
bool is_public_word(std::string_view text) { return job::is_public_word(text); }
std::string_view version() { return CHAKRA_VERSION; }

}  // namespace v1
}  // namespace chakra
