// The rules of the diagnosis, a function for each kind.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "chakra/analyze/diagnosis_rules.h"
#include "chakra/base/join.h"
#include "chakra/base/quantile.h"

namespace chakra::analyze {

Picoseconds median_of(std::vector<Picoseconds> values) {
  return values.empty() ? 0 : nth_of(values, (values.size() - 1) / 2);
}

Diagnosis row_of(const Numbers& n, std::string_view kind, std::string place, Picoseconds cost, Evidence evidence) {
  const double share = n.whole() > 0 ? static_cast<double>(cost) / static_cast<double>(n.whole()) : 0;
  return {kind, std::move(place), cost / n.steps(), share, evidence, {}};
}

std::string amount(const Numbers& n, const Diagnosis& d) {
  return fmt::format("{} of {} ({})", show_time(d.cost), n.steps() > 1 ? "a step" : "the recording",
                     show_percent(d.share));
}
std::string amount(const Numbers& n, Picoseconds time) { return amount(n, row_of(n, {}, {}, time, {})); }
std::string not_hidden_sentence(std::string_view what, std::string_view exposed, std::string_view at_most) {
  if (at_most.empty())
    return fmt::format(
        "On each rank, {} runs without computation for {} or more. Where later computation does not need the "
        "result, an earlier start or a wait at a later point hides this time.",
        what, exposed);
  return fmt::format(
      "On each rank, {} runs without computation for {} or more. There is other computation to hide at most {}: where "
      "later computation does not need the result, by an earlier start or a wait at a later point.",
      what, exposed, at_most);
}

bool compares(const Numbers& n, Judgement& j) {
  if (!n.measured) j.not_judged = kNotMeasured;
  else if (n.ranks.size() < 2) j.not_judged = kOneRank;
  else if (n.transfers.empty()) j.not_judged = kNoWaits;
  return j.not_judged.empty();
}

namespace {

using Rank = Numbers::Rank;
constexpr std::string_view kAllToAll = "ALL_TO_ALL";
/// Lower median over the other ranks.
template <class Value>
Picoseconds median_of_others(const Numbers& n, int64_t rank, const Value& value) {
  std::vector<Picoseconds> others;
  for (const Rank& r : n.ranks)
    if (r.rank != rank) others.push_back(value(r));
  return median_of(std::move(others));
}

const Rank* find_rank(const Numbers& n, int64_t rank) {
  const auto found = std::find_if(n.ranks.begin(), n.ranks.end(), [&](const Rank& r) { return r.rank == rank; });
  return found == n.ranks.end() ? nullptr : &*found;
}

std::string per_step(const Numbers& n, Picoseconds time) { return show_time(time / n.steps()); }

/// How long each rank delays the others by itself, by place: at most the time that others wait for the rank, and at
/// most the time without exposed communication that the rank has more than the median rank. A rank that waits for a
/// late member of one group, and so is late in others, has no such time. Noise has no preferred rank.
std::vector<Picoseconds> own_delays(const Numbers& n) {
  std::map<int64_t, Picoseconds> waited;
  for (const Numbers::Waited& w : n.waited) waited[w.rank] = w.time;
  std::vector<Picoseconds> works;
  for (const Rank& r : n.ranks) works.push_back(r.total - r.exposed);
  const Picoseconds usual = median_of(works);  // half of the ranks can be slow: of two in the middle, the shorter one
  for (size_t i = 0; i < works.size(); ++i)
    works[i] = std::max<Picoseconds>(0, std::min(works[i] - usual, waited[n.ranks[i].rank]));
  return works;
}

/// The rank that delays the others most, and for how much longer than the next one.
struct LateRank {
  const Rank* rank = nullptr;
  Picoseconds cost = 0;
};
LateRank latest_rank(const Numbers& n) {
  const std::vector<Picoseconds> delays = own_delays(n);
  LateRank late;
  Picoseconds most = 0, next = 0;
  for (size_t i = 0; i < delays.size(); ++i) {
    if (delays[i] > most) next = std::exchange(most, delays[i]), late.rank = &n.ranks[i];
    else next = std::max(next, delays[i]);
  }
  late.cost = most - next;
  return late;
}

/// Ranks, at most half of all, that delay the others about equally, as those of a slow node, and for how much longer
/// than the next rank.
struct LateGroup {
  std::vector<const Rank*> ranks;
  Picoseconds cost = 0;
};
LateGroup late_group(const Numbers& n) {
  const std::vector<Picoseconds> delays = own_delays(n);
  std::vector<size_t> order(delays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return delays[a] > delays[b]; });
  size_t size = 0;
  LateGroup group;
  for (size_t k = 2; k <= order.size() / 2; ++k) {
    const Picoseconds least = delays[order[k - 1]], cost = least - delays[order[k]];
    if (cost > group.cost && cost > delays[order[0]] - least) size = k, group.cost = cost;
  }
  for (size_t k = 0; k < size; ++k) group.ranks.push_back(&n.ranks[order[k]]);
  std::sort(group.ranks.begin(), group.ranks.end(), [](auto* a, auto* b) { return a->rank < b->rank; });
  return group;
}

/// How much longer the others wait for this rank than for the next one; 0 if they wait longer for another rank.
Picoseconds waits_for(const Numbers& n, int64_t rank) {
  const LateRank late = latest_rank(n);
  return late.rank && late.rank->rank == rank ? late.cost : 0;
}

int64_t waited_row(const Numbers& n, int64_t rank) {
  for (const Numbers::Waited& w : n.waited)
    if (w.rank == rank) return w.row;
  return 0;
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
  // Where the device waits longer for other launches, a gap before the first one is that of a slow host.
  const Shared s = shared_of(
      n, [](const Rank& r) { return r.names_loader || std::min(r.idle, r.host_wait) <= 2 * r.loader ? r.loader : 0; });
  const auto add = [&](std::string place, Picoseconds cost, const Rank& r) {
    Diagnosis& d = j.diagnoses.emplace_back(row_of(n, "late_data_loader", place, cost, {"step_times", r.step_row}));
    d.sentence = r.names_loader
                     ? fmt::format(
                           "The first computation of {} waits for the data loader: {}. More workers, "
                           "prefetching or a faster storage can hide this time.",
                           place, amount(n, d))
                     : fmt::format(
                           "The first computation of {} waits for the host, which runs no recorded operator: "
                           "{}. If the host waits for data, more workers, prefetching or a faster storage can "
                           "hide this time. Threads that the recording lacks would look the same.",
                           place, amount(n, d));
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

/// The latest rank, less what earlier rules explain.
std::optional<std::pair<int64_t, Picoseconds>> late_rank(const Numbers& n, const Taken& taken) {
  const LateRank late = latest_rank(n);
  if (!late.rank) return std::nullopt;
  const auto explained = taken.by_rank.find(late.rank->rank);
  const Picoseconds cost = late.cost - (explained == taken.by_rank.end() ? 0 : explained->second);
  if (cost <= 0) return std::nullopt;
  return std::pair(late.rank->rank, cost);
}

/// Whether this load is that of one rank: far above the mean, unless the rank is early where it has most bytes; or
/// above balanced loads while the rank makes most of the lateness of its group.
bool is_of_one_rank(const Numbers& n, const Numbers::Load& load) {
  if (!load.type.starts_with(kAllToAll)) return false;
  Picoseconds all = 0, own = 0;
  bool early = false;
  for (const Numbers::Uneven& u : n.uneven) {
    if (u.group != load.group) continue;
    if (u.late > 0) all = add_saturated(all, u.late);
    if (u.rank != load.rank) continue;
    own = std::max<Picoseconds>(0, u.late);
    early = u.late <= 0;
  }
  return load.ratio >= kSkewed ? !early : load.ratio >= kUnbalanced && own > all / 2;
}

/// Experts whose load changes from layer to layer: in each uneven all-to-all, the rank with most bytes is late. With
/// even loads, it would start when the mean of the members starts. The group that loses most time has the row.
struct ChangingExperts {
  std::string group;
  Diagnosis row;
};
std::optional<ChangingExperts> changing_experts(const Numbers& n) {
  std::map<std::string, Picoseconds> late;
  for (const Numbers::Uneven& u : n.uneven) late[u.group] = add_saturated(late[u.group], u.late);
  const auto most = std::max_element(late.begin(), late.end(), [](auto& a, auto& b) { return a.second < b.second; });
  if (most == late.end()) return std::nullopt;
  Picoseconds exposed = 0;  // a wait that computation hides costs no time
  for (const Numbers::Exposed& x : n.exposed)
    if (x.type == kAllToAll && x.group == most->first) exposed = std::max(exposed, x.time);
  const Picoseconds cost = std::min(most->second, exposed);
  if (cost <= 0) return std::nullopt;
  // One rank can have most load of all layers together, although other ranks are later in single layers.
  const Numbers::Load* load = nullptr;
  for (const Numbers::Load& l : n.loads)
    if (l.group == most->first && (!load || l.ratio > load->ratio) && is_of_one_rank(n, l)) load = &l;
  const Numbers::Uneven* worst = nullptr;
  for (const Numbers::Uneven& u : n.uneven)
    if (u.group == most->first && (!worst || u.late > worst->late)) worst = &u;
  const Evidence evidence = load ? Evidence{"imbalance", load->row} : Evidence{"uneven_waits", worst->row};
  Diagnosis d =
      row_of(n, "skewed_expert", load ? fmt::format("rank {}", load->rank) : "group " + most->first, cost, evidence);
  d.sentence = fmt::format(
      "{}, and the rank with most bytes of each uneven all-to-all is late (group {}). With even loads, the job takes "
      "{} less. A loss for balance, a limit of capacity or copies of busy experts can even out the load.",
      load ? fmt::format("The experts of rank {} have {:.1f} times the mean load", load->rank, load->ratio)
           : "The busiest experts are on ranks that change",
      most->first, amount(n, d));
  return ChangingExperts{most->first, std::move(d)};
}

Judgement skewed_expert(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!compares(n, j)) return j;
  if (std::none_of(n.transfers.begin(), n.transfers.end(),
                   [](const Numbers::Transfer& t) { return t.type.starts_with(kAllToAll) && t.bytes > 0; }))
    return {"no all-to-all with its size is recorded", {}};
  const auto late = late_rank(n, taken);
  std::optional<ChangingExperts> changing = changing_experts(n);
  for (const Numbers::Load& load : n.loads) {
    if (!late || load.rank != late->first || !is_of_one_rank(n, load)) continue;
    // With even loads, the rank does the work of the mean, not that of the others: they take its surplus.
    const Picoseconds cost = late->second / load.members * (load.members - 1);
    if (changing && cost / n.steps() <= changing->row.cost) break;
    changing.reset();
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "skewed_expert", fmt::format("rank {}", late->first), cost, {"imbalance", load.row}));
    d.sentence = fmt::format(
        "The experts of rank {} have {:.1f} times the mean load ({} in group {}), and other ranks wait {}. With even "
        "loads, the job takes {} less. A loss for balance, a limit of capacity or copies of busy experts can even out "
        "the load.",
        late->first, load.ratio, load.type, load.group, per_step(n, late->second), amount(n, d));
    taken.by_rank[late->first] += late->second;
    break;
  }
  if (changing) {
    for (const Numbers::Uneven& u : n.uneven)
      if (u.group == changing->group && u.late > 0) taken.by_rank[u.rank] += u.late / (u.members - 1) * u.members;
    taken.by_group[{std::string(kAllToAll), changing->group}] += changing->row.cost * n.steps();
    j.diagnoses.push_back(std::move(changing->row));
  }
  return j;
}

/// Several ranks that are late by more than `single`, the cost of one late rank.
std::optional<Diagnosis> slow_ranks(const Numbers& n, Picoseconds single, Taken& taken) {
  const LateGroup late = late_group(n);
  Picoseconds cost = late.cost;
  std::vector<int64_t> ranks;
  for (const Rank* r : late.ranks) {
    const auto explained = taken.by_rank.find(r->rank);
    if (explained != taken.by_rank.end()) cost = std::min(cost, late.cost - explained->second);
    ranks.push_back(r->rank);
  }
  if (cost <= single) return std::nullopt;
  constexpr size_t kNamed = 16;
  std::string place = "ranks " + join(std::span(ranks).first(std::min(kNamed, ranks.size())), ", ");
  if (ranks.size() > kNamed) place += fmt::format(" and {} more", ranks.size() - kNamed);
  Diagnosis d = row_of(n, "slow_rank", place, cost, {"stragglers", waited_row(n, ranks.front())});
  d.sentence = fmt::format(
      "Other ranks wait {} for {}, each of which is late. Compare what these ranks share: a node, a switch, a stage of "
      "a pipeline or a part of the data.",
      amount(n, d), place);
  for (const Rank* r : late.ranks) taken.by_rank[r->rank] += cost;
  return d;
}

Judgement slow_rank(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!compares(n, j)) return j;
  const auto late = late_rank(n, taken);
  if (std::optional<Diagnosis> several = slow_ranks(n, late ? late->second : 0, taken)) {
    j.diagnoses.push_back(std::move(*several));
    return j;
  }
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
  for (const Numbers::Load& load : n.loads)
    if (load.type.starts_with(kAllToAll) && (load.worst >= kSkewed || load.rank == r.rank)) {
      d.sentence += fmt::format(
          " Another cause can be busy experts: an {} in group {} has up to {:.1f} times the mean bytes of a rank.",
          load.type, load.group, load.worst);
      d.could_be.push_back("skewed_expert");
      break;
    }
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
  const Picoseconds wait = median_of(waits);
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

Judgement pipeline_bubbles(const Numbers& n, Taken&) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  if (n.message_waits.empty()) return {"no message has known times of both ends", {}};
  const Numbers::MessageWait* least = nullptr;
  Picoseconds cost = 0;
  for (const Rank& r : n.ranks) {
    const auto wait = std::find_if(n.message_waits.begin(), n.message_waits.end(),
                                   [&](const Numbers::MessageWait& w) { return w.rank == r.rank; });
    if (wait == n.message_waits.end()) return j;  // a rank that does not receive is never held up
    // In the last step of a recording, a rank that is done waits for the others.
    const Picoseconds all = add_saturated(wait->time, (n.whole() - r.total) / n.steps());
    if (!least || all < cost) cost = all, least = &*wait;
  }
  if (cost <= 0) return j;
  Diagnosis& d =
      j.diagnoses.emplace_back(row_of(n, "pipeline_bubbles", all_of(n), cost, {"message_waits", least->row}));
  d.sentence = fmt::format(
      "Each rank waits at least {} for messages that other pipeline stages have not sent yet, or for the last rank. "
      "More micro-batches, virtual stages or another schedule shorten these waits.",
      amount(n, d));
  return j;
}

constexpr DiagnosisRule kRules[] = {
    {"late_data_loader", late_data_loader,
     "idle time in operators of data loaders and in long host gaps before the first computation of a step; of all "
     "ranks: the least; of one rank: above the median of the others, at most the waiting for this rank"},
    {"memory_peak", memory_peak, "time of calls that allocate or free device memory, on the critical path"},
    {"skewed_expert", skewed_expert,
     "waiting for the slow rank, if this rank has most bytes of uneven all-to-alls, at least 1.2 times the mean (1.1 "
     "if it makes most of the lateness); less the part of this rank in even loads; or the lateness of the busiest rank "
     "of each such all-to-all, in sum"},
    {"slow_rank", slow_rank,
     "waiting for the rank, less waiting for the next one; at most the time without exposed communication that the "
     "rank has more than the median of the others"},
    {"host_bound", host_bound,
     "gaps of the stream with most gaps before which the launch came late, at most the idle time; median of the ranks"},
    {"slow_link", slow_link,
     "transfer time above the median of groups or pairs of ranks with the same communication, from 1.25 times the "
     "median, also of other groups with a rank of such a group; at most the exposed time"},
    {"small_messages", small_messages,
     "latency times the number of small collectives of a type, less one a step, for all types of a group; at most the "
     "exposed time"},
    {"pipeline_bubbles", pipeline_bubbles,
     "least time of a rank without computation in receives of messages that are not sent yet, and until the longest "
     "rank ends"},
    {"no_overlap", no_overlap,
     "least exposed time of the types of a group over the ranks, if at most a quarter of a type overlaps; of groups "
     "beside each other the largest"},
};

}  // namespace

constinit const std::span<const DiagnosisRule> kDiagnosisRules = kRules;

}  // namespace chakra::analyze
