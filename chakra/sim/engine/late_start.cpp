#include "chakra/sim/engine/late_start.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "chakra/sim/engine/certain_order.h"

namespace chakra::sim {
namespace {

uint64_t order_of(const Actor& actor) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const trace::NodeId n : actor.trace->nodes()) hash = (hash ^ uint32_t{actor.queues.before(n)}) * 0x100000001b3;
  return hash;
}

std::string_view reliability(const LateStart& late) {
  if (late.certain) return "";
  return late.same_order ? " This holds unless a queue runs its nodes in another order within these times."
                         : " Queues run nodes in another order within these times, so they are estimates, not bounds.";
}

}  // namespace

std::vector<Earliest> take_earliest(Run& run) {
  std::vector<Earliest> out;
  for (Actor& actor : run.actors) out.push_back({actor.finish, order_of(actor), std::move(actor.times.end)});
  return out;
}

// `sim.late_start` (warning): ranks differ, or their places in the network do, and the job is too large to simulate
// all ranks that depend on these one by one. Collectives of many members begin when the last member arrives, so the
// times are upper bounds. The text has the lower bound. --no-fold simulates every rank.
void add_bounds(const Run& run, const std::vector<Earliest>& earliest, SimReport& report) {
  LateStart& late = report.late_start.emplace();
  late.exact_members = *run.job.folded.exact_members;
  for (size_t a = 0; a < earliest.size(); ++a) {
    const Actor& latest = run.actors[a];
    late.least_makespan_ps = std::max(late.least_makespan_ps, earliest[a].finish);
    late.most_rank_ps = std::max(late.most_rank_ps, latest.finish - earliest[a].finish);
    late.same_order &= earliest[a].order == order_of(latest);
  }
  late.certain = late.same_order;
  for (size_t a = 0; a < earliest.size() && late.certain; ++a)
    late.certain = order_is_certain(run.actors[a], earliest[a].ends);
  const Picoseconds less = report.makespan_ps - late.least_makespan_ps;
  const double share = report.makespan_ps > 0 ? static_cast<double>(less) / static_cast<double>(report.makespan_ps) : 0;
  report.findings.push_back(
      {"sim.late_start", Severity::warning, -1, -1,
       fmt::format("ranks or their places differ, so {} ranks are simulated as {}, and collectives of more than {} "
                   "members begin when the last member arrives. The job takes at most {}, and at most {} ({}) less; "
                   "the finish of a rank is at most {} too late.{} --no-fold is exact, but simulates every rank",
                   show_count(static_cast<int64_t>(run.job.folded.ranks.size())),
                   show_count(static_cast<int64_t>(earliest.size())), late.exact_members, show_time(report.makespan_ps),
                   show_time(less), show_percent(share), show_time(late.most_rank_ps), reliability(late))});
}

}  // namespace chakra::sim
