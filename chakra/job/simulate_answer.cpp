// The answer of a simulation: each number once, with its key, unit and meaning.
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

constexpr std::array kThroughput{
    column<&Throughput::tokens_per_s>("tokens_per_s", Unit::none, "tokens a second, of the job"),
    column<&Throughput::tokens_per_s_per_rank>("tokens_per_s_per_rank", Unit::none, "the same by the number of ranks"),
    column<&Throughput::model_ops_per_s>("model_ops_per_s_per_rank", Unit::flop_per_s,
                                         "operations of the model, without what is computed again"),
    column<&Throughput::mfu>("mfu", Unit::share, "their share of the peak; null where it is not known")};
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
    column<&TierReport::bytes>("bytes", Unit::bytes, "what all of them moved"),
    column<&TierReport::busy_ps>("busy_ps", Unit::ps, "how long the busiest of them moved bytes"),
    rows<TierReport>("kinds", "its operations by kind")};
constexpr std::array kTierKinds{
    column<&TierReport::Kind::io_kind>("io_kind", Unit::none, "the kind; load and store where nodes have none"),
    column<&TierReport::Kind::count>("count", Unit::count, "operations"),
    column<&TierReport::Kind::bytes>("bytes", Unit::bytes, "what they moved"),
    column<&TierReport::Kind::total_ps>("total_ps", Unit::ps, "sum from their beginnings to their ends"),
    column<&TierReport::Kind::bytes_per_s>("bytes_per_s", Unit::bytes_per_s, "what an operation got")};
constexpr std::array kPath{
    column<PathPiece>("kind", Unit::none, "what the piece is",
                      [](const auto& p) { return std::string(sim::kPathKindNames[static_cast<size_t>(p.kind)]); }),
    column<&PathPiece::rank>("rank", Unit::id, "its rank"),
    column<&PathPiece::node>("node", Unit::id, "its node in the trace of the rank"),
    column<&PathPiece::name>("name", Unit::none, "the name of the node"),
    column<&PathPiece::start_ps>("start_ps", Unit::ps, "its start"),
    column<&PathPiece::end_ps>("end_ps", Unit::ps, "its end"),
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
  const Throughput throughput = throughput_of(result);
  to.values("throughput.", native && result.tokens > 0 ? &throughput : nullptr, kThroughput);
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

answer::Answer answer_of(const SimulateResult& result) {
  const SimReport& report = result.report;
  answer::Builder to("sim");
  to.values("", &result, kRun);
  std::vector<Rank> ranks;
  ranks.reserve(report.ranks.size());
  for (const RankReport& rank : report.ranks) ranks.push_back({&rank, !result.compat, !report.tiers.empty()});
  to.table("ranks", "ranks, ascending", ranks, kRanks);
  const auto& collectives = report.collectives;
  to.table("collectives", "collectives by group, type and size", collectives, kCollectives);
  to.children(
      "collectives", "candidates", collectives, [](const auto& c) -> const auto& { return c.candidates; }, kCandidates);
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
