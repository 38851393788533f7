// The answer of a simulation: each number once, with its key, unit and meaning.
#include <algorithm>
#include <limits>

#include "chakra/job/answer_rows.h"
#include "chakra/job/report_parts.h"
#include "chakra/job/simulate.h"

namespace chakra::job {
namespace {

using answer::column;
using answer::Missing;
using answer::rows;
using answer::Unit;
using sim::ActorReport;
using sim::CollectiveReport;
using sim::LinkReport;
using sim::PathPiece;
using sim::RankReport;
using sim::SimReport;
using sim::TierReport;

constexpr std::array kRun{
    column<SimulateResult>("mode", Unit::none, "rules of the run: native or astra-sim",
                           [](const auto& r) { return std::string(r.compat ? "astra-sim" : "native"); }),
    column<&SimulateResult::network>("network", Unit::none, "the network, described"),
    column<SimulateResult>("makespan_ps", Unit::ps, "from the first start of a rank to the last finish",
                           [](const auto& r) { return r.report.makespan_ps; }),
    column<SimulateResult>("interrupted", Unit::none, "the run was ended before the job",
                           [](const auto& r) { return r.report.interrupted; }),
    column<SimulateResult>("events", Unit::count, "events of the run", [](const auto& r) { return r.report.events; })};

/// A rank, and what of it only some runs have.
struct Rank {
  const RankReport* rank;
  bool native, tiers;
};
template <Picoseconds RankReport::*Member>
constexpr auto native_part(std::string_view key, std::string_view meaning) {
  return column<Rank>(
      key, Unit::ps, meaning, [](const Rank& r) { return r.native ? std::optional(r.rank->*Member) : std::nullopt; },
      Missing::left_out);
}
constexpr std::array kRanks{
    column<Rank>("rank", Unit::id, "the rank", [](const Rank& r) { return r.rank->rank; }),
    column<Rank>("finish_ps", Unit::ps, "end of its last node", [](const Rank& r) { return r.rank->finish_ps; }),
    column<Rank>("compute_ps", Unit::ps, "a compute node runs", [](const Rank& r) { return r.rank->compute_ps; }),
    column<Rank>("exposed_comm_ps", Unit::ps, "communication runs or waits, and nothing computes",
                 [](const Rank& r) { return r.rank->exposed_comm_ps; }),
    native_part<&RankReport::host_ps>("host_ps", "only its CPU runs"),
    native_part<&RankReport::bubble_ps>("bubble_ps", "it waits for a message that nobody has sent yet"),
    column<Rank>(
        "exposed_storage_ps", Unit::ps, "a tier of storage serves it, and nothing computes",
        [](const Rank& r) { return r.tiers ? std::optional(r.rank->exposed_storage_ps) : std::nullopt; },
        Missing::left_out),
    column<Rank>("idle_ps", Unit::ps, "the rest: all parts add up to finish_ps",
                 [](const Rank& r) { return r.rank->idle_ps; }),
    column<Rank>(
        "actor", Unit::id, "the row of actors that stands for it",
        [](const Rank& r) { return r.native ? std::optional(uint32_t{r.rank->actor}) : std::nullopt; },
        Missing::left_out)};

/// Of a fit where there is one, else nothing.
template <class Get>
constexpr auto of_fit(std::string_view key, Unit unit, std::string_view meaning, Get) {
  using Value = std::invoke_result_t<Get, const sim::FittedCollective&>;
  return column<CollectiveReport>(
      key, unit, meaning,
      [](const CollectiveReport& c) { return c.fitted ? std::optional<Value>(Get{}(*c.fitted)) : std::nullopt; },
      Missing::left_out);
}
/// The same of numbers that a fit may not say: null then, as NaN is.
template <double sim::FittedCollective::*Member>
constexpr auto percent_of_fit(std::string_view key, std::string_view meaning) {
  return of_fit(key, Unit::percent, meaning, [](const sim::FittedCollective& fit) {
    return fit.*Member < 0 ? std::numeric_limits<double>::quiet_NaN() : fit.*Member;
  });
}
template <class Get>
constexpr auto of_algorithm(std::string_view key, std::string_view meaning, Get) {
  return column<CollectiveReport>(
      key, Unit::none, meaning,
      [](const CollectiveReport& c) { return c.algorithm ? std::optional<bool>(Get{}(c)) : std::nullopt; },
      Missing::left_out);
}
/// Why a collective is done as it is.
struct Choice {
  std::optional<std::string> why, next;
  std::optional<double> longer;
};
Choice choice_of(const CollectiveReport& c) {
  if (c.fitted)
    return {c.fitted->from_parts                             ? "fitted, from parts"
            : c.fitted->other_ranks || c.fitted->other_bytes ? "fitted, extrapolated"
                                                             : "fitted",
            {},
            {}};
  if (!c.algorithm) return {};
  if (c.by_rule) return {"asked for", {}, {}};
  const coll::Candidate *taken = nullptr, *next = nullptr;
  for (const coll::Candidate& other : c.candidates) {
    if (other.algorithm == c.algorithm && (other.near || other.by_grid) == c.near &&
        (!taken || !taken->predicted_ps || (other.predicted_ps && *other.predicted_ps < *taken->predicted_ps)))
      taken = &other;
    else if (other.algorithm != c.algorithm && other.predicted_ps &&
             (!next || *other.predicted_ps < *next->predicted_ps))
      next = &other;
  }
  if (!taken || !taken->predicted_ps) return {"too large to compare", {}, {}};
  if (!next || *taken->predicted_ps == 0) return {"no other", {}, {}};
  return {"by price", std::string(next->algorithm->name),
          static_cast<double>(*next->predicted_ps) / static_cast<double>(*taken->predicted_ps) - 1};
}
constexpr auto kHasFit = [](const CollectiveReport& c) { return c.fitted.has_value(); };
constexpr std::array kCollectives{
    column<&CollectiveReport::group>("group", Unit::none, "the process group"),
    column<CollectiveReport>("type", Unit::none, "the operation",
                             [](const auto& c) { return std::string(trace::name(c.type)); }),
    column<&CollectiveReport::bytes>("bytes", Unit::bytes, "of one, as comm_size says"),
    column<&CollectiveReport::members>("members", Unit::count, "ranks of the group"),
    column<&CollectiveReport::count>("count", Unit::count, "how many there are"),
    column<&CollectiveReport::total_ps>("total_ps", Unit::ps, "sum from the last arrival to the end"),
    column<&CollectiveReport::wait_ps>("wait_ps", Unit::ps, "sum from the first to the last arrival"),
    column<&CollectiveReport::algorithm_bytes_per_s>("algorithm_bytes_per_s", Unit::bytes_per_s,
                                                     "bytes of all divided by total_ps"),
    column<&CollectiveReport::bus_bytes_per_s>("bus_bytes_per_s", Unit::bytes_per_s,
                                               "as nccl-tests defines it: comparable with the rate of a link"),
    column<CollectiveReport>(
        "algorithm", Unit::none, "the algorithm that was taken",
        [](const CollectiveReport& c) -> std::optional<std::string> {
          if (c.algorithm) return std::string(c.algorithm->name);
          if (c.fitted) return c.fitted->algorithm;
          return std::nullopt;
        },
        Missing::left_out),
    of_algorithm("near_order", "members are in the order of the network", [](const auto& c) { return c.near; }),
    of_algorithm("by_rule", "a rule of --collectives or the system file says it",
                 [](const auto& c) { return c.by_rule; }),
    column<CollectiveReport>(
        "choice", Unit::none, "why this algorithm", [](const auto& c) { return choice_of(c).why; }, Missing::left_out),
    column<CollectiveReport>(
        "next_best", Unit::none, "the fastest other algorithm that was looked at",
        [](const auto& c) { return choice_of(c).next; }, Missing::left_out),
    column<CollectiveReport>(
        "next_best_longer", Unit::share, "how much longer that takes alone; below 0: less",
        [](const auto& c) { return choice_of(c).longer; }, Missing::left_out),
    rows<CollectiveReport>("candidates", "algorithms that were looked at",
                           [](const CollectiveReport& c) { return c.algorithm != nullptr; }),
    of_fit("protocol", Unit::none, "the protocol of the measurements", [](const auto& f) { return f.protocol; }),
    percent_of_fit<&sim::FittedCollective::error_percent>("fitted_error_percent", "mean error of the fit"),
    percent_of_fit<&sim::FittedCollective::worst_percent>("fitted_worst_percent", "worst error of the fit"),
    rows<CollectiveReport>("fitted_ranks", "numbers of members that were measured", kHasFit),
    rows<CollectiveReport>("fitted_nodes", "numbers of nodes that were measured", kHasFit),
    of_fit("fitted_from_parts", Unit::none, "put together from parts, not measured",
           [](const auto& f) { return f.from_parts; }),
    of_fit("fitted_from_bytes", Unit::bytes, "the smallest size that was measured",
           [](const auto& f) { return f.from_bytes; }),
    of_fit("fitted_to_bytes", Unit::bytes, "the largest size that was measured",
           [](const auto& f) { return f.to_bytes; }),
    of_fit("extrapolated", Unit::none, "beyond what was measured",
           [](const auto& f) { return f.other_ranks || f.other_bytes; })};
constexpr std::array kCandidates{
    column<coll::Candidate>("algorithm", Unit::none, "the algorithm",
                            [](const auto& c) { return std::string(c.algorithm->name); }),
    column<coll::Candidate>("near_order", Unit::none, "members in the order of the network",
                            [](const auto& c) { return c.near || c.by_grid; }),
    column<&coll::Candidate::predicted_ps>("predicted_ps", Unit::ps, "its time alone; null where it was not priced"),
    column<&coll::Candidate::sampled>("sampled", Unit::none, "priced by a sample of its transfers")};

constexpr std::array kCongestion{
    column<SimReport>(
        "mode", Unit::none, "closed, fluid or packet",
        [](const auto& r) { return std::string(sim::kCongestionNames[static_cast<size_t>(r.congestion)]); }),
    column<&SimReport::congestion_reason>("reason", Unit::none, "why this mode"),
    column<SimReport>("closed_misses_ps", Unit::ps, "how much longer the job may take than in closed form, at most",
                      [](const auto& r) { return r.sharing.longer_ps; })};
constexpr std::array kSharedLinks{
    column<&sim::SharedLink::name>("link", Unit::none, "the link; one of those that look alike"),
    column<&sim::SharedLink::most>("asked", Unit::none, "how often its rate is asked for at a time, at most"),
    column<&sim::SharedLink::lacks_ps>("lacks_ps", Unit::ps, "how much longer it needs for that")};

constexpr std::array kActors{
    column<&ActorReport::ranks>("ranks", Unit::count, "how many ranks it stands for"),
    rows<ActorReport>("exposed", "what makes up exposed_comm_ps"),
    column<&ActorReport::device>("device", Unit::none, "the device; empty where it is not known"),
    column<ActorReport>("ops", Unit::flop, "operations of each rank", [](const auto& a) { return a.work.all_ops(); }),
    column<ActorReport>("bytes", Unit::bytes, "bytes that each rank moves in memory",
                        [](const auto& a) { return a.work.bytes; }),
    column<ActorReport>("ops_per_s", Unit::flop_per_s, "operations by the time of the rank",
                        [](const auto& a) { return a.rates.ops_per_s; }),
    column<ActorReport>("bytes_per_s", Unit::bytes_per_s, "bytes by the time of the rank",
                        [](const auto& a) { return a.rates.bytes_per_s; }),
    column<ActorReport>("mfu", Unit::share, "share of the device's peak; null where it is not known",
                        [](const auto& a) { return a.rates.mfu; })};
constexpr std::array kExposed{
    column<ActorReport::Exposed>("what", Unit::none, "the operation, or messages",
                                 [](const auto& e) {
                                   return e.type == trace::CommType::unknown ? std::string("messages")
                                                                             : std::string(trace::name(e.type));
                                 }),
    column<&ActorReport::Exposed::group>("group", Unit::none, "the process group; empty for messages"),
    column<&ActorReport::Exposed::time_ps>("time_ps", Unit::ps, "its part of exposed_comm_ps")};

/// Device time by where it comes from, where some of it is predicted.
struct DeviceTime {
  struct Part {
    Picoseconds time = 0, unknown = 0;
    double off_ps = 0;
    void add(const sim::ScaledTime& row) {
      time = add_saturated(time, row.after_ps);
      unknown = add_saturated(unknown, row.unknown_ps);
      off_ps += row.off_ps;
    }
  };
  Part kernels, estimated, other;
  explicit DeviceTime(const SimReport& report) {
    for (const sim::ScaledTime& row : report.devices)
      (is_measured_kernel(row.how) ? kernels : is_predicted(row.how) ? estimated : other).add(row);
  }
  bool predicted() const { return kernels.time > 0 || estimated.time > 0; }
};
template <DeviceTime::Part DeviceTime::*Part>
constexpr auto part_time(std::string_view key, std::string_view meaning) {
  return column<DeviceTime>(
      key, Unit::ps, meaning,
      [](const DeviceTime& d) { return (d.*Part).time > 0 ? std::optional((d.*Part).time) : std::nullopt; },
      Missing::left_out);
}
template <DeviceTime::Part DeviceTime::*Part>
constexpr auto part_error(std::string_view key) {
  return column<DeviceTime>(
      key, Unit::share, "its error; null where it is not known of all of it", [](const DeviceTime& d) {
        const DeviceTime::Part& part = d.*Part;
        return part.time > 0 && part.unknown == 0 ? std::optional(part.off_ps / static_cast<double>(part.time))
                                                  : std::nullopt;
      });
}
constexpr std::array kDeviceTime{
    column<DeviceTime>(
        "time_ps", Unit::ps, "device time of all ranks, where some of it is predicted",
        [](const auto& d) { return add_saturated(add_saturated(d.kernels.time, d.estimated.time), d.other.time); }),
    part_time<&DeviceTime::kernels>("measured_kernels.time_ps", "from measured kernels"),
    part_error<&DeviceTime::kernels>("measured_kernels.error"),
    part_time<&DeviceTime::estimated>("estimated.time_ps", "from estimates"),
    part_error<&DeviceTime::estimated>("estimated.error"),
    part_time<&DeviceTime::other>("other.time_ps", "scaled, or as recorded"),
    part_error<&DeviceTime::other>("other.error")};
constexpr std::array kThroughput{
    column<&Throughput::tokens_per_s>("tokens_per_s", Unit::none, "tokens a second, of the job"),
    column<&Throughput::tokens_per_s_per_rank>("tokens_per_s_per_rank", Unit::none, "the same by the number of ranks"),
    column<&Throughput::model_ops_per_s>("model_ops_per_s_per_rank", Unit::flop_per_s,
                                         "operations of the model, without what is computed again"),
    column<&Throughput::mfu>("mfu", Unit::share, "their share of the peak; null where it is not known")};
/// How evenly links are used: one that carries what eight should stands out.
struct LinkUse {
  int64_t links = 0;
  Picoseconds most_ps = 0, median_ps = 0;
  explicit LinkUse(const std::vector<LinkReport>& of) {
    std::vector<Picoseconds> busy;
    for (const LinkReport& link : of) busy.push_back(link.busy_ps);
    if (busy.empty()) return;
    std::sort(busy.begin(), busy.end());
    links = static_cast<int64_t>(busy.size());
    most_ps = busy.back();
    median_ps = busy[busy.size() / 2];
  }
};
constexpr std::array kLinkUse{
    column<&LinkUse::links>("links", Unit::count, "links that carried something"),
    column<&LinkUse::most_ps>("most_busy_ps", Unit::ps, "how long the busiest was busy"),
    column<&LinkUse::median_ps>("median_busy_ps", Unit::ps, "half of them were busy for this or less")};
constexpr std::array kLinks{column<&LinkReport::from>("from", Unit::none, "where it begins"),
                            column<&LinkReport::to>("to", Unit::none, "where it ends"),
                            column<&LinkReport::bytes>("bytes", Unit::bytes, "what it carried"),
                            column<&LinkReport::busy_ps>("busy_ps", Unit::ps, "how long it was busy")};
constexpr std::array kTiers{
    column<&TierReport::name>("tier", Unit::none, "the tier of storage"),
    column<TierReport>(
        "scope", Unit::none, "whom one place serves: rank, node or all",
        [](const auto& t) { return std::string(device::kTierScopeNames[static_cast<size_t>(t.scope)]); }),
    column<&TierReport::places>("places", Unit::count, "how many places there are"),
    column<TierReport>("operations", Unit::count, "operations of all kinds",
                       [](const auto& t) {
                         int64_t operations = 0;
                         for (const TierReport::Kind& kind : t.kinds) operations += kind.count;
                         return operations;
                       }),
    column<&TierReport::bytes>("bytes", Unit::bytes, "what all of them moved"),
    column<&TierReport::busy_ps>("busy_ps", Unit::ps, "how long the busiest of them moved bytes"),
    rows<TierReport>("kinds", "its operations by kind")};
constexpr std::array kTierKinds{
    column<&TierReport::Kind::io_kind>("io_kind", Unit::none, "the kind; load and store where nodes have none"),
    column<&TierReport::Kind::count>("count", Unit::count, "operations"),
    column<&TierReport::Kind::bytes>("bytes", Unit::bytes, "what they moved"),
    column<&TierReport::Kind::total_ps>("total_ps", Unit::ps, "sum from their beginnings to their ends"),
    column<&TierReport::Kind::bytes_per_s>("bytes_per_s", Unit::bytes_per_s, "what an operation got")};
template <class Get>
constexpr auto of_collective(std::string_view key, std::string_view meaning, Get) {
  return column<PathPiece>(
      key, Unit::none, meaning,
      [](const PathPiece& p) {
        return p.kind == PathPiece::Kind::collective ? std::optional<std::string>(Get{}(p)) : std::nullopt;
      },
      Missing::left_out);
}
constexpr std::array kPath{
    column<PathPiece>("kind", Unit::none, "what the piece is",
                      [](const auto& p) { return std::string(sim::kPathKindNames[static_cast<size_t>(p.kind)]); }),
    column<&PathPiece::rank>("rank", Unit::id, "its rank"),
    column<&PathPiece::node>("node", Unit::id, "its node in the trace of the rank"),
    column<&PathPiece::name>("name", Unit::none, "the name of the node"),
    column<&PathPiece::start_ps>("start_ps", Unit::ps, "its start"),
    column<&PathPiece::end_ps>("end_ps", Unit::ps, "its end"),
    column<PathPiece>("time_ps", Unit::ps, "end_ps - start_ps", [](const auto& p) { return p.end_ps - p.start_ps; }),
    of_collective("collective", "of kind collective: the operation",
                  [](const auto& p) { return std::string(trace::name(p.type)); }),
    of_collective("group", "of kind collective: the process group", [](const auto& p) { return p.group; }),
    column<PathPiece>(
        "tier", Unit::none, "of kind storage: the tier",
        [](const auto& p) { return p.tier.empty() ? std::nullopt : std::optional(p.tier); }, Missing::left_out)};
constexpr std::array kTransfers{column<SimulateResult>(
    "transfers", Unit::none, "how long transfers took: as simulated or as recorded", [](const auto& r) {
      return std::string(
          kTransferKinds[static_cast<size_t>(r.recorded_transfers ? TransferKind::recorded : TransferKind::simulated)]);
    })};

/// Tables that ASTRA-sim's rules do not give.
void add_native(const SimulateResult& result, answer::Builder& to) {
  const SimReport& report = result.report;
  const bool native = !result.compat;
  to.values("congestion.", native ? &report : nullptr, kCongestion);
  to.table("congestion.shared_links", "links that are shared at the same time, the worst first", report.sharing.links,
           kSharedLinks, native);
  to.table("actors", "ranks that were simulated as one", report.actors, kActors, native);
  to.children(
      "actors", "exposed", report.actors, [](const auto& a) -> const auto& { return a.exposed; }, kExposed);
  to.table("devices", "device time by devices and way of scaling, summed over all ranks", report.devices, kDeviceRows,
           native);
  const DeviceTime device_time(report);
  to.values("device_time.", native && device_time.predicted() ? &device_time : nullptr, kDeviceTime);
  const Throughput throughput = throughput_of(result);
  to.values("throughput.", native && result.tokens > 0 ? &throughput : nullptr, kThroughput);
  const LinkUse link_use(report.links);
  to.values("link_use.", native && !report.links.empty() ? &link_use : nullptr, kLinkUse);
  to.table("links", "links that carried something", report.links, kLinks, native);
  to.table("tiers", "tiers of storage that were used", report.tiers, kTiers, native && !report.tiers.empty());
  to.children(
      "tiers", "kinds", report.tiers, [](const auto& t) -> const auto& { return t.kinds; }, kTierKinds);
  to.table("critical_path", "the nodes that the end of the job waited for, one after the other", report.critical_path,
           kPath, native);
  to.values("", native ? &result : nullptr, kTransfers);
  add_measured("measured.", native ? result.replay : std::nullopt, to);
  add_delays(native ? result.delays : std::nullopt, to);
}

}  // namespace

answer::Answer answer_of(const SimulateResult& result, Tables tables) {
  const SimReport& report = result.report;
  answer::Builder to("sim");
  to.values("", &result, kRun);
  std::vector<Rank> ranks;
  ranks.reserve(report.ranks.size());
  for (const RankReport& rank : report.ranks) ranks.push_back({&rank, !result.compat, !report.tiers.empty()});
  to.table("ranks", "ranks, ascending", ranks, kRanks);
  const auto& collectives = report.collectives;
  to.table("collectives", "collectives by group, type and size", collectives, kCollectives);
  const std::vector<coll::Candidate> left_out;
  to.children(
      "collectives", "candidates",
      collectives, [&](const auto& c) -> const auto& { return tables == Tables::all ? c.candidates : left_out; },
      kCandidates);
  const std::vector<int64_t> none;
  const auto fitted = [&](const std::vector<int64_t> sim::FittedCollective::*member) {
    return [&none, member](const CollectiveReport& c) -> const std::vector<int64_t>& {
      return c.fitted ? (*c.fitted).*member : none;
    };
  };
  to.children("collectives", "fitted_ranks", collectives, fitted(&sim::FittedCollective::ranks), kNumberRows);
  to.children("collectives", "fitted_nodes", collectives, fitted(&sim::FittedCollective::nodes), kNumberRows);
  add_native(result, to);
  return std::move(to).finish(report.findings);
}

}  // namespace chakra::job
