// Jobs of the facade: a path or traces in memory, and the calls of `job` with them.
#include "chakra/job/job.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "chakra/base/progress.h"
#include "chakra/facade/calls.h"
#include "chakra/facade/folder.h"
#include "chakra/io/io.h"
#include "chakra/view/view.h"

namespace chakra {
inline namespace v1 {

using facade::answer;
using facade::commit;
using facade::deliver;
using facade::keep_apart;
using facade::take;
using facade::unwatched;
using facade::watched;
using job::LoadedPtr;

namespace {
constexpr double kRead = 0.3;  ///< share of a verb that reads the traces; an estimate
}

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
      CHAKRA_ASSIGN(facade::Folder folder, facade::Folder::make());
      CHAKRA_TRY(facade::write_loaded(*loaded, folder.path()));
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
  mutable std::optional<facade::Folder> folder_;
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

namespace {

std::optional<Error> error_of(const Result<void>& result) {
  return result ? std::nullopt : std::optional(result.error());
}
/// Whether the answer needs all of its tables.
bool whole(const Control& control) { return !control.brief || !control.json.empty() || !control.csv.empty(); }

}  // namespace

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
    call.path = data_->name();
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, data_->inputs({options.groups}));
    CHAKRA_TRY(keep_apart(inputs, {}, control));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    return answer(options, control, std::move(call), [](const auto& asked) { return job::check_job(asked); });
  });
}

namespace {

/// Start the simulation with the Control and the models of a caller. The engine asks whether the call is stopped.
Result<job::SimulateResult> run_simulation(const job::SimulateOptions& asked, const Control& control, Models* models,
                                           std::vector<sim::Wait>& waits) {
  job::SimulateHooks hooks;
  hooks.stop = control.stop;
  hooks.waits = &waits;
  if (control.progress) hooks.progress = [](const sim::Progress& p) { (void)keep_going(p.nodes_done, p.nodes); };
  if (models) hooks.change = [&](sim::SimInput& input) { return facade::use_models(input, *models); };
  return job::simulate_job(asked, hooks);
}

/// What stopped a simulation that has a result, or makes the result a failure.
std::optional<Error> failure_of(const job::SimulateOptions& asked, const job::SimulateResult& result,
                                const Control& control) {
  if (!result.report.interrupted) return error_of(recorded::check_errors(asked.max_error, result.replays));
  return Error{
      Code::interrupted,
      "sim.interrupted",
      control.partial ? "stopped; the result covers the run up to that point" : "stopped, as the caller asked for",
      {}};
}

}  // namespace

Result<Answer> Job::simulate(const SimulateOptions& options, Control control, Models* models) const {
  return watched(control, [&]() -> Result<Answer> {
    job::SimulateOptions call;
    call.path = data_->name();
    CHAKRA_ASSIGN(const std::vector<std::string> inputs,
                  data_->inputs({options.network, options.system, options.memory, options.groups}));
    CHAKRA_TRY(keep_apart(inputs, {options.timeline}, control, [] { return job::answer_of(job::SimulateResult{}); }));
    if (models) {
      if (options.congestion && options.congestion != Congestion::closed)
        return fail(Code::usage, "cli.usage", "a caller's models require the contention model closed");
      if (options.compat != Compat::native)
        return fail(Code::usage, "cli.usage", "a caller's models require the native mode");
      call.congestion = sim::Congestion::closed;
    }
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    std::vector<sim::Wait> waits;
    Result<job::SimulateResult> run = run_simulation(call, control, models, waits);
    if (!run && control.partial && !waits.empty()) {
      answer::Answer stuck = sim::answer_of(run.error(), waits);
      CHAKRA_TRY(commit(stuck, control));
      return AnswerMaker::make(std::move(stuck), "", run.error());
    }
    CHAKRA_ASSIGN(job::SimulateResult result, std::move(run));
    const std::optional<Error> failure = failure_of(call, result, control);
    if (failure && !control.partial) return Failure(*failure);
    answer::Answer answer = job::answer_of(result, whole(control));
    if (!call.timeline.empty()) {
      view::add_queue_counters(result.report.timeline);
      CHAKRA_TRY(view::write_timeline(result.report.timeline, call.timeline));
    }
    CHAKRA_TRY(commit(answer, control));
    if (call.astra_output) return AnswerMaker::make(std::move(answer), job::astra_text_of(result), failure);
    return AnswerMaker::make(std::move(answer), text_of(result), failure);
  });
}

Result<Answer> Job::what_if(const WhatIfOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::WhatIfOptions call;
    call.path = data_->name();
    CHAKRA_ASSIGN(const std::vector<std::string> inputs,
                  data_->inputs({options.from_network, options.network, options.system, options.groups}));
    CHAKRA_TRY(keep_apart(inputs, {}, control));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    return answer(options, control, std::move(call),
                  [&](const auto& asked) { return job::what_if(asked, control.stop); });
  });
}

Result<Answer> Job::analyze(const AnalyzeOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::AnalyzeOptions call;
    call.path = data_->name();
    call.details = whole(control);
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    CHAKRA_ASSIGN(const job::AnalyzedJob made, job::analyze_job(call));
    CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, data_->inputs({options.groups}));
    CHAKRA_TRY(keep_apart(inputs, {options.svg}, control, [&] { return answer_of(made); }));
    job::Outputs files;
    if (!options.svg.empty())
      CHAKRA_TRY(job::add_text(files, options.svg, view::to_heat_map(job::picture_of(made.imbalances))));
    return deliver(made, control, std::move(files));
  });
}

Result<Answer> Job::report(const std::string& path, const ReportOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::ReportOptions call{data_->name(), path, {}, {}, {}};
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, data_->inputs({options.groups}));
    CHAKRA_TRY(keep_apart(inputs, {path}, control));
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    CHAKRA_ASSIGN(const job::ReportedJob made, job::report_job(call));
    job::Outputs files;
    CHAKRA_TRY(job::add_text(files, path, made.page.html));
    return deliver(made, control, std::move(files));
  });
}

Result<Answer> Job::diff(const Job& other, const DiffOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    const JobData& b = JobMaker::get(other);
    job::DiffOptions call;
    call.a = data_->name();
    call.b = b.name();
    CHAKRA_ASSIGN(std::vector<std::string> inputs, data_->inputs());
    CHAKRA_ASSIGN(inputs, b.inputs(std::move(inputs)));
    CHAKRA_TRY(keep_apart(inputs, {control.csv}, control));
    CHAKRA_TRY(take(options, call));
    if (call.timing) {
      CHAKRA_ASSIGN(call.a, data_->on_disk());
      CHAKRA_ASSIGN(call.b, b.on_disk());
      return answer(options, control, std::move(call),
                    [](const job::DiffOptions& asked) -> Result<recorded::TimesCompared> {
                      CHAKRA_TRY(options::check_call(asked));
                      return recorded::compare_times(asked.a, asked.b);
                    });
    }
    CHAKRA_ASSIGN(call.loaded_a, data_->for_call());
    CHAKRA_ASSIGN(call.loaded_b, b.for_call());
    CHAKRA_ASSIGN(const job::JobsDiff made, job::diff_jobs(call));
    CHAKRA_TRY(keep_going());
    job::Outputs files;
    if (!control.csv.empty()) CHAKRA_TRY(job::add_csv(files, control.csv, *answer_of(made).table("rows")));
    control.csv.clear();
    return deliver(made, control, std::move(files));
  });
}

namespace {

/// The schedule of flows instead of a run.
Result<Answer> run_flows(const job::ReplayOptions& call, const Control& control, const JobData& data) {
  if (!control.json.empty())
    return fail(Code::usage, "cli.usage", "--json has no result with --flows: the job does not run");
  CHAKRA_ASSIGN(const std::vector<std::string> inputs,
                data.inputs({call.groups, call.flows.network, call.flows.collectives}));
  CHAKRA_TRY(keep_apart(inputs, {call.flows.file}, control));
  CHAKRA_ASSIGN(const replay::FlowSchedule schedule, job::job_flows(call));
  CHAKRA_TRY(job::write_flows(schedule, call.flows.file));
  return AnswerMaker::make(job::answer_of(schedule), job::flows_line(schedule, call.flows.file));
}

}  // namespace

Result<Answer> Job::run(const RunOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    job::ReplayOptions call;
    CHAKRA_ASSIGN(call.path, data_->on_disk());
    CHAKRA_TRY(take(options, call));
    if (!call.flows.file.empty()) return run_flows(call, control, *data_);
    call.outputs.csv = control.csv;
    call.outputs.json = control.json;
    CHAKRA_ASSIGN(const job::ReplayOutputs outputs, job::replay_outputs(call));
    CHAKRA_ASSIGN(const job::ReplayedJob made, job::replay_job(call));
    CHAKRA_TRY(keep_going());
    answer::Answer answer = answer_of(made);
    CHAKRA_ASSIGN(job::Outputs files, job::made_outputs(made, answer, outputs));
    control.csv.clear();  // is among the files
    control.json = outputs.json;
    CHAKRA_TRY(commit(answer, control, std::move(files)));
    return AnswerMaker::make(std::move(answer), text_of(made));
  });
}

Result<Answer> Job::info(Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_ASSIGN(const std::string path, data_->on_disk());
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, data_->inputs());
    CHAKRA_TRY(keep_apart(inputs, {}, control));
    CHAKRA_ASSIGN(const job::JobSummary made, job::summarize_job(path));
    CHAKRA_TRY(keep_going());
    return deliver(made, control);
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

Result<Answer> write_as(const std::string& from, const std::string& path, const WriteOptions& options,
                        Control control) {
  if (path.ends_with(".chakra")) {
    if (!options.to.empty()) return fail(Code::usage, "cli.usage", "a container has a fixed format; leave out 'to'");
    return pack({from}, {.output = path}, std::move(control));
  }
  ConvertOptions to{.output = path, .to = options.to};
  if (to.to.empty() && std::filesystem::path(path).extension().empty()) to.to = "et";
  return convert({from}, to, std::move(control));
}

}  // namespace

Result<Answer> Job::write(const std::string& path, const WriteOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_ASSIGN(const std::string from, data_->on_disk());
    const ProgressPart rest(kRead, 1);
    return write_as(from, path, options, unwatched(control));
  });
}

Result<Answer> Job::view(const std::string& path, const ViewOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_ASSIGN(const std::string from, data_->on_disk());
    ViewOptions traces = options;
    if (!traces.from) traces.from = From::traces;
    const ProgressPart rest(kRead, 1);
    return v1::view(from, path, traces, unwatched(control));
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

Result<Job> open(const std::string& path, OpenOptions options) {
  if (path.empty()) return fail(Code::usage, "cli.usage", "the job is missing: give a prefix, a folder or one trace");
  if (!io::is_class_job(path)) CHAKRA_TRY(io::find_ranks(path));
  return JobMaker::make(path, nullptr, {}, options.keep);
}

Result<Job> link(const std::vector<std::string>& recordings, const LinkOptions& options, Control control) {
  return watched(control, [&]() -> Result<Job> {
    job::LinkJobOptions call;
    call.inputs = recordings;
    CHAKRA_TRY(take(options, call));
    std::optional<facade::Folder> folder;
    if (call.output.empty()) {
      CHAKRA_ASSIGN(folder, facade::Folder::make());
      call.output = call.inputs.empty() || call.of_folders() ? folder->path() : folder->path() + "/trace.et";
    }
    CHAKRA_TRY(keep_apart(call.inputs, {call.output}, control));
    CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(call));
    CHAKRA_TRY(keep_going());
    job::Outputs traces;
    for (size_t r = 0; r < linked.files.size(); ++r) {
      CHAKRA_TRY(keep_apart({}, {linked.ranks[r].output}, control));
      CHAKRA_TRY(traces.add(std::move(linked.files[r])));
    }
    answer::Answer answer = answer_of(linked);
    CHAKRA_TRY(commit(answer, control, std::move(traces)));
    const std::optional<Error> failure = error_of(recorded::check_errors(call.max_error, linked.replays));
    if (failure && !control.partial) return Failure(*failure);
    Answer made = AnswerMaker::make(std::move(answer), text_of(linked), failure);
    if (!folder) return JobMaker::make(call.output, nullptr, std::move(made));
    CHAKRA_ASSIGN(LoadedPtr loaded, job::load(call.output));
    return JobMaker::make("", std::move(loaded), std::move(made));
  });
}

namespace {

template <class Call, class Asked>
Result<Job> generated(const Asked& options, const Control& control, auto generator) {
  return watched(control, [&]() -> Result<Job> {
    Call call;
    CHAKRA_TRY(take(options, call));
    call.files.report = control.json;
    if (call.files.output.empty() && control.json.empty()) call.stats = true;
    Findings findings;
    CHAKRA_ASSIGN(auto made, generator(call, findings));
    CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(Answer answer, deliver(made, control));
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

Result<Job> import_workload(const std::string& file, const ImportOptions& options, Control control) {
  return watched(control, [&]() -> Result<Job> {
    job::ImportOptions call;
    call.input = file;
    CHAKRA_TRY(take(options, call));
    call.report = control.json;
    CHAKRA_ASSIGN(job::ImportedJob imported, job::import_job(call));
    CHAKRA_TRY(keep_going());
    answer::Answer answer = answer_of(imported);
    CHAKRA_TRY(commit(answer, control, std::move(imported.files)));
    return JobMaker::make(imported.prefix, nullptr, AnswerMaker::make(std::move(answer), text_of(imported)));
  });
}

}  // namespace v1
}  // namespace chakra
