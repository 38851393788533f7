// Rules for ranks and for storage, and the order of all rules.
#include "chakra/whatif/diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "chakra/whatif/diagnosis_rules.h"

namespace chakra::whatif {

using analyze::Diagnosis;
using analyze::Evidence;
using analyze::Judgement;

// `whatif.diagnosis.long` (1): a run with too many events for a second run; shown as the reason of "not judged"
Failure too_long() {
  return fail(Code::bad_input, "whatif.diagnosis.long",
              fmt::format("the run has more than {} events, and is not repeated", show_count(kMostRepeatedEvents)));
}

Result<Picoseconds> saved_by(const DiagnosedRun& run, const std::function<Result<void>(sim::SimInput&)>& change) {
  if (run.report.events > kMostRepeatedEvents) return too_long();
  sim::SimInput changed = sim::copy_of(run.input);
  CHAKRA_TRY(change(changed));
  CHAKRA_ASSIGN(const sim::SimReport after, sim::simulate(std::move(changed)));
  return run.report.makespan_ps - after.makespan_ps;
}

Diagnosis row_of(const DiagnosedRun& run, std::string_view kind, std::string place, Picoseconds cost,
                 Evidence evidence) {
  const Picoseconds whole = run.report.makespan_ps;
  return {kind,     std::move(place),
          cost,     whole > 0 ? static_cast<double>(cost) / static_cast<double>(whole) : 0,
          evidence, {}};
}

std::string amount(const Diagnosis& d) { return fmt::format("{} ({})", show_time(d.cost), show_percent(d.share)); }
std::string amount(const DiagnosedRun& run, Picoseconds time) { return amount(row_of(run, {}, {}, time, {})); }

bool is_large(const DiagnosedRun& run, Picoseconds time) {
  return time > 0 &&
         static_cast<double>(time) >= analyze::kLeastDiagnosedShare * static_cast<double>(run.report.makespan_ps);
}

std::vector<trace::Trace>& traces_of(sim::SimInput& input) {
  return input.classes ? input.classes->classes : input.job.ranks;
}
const std::vector<trace::Trace>& traces_of(const sim::SimInput& input) {
  return input.classes ? input.classes->classes : input.job.ranks;
}
std::vector<size_t> trace_by_rank(const DiagnosedRun& run) {
  std::map<int64_t, size_t> traces;
  if (run.input.classes)
    for (const trace::ClassJob::Rank& r : run.input.classes->ranks) traces[r.rank] = r.cls;
  else
    for (size_t i = 0; i < run.input.job.ranks.size(); ++i) traces[run.input.job.ranks[i].rank] = i;
  std::vector<size_t> out;
  for (const sim::RankReport& r : run.report.ranks) {
    const auto found = traces.find(r.rank);
    if (found == traces.end()) return {};
    out.push_back(found->second);
  }
  return out;
}

namespace {

/// A number that is equal for traces with the same operations, work and communication, whatever their times.
uint64_t operations_of(const trace::Trace& t) {
  uint64_t hash = t.size();
  const auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const trace::NodeId n : t.nodes()) {
    add(TextHash{}(t.name_of(n)));
    add(static_cast<uint64_t>(t.type[n]));
    if (!t.num_ops.empty()) add(t.num_ops[n]);
    if (const trace::Comm* comm = t.comm(n)) add(comm->bytes), add(static_cast<uint64_t>(comm->type));
  }
  return hash;
}

/// Ranks that compute longer than equivalent ranks.
struct Slow {
  std::vector<size_t> ranks;  ///< of the report, slowest first
  size_t usual = 0;           ///< a rank with the median time
  size_t peers = 0;
};

Picoseconds own_time(const sim::RankReport& rank) { return add_saturated(rank.compute_ps, rank.host_ps); }

/// The slow ranks of a set of equivalent ranks.
std::optional<Slow> slow_of(const DiagnosedRun& run, std::vector<size_t> ranks) {
  const auto time = [&](size_t r) { return own_time(run.report.ranks[r]); };
  std::stable_sort(ranks.begin(), ranks.end(), [&](size_t a, size_t b) { return time(a) < time(b); });
  Slow slow{{}, ranks[(ranks.size() - 1) / 2], ranks.size()};
  for (auto r = ranks.rbegin(); r != ranks.rend() && is_large(run, time(*r) - time(slow.usual)); ++r)
    slow.ranks.push_back(*r);
  if (slow.ranks.empty() || 2 * slow.ranks.size() > ranks.size()) return std::nullopt;
  return slow;
}

/// Give the slow ranks the times of the usual one.
void mend(const DiagnosedRun& run, const Slow& slow, const std::vector<size_t>& trace_of, sim::SimInput& input) {
  std::map<size_t, size_t> left;  // ranks of a class that are not slow
  for (const size_t trace : trace_of) ++left[trace];
  for (const size_t r : slow.ranks) --left[trace_of[r]];
  const double speed = run.input.system.traits(run.report.ranks[slow.usual].rank).speed;
  for (const size_t r : slow.ranks) {
    const int64_t rank = run.report.ranks[r].rank;
    if (run.input.system.traits(rank).speed != speed) {
      device::RankTraits traits = run.input.system.traits(rank);
      traits.speed = speed;
      input.system.unlike[rank] = traits;
    }
    if (left[trace_of[r]] == 0)
      traces_of(input)[trace_of[r]].dur_ps = traces_of(run.input)[trace_of[slow.usual]].dur_ps;
    if (input.delays) input.delays->rows[trace_of[r]] = input.delays->rows[trace_of[slow.usual]];
  }
}

Result<Judgement> slow_rank(DiagnosedRun& run) {
  Judgement j;
  const std::vector<size_t> trace_of = trace_by_rank(run);
  if (trace_of.size() < 2) return Judgement{"only one rank is simulated", {}};
  const auto [least, most] =
      std::minmax_element(run.report.ranks.begin(), run.report.ranks.end(),
                          [](const auto& a, const auto& b) { return own_time(a) < own_time(b); });
  if (!is_large(run, own_time(*most) - own_time(*least))) return j;
  std::map<size_t, uint64_t> operations;
  std::map<std::pair<uint64_t, const device::Device*>, std::vector<size_t>> peers;
  for (size_t r = 0; r < trace_of.size(); ++r) {
    const auto [found, added] = operations.try_emplace(trace_of[r], 0);
    if (added) found->second = operations_of(traces_of(run.input)[trace_of[r]]);
    peers[{found->second, run.input.system.device_of(run.report.ranks[r].rank)}].push_back(r);
  }
  std::map<size_t, std::vector<size_t>> in_order;  // by first rank
  for (auto& [key, ranks] : peers) in_order[ranks[0]] = std::move(ranks);
  bool compared = false;
  std::optional<Slow> worst;
  const auto longer = [&](const Slow& s) {
    return own_time(run.report.ranks[s.ranks[0]]) - own_time(run.report.ranks[s.usual]);
  };
  for (auto& [first, ranks] : in_order) {
    compared |= ranks.size() > 1;
    const std::optional<Slow> slow = ranks.size() > 1 ? slow_of(run, std::move(ranks)) : std::nullopt;
    if (slow && (!worst || longer(*slow) > longer(*worst))) worst = slow;
  }
  if (!compared) j.not_judged = "no two ranks have the same operations";
  if (!worst) return j;
  CHAKRA_ASSIGN(const Picoseconds cost, saved_by(run, [&](sim::SimInput& input) -> Result<void> {
                  mend(run, *worst, trace_of, input);
                  return {};
                }));
  if (cost <= 0) return j;
  std::string place = fmt::format("rank {}", run.report.ranks[worst->ranks[0]].rank);
  if (worst->ranks.size() > 1) place += fmt::format(" and {} more", worst->ranks.size() - 1);
  Diagnosis& d =
      j.diagnoses.emplace_back(row_of(run, "slow_rank", place, cost, {"ranks", static_cast<int64_t>(worst->ranks[0])}));
  d.sentence = fmt::format(
      "{} {} {} longer than rank {}, the middle one of {} ranks with the same operations. With the times of that rank, "
      "the job takes {} less.",
      place, worst->ranks.size() > 1 ? "compute up to" : "computes", show_time(longer(*worst)),
      run.report.ranks[worst->usual].rank, worst->peers, amount(d));
  d.sentence[0] = 'R';
  return j;
}

Result<Judgement> late_data_loader(DiagnosedRun& run) {
  Judgement j;
  const auto loads = [](const sim::TierReport& tier) {
    return std::any_of(tier.kinds.begin(), tier.kinds.end(), [](const auto& k) { return k.io_kind == "dataloader"; });
  };
  const auto tier = std::find_if(run.report.tiers.begin(), run.report.tiers.end(), loads);
  if (tier == run.report.tiers.end()) return Judgement{"no tier of storage serves a data loader", {}};
  if (tier->kinds.size() > 1) return Judgement{"the tier of the data loader serves other operations too", {}};
  if (std::none_of(run.report.ranks.begin(), run.report.ranks.end(),
                   [&](const sim::RankReport& r) { return is_large(run, r.exposed_storage_ps); }))
    return j;
  CHAKRA_ASSIGN(const Picoseconds cost, saved_by(run, [&](sim::SimInput& input) -> Result<void> {
                  for (device::Tier& each : input.system.tiers)
                    if (each.name == tier->name) each.latency_ps = 0, each.bytes_per_s *= 1e6;
                  return {};
                }));
  if (cost <= 0) return j;
  Diagnosis& d = j.diagnoses.emplace_back(row_of(run, "late_data_loader", fmt::format("tier {}", tier->name), cost,
                                                 {"tiers", tier - run.report.tiers.begin()}));
  d.sentence = fmt::format(
      "Ranks wait for the data loader on tier {}. Without the time of this tier, the job takes {} less. Prefetching or "
      "a faster tier can hide this time.",
      tier->name, amount(d));
  return j;
}

Result<Judgement> host_bound(DiagnosedRun& run) {
  Judgement j;
  for (const trace::Trace& t : traces_of(run.input))
    if (std::none_of(t.lanes.begin(), t.lanes.end(),
                     [](const trace::Lane& lane) { return lane.kind == trace::Lane::Kind::stream; }))
      return Judgement{"some rank has no operations on streams of a device", {}};
  const auto least = std::min_element(run.report.ranks.begin(), run.report.ranks.end(),
                                      [](const auto& a, const auto& b) { return a.host_ps < b.host_ps; });
  if (least == run.report.ranks.end() || !is_large(run, least->host_ps)) return j;
  CHAKRA_ASSIGN(const Picoseconds cost, saved_by(run, [&](sim::SimInput& input) -> Result<void> {
                  for (trace::Trace& t : traces_of(input))
                    for (const trace::NodeId n : t.nodes())
                      if (t.on_cpu(n) && !trace::is_comm(t.type[n])) t.dur_ps.edit(n) = 0;
                  return {};
                }));
  if (cost <= 0) return j;
  Diagnosis& d = j.diagnoses.emplace_back(
      row_of(run, "host_bound", "all ranks", cost, {"ranks", least - run.report.ranks.begin()}));
  d.sentence = fmt::format(
      "Devices wait for the host. Without the time of host operations, the job takes {} less. Larger kernels, compiled "
      "code, CUDA graphs or fewer synchronisations can save a part of this time.",
      amount(d));
  return j;
}

Result<Judgement> pipeline_bubbles(DiagnosedRun& run) {
  Judgement j;
  const std::vector<sim::RankReport>& ranks = run.report.ranks;
  if (std::all_of(ranks.begin(), ranks.end(), [](const sim::RankReport& r) { return r.bubble_ps == 0; })) return j;
  const auto waits = [&](const sim::RankReport& r) {
    return add_saturated(r.bubble_ps, run.report.makespan_ps - r.finish_ps);
  };
  const auto least =
      std::min_element(ranks.begin(), ranks.end(), [&](const auto& a, const auto& b) { return waits(a) < waits(b); });
  if (waits(*least) <= 0) return j;
  Diagnosis& d = j.diagnoses.emplace_back(
      row_of(run, "pipeline_bubbles", "all ranks", waits(*least), {"ranks", least - ranks.begin()}));
  d.sentence = fmt::format(
      "Each rank waits at least {} for messages of other pipeline stages, or for the last rank. More micro-batches, "
      "virtual stages or another schedule shorten these waits.",
      amount(d));
  return j;
}

Result<Judgement> memory_peak(DiagnosedRun&) { return Judgement{"a simulation has no calls of an allocator", {}}; }

constexpr RunRule kRules[] = {
    {"late_data_loader", late_data_loader, "the run, less a run where the tier of the data loader takes no time"},
    {"memory_peak", memory_peak, "not judged"},
    {"skewed_expert", skewed_expert,
     "the run, less a run where ranks with the same nodes have the mean work and the mean bytes, if the largest sends "
     "of all-to-alls are 1.2 times the mean"},
    {"slow_rank", slow_rank,
     "the run, less a run where ranks that compute 3 % of the run longer than the median of ranks with the same "
     "operations take the times of such a rank"},
    {"host_bound", host_bound, "the run, less a run where host operations take no time"},
    {"slow_link", slow_link,
     "the run, less a run where links below 0.8 of the usual rate of their kind have that rate and its latency"},
    {"loaded_link", loaded_link,
     "fluid and packet: the run, less a run where links between switches that are busy for more than 1.25 times the "
     "mean of their kind have a higher rate, so that they would be busy for the mean"},
    {"small_messages", small_messages,
     "closed: the run, less a run where small collectives of a type and group have one latency together, for all types "
     "of groups beside each other; a latency is the part of the time that a network of twice the rate does not "
     "shorten"},
    {"pipeline_bubbles", pipeline_bubbles,
     "least time that a rank waits for messages that are not sent yet, and for the end of the run"},
    {"no_overlap", no_overlap,
     "least exposed time of the types of a group over the ranks, if at most a quarter of a type overlaps; at most the "
     "computation of a rank, and in closed form at most the run, less a run where the collectives take no "
     "time"},
};

}  // namespace

constinit const std::span<const RunRule> kRunRules = kRules;

Result<analyze::Diagnoses> diagnose(sim::SimInput input, const sim::SimReport& report) {
  input.congestion = report.congestion;
  input.decisive_path = input.node_times = false;
  DiagnosedRun run{input, report};
  std::vector<analyze::Judged> judged;
  for (const RunRule& rule : kRunRules) {
    Result<Judgement> judgement = rule.judge(run);
    if (!judgement && judgement.error().code == Code::interrupted) return Failure(judgement.error());
    judged.push_back({rule.kind, judgement ? std::move(*judgement) : Judgement{judgement.error().text, {}}});
  }
  return analyze::in_order(std::move(judged));
}

}  // namespace chakra::whatif
