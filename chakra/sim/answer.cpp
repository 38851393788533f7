// The answer of a simulation: each number once, with its key, unit and meaning.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "chakra/answer/rows.h"
#include "chakra/base/quantile.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {
namespace {

using answer::column;
using answer::Missing;
using answer::rows;
using answer::Unit;

constexpr std::array kRun{
    column<&SimReport::makespan_ps>("makespan_ps", Unit::ps, "from the first start of a rank to the last finish"),
    column<&SimReport::interrupted>("interrupted", Unit::none, "the run ended before the job"),
    column<&SimReport::events>("events", Unit::count, "events of the run")};

constexpr std::array kLateStart{
    column<&LateStart::exact_members>(
        "exact_members", Unit::count,
        "larger collectives begin when the last member arrives, so that the times are upper bounds"),
    column<&LateStart::least_makespan_ps>("least_makespan_ps", Unit::ps, "lower bound of makespan_ps"),
    column<&LateStart::most_rank_ps>("most_rank_ps", Unit::ps, "a rank finishes at most this time earlier"),
    column<&LateStart::same_order>("same_order", Unit::none, "queues run their nodes in one order in both runs"),
    column<&LateStart::certain>("certain", Unit::none,
                                "no queue can choose another order at times between the two runs, so that the times "
                                "are bounds")};

template <class Get>
constexpr auto bytes_of(std::string_view key, std::string_view meaning, Get) {
  return column<MemoryUse>(key, Unit::bytes, meaning, [](const MemoryUse& m) { return std::llround(Get{}(m)); });
}
constexpr auto kHasDevice = [](const MemoryUse& m) { return m.device_bytes > 0; };
constexpr std::array kMemory{
    column<&MemoryUse::rank>("rank", Unit::id, "the rank that fills its device most"),
    bytes_of("bytes", "bytes that this rank holds at the peak", [](const MemoryUse& m) { return m.bytes; }),
    bytes_of("at_most_bytes", "the same with allocator, context and buffers",
             [](const MemoryUse& m) { return m.most(); })};
constexpr std::array kMemoryOfDevice{
    answer::column_if<MemoryUse>(kHasDevice, "device_bytes", Unit::bytes, "memory of the device",
                                 [](const MemoryUse& m) { return std::llround(m.device_bytes); }),
    answer::column_if<MemoryUse>(kHasDevice, "fits", Unit::none, "whether the rank fits: yes, maybe or no",
                                 [](const MemoryUse& m) { return fits(m); })};

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
    column<Rank>("exposed_comm_ps", Unit::ps, "communication runs or waits, without concurrent computation",
                 [](const Rank& r) { return r.rank->exposed_comm_ps; }),
    native_part<&RankReport::host_ps>("host_ps", "only the CPU of the rank runs"),
    native_part<&RankReport::bubble_ps>("bubble_ps", "the rank waits for a message that has not been sent yet"),
    column<Rank>(
        "exposed_storage_ps", Unit::ps, "a tier of storage serves the rank, without concurrent computation",
        [](const Rank& r) { return r.tiers ? std::optional(r.rank->exposed_storage_ps) : std::nullopt; },
        Missing::left_out),
    column<Rank>("idle_ps", Unit::ps, "the rest: all parts add up to finish_ps",
                 [](const Rank& r) { return r.rank->idle_ps; }),
    column<Rank>(
        "actor", Unit::id, "its row of actors",
        [](const Rank& r) { return r.native ? std::optional(uint32_t{r.rank->actor}) : std::nullopt; },
        Missing::left_out)};

/// Of a fit where there is one, else nothing.
template <class Get>
constexpr auto of_fit(std::string_view key, Unit unit, std::string_view meaning, Get) {
  using Value = std::invoke_result_t<Get, const FittedCollective&>;
  return column<CollectiveReport>(
      key, unit, meaning,
      [](const CollectiveReport& c) { return c.fitted ? std::optional<Value>(Get{}(*c.fitted)) : std::nullopt; },
      Missing::left_out);
}
/// The same of numbers that a fit may not say: null then, as NaN is.
template <double FittedCollective::*Member>
constexpr auto percent_of_fit(std::string_view key, std::string_view meaning) {
  return of_fit(key, Unit::percent, meaning, [](const FittedCollective& fit) {
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
    column<&CollectiveReport::bytes>("bytes", Unit::bytes, "size of one collective (comm_size)"),
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
    of_algorithm("by_rule", "selected by a rule of --collectives or the system file",
                 [](const auto& c) { return c.by_rule; }),
    column<CollectiveReport>(
        "choice", Unit::none, "why this algorithm", [](const auto& c) { return choice_of(c).why; }, Missing::left_out),
    column<CollectiveReport>(
        "next_best", Unit::none, "the fastest alternative algorithm", [](const auto& c) { return choice_of(c).next; },
        Missing::left_out),
    column<CollectiveReport>(
        "next_best_longer", Unit::share, "additional time of the alternative alone; below 0: faster",
        [](const auto& c) { return choice_of(c).longer; }, Missing::left_out),
    rows<CollectiveReport>("candidates", "algorithms that were looked at",
                           [](const CollectiveReport& c) { return c.algorithm != nullptr; }),
    of_fit("protocol", Unit::none, "the protocol of the measurements", [](const auto& f) { return f.protocol; }),
    percent_of_fit<&FittedCollective::error_percent>("fitted_error_percent", "mean error of the fit"),
    percent_of_fit<&FittedCollective::worst_percent>("fitted_worst_percent", "worst error of the fit"),
    rows<CollectiveReport>("fitted_ranks", "numbers of members that were measured", kHasFit),
    rows<CollectiveReport>("fitted_nodes", "numbers of nodes that were measured", kHasFit),
    of_fit("fitted_from_parts", Unit::none, "composed of parts, not measured",
           [](const auto& f) { return f.from_parts; }),
    of_fit("fitted_from_bytes", Unit::bytes, "the smallest size that was measured",
           [](const auto& f) { return f.from_bytes; }),
    of_fit("fitted_to_bytes", Unit::bytes, "the largest size that was measured",
           [](const auto& f) { return f.to_bytes; }),
    of_fit("extrapolated", Unit::none, "outside the measured range",
           [](const auto& f) { return f.other_ranks || f.other_bytes; })};
constexpr std::array kCandidates{
    column<coll::Candidate>("algorithm", Unit::none, "the algorithm",
                            [](const auto& c) { return std::string(c.algorithm->name); }),
    column<coll::Candidate>("near_order", Unit::none, "members in the order of the network",
                            [](const auto& c) { return c.near || c.by_grid; }),
    column<&coll::Candidate::predicted_ps>("predicted_ps", Unit::ps, "its time alone; null: not priced"),
    column<&coll::Candidate::sampled>("sampled", Unit::none, "priced by a sample of its transfers")};

constexpr std::array kCongestion{
    column<SimReport>("mode", Unit::none, "closed, fluid or packet",
                      [](const auto& r) { return std::string(kCongestionNames[static_cast<size_t>(r.congestion)]); }),
    column<&SimReport::congestion_reason>("reason", Unit::none, "why this mode"),
    column<SimReport>("closed_misses_ps", Unit::ps, "largest additional time of the job over closed form",
                      [](const auto& r) { return r.sharing.longer_ps; })};
constexpr std::array kSharedLinks{
    column<&SharedLink::name>("link", Unit::none, "the link; one of several identical links"),
    column<&SharedLink::most>("asked", Unit::none, "largest load, as a multiple of its rate"),
    column<&SharedLink::lacks_ps>("lacks_ps", Unit::ps, "additional time for that load")};

constexpr std::array kActors{
    column<&ActorReport::ranks>("ranks", Unit::count, "ranks that it represents"),
    rows<ActorReport>("exposed", "parts of exposed_comm_ps"),
    column<&ActorReport::device>("device", Unit::none, "the device; empty: unknown"),
    column<ActorReport>("ops", Unit::flop, "operations of each rank", [](const auto& a) { return a.work.all_ops(); }),
    column<ActorReport>("bytes", Unit::bytes, "bytes that each rank moves in memory",
                        [](const auto& a) { return a.work.bytes; }),
    column<ActorReport>("ops_per_s", Unit::flop_per_s, "operations by the time of the rank",
                        [](const auto& a) { return a.rates.ops_per_s; }),
    column<ActorReport>("bytes_per_s", Unit::bytes_per_s, "bytes by the time of the rank",
                        [](const auto& a) { return a.rates.bytes_per_s; }),
    column<ActorReport>("mfu", Unit::share,
                        "share of the peak of the rank's devices, with recomputation; null: unknown",
                        [](const auto& a) { return a.rates.mfu; })};
constexpr std::array kExposed{
    column<ActorReport::Exposed>("what", Unit::none, "the operation, or messages",
                                 [](const auto& e) {
                                   return e.type == trace::CommType::unknown ? std::string("messages")
                                                                             : std::string(trace::name(e.type));
                                 }),
    column<&ActorReport::Exposed::group>("group", Unit::none, "the process group; empty for messages"),
    column<&ActorReport::Exposed::time_ps>("time_ps", Unit::ps, "its part of exposed_comm_ps")};

/// Device time by where it comes from, where some of it is predicted. Errors of different ways are independent of each
/// other, as in the finding sim.device.scaled.
struct DeviceTime {
  struct Part {
    Picoseconds time = 0, unknown = 0;
    std::array<double, kScalings.size()> off_ps{};  ///< by way
    void add(const ScaledTime& row) {
      time = add_saturated(time, row.after_ps);
      unknown = add_saturated(unknown, row.unknown_ps);
      off_ps[static_cast<size_t>(row.how)] += row.off_ps;
    }
    double error() const {
      double squares = 0;
      for (const double off : off_ps) squares += off * off;
      return std::sqrt(squares) / static_cast<double>(time);
    }
  };
  Part kernels, estimated, other;
  explicit DeviceTime(const SimReport& report) {
    for (const ScaledTime& row : report.devices)
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
  return column<DeviceTime>(key, Unit::share, "its error; null: unknown for a part", [](const DeviceTime& d) {
    const DeviceTime::Part& part = d.*Part;
    return part.time > 0 && part.unknown == 0 ? std::optional(part.error()) : std::nullopt;
  });
}
constexpr std::array kDeviceTime{
    column<DeviceTime>(
        "time_ps", Unit::ps, "device time of all ranks, if a part is predicted",
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
                                         "FLOP/s of the model: forward and backward, each once"),
    column<&Throughput::mfu>("mfu", Unit::share, "their share of the peak; null: unknown")};
/// A step by the steps of its class that others published.
struct Published {
  const device::PublishedSteps* of;
  Picoseconds predicted_ps;
};
template <double device::PublishedSteps::*Times>
constexpr auto published_time(std::string_view key, std::string_view meaning) {
  return column<Published>(key, Unit::ps, meaning, [](const Published& p) {
    return static_cast<Picoseconds>(std::llround(p.of->*Times * static_cast<double>(p.predicted_ps)));
  });
}
constexpr std::array kPublished{
    column<Published>("steps", Unit::count, "published measurements of this class, each predicted in the same way",
                      [](const auto& p) { return p.of->steps; }),
    published_time<&device::PublishedSteps::least>("least_ps", "the time, if as far off as the most overestimated one"),
    published_time<&device::PublishedSteps::most>("most_ps", "the time, if as far off as the most underestimated one"),
    column<Published>("covers", Unit::share, "share of further ones of the class that should be within",
                      [](const auto& p) { return p.of->covers; }),
    column<Published>("source", Unit::none, "the class, and where its measurements were published",
                      [](const auto& p) { return std::string(p.of->source); })};
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
    median_ps = whole_quantile(busy, 0.5);
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
        "scope", Unit::none, "ranks served by one place: rank, node or all",
        [](const auto& t) { return std::string(device::kTierScopeNames[static_cast<size_t>(t.scope)]); }),
    column<&TierReport::places>("places", Unit::count, "how many places there are"),
    column<TierReport>("operations", Unit::count, "operations of all kinds",
                       [](const auto& t) {
                         int64_t operations = 0;
                         for (const TierReport::Kind& kind : t.kinds) operations += kind.count;
                         return operations;
                       }),
    column<&TierReport::bytes>("bytes", Unit::bytes, "bytes moved by all places"),
    column<&TierReport::busy_ps>("busy_ps", Unit::ps, "how long the busiest of them moved bytes"),
    rows<TierReport>("kinds", "its operations by kind")};
constexpr std::array kTierKinds{
    column<&TierReport::Kind::io_kind>("io_kind", Unit::none, "the kind; load or store for nodes without a kind"),
    column<&TierReport::Kind::count>("count", Unit::count, "operations"),
    column<&TierReport::Kind::bytes>("bytes", Unit::bytes, "bytes moved"),
    column<&TierReport::Kind::total_ps>("total_ps", Unit::ps, "sum from their beginnings to their ends"),
    column<&TierReport::Kind::bytes_per_s>("bytes_per_s", Unit::bytes_per_s, "rate of an operation")};
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
    column<PathPiece>("kind", Unit::none, "kind of piece",
                      [](const auto& p) { return std::string(kPathKindNames[static_cast<size_t>(p.kind)]); }),
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
/// Rows of `devices`.
constexpr std::array kDeviceRows{
    column<&ScaledTime::from>("from", Unit::none, "the device of the recording; empty: not measured"),
    column<&ScaledTime::to>("to", Unit::none, "the device of the run"),
    column<ScaledTime>("how", Unit::none, "how times came to that device",
                       [](const auto& d) { return std::string(kScalings[static_cast<size_t>(d.how)].name); }),
    column<&ScaledTime::nodes>("nodes", Unit::count, "nodes of all ranks"),
    column<&ScaledTime::before_ps>("before_ps", Unit::ps, "their time before"),
    column<&ScaledTime::after_ps>("after_ps", Unit::ps, "their time in the run"),
    column<ScaledTime>("error", Unit::share, "error of the prediction; null where it is not known",
                       [](const auto& d) { return d.error() > 0 ? std::optional(d.error()) : std::nullopt; })};

/// Tables that ASTRA-sim's rules do not give.
void add_native(const SimReport& report, const ToAdd& what, answer::Builder& to) {
  const bool native = what.native;
  to.values("congestion.", native ? &report : nullptr, kCongestion);
  to.table("congestion.shared_links", "links that are shared at the same time, the worst first", report.sharing.links,
           kSharedLinks, native);
  to.table("actors", "ranks simulated as one", report.actors, kActors, native);
  to.children(
      "actors", "exposed", report.actors, [](const auto& a) -> const auto& { return a.exposed; }, kExposed);
  add_devices(report.devices, to, native);
  add_memory(report, to, native);
  to.values("late_start.", native && report.late_start ? &*report.late_start : nullptr, kLateStart);
  const DeviceTime device_time(report);
  to.values("device_time.", native && device_time.predicted() ? &device_time : nullptr, kDeviceTime);
  const Throughput throughput = throughput_of(report, what.step);
  to.values("throughput.", native && what.step.tokens > 0 ? &throughput : nullptr, kThroughput);
  add_published("published.", native && !report.interrupted ? what.step.published : nullptr, report.makespan_ps, to);
  const LinkUse link_use(report.links);
  to.values("link_use.", native && !report.links.empty() ? &link_use : nullptr, kLinkUse);
  to.table("links", "links that carried something", report.links, kLinks, native);
  to.table("tiers", "tiers of storage that were used", report.tiers, kTiers, native && !report.tiers.empty());
  to.children(
      "tiers", "kinds", report.tiers, [](const auto& t) -> const auto& { return t.kinds; }, kTierKinds);
  to.table("critical_path", "the nodes that the end of the job waited for, one after the other", report.critical_path,
           kPath, native);
}

}  // namespace

void add_published(const std::string& prefix, const device::PublishedSteps* of, Picoseconds time_ps,
                   answer::Builder& to) {
  const Published published{of, time_ps};
  const bool has_range = of && static_cast<double>(time_ps) >= of->shortest_s * kPsPerSecond;
  to.values(prefix, has_range ? &published : nullptr, kPublished);
}

void add_devices(const std::vector<ScaledTime>& devices, answer::Builder& to, bool present) {
  to.table("devices", "device time by devices and way of scaling, summed over all ranks", devices, kDeviceRows,
           present);
}

void add_memory(const SimReport& report, answer::Builder& to, bool present) {
  to.values("memory.", present && report.memory ? &*report.memory : nullptr, kMemory);
  to.values("memory.", present && report.memory ? &*report.memory : nullptr, kMemoryOfDevice);
}

void add_report(const SimReport& report, const ToAdd& what, answer::Builder& to) {
  to.values("", &report, kRun);
  std::vector<Rank> ranks;
  ranks.reserve(report.ranks.size());
  for (const RankReport& rank : report.ranks) ranks.push_back({&rank, what.native, !report.tiers.empty()});
  to.table("ranks", "ranks, ascending", ranks, kRanks);
  const auto& collectives = report.collectives;
  to.table("collectives", "collectives by group, type and size", collectives, kCollectives);
  const std::vector<coll::Candidate> left_out;
  to.children(
      "collectives", "candidates",
      collectives, [&](const auto& c) -> const auto& { return what.candidates ? c.candidates : left_out; },
      kCandidates);
  const std::vector<int64_t> none;
  const auto fitted = [&](const std::vector<int64_t> FittedCollective::*member) {
    return [&none, member](const CollectiveReport& c) -> const std::vector<int64_t>& {
      return c.fitted ? (*c.fitted).*member : none;
    };
  };
  to.children("collectives", "fitted_ranks", collectives, fitted(&FittedCollective::ranks), answer::kNumberRows);
  to.children("collectives", "fitted_nodes", collectives, fitted(&FittedCollective::nodes), answer::kNumberRows);
  add_native(report, what, to);
}

}  // namespace chakra::sim
