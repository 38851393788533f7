// Databases that hold the processes of a machine: which process is which rank, and who is in which communicator.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/recording/export_survey.h"
#include "chakra/recording/export_tools.h"
#include "chakra/recording/rank_files.h"

namespace chakra::recording {
namespace {

/// A process that is a rank, before its communicators have members.
struct SurveyedRank {
  RankInput input;
  std::map<std::string, SeenCommunicator> communicators;
};

using Processes = std::vector<std::pair<int64_t, const ExportSurvey::Process*>>;

std::string list_of(const Processes& processes) {
  constexpr size_t kNamed = 16;
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), kNamed); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", processes[i].first);
  return processes.size() > kNamed ? text + fmt::format(" and {} more", processes.size() - kNamed) : text;
}

/// Those that used a device, by the lowest device and the process id.
Processes ranks_among(const ExportSurvey& survey) {
  Processes found;
  for (const auto& [id, process] : survey.processes)
    if (process.device >= 0) found.emplace_back(id, &process);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second->device < b.second->device; });
  return found;
}

/// The places of the processes in their largest communicators. Empty unless these name a different rank for each.
std::vector<int64_t> recorded_places(const Processes& processes) {
  std::vector<int64_t> places;
  for (const auto& [id, process] : processes) {
    SeenCommunicator largest;
    for (const auto& [name, seen] : process->communicators)
      if (seen.size > largest.size) largest = seen;
    if (largest.size < static_cast<int64_t>(processes.size())) return {};
    places.push_back(largest.place);
  }
  if (std::set(places.begin(), places.end()).size() < places.size()) return {};
  return places;
}

class ProcessSplitter {
 public:
  ProcessSplitter(std::vector<RankInput>& inputs, std::optional<int64_t> process, Findings& findings)
      : inputs_(inputs), process_(process), findings_(findings) {}

  Result<void> run() {
    if (process_ && inputs_.size() != 1) return fail(Code::usage, "cli.usage", "--process applies to one recording");
    for (RankInput& input : inputs_) CHAKRA_TRY(add(input));
    if (process_ && !surveyed_)
      return fail(Code::usage, "cli.usage",
                  "--process applies to databases of processes (Nsight Systems, rocprofv3), not to this recording");
    std::stable_sort(ranks_.begin(), ranks_.end(),
                     [](const SurveyedRank& a, const SurveyedRank& b) { return a.input.rank < b.input.rank; });
    for (size_t i = 1; i < ranks_.size(); ++i)
      if (ranks_[i].input.rank == ranks_[i - 1].input.rank)
        return fail(
            Code::bad_input, "pytorch.pair.rank_twice",
            fmt::format("two processes are rank {}: {} of this file and {} of {}", ranks_[i].input.rank,
                        ranks_[i].input.process, ranks_[i - 1].input.process, quote(ranks_[i - 1].input.device, 200)),
            {ranks_[i].input.device});
    find_members();
    inputs_.clear();
    for (SurveyedRank& rank : ranks_) inputs_.push_back(std::move(rank.input));
    return {};
  }

 private:
  Result<void> add(RankInput& input) {
    std::optional<OpenExport> opened;
    if (!input.device.empty()) {
      CHAKRA_ASSIGN(opened, open_export(input.device));
    }
    if (!opened) {
      ranks_.push_back({std::move(input), {}});
      return {};
    }
    surveyed_ = true;
    CHAKRA_ASSIGN(const ExportSurvey survey, opened->tool->survey(opened->database));
    Processes processes = ranks_among(survey);
    if (process_) CHAKRA_TRY(choose(input, processes));
    if (processes.size() < 2) {
      SurveyedRank only{std::move(input), {}};
      if (!processes.empty()) {
        only.input.process = processes[0].first;
        only.communicators = processes[0].second->communicators;
      }
      ranks_.push_back(std::move(only));
      return {};
    }
    return add_each(input, processes);
  }

  Result<void> choose(const RankInput& input, Processes& processes) const {
    const auto found =
        std::find_if(processes.begin(), processes.end(), [&](const auto& one) { return one.first == *process_; });
    if (found == processes.end())
      return fail(Code::bad_input, "recording.processes",
                  processes.empty()
                      ? "the file does not name the processes of its records"
                      : fmt::format("process {} used no device; those that did: {}", *process_, list_of(processes)),
                  {input.device});
    processes = {*found};
    return {};
  }

  Result<void> add_each(const RankInput& input, const Processes& processes) {
    if (!input.host.empty())
      return fail(Code::bad_input, "recording.processes",
                  fmt::format("the file holds {} processes ({}), but a host trace is of one; choose one by --process",
                              processes.size(), list_of(processes)),
                  {input.device});
    const std::vector<int64_t> places = recorded_places(processes);
    if (places.empty() && inputs_.size() > 1)
      return fail(
          Code::bad_input, "pytorch.pair.rank",
          fmt::format("the ranks of the {} processes ({}) are unknown: the file does not record the creation of "
                      "a communicator of all of them; link this file alone, or record from the start of the "
                      "program",
                      processes.size(), list_of(processes)),
          {input.device});
    if (places.empty())
      findings_.push_back({"recording.rank_order", Severity::warning, -1, -1,
                           fmt::format("processes {} count as ranks 0 to {}, in the order of their devices and process "
                                       "ids: the file does not record the creation of a communicator of all of them",
                                       list_of(processes), processes.size() - 1)});
    for (size_t i = 0; i < processes.size(); ++i) {
      SurveyedRank rank{input, processes[i].second->communicators};
      rank.input.rank = places.empty() ? static_cast<int64_t>(i) : places[i];
      rank.input.rank_known = true;
      rank.input.process = processes[i].first;
      ranks_.push_back(std::move(rank));
    }
    return {};
  }

  /// Members of communicators by place. A communicator without a recorded creation has the ranks that use it.
  void find_members() {
    struct Members {
      int64_t size = -1;
      bool differs = false;
      std::map<int64_t, int64_t> by_place;
      std::vector<int64_t> users;  ///< ascending
    };
    std::map<std::string, Members> all;
    for (const SurveyedRank& rank : ranks_)
      for (const auto& [name, seen] : rank.communicators) {
        Members& members = all[name];
        members.users.push_back(rank.input.rank);
        if (seen.size < 0) continue;
        members.differs |= members.size >= 0 && members.size != seen.size;
        members.size = seen.size;
        members.differs |= !members.by_place.emplace(seen.place, rank.input.rank).second;
      }
    std::map<std::string, trace::ProcessGroup> groups;
    int64_t assumed = 0;
    for (auto& [name, members] : all) {
      trace::ProcessGroup& group = groups[name];
      group.name = name;
      group.backend = "nccl";
      if (members.differs) continue;
      group.size = std::max<int64_t>(members.size, 0);
      if (members.size == static_cast<int64_t>(members.by_place.size()))
        for (const auto& [place, rank] : members.by_place) group.ranks.push_back(rank);
      else if (members.size < 0 && members.users.size() > 1) {
        group.ranks = members.users;
        group.size = static_cast<int64_t>(members.users.size());
        ++assumed;
      }
    }
    if (assumed > 0)
      findings_.push_back({"recording.members", Severity::warning, -1, -1,
                           fmt::format("the creation of {} communicators is not recorded: their members are the ranks "
                                       "that use them, in ascending order",
                                       show_count(assumed))});
    for (SurveyedRank& rank : ranks_)
      for (const auto& [name, seen] : rank.communicators) rank.input.groups.push_back(groups[name]);
  }

  std::vector<RankInput>& inputs_;
  std::optional<int64_t> process_;
  Findings& findings_;
  bool surveyed_ = false;
  std::vector<SurveyedRank> ranks_;
};

}  // namespace

// `recording.processes` (1): --process names no process with device activity, or a host trace stands beside several
// `recording.rank_order` (warning): the ranks of the processes in a file are assumed from their order
// `recording.members` (warning): members of communicators are assumed from their use
Result<void> split_processes(std::vector<RankInput>& ranks, std::optional<int64_t> process, Findings& findings) {
  return ProcessSplitter(ranks, process, findings).run();
}

}  // namespace chakra::recording
