// Jobs of the facade: a path or traces in memory, and the calls of `job` with them.
#include "chakra/job/job.h"

#include <fmt/core.h>

#include <filesystem>

#include "chakra/base/progress.h"
#include "chakra/facade/calls.h"
#include "chakra/facade/job_data.h"
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

namespace {

/// Whether the answer needs all of its tables.
bool whole(const Control& control) {
  return !control.brief || !control.json.empty() || !control.csv.empty() || !control.arrow.empty();
}

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
      job::add_load_counters(result.report.link_loads, result.report.timeline);
      if (call.expand.empty() && !job::is_class_job(call.path, call.loaded)) {
        CHAKRA_ASSIGN(const trace::TraceSet traces, job::read_job(call.path, call.loaded, {.texts = true}));
        CHAKRA_TRY(job::add_memory_counters(traces, false, result.report.timeline));
      }
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

Result<Answer> Job::query(const std::string& sql, const QueryOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    query::QueryOptions call{.path = data_->name(), .sql = sql};
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(const std::vector<std::string> inputs,
                  data_->inputs({options.network, options.system, options.memory}));
    CHAKRA_TRY(keep_apart(inputs, {}, control, [] { return answer_of(query::QueriedJob()); }));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    CHAKRA_ASSIGN(const query::QueriedJob made, query::query_job(call, control.stop));
    CHAKRA_TRY(keep_going());
    answer::Answer answer = answer_of(made);
    CHAKRA_TRY(commit(answer, control));
    std::string text = query::query_text(answer);
    return AnswerMaker::make(std::move(answer), std::move(text), {}, made.keys);
  });
}

Result<Answer> Job::report(const std::string& path, const ReportOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    report::ReportOptions call;
    call.path = data_->name();
    call.output = path;
    CHAKRA_ASSIGN(std::vector<std::string> inputs, data_->inputs({options.network, options.against_network,
                                                                  options.system, options.memory, options.groups}));
    if (!options.against.empty()) {
      CHAKRA_ASSIGN(const std::vector<std::string> others, job::job_files(options.against));
      inputs.insert(inputs.end(), others.begin(), others.end());
    }
    CHAKRA_TRY(keep_apart(inputs, {path, options.xlsx}, control));
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(call.loaded, data_->for_call());
    CHAKRA_ASSIGN(const report::ReportedJob made, report::report_job(call, control.stop));
    job::Outputs files;
    CHAKRA_TRY(job::add_text(files, path, made.page.html));
    if (!options.xlsx.empty()) CHAKRA_TRY(job::add_text(files, options.xlsx, made.workbook.bytes));
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
    CHAKRA_TRY(keep_apart(inputs, {control.csv, control.arrow}, control));
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
    const answer::Answer answer = answer_of(made);
    for (auto [path, form] : {std::pair(&control.csv, &job::kCsv), {&control.arrow, &job::kArrow}})
      if (!path->empty()) CHAKRA_TRY(job::add_table(files, std::exchange(*path, {}), *form, *answer.table("rows")));
    return deliver(made, control, std::move(files));
  });
}

namespace {

/// The schedule of flows instead of a run.
Result<Answer> run_flows(const run::ReplayOptions& call, const Control& control, const JobData& data) {
  if (!control.json.empty())
    return fail(Code::usage, "cli.usage", "--json has no result with --flows: the job does not run");
  CHAKRA_ASSIGN(const std::vector<std::string> inputs,
                data.inputs({call.groups, call.flows.network, call.flows.collectives}));
  CHAKRA_TRY(keep_apart(inputs, {call.flows.file}, control));
  CHAKRA_ASSIGN(const replay_fabric::FlowSchedule schedule, run::job_flows(call));
  CHAKRA_TRY(run::write_flows(schedule, call.flows.file));
  return AnswerMaker::make(run::answer_of(schedule), run::flows_line(schedule, call.flows.file));
}

}  // namespace

Result<Answer> Job::run(const RunOptions& options, Control control) const {
  return watched(control, [&]() -> Result<Answer> {
    run::ReplayOptions call;
    CHAKRA_ASSIGN(call.path, data_->on_disk());
    CHAKRA_TRY(take(options, call));
    if (!call.flows.file.empty()) return run_flows(call, control, *data_);
    call.outputs.tables = {control.csv, control.arrow};
    call.outputs.json = control.json;
    CHAKRA_ASSIGN(const run::ReplayOutputs outputs, run::replay_outputs(call));
    CHAKRA_ASSIGN(const run::ReplayedJob made, run::replay_job(call));
    CHAKRA_TRY(keep_going());
    answer::Answer answer = answer_of(made);
    CHAKRA_ASSIGN(job::Outputs files, run::made_outputs(made, answer, outputs));
    control.csv.clear();  // are among the files
    control.arrow.clear();
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

}  // namespace v1
}  // namespace chakra
