#include "chakra/replay/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <map>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "chakra/base/progress.h"
#include "chakra/replay/parties.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {
namespace {

using trace::NodeId;

bool is_selected(const JobOptions& options, int64_t rank, NodeId n) {
  const auto r = static_cast<size_t>(rank);
  return r >= options.selected.size() || options.selected[r].empty() || options.selected[r][n];
}

Result<RankRun> run_joined(const RankPlan& plan, const World& world, Rendezvous& rendezvous,
                           const JobOptions& options) {
  RunOptions run = options.run;
  if (static_cast<size_t>(world.rank) < options.selected.size())
    run.selected = options.selected[static_cast<size_t>(world.rank)];
  if (static_cast<size_t>(world.rank) < options.begins.size())
    run.begin_ps = options.begins[static_cast<size_t>(world.rank)];
  std::vector<Party> parties = parties_of(plan, run.selected);
  CHAKRA_TRY(compare_parties(parties, world.rank, options.agree, rendezvous));
  CHAKRA_ASSIGN(const auto session, options.backend->open(world, rendezvous, options.settings));
  CHAKRA_TRY(session->prepare(parties, run.verify));
  Result<RankRun> result = run_rank(plan, world, rendezvous, *session, *options.backend, run);
  if (!result) {
    session->abort(result.error().text);
    return result;
  }
  CHAKRA_TRY(session->close());
  return result;
}

Failure no_resources() {
  return fail(Code::io, "replay.threads",
              "cannot start a thread, or its memory is missing; use a process for each rank (--rank, --ranks) or a "
              "higher limit (ulimit -u)");
}

/// Call act(0) to act(count - 1), each in a separate thread; none of them before all threads exist.
template <class Act>
Result<void> as_threads(size_t count, const Act& act) {
  std::promise<bool> all_there;
  const std::shared_future<bool> go = all_there.get_future().share();
  std::vector<std::thread> threads;
  bool there = true;
  try {
    for (size_t i = 0; i < count; ++i)
      threads.emplace_back([&act, go, i] {
        if (go.get()) act(i);
      });
  } catch (const std::system_error&) {
    there = false;
  }
  all_there.set_value(there);
  for (std::thread& thread : threads) thread.join();
  if (!there) return no_resources();
  return {};
}

/// Whether a rank reports that others did not come or did not go on.
bool waits_for_others(const Error& error) {
  constexpr std::string_view kTags[] = {"replay.rank.aborted", "replay.rank.died", "replay.rendezvous.timeout"};
  return std::find(std::begin(kTags), std::end(kTags), error.tag) != std::end(kTags);
}

}  // namespace

Result<RankRun> run_one(const RankPlan& plan, const World& world, const JobOptions& options) {
  CHAKRA_ASSERT(options.backend && plan.trace->rank == world.rank && plan.ranks == world.ranks);
  if (options.backend->missing && !options.backend->missing().empty())
    return fail(Code::usage, "replay.backend.missing",
                fmt::format("the back end {} cannot be used: {}", options.backend->name, options.backend->missing()));
  CHAKRA_ASSIGN(const auto rendezvous, Rendezvous::join(world));
  Result<RankRun> result = run_joined(plan, world, *rendezvous, options);
  if (result) {
    CHAKRA_TRY(rendezvous->barrier());
    rendezvous->leave();
  } else {
    rendezvous->abort(result.error().text);
  }
  return result;
}

Result<std::vector<RankRun>> run_all(const std::vector<RankPlan>& plans, const World& world,
                                     const JobOptions& options) {
  CHAKRA_ASSERT(!plans.empty());
  if (!options.backend->threads && plans.size() > 1)
    return fail(Code::usage, "replay.backend.processes",
                fmt::format("the back end {} requires a process for each rank: start {} with its launcher, or "
                            "with --rank, --ranks and --rendezvous",
                            options.backend->name, plans.size()));
  const auto ranks = static_cast<int64_t>(plans.size());
  CHAKRA_ASSIGN(const auto server, Server::start_private(ranks));
  std::vector<std::optional<Result<RankRun>>> results(plans.size());
  const auto run_rank_of = [&](size_t r) -> Result<RankRun> {
    World own = world;
    own.rank = static_cast<int64_t>(r);
    own.ranks = ranks;
    own.rendezvous = server->address();
    own.token = server->token();
    own.served = true;
    try {
      return run_one(plans[r], own, options);
    } catch (const std::bad_alloc&) {
      return no_resources();
    } catch (const std::system_error&) {
      return no_resources();
    }
  };
  Result<void> started;
  const ProgressPtr watch = current_watch();
  run_while_asking([&] {
    started = as_threads(plans.size(), [&](size_t r) {
      const WatchedToo watched(watch);
      results[r] = run_rank_of(r);
    });
  });
  CHAKRA_TRY(started);
  CHAKRA_TRY(keep_going());
  // The error of a rank that failed is the cause; the errors of the ranks that waited for that rank are not.
  const Error* worst = nullptr;
  for (const auto& result : results)
    if (!*result && (!worst || waits_for_others(*worst))) worst = &result->error();
  if (worst && waits_for_others(*worst) && server->lacks_descriptors())
    return no_descriptor("the rendezvous of the ranks");
  if (worst) return Failure(*worst);
  std::vector<RankRun> runs;
  for (auto& result : results) runs.push_back(std::move(**result));
  return runs;
}

result::Timeline timeline_of(const std::vector<RankPlan>& plans, const std::vector<RankRun>& runs,
                             const JobOptions& options) {
  CHAKRA_ASSERT(plans.size() == runs.size());
  result::Timeline timeline;
  for (size_t r = 0; r < plans.size(); ++r) {
    const trace::Trace& t = *plans[r].trace;
    const feed::Queues queues(t, plans[r].turns);
    const auto first = static_cast<uint32_t>(timeline.tracks.size());
    for (uint32_t queue = 0; queue <= queues.fixed(); ++queue)  // the last: nodes without a queue
      timeline.tracks.push_back({t.rank, feed::queue_name(t, queue)});
    std::map<uint32_t, uint32_t> of_group;
    const auto track = [&](NodeId n) {
      const uint32_t queue = queues.of(n);
      if (queue == feed::Queues::kNone) return first + queues.fixed();
      if (queue < queues.fixed()) return first + queue;
      const auto [found, added] = of_group.emplace(queue, static_cast<uint32_t>(timeline.tracks.size()));
      if (added)
        timeline.tracks.push_back({t.rank, fmt::format("collectives of group {}", quote(t.strings[t.comm(n)->group]))});
      return found->second;
    };
    for (const NodeTimes& times : runs[r].times)
      for (const NodeId n : t.nodes()) {
        const std::string_view name = t.name_of(n);
        if (t.type[n] == trace::NodeType::metadata || name == trace::kHostGap || name == trace::kInitialCondition ||
            !is_selected(options, t.rank, n))
          continue;
        timeline.slices.push_back({track(n), timeline.strings.intern(name),
                                   timeline.strings.intern(trace::name(t.type[n])), times.start[n], times.end[n],
                                   t.id[n]});
      }
  }
  return timeline;
}

}  // namespace chakra::replay
