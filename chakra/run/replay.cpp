#include "chakra/run/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/check/check.h"
#include "chakra/device/device.h"
#include "chakra/job/parts.h"
#include "chakra/run/ranks.h"
#include "chakra/run/rows.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/storage.h"
#include "chakra/work/work.h"

namespace chakra::run {
namespace {

using options::no_effect;

/// Options, which are checked, as the room wants them.
Result<replay::JobOptions> job_options(const ReplayOptions& o) {
  replay::JobOptions options;
  options.backend = find_row(kBackends, o.backend);
  options.run.compute = find_row(kComputes, o.compute);
  CHAKRA_ASSIGN(options.settings, replay::parse_settings(fmt::format("the back end {}", o.backend), "--backend-option",
                                                         options.backend->settings, o.settings));
  CHAKRA_ASSIGN(options.run.compute_settings,
                replay::parse_settings(fmt::format("--compute {}", o.compute), "--compute-option",
                                       options.run.compute->settings, o.compute_settings));
  options.run.files = o.files;
  options.run.file_cache = replay::find_file_cache(o.file_cache);
  options.run.file_order = replay::find_file_order(o.file_order);
  options.run.scale_compute = o.scale_compute;
  options.run.warmup = static_cast<uint32_t>(o.warmup);
  options.run.repetitions = static_cast<uint32_t>(o.repetitions);
  options.run.verify = o.verify;
  options.agree = !o.no_check;
  return options;
}

/// The folder in which the job lies, whatever names its files.
std::string folder_of_job(const std::string& path) {
  if (is_directory(path)) return path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Which rank this is; none: all of them, in this process.
Result<std::optional<replay::World>> world_of(const ReplayOptions& o) {
  CHAKRA_ASSIGN(const ReplayProcess process, replay_process(o));
  if (!process.rank) {
    if (!o.rendezvous.empty())
      return fail(Code::usage, "cli.usage", "--rendezvous requires --rank and --ranks, or a launcher that sets them");
    return std::optional<replay::World>();
  }
  replay::World world;
  world.rendezvous = o.rendezvous;
  if (process.launched) CHAKRA_TRY(replay::world_from_launcher(world));  // it may also say where ranks meet
  world.folder = folder_of_job(o.path);
  world.rank = *process.rank;
  world.ranks = process.ranks;
  world.timeout = std::chrono::milliseconds(static_cast<int64_t>(o.timeout_s * 1000));
  if (world.rendezvous.empty())
    return fail(Code::usage, "cli.usage",
                fmt::format("rank {} of {} has no rendezvous: give all ranks the same --rendezvous, \"host:port\" or "
                            "the path of a socket",
                            world.rank, world.ranks));
  return std::optional(std::move(world));
}

/// What a proof calls an error is the job's error, before it runs.
Result<void> prove(const ReplayOptions& o, const trace::TraceSet& job, const match::Matching& matching) {
  for (const Finding& f : check::prove(job, matching))
    if (f.severity == Severity::error)
      return fail(Code::bad_input, f.tag,
                  fmt::format("{}{} (run 'chakra check' for details; --no-check skips this check)",
                              f.rank < 0 ? "" : fmt::format("rank {}: ", f.rank), f.text),
                  {o.path});
  return {};
}

bool works(const trace::Trace& t, trace::NodeId n) {
  const work::NodeWork work = work::work_of(t, n);
  return t.type[n] == trace::NodeType::comp && (work.ops > 0 || work.bytes > 0);
}

/// Parts that are asked for and are nowhere, and options that change nothing.
Findings without_effect(const ReplayOptions& o, const ReplayedJob& job) {
  Findings findings;
  bool communicates = false, computes = false, stores = false;
  for (size_t r = 0; r < job.recorded.ranks.size(); ++r) {
    const trace::Trace& t = job.recorded.ranks[r];
    const trace::StorageReader reader(t);
    for (const trace::NodeId n : t.nodes()) {
      const bool comm = trace::is_comm(t.type[n]);
      communicates |= comm && job.ran(r, n);
      computes |= !comm && job.ran(r, n) && (t.dur_ps[n] > 0 || (o.compute == "work" && works(t, n)));
      stores |= trace::is_memory(t.type[n]) && job.ran(r, n) && reader.of(n).bytes.value_or(0) > 0;
    }
  }
  if (!communicates) findings.push_back(no_effect("--backend " + o.backend, "no selected node communicates"));
  if (o.scale_compute != 1 && (o.compute == "none" || !computes))
    findings.push_back(no_effect("--scale-compute", o.compute == "none"
                                                        ? "with --compute none, computation takes no time"
                                                    : o.compute == "work" ? "no selected node has work or a duration"
                                                                          : "no selected node has a duration"));
  if (!o.files.empty() && !stores) findings.push_back(no_effect("--files", "no selected load or store has a size"));
  if (o.verify && !find_row(kBackends, o.backend)->moves_data)
    findings.push_back(no_effect("--verify", fmt::format("the back end {} moves no data", o.backend)));
  return findings;
}

/// Ranks that ran late did not wait for what they should have: the times are then those of this machine.
Finding lateness(const ReplayedJob& job) {
  constexpr double kMuch = 0.05;  ///< of a rank's time
  Picoseconds most = 0;
  double share = 0;
  for (size_t r = 0; r < job.runs.size(); ++r) {
    const replay::RankRun& run = job.runs[r];
    most = std::max(most, run.late_max_ps);
    Picoseconds time = 0;  // of all repetitions
    for (const replay::NodeTimes& times : run.times) time = add_saturated(time, replay_span(job, r, times));
    if (time > 0) share = std::max(share, static_cast<double>(run.late_total_ps) / static_cast<double>(time));
  }
  return {"replay.late", share > kMuch ? Severity::warning : Severity::note, -1, -1,
          fmt::format("operations started up to {} late: in total up to {} of a rank's "
                      "time{}",
                      show_time(most), show_percent(share),
                      share > kMuch ? ", because this machine has too few cores for these ranks" : "")};
}

// `replay.null.meetings` (note): how long the back end null needed to find out that all had come
Findings about_meetings(const ReplayedJob& job) {
  replay::Session::MeetingTimes all;
  for (const replay::RankRun& run : job.runs) {
    all.count += run.meetings.count;
    all.over += run.meetings.over;
    all.unknown += run.meetings.unknown;
    all.total_ps = add_saturated(all.total_ps, run.meetings.total_ps);
    all.over_ps = add_saturated(all.over_ps, run.meetings.over_ps);
  }
  if (all.count == 0) return {};
  const int64_t known = std::max<int64_t>(1, all.count - all.unknown);
  std::string text =
      fmt::format("synchronizing the ranks took {} per operation (mean)", show_time(all.total_ps / known));
  text += all.over == 0 ? ", excluded from all times"
                        : fmt::format(
                              ", excluded from all times except {} of {} operations that are shorter, which took {} "
                              "longer than recorded (mean)",
                              show_count(all.over), show_count(all.count), show_time(all.over_ps / all.over));
  if (all.unknown > 0)
    text +=
        fmt::format("; included in the times of {} operations of ranks on several machines", show_count(all.unknown));
  return {{"replay.null.meetings", Severity::note, -1, -1, std::move(text)}};
}

/// When the part of a rank that is selected began, by the clock of the job; nothing where the recording does not say.
Result<std::optional<Picoseconds>> recorded_begin(const ReplayedJob& job, size_t r) {
  const trace::Trace& t = job.recorded.ranks[r];
  CHAKRA_ASSIGN(const auto start, sim::recorded_start(t));
  Picoseconds first = INT64_MAX, own = INT64_MAX;
  for (const trace::NodeId n : t.nodes()) {
    if (!t.has_start(n) || t.type[n] == trace::NodeType::metadata) continue;
    first = std::min(first, t.start_ps[n]);
    if (job.ran(r, n)) own = std::min(own, t.start_ps[n]);
  }
  if (!start || own == INT64_MAX) return std::optional<Picoseconds>();
  return std::optional(add_saturated(start->start_ns * kPsPerNs, own - first));
}

// `replay.start` (note): the distance between the starts of ranks, if recorded
Findings about_start(const ReplayOptions& o, ReplayedJob& job) {
  Picoseconds first = INT64_MAX, last = 0, most = 0;
  job.as_recorded = !job.runs.empty();
  for (size_t r = 0; r < job.runs.size(); ++r) {
    job.as_recorded &= job.runs[r].begin_ps.has_value();
    most = std::max(most, job.runs[r].begin_ps.value_or(0));
    const auto begin = recorded_begin(job, r);
    if (!begin || !*begin) continue;
    first = std::min(first, **begin);
    last = std::max(last, **begin);
  }
  if (job.as_recorded && most > 0)
    return {{"replay.start", Severity::note, -1, -1,
             fmt::format("the ranks began as far apart as recorded, up to {} (--start together drops that)",
                         show_time(most))}};
  if (job.as_recorded) return {};
  if (o.start == ReplayStart::together && first == INT64_MAX)
    return {no_effect("--start together", "no trace has the start time of its rank")};
  if (first >= last && job.runs.size() > 1) return {};
  if (first == INT64_MAX) return {};
  return {{"replay.start", Severity::note, -1, -1,
           job.runs.size() == 1
               ? std::string("the ranks began together, however far apart they did in the recording")
               : fmt::format("the ranks began together; in the recording up to {} apart", show_time(last - first))}};
}

// `replay.resized.null` (warning): communication with other ranks than recorded, which takes its recorded time
// `replay.resized.compare` (warning): communication with other ranks than recorded, which is not compared
/// Recorded times of communication are those of the groups that were recorded.
Findings about_changed(const ReplayOptions& o, const ReplayedJob& job) {
  int64_t nodes = 0;
  for (size_t r = 0; r < job.changed.size(); ++r)
    for (const trace::NodeId n : ids<trace::NodeId>(job.changed[r].size()))
      nodes += job.changed[r][n] && job.ran(r, n) && trace::is_comm(job.recorded.ranks[r].type[n]);
  Findings findings;
  if (nodes > 0 && o.backend == "null" && !o.dry_run)
    findings.push_back(
        {"replay.resized.null", Severity::warning, -1, -1,
         fmt::format(
             "{} collectives have other members than recorded; the back end null uses the time of the recorded members",
             show_count(nodes))});
  if (!job.changed.empty() && o.compare)
    findings.push_back(
        {"replay.resized.compare", Severity::warning, -1, -1,
         fmt::format("{} collectives have other members than recorded and are not compared; the spans of "
                     "ranks and steps are compared with those of {} ranks",
                     show_count(nodes), job.recorded_ranks)});
  return findings;
}

/// The nodes whose times can be compared: those that ran, as they were recorded.
trace::TraceSet comparable_part(const ReplayedJob& job, trace::TraceSet set) {
  for (size_t r = 0; r < set.ranks.size(); ++r) {
    trace::Trace& t = set.ranks[r];
    for (const trace::NodeId n : t.nodes())
      if (!job.ran(r, n) || (!job.changed.empty() && job.changed[r][n]))
        t.flags.edit(n) &= static_cast<uint8_t>(~trace::kHasStart);
  }
  return set;
}

Result<void> run(const ReplayOptions& o, const std::optional<replay::World>& world, replay::JobOptions options,
                 ReplayedJob& job) {
  for (size_t r = 0; r < job.recorded.ranks.size() && o.start == ReplayStart::recorded; ++r) {
    CHAKRA_ASSIGN(const std::optional<Picoseconds> begin, recorded_begin(job, r));
    if (world) options.begins.resize(static_cast<size_t>(world->rank));
    options.begins.push_back(begin);
  }
  if (world) {
    options.selected.resize(static_cast<size_t>(world->ranks));
    if (!job.selected.empty()) options.selected[static_cast<size_t>(world->rank)] = job.selected[0];
    CHAKRA_ASSIGN(replay::RankRun own, replay::run_one(job.plans[0], *world, options));
    job.runs.push_back(std::move(own));
  } else {
    options.selected = job.selected;
    replay::World all;
    all.timeout = std::chrono::milliseconds(static_cast<int64_t>(o.timeout_s * 1000));
    CHAKRA_ASSIGN(job.runs, replay::run_all(job.plans, all, options));
  }
  if (options.run.verify && options.backend->moves_data) {
    int64_t operations = 0;
    for (const replay::RankRun& done : job.runs) operations += done.collectives + done.messages;
    // `replay.verified` (note): the data that every operation left are what it promises.
    job.findings.push_back(
        {"replay.verified", Severity::note, -1, -1,
         fmt::format("the results of {} operations in each repetition are correct", show_count(operations))});
  }
  add_computed_findings(job);
  add_work_findings(o, job);
  for (const Findings& more : {about_start(o, job), about_meetings(job)})
    job.findings.insert(job.findings.end(), more.begin(), more.end());
  if (!o.outputs.timeline.empty()) job.timeline = replay::timeline_of(job.plans, job.runs, options);
  if (const Finding late = lateness(job);
      std::any_of(job.runs.begin(), job.runs.end(), [](const auto& r) { return r.collectives + r.messages > 0; }))
    job.findings.push_back(late);
  return {};
}

/// Without the ranks that did nothing.
void leave_only(size_t rank, ReplayedJob& job) {
  const auto leave = [&](auto& list) {
    if (list.size() > rank) {
      auto one = std::move(list[rank]);
      list.clear();
      list.push_back(std::move(one));
    }
  };
  leave(job.recorded.ranks);
  leave(job.plans);
  leave(job.runs);
  leave(job.selected);
  leave(job.asked);
  for (replay::RankPlan& plan : job.plans) plan.trace = &job.recorded.ranks[0];
  job.ranks = 1;
}

}  // namespace

Result<ReplayProcess> replay_process(const ReplayOptions& o) {
  if (o.rank || o.ranks) {
    if (!o.rank || !o.ranks || *o.rank >= *o.ranks)
      return fail(Code::usage, "cli.usage", "--rank and --ranks go together, and ranks count from 0");
    return ReplayProcess{o.rank, *o.ranks, false};
  }
  replay::World world;
  CHAKRA_ASSIGN(const bool launched, replay::world_from_launcher(world));
  if (!launched) return ReplayProcess{};
  return ReplayProcess{world.rank, world.ranks, true};
}

Result<ReplayedJob> replay_job(const ReplayOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(const replay::JobOptions options, job_options(o));
  CHAKRA_ASSIGN(const std::optional<replay::World> world, world_of(o));
  CHAKRA_ASSIGN(const ReplayRanks ranks, replay_ranks(o, world));
  ReplayedJob job;
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(job.groups, match::load_groups(o.groups));
  }
  CHAKRA_ASSIGN(trace::TraceSet all, read_recorded(o, ranks));
  if (!o.groups.empty()) job.findings = job::groups_without_effect(job.groups, all.ranks);
  for (int64_t rank = ranks.first(); o.selection.any() && rank < ranks.end(); ++rank) {
    // By what was recorded, so that all replicas of a rank do the same.
    const trace::Trace& t = all.ranks[static_cast<size_t>(ranks.plays(rank))];
    std::vector<bool> selected;
    if (!ranks.alone || rank == *ranks.alone) {
      CHAKRA_ASSIGN(selected, replay::select_nodes(t, o.selection));
    }
    job.selected.push_back(std::move(selected));
  }
  CHAKRA_TRY(resize(ranks, all, job.groups, job.changed, job.findings));
  const match::Matching matching = match::match(all, job.groups);
  if (!o.no_check && !world && !ranks.alone) CHAKRA_TRY(prove(o, all, matching));
  job.path = o.path;
  job.backend = o.backend;
  job.compute = o.compute;
  job.ranks = static_cast<int64_t>(all.ranks.size());
  job.recorded_ranks = ranks.recorded;
  job.repetitions = o.repetitions;
  job.dry = o.dry_run;
  if (world) job.recorded.ranks.push_back(all.ranks[static_cast<size_t>(world->rank)]);
  else job.recorded.ranks = all.ranks;
  for (size_t r = 0; r < job.recorded.ranks.size(); ++r) {
    const trace::Trace& t = job.recorded.ranks[r];
    CHAKRA_ASSIGN(replay::RankPlan plan,
                  replay::plan_rank(all, matching, static_cast<uint32_t>(world ? world->rank : static_cast<int64_t>(r)),
                                    o.selection.any() ? job.selected[r] : std::vector<bool>()));
    job.plans.push_back(std::move(plan));
    job.plans.back().trace = &t;
    if (o.dry_run && o.compute == "work")
      job.asked.push_back(
          replay::asked_work(t, o.selection.any() ? job.selected[r] : std::vector<bool>(), o.scale_compute));
  }
  for (Findings more : {without_effect(o, job), about_changed(o, job)})
    job.findings.insert(job.findings.end(), more.begin(), more.end());
  if (!o.dry_run) CHAKRA_TRY(run(o, world, options, job));
  if (ranks.alone) leave_only(static_cast<size_t>(*ranks.alone), job);
  if (o.compare) {
    std::vector<trace::TraceSet> repetitions;
    for (int64_t i = 0; i < o.repetitions; ++i)
      repetitions.push_back(comparable_part(job, replayed_traces(job, static_cast<size_t>(i))));
    CHAKRA_ASSIGN(job.compared,
                  recorded::compare_times(comparable_part(job, job.recorded), std::move(repetitions), job.groups));
  }
  return job;
}

Result<replay_fabric::FlowSchedule> job_flows(const ReplayOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  const FlowsOptions& f = o.flows;
  ReplayOptions dry = o;
  dry.dry_run = true;
  dry.flows = {};
  if (o.rank) return fail(Code::usage, "cli.usage", "--flows covers the whole job: leave out --rank");
  CHAKRA_ASSIGN(const ReplayedJob job, replay_job(dry));
  net::Fabric fabric;
  fabric.dimensions.push_back({net::TopologyKind::switch_, std::max<int64_t>(2, job.ranks), 100, 1000});
  if (!f.network.empty()) {
    CHAKRA_ASSIGN(fabric, net::load_fabric(f.network));
    fabric.reductions.clear();  // flows are the moves
    if (fabric.size() < job.ranks)
      return fail(Code::usage, "cli.usage",
                  fmt::format("--network {}: the network has {} ranks, but the job has {}", quote(f.network),
                              fabric.size(), job.ranks));
  }
  CHAKRA_ASSIGN(const coll::Selection rules, job::read_collectives(f.collectives));
  return replay_fabric::flows_of(job.plans, match::match(job.recorded, job.groups), rules, fabric,
                                 o.compute == "none" ? 0 : o.scale_compute, job.selected);
}

Picoseconds replay_span(const ReplayedJob& job, size_t r, const replay::NodeTimes& times) {
  Picoseconds begin = INT64_MAX, end = 0;
  for (const trace::NodeId n : job.recorded.ranks[r].nodes()) {
    if (!job.ran(r, n) || job.recorded.ranks[r].type[n] == trace::NodeType::metadata) continue;
    begin = std::min(begin, times.start[n]);
    end = std::max(end, times.end[n]);
  }
  return begin > end ? 0 : end - begin;
}

trace::TraceSet replayed_traces(const ReplayedJob& job, size_t repetition) {
  CHAKRA_ASSERT(job.runs.size() == job.recorded.ranks.size());
  Picoseconds first = INT64_MAX;  // by the clock of the job, so that ranks keep their distance
  for (size_t r = 0; r < job.runs.size(); ++r)
    for (const trace::NodeId n : job.recorded.ranks[r].nodes())
      if (job.ran(r, n)) first = std::min(first, job.runs[r].times[repetition].start[n]);
  trace::TraceSet set;
  for (size_t r = 0; r < job.runs.size(); ++r) {
    trace::Trace t = job.recorded.ranks[r];
    const replay::NodeTimes& times = job.runs[r].times[repetition];
    const std::span<Picoseconds> start = t.start_ps.edit(), dur = t.dur_ps.edit();
    const std::span<uint8_t> flags = t.flags.edit();
    Picoseconds own_first = INT64_MAX;
    for (const trace::NodeId n : t.nodes()) {
      const bool ran = job.ran(r, n) && t.type[n] != trace::NodeType::metadata;
      start[n] = ran ? times.start[n] - first : 0;
      dur[n] = ran ? times.end[n] - times.start[n] : 0;
      if (ran) own_first = std::min(own_first, start[n]);
      flags[n] = static_cast<uint8_t>(ran ? flags[n] | trace::kHasStart | trace::kHasDuration
                                          : flags[n] & ~(trace::kHasStart | trace::kHasDuration));
    }
    if (own_first != INT64_MAX) sim::set_recorded_start(t, {own_first / kPsPerNs, 0});
    set.ranks.push_back(std::move(t));
  }
  return set;
}

}  // namespace chakra::run
