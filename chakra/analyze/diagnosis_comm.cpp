// The rules of the diagnosis about communication.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "chakra/analyze/diagnosis_rules.h"
#include "chakra/base/join.h"
#include "chakra/base/quantile.h"

namespace chakra::analyze {
namespace {

constexpr int64_t kLatencyBytes = 8192;          ///< transfers of so few bytes take the latency alone
constexpr int64_t kSizesApart = 4;               ///< ratio of two sizes whose times determine a latency
constexpr Picoseconds kMostRound = 100'000'000;  ///< latency of a round: no network takes longer, also with TCP
constexpr std::string_view kMessages = "messages";

/// Least exposed time of a type and group over the ranks that use it, at most their transfers: the last rank to arrive
/// does not wait, but each rank can be the last one in turn.
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
  Picoseconds transfers = 0;
  for (const Numbers::Transfer& t : n.transfers)
    if (t.type == type && t.group == group) transfers = add_saturated(transfers, t.time);
  e.least = std::min(e.least, transfers);
  return e;
}

Picoseconds mean_time(const Numbers::Transfer& t) { return t.time / t.count; }

std::set<int64_t> ranks_of(const Numbers& n, const std::string& group) {
  std::set<int64_t> ranks;
  if (const auto found = n.groups.find(group); found != n.groups.end())
    ranks.insert(found->second.begin(), found->second.end());
  for (const Numbers::Exposed& x : n.exposed)
    if (x.group == group) ranks.insert(x.rank);
  return ranks;
}

/// A group whose collectives take longer than those of other groups.
struct SlowGroup {
  std::map<std::string, Picoseconds> by_type;  ///< time above that of the others
  const Numbers::Transfer* worst = nullptr;    ///< with most time above that of the others
  Picoseconds usual = 0, over = 0;  ///< of the worst: time of one in the other groups; the time above, in all
  Picoseconds all = 0;              ///< time above that of the others, of all types
  size_t others = 0;
};
using SlowGroups = std::map<std::string, SlowGroup>;

/// The usual one of the times of all: if half of them or more are slow, the slow ones are no exception. Of two, the
/// less.
Picoseconds usual_of(std::vector<Picoseconds> times) {
  const size_t middle = times.size() < kLeastLinks ? 0 : times.size() / 2;
  return times.empty() ? 0 : nth_of(times, middle);
}

/// Add the slowest of groups with the same collectives, if it is slower than the others.
void add_slowest(const std::vector<const Numbers::Transfer*>& level, SlowGroups& groups) {
  const Numbers::Transfer& worst =
      **std::max_element(level.begin(), level.end(), [](auto* a, auto* b) { return mean_time(*a) < mean_time(*b); });
  std::vector<Picoseconds> times;
  for (const Numbers::Transfer* t : level) times.push_back(mean_time(*t));
  const Picoseconds usual = usual_of(std::move(times));
  if (static_cast<double>(mean_time(worst)) < kSlower * static_cast<double>(usual)) return;
  const Picoseconds over = (mean_time(worst) - usual) * worst.count;
  SlowGroup& group = groups[worst.group];
  group.by_type[worst.type] = add_saturated(group.by_type[worst.type], over);
  group.all = add_saturated(group.all, over);
  if (group.worst && over <= group.over) return;
  group.worst = &worst, group.usual = usual, group.over = over, group.others = level.size() - 1;
}

/// A slow link slows down all collectives of its group, and those of other groups with the same rank.
struct SlowLink {
  std::string name;         ///< of the group with most time above that of others, which at least two others show
  SlowGroup group;          ///< of that name
  std::set<int64_t> ranks;  ///< of that group
  std::vector<std::string> more = {};  ///< other groups
  Picoseconds cost = 0;                ///< of all these groups: exposed time above that of others
};

void add_group(const Numbers& n, const std::string& name, const SlowGroup& group, SlowLink& link, Taken& taken) {
  for (const auto& [type, over] : group.by_type) {
    Picoseconds& counted = taken.by_group[{type, name}];
    const Picoseconds rest = exposure_of(n, type, name, group.worst->members).least - counted;
    const Picoseconds costs = std::clamp<Picoseconds>(rest, 0, over);
    counted += costs;
    link.cost = add_saturated(link.cost, costs);
  }
}

/// Of three groups, two show which one is the exception. Of two groups, the slower one has a slow link if it has a rank
/// of such an exception.
bool find_slow_links(const Numbers& n, std::vector<SlowLink>& links, Taken& taken) {
  bool judged = false;
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const Numbers::Transfer*>> levels;
  for (const Numbers::Transfer& t : n.transfers)
    if (t.count > 0 && t.bytes > 0) levels[{t.type, t.bytes, t.members}].push_back(&t);
  SlowGroups groups, pairs;
  for (const auto& [key, level] : levels) {
    judged |= level.size() >= kLeastLinks;
    if (level.size() >= 2) add_slowest(level, level.size() >= kLeastLinks ? groups : pairs);
  }
  std::vector<std::pair<Picoseconds, std::string>> sorted;
  for (const auto& [name, group] : groups)  // less is noise
    if (static_cast<double>(group.all) >= kLeastDiagnosedShare / 10 * static_cast<double>(n.whole()))
      sorted.emplace_back(group.all, name);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto link_with = [&](const std::set<int64_t>& ranks) {  // links are sorted: the one with most time
    return std::find_if(links.begin(), links.end(), [&](const SlowLink& link) {
      return std::any_of(ranks.begin(), ranks.end(), [&](int64_t rank) { return link.ranks.contains(rank); });
    });
  };
  for (const auto& [time, name] : sorted) {
    std::set<int64_t> ranks = ranks_of(n, name);
    const auto link = link_with(ranks);
    if (link != links.end()) link->more.push_back(name);
    SlowLink& of = link != links.end() ? *link : links.emplace_back(SlowLink{name, groups[name], std::move(ranks)});
    add_group(n, name, groups[name], of, taken);
  }
  for (const auto& [name, group] : pairs) {
    const auto link = link_with(ranks_of(n, name));
    if (link == links.end()) continue;
    if (name != link->name && std::find(link->more.begin(), link->more.end(), name) == link->more.end())
      link->more.push_back(name);
    add_group(n, name, group, *link, taken);
  }
  return judged;
}

/// One row for each slow link.
bool slow_groups(const Numbers& n, Taken& taken, Judgement& j) {
  std::vector<SlowLink> links;
  const bool judged = find_slow_links(n, links, taken);
  for (const SlowLink& link : links) {
    const SlowGroup& group = link.group;
    const Numbers::Transfer& worst = *group.worst;
    if (link.cost <= 0) continue;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "slow_link", fmt::format("group {}", link.name), link.cost, {"collectives", worst.row}));
    d.sentence = fmt::format(
        "{} of {} takes {} in group {} and {} in {} other groups of the same size. All collectives {} that are slower "
        "cost {}. Check the links between these ranks.",
        worst.type, show_bytes(static_cast<double>(worst.bytes)), show_time(mean_time(worst)), link.name,
        show_time(group.usual), group.others,
        link.more.empty()
            ? std::string("of this group")
            : fmt::format("of this group, and of group {} with a rank of this group,", join(link.more, ", ")),
        amount(n, d));
  }
  return judged;
}

/// Compare pairs of ranks with messages of the same size.
bool slow_pairs(const Numbers& n, Judgement& j) {
  bool judged = false;
  std::map<int64_t, std::vector<const Numbers::Message*>> sizes;
  for (const Numbers::Message& m : n.messages)
    if (m.count > 0) sizes[m.bytes].push_back(&m);
  const auto mean = [](const Numbers::Message& m) { return m.time / m.count; };
  for (const auto& [bytes, pairs] : sizes) {
    if (pairs.size() < kLeastLinks) continue;
    judged = true;
    const Numbers::Message& worst =
        **std::max_element(pairs.begin(), pairs.end(), [&](auto* a, auto* b) { return mean(*a) < mean(*b); });
    std::vector<Picoseconds> times;
    for (const Numbers::Message* pair : pairs) times.push_back(mean(*pair));
    const Picoseconds usual = usual_of(std::move(times)), time = mean(worst);
    if (static_cast<double>(time) < kSlower * static_cast<double>(usual)) continue;
    Picoseconds exposed = 0;
    for (const Numbers::Exposed& x : n.exposed)
      if (x.type == kMessages && x.rank == worst.to) exposed = x.time;
    const Picoseconds cost = std::min((time - usual) * worst.count, exposed);
    if (cost <= 0) continue;
    Diagnosis& d = j.diagnoses.emplace_back(row_of(n, "slow_link", fmt::format("link {} to {}", worst.from, worst.to),
                                                   cost, {"message_transfers", worst.row}));
    d.sentence = fmt::format(
        "A message of {} from rank {} to rank {} takes {}, and {} between {} other pairs of ranks, which costs {}. "
        "Check the link between these ranks.",
        show_bytes(static_cast<double>(bytes)), worst.from, worst.to, show_time(time), show_time(usual),
        pairs.size() - 1, amount(n, d));
  }
  return judged;
}

}  // namespace

Judgement slow_link(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  const bool groups = slow_groups(n, taken, j), pairs = slow_pairs(n, j);
  if (!groups && !pairs) j.not_judged = "fewer than three groups or pairs of ranks have the same communication";
  return j;
}

namespace {

/// The latency of collectives of one type and group: the time of very small ones, or the line through the smallest and
/// the largest. 0: unknown.
Picoseconds latency_of(const std::vector<const Numbers::Transfer*>& sizes) {
  const Numbers::Transfer &small = *sizes.front(), &large = *sizes.back();
  if (small.bytes <= kLatencyBytes) {
    Picoseconds least = mean_time(small);
    for (const Numbers::Transfer* t : sizes)
      if (t->bytes <= kLatencyBytes) least = std::min(least, mean_time(*t));
    return least;
  }
  if (large.bytes / kSizesApart < small.bytes) return 0;
  const double slope =
      static_cast<double>(mean_time(large) - mean_time(small)) / static_cast<double>(large.bytes - small.bytes);
  return std::max<Picoseconds>(0,
                               mean_time(small) - static_cast<Picoseconds>(slope * static_cast<double>(small.bytes)));
}

/// Collectives of one type and group.
struct Sizes {
  std::vector<const Numbers::Transfer*> rows;  ///< smallest first
  Picoseconds latency = 0;                     ///< 0: unknown
};
using SizesByGroup = std::map<std::string, std::map<std::string, Sizes>>;  ///< by group and type

/// An all-reduce is a reduce-scatter and an all-gather, in as many rounds. Where the sizes of one of these types do not
/// show its latency, half the latency of the group's all-reduces is a lower bound in every algorithm.
SizesByGroup latencies_of(const Numbers& n) {
  SizesByGroup groups;
  for (const Numbers::Transfer& t : n.transfers)
    if (t.count > 0 && t.bytes > 0) groups[t.group][t.type].rows.push_back(&t);
  for (auto& [name, types] : groups) {
    for (auto& [type, sizes] : types) {
      std::sort(sizes.rows.begin(), sizes.rows.end(), [](auto* a, auto* b) { return a->bytes < b->bytes; });
      sizes.latency = latency_of(sizes.rows);
    }
    const auto whole = types.find("ALL_REDUCE");
    if (whole == types.end()) continue;
    for (const std::string_view half : {"ALL_GATHER", "REDUCE_SCATTER"})
      if (const auto part = types.find(std::string(half)); part != types.end() && part->second.latency == 0)
        part->second.latency = std::min(whole->second.latency / 2, mean_time(*part->second.rows.front()));
  }
  return groups;
}

/// Small collectives of a group: all types together.
struct SmallMessages {
  Picoseconds cost = 0;
  int64_t count = 0, bytes = 0, members = 0;
  const Numbers::Transfer* most = nullptr;  ///< most often
  Picoseconds time = 0;                     ///< of all
  std::vector<std::string> types;
};
SmallMessages small_of(const Numbers& n, const std::map<std::string, Sizes>& types, Taken& taken) {
  SmallMessages small;
  for (const auto& [type, sizes] : types) {
    int64_t count = 0, bytes = 0;
    Picoseconds time = 0;
    const Numbers::Transfer* most = nullptr;
    for (const Numbers::Transfer* t : sizes.rows) {
      if (sizes.latency == 0 || mean_time(*t) / kLatencyParts > sizes.latency) continue;
      count += t->count, bytes = std::max(bytes, t->bytes);
      time = add_saturated(time, t->time);
      if (!most || t->count > most->count) most = t;
    }
    if (!most || count < kLeastMessages * n.steps()) continue;
    const std::pair key(type, most->group);
    const double saved = std::min(static_cast<double>(sizes.latency) * static_cast<double>(count - n.steps()),
                                  static_cast<double>(time));
    const Picoseconds rest = exposure_of(n, type, most->group, most->members).least - taken.by_group[key];
    const Picoseconds cost = saved < static_cast<double>(rest) ? static_cast<Picoseconds>(saved) : rest;
    if (cost <= 0) continue;
    taken.by_group[key] += cost;
    small.cost = add_saturated(small.cost, cost);
    small.count += count, small.bytes = std::max(small.bytes, bytes);
    small.members = most->members;
    small.time = add_saturated(small.time, time);
    small.types.push_back(type);
    if (!small.most || most->count > small.most->count) small.most = most;
  }
  return small;
}

/// Whether latency can be a large part of the time of a collective: each of its rounds has at most kMostRound.
bool could_be_latency(const Numbers::Transfer& t) {
  const Picoseconds rounds = 2 * std::max<int64_t>(1, t.members - 1);  // of an all-reduce in a ring
  return mean_time(t) / kLatencyParts <= kMostRound * rounds;
}

/// Kinds that would look like missing overlap of this group.
std::vector<std::string_view> like_no_overlap(const Numbers& n, const SizesByGroup& latencies, const std::string& name,
                                              const std::vector<std::string>& types) {
  std::vector<std::string_view> kinds;
  bool alone = true, unknown = false;
  const auto group = latencies.find(name);
  if (group == latencies.end()) return kinds;  // collectives without bytes, such as barriers
  for (const std::string& type : types) {
    const auto found = group->second.find(type);
    if (found == group->second.end()) continue;
    const Sizes& sizes = found->second;
    int64_t count = 0;
    for (const Numbers::Transfer* t : sizes.rows) {
      const auto same = std::count_if(n.transfers.begin(), n.transfers.end(), [&](const Numbers::Transfer& other) {
        return other.type == t->type && other.bytes == t->bytes && other.members == t->members;
      });
      alone &= same < static_cast<int64_t>(kLeastLinks);
      if (could_be_latency(*t)) count += t->count;
    }
    unknown |= sizes.latency == 0 && count >= kLeastMessages * n.steps();
  }
  if (alone) kinds.push_back("slow_link");
  if (unknown) kinds.push_back("small_messages");
  return kinds;
}

/// The sentence about the other kinds.
std::string others_of(const std::vector<std::string_view>& kinds) {
  std::string text;
  for (const std::string_view kind : kinds)
    text += kind == "slow_link" ? " A slow link of this group would look the same: fewer than three groups have the "
                                  "same communication."
                                : " Latency of many small messages would look the same: all have about the same size.";
  return text;
}

}  // namespace

Judgement small_messages(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!compares(n, j)) return j;
  bool judged = false;
  std::map<std::string, SmallMessages> groups;
  for (const auto& [name, types] : latencies_of(n)) {
    judged |= std::any_of(types.begin(), types.end(), [](const auto& each) { return each.second.latency > 0; });
    SmallMessages small = small_of(n, types, taken);
    if (small.cost > 0) groups[name] = std::move(small);
  }
  for (const SmallMessages& small : without_beside(groups)) {
    const std::string& name = small.most->group;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "small_messages", fmt::format("group {}", name), small.cost, {"collectives", small.most->row}));
    d.sentence = fmt::format(
        "{} {} of at most {} in group {} take {} each in the mean, mainly latency: up to {}. Larger buckets or one "
        "fused collective save the latency of the others.",
        show_count(small.count / n.steps()), join(small.types, " and "), show_bytes(static_cast<double>(small.bytes)),
        name, show_time(small.time / small.count), amount(n, d));
  }
  if (!judged) j.not_judged = "no group has collectives of sizes that show the latency";
  return j;
}

Judgement no_overlap(const Numbers& n, Taken& taken) {
  Judgement j;
  if (!n.measured) return {std::string(kNotMeasured), {}};
  if (n.ranks.size() == 1) {
    const Numbers::Rank& r = n.ranks[0];
    const Picoseconds all = r.overlapped + r.exposed, cost = std::min(r.exposed, r.alone);
    if (all == 0) return {"the job does not communicate", {}};
    if (cost <= 0 || static_cast<double>(r.overlapped) >= kNoOverlap * static_cast<double>(all)) return j;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "no_overlap", fmt::format("rank {}", r.rank), cost, {"overlap", r.overlap_row}));
    d.sentence = not_hidden_sentence(fmt::format("Communication of rank {}", r.rank), amount(n, r.exposed),
                                     cost < r.exposed ? amount(n, cost) : "") +
                 " Waiting for ranks that are not recorded is included.";
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
  struct Group {
    std::string name;
    std::vector<std::string> types;
    Picoseconds cost = 0, largest = 0;  ///< of all types, and of the type of the row
    int64_t members = 0, row = 0;
  };
  std::map<std::string, Group> groups;
  for (const auto& [key, kind] : kinds) {
    const Exposure exposed = exposure_of(n, key.first, key.second, kind.members);
    if (static_cast<double>(exposed.mean) < (1 - kNoOverlap) * static_cast<double>(kind.time)) continue;
    const Picoseconds cost = exposed.least - taken.by_group[key];
    if (cost <= 0) continue;
    Group& group = groups[key.second];
    group.name = key.second;
    group.types.push_back(key.first);
    group.cost += cost, group.members = kind.members;
    if (cost > group.largest) group.largest = cost, group.row = exposed.row;
  }
  Picoseconds most = INT64_MAX;
  for (const Numbers::Rank& r : n.ranks) {
    // While the device waits for its host, it has no computation that could hide communication.
    const bool waits =
        static_cast<double>(std::min(r.idle, r.host_wait)) >= kLeastDiagnosedShare * static_cast<double>(r.total);
    const Picoseconds late = waits ? std::max<Picoseconds>(0, r.host_wait - r.idle) : 0;
    most = std::min({most, r.alone, r.exposed - late});
  }
  const SizesByGroup latencies = latencies_of(n);
  for (const Group& group : without_beside(groups)) {
    const Picoseconds cost = std::min(group.cost, most);
    if (cost <= 0) continue;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(n, "no_overlap", fmt::format("group {}", group.name), cost, {"exposed", group.row}));
    d.sentence = not_hidden_sentence(fmt::format("{} in group {}", join(group.types, " and "), group.name),
                                     amount(n, group.cost), cost < group.cost ? amount(n, cost) : "");
    d.could_be = like_no_overlap(n, latencies, group.name, group.types);
    d.sentence += others_of(d.could_be);
  }
  return j;
}

void add_exposed(const Numbers& n, Diagnosis& none) {
  struct Group {
    Picoseconds least = 0;  ///< over the ranks, of all types
    std::vector<std::string> types;
    int64_t row = 0;
  };
  std::map<std::string, Group> groups;
  std::map<std::pair<std::string, std::string>, int64_t> kinds;  // members, by type and group
  for (const Numbers::Transfer& t : n.transfers) kinds[{t.type, t.group}] = t.members;
  for (const auto& [key, members] : kinds) {
    const Exposure exposed = exposure_of(n, key.first, key.second, members);
    if (exposed.least <= 0) continue;
    Group& group = groups[key.second];
    if (group.types.empty()) group.row = exposed.row;
    group.least = add_saturated(group.least, exposed.least);
    group.types.push_back(key.first);
  }
  const auto most =
      std::max_element(groups.begin(), groups.end(), [](auto& a, auto& b) { return a.second.least < b.second.least; });
  if (most == groups.end() ||
      static_cast<double>(most->second.least) < kLeastDiagnosedShare * static_cast<double>(n.whole()))
    return;
  none.could_be = like_no_overlap(n, latencies_of(n), most->first, most->second.types);
  none.evidence = {"exposed", most->second.row};
  none.sentence += fmt::format(
      " A part of the communication in group {} overlaps, and the rest takes {} of the time. The recording does not "
      "show why.{}",
      most->first, show_percent(static_cast<double>(most->second.least) / static_cast<double>(n.whole())),
      others_of(none.could_be));
}

}  // namespace chakra::analyze
