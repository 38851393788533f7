// Which contention model a run takes, and why.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/sim/comparison.h"
#include "chakra/sim/engine/engine.h"
#include "chakra/sim/fluid_cost.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {
namespace {

/// Between the 1 % up to which a result in closed form counts as right and the 5 % from which it is wrong.
constexpr double kWorthFluid = 0.02;
constexpr size_t kLinksNamed = 3;
constexpr const char* kRunFluid = "run it with --congestion fluid";
constexpr const char* kRunItself =
    "this prediction holds in closed form only; 'chakra sim --congestion fluid' simulates the contention of a job, so "
    "compare a job with the change, such as one from 'chakra gen', to a job without it";

/// Why `fluid` cannot answer; empty: it can.
std::string only_closed(const SimInput& in) {
  if (!in.fabric.fits.empty()) return "the network's measured collectives hold in closed form only";
  if (!in.transfer_factors.empty() || in.decisive_path || !in.other_fabrics.empty())
    return "the requested answer exists in closed form only";
  if (in.collective_time) return "the caller's model of collectives holds in closed form only";
  return {};
}

/// How much longer the job takes at most, by its time in closed form.
double share(const SimReport& closed) {
  return closed.makespan_ps == 0
             ? 0
             : static_cast<double>(closed.sharing.longer_ps) / static_cast<double>(closed.makespan_ps);
}

/// Which part of the job's time closed form has wrong in collectives by themselves.
double own_share(const SimReport& closed) {
  return closed.makespan_ps == 0
             ? 0
             : static_cast<double>(closed.sharing.own.misses_ps) / static_cast<double>(closed.makespan_ps);
}
/// Each is worth fluid, or both together; then the larger one is the reason.
bool is_shared(const SimReport& closed) {
  const double shared = share(closed), own = own_share(closed);
  return shared > kWorthFluid || (shared + own > kWorthFluid && shared >= own);
}
bool is_own(const SimReport& closed) {
  const double shared = share(closed), own = own_share(closed);
  return own > kWorthFluid || (shared + own > kWorthFluid && own > shared);
}
bool matters(const SimReport& closed) { return is_shared(closed) || is_own(closed); }

std::string show_own(const Sharing::Own& own) {
  return fmt::format("{} takes {} over its links and {} in closed form", own.name, show_time(own.shared_ps),
                     show_time(own.closed_ps));
}

std::string show_link(const SharedLink& link) {
  return fmt::format("{} has a load of up to {:.1f} times its capacity", link.name, link.most);
}

// `sim.closed.shared` (warning): without congestion, collectives and messages need links at the same time, so that the
// job may take more than 2 % longer, alone or with sim.closed.collective; an estimate of the error, as a whole and by
// link.
Finding shared_finding(const SimReport& closed, const std::string& remedy) {
  std::string links;
  for (size_t i = 0; i < std::min(kLinksNamed, closed.sharing.links.size()); ++i) {
    const SharedLink& link = closed.sharing.links[i];
    links += fmt::format("{}{} and lacks {}", i ? ", " : "", show_link(link), show_time(link.lacks_ps));
  }
  return {"sim.closed.shared", Severity::warning, -1, -1,
          fmt::format("collectives and messages need {} links at the same time, which closed form leaves out: {}. "
                      "The job may take up to {} ({}) longer; {}",
                      show_count(static_cast<int64_t>(closed.sharing.count)), links,
                      show_time(closed.sharing.longer_ps), show_percent(share(closed)), remedy)};
}

// `sim.closed.collective` (warning): a collective whose members do not wait for each other, or come one after the
// other, takes another time over its links than in closed form; all such collectives of a rank, or they and shared
// links, make more than 2 % of the job
Finding own_finding(const SimReport& closed, const std::string& remedy) {
  return {"sim.closed.collective", Severity::warning, -1, -1,
          fmt::format("{}; all such collectives of a rank are off by up to {} ({} of the job) together; {}",
                      show_own(closed.sharing.own), show_time(closed.sharing.own.misses_ps),
                      show_percent(own_share(closed)), remedy)};
}

/// Why closed form takes another network than the one that there is, whatever the load; empty: it does not.
std::string other_network(const net::Fabric& fabric, const SimReport& closed) {
  if (closed.sharing.flows == 0) return {};
  const net::Routing kind = fabric.routing.kind;
  if ((kind == net::Routing::adaptive || kind == net::Routing::valiant) && !fabric.single_way())
    return fmt::format("the routing is {}",
                       std::find_if(net::kRoutings.begin(), net::kRoutings.end(), [&](const net::RoutingRow& row) {
                         return row.kind == kind;
                       })->name);
  return fabric.burst_bytes > 0 ? "the network has a burst" : "";
}

// `sim.closed.network` (warning): closed form leaves out bursts, adaptive routing and detours of the network
void add_findings(SimReport& closed, const std::string& other, const std::string& remedy) {
  if (is_shared(closed)) closed.findings.push_back(shared_finding(closed, remedy));
  if (is_own(closed)) closed.findings.push_back(own_finding(closed, remedy));
  if (!other.empty())
    closed.findings.push_back({"sim.closed.network", Severity::warning, -1, -1,
                               fmt::format("{}, which closed form leaves out; {}", other, remedy)});
}

Result<SimReport> simulate_as_asked(SimInput input) {
  const Congestion asked = input.congestion;
  const char* const remedy = input.decisive_path ? kRunItself : kRunFluid;
  const net::Fabric fabric = input.fabric;
  CHAKRA_ASSIGN(SimReport report, run_engine(std::move(input)));
  report.congestion = asked;
  report.congestion_reason = "as asked for";
  add_findings(report, asked == Congestion::closed ? other_network(fabric, report) : "", remedy);
  return report;
}

SimReport stay_closed(SimReport&& closed, std::string reason, const std::string& other, const std::string& remedy) {
  closed.congestion_reason = std::move(reason);
  add_findings(closed, other, remedy);
  return std::move(closed);
}

/// `remedy`: of a job that only closed form can simulate.
Result<SimReport> simulate_automatically(SimInput input, const char* remedy) {
  const std::string never = only_closed(input);
  const bool is_scaled = !input.transfer_factors.empty();  // the engine looks for no shared links then
  const double least = never.empty() ? least_fluid_seconds(input) : 0;
  std::optional<SimInput> again;  // a copy shares the traces' columns
  if (never.empty()) again = copy_whole(input);
  input.congestion = Congestion::closed;
  const net::Fabric fabric = input.fabric;
  CHAKRA_ASSIGN(SimReport closed, run_engine(std::move(input)));
  const std::string other = other_network(fabric, closed);
  const char* const in_closed_form = fabric.fits.empty() ? kRunItself : remedy;
  if (closed.interrupted) return stay_closed(std::move(closed), "stopped before more was known", other, kRunFluid);
  if (!matters(closed) && (other.empty() || !again))
    return stay_closed(std::move(closed),
                       is_scaled                   ? never
                       : closed.sharing.flows == 0 ? "the network carries no traffic"
                       : closed.sharing.count == 0 ? "no link is shared at the same time"
                                                   : "links are shared, but for less than 2 % of the time",
                       other, never.empty() ? kRunFluid : in_closed_form);
  if (!never.empty()) return stay_closed(std::move(closed), never, other, in_closed_form);
  const double whole_seconds = least + fluid_seconds(closed);
  const double most_share = std::min(1.0, kMostFluidSeconds / whole_seconds);
  again->congestion = Congestion::fluid;
  CHAKRA_ASSIGN(Attempt attempt, try_engine(std::move(*again), most_share));
  if (attempt.share > most_share) {
    const double seconds = whole_seconds * attempt.share;
    const std::string why = is_shared(closed) ? "links are shared"
                            : is_own(closed)  ? show_own(closed.sharing.own)
                                              : other;
    return stay_closed(std::move(closed),
                       fmt::format("{}, but fluid would take about {:.0f} s of processor time", why, seconds), other,
                       fmt::format("--congestion fluid would take about {:.0f} s of processor time", seconds));
  }
  std::string reason = is_shared(closed) ? show_link(closed.sharing.links.front())
                       : is_own(closed)  ? show_own(closed.sharing.own)
                                         : other;
  attempt.report.congestion = Congestion::fluid;
  attempt.report.congestion_reason = std::move(reason);
  attempt.report.sharing = std::move(closed.sharing);
  return std::move(attempt.report);
}

/// Return the report of a run, with the programs that its collectives refer to.
template <class Run>
Result<SimReport> run_whole(SimInput input, const Run& run) {
  std::vector<std::shared_ptr<const coll::Program>> programs = input.collectives.programs;
  const bool partial = input.partial;
  const std::atomic<bool>* const stop = input.stop;
  const auto no_answer = [] {
    return fail(Code::interrupted, "sim.interrupted", "stopped before a result was available");
  };
  if (!partial && stop && *stop) return no_answer();  // the engine looks now and then, small jobs end before
  auto report = run(std::move(input));
  if (!report) return report;
  if (report->interrupted && !partial) return no_answer();
  report->programs = std::move(programs);
  return report;
}

}  // namespace

Result<SimReport> simulate(SimInput input) {
  return run_whole(std::move(input), [](SimInput&& in) {
    return in.congestion == Congestion::automatic
               ? simulate_automatically(std::move(in), "run it with --congestion fluid, which ignores them")
               : simulate_as_asked(std::move(in));
  });
}

Result<SimReport> simulate_to_compare(SimInput input) {
  return run_whole(std::move(input), [](SimInput&& in) { return simulate_automatically(std::move(in), kRunItself); });
}

Result<void> simulate_alike(SimInput closed_input, SimReport& closed, SimInput fluid_input, SimReport& fluid) {
  const double seconds = least_fluid_seconds(closed_input) + fluid_seconds(closed);
  const double most_share = only_closed(closed_input).empty() ? std::min(1.0, kMostFluidSeconds / seconds) : -1;
  const std::string reason = fmt::format("as the job that it is compared with: {}", fluid.congestion_reason);
  if (most_share >= 0) {
    double share = 1;
    closed_input.congestion = Congestion::fluid;
    CHAKRA_ASSIGN(SimReport report, run_whole(std::move(closed_input), [&](SimInput&& in) -> Result<SimReport> {
                    CHAKRA_ASSIGN(Attempt attempt, try_engine(std::move(in), most_share));
                    share = attempt.share;
                    return std::move(attempt.report);
                  }));
    if (share <= most_share) {
      report.congestion = Congestion::fluid;
      report.congestion_reason = reason;
      report.sharing = std::move(closed.sharing);
      closed = std::move(report);
      return {};
    }
  }
  fluid_input.congestion = Congestion::closed;
  const net::Fabric fabric = fluid_input.fabric;
  CHAKRA_ASSIGN(SimReport report,
                run_whole(std::move(fluid_input), [](SimInput&& in) { return run_engine(std::move(in)); }));
  const std::string other = other_network(fabric, report);
  fluid = stay_closed(std::move(report), "as the job that it is compared with, for which fluid takes too long", other,
                      kRunItself);
  return {};
}

SimInput copy_whole(const SimInput& input) {
  SimInput copy;
  for (const trace::Trace& t : input.job.ranks) copy.job.ranks.push_back(t);
  copy.classes = input.classes;
  copy.fabric = input.fabric;
  copy.system = input.system;
  copy.groups = input.groups;
  copy.matching = input.matching;
  copy.timeline = input.timeline;
  copy.link_loads = input.link_loads;
  copy.collectives = input.collectives;
  copy.congestion = input.congestion;
  copy.packets = input.packets;
  copy.align_starts = input.align_starts;
  copy.transfers = input.transfers;
  copy.delays = input.delays;
  copy.transfer_factors = input.transfer_factors;
  copy.collective_time = input.collective_time;
  copy.decisive_path = input.decisive_path;
  copy.other_fabrics = input.other_fabrics;
  copy.node_times = input.node_times;
  copy.fold = input.fold;
  copy.exact_nodes = input.exact_nodes;
  copy.memory_use = input.memory_use;
  copy.memory = input.memory;
  copy.waits = input.waits;
  copy.stop = input.stop;
  copy.partial = input.partial;
  copy.progress = input.progress;
  return copy;
}

SimInput copy_of(const SimInput& input) {
  SimInput copy = copy_whole(input);
  copy.timeline = copy.link_loads = copy.partial = false;
  copy.other_fabrics.clear();
  copy.waits = nullptr;
  copy.progress = nullptr;
  return copy;
}

}  // namespace chakra::sim
