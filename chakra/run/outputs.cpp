#include "chakra/run/outputs.h"

#include <fmt/core.h>

#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/view/view.h"

namespace chakra::run {
namespace {

constexpr std::string_view kRankInName = "{rank}";

/// `has_rank`: without {rank} in its name.
Result<void> settle_name(const char* option, std::string& name, bool has_rank, const ReplayProcess& process) {
  size_t at = name.find(kRankInName);
  if (at == name.npos && !name.empty() && name != "-" && !has_rank && process.launched && process.ranks > 1)
    return fail(Code::usage, "cli.usage",
                fmt::format("{} {}: {} ranks would write the same file; put {} into its name", option, quote(name),
                            process.ranks, kRankInName));
  if (at != name.npos && !process.rank)
    return fail(
        Code::usage, "cli.usage",
        fmt::format("{} {}: this process runs all ranks, so {} has no single value", option, quote(name), kRankInName));
  for (; at != name.npos; at = name.find(kRankInName, at))
    name.replace(at, kRankInName.size(), std::to_string(*process.rank));
  return {};
}

Result<void> keep_from_inputs(const ReplayOptions& options, const ReplayOutputs& o) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job::job_files(options.path));
  files.push_back(options.groups);
  std::vector<std::string> outputs{o.timeline};
  if (!o.traces.empty()) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(options.path));
    for (const io::RankFile& rank : ranks) outputs.push_back(fmt::format("{}.{}.et", o.traces, rank.rank));
    for (auto rank = static_cast<int64_t>(ranks.size()); rank < options.expand; ++rank)
      outputs.push_back(fmt::format("{}.{}.et", o.traces, rank));
  }
  job::append_files(outputs, o.tables, answer_of(ReplayedJob()));
  return job::keep_apart(files, outputs, o.json);
}

}  // namespace

Result<ReplayOutputs> replay_outputs(const ReplayOptions& options) {
  ReplayOutputs outputs = options.outputs;
  CHAKRA_ASSIGN(const ReplayProcess process, replay_process(options));
  CHAKRA_TRY(settle_name("--output", outputs.traces, true, process));
  CHAKRA_TRY(settle_name("--timeline", outputs.timeline, false, process));
  CHAKRA_TRY(settle_name("--csv", outputs.tables.csv, false, process));
  CHAKRA_TRY(settle_name("--arrow", outputs.tables.arrow, false, process));
  CHAKRA_TRY(settle_name("--json", outputs.json, false, process));
  CHAKRA_TRY(keep_from_inputs(options, outputs));
  return outputs;
}

Result<job::Outputs> made_outputs(const ReplayedJob& job, const answer::Answer& answer, const ReplayOutputs& o) {
  CHAKRA_ASSERT(o.traces.empty() || !job.runs.empty());
  job::Outputs files;
  if (!o.traces.empty()) {
    const trace::TraceSet replayed = replayed_traces(job, job.runs[0].times.size() - 1);
    for (const trace::Trace& t : replayed.ranks) {
      CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(fmt::format("{}.{}.et", o.traces, t.rank)));
      CHAKRA_TRY(io::write_et(t, file));
      CHAKRA_TRY(files.add(std::move(file)));
    }
  }
  CHAKRA_TRY(job::add_tables(files, o.tables, answer));
  if (!o.timeline.empty()) CHAKRA_TRY(view::write_timeline(job.timeline, o.timeline));
  return files;
}

Result<void> write_flows(const replay_fabric::FlowSchedule& schedule, const std::string& path) {
  const answer::Answer answer = answer_of(schedule);
  job::Outputs files;
  if (path.ends_with(".json")) CHAKRA_TRY(job::add_answer(files, path, answer));
  else CHAKRA_TRY(job::add_table(files, path, job::kCsv, answer.tables()[0]));
  return files.commit();
}

answer::Answer answer_of(const replay_fabric::FlowSchedule& schedule) {
  answer::Builder to("replay --flows");
  result::add_table(to, "", replay_fabric::table_of(schedule), true, "flows, each after the flows that it depends on");
  return std::move(to).finish();
}

std::string flows_line(const replay_fabric::FlowSchedule& schedule, const std::string& path) {
  uint64_t bytes = 0;
  for (const replay_fabric::Flow& flow : schedule.flows) bytes = add_bytes(bytes, flow.bytes);
  return fmt::format(
      "{}: {} flows of {} operations, {}\n", path, show_count(static_cast<int64_t>(schedule.flows.size())),
      show_count(static_cast<int64_t>(schedule.operations.size())), show_bytes(static_cast<double>(bytes)));
}

}  // namespace chakra::run
