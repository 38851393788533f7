// Verbs that take paths: files of any kind, the installation, and the tables of the library.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/base/progress.h"
#include "chakra/facade/calls.h"
#include "chakra/view/view.h"

namespace chakra {
inline namespace v1 {

using facade::answer;
using facade::commit;
using facade::deliver;
using facade::keep_apart;
using facade::take;
using facade::watched;

namespace {

/// Traces, each a job; dumps of a flight recorder: a folder is a job, single files are one job together.
struct CheckInputs {
  std::vector<std::vector<std::string>> dumps;
  std::vector<std::string> traces, files;
};

Result<CheckInputs> inputs_of(const std::vector<std::string>& paths, const CheckOptions& o) {
  CheckInputs inputs;
  inputs.files = {o.groups};
  std::vector<std::string> single;
  for (const std::string& path : paths) {
    if (job::is_dump_path(path)) {
      if (!o.groups.empty() || !o.expand.empty())
        return fail(
            Code::usage, "cli.usage",
            fmt::format("--groups and --expand are for traces; {} has dumps of a flight recorder", quote(path, 200)));
      if (is_directory(path)) inputs.dumps.push_back({path});
      else single.push_back(path);
      inputs.files.push_back(path);
      continue;
    }
    inputs.traces.push_back(path);
    CHAKRA_ASSIGN(const std::vector<std::string> ranks, job::job_files(path));
    inputs.files.insert(inputs.files.end(), ranks.begin(), ranks.end());
  }
  if (!single.empty()) inputs.dumps.push_back(std::move(single));
  return inputs;
}

template <class Call, class Asked>
Result<Answer> run_fleet(const std::vector<std::string>& paths, const Asked& options, const Control& control,
                         Result<fleet::FleetReport> (*run)(const Call&)) {
  return watched(control, [&]() -> Result<Answer> {
    Call call;
    call.fleet.paths = paths;
    CHAKRA_TRY(keep_apart(paths, {options.output}, control, [] { return answer_of(fleet::FleetReport()); }));
    return answer(options, control, std::move(call), run);
  });
}

}  // namespace

Result<Answer> check(const std::vector<std::string>& paths, const CheckOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_ASSIGN(const CheckInputs inputs, inputs_of(paths, options));
    CHAKRA_TRY(keep_apart(inputs.files, {}, control));
    job::CheckOptions call;
    CHAKRA_TRY(take(options, call));
    std::vector<job::CheckedJob> jobs;
    for (const std::string& path : inputs.traces) {
      call.path = path;
      CHAKRA_ASSIGN(job::CheckedJob job, job::check_job(call));
      jobs.push_back(std::move(job));
    }
    for (const std::vector<std::string>& dumps : inputs.dumps) {
      CHAKRA_ASSIGN(job::CheckedJob job, job::check_dumps(dumps));
      jobs.push_back(std::move(job));
    }
    CHAKRA_TRY(keep_going());
    return deliver(std::span<const job::CheckedJob>(jobs), control);
  });
}

Result<Answer> convert(const std::vector<std::string>& paths, const ConvertOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    convert::ConvertOptions call;
    call.paths = paths;
    CHAKRA_TRY(keep_apart(paths, {options.output}, control));
    return answer(options, control, std::move(call), [](const auto& asked) { return convert::convert_job(asked); });
  });
}

Result<Answer> pack(const std::vector<std::string>& paths, const PackOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    convert::PackOptions call;
    call.paths = paths;
    CHAKRA_TRY(take(options, call));
    call.report = control.json;
    std::string text;
    if (call.output.empty()) {  // statistics of one that is there
      if (!call.stats || paths.size() != 1 || call.append)
        return fail(Code::usage, "cli.usage", "the output is missing: use -o job.chakra, or a container and --stats");
      CHAKRA_TRY(keep_apart(paths, {}, control));
    } else {
      CHAKRA_ASSIGN(const convert::PackedJob packed, convert::pack_job(call));
      if (!call.stats) return deliver(packed, control);
      text = view::to_text(answer_of(packed), text_of(packed));
    }
    CHAKRA_ASSIGN(const convert::ContainerStats stats,
                  convert::container_stats(call.output.empty() ? paths[0] : call.output));
    answer::Answer found = answer_of(stats);
    CHAKRA_TRY(commit(found, control));
    text += view::to_text(found, text_of(stats));
    return AnswerMaker::make(std::move(found), std::move(text));
  });
}

Result<Answer> unpack(const std::string& container, const UnpackOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    convert::UnpackOptions call;
    call.path = container;
    CHAKRA_TRY(keep_apart({container}, {}, control));
    return answer(options, control, std::move(call), [](const auto& asked) { return convert::unpack_job(asked); });
  });
}

Result<Answer> obfuscate(const std::string& path, const ObfuscateOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    share::ObfuscateOptions call;
    call.path = path;
    CHAKRA_TRY(take(options, call));
    const std::string names = share::names_file_of(call);
    CHAKRA_TRY(keep_apart({path, call.key, call.reveal ? names : ""}, {call.reveal ? "" : names}, control,
                          [] { return answer_of(share::ObfuscatedJob()); }));
    CHAKRA_ASSIGN(const share::ObfuscatedJob made, share::obfuscate_job(call));
    return deliver(made, control);
  });
}

Result<Answer> certify(const std::string& original, const std::string& shared, const CertifyOptions& options,
                       Control control) {
  return watched(control, [&]() -> Result<Answer> {
    certify::CertifyOptions call;
    call.original = original;
    call.shared = shared;
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(std::vector<std::string> inputs, fleet::files_of_fleet(call.among));
    inputs.insert(inputs.end(), {original, shared});
    if (call.check) {
      CHAKRA_TRY(keep_apart(inputs, {}, control, [] { return answer_of(certify::CheckedCertificate()); }));
      CHAKRA_ASSIGN(const certify::CheckedCertificate checked, certify::check_certificate(call));
      CHAKRA_TRY(keep_going());
      return deliver(checked, control);
    }
    CHAKRA_ASSIGN(const std::vector<std::string> jobs, fleet::files_of_fleet({original, shared}));
    inputs.insert(inputs.end(), jobs.begin(), jobs.end());
    CHAKRA_TRY(keep_apart(inputs, certify::certificate_files(call.output), control,
                          [] { return answer_of(certify::CertifiedJob()); }));
    CHAKRA_ASSIGN(const certify::CertifiedJob made, certify::certify_job(call));
    CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(job::Outputs files, certify::certificate_of(made, call.output));
    return deliver(made, control, std::move(files));
  });
}

Result<Answer> select(const std::vector<std::string>& paths, const SelectOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    share::SelectOptions call;
    call.paths = paths;
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, fleet::files_of_fleet(paths));
    CHAKRA_TRY(keep_apart(inputs, {options.svg}, control, [] { return answer_of(share::SelectedJobs()); }));
    CHAKRA_ASSIGN(const share::SelectedJobs made, share::select_jobs(call));
    CHAKRA_TRY(keep_going());
    job::Outputs files;
    if (!options.svg.empty()) CHAKRA_TRY(job::add_text(files, options.svg, view::to_scatter(picture_of(made))));
    return deliver(made, control, std::move(files));
  });
}

Result<Answer> sweep(const std::string& file, const SweepOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    sweep::SweepOptions call;
    call.file = file;
    CHAKRA_TRY(take(options, call));
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, sweep::files_of_sweep(file));
    const std::string journal = call.output.empty() ? "" : sweep::journal_of(call.output, call.shard);
    CHAKRA_TRY(keep_apart(inputs, {journal, options.svg}, control, [] { return answer_of(sweep::Sweep()); }));
    CHAKRA_ASSIGN(const sweep::Sweep made, sweep::run_sweep(call));
    CHAKRA_TRY(keep_going());
    answer::Answer answer = answer_of(made);
    job::Outputs files;
    if (!options.svg.empty()) CHAKRA_TRY(job::add_text(files, options.svg, view::to_scatter(picture_of(made))));
    CHAKRA_TRY(commit(answer, control, std::move(files)));
    return AnswerMaker::make(std::move(answer), sweep::sweep_text(made), {}, made.names);
  });
}

Result<Answer> fleet_link(const std::vector<std::string>& paths, const FleetLinkOptions& options, Control control) {
  return run_fleet<fleet::FleetLinkOptions>(paths, options, control, fleet::fleet_link);
}
Result<Answer> fleet_analyze(const std::vector<std::string>& paths, const FleetAnalyzeOptions& options,
                             Control control) {
  return run_fleet<fleet::FleetAnalyzeOptions>(paths, options, control, fleet::fleet_analyze);
}
Result<Answer> fleet_merge(const FleetMergeOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_TRY(keep_apart({}, {}, control, [] { return answer_of(fleet::FleetReport()); }));
    return answer(options, control, fleet::FleetMergeOptions(), fleet::fleet_merge);
  });
}

Result<Answer> view(const std::string& path, const std::string& output, const ViewOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    job::ViewOptions call;
    call.path = path;
    call.output = output;
    CHAKRA_TRY(keep_apart({path}, {output}, control));
    return answer(options, control, std::move(call), [](const auto& asked) { return job::view_job(asked); });
  });
}

Result<Answer> doctor(const std::string& path, const DoctorOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    if (options.plugins && !path.empty())
      return fail(Code::usage, "cli.usage", "--plugins looks at the installation: leave out the path");
    if (options.repair && path.empty()) return fail(Code::usage, "cli.usage", "--repair needs the path of a container");
    if (options.secrets && path.empty())
      return fail(Code::usage, "cli.usage", "--secrets needs the path of a file or folder");
    doctor::DoctorOptions call;
    CHAKRA_TRY(take(options, call));
    CHAKRA_TRY(options::check_call(call));
    CHAKRA_TRY(keep_apart({path}, {}, control));
    if (call.repair) {
      CHAKRA_ASSIGN(const convert::RepairedContainer repaired, convert::repair_container(path));
      return deliver(repaired, control);
    }
    if (call.secrets) {
      CHAKRA_ASSIGN(const share::FoundSecrets found, share::find_secrets(path));
      return deliver(found, control);
    }
    if (path.empty())
      return deliver(call.plugins ? doctor::check_plugins(doctor::own_installation())
                                  : doctor::check_installation(doctor::own_installation()),
                     control);
    CHAKRA_ASSIGN(const doctor::ExaminedFiles files, doctor::examine_files(path));
    CHAKRA_TRY(keep_going());
    return deliver(files, control);
  });
}

Result<Answer> generate(const CasesOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    generate::CaseOptions call;
    CHAKRA_TRY(take(options, call));
    CHAKRA_TRY(generate::write_cases(call));
    answer::Answer answer = answer_of(call);
    CHAKRA_TRY(commit(answer, control));
    return AnswerMaker::make(std::move(answer),
                             fmt::format("{}: {} cases of {} ranks\n", call.output, gen::cases().size(), call.ranks));
  });
}

Result<Answer> generate(const BlueprintOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_TRY(keep_apart({}, {options.output}, control));
    return answer(options, control, generate::NetworkOptions{},
                  [](const auto& call) { return generate::generate_network(call); });
  });
}

Result<Answer> calibrate(const CalibrateDeviceOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    CHAKRA_TRY(keep_apart(options.from, {options.output}, control));
    return answer(options, control, job::CalibrateDeviceOptions{},
                  [](const auto& call) { return job::calibrate_device(call); });
  });
}
Result<Answer> calibrate(const CalibrateNetworkOptions& options, Control control) {
  return watched(control, [&]() -> Result<Answer> {
    std::vector<std::string> inputs = options.from;
    inputs.insert(inputs.end(), options.judge.begin(), options.judge.end());
    CHAKRA_TRY(keep_apart(inputs, {options.output}, control));
    return answer(options, control, job::CalibrateNetworkOptions{},
                  [](const auto& call) { return job::calibrate_network(call); });
  });
}

// ---- the library -----------------------------------------------------------------------------------------------

namespace {

Result<result::Table> table_of(std::string_view kind) {
  if (kind.empty()) return list::list_rows("kind", list::kKinds);
  if (const list::KindRow* const row = find_row(list::kKinds, kind)) return row->table();
  return fail(Code::usage, "cli.usage", fmt::format("no kind {}; known: {}", quote(kind), names_of(list::kKinds)));
}

}  // namespace

Result<std::vector<std::string>> names(std::string_view kind) {
  CHAKRA_ASSIGN(const result::Table table, table_of(kind));
  std::vector<std::string> names;
  for (const auto& cells : table.rows)
    if (const auto* name = std::get_if<std::string>(&cells[0])) names.push_back(*name);
  return names;
}

Result<Answer> list(std::string_view kind, Control control) {
  CHAKRA_ASSIGN(const result::Table table, table_of(kind));
  answer::Builder to("list");
  result::add_table(to, "", table);
  answer::Answer answer = std::move(to).finish();
  CHAKRA_TRY(commit(answer, control));
  std::string text = view::to_text(answer, answer.tables()[0]);
  return AnswerMaker::make(std::move(answer), std::move(text));
}

void use_cores(int cores) { limit_cores(std::max(cores, 0)); }

std::string_view version() { return CHAKRA_VERSION; }

}  // namespace v1
}  // namespace chakra
