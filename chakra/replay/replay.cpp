#include "chakra/replay/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "chakra/replay/wire.h"

namespace chakra::replay {
namespace {

using trace::NodeId;

bool is_selected(const JobOptions& options, int64_t rank, NodeId n) {
  const auto r = static_cast<size_t>(rank);
  return r >= options.selected.size() || options.selected[r].empty() || options.selected[r][n];
}

/// What a rank has to do with others in a group or a channel.
struct Dealing {
  std::vector<int64_t> partners;  ///< all who take part, ascending
  std::string what;               ///< the same at all of them
};
using Dealings = std::map<std::string, Dealing>;

Dealings dealings_of(const RankPlan& plan, const JobOptions& options) {
  struct Sum {
    Dealing dealing;
    uint64_t count = 0, types = 0;
  };
  std::map<std::string, Sum> sums;
  const trace::Trace& t = *plan.trace;
  for (NodeId n = 0; n < t.size(); ++n) {
    if (!trace::is_comm(t.type[n]) || !is_selected(options, t.rank, n)) continue;
    const Operation& op = plan.step(n).operation;
    const bool is_collective = op.kind == Operation::Kind::collective;
    const bool sends = op.kind == Operation::Kind::send;
    Sum& sum = sums[is_collective ? fmt::format("group {}", quote(op.group))
                                  : fmt::format("messages from rank {} to rank {} with tag {}",
                                                sends ? t.rank : op.partner, sends ? op.partner : t.rank, op.tag)];
    if (sum.count++ == 0) {
      if (is_collective) sum.dealing.partners.assign(op.members.begin(), op.members.end());
      else sum.dealing.partners = {t.rank, op.partner};
      std::sort(sum.dealing.partners.begin(), sum.dealing.partners.end());
    }
    // In any order, since lanes are listed in any order.
    if (is_collective) sum.types += (op.index + 1) * 0x9e3779b97f4a7c15 * (1 + static_cast<uint64_t>(op.type));
  }
  Dealings all;
  for (auto& [key, sum] : sums) {
    sum.dealing.what = fmt::format("{} of {} ranks/{:x}", sum.count, sum.dealing.partners.size(), sum.types);
    all.emplace(key, std::move(sum.dealing));
  }
  return all;
}

/// Every rank of the same mind about who does what with whom.
Result<void> compare_dealings(const RankPlan& plan, const JobOptions& options, Rendezvous& rendezvous) {
  const Dealings own = dealings_of(plan, options);
  BodyWriter mine;
  for (const auto& [key, dealing] : own) mine.text(key).text(dealing.what);
  CHAKRA_ASSIGN(const std::vector<std::string> all, rendezvous.exchange(mine.body));
  std::vector<std::map<std::string_view, std::string_view>> said(all.size());
  for (size_t r = 0; r < all.size(); ++r) {
    BodyReader read(all[r]);
    for (std::string_view key = read.text(); read.ok(); key = read.text()) said[r][key] = read.text();
  }
  for (const auto& [key, dealing] : own)
    for (const int64_t rank : dealing.partners) {
      const auto& its = said[static_cast<size_t>(rank)];
      const auto found = its.find(key);
      if (found != its.end() && found->second == dealing.what) continue;
      const auto count = [](std::string_view what) { return what.substr(0, what.find(' ')); };
      return fail(
          Code::bad_input, "replay.comm.differ",
          fmt::format("{}: rank {} would run {}, and rank {} {}{}; 'chakra check' says where they part, "
                      "--no-check runs them nevertheless",
                      key, plan.trace->rank, count(dealing.what), rank, found == its.end() ? "0" : count(found->second),
                      found != its.end() && count(found->second) == count(dealing.what)
                          ? " of other types or with other members"
                          : ""));
    }
  return {};
}

Result<RankRun> run_joined(const RankPlan& plan, const World& world, Rendezvous& rendezvous,
                           const JobOptions& options) {
  if (options.agree) CHAKRA_TRY(compare_dealings(plan, options, rendezvous));
  CHAKRA_ASSIGN(const auto session, options.backend->open(world, rendezvous, options.settings));
  RunOptions run = options.run;
  if (static_cast<size_t>(world.rank) < options.selected.size())
    run.selected = options.selected[static_cast<size_t>(world.rank)];
  Result<RankRun> result = run_rank(plan, world, rendezvous, *session, *options.backend, run);
  if (!result) {
    session->abort(result.error().text);
    return result;
  }
  CHAKRA_TRY(session->close());
  return result;
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
                fmt::format("the back end {} wants a process for each rank: start {} of them with its launcher, or "
                            "with --rank, --ranks and --rendezvous",
                            options.backend->name, plans.size()));
  const auto ranks = static_cast<int64_t>(plans.size());
  CHAKRA_ASSIGN(const auto server, Server::start_private(ranks));
  std::vector<std::optional<Result<RankRun>>> results(plans.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < plans.size(); ++r)
    threads.emplace_back([&, r] {
      World own = world;
      own.rank = static_cast<int64_t>(r);
      own.ranks = ranks;
      own.rendezvous = server->address();
      own.served = true;
      results[r] = run_one(plans[r], own, options);
    });
  for (std::thread& thread : threads) thread.join();
  // What other ranks say of one that failed says less than what it says itself.
  const Error* worst = nullptr;
  for (const auto& result : results)
    if (!*result && (!worst || worst->tag == "replay.rank.aborted" || worst->tag == "replay.rank.died"))
      worst = &result->error();
  if (worst) return tl::unexpected<Error>(*worst);
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
      for (NodeId n = 0; n < t.size(); ++n) {
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
