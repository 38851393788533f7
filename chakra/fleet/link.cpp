// Linking as the tasks of a fleet.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "chakra/base/memory.h"
#include "chakra/fleet/facts.h"
#include "chakra/fleet/jobs.h"
#include "chakra/fleet/tasks.h"
#include "chakra/fleet/work.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/linking/linking.h"
#include "chakra/recording/folders.h"

namespace chakra::fleet {

using options::Options;
using options::whole_number;

// `fleet.none` (1): no recording below the paths
// `fleet.unchecked` (warning): a job whose traces do not fit into memory together has no self-check

namespace {

namespace fs = std::filesystem;

/// A job that is one task links in kRank; a larger one takes all phases.
enum Phase : uint8_t { kRank, kCompare, kComplete, kCheck };

/// Options that apply to all jobs.
constexpr std::array<std::string_view, 5> kLinkOptions{"--steps", "--fit-steps", "--iteration", "--cycle", "--salvage"};

// ---- the work list -----------------------------------------------------------------------------------------

bool holds_recording(const std::string& folder) {
  const auto names = list_folder(folder);
  return names && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
           const std::string path = (fs::path(folder) / name).string();
           return !name.starts_with('.') && is_file(path) && linking::is_recording(path);
         });
}

/// Whether each recording directly in a folder is a job. A host trace and a rank belong to other files of the folder.
bool are_jobs(const std::vector<std::string>& entries) {
  return std::none_of(entries.begin(), entries.end(), [](const std::string& entry) {
    if (!is_file(entry)) return false;
    const auto input = recording::pair_file(entry);
    return input && (!input->host.empty() || input->rank_known);
  });
}

/// Add the job that a path names: a file, or a folder that `chakra link` takes as one job. Otherwise add the folders
/// below with recordings, and the files if each is a job.
Result<void> add_jobs(const std::string& path, WorkList& work, std::optional<int64_t> cycle) {
  const auto add = [&](const std::string& job) { work.jobs.emplace_back().path = absolute_path(job); };
  if (!is_directory(path)) {
    CHAKRA_TRY(ByteSource::open(path));
    if (linking::is_recording(path)) add(path);
    else work.left_out.push_back(path);
    return {};
  }
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(path));
  std::vector<std::string> below;
  for (const std::string& name : names)
    if (!name.starts_with('.')) below.push_back((fs::path(path) / name).string());
  if (below.size() == 1 && is_directory(below[0])) return add_jobs(below[0], work, cycle);
  // Ranks and kinds of traces can also have folders.
  const auto pairing = recording::pair_folders({path}, cycle);
  const bool unconnected = !pairing && pairing.error().tag == "pytorch.pair.unconnected";
  if (pairing || (holds_recording(path) && !(unconnected && are_jobs(below)))) {
    add(path);
    return {};
  }
  for (const std::string& entry : below)
    if ((is_directory(entry) || unconnected) && linking::is_recording(entry)) add(entry);
    else work.left_out.push_back(entry);
  return {};
}

/// The bytes of a file in memory, by a rule of thumb: JSON packs to a tenth.
uint64_t unpacked_size(const std::string& file) {
  constexpr uint64_t kPacked = 10;
  const bool packed = file.ends_with(".gz") || file.ends_with(".zst");
  return multiply_bytes(file_size(file), packed ? kPacked : 1);
}

/// Find the files and ranks of a job. A job that cannot be paired remains one task, which gives the error.
Result<void> describe(FleetJob& job, const FleetLinkOptions& o, const std::string& options) {
  std::vector<std::string> files{job.path};
  if (is_directory(job.path)) {
    CHAKRA_ASSIGN(const recording::FoundFiles found, recording::files_below({job.path}));
    files.clear();
    for (const recording::FoundFile& file : found.files) files.push_back(file.path);
    if (auto pairing = recording::pair_folders({job.path}, o.link.cycle)) {
      Findings found_again;  // by link_job()
      if (!recording::split_processes(pairing->ranks, std::nullopt, found_again)) pairing->ranks.clear();
      job.rank_count = static_cast<int64_t>(pairing->ranks.size());
      const bool alone = std::all_of(pairing->ranks.begin(), pairing->ranks.end(),
                                     [](const auto& rank) { return rank.process < 0 && rank.groups.empty(); });
      if (job.rank_count > o.split && pairing->dumps.empty() && alone) job.ranks = std::move(pairing->ranks);
    }
  }
  for (const std::string& file : files) job.bytes = add_bytes(job.bytes, unpacked_size(file));
  job.key = key_of_files(options, files);
  return {};
}

// ---- tasks ---------------------------------------------------------------------------------------------------

class LinkTasks {
 public:
  explicit LinkTasks(const FleetLinkOptions& o) : o_(o), paths_(o.fleet.output) {}

  Result<TaskDone> run(const FleetJob& job, const FleetTask& task) const {
    if (job.ranks.empty()) return link_whole(job);
    if (task.phase == kRank) return link_one(job, task);
    if (task.phase == kCompare) return compare(job);
    if (task.phase == kComplete) return complete(job, task);
    return check(job);
  }

 private:
  const FleetLinkOptions& o_;
  FleetPaths paths_;

  std::string between(const FleetJob& job, std::string_view part, size_t i) const {
    return (fs::path(paths_.between(job)) / fmt::format("{}.{}", part, i)).string();
  }
  std::string whole(const FleetJob& job, size_t i) const { return between(job, "whole", i) + ".et"; }
  std::string new_traces(const FleetJob& job) const { return (fs::path(paths_.between(job)) / "traces").string(); }

  Result<TaskDone> link_whole(const FleetJob& job) const {
    linking::LinkJobOptions call = o_.link;
    call.inputs = {job.path};
    call.output = new_traces(job);
    if (!is_directory(job.path)) {
      CHAKRA_ASSIGN(recording::RankInput input, recording::pair_file(job.path));
      std::vector<recording::RankInput> ranks{std::move(input)};
      Findings found_again;  // by link_job()
      CHAKRA_TRY(recording::split_processes(ranks, std::nullopt, found_again));
      if (ranks.size() == 1) call.output = linking::trace_in(call.output, ranks[0].rank);
    }
    CHAKRA_ASSIGN(linking::LinkedJob linked, linking::link_job(call));
    CHAKRA_TRY(linked.commit());
    return publish(job, linked);
  }

  Result<TaskDone> link_one(const FleetJob& job, const FleetTask& task) const {
    const size_t i = task.number;
    CHAKRA_ASSIGN(link::Linked linked, link::link_rank(job.ranks[i], o_.link.link));
    linking::note_options(linked, o_.link.link);
    RankResult result{linking::linked_rank(job.ranks[i], linked), {}};
    CHAKRA_TRY(linking::self_check(result.rank, linked.trace));
    result.facts = linking::facts_of(linked.trace, result.rank.report);
    CHAKRA_TRY(io::write_et(linked.trace, whole(job, i)));
    CHAKRA_TRY(write_result(result, job.key, between(job, "rank", i)));
    return TaskDone();
  }

  Result<TaskDone> compare(const FleetJob& job) const {
    std::vector<recorded::RankFacts> ranks(job.ranks.size());
    CHAKRA_TRY(each_in_parallel(ranks.size(), [&](size_t i) -> Result<void> {
      CHAKRA_ASSIGN(RankResult result, read_rank_result(job.key, between(job, "rank", i)));
      ranks[i] = std::move(result.facts);
      return {};
    }));
    JobResult result;
    recorded::ComparedRanks all = recorded::compare_ranks(std::move(ranks), result.findings);
    CHAKRA_TRY(each_in_parallel(job.ranks.size(), [&](size_t i) {
      return write_result(all.communication.ranks[i], job.key, between(job, "compared", i));
    }));
    result.times = std::move(all.times);
    result.mismatches = std::move(all.mismatches);
    CHAKRA_TRY(write_result(result, job.key, between(job, "job", 0)));
    return TaskDone();
  }

  Result<TaskDone> complete(const FleetJob& job, const FleetTask& task) const {
    CHAKRA_ASSIGN(trace::Trace trace, io::read_et(whole(job, task.number), {.texts = true}));
    CHAKRA_ASSIGN(const trace::Trace communication, read_communication(job.key, between(job, "compared", task.number)));
    recorded::complete(communication, trace);
    CHAKRA_TRY(io::write_et(trace, linking::trace_in(new_traces(job), trace.rank)));
    return TaskDone();
  }

  Result<TaskDone> check(const FleetJob& job) const {
    linking::LinkedJob linked;
    CHAKRA_ASSIGN(recording::Pairing pairing, recording::pair_folders({job.path}, o_.link.cycle));
    linked.findings = std::move(pairing.findings);
    CHAKRA_ASSIGN(JobResult result, read_job_result(job.key, between(job, "job", 0)));
    linked.findings.insert(linked.findings.end(), result.findings.begin(), result.findings.end());
    linked.times = std::move(result.times);
    linked.mismatches = std::move(result.mismatches);
    linked.ranks.resize(job.ranks.size());
    // After a kill between the publication and the journal, the traces have their places already.
    const std::string folder = is_directory(new_traces(job)) ? new_traces(job) : paths_.traces(job);
    uint64_t bytes = 0;
    for (size_t i = 0; i < job.ranks.size(); ++i) {
      CHAKRA_ASSIGN(RankResult rank, read_rank_result(job.key, between(job, "rank", i)));
      linked.ranks[i] = std::move(rank.rank);
      bytes += file_size(linking::trace_in(folder, linked.ranks[i].rank));
    }
    trace::TraceSet traces;
    if (fits(bytes, linked.findings)) {
      traces.ranks.resize(job.ranks.size());
      CHAKRA_TRY(each_in_parallel(job.ranks.size(), [&](size_t i) -> Result<void> {
        CHAKRA_ASSIGN(traces.ranks[i], io::read_et(linking::trace_in(folder, linked.ranks[i].rank)));
        return {};
      }));
    }
    linking::self_check(linked, std::move(traces), std::nullopt);
    return publish(job, linked);
  }

  /// Whether the traces of a job fit into memory for the self-check.
  static bool fits(uint64_t bytes, Findings& findings) {
    constexpr uint64_t kInMemory = 3;  ///< times the bytes of the file
    const uint64_t needed = multiply_bytes(bytes, kInMemory);
    const uint64_t most = available_memory();
    if (needed <= most) return true;
    findings.push_back(
        {"fleet.unchecked", Severity::warning, -1, -1,
         fmt::format("no self-check of the whole job: the traces need about {} of memory, and {} are free",
                     show_bytes(static_cast<double>(needed)), show_bytes(static_cast<double>(most)))});
    return false;
  }

  /// Give the traces and the answer their places.
  Result<TaskDone> publish(const FleetJob& job, linking::LinkedJob& linked) const {
    const std::string made = new_traces(job), place = paths_.traces(job);
    for (linking::LinkedRank& rank : linked.ranks) rank.output = linking::trace_in(place, rank.rank);
    job::Outputs answer;
    CHAKRA_TRY(job::add_answer(answer, paths_.answer(job), answer_of(linked)));
    CHAKRA_TRY(answer.commit());
    CHAKRA_TRY(make_directories(fs::path(place).parent_path().string()));
    std::error_code error;
    if (is_directory(made)) {
      fs::remove_all(place, error);
      fs::rename(made, place, error);
      if (error) return fail(Code::io, "base.file.write", error.message(), {place});
    }
    return TaskDone{values_of(linked), paths_.between(job)};
  }

  static std::map<std::string, std::string> values_of(const linking::LinkedJob& linked) {
    std::map<std::string, std::string> values{{"ranks", fmt::format("{}", linked.ranks.size())}};
    int64_t nodes = 0, warnings = warnings_in(linked.findings) + warnings_in(linked.mismatches);
    for (const linking::LinkedRank& rank : linked.ranks) {
      nodes += rank.nodes;
      warnings += warnings_in(rank.report.findings);
    }
    values["nodes"] = fmt::format("{}", nodes);
    values["warnings"] = fmt::format("{}", warnings);
    if (linked.replay) {
      const recorded::Compared& all = linked.replay->job();
      values["measured_ps"] = fmt::format("{}", all.measured_ps);
      if (all.has(recorded::TransferKind::recorded))
        values["self_check_error"] = fmt::format("{}", all.error(recorded::TransferKind::recorded));
    } else if (linked.ranks.size() == 1 && linked.ranks[0].replayed) {
      values["measured_ps"] = fmt::format("{}", linked.ranks[0].replay.measured_ps);
      values["self_check_error"] = fmt::format("{}", linked.ranks[0].replay.error);
    }
    return values;
  }
};

std::string text_of_link(FleetLinkOptions o) {
  return fmt::format("link\n{}\n{}", o.split, job::text_of_all(job::named_rows(rows_of(o.link), kLinkOptions)));
}

}  // namespace

Options rows_of(FleetLinkOptions& o) {
  Options rows = fleet_rows(o.fleet, "Folders with the recordings of a job, and folders of such folders");
  options::add(rows, job::named_rows(rows_of(o.link), kLinkOptions));
  rows.push_back({"--split", &o.split, "Link the ranks of jobs with more ranks than this as tasks", "N",
                  whole_number(1, job::kMostRanks),
                  "Jobs with dumps of a flight recorder and profiles of XLA are one task."});
  return rows;
}

std::vector<FleetTask> link_tasks(const FleetJob& job, size_t index) {
  std::vector<FleetTask> tasks;
  const auto add = [&](Phase phase, size_t number, uint64_t memory) {
    tasks.push_back({index, phase, number, fmt::format("{}/{}/{}", job.key, static_cast<int>(phase), number), memory});
  };
  if (job.ranks.empty()) {
    add(kRank, 0, job.bytes);
    return tasks;
  }
  const uint64_t each = job.bytes / job.ranks.size();
  for (size_t i = 0; i < job.ranks.size(); ++i) add(kRank, i, each);
  add(kCompare, 0, job.bytes / 4);
  for (size_t i = 0; i < job.ranks.size(); ++i) add(kComplete, i, each);
  add(kCheck, 0, job.bytes);
  return tasks;
}

Result<WorkList> find_link_work(const FleetLinkOptions& o) {
  WorkList work{.verb = "link", .key = {}, .jobs = {}, .left_out = {}};
  for (const std::string& path : o.fleet.paths) CHAKRA_TRY(add_jobs(path, work, o.link.cycle));
  name_jobs(work);
  if (work.jobs.empty())
    return fail(Code::bad_input, "fleet.none", "no recording in these folders, nor in the folders directly below", {});
  const std::string options = text_of_link(o);
  CHAKRA_TRY(each_in_parallel(work.jobs.size(), [&](size_t j) { return describe(work.jobs[j], o, options); }));
  return work;
}

Result<FleetReport> fleet_link(const FleetLinkOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  const LinkTasks tasks(o);
  return run_fleet({"link", o.fleet, text_of_link(o), link_tasks, [&] { return find_link_work(o); },
                    [&](const FleetJob& job, const FleetTask& task) { return tasks.run(job, task); }});
}

}  // namespace chakra::fleet
