#include "chakra/sim/engine/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "chakra/sim/retarget.h"
#include "chakra/work/work.h"

namespace chakra::sim {
namespace {

using Totals = std::map<CollectiveKind, CollectiveTotals>;

void summarize_ranks(Run& run) {
  const Folded& folded = run.job.folded;
  for (uint32_t i = 0; i < folded.ranks.size(); ++i) {
    Actor& actor = run.actors[folded.actor_of[i]];
    Account& account = actor.account;
    account.end_stretch();
    CHAKRA_ASSERT(account.total() == actor.finish);  // the parts add up
    run.report.makespan_ps = std::max(run.report.makespan_ps, actor.finish);
    run.report.ranks.push_back({folded.ranks[i], actor.finish, account.compute, account.communication(),
                                account.storage, account.host, account.bubble, account.idle, folded.actor_of[i]});
  }
}

/// What the actor did per second, and on what.
void count_work(const Actor& actor, const device::System& system, ActorReport& report) {
  const trace::Trace& t = *actor.trace;
  for (const trace::NodeId n : t.nodes())
    if (t.type[n] == trace::NodeType::comp && !t.on_cpu(n) && actor.times.end[n] >= 0)
      report.work.add(work::work_of(t, n));
  const device::Device* on = system.device_of(t.rank);
  const std::optional<device::Device> recorded = on ? std::nullopt : recorded_device(t, system);
  if (!on && recorded) on = &*recorded;
  if (on) report.device = on->name;
  report.rates = device::rates(report.work, actor.finish - actor.traits.start_ps, on, device::devices_with_work(t));
}

void summarize_actors(Run& run) {
  for (const ActorId a : ids<ActorId>(run.actors.size())) {
    ActorReport& actor = run.report.actors.emplace_back();
    actor.ranks = run.job.folded.count[a];
    count_work(run.actors[a], run.in.system, actor);
    const std::vector<Picoseconds>& exposed = run.actors[a].account.exposed;
    for (size_t k = 0; k < exposed.size(); ++k) {
      const auto& [group, type] = run.exposed[k];
      if (exposed[k] > 0)
        actor.exposed.push_back({group == kNobody ? "" : run.job.matching.groups[group].name, type, exposed[k]});
    }
  }
}

CollectiveReport report_of(const CollectiveKind& kind, const CollectiveTotals& totals, uint32_t members) {
  CollectiveReport c;
  c.type = std::get<1>(kind);
  c.bytes = std::get<2>(kind);
  c.members = members;
  c.count = totals.count;
  c.total_ps = totals.time;
  c.wait_ps = totals.wait;
  c.algorithm = totals.algorithm;
  c.near = totals.near;
  c.by_rule = totals.by_rule;
  c.candidates = totals.candidates;
  if (const auto& known = totals.fitted)
    c.fitted = {std::string(known->fit->form->algorithm),
                known->protocol->name,
                known->fit->error_percent,
                known->fit->worst_percent,
                known->fit->ranks,
                known->fit->nodes,
                known->fit->from_bytes,
                known->fit->to_bytes,
                known->other_ranks,
                known->other_bytes,
                known->fit->across && known->fit->nodes.empty()};
  if (totals.time > 0) {
    c.algorithm_bytes_per_s = coll::algorithm_factor(c.type, c.members) * static_cast<double>(c.bytes) *
                              static_cast<double>(totals.count) / (static_cast<double>(totals.time) / kPsPerSecond);
    c.bus_bytes_per_s = c.algorithm_bytes_per_s * coll::bus_factor(c.type, c.members);
  }
  return c;
}

/// A row per group of the job, also where several were simulated as one.
void summarize_collectives(Run& run, const Totals& totals) {
  std::vector<CollectiveReport>& rows = run.report.collectives;
  for (const auto& [kind, of_kind] : totals) {
    const Folded::Group& whole = run.job.folded.groups[run.job.places[std::get<0>(kind)].folded];
    const CollectiveReport c = report_of(kind, of_kind, static_cast<uint32_t>(whole.ranks.size()));
    for (const std::string& name : whole.names) {
      rows.push_back(c);
      rows.back().group = name;
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const CollectiveReport& a, const CollectiveReport& b) {
    // "tp2" before "tp10"
    return std::tuple(a.group.size(), std::string_view(a.group)) <
           std::tuple(b.group.size(), std::string_view(b.group));
  });
}

/// What the fits that a job used say together.
struct FitsUsed {
  int64_t fitted = 0, beyond = 0, parts = 0, other = 0;  ///< collectives
  double error = -1, worst = -1;
  int64_t least_ranks = INT64_MAX, most_ranks = 0, most_nodes = 1;
  uint64_t from_bytes = UINT64_MAX, to_bytes = 0;

  void add(const CollectiveReport& c) {
    if (!c.fitted) {
      if (!c.by_rule) other += c.count;
      return;
    }
    fitted += c.count;
    if (c.fitted->from_parts) {
      parts += c.count;
      return;
    }
    if (!c.fitted->nodes.empty()) most_nodes = std::max(most_nodes, c.fitted->nodes.back());
    if (c.fitted->other_ranks || c.fitted->other_bytes) beyond += c.count;
    error = std::max(error, c.fitted->error_percent);
    worst = std::max(worst, c.fitted->worst_percent);
    least_ranks = std::min(least_ranks, c.fitted->ranks.front());
    most_ranks = std::max(most_ranks, c.fitted->ranks.back());
    from_bytes = std::min(from_bytes, c.fitted->from_bytes);
    to_bytes = std::max(to_bytes, c.fitted->to_bytes);
  }
  std::string range() const {
    return fmt::format(
        "measured with {} ranks{} and {}",
        least_ranks == most_ranks ? fmt::format("{}", most_ranks) : fmt::format("{} to {}", least_ranks, most_ranks),
        most_nodes > 1 ? fmt::format(" of each of up to {} nodes", most_nodes) : "",
        to_bytes == UINT64_MAX ? "any size"
                               : fmt::format("{} to {}", show_bytes(static_cast<double>(from_bytes)),
                                             show_bytes(static_cast<double>(to_bytes))));
  }
  std::string off() const {
    return error < 0 ? "the file does not give their error"
                     : fmt::format("on held-out measurements the error was {:.1f} %, {:.1f} % at worst", error,
                                   std::max(error, worst));
  }
};

/// How far the network's fits can be trusted, and where the job goes beyond them.
void look_at_fits(Run& run) {
  if (run.in.fabric.fits.empty()) return;
  const auto note = [&](const char* tag, Severity severity, std::string text) {
    run.report.findings.push_back({tag, severity, -1, -1, std::move(text)});
  };
  if (run.traffic)
    return note("sim.fitted.not_used", Severity::warning,
                "the network's measured 'collectives' apply only without congestion; this run uses links and "
                "algorithms instead");
  FitsUsed used;
  for (const CollectiveReport& c : run.report.collectives) used.add(c);
  if (used.fitted > used.parts)
    note("sim.fitted.error", Severity::note,
         fmt::format("{} of the collectives use the fits of the network file, {}; {}",
                     show_count(used.fitted - used.parts), used.range(), used.off()));
  if (used.parts > 0)
    note("sim.fitted.parts", Severity::warning,
         fmt::format("{} of the collectives were not measured across nodes: their times combine measurements inside a "
                     "node, the rate between nodes and assumed step times, and their error is unknown",
                     show_count(used.parts)));
  if (used.beyond > 0)
    note("sim.fitted.beyond", Severity::warning,
         fmt::format("{} of the collectives are outside the measured sizes or numbers of members: their times are "
                     "extrapolated, with an unknown error",
                     show_count(used.beyond)));
  if (used.other > 0)
    note("sim.fitted.none", Severity::warning,
         fmt::format("the network file has no fit for {} of the collectives: links and algorithms give their times",
                     show_count(used.other)));
}

void look_at_burst(Run& run) {
  if (run.in.fabric.burst_bytes > 0 && run.in.congestion != Congestion::fluid)
    run.report.findings.push_back({"sim.burst.not_used", Severity::warning, -1, -1,
                                   "the network's 'burst' has no effect: only the contention model fluid supports it"});
}

void summarize_links(Run& run) {
  const net::Fabric& fabric = run.in.fabric;
  for (const net::LinkTotal& total : run.traffic->totals()) {
    const net::Link link = fabric.link(total.link);
    run.report.links.push_back(
        {fabric.device_name(link.from), fabric.device_name(link.to), total.bytes, total.busy_ps});
  }
  if (run.in.link_loads)
    run.report.link_loads = loads_over_time(fabric, run.traffic->history(), run.report.makespan_ps);
}

}  // namespace

void summarize(Run& run, const Totals& totals) {
  summarize_ranks(run);
  summarize_actors(run);
  summarize_collectives(run, totals);
  if (run.traffic) summarize_links(run);
  look_at_fits(run);
  look_at_burst(run);
}

}  // namespace chakra::sim
