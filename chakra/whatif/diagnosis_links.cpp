// Rules of the diagnosis of runs about links and communication.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "chakra/net/change.h"
#include "chakra/whatif/diagnosis_rules.h"

namespace chakra::whatif {
namespace {

std::string_view group_text(std::string_view group) { return group.empty() ? "all" : group; }

using analyze::Diagnosis;
using analyze::Judgement;

using analyze::kLatencyParts, analyze::kLeastLinks, analyze::kLeastMessages, analyze::kNoOverlap, analyze::kSlower;
constexpr net::LinkId kMostLinks = 1u << 20;
constexpr std::string_view kRecorded = "communication takes the recorded time";

/// "leaf3" and "leaf12" are of one kind.
std::string kind_of(std::string name) { return analyze::beside_of(std::move(name), 0).first; }

struct Odd {
  std::vector<net::OddLink> usual;  ///< the slow links, as other links of their kind
  double least = 1;                 ///< rate of the slowest by the usual rate
  net::LinkId slowest = net::kNoLink;
  void add(net::LinkId id, const net::Link& is, double rate, Picoseconds latency) {
    usual.push_back({id, rate, std::min(latency, is.latency_ps)});
    if (slowest == net::kNoLink || is.bytes_per_s / rate < least) least = is.bytes_per_s / rate, slowest = id;
  }
};

/// Links of a graph below the usual rate of links between such devices.
Odd odd_of_graph(const net::Fabric& fabric) {
  std::map<std::pair<std::string, std::string>, std::vector<net::LinkId>> kinds;
  for (net::LinkId id = 0; id < fabric.link_count(); ++id) {
    const net::Link link = fabric.link(id);
    const auto end = [&](uint32_t device) {
      return device < fabric.size() ? std::string() : kind_of(fabric.device_name(device));
    };
    kinds[{end(link.from), end(link.to)}].push_back(id);
  }
  Odd odd;
  for (const auto& [ends, links] : kinds) {
    if (links.size() < kLeastLinks) continue;
    std::vector<std::pair<double, Picoseconds>> rates;
    for (const net::LinkId id : links) rates.emplace_back(fabric.link(id).bytes_per_s, fabric.link(id).latency_ps);
    std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
    const auto [rate, latency] = rates[rates.size() / 2];
    for (const net::LinkId id : links)
      if (const net::Link is = fabric.link(id); is.bytes_per_s * kSlower <= rate) odd.add(id, is, rate, latency);
  }
  return odd;
}

Odd odd_of(const net::Fabric& fabric) {
  if (fabric.graph) return odd_of_graph(fabric);
  net::Fabric even = fabric;
  even.odd_links.clear();
  Odd odd;
  for (const net::OddLink& link : fabric.odd_links) {
    const net::Link usual = even.link(link.link);
    if (link.bytes_per_s * kSlower <= usual.bytes_per_s)
      odd.add(link.link, fabric.link(link.link), usual.bytes_per_s, usual.latency_ps);
  }
  return odd;
}

/// The cables of links; both directions are one cable.
size_t cables_of(const net::Fabric& fabric, const std::vector<net::OddLink>& links) {
  std::set<std::pair<uint32_t, uint32_t>> cables;
  for (const net::OddLink& each : links) {
    const net::Link link = fabric.link(each.link);
    cables.insert(std::minmax(link.from, link.to));
  }
  return cables.size();
}

/// The row of the longest collective or message of the critical path.
analyze::Evidence on_path(const DiagnosedRun& run) {
  int64_t row = 0, longest_row = 0;
  Picoseconds longest = 0;
  for (const sim::PathPiece& piece : run.report.critical_path) {
    const bool comm = piece.kind == sim::PathPiece::Kind::collective || piece.kind == sim::PathPiece::Kind::message;
    if (comm && piece.end_ps - piece.start_ps > longest) longest = piece.end_ps - piece.start_ps, longest_row = row;
    ++row;
  }
  return {"critical_path", longest_row};
}

/// A collective that a rule removes or shortens.
using Times = std::function<std::optional<Picoseconds>(const sim::Meeting&)>;
/// Time that the run saves if collectives take these times. Requires closed form.
Result<Picoseconds> saved_by_times(const DiagnosedRun& run, Times times) {
  return saved_by(run, [&](sim::SimInput& input) -> Result<void> {
    const auto before = input.collective_time;
    input.collective_time = [times = std::move(times),
                             before](const sim::Meeting& m) -> Result<std::optional<Picoseconds>> {
      if (const std::optional<Picoseconds> time = times(m)) return time;
      return before ? before(m) : std::optional<Picoseconds>();
    };
    return {};
  });
}

using Key = std::pair<std::string, std::string>;  // type, group
Key key_of(const sim::CollectiveReport& c) { return {std::string(trace::name(c.type)), c.group}; }

/// Exposed communication of a type and group.
struct Exposure {
  Picoseconds least = 0;
  double sum = 0;  ///< over the ranks
  int64_t ranks = 0, actor = 0;
  trace::CommType type = trace::CommType::unknown;
};
std::map<Key, Exposure> exposures(const DiagnosedRun& run) {
  std::map<Key, Exposure> all;
  for (size_t a = 0; a < run.report.actors.size(); ++a)
    for (const sim::ActorReport::Exposed& e : run.report.actors[a].exposed) {
      if (e.type == trace::CommType::unknown) continue;
      Exposure& x = all[{std::string(trace::name(e.type)), e.group}];
      if (x.ranks == 0 || e.time_ps < x.least) x.least = e.time_ps, x.actor = static_cast<int64_t>(a);
      x.type = e.type;
      x.ranks += run.report.actors[a].ranks;
      x.sum += static_cast<double>(e.time_ps) * static_cast<double>(run.report.actors[a].ranks);
    }
  return all;
}

/// All collectives of a type and group.
struct Total {
  Picoseconds time = 0;  ///< with waiting
  int64_t members = 0;
};
std::map<Key, Total> totals_of(const DiagnosedRun& run) {
  std::map<Key, Total> kinds;
  for (const sim::CollectiveReport& c : run.report.collectives) {
    Total& kind = kinds[key_of(c)];
    kind.time = add_saturated(kind.time, add_saturated(c.total_ps, c.wait_ps));
    kind.members = c.members;
  }
  return kinds;
}

/// Least exposed time of each group, of all types together.
std::map<std::string, Picoseconds> by_group(const std::map<Key, Exposure>& exposed) {
  std::map<std::string, Picoseconds> sums;
  for (const auto& [key, exposure] : exposed) {
    Picoseconds& sum = sums[key.second];
    sum = add_saturated(sum, exposure.least);
  }
  return sums;
}

/// The collectives of a type and group, of all sizes, and the latency of one of each size.
struct Sizes {
  int64_t count = 0, members = 0;
  Picoseconds latencies = 0;  ///< of all
  uint64_t most_bytes = 0;
  std::map<uint64_t, Picoseconds> latency, time;
  int64_t row = 0;
};

/// Small collectives by type and group, if a network of twice the rate leaves most of their time.
Result<std::map<Key, Sizes>> small_of(const DiagnosedRun& run, const std::map<std::string, Picoseconds>& exposed) {
  sim::SimInput changed = sim::copy_of(run.input);
  for (size_t c = 0; c < net::link_classes(run.input.fabric).size(); ++c)
    changed.fabric = net::with_class(changed.fabric, c, 2, 1);
  CHAKRA_ASSIGN(const sim::SimReport faster, sim::simulate(std::move(changed)));
  std::map<std::pair<Key, uint64_t>, Picoseconds> times;
  for (const sim::CollectiveReport& c : faster.collectives)
    if (c.count > 0) times[{key_of(c), c.bytes}] = c.total_ps / c.count;
  std::map<Key, Sizes> all;
  for (size_t i = 0; i < run.report.collectives.size(); ++i) {
    const sim::CollectiveReport& c = run.report.collectives[i];
    const auto found = exposed.find(c.group);
    const auto fast = times.find({key_of(c), c.bytes});
    if (found == exposed.end() || !is_large(run, found->second) || fast == times.end() || c.count == 0) continue;
    const Picoseconds time = c.total_ps / c.count, latency = std::min(time, 2 * fast->second - time);
    if (latency <= 0 || time / kLatencyParts > latency) continue;
    Sizes& sizes = all[key_of(c)];
    if (sizes.count == 0) sizes.row = static_cast<int64_t>(i);
    sizes.count += c.count;
    sizes.members = c.members;
    sizes.latencies = add_saturated(sizes.latencies, latency * c.count);
    sizes.most_bytes = std::max(sizes.most_bytes, c.bytes);
    sizes.latency[c.bytes] = latency;
    sizes.time[c.bytes] = time;
  }
  std::erase_if(all, [](const auto& each) { return each.second.count < kLeastMessages; });
  return all;
}

}  // namespace

Result<Judgement> slow_link(DiagnosedRun& run) {
  Judgement j;
  const net::Fabric& fabric = run.input.fabric;
  if (run.input.transfers) return Judgement{std::string(kRecorded), {}};
  if (!fabric.fits.empty()) return Judgement{"measured collectives do not depend on single links", {}};
  if (fabric.link_count() > kMostLinks) return Judgement{"the network has too many links to compare", {}};
  const Odd odd = odd_of(fabric);
  if (odd.usual.empty()) return j;
  CHAKRA_ASSIGN(const Picoseconds cost, saved_by(run, [&](sim::SimInput& input) -> Result<void> {
                  CHAKRA_ASSIGN(input.fabric, net::with_links(fabric, odd.usual));
                  return {};
                }));
  if (cost <= 0) return j;
  run.links += cost;
  const size_t cables = cables_of(fabric, odd.usual);
  std::string place = "link " + fabric.link_name(odd.slowest);
  if (cables > 1) place += fmt::format(" and {} more", cables - 1);
  Diagnosis& d = j.diagnoses.emplace_back(row_of(run, "slow_link", place, cost, on_path(run)));
  d.sentence = fmt::format(
      "Link {}{} has {} of the rate of the other links of its kind. With the usual rate, the job takes {} less.",
      fabric.link_name(odd.slowest), cables > 1 ? fmt::format(", the slowest of {} slow links,", cables) : "",
      show_percent(odd.least), amount(d));
  return j;
}

Result<Judgement> loaded_link(DiagnosedRun& run) {
  Judgement j;
  const net::Fabric& fabric = run.input.fabric;
  if (run.report.congestion == sim::Congestion::closed)
    return Judgement{"closed form has no load of links over time; use --congestion fluid", {}};
  if (fabric.link_count() > kMostLinks) return Judgement{"the network has too many links to compare", {}};
  std::map<std::pair<std::string, std::string>, size_t> rows;
  for (size_t i = 0; i < run.report.links.size(); ++i) rows[{run.report.links[i].from, run.report.links[i].to}] = i;
  struct Loaded {
    double busy = 0;
    std::vector<std::pair<net::LinkId, size_t>> links;
    size_t all = 0;
  };
  std::map<std::tuple<std::string, std::string, double>, Loaded> kinds;
  for (net::LinkId id = 0; id < fabric.link_count(); ++id) {
    const net::Link link = fabric.link(id);
    if (link.from < fabric.size() || link.to < fabric.size()) continue;
    const std::string from = fabric.device_name(link.from), to = fabric.device_name(link.to);
    Loaded& kind = kinds[{kind_of(from), kind_of(to), link.bytes_per_s}];
    ++kind.all;
    const auto row = rows.find({from, to});
    if (row == rows.end()) continue;
    kind.links.emplace_back(id, row->second);
    kind.busy += static_cast<double>(run.report.links[row->second].busy_ps);
  }
  std::vector<net::OddLink> wider;
  const auto busy = [&](size_t row) { return run.report.links[row].busy_ps; };
  std::optional<size_t> worst;
  Picoseconds usual = 0;
  for (const auto& [key, kind] : kinds) {
    if (kind.all < kLeastLinks || kind.links.empty()) continue;
    const double mean = kind.busy / static_cast<double>(kind.all);
    for (const auto& [id, row] : kind.links) {
      const double ratio = static_cast<double>(busy(row)) / mean;
      if (ratio < kSlower || !is_large(run, busy(row) - static_cast<Picoseconds>(mean))) continue;
      wider.push_back({id, fabric.link(id).bytes_per_s * ratio, fabric.link(id).latency_ps});
      if (!worst || busy(row) > busy(*worst)) worst = row, usual = static_cast<Picoseconds>(mean);
    }
  }
  if (kinds.empty()) j.not_judged = "the network has no links between switches";
  if (!worst) return j;
  CHAKRA_ASSIGN(const Picoseconds cost, saved_by(run, [&](sim::SimInput& input) -> Result<void> {
                  CHAKRA_ASSIGN(input.fabric, net::with_links(fabric, wider));
                  return {};
                }));
  if (cost <= 0) return j;
  run.links += cost;
  const sim::LinkReport& link = run.report.links[*worst];
  Diagnosis& d = j.diagnoses.emplace_back(row_of(run, "loaded_link", fmt::format("link {} -> {}", link.from, link.to),
                                                 cost, {"links", static_cast<int64_t>(*worst)}));
  d.sentence = fmt::format(
      "Link {} -> {} carries data for {}, and a link of its kind for {} on average. If {} took the mean, the job would "
      "take {} less. Compare the routing policies and the places of the ranks.",
      link.from, link.to, show_time(link.busy_ps), show_time(usual),
      wider.size() == 1 ? std::string("it") : fmt::format("the {} links with most load", wider.size()), amount(d));
  return j;
}

Result<Judgement> small_messages(DiagnosedRun& run) {
  Judgement j;
  if (run.input.transfers) return Judgement{std::string(kRecorded), {}};
  if (run.report.congestion != sim::Congestion::closed)
    return Judgement{"latencies are known in closed form only; use --congestion closed", {}};
  if (run.report.events > kMostRepeatedEvents) return too_long();
  const std::map<std::string, Picoseconds> exposed = by_group(exposures(run));
  if (std::none_of(exposed.begin(), exposed.end(), [&](const auto& e) { return is_large(run, e.second); })) return j;
  using BySize = std::map<Key, Sizes>;
  CHAKRA_ASSIGN(const BySize small, small_of(run, exposed));
  struct Group {  // all types together
    int64_t count = 0, of_type = 0, row = 0;
    uint64_t most_bytes = 0;
  };
  std::map<analyze::Beside, std::map<std::string, Group>> sides;
  for (const auto& [key, sizes] : small) {
    Group& group = sides[analyze::beside_of(key.second, sizes.members)][key.second];
    group.count += sizes.count, group.most_bytes = std::max(group.most_bytes, sizes.most_bytes);
    if (sizes.count > group.of_type) group.of_type = sizes.count, group.row = sizes.row;
  }
  for (const auto& [beside, groups] : sides) {
    const auto& [name, most] = *std::max_element(
        groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
    CHAKRA_ASSIGN(const Picoseconds saved, saved_by_times(run, [&small, &groups = groups](const sim::Meeting& m) {
                    const auto of = small.find(Key(trace::name(m.type), m.group));
                    if (of == small.end() || !groups.contains(of->first.second)) return std::optional<Picoseconds>();
                    const auto latency = of->second.latency.find(m.bytes);
                    if (latency == of->second.latency.end()) return std::optional<Picoseconds>();
                    const Picoseconds time = of->second.time.at(m.bytes);
                    return std::optional(time - latency->second + latency->second / of->second.count);
                  }));
    if (saved <= 0) continue;
    for (const auto& [each, of] : small)
      if (groups.contains(each.second)) run.by_group[each] += std::min(saved, of.latencies);
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(run, "small_messages", fmt::format("group {}", group_text(name)), saved, {"collectives", most.row}));
    d.sentence = fmt::format(
        "{} collectives of at most {} in group {} take a latency each. As one collective of each type, the job takes "
        "up to {} less. Larger buckets or fused collectives save these latencies.",
        show_count(most.count), show_bytes(static_cast<double>(most.most_bytes)), group_text(name), amount(d));
  }
  return j;
}

namespace {

/// Exposed communication of a group that does not overlap, less what other rules found.
struct Exposed {
  std::string name;
  std::vector<trace::CommType> types;
  Picoseconds cost = 0, largest = 0;  ///< of all types, and of the type of the actor
  int64_t actor = 0, members = 0;
};

/// The groups with such types; of groups beside each other the one with most.
std::vector<Exposed> not_overlapped(const DiagnosedRun& run) {
  const std::map<Key, Exposure> exposed = exposures(run);
  std::map<std::string, Exposed> groups;
  for (const auto& [key, kind] : totals_of(run)) {
    const auto found = exposed.find(key);
    if (found == exposed.end() || found->second.ranks < kind.members) continue;  // some member has no exposed time
    const Exposure& x = found->second;
    if (x.sum / static_cast<double>(x.ranks) < (1 - kNoOverlap) * static_cast<double>(kind.time)) continue;
    const auto other = run.by_group.find(key);
    const Picoseconds cost = x.least - (other == run.by_group.end() ? 0 : other->second);
    if (cost <= 0) continue;
    Exposed& group = groups[key.second];
    group.name = key.second, group.members = kind.members;
    group.types.push_back(x.type);
    group.cost = add_saturated(group.cost, cost);
    if (cost > group.largest) group.largest = cost, group.actor = x.actor;
  }
  return analyze::without_beside(groups);
}

}  // namespace

Result<Judgement> no_overlap(DiagnosedRun& run) {
  Judgement j;
  if (run.report.collectives.empty()) return Judgement{"the job has no collectives", {}};
  Picoseconds computes = INT64_MAX;
  for (const sim::RankReport& r : run.report.ranks) computes = std::min(computes, r.compute_ps);
  for (const Exposed& group : not_overlapped(run)) {
    Picoseconds cost = std::min(group.cost - run.links, computes);
    if (!is_large(run, cost)) continue;
    if (run.report.congestion == sim::Congestion::closed && !run.input.transfers) {
      CHAKRA_ASSIGN(const Picoseconds saved, saved_by_times(run, [&](const sim::Meeting& m) {
                      const bool of = std::find(group.types.begin(), group.types.end(), m.type) != group.types.end() &&
                                      static_cast<int64_t>(m.members) == group.members;
                      return of ? std::optional<Picoseconds>(0) : std::nullopt;
                    }));
      cost = std::min(cost, saved);
    }
    if (cost <= 0) continue;
    std::string types;
    for (const trace::CommType type : group.types)
      types += (types.empty() ? "" : " and ") + std::string(trace::name(type));
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(run, "no_overlap", fmt::format("group {}", group_text(group.name)), cost, {"actors", group.actor}));
    const Picoseconds exposed = group.cost - run.links;
    d.sentence = analyze::not_hidden_sentence(fmt::format("{} in group {}", types, group_text(group.name)),
                                              amount(run, exposed), cost < exposed ? amount(d) : "");
  }
  return j;
}

}  // namespace chakra::whatif
