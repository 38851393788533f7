#include "chakra/linking/link.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "chakra/base/progress.h"
#include "chakra/filetype/filetype.h"
#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/linking/parts.h"
#include "chakra/recording/folders.h"
#include "chakra/view/view.h"

namespace chakra::linking {
namespace {

/// The outputs stay open until all ranks are linked.
void allow_many_files() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// Which recording of the folder a file belongs to: chakra_et.record() writes the second one into "part1", and so on.
int64_t cycle_of(const recording::FoundFile& file) {
  const std::string_view below = file.below;
  const size_t end = below.find('/');
  int64_t number = 0;
  const bool named = end != std::string_view::npos && below.starts_with("part");
  return named && parse_decimal(below.substr(4, end - 4), number) && number > 0 ? number : 0;
}

/// The files of the chosen recording of a folder, and those that were given by themselves.
// `xla.profile.cycles` (error): a folder has several recordings, and none is chosen.
// `xla.profile.cycle` (error): a folder does not have the chosen recording.
Result<std::vector<recording::FoundFile>> files_of_cycle(std::vector<recording::FoundFile> files,
                                                         std::optional<int64_t> cycle) {
  const auto before = [](const auto& a, const auto& b) { return cycle_of(a) < cycle_of(b); };
  const recording::FoundFile latest = *std::max_element(files.begin(), files.end(), before);
  const int64_t last = cycle_of(latest);
  if (!cycle && last > 0)
    return fail(Code::bad_input, "xla.profile.cycles",
                fmt::format("the folder has a recording in \"part{}\"; --cycle N links one recording, from 0", last),
                {latest.path});
  std::erase_if(files, [&](const recording::FoundFile& file) {
    return !file.below.empty() && cycle_of(file) != cycle.value_or(0);
  });
  if (files.empty())
    return fail(Code::bad_input, "xla.profile.cycle",
                fmt::format("the folder has no recording {}; the last recording is {}", *cycle, last));
  return files;
}

/// All files of a recording of XLA, if the first file of a known recording is XLA's; else no file.
Result<std::vector<std::string>> files_of_xla(const std::vector<std::string>& inputs, std::optional<int64_t> cycle) {
  std::vector<std::string> folders;
  std::vector<recording::FoundFile> files;
  for (const std::string& input : inputs) {
    if (is_directory(input)) folders.push_back(input);
    else files.push_back({input, ""});
  }
  if (!folders.empty()) {
    CHAKRA_ASSIGN(recording::FoundFiles found, recording::files_below(folders));
    files.insert(files.end(), found.files.begin(), found.files.end());
  }
  bool ours = false;
  for (const recording::FoundFile& file : files) {
    CHAKRA_ASSIGN(const filetype::Row* const row, filetype::recognise(file.path));
    if (row && row->group == filetype::Group::recording) break;
    CHAKRA_ASSIGN(ours, xla::is_ours(file.path));
    if (ours) break;
  }
  std::vector<std::string> paths;
  if (!ours) return paths;
  if (cycle && folders.empty()) return fail(Code::usage, "cli.usage", "--cycle applies to folders only");
  if (!folders.empty()) {
    CHAKRA_ASSIGN(files, files_of_cycle(std::move(files), cycle));
  }
  for (const recording::FoundFile& file : files) paths.push_back(file.path);
  return paths;
}

/// A device of XLA as a linked rank.
Result<link::Linked> linked_device(xla::LinkedDevice device) {
  link::Linked linked;
  linked.trace = std::move(device.trace);
  const trace::Trace& t = linked.trace;
  link::LinkingReport& report = linked.report;
  for (const uint8_t kind : t.deps.kind) ++report.edges[static_cast<size_t>(trace::kind_of(kind))];
  for (const trace::NodeId n : t.nodes()) {
    report.work.operations = add_bytes(report.work.operations, t.num_ops.empty() ? 0 : t.num_ops[n]);
    report.work.bytes = add_bytes(report.work.bytes, t.tensor_bytes.empty() ? 0 : t.tensor_bytes[n]);
    if (const trace::Comm* const comm = t.comm(n)) {
      ++report.comm_nodes;
      if (t.type[n] != trace::NodeType::recv) report.comm_bytes = add_bytes(report.comm_bytes, comm->bytes);
    }
  }
  return linked;
}

// `link.output.rank` (warning): the name of the output has another rank than the trace, so no command reads the trace
class LinkJob {
 public:
  explicit LinkJob(const LinkJobOptions& options) : o_(options) {}

  Result<LinkedJob> run() {
    CHAKRA_TRY(find_ranks());
    allow_many_files();
    const size_t ranks = inputs_.size();
    job_.ranks.resize(ranks);
    traces_.ranks.resize(ranks);
    facts_.resize(ranks);
    files_.resize(ranks);
    {
      const ProgressPart part(0, ranks > 1 ? 0.7 : 0.9);
      CHAKRA_TRY(each_in_parallel(ranks, [&](size_t i) { return link_rank(i, o_.link); }));
      if (!o_.link.iteration) CHAKRA_TRY(link_same_iteration());
    }
    std::vector<int64_t> linked;
    std::vector<std::string> outputs;
    for (const LinkedRank& rank : job_.ranks) linked.push_back(rank.rank), outputs.push_back(rank.output);
    if (into_folder()) CHAKRA_TRY(job::keep_other_ranks_out(o_.output, outputs));
    recorded::find_unused_dumps(dumps_, linked, job_.findings);
    if (ranks > 1) {
      recorded::ComparedRanks compared = recorded::compare_ranks(std::move(facts_), job_.findings);
      job_.times = std::move(compared.times);
      job_.mismatches = std::move(compared.mismatches);
      all_in_parallel(ranks, [&](size_t i) { recorded::complete(compared.communication.ranks[i], traces_.ranks[i]); });
      // The run of the whole job, beside writing.
      CHAKRA_TRY(each_in_parallel(ranks + 1, [&](size_t i) -> Result<void> {
        if (i > 0) return write(traces_.ranks[i - 1], i - 1);
        self_check(job_, trace::TraceSet(traces_), o_.max_error);
        return {};
      }));
    } else {
      self_check(job_, {}, o_.max_error);
    }
    for (std::optional<AtomicFile>& file : files_) job_.files.push_back(std::move(*file));
    return std::move(job_);
  }

 private:
  bool into_folder() const { return xla_ || o_.of_folders() || inputs_.size() > 1; }

  Result<void> find_ranks() {
    if (o_.inputs.empty()) return fail(Code::usage, "cli.usage", "which recordings?");
    CHAKRA_ASSIGN(const std::vector<std::string> files, files_of_xla(o_.inputs, o_.cycle));
    return files.empty() ? find_pytorch() : find_xla(files);
  }

  Result<void> find_xla(const std::vector<std::string>& files) {
    for (const auto& [given, option] : {std::pair(o_.process.has_value(), "--process"),
                                        {o_.explain.has_value(), "--explain"},
                                        {o_.link.rank.has_value(), "--rank"},
                                        {o_.link.iteration.has_value(), "--iteration"},
                                        {o_.link.steps.has_value(), "--steps"},
                                        {o_.link.fit_steps.has_value(), "--fit-steps"},
                                        {o_.link.salvage, "--salvage"}})
      if (given) return fail(Code::usage, "cli.usage", fmt::format("{} applies to recordings of PyTorch only", option));
    CHAKRA_ASSIGN(xla_, xla::link_profiles(files));
    for (const xla::LinkedDevice& device : xla_->devices)
      inputs_.push_back({device.trace.rank, true, "", xla_->profile});
    job_.programs = std::move(xla_->programs);
    job_.findings = std::move(xla_->findings);
    return {};
  }

  Result<void> find_pytorch() {
    if (is_directory(o_.inputs.front()) != is_directory(o_.inputs.back()))
      return fail(Code::usage, "cli.usage", "give the files of one rank or folders of a job, not both");
    if (o_.cycle && !o_.of_folders()) return fail(Code::usage, "cli.usage", "--cycle applies to folders only");
    if (o_.of_folders()) {
      if (o_.link.rank)
        return fail(Code::usage, "cli.usage", "--rank applies to one rank; in a folder, the files determine the ranks");
      CHAKRA_ASSIGN(recording::Pairing pairing, recording::pair_folders(o_.inputs, o_.cycle));
      inputs_ = std::move(pairing.ranks);
      CHAKRA_TRY(recording::split_processes(inputs_, o_.process, job_.findings));
      if (o_.explain && inputs_.size() > 1)
        return fail(Code::usage, "cli.usage",
                    fmt::format("--explain applies to one rank, but the folder has {}", inputs_.size()));
      job_.findings.insert(job_.findings.begin(), pairing.findings.begin(), pairing.findings.end());
      dumps_ = recorded::read_dumps_beside(pairing.dumps, job_.findings);
      return {};
    }
    std::vector<std::string> files, dumps;
    for (const std::string& file : o_.inputs)
      (o_.inputs.size() > 1 && recorded::is_dump_file(file) ? dumps : files).push_back(file);
    if (files.empty()) files = {dumps.front()};  // whose refusal says what it is
    for (const std::string& file : files) CHAKRA_TRY(foreign::refuse_workload(file, "a recording"));
    if (files.size() > 2) return fail(Code::usage, "cli.usage", "a rank has at most two recordings: host and device");
    CHAKRA_ASSIGN(recording::RankInput input,
                  files.size() == 1 ? recording::pair_file(files[0])
                                    : recording::pair_files(files[0], files[1], o_.link.rank.has_value()));
    inputs_.push_back(std::move(input));
    CHAKRA_TRY(recording::split_processes(inputs_, o_.process, job_.findings));
    if (inputs_.size() > 1 && (o_.link.rank || o_.explain))
      return fail(Code::usage, "cli.usage",
                  fmt::format("--rank and --explain apply to one rank, but the file holds {}; choose one by --process",
                              inputs_.size()));
    dumps_ = recorded::read_dumps_beside(dumps, job_.findings);
    return {};
  }

  /// Ranks with several iterations must show the same one, else their clocks and waiting mean nothing: the one of
  /// median duration over all ranks, among those with the shapes of the host traces. Ranks with different numbers of
  /// iterations stay as they are; compare_ranks() warns.
  Result<void> link_same_iteration() {
    std::vector<link::Iteration> total;
    for (const LinkedRank& rank : job_.ranks) {
      const std::vector<link::Iteration>& own = rank.report.iterations;
      if (total.empty()) total.resize(own.size());
      if (own.size() != total.size() || own.empty()) return {};
      for (size_t k = 0; k < own.size(); ++k) {
        total[k].duration_ns = add_saturated(total[k].duration_ns, own[k].duration_ns);
        total[k].other_shapes += own[k].other_shapes;
        total[k].whole &= own[k].whole;
      }
    }
    link::LinkOptions options = o_.link;
    options.iteration = static_cast<int64_t>(link::choose_iteration(total));
    return each_in_parallel(job_.ranks.size(), [&](size_t i) {
      return job_.ranks[i].report.iteration == *options.iteration ? Result<void>() : link_rank(i, options);
    });
  }

  Result<void> link_rank(size_t i, const link::LinkOptions& options) {
    const recording::RankInput& input = inputs_[i];
    const int64_t events = xla_ ? xla_->devices[i].events : 0;
    CHAKRA_ASSIGN(link::Linked linked,
                  xla_ ? linked_device(std::move(xla_->devices[i])) : link::link_rank(input, options));
    const auto dump = dumps_.find(linked.trace.rank);
    if (dump != dumps_.end()) recorded::fill_from_dump(linked.trace, dump->second, linked.report);
    if (!xla_) note_options(linked, o_.link);
    LinkedRank& rank = job_.ranks[i];
    rank = linked_rank(input, linked);
    rank.events = events;
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
    CHAKRA_TRY(self_check(rank, linked.trace));
    rank.output = into_folder() ? trace_in(o_.output, rank.rank) : o_.output;
    if (!into_folder()) check_name(rank);
    if (inputs_.size() == 1) return write(linked.trace, i);
    facts_[i] = facts_of(linked.trace, rank.report);
    traces_.ranks[i] = std::move(linked.trace);  // the comparison of the ranks completes the trace
    return {};
  }

  static void check_name(LinkedRank& rank) {
    const std::filesystem::path path(rank.output);
    const std::string number = path.stem().extension().string();  // ".0" of "trace.0.et"
    int64_t named = 0;
    if (path.extension() != ".et" || number.empty() || !parse_decimal(number.substr(1), named)) return;
    if (named == rank.rank) return;
    rank.report.findings.push_back(
        {"link.output.rank", Severity::warning, rank.rank, -1,
         fmt::format("the name {} has rank {}, so other commands refuse the trace; name it {}, or give it the rank by "
                     "--rank {}",
                     quote(path.filename().string(), 200), named,
                     quote(fmt::format("{}.{}.et", path.stem().stem().string(), rank.rank), 200), named)});
  }

  Result<void> write(const trace::Trace& trace, size_t i) {
    CHAKRA_ASSIGN(AtomicFile created, AtomicFile::create(job_.ranks[i].output));
    CHAKRA_TRY(io::write_et(trace, created));
    files_[i] = std::move(created);
    return {};
  }

  const LinkJobOptions& o_;
  std::vector<recording::RankInput> inputs_;
  std::optional<xla::LinkedProfile> xla_;         ///< of a profile of XLA, which holds all ranks
  std::map<int64_t, flight::Dump> dumps_;         ///< by rank
  trace::TraceSet traces_;                        ///< of several ranks
  std::vector<recorded::RankFacts> facts_;        ///< by rank, of several
  std::vector<std::optional<AtomicFile>> files_;  ///< by rank
  LinkedJob job_;
};

}  // namespace

bool is_recording(const std::string& path) {
  if (is_directory(path) && (io::is_class_job(path) || io::find_ranks(path))) return false;
  const auto recorded = [](const std::string& file) {
    const auto row = filetype::recognise(file);
    const auto ours = xla::is_ours(file);
    return (row && *row && (*row)->group == filetype::Group::recording) || (ours && *ours);
  };
  if (is_file(path)) return recorded(path);
  const auto found = recording::files_below({path});
  return found && std::any_of(found->files.begin(), found->files.end(),
                              [&](const recording::FoundFile& file) { return recorded(file.path); });
}

Result<void> LinkedJob::commit() {
  for (AtomicFile& file : files) CHAKRA_TRY(file.commit());
  return {};
}

Result<LinkedJob> link_job(const LinkJobOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  return LinkJob(o).run();
}

}  // namespace chakra::linking
