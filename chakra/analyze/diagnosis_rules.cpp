// The rules of the diagnosis, a function for each kind.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "chakra/analyze/analyze.h"
#include "chakra/base/quantile.h"

namespace chakra::analyze {
namespace {

using Numbers = DiagnosisNumbers;
using Rank = Numbers::Rank;

constexpr double kSkewed = 1.2;          ///< most bytes by the mean: above, experts are skewed
constexpr int64_t kLatencyBytes = 8192;  ///< transfers of so few bytes take the latency alone
constexpr int64_t kSizesApart = 4;       ///< ratio of two sizes whose times determine a latency
constexpr std::string_view kMessages = "messages";

/// The lower of two in the middle.
Picoseconds median(std::vector<Picoseconds> values) {
  return values.empty() ? 0 : nth_of(values, (values.size() - 1) / 2);
}

/// Lower median over the other ranks.
template <class Value>
Picoseconds median_of_others(const Numbers& n, int64_t rank, const Value& value) {
  std::vector<Picoseconds> others;
  for (const Rank& r : n.ranks)
    if (r.rank != rank) others.push_back(value(r));
  return median(std::move(others));
}

const Rank* find_rank(const Numbers& n, int64_t rank) {
  const auto found = std::find_if(n.ranks.begin(), n.ranks.end(), [&](const Rank& r) { return r.rank == rank; });
  return found == n.ranks.end() ? nullptr : &*found;
}

/// The evidence is added by the rule; the cost is of all steps here.
Diagnosis row_of(const Numbers& n, std::string_view kind, std::string place, Picoseconds cost, Evidence evidence) {
  const double share = n.whole() > 0 ? static_cast<double>(cost) / static_cast<double>(n.whole()) : 0;
  return {kind, std::move(place), cost / n.steps(), share, evidence, {}};
}

/// "12.1 ms of a step (8.20 %)"
std::string amount(const Numbers& n, const Diagnosis& d) {
  return fmt::format("{} of {} ({})", show_time(d.cost), n.steps() > 1 ? "a step" : "the recording",
                     show_percent(d.share));
}
std::string per_step(const Numbers& n, Picoseconds time) { return show_time(time / n.steps()); }

/// How long the others wait for the rank, less what they wait for the next one: noise has no preferred rank. At most
/// what the others communicate longer than the rank.
Picoseconds waits_for(const Numbers& n, int64_t rank) {
  Picoseconds own = 0, next = 0;
  for (const Numbers::Waited& w : n.waited) {
    if (w.rank == rank) own = w.time;
    else next = std::max(next, w.time);
  }
  const Rank* r = find_rank(n, rank);
  if (!r) return 0;
  const Picoseconds less = median_of_others(n, rank, [](const Rank& other) { return other.exposed; }) - r->exposed;
  return std::max<Picoseconds>(0, std::min(own - next, less));
}

int64_t waited_row(const Numbers& n, int64_t rank) {
  for (const Numbers::Waited& w : n.waited)
    if (w.rank == rank) return w.row;
  return 0;
}

constexpr std::string_view kNotMeasured = "no node has a measured start";
constexpr std::string_view kOneRank = "only one rank is recorded";
constexpr std::string_view kNoWaits = "no collective has a measured time on all of its ranks";

bool compares(const Numbers& n, Judgement& j) {
  if (!n.measured) j.not_judged = kNotMeasured;
  else if (n.ranks.size() < 2) j.not_judged = kOneRank;
  else if (n.transfers.empty()) j.not_judged = kNoWaits;
  return j.not_judged.empty();
}

/// A cost that all ranks have, and the additional cost of the rank with most, which is at most the waiting of the
/// others for this rank.
struct Shared {
  Picoseconds common = 0;
  const Rank* rank = nullptr;  ///< with most
  Picoseconds more = 0;
};
template <class Value>
Shared shared_of(const Numbers& n, const Value& value) {
  Shared s;
  for (const Rank& r : n.ranks) {
    s.common = s.rank ? std::min(s.common, value(r)) : value(r);
    if (!s.rank || value(r) > value(*s.rank)) s.rank = &r;
  }
  if (n.ranks.size() < 2) return s;
  const Picoseconds over = value(*s.rank) - median_of_others(n, s.rank->rank, value);
  s.more = std::max<Picoseconds>(0, std::min(over, waits_for(n, s.rank->rank)));
  return s;
}
std::string all_of(const Numbers& n) {
  return n.ranks.size() == 1 ? fmt::format("rank {}", n.ranks[0].rank) : std::string("all ranks");
}

// ---- kinds --------------------------------------------------------------------------------------------

Judgement late_data_loader(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  if (n.steps() == 1 && std::none_of(n.ranks.begin(), n.ranks.end(), [](const Rank& r) { return r.names_loader; }))
    return {"neither steps nor data loaders are recorded", {}};
  const Shared s = shared_of(n, [](const Rank& r) { return r.loader; });
  const auto add = [&](std::string place, Picoseconds cost, const Rank& r) {
    Diagnosis& d = j.diagnoses.emplace_back(row_of(n, "late_data_loader", place, cost, {"step_times", r.step_row}));
    d.sentence = fmt::format(
        "The first computation of {} waits for {}: {}. More workers, prefetching or a faster storage can hide this "
        "time.",
        place, r.names_loader ? "the data loader" : "the host, which runs no recorded operator", amount(n, d));
  };
  if (s.common > 0) add(all_of(n), s.common, *s.rank);
  if (s.more > 0) add(fmt::format("rank {}", s.rank->rank), s.more, *s.rank);
  taken.common += s.common;
  if (s.more > 0) taken.by_rank[s.rank->rank] += s.more;
  return j;
}

Judgement memory_peak(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  const bool calls = std::any_of(n.ranks.begin(), n.ranks.end(), [](const Rank& r) { return r.device; });
  if (!calls) return {"no device is recorded, so no call allocates device memory", {}};
  const Shared s = shared_of(n, [](const Rank& r) { return r.allocates; });
  const auto add = [&](std::string place, Picoseconds cost, const Rank& r) {
    Diagnosis& d =
        j.diagnoses.emplace_back(row_of(n, "memory_peak", place, cost, {"critical_path_nodes", r.allocates_row}));
    d.sentence = fmt::format(
        "The memory of {} is exhausted again and again: calls that allocate and free device "
        "memory take {}.",
        place, amount(n, d));
    for (const Numbers::Peak& p : n.peaks)
      if (p.rank == r.rank && p.device != "cpu" && !p.node.empty()) {
        d.sentence += fmt::format(" The peak of {} on {} begins with {}.", show_bytes(static_cast<double>(p.bytes)),
                                  p.device, quote(p.node, 80));
        break;
      }
    d.sentence += " A smaller batch, recomputation or larger segments of the allocator save the calls.";
  };
  if (s.common > 0) add(all_of(n), s.common, *s.rank);
  if (s.more > 0) add(fmt::format("rank {}", s.rank->rank), s.more, *s.rank);
  taken.common += s.common;
  if (s.more > 0) taken.by_rank[s.rank->rank] += s.more;
  return j;
}

/// The rank that most delays the others, less what earlier rules explain.
std::optional<std::pair<int64_t, Picoseconds>> late_rank(const Numbers& n, const Taken& taken) {
  if (n.waited.empty()) return std::nullopt;
  const int64_t rank = n.waited[0].rank;
  const auto explained = taken.by_rank.find(rank);
  const Picoseconds cost = waits_for(n, rank) - (explained == taken.by_rank.end() ? 0 : explained->second);
  if (cost <= 0) return std::nullopt;
  return std::pair(rank, cost);
}

Judgement skewed_expert(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!compares(n, j)) return j;
  if (std::none_of(n.transfers.begin(), n.transfers.end(),
                   [](const Numbers::Transfer& t) { return t.type.starts_with("ALL_TO_ALL") && t.bytes > 0; }))
    return {"no all-to-all with its size is recorded", {}};
  const auto late = late_rank(n, taken);
  for (const Numbers::Load& load : n.loads) {
    if (!late || load.rank != late->first || load.ratio < kSkewed || !load.type.starts_with("ALL_TO_ALL")) continue;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "skewed_expert", fmt::format("rank {}", late->first), late->second, {"imbalance", load.row}));
    d.sentence = fmt::format(
        "The experts of rank {} receive {:.1f} times the mean load ({} in group {}), and other ranks wait {}. A loss "
        "for balance, a limit of capacity or copies of busy experts can even out the load.",
        late->first, load.ratio, load.type, load.group, amount(n, d));
    taken.by_rank[late->first] += late->second;
    break;
  }
  return j;
}

Judgement slow_rank(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!compares(n, j)) return j;
  const auto late = late_rank(n, taken);
  if (!late) return j;
  const Rank& r = *find_rank(n, late->first);
  Diagnosis& d = j.diagnoses.emplace_back(
      row_of(n, "slow_rank", fmt::format("rank {}", r.rank), late->second, {"stragglers", waited_row(n, r.rank)}));
  d.sentence = fmt::format("Other ranks wait {} for rank {}", amount(n, d), r.rank);
  const Picoseconds computes =
      r.computes - median_of_others(n, r.rank, [](const Rank& other) { return other.computes; });
  const Picoseconds idles = r.idle - median_of_others(n, r.rank, [](const Rank& other) { return other.idle; });
  if (2 * computes > late->second)
    d.sentence += fmt::format(
        ", which computes {} longer than the median of the others. Compare the kernels, the "
        "clock rate and the other users of the device.",
        per_step(n, computes));
  else if (2 * idles > late->second)
    d.sentence += fmt::format(
        ", which is idle {} longer than the median of the others. Compare the host of the rank "
        "with the other hosts.",
        per_step(n, idles));
  else d.sentence += ".";
  taken.by_rank[r.rank] += late->second;
  return j;
}

Judgement host_bound(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  if (std::any_of(n.ranks.begin(), n.ranks.end(), [](const Rank& r) { return !r.device; }))
    return {"some rank has no operations of a device", {}};
  std::vector<Picoseconds> waits;
  for (const Rank& r : n.ranks) waits.push_back(std::min(r.idle, r.host_wait));
  const Picoseconds wait = median(waits);
  const Picoseconds cost = std::max<Picoseconds>(0, wait - taken.common);
  if (cost == 0) return j;
  const Rank& r = n.ranks[static_cast<size_t>(std::find(waits.begin(), waits.end(), wait) - waits.begin())];
  Diagnosis& d = j.diagnoses.emplace_back(row_of(n, "host_bound", all_of(n), cost, {"idle_causes", r.idle_row}));
  d.sentence = fmt::format(
      "The devices of {} wait {} for launches of the host. Larger kernels, compiled code, CUDA graphs or fewer "
      "synchronisations can save this time.",
      d.place, amount(n, d));
  return j;
}

// ---- communication ------------------------------------------------------------------------------------

/// Least exposed time of a type and group over the ranks that use it: the last rank to arrive does not wait.
struct Exposure {
  Picoseconds least = 0, mean = 0;
  int64_t row = 0;  ///< evidence: rank with least
};
Exposure exposure_of(const Numbers& n, std::string_view type, std::string_view group, int64_t members) {
  Exposure e;
  int64_t count = 0;
  for (const Numbers::Exposed& x : n.exposed) {
    if (x.type != type || x.group != group) continue;
    if (count == 0 || x.time < e.least) e.least = x.time, e.row = x.row;
    e.mean += x.time / std::max<int64_t>(1, members);
    ++count;
  }
  if (count < members) e.least = 0;  // a member without a row has no exposed time
  return e;
}

/// Compare groups with the same collectives. Return true if any can be compared.
bool slow_groups(const Numbers& n, Taken& taken, Judgement& j) {
  bool judged = false;
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const Numbers::Transfer*>> levels;
  for (const Numbers::Transfer& t : n.transfers)
    if (t.count > 0 && t.bytes > 0) levels[{t.type, t.bytes, t.members}].push_back(&t);
  for (const auto& [key, level] : levels) {
    if (level.size() < kLeastLinks) continue;
    judged = true;
    const auto mean = [](const Numbers::Transfer& t) { return t.time / t.count; };
    const Numbers::Transfer& worst =
        **std::max_element(level.begin(), level.end(), [&](auto* a, auto* b) { return mean(*a) < mean(*b); });
    std::vector<Picoseconds> others;
    for (const Numbers::Transfer* t : level)
      if (t != &worst) others.push_back(mean(*t));
    const Picoseconds usual = median(std::move(others));
    if (static_cast<double>(mean(worst)) < kSlower * static_cast<double>(usual)) continue;
    const Exposure exposed = exposure_of(n, worst.type, worst.group, worst.members);
    const Picoseconds cost = std::min((mean(worst) - usual) * worst.count, exposed.least);
    if (cost <= 0) continue;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "slow_link", fmt::format("group {}", worst.group), cost, {"collectives", worst.row}));
    d.sentence = fmt::format(
        "{} of {} takes {} in group {} and {} in {} other groups of the same size, which costs {}. Check the links "
        "between these ranks.",
        worst.type, show_bytes(static_cast<double>(worst.bytes)), show_time(mean(worst)), worst.group, show_time(usual),
        level.size() - 1, amount(n, d));
    taken.by_group[{worst.type, worst.group}] += cost;
  }
  return judged;
}

/// Compare pairs of ranks with messages of the same size. The later end of a message does not wait.
bool slow_pairs(const Numbers& n, Judgement& j) {
  bool judged = false;
  struct Pair {
    Picoseconds time = INT64_MAX;
    int64_t count = 0, row = 0;
    bool both = false;
  };
  std::map<int64_t, std::map<std::pair<int64_t, int64_t>, Pair>> sizes;
  for (const Numbers::Message& m : n.messages) {
    if (m.count <= 0 || m.from < 0 || m.to < 0) continue;
    Pair& pair = sizes[m.bytes][{m.from, m.to}];
    pair.both = pair.time != INT64_MAX;
    if (m.time / m.count < pair.time) pair.time = m.time / m.count, pair.count = m.count, pair.row = m.row;
  }
  for (const auto& [bytes, pairs] : sizes) {
    if (pairs.size() < kLeastLinks || !std::all_of(pairs.begin(), pairs.end(), [](auto& p) { return p.second.both; }))
      continue;
    judged = true;
    const auto worst =
        std::max_element(pairs.begin(), pairs.end(), [](auto& a, auto& b) { return a.second.time < b.second.time; });
    std::vector<Picoseconds> others;
    for (const auto& [ends, pair] : pairs)
      if (ends != worst->first) others.push_back(pair.time);
    const Picoseconds usual = median(std::move(others)), time = worst->second.time;
    if (static_cast<double>(time) < kSlower * static_cast<double>(usual)) continue;
    Picoseconds exposed = 0;
    for (const Numbers::Exposed& x : n.exposed)
      if (x.type == kMessages && x.rank == worst->first.second) exposed = x.time;
    const Picoseconds cost = std::min((time - usual) * worst->second.count, exposed);
    if (cost <= 0) continue;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "slow_link", fmt::format("link {} to {}", worst->first.first, worst->first.second), cost,
               {"message_bandwidth", worst->second.row}));
    d.sentence = fmt::format(
        "A message of {} from rank {} to rank {} takes {}, and {} between {} other pairs of ranks, which costs {}. "
        "Check the link between these ranks.",
        show_bytes(static_cast<double>(bytes)), worst->first.first, worst->first.second, show_time(time),
        show_time(usual), pairs.size() - 1, amount(n, d));
  }
  return judged;
}

Judgement slow_link(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  const bool groups = slow_groups(n, taken, j), pairs = slow_pairs(n, j);
  if (!groups && !pairs) j.not_judged = "fewer than three groups or pairs of ranks have the same communication";
  return j;
}

/// The latency of collectives of one type and group: the time of very small ones, or the line through the smallest and
/// the largest. 0: unknown.
Picoseconds latency_of(const std::vector<const Numbers::Transfer*>& sizes) {
  const Numbers::Transfer &small = *sizes.front(), &large = *sizes.back();
  const auto mean = [](const Numbers::Transfer& t) { return t.time / t.count; };
  if (small.bytes <= kLatencyBytes) return mean(small);
  if (large.bytes / kSizesApart < small.bytes) return 0;
  const double slope = static_cast<double>(mean(large) - mean(small)) / static_cast<double>(large.bytes - small.bytes);
  return std::max<Picoseconds>(0, mean(small) - static_cast<Picoseconds>(slope * static_cast<double>(small.bytes)));
}

Judgement small_messages(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!compares(n, j)) return j;
  std::map<std::pair<std::string, std::string>, std::vector<const Numbers::Transfer*>> kinds;
  for (const Numbers::Transfer& t : n.transfers)
    if (t.count > 0 && t.bytes > 0) kinds[{t.type, t.group}].push_back(&t);
  bool judged = false;
  for (auto& [key, sizes] : kinds) {
    std::sort(sizes.begin(), sizes.end(), [](auto* a, auto* b) { return a->bytes < b->bytes; });
    const Picoseconds latency = latency_of(sizes);
    if (latency == 0) continue;
    judged = true;
    int64_t count = 0, bytes = 0;
    const Numbers::Transfer* most = nullptr;
    for (const Numbers::Transfer* t : sizes) {
      if (t->time / t->count > kLatencyParts * latency) continue;
      count += t->count, bytes = std::max(bytes, t->bytes);
      if (!most || t->count > most->count) most = t;
    }
    if (!most || count < kLeastMessages * n.steps()) continue;
    const Exposure exposed = exposure_of(n, key.first, key.second, most->members);
    const double saved = static_cast<double>(latency) * static_cast<double>(count - n.steps());
    const Picoseconds rest = exposed.least - taken.by_group[key];
    const Picoseconds cost = saved < static_cast<double>(rest) ? static_cast<Picoseconds>(saved) : rest;
    if (cost <= 0) continue;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "small_messages", fmt::format("group {}", key.second), cost, {"collectives", most->row}));
    d.sentence = fmt::format(
        "{} {} of at most {} in group {} have a latency of {} each: up to {}. Larger buckets or "
        "one fused collective save the latency of the others.",
        show_count(count / n.steps()), key.first, show_bytes(static_cast<double>(bytes)), key.second,
        show_time(latency), amount(n, d));
    taken.by_group[key] += cost;
  }
  if (!judged) j.not_judged = "no group has collectives of sizes that show the latency";
  return j;
}

Judgement no_overlap(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  if (n.ranks.size() == 1) {
    const Rank& r = n.ranks[0];
    const Picoseconds all = r.overlapped + r.exposed, cost = std::min(r.exposed, r.alone);
    if (all == 0) return {"the job does not communicate", {}};
    if (cost <= 0 || static_cast<double>(r.overlapped) >= kNoOverlap * static_cast<double>(all)) return j;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "no_overlap", fmt::format("rank {}", r.rank), cost, {"overlap", r.overlap_row}));
    d.sentence = fmt::format(
        "Communication of rank {} runs without computation for {}; waiting for ranks that are not recorded is "
        "included.",
        r.rank, amount(n, d));
    return j;
  }
  if (!compares(n, j)) return j;
  struct Kind {
    Picoseconds time = 0;  ///< of a member
    int64_t members = 0;
  };
  std::map<std::pair<std::string, std::string>, Kind> kinds;
  for (const Numbers::Transfer& t : n.transfers) {
    Kind& kind = kinds[{t.type, t.group}];
    kind.time = add_saturated(kind.time, add_saturated(t.wait, t.time)), kind.members = t.members;
  }
  Picoseconds alone = INT64_MAX;
  for (const Rank& r : n.ranks) alone = std::min(alone, r.alone);
  std::map<std::string, Diagnosis> by_type;  // the largest: groups of one type run beside each other
  for (const auto& [key, kind] : kinds) {
    const Exposure exposed = exposure_of(n, key.first, key.second, kind.members);
    if (static_cast<double>(exposed.mean) < (1 - kNoOverlap) * static_cast<double>(kind.time)) continue;
    const Picoseconds cost = std::min(exposed.least - taken.by_group[key], alone);
    if (cost <= 0) continue;
    Diagnosis d = row_of(n, "no_overlap", fmt::format("group {}", key.second), cost, {"exposed", exposed.row});
    d.sentence = fmt::format(
        "{} in group {} runs without computation for up to {}. Where later computation does not need the result, an "
        "earlier "
        "start or a wait at a later point hides this time.",
        key.first, key.second, amount(n, d));
    Diagnosis& largest = by_type[key.first];
    if (d.cost > largest.cost) largest = std::move(d);
  }
  for (auto& [type, d] : by_type)
    if (d.cost > 0) j.diagnoses.push_back(std::move(d));
  return j;
}

constexpr DiagnosisRule kRules[] = {
    {"late_data_loader", late_data_loader,
     "idle time in operators of data loaders and in long host gaps before the first computation of a step; of all "
     "ranks: the least; of one rank: above the median of the others, at most the waiting for this rank"},
    {"memory_peak", memory_peak, "time of calls that allocate or free device memory, on the critical path"},
    {"skewed_expert", skewed_expert,
     "waiting for the slow rank, if this rank has most bytes of an all-to-all, at least 1.2 times the mean"},
    {"slow_rank", slow_rank,
     "waiting for the rank, less waiting for the next one; at most the exposed communication that the rank has less "
     "than the median of the others"},
    {"host_bound", host_bound,
     "gaps of the stream with most gaps before which the launch came late, at most the idle time; median of the ranks"},
    {"slow_link", slow_link,
     "transfer time above the median of groups or pairs of ranks with the same communication, from 1.25 times the "
     "median; at most the exposed time"},
    {"small_messages", small_messages,
     "latency times the number of small collectives, less one a step; at most the exposed time"},
    {"no_overlap", no_overlap,
     "least exposed time of a type and group over the ranks, if at most a quarter of the communication overlaps"},
};

}  // namespace

constinit const std::span<const DiagnosisRule> kDiagnosisRules = kRules;

}  // namespace chakra::analyze
