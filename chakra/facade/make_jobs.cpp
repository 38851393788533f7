// Jobs of the facade: from traces, recordings, generators and workloads.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/facade/calls.h"
#include "chakra/facade/job_data.h"
#include "chakra/io/io.h"

namespace chakra {
inline namespace v1 {

using facade::commit;
using facade::deliver;
using facade::keep_apart;
using facade::take;
using facade::watched;

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
    linking::LinkJobOptions call;
    call.inputs = recordings;
    CHAKRA_TRY(take(options, call));
    std::optional<job::Folder> folder;
    if (call.output.empty()) {
      CHAKRA_ASSIGN(folder, job::Folder::make());
      call.output = call.inputs.empty() || call.of_folders() ? folder->path() : folder->path() + "/trace.et";
    }
    CHAKRA_TRY(keep_apart(call.inputs, {call.output}, control));
    CHAKRA_ASSIGN(linking::LinkedJob linked, linking::link_job(call));
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
  return generated<generate::GenerateStepOptions>(
      options, control, [](const auto& o, Findings& findings) { return generate::generate_step(o, findings); });
}

Result<Job> generate(const ServeOptions& options, Control control) {
  return generated<generate::GenerateServeOptions>(
      options, control, [](const auto& o, Findings& findings) { return generate::generate_serve(o, findings); });
}

Result<Job> import_workload(const std::string& file, const ImportOptions& options, Control control) {
  return watched(control, [&]() -> Result<Job> {
    convert::ImportOptions call;
    call.input = file;
    CHAKRA_TRY(take(options, call));
    call.report = control.json;
    CHAKRA_ASSIGN(convert::ImportedJob imported, convert::import_job(call));
    CHAKRA_TRY(keep_going());
    answer::Answer answer = answer_of(imported);
    CHAKRA_TRY(commit(answer, control, std::move(imported.files)));
    return JobMaker::make(imported.prefix, nullptr, AnswerMaker::make(std::move(answer), text_of(imported)));
  });
}

}  // namespace v1
}  // namespace chakra
