// The options of the calls of a point, and keys of equal work.
#include <fmt/core.h>

#include <filesystem>
#include <set>

#include "chakra/device/device.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/seal/seal.h"
#include "chakra/sweep/parts.h"

namespace chakra::sweep {

using options::Option;
using options::Options;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGenerated = "job";  ///< path of a generated job, for texts
constexpr std::array<std::string_view, 3> kSources{"generate", "serve", "job"};
constexpr std::array<std::string_view, 2> kRuns{"simulate", "what_if"};
/// Columns of points beside metrics and parameters.
constexpr std::array<std::string_view, 4> kOtherColumns{"point", "pareto", "failure", "failure_text"};

/// A struct with the default of each option, for the check of values.
struct AllOptions {
  generate::GenerateStepOptions step;
  generate::GenerateServeOptions serve;
  job::SimulateOptions simulate;
  job::WhatIfOptions what_if;

  std::vector<Section> sections() {
    return {{"generate", rows_of(step), {"output", "all-ranks", "stats"}},
            {"serve", rows_of(serve), {"output", "all-ranks", "stats"}},
            {"job", {job::job_option(simulate.path)}, {}, true},
            {"simulate", rows_of(simulate), {"path", "timeline", "astra-output", "max-error", "diagnose"}},
            {"what_if", rows_of(what_if), {"path", "sensitivity"}}};
  }
};

Result<void> check_sections(const Spec& spec, const Plan& plan, std::span<const Section> sections) {
  const auto present = [&](const auto& names) {
    return std::count_if(names.begin(), names.end(), [&](std::string_view name) { return plan.has(name); });
  };
  if (present(kSources) != 1) return spec.error("sweep.file", "give exactly one of generate, serve and job");
  if (present(kRuns) > 1) return spec.error("sweep.file", "give either simulate or what_if");
  if (plan.has("job") && present(kRuns) == 0) return spec.error("sweep.file", "a job needs simulate or what_if");
  for (const Section& section : sections) {
    if (!plan.has(section.name) || section.plain) continue;
    for (const Option& row : section.rows) {
      const std::string key = options::key_of(row);
      const auto is_it = [&](const auto& p) { return p.section == section.name && p.key == key; };
      if (row.required && key != "path" && std::none_of(plan.parameters.begin(), plan.parameters.end(), is_it))
        return spec.error("sweep.file", fmt::format("{} needs the option {}", section.name, quote(key)));
    }
  }
  return {};
}

Result<void> apply(const Options& rows, const std::string& key, const Setting& setting) {
  if (!setting) return {};
  for (const std::string& text : *setting) CHAKRA_TRY(options::set(rows, key, text));
  return {};
}

template <class Asked>
std::string text_of_options(Asked options) {
  return job::text_of_all(rows_of(options));
}

}  // namespace

Result<Plan> read_sweep(const std::string& file) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(file));
  AllOptions all;
  std::vector<Section> sections = all.sections();
  std::vector<std::string_view> taken(kOtherColumns.begin(), kOtherColumns.end());
  for (const MetricRow& row : kMetrics) taken.push_back(row.name);
  CHAKRA_ASSIGN(Plan plan, read_plan(spec, sections, taken));
  CHAKRA_TRY(check_sections(spec, plan, sections));
  return plan;
}

Result<PointCalls> calls_of(const Plan& plan, uint64_t point) {
  PointCalls calls;
  std::map<std::string_view, Options> rows;
  if (plan.has("generate")) rows["generate"] = rows_of(calls.generate.emplace<generate::GenerateStepOptions>());
  if (plan.has("serve")) rows["serve"] = rows_of(calls.generate.emplace<generate::GenerateServeOptions>());
  if (plan.has("job")) rows["job"] = {job::job_option(calls.job)};
  if (plan.has("simulate")) rows["simulate"] = rows_of(calls.run.emplace<job::SimulateOptions>());
  if (plan.has("what_if")) rows["what_if"] = rows_of(calls.run.emplace<job::WhatIfOptions>());
  const std::vector<size_t> choices = choices_of(plan, point);
  for (size_t d = 0; d < choices.size(); ++d) {
    const Dimension& dimension = plan.dimensions[d];
    for (size_t i = 0; i < dimension.parameters.size(); ++i) {
      const Parameter& parameter = plan.parameters[dimension.parameters[i]];
      CHAKRA_TRY(apply(rows.at(parameter.section), parameter.key, dimension.choices[choices[d]][i]));
    }
  }
  const auto use_all = [&](auto& asked) {
    asked.stats = true;  // memory counts
    asked.files.used = calls.run.index() != 0;
  };
  if (auto* const step = std::get_if<generate::GenerateStepOptions>(&calls.generate)) use_all(*step);
  if (auto* const serve = std::get_if<generate::GenerateServeOptions>(&calls.generate)) use_all(*serve);
  const std::string path = calls.job.empty() ? std::string(kGenerated) : calls.job;
  if (auto* const simulate = std::get_if<job::SimulateOptions>(&calls.run)) simulate->path = path;
  if (auto* const what_if = std::get_if<job::WhatIfOptions>(&calls.run)) what_if->path = path;
  return calls;
}

// ---- keys ------------------------------------------------------------------------------------------------------

namespace {

/// The files that words of a text name, from the folder of the text's file or the working folder.
std::vector<std::string> files_named_in(std::string_view text, const fs::path& folder, std::string_view between) {
  std::vector<std::string> files;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(between, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    for (const fs::path& path : std::set<fs::path>{fs::path(word), folder / word})
      if (is_file(path.string())) files.push_back(path.string());
  }
  return files;
}

/// The programs that rules for collectives name.
std::vector<std::string> programs_of(const std::string& rules) {
  const bool in_file = is_file(rules);
  const std::string text = in_file ? read_file(rules).value_or("") : rules;
  return files_named_in(text, in_file ? fs::path(rules).parent_path() : fs::path(), " \t\r\n,;:");
}

/// The devices that a system file names.
std::vector<std::string> devices_of_system(const std::string& path) {
  return files_named_in(read_file(path).value_or(""), fs::path(path).parent_path(), "\"");
}

/// Traces of the collectives that a system file gives.
std::vector<std::string> traces_of_system(const std::string& path) {
  Findings ignored;
  const Result<device::System> system = device::load_system(path, ignored);
  if (!system) return {};
  std::vector<std::string> files;
  for (const std::string& prefix :
       {system->all_reduce_custom, system->all_gather_custom, system->reduce_scatter_custom, system->all_to_all_custom})
    for (const fs::path& folder : {fs::path(path).parent_path(), fs::path()}) {
      if (prefix.empty()) continue;
      const Result<std::vector<std::string>> ranks = job::job_files((folder / prefix).string());
      if (ranks) files.insert(files.end(), ranks->begin(), ranks->end());
    }
  return files;
}

/// The files of a job; of a folder, all files. An unknown job fails when a call reads it.
std::vector<std::string> files_of_job(const std::string& path) {
  std::vector<std::string> files;
  const Result<std::vector<std::string>> all = job::job_files(path);
  if (!all) return files;
  for (const std::string& file : *all) {
    const Result<std::vector<std::string>> names = list_folder(file);
    if (!names) files.push_back(file);
    else
      for (const std::string& name : *names) files.push_back((fs::path(file) / name).string());
  }
  return files;
}

}  // namespace

std::vector<std::string> files_of_setting(const Parameter& parameter, const std::string& text) {
  if (parameter.section == "job") return files_of_job(text);
  std::vector<std::string> files;
  if (is_file(text)) files.push_back(text);
  const auto add = [&](const std::vector<std::string>& more) { files.insert(files.end(), more.begin(), more.end()); };
  if (parameter.key == "collectives") add(programs_of(text));
  if (parameter.key == "system") add(traces_of_system(text)), add(devices_of_system(text));
  return files;
}

std::string PointKeys::digests_of_setting(size_t parameter, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = digests_.find({parameter, text}); found != digests_.end()) return found->second;
  }
  std::string all;
  for (const std::string& file : files_of_setting(plan_.parameters[parameter], text)) {
    const Result<std::string> digest = seal::digest_of_file(file);  // an unreadable file fails when a call reads it
    all += fmt::format("{} {}\n", digest ? *digest : "unreadable", file);
  }
  const std::lock_guard lock(mutex_);
  return digests_.emplace(std::pair(parameter, text), std::move(all)).first->second;
}

std::string PointKeys::digests_of(uint64_t point) {
  std::string all;
  const std::vector<size_t> choices = choices_of(plan_, point);
  for (size_t d = 0; d < choices.size(); ++d) {
    const Dimension& dimension = plan_.dimensions[d];
    for (size_t i = 0; i < dimension.parameters.size(); ++i)
      if (const Setting& setting = dimension.choices[choices[d]][i])
        for (const std::string& text : *setting) all += digests_of_setting(dimension.parameters[i], text);
  }
  return all;
}

std::string PointKeys::source_of(const PointCalls& calls) {
  if (calls.generate.index() == 0) return seal::digest_of("job " + calls.job);
  const auto digest_of_settled = [&](const auto& asked, std::string_view kind) {
    const std::string given = seal::digest_of(fmt::format("{}\n{}", kind, text_of_options(asked)));
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = sources_.find(given); found != sources_.end()) return found->second;
    }
    const auto all = generate::settled(asked);  // options that do not go together fail when the job is made
    const std::string digest = all ? seal::digest_of(fmt::format("{}\n{}", kind, text_of_options(*all))) : given;
    const std::lock_guard lock(mutex_);
    return sources_.emplace(given, digest).first->second;
  };
  const auto* const step = std::get_if<generate::GenerateStepOptions>(&calls.generate);
  return step ? digest_of_settled(*step, "generate")
              : digest_of_settled(std::get<generate::GenerateServeOptions>(calls.generate), "serve");
}

Result<PointKey> PointKeys::key_of(uint64_t point) {
  CHAKRA_ASSIGN(PointCalls calls, calls_of(plan_, point));
  PointKey key;
  key.source = source_of(calls);
  std::string run;
  if (auto* const simulate = std::get_if<job::SimulateOptions>(&calls.run)) {
    if (!simulate->congestion && !simulate->compat()) simulate->congestion = sim::Congestion::automatic;  // the default
    run = "simulate\n" + text_of_options(*simulate);
  } else if (const auto* const what_if = std::get_if<job::WhatIfOptions>(&calls.run)) {
    run = "what_if\n" + text_of_options(*what_if);
  }
  key.key = seal::digest_of(
      fmt::format("{}\n{}\n{}\n{}{}", CHAKRA_VERSION, plan_.require_fit, key.source, run, digests_of(point)));
  return key;
}

}  // namespace chakra::sweep
