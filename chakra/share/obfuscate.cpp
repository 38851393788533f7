#include "chakra/share/obfuscate.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/device/device.h"
#include "chakra/edit/edit.h"
#include "chakra/fleet/fleet.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/linking/linking.h"
#include "chakra/recording/recording.h"
#include "chakra/seal/seal.h"
#include "chakra/share/fewer_layers.h"
#include "chakra/share/fewer_stages.h"
#include "chakra/share/hide_ranks.h"
#include "chakra/share/zero_of_times.h"
#include "chakra/synth/synth.h"
#include "chakra/trace/metadata.h"

namespace chakra::share {

// `job.obfuscate.output` (2): the output folder has files that are not part of the job
// `job.obfuscate.again` (1): the job is hidden already
// `job.obfuscate.plain` (1): the job is not hidden
// `job.obfuscate.names` (1): the names are those of another job
// `job.obfuscate.edges` (warning): references to absent nodes, repeated ids and other defects are left out
// `job.obfuscate.linked` (note): the input is a recording, which was linked first
// `job.obfuscate.width` (warning): the width of the model is unknown, so sizes change by their own cells alone
// `job.obfuscate.far` (warning): the width, layers or stages of the job are far from those of the copy's sizes
// `job.obfuscate.priced` (warning): durations were computed from sizes, so durations still show the sizes
// `job.obfuscate.work` (warning): the work of nodes without a duration stays, in coarse steps
// `job.obfuscate.layers` (1; warning): the job, or some of the ranks, repeat nothing that could be layers
// `job.obfuscate.stages` (warning): the number of pipeline stages stays visible
// `job.obfuscate.passes` (warning): measured passes of some ranks could not stretch, so the copy is shorter
// `job.obfuscate.schedule` (warning): the order of passes can show the number of pipeline stages
// `job.obfuscate.experts` (warning): the number of experts stays visible
// `job.obfuscate.among` (warning): jobs of the fleet that cannot be read are left out
// `job.obfuscate.tiers` (note): names of storage tiers are hidden, so a file of a system must name the hidden tiers

namespace {

namespace fs = std::filesystem;

constexpr double kFar = 2;     ///< bytes of parameters of a layer by that factor, for the width that is shown
constexpr double kNear = 1.1;  ///< bytes of layers by that factor from those of the job

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string_view public_device(std::string_view name) {
  const device::DeviceRow* const row = device::find(name);
  return row ? row->name : std::string_view();
}

/// The files of a folder that are not part of the job.
std::vector<std::string> other_files(const std::string& folder, const std::vector<std::string>& files) {
  if (!is_directory(folder)) return {};
  const auto names = list_folder(folder);
  std::vector<std::string> others;
  std::set<std::string> known;
  for (const std::string& file : files) known.insert(fs::path(file).filename().string());
  if (names)
    for (const std::string& name : *names)
      if (!known.contains(name)) others.push_back(name);
  return others;
}

/// What level 2 knows and does.
struct SizeLevel {
  FirstLook look;
  edit::SizeHiding hiding;
  edit::HiddenSizes hidden;
};

class Obfuscation {
 public:
  explicit Obfuscation(const ObfuscateOptions& options) : o_(options) {
    job_.output = o_.output;
    job_.names_file = names_file_of(o_);
    job_.revealed = o_.reveal;
  }

  Result<ObfuscatedJob> run() {
    CHAKRA_ASSIGN(const seal::Key key, key_of());
    if (is_directory(o_.output)) {
      CHAKRA_ASSIGN(before_, list_folder(o_.output));
    }
    if (o_.reveal) CHAKRA_TRY(open_names(key));
    else set_hiding(key);
    if (io::is_class_job(o_.path)) {
      CHAKRA_ASSIGN(classes_, io::read_class_job(o_.path, {.texts = true}));
    }
    if (o_.level > 1) CHAKRA_TRY(set_grid());
    if (o_.level > 2) CHAKRA_TRY(set_structure());
    CHAKRA_TRY(classes_ ? change_classes() : change_ranks());
    if (!o_.reveal) CHAKRA_TRY(add_names(key));
    CHAKRA_TRY(check_folder());
    if (o_.new_key) CHAKRA_TRY(key.save(o_.key));
    CHAKRA_TRY(files_.commit());
    finish();
    return std::move(job_);
  }

 private:
  /// The key, which is written when the job is complete if the key is new.
  Result<seal::Key> key_of() {
    if (!o_.new_key) return seal::Key::read(o_.key, job_.findings);
    std::error_code ignored;
    if (fs::exists(o_.key, ignored))
      return fail(Code::usage, "seal.key.exists", "the file exists; a key is never replaced", {o_.key});
    return seal::Key::make();
  }

  /// The folder may have the files of an earlier run, which are replaced. Any other file would also be shared.
  Result<void> check_folder() const {
    for (const std::string& name : before_)
      if (!outputs_.contains(name))
        return fail(Code::usage, "job.obfuscate.output",
                    fmt::format("the folder has {}, which is not part of the job; take a new folder, so that no other "
                                "file is shared",
                                quote(name)),
                    {o_.output});
    return {};
  }

  void set_hiding(const seal::Key& key) {
    hiding_.is_public_name = recording::is_public_name;
    hiding_.is_public_word = recording::is_public_word;
    hiding_.public_device = public_device;
    hiding_.token = [&key](std::string_view kind, std::string_view text) { return key.token(kind, text); };
    hiding_.mark = seal::random_mark();
    hiding_.level = o_.level;
  }

  /// The width of the model, and the grid that hides the width.
  Result<void> set_grid() {
    const Known known{o_.width, o_.layers};
    if (classes_) {
      sizes_.look = look_at(*classes_, known, o_.level > 2);
    } else {
      CHAKRA_ASSIGN(sizes_.look, look_at(o_.path, known, o_.level > 2, true));
    }
    sizes_.hiding.width = sizes_.look.job.width;
    sizes_.hiding.is_measured = sizes_.look.job.is_measured;
    if (o_.among.empty()) {
      sizes_.hiding.grid = edit::shipped_grid();
      return {};
    }
    std::vector<edit::FleetJob> fleet(1);
    fleet[0] = sizes_.look.job;
    if (classes_) {
      edit::add_sizes(*classes_, fleet[0]);
    } else {
      CHAKRA_ASSIGN(fleet[0], with_sizes(o_.path, sizes_.look.job));
    }
    CHAKRA_ASSIGN(const fleet::Fleet jobs, fleet::fleet_of(o_.among));
    size_t unread = 0;
    for (const std::string& path : jobs.jobs) {
      if (fleet::identity_of(path) == fleet::identity_of(o_.path)) continue;
      auto look = look_at(path, {}, o_.level > 2);
      auto job = look ? with_sizes(path, std::move(look->job)) : Failure(look.error());
      CHAKRA_TRY(keep_going());
      if (job) fleet.push_back(std::move(*job));
      else ++unread;
    }
    if (unread > 0)
      job_.findings.push_back({"job.obfuscate.among", Severity::warning, -1, -1,
                               fmt::format("{} of {} jobs of the fleet could not be read", unread, jobs.jobs.size())});
    CHAKRA_ASSIGN(sizes_.hiding.grid, edit::grid_of(fleet));
    return {};
  }

  /// The cells of the numbers of stages and layers.
  Result<void> set_structure() {
    const edit::Grid& grid = sizes_.hiding.grid;
    CHAKRA_TRY(stages_.look(sizes_.look, classes_ ? &*classes_ : nullptr, grid.stages));
    layers_ = FewerLayers(sizes_.look, stages_.hides());
    CHAKRA_TRY(layers_.set_cell(grid, o_.path));
    sizes_.hiding.growth = layers_.growth();
    sizes_.hiding.pass_growth = stages_.growth();
    const int64_t experts = sizes_.look.job.experts;
    if (experts == 0 && !sizes_.look.has_experts) return {};
    ObfuscatedJob::Experts& shown = job_.experts.emplace();
    shown.experts = experts;
    if (experts == 0 || grid.experts.empty()) return {};
    const edit::Cell& cell = edit::layer_cell_of(grid.experts, experts);
    shown.hidden = true;
    shown.low = cell.low, shown.high = cell.high;
    sizes_.hiding.experts = cell.shown / static_cast<double>(experts);
    return {};
  }

  Result<void> open_names(const seal::Key& key) {
    CHAKRA_ASSIGN(const std::string sealed, read_file(job_.names_file));
    CHAKRA_ASSIGN(const std::string bytes, key.open(sealed, job_.names_file));
    CHAKRA_ASSIGN(map_, edit::parse_hidden_map(bytes, job_.names_file));
    job_.texts = static_cast<int64_t>(map_.texts.size());
    return {};
  }

  Result<void> change_classes() {
    const trace::ClassJob& job = *classes_;
    for (const trace::Trace& cls : job.classes) {
      CHAKRA_TRY(check_mark(cls, o_, map_.mark));
      if (hiding_.zero_ns == 0) hiding_.zero_ns = zero_of(cls);
    }
    trace::ClassJob fewer = job;
    std::vector<std::vector<uint8_t>> grows;
    if (o_.level > 2) CHAKRA_TRY(layers_.hide(fewer, stages_, grows));
    CHAKRA_ASSIGN(const trace::ClassJob changed,
                  o_.reveal ? edit::reveal(job, map_.texts)
                  : o_.level == 1
                      ? edit::hide(job, hiding_, hidden_)
                      : edit::hide(edit::hide_sizes(fewer, sizes_.hiding, sizes_.hidden, grows), hiding_, hidden_));
    job_.ranks = static_cast<int64_t>(changed.ranks.size());
    for (const trace::ClassJob::Rank& rank : changed.ranks) job_.nodes += changed.classes[rank.cls].size();
    CHAKRA_ASSIGN(const std::vector<std::string> paths, io::write_class_job(changed, o_.output, files_));
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, job::job_files(o_.path));
    for (const std::string& path : paths) outputs_.insert(fs::path(path).filename().string());
    std::vector<std::string> own{"ranks.json"};
    for (const trace::Trace& cls : job.classes) own.push_back(cls.file);
    job_.other_files = other_files(inputs[0], own);
    return {};
  }

  Result<void> change_ranks() {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> all, io::find_ranks(o_.path));
    const std::vector<io::RankFile> files = stages_.kept(all);
    CHAKRA_TRY(stages_.measure(files));
    HiddenRanks made;
    for (bool agreed = false; !agreed;) {
      const RankHiding by{o_, hiding_, map_, sizes_.hiding, layers_, stages_};
      CHAKRA_ASSIGN(made, hide_ranks(files, by, sizes_.look.traces));
      agreed = true;
      if (o_.level > 2) {
        CHAKRA_ASSIGN(agreed, layers_.agree(made.layers));
      }
    }
    stages_.add(made.stages);
    hidden_ = std::move(made.names);
    sizes_.hidden = std::move(made.sizes);
    outputs_ = std::move(made.outputs);
    job_.nodes = made.nodes;
    for (std::optional<AtomicFile>& file : made.files) CHAKRA_TRY(files_.add(std::move(*file)));
    job_.ranks = static_cast<int64_t>(files.size());
    std::vector<std::string> paths;
    for (const io::RankFile& file : all) paths.push_back(file.path);
    job_.other_files = other_files(o_.path, paths);
    return {};
  }

  Result<void> add_names(const seal::Key& key) {
    job_.texts = static_cast<int64_t>(hidden_.texts.size());
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(job_.names_file));
    CHAKRA_TRY(file.write(key.seal(edit::to_bytes({hiding_.mark, std::move(hidden_.texts)}))));
    return files_.add(std::move(file));
  }

  void finish_sizes() {
    ObfuscatedJob::Sizes& sizes = job_.sizes.emplace();
    if (sizes_.hiding.width > 0) {
      sizes.width = sizes_.hiding.width;
      const edit::Cell& cell = edit::cell_of(sizes_.hiding.grid.widths, static_cast<double>(sizes_.hiding.width));
      sizes.width_low = cell.low, sizes.width_high = cell.high, sizes.width_shown = cell.shown;
    }
    sizes_.hidden.bytes_before += layers_.bytes();
    sizes.shown = static_cast<int64_t>(sizes_.hidden.shown.size());
    sizes.changed = sizes_.hidden.sizes, sizes.removed = sizes_.hidden.works;
    if (sizes_.hidden.bytes_before > 0) sizes.bytes = sizes_.hidden.bytes_after / sizes_.hidden.bytes_before;
    const auto warn = [&](const char* tag, std::string text) {
      job_.findings.push_back({tag, Severity::warning, -1, -1, std::move(text)});
    };
    if (sizes_.hiding.width == 0)
      warn("job.obfuscate.width",
           "the job does not show the width of its model; if you know the width, pass --width, since sizes that change "
           "by their own cells alone can show the width together");
    const double by = edit::scale(sizes_.hiding.grid, edit::Quantity::layers, sizes_.hiding.width);
    if (by > kFar || by * kFar < 1)
      warn(
          "job.obfuscate.far",
          fmt::format("the width {} is far from that of its cell, so sizes of layers become {:.2g} times as large, and "
                      "simulated times change likewise; --among JOBS makes cells of such jobs",
                      sizes_.hiding.width, by));
    if (sizes_.look.is_priced)
      warn("job.obfuscate.priced",
           "durations of this generated job were computed from its sizes, and durations stay: a reader can compute the "
           "sizes from the durations. Level 2 protects measured jobs");
    if (sizes_.hidden.kept_works > 0)
      warn("job.obfuscate.work",
           fmt::format(
               "{} computations have no duration, so their operations and bytes stay, in steps of half an octave",
               sizes_.hidden.kept_works));
  }

  void finish() {
    if (o_.level > 1) finish_sizes();
    if (o_.level > 2) {
      job_.layers = layers_.finish(job_.findings);
      job_.stages = stages_.finish(job_.findings);
      const double more = layers_.more() * stages_.more();
      if (more > kNear || more * kNear < 1)
        job_.findings.push_back(
            {"job.obfuscate.far", Severity::warning, -1, -1,
             fmt::format("communications of layers have {:.2f} times the bytes of the job, as in the middle of the "
                         "cells of layers and stages: where they are exposed, simulated times change likewise",
                         more)});
    }
    if (job_.experts && !job_.experts->hidden)
      job_.findings.push_back({"job.obfuscate.experts", Severity::warning, -1, -1,
                               job_.experts->experts == 0
                                   ? "the number of experts stays visible: the job does not state it"
                                   : "the number of experts stays visible: the fleet shows too few different numbers"});
    job_.level = o_.level;
    job_.hidden_nodes = hidden_.names;
    job_.words = hidden_.words;
    for (const auto& [name, count] : hidden_.dropped) job_.dropped.push_back({name, count});
    if (hidden_.edges > 0)
      job_.findings.push_back({"job.obfuscate.edges", Severity::warning, -1, -1,
                               fmt::format("{} references to absent nodes and other defects of the files were left "
                                           "out; 'chakra check' lists the defects",
                                           hidden_.edges)});
    if (hidden_.has_tiers)
      job_.findings.push_back({"job.obfuscate.tiers", Severity::note, -1, -1,
                               "names of storage tiers are hidden; a simulation with a file of a system must use the "
                               "hidden names ('chakra info')"});
  }

  const ObfuscateOptions& o_;
  ObfuscatedJob job_;
  edit::Hiding hiding_;
  edit::Hidden hidden_;
  edit::HiddenMap map_;
  SizeLevel sizes_;
  FewerLayers layers_;
  FewerStages stages_;
  FilesTogether<AtomicFile> files_;
  std::optional<trace::ClassJob> classes_;  ///< the job, if it is one by classes
  std::vector<std::string> before_;         ///< names in the folder before this run
  std::set<std::string> outputs_;           ///< names in the folder that this run writes
};

/// Link with default options, in a private folder, and hide the traces.
Result<ObfuscatedJob> obfuscate_recording(ObfuscateOptions o) {
  CHAKRA_ASSIGN(const job::Folder folder, job::Folder::make());
  linking::LinkJobOptions link;
  link.inputs = {o.path};
  link.output = link.of_folders() ? folder.path() : folder.path() + "/trace.0.et";
  CHAKRA_ASSIGN(linking::LinkedJob linked, linking::link_job(link));
  CHAKRA_TRY(linked.commit());
  const std::string recording = std::exchange(o.path, folder.path());
  auto obfuscated = Obfuscation(o).run();
  if (!obfuscated) {
    Error error = obfuscated.error();
    if (error.place.file.starts_with(folder.path())) error.place = {recording};
    return Failure(std::move(error));
  }
  ObfuscatedJob& job = *obfuscated;
  job.findings.push_back({"job.obfuscate.linked", Severity::note, -1, -1,
                          fmt::format("the recordings were linked first, with the default options of 'chakra link': {} "
                                      "rank{}",
                                      linked.ranks.size(), linked.ranks.size() == 1 ? "" : "s")});
  for (const Findings& findings : {linked.findings, linked.mismatches})
    job.findings.insert(job.findings.end(), findings.begin(), findings.end());
  return obfuscated;
}

}  // namespace

std::string names_file_of(const ObfuscateOptions& o) {
  if (!o.names.empty()) return o.names;
  return without_slash(o.reveal ? o.path : o.output) + ".names";
}

Result<ObfuscatedJob> obfuscate_job(const ObfuscateOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  if (o.reveal && o.level > 1)
    return fail(Code::usage, "cli.usage",
                "--reveal restores names alone: sizes do not come back, so --level has no effect");
  if (o.level == 1 && (!o.among.empty() || o.width > 0))
    return fail(Code::usage, "cli.usage", "--among and --width have no effect without --level 2 or 3");
  if (o.level < 3 && o.layers > 0) return fail(Code::usage, "cli.usage", "--layers has no effect without --level 3");
  const std::string folder = resolve_links(without_slash(o.output)) + "/";
  for (const std::string& secret : {o.key, names_file_of(o)})
    if (resolve_links(secret).starts_with(folder))
      return fail(Code::usage, "cli.usage",
                  fmt::format("{} would lie in the folder that is shared", quote(secret, 200)));
  const bool recorded = !o.reveal && linking::is_recording(o.path);
  std::vector<std::string> inputs{o.path};
  if (!recorded) {
    CHAKRA_ASSIGN(inputs, job::job_files(o.path));
  }
  inputs.push_back(o.key);
  if (o.reveal) inputs.push_back(names_file_of(o));
  CHAKRA_ASSIGN(const std::vector<std::string> fleet, fleet::files_of_fleet(o.among));
  inputs.insert(inputs.end(), fleet.begin(), fleet.end());
  CHAKRA_TRY(job::keep_apart(inputs, {o.reveal ? std::string() : names_file_of(o)}));
  return recorded ? obfuscate_recording(o) : Obfuscation(o).run();
}

}  // namespace chakra::share
