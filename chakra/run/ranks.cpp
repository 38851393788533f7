#include "chakra/run/ranks.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/edit/edit.h"
#include "chakra/io/io.h"
#include "chakra/options/options.h"

namespace chakra::run {
namespace {

using options::no_effect;

using trace::NodeId;
using trace::NodeType;

Failure refuse_ranks(const std::string& text) { return fail(Code::usage, "cli.usage", text); }

Failure lacks(int64_t rank) {
  return fail(Code::bad_input, "replay.job.ranks",
              fmt::format("the job has no trace of rank {}: a run needs all ranks, from 0", rank));
}

/// How many ranks run, and by which option.
Result<void> count_ranks(const ReplayOptions& o, const std::optional<replay::World>& world, ReplayRanks& ranks) {
  const int64_t recorded = ranks.recorded;
  if ((o.shrink > 0) + (o.expand > 0) + o.auto_shrink > 1)
    return refuse_ranks("--shrink, --auto-shrink and --expand exclude each other");
  if (o.auto_shrink && !world)
    return refuse_ranks("--auto-shrink requires --ranks or a launcher; without them, use --shrink N");
  ranks.run = recorded;
  if (o.auto_shrink) {
    ranks.option = "--auto-shrink";
    ranks.run = world->ranks;
  } else if (o.shrink > 0) {
    ranks.option = fmt::format("--shrink {}", o.shrink);
    ranks.run = o.shrink;
  } else if (o.expand > 0) {
    ranks.option = fmt::format("--expand {}", o.expand);
    ranks.run = o.expand;
    ranks.more = true;
    if (ranks.run % recorded != 0)
      return refuse_ranks(fmt::format("{}: must be a multiple of the {} ranks with traces in {}", ranks.option,
                                      recorded, quote(o.path)));
  }
  if (!ranks.more && ranks.run > recorded)
    return refuse_ranks(fmt::format("{}: {} ranks would run, but {} has traces of {}; use --expand for more ranks",
                                    ranks.option, ranks.run, quote(o.path), recorded));
  return {};
}

/// A process that is one rank needs the trace of this rank alone, whatever else lies there; and a single trace can run
/// alone, whichever rank it is: the ranks before it do nothing.
Result<void> take_missing(const std::vector<io::RankFile>& files, const std::optional<replay::World>& world,
                          ReplayRanks& ranks) {
  constexpr int64_t kMostBefore = 4096;  // each is a thread
  const bool fewer = world && ranks.recorded < world->ranks && files.back().rank < world->ranks;
  if (ranks.option.empty() && fewer) ranks.recorded = ranks.run = world->ranks;
  if (world || !ranks.option.empty() || files.size() != 1 || files[0].rank == 0) return {};
  if (files[0].rank > kMostBefore)
    return fail(
        Code::bad_input, "replay.job.ranks",
        fmt::format("a trace of rank {} cannot run alone; use --rank and --ranks to run several", files[0].rank));
  ranks.alone = files[0].rank;
  ranks.recorded = ranks.run = files[0].rank + 1;
  return {};
}

/// Per collective of a rank, by row: the number of its members; 0: it is not in its group.
std::vector<size_t> members_of(const match::Matching& matching, const trace::Trace& t, size_t r) {
  std::vector<size_t> members(t.comms.size(), 0);
  for (const NodeId n : t.nodes()) {
    if (t.type[n] != NodeType::coll || t.comm_row[n] == trace::kNoRow) continue;
    const uint32_t id = matching.of_comm[r][t.comm_row[n]];
    if (id != trace::kNoRow) members[t.comm_row[n]] = matching.groups[matching.collectives[id].group].ranks.size();
  }
  return members;
}

std::vector<bool> changed_nodes(const trace::Trace& before, const std::vector<size_t>& members_before,
                                const trace::Trace& after, const std::vector<size_t>& members_after) {
  std::vector<bool> changed(before.size());
  for (const NodeId n : ids<NodeId>(before.size())) {
    if (!trace::is_comm(before.type[n]) || before.comm_row[n] == trace::kNoRow) continue;
    const uint32_t row = before.comm_row[n];
    changed[n] = after.type[n] != before.type[n] || members_after[row] != members_before[row] ||
                 after.comms[row].bytes != before.comms[row].bytes;
  }
  return changed;
}

}  // namespace

Result<ReplayRanks> replay_ranks(const ReplayOptions& o, const std::optional<replay::World>& world) {
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(o.path));
  ReplayRanks ranks;
  ranks.recorded = static_cast<int64_t>(files.size());
  CHAKRA_TRY(count_ranks(o, world, ranks));
  if (world) ranks.own = world->rank;
  CHAKRA_TRY(take_missing(files, world, ranks));
  if (ranks.alone) return ranks;
  for (int64_t rank = 0; !(world && ranks.option.empty()) && rank < ranks.recorded; ++rank)
    if (files[static_cast<size_t>(rank)].rank != rank) return lacks(rank);
  if (!world) return ranks;
  const bool there =
      std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.rank == ranks.plays(world->rank); });
  if (world->ranks != ranks.run || !there)
    return refuse_ranks(fmt::format("rank {} of {} is requested, but {} has traces of {} ranks{}{}", world->rank,
                                    world->ranks, quote(o.path), ranks.recorded, there ? "" : ", without this one",
                                    ranks.option.empty()
                                        ? ": --shrink and --expand run fewer or more"
                                        : fmt::format(", of which {} makes {}", ranks.option, ranks.run)));
  return ranks;
}

Result<trace::TraceSet> read_recorded(const ReplayOptions& o, const ReplayRanks& ranks) {
  trace::TraceSet job;
  if (ranks.alone) {
    CHAKRA_ASSIGN(job, io::read_job(o.path, {.texts = true}));
    if (job.ranks[0].rank != *ranks.alone) return lacks(*ranks.alone);
    job = replay::alone(std::move(job.ranks[0]), ranks.recorded);
  } else if (!ranks.own && (ranks.run >= ranks.recorded || ranks.more)) {
    CHAKRA_ASSIGN(job, io::read_job(o.path, {.texts = true}));
  } else {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(o.path));
    for (int64_t rank = ranks.first(); rank < ranks.end(); ++rank) {
      const int64_t plays = ranks.plays(rank);
      const auto file = std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.rank == plays; });
      CHAKRA_ASSIGN(trace::Trace trace, io::read_rank(*file, {.texts = true}));
      if (trace.rank != plays) return lacks(plays);
      if (job.ranks.empty()) job = replay::alone(std::move(trace), ranks.recorded);
      else job.ranks[static_cast<size_t>(plays)] = std::move(trace);
    }
  }
  for (size_t r = 0; r < job.ranks.size(); ++r)
    if (job.ranks[r].rank != static_cast<int64_t>(r)) return lacks(static_cast<int64_t>(r));
  return job;
}

Result<void> resize(const ReplayRanks& ranks, trace::TraceSet& job, match::GroupTable& groups,
                    std::vector<std::vector<bool>>& changed, Findings& findings) {
  if (ranks.option.empty()) return {};
  const trace::TraceSet before = job;
  const match::Matching was = match::match(before, groups);
  Findings said;
  if (!ranks.more) {
    CHAKRA_ASSIGN(job, edit::shrink(std::move(job), groups, ranks.run, replay::element_bytes, said));
  } else if (ranks.run > ranks.recorded) {
    CHAKRA_ASSIGN(job,
                  edit::replicate(std::move(job), groups, ranks.run / ranks.recorded, replay::element_bytes, said));
    if (ranks.own) job = replay::alone(std::move(job.ranks[static_cast<size_t>(*ranks.own)]), ranks.run);
  }
  const match::Matching is = match::match(job, groups);
  bool any = ranks.run != ranks.recorded;
  for (int64_t rank = ranks.first(); rank < ranks.end(); ++rank) {
    const auto r = static_cast<size_t>(rank), recorded = static_cast<size_t>(ranks.plays(rank));
    changed.push_back(changed_nodes(before.ranks[recorded], members_of(was, before.ranks[recorded], recorded),
                                    job.ranks[r], members_of(is, job.ranks[r], r)));
    any |= std::find(changed.back().begin(), changed.back().end(), true) != changed.back().end();
  }
  if (!any) said = {no_effect(ranks.option, fmt::format("the job has {} ranks", ranks.recorded))};
  findings.insert(findings.end(), said.begin(), said.end());
  return {};
}

}  // namespace chakra::run
