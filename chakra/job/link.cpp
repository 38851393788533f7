#include "chakra/job/link.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "chakra/io/io.h"
#include "chakra/job/cores.h"
#include "chakra/job/dumps.h"
#include "chakra/job/no_effect.h"
#include "chakra/job/replays.h"
#include "chakra/job/workloads.h"
#include "chakra/view/view.h"

namespace chakra::job {
namespace {

/// The outputs stay open until all ranks are linked.
void allow_many_files() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// Which part of the job a rank recorded.
match::RankWindow window_of(const trace::Trace& whole, const trace::Trace& communication) {
  match::RankWindow window;
  window.steps.assign(communication.size(), -1);
  window.begin_ns = INT64_MAX;
  for (const trace::NodeId n : whole.nodes()) {
    if (!whole.has_start(n)) continue;
    window.begin_ns = std::min(window.begin_ns, whole.start_ps[n] / kPsPerNs);
    window.end_ns = std::max(window.end_ns, add_saturated(whole.start_ps[n], whole.dur_ps[n]) / kPsPerNs);
  }
  if (window.begin_ns == INT64_MAX) {
    window.begin_ns = 0;
    return window;
  }
  const analyze::Steps steps = analyze::find_steps(whole);
  std::vector<int64_t> numbers;
  for (const std::string& name : steps.names) numbers.push_back(trace::step_number(name).value_or(-1));
  std::unordered_map<uint64_t, int64_t> step_of;
  for (const trace::NodeId n : whole.nodes())
    if (whole.comm(n) && steps.of[n] >= 0) step_of.emplace(whole.id[n], numbers[static_cast<size_t>(steps.of[n])]);
  for (const trace::NodeId n : communication.nodes())
    if (const auto found = step_of.find(communication.id[n]); found != step_of.end()) window.steps[n] = found->second;
  return window;
}

class LinkJob {
 public:
  explicit LinkJob(const LinkJobOptions& options) : o_(options) {}

  Result<LinkedJob> run() {
    CHAKRA_TRY(find_ranks());
    if (o_.of_folders()) CHAKRA_TRY(make_directories(o_.output));
    allow_many_files();
    const size_t ranks = inputs_.size();
    job_.ranks.resize(ranks);
    traces_.resize(ranks);
    files_.resize(ranks);
    CHAKRA_TRY(for_each_rank([&](size_t i) { return link_rank(i); }));
    std::vector<int64_t> linked;
    for (const LinkedRank& rank : job_.ranks) linked.push_back(rank.rank);
    find_unused_dumps(dumps_, linked, job_.findings);
    if (ranks > 1) {
      trace::TraceSet traces = compare_ranks();
      CHAKRA_TRY(for_each_rank([&](size_t i) { return write(traces.ranks[i], i); }));
      job_.replay = replay_linked(std::move(traces), job_.findings);
    }
    for (const LinkedRank& rank : job_.ranks)
      if (rank.replayed) job_.replays.push_back({fmt::format("rank {}", rank.rank), rank.replay.error});
    for (Replayed& all : replayed_job(job_.replay, job_.findings)) job_.replays.push_back(std::move(all));
    for (Finding& finding : max_error_without_effect(o_.max_error, job_.replays))
      job_.findings.push_back(std::move(finding));
    for (std::optional<AtomicFile>& file : files_) job_.files.push_back(std::move(*file));
    return std::move(job_);
  }

 private:
  Result<void> find_ranks() {
    if (o_.inputs.empty()) return fail(Code::usage, "cli.usage", "which recordings?");
    if (is_directory(o_.inputs.front()) != is_directory(o_.inputs.back()))
      return fail(Code::usage, "cli.usage", "give the files of one rank or folders of a job, not both");
    if (o_.cycle && !o_.of_folders()) return fail(Code::usage, "cli.usage", "--cycle applies to folders only");
    if (o_.of_folders()) {
      if (o_.explain) return fail(Code::usage, "cli.usage", "--explain applies to one rank");
      if (o_.link.rank)
        return fail(Code::usage, "cli.usage", "--rank applies to one rank; in a folder, the files determine the ranks");
      CHAKRA_ASSIGN(recording::Pairing pairing, recording::pair_folders(o_.inputs, o_.cycle));
      inputs_ = std::move(pairing.ranks);
      job_.findings = std::move(pairing.findings);
      dumps_ = read_dumps_beside(pairing.dumps, job_.findings);
      return {};
    }
    std::vector<std::string> files, dumps;
    for (const std::string& file : o_.inputs)
      (o_.inputs.size() > 1 && is_dump_file(file) ? dumps : files).push_back(file);
    if (files.empty()) files = {dumps.front()};  // whose refusal says what it is
    for (const std::string& file : files) CHAKRA_TRY(refuse_workload(file, "a recording"));
    if (files.size() > 2) return fail(Code::usage, "cli.usage", "a rank has at most two recordings: host and device");
    CHAKRA_ASSIGN(recording::RankInput input,
                  files.size() == 1 ? recording::pair_file(files[0])
                                    : recording::pair_files(files[0], files[1], o_.link.rank.has_value()));
    inputs_.push_back(std::move(input));
    dumps_ = read_dumps_beside(dumps, job_.findings);
    return {};
  }

  /// In parallel; the error of the lowest one that has one.
  template <class Work>
  Result<void> for_each_rank(const Work& work) const {
    tbb::task_arena arena(cores());
    std::vector<std::optional<Error>> errors(inputs_.size());
    arena.execute([&] {
      tbb::parallel_for(size_t{0}, inputs_.size(), [&](size_t i) {
        if (Result<void> done = work(i); !done) errors[i] = done.error();
      });
    });
    for (const auto& error : errors)
      if (error) return Failure(*error);
    return {};
  }

  Result<void> link_rank(size_t i) {
    LinkedRank& rank = job_.ranks[i];
    rank.input = inputs_[i];
    CHAKRA_ASSIGN(link::Linked linked, link::link_rank(inputs_[i], o_.link));
    rank.rank = linked.trace.rank;
    rank.nodes = linked.trace.size();
    rank.report = std::move(linked.report);
    if (const auto dump = dumps_.find(rank.rank); dump != dumps_.end())
      fill_from_dump(linked.trace, dump->second, rank.report);
    for (Finding& finding : link_options_without_effect(o_.link, rank.report)) {
      finding.rank = rank.rank;
      rank.report.findings.push_back(std::move(finding));
    }
    if (const auto& open = rank.report.open_groups.names; inputs_.size() == 1 && !open.empty())
      rank.report.findings.push_back({"pytorch.comm.group_unknown", Severity::warning, rank.rank, -1,
                                      fmt::format("the groups of the communication on {} threads are unknown; link a "
                                                  "folder with the recordings of all ranks to find the groups",
                                                  open.size())});
    if (o_.explain) {
      const trace::Ids& ids = linked.trace.id;
      const size_t found = ids.find(static_cast<uint64_t>(*o_.explain));
      if (found == ids.size())
        return fail(Code::usage, "cli.usage",
                    fmt::format("node {} is not in the trace; its nodes are 1 to {}", *o_.explain, ids.size()));
      rank.explanation = view::explain(linked.trace, trace::NodeId(found));
    }
    if (o_.of_folders()) {
      traces_[i].communication = analyze::communication_of(linked.trace);
      traces_[i].window = window_of(linked.trace, traces_[i].communication);
      traces_[i].window.counted = rank.report.counted_groups;
      traces_[i].window.open = rank.report.open_groups.names;
      traces_[i].window.choices = rank.report.open_groups.choices;
      traces_[i].window.peers = rank.report.open_peers;
    }
    if (auto replay = analyze::self_replay(linked.trace)) {
      rank.replay = std::move(*replay);
      rank.replayed = true;
      Findings& findings = rank.report.findings;
      findings.insert(findings.end(), rank.replay.findings.begin(), rank.replay.findings.end());
    } else if (replay.error().tag != "sim.replay.no_times") {
      return Failure(replay.error());
    }
    rank.output = o_.of_folders() ? (std::filesystem::path(o_.output) / fmt::format("trace.{}.et", rank.rank)).string()
                                  : o_.output;
    if (inputs_.size() == 1) return write(linked.trace, i);
    traces_[i].whole = std::move(linked.trace);  // what the ranks say together comes into it
    return {};
  }

  Result<void> write(const trace::Trace& trace, size_t i) {
    CHAKRA_ASSIGN(AtomicFile created, AtomicFile::create(job_.ranks[i].output));
    CHAKRA_TRY(io::write_et(trace, created));
    files_[i] = std::move(created);
    return {};
  }

  /// What the ranks say together; their traces, each with its start.
  trace::TraceSet compare_ranks() {
    trace::TraceSet communication, traces;
    std::vector<match::RankWindow> windows;
    for (Traces& of_rank : traces_) {
      windows.push_back(std::move(of_rank.window));
      communication.ranks.push_back(std::move(of_rank.communication));
      traces.ranks.push_back(std::move(of_rank.whole));
    }
    match::Matching matching = settle(communication, windows);
    for (const trace::RankIndex r : traces.indices()) match::copy_windows(communication.ranks[r], traces.ranks[r]);
    job_.mismatches = std::move(matching.findings);
    put_starts(traces, job_.times, job_.findings);
    return traces;
  }

  /// Who communicates with whom: groups, windows, clocks, senders. Barriers whose group only times tell need clocks.
  match::Matching settle(trace::TraceSet& communication, const std::vector<match::RankWindow>& windows) {
    match::choose_peers(communication, windows);
    trace::TraceSet settled = communication;
    Findings findings;
    // Without the barriers first: groups of which some barriers are open would seem to have other collectives.
    const bool open = put_barriers_aside(settled);
    match::Matching matching = match_once(settled, windows, findings);
    if (open) {
      name_barriers(communication, settled, windows);
      settled = communication;
      findings.clear();
      matching = match_once(settled, windows, findings);
    }
    if (analyze::find_sources(settled, matching, job_.times, findings) > 0) {
      matching = match::match(settled);
      job_.times = analyze::job_times(settled, matching);
    }
    job_.findings.insert(job_.findings.end(), findings.begin(), findings.end());
    communication = std::move(settled);
    return matching;
  }

  /// Names the groups of open barriers by the sequences of their groups, then by times; times may decide where several
  /// ways are left, and fewer ways are left then. The other collectives of `settled` have the groups chosen for them.
  void name_barriers(trace::TraceSet& communication, const trace::TraceSet& settled,
                     const std::vector<match::RankWindow>& windows) const {
    trace::TraceSet named = settled;
    const auto is_barrier = [](const trace::Comm& comm) { return comm.type == trace::CommType::barrier; };
    for (const trace::RankIndex r : named.indices())
      for (size_t row = 0; row < named.ranks[r].comms.size(); ++row)
        if (is_barrier(named.ranks[r].comms[row]))
          named.ranks[r].comms.edit(row).group = communication.ranks[r].comms[row].group;
    for (bool again = true; again;) {
      match::choose_barriers(named, windows, link::kOpenBarrier);
      const auto barriers = analyze::find_barrier_groups(named, job_.times, link::kOpenBarrier);
      for (const analyze::BarrierGroup& barrier : barriers) {
        trace::Trace& t = named.ranks[barrier.rank];
        t.comms.edit(t.comm_row[barrier.node]).group = t.strings.intern(barrier.group);
      }
      again = !barriers.empty();
    }
    for (const trace::RankIndex r : named.indices()) {
      trace::Trace& t = communication.ranks[r];
      for (size_t row = 0; row < t.comms.size(); ++row)
        if (is_barrier(t.comms[row]))
          t.comms.edit(row).group = t.strings.intern(named.ranks[r].strings[named.ranks[r].comms[row].group]);
    }
  }

  /// Whether there are open ones.
  static bool put_barriers_aside(trace::TraceSet& job) {
    const auto is_open = [](const trace::Trace& t) { return t.strings.find(link::kOpenBarrier) != 0; };
    if (std::none_of(job.ranks.begin(), job.ranks.end(), is_open)) return false;
    for (trace::Trace& t : job.ranks) {
      const StringId aside = t.strings.intern(link::kOpenBarrier);
      for (trace::Comm& comm : t.comms.edit())
        if (comm.type == trace::CommType::barrier) comm.group = aside;
    }
    return true;
  }

  match::Matching match_once(trace::TraceSet& job, std::vector<match::RankWindow> windows, Findings& findings) {
    for (Finding& finding : match::choose_groups(job, windows)) findings.push_back(std::move(finding));
    for (match::RankWindow& window : windows) window.open.emplace_back(link::kOpenBarrier);
    for (Finding& finding : match::align_windows(job, windows)) findings.push_back(std::move(finding));
    match::Matching matching = match::match(job);
    job_.times = analyze::job_times(job, matching);
    return matching;
  }

  struct Traces {
    trace::Trace whole, communication;
    match::RankWindow window;
  };

  const LinkJobOptions& o_;
  std::vector<recording::RankInput> inputs_;
  std::map<int64_t, flight::Dump> dumps_;         ///< by rank
  std::vector<Traces> traces_;                    ///< by rank, of several
  std::vector<std::optional<AtomicFile>> files_;  ///< by rank
  LinkedJob job_;
};

}  // namespace

Result<void> LinkedJob::commit() {
  for (AtomicFile& file : files) CHAKRA_TRY(file.commit());
  return {};
}

Result<LinkedJob> link_job(const LinkJobOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  return LinkJob(o).run();
}

}  // namespace chakra::job
