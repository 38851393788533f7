// What less of each kind of time saves: along the critical path, and simulated.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "chakra/base/progress.h"
#include "chakra/net/change.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/nodes.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

/// Of more pairs of a type and a group than these, types are looked at as a whole.
constexpr size_t kMostGroups = 12;
constexpr double kShareThatCounts = 1e-3;
constexpr size_t kMostLinkClasses = 8;  ///< of more classes none is looked at
constexpr double kSlopeStep = 1e-3;     ///< of latency and time per byte

bool disagree(double a, double b, Picoseconds total) {
  const double gap = std::abs(a - b);
  return gap > kPathChanges * std::max(std::abs(a), std::abs(b)) && gap > kShareThatCounts * static_cast<double>(total);
}

/// Less time per byte, or less latency, on one class of links.
struct LinkChange {
  std::string name;
  size_t link_class;
  bool bandwidth;

  net::Fabric on(const net::Fabric& fabric, double part) const {
    return bandwidth ? net::with_class(fabric, link_class, 1 / part, 1) : net::with_class(fabric, link_class, 1, part);
  }
};

std::vector<LinkChange> link_changes(const net::Fabric& fabric) {
  std::vector<LinkChange> changes;
  const std::vector<net::LinkClass> classes = net::link_classes(fabric);
  for (size_t c = 0; c < classes.size() && classes.size() <= kMostLinkClasses; ++c)
    for (const bool bandwidth : {true, false})
      changes.push_back(
          {fmt::format("{} of {}", bandwidth ? "time per byte" : "latency", classes[c].name), c, bandwidth});
  return changes;
}

/// Whether the network prices something.
bool prices_transfers(const sim::SimInput& input) {
  const auto communicates = [](const trace::Trace& t) {
    return std::any_of(t.type.begin(), t.type.end(), [](trace::NodeType type) { return trace::is_comm(type); });
  };
  if (!std::any_of(input.job.ranks.begin(), input.job.ranks.end(), communicates)) return false;
  if (!input.transfers) return true;
  for (const auto& rows : input.transfers->rows)
    if (std::any_of(rows.begin(), rows.end(), [](const sim::Transfers::Row& row) { return !row.known(); })) return true;
  return false;
}

using Groups = std::map<trace::CommType, std::set<std::string>>;

/// The groups that have collectives of a type.
Groups groups_of(const sim::SimReport& report) {
  Groups groups;
  for (const sim::CollectiveReport& c : report.collectives) groups[c.type].insert(c.group);
  return groups;
}

/// The role of a group that has it with others, "tp"; where no role is known "x*" for "x0" where there is another one.
/// Such groups do the same side by side, so less of one saves nothing.
std::string alike(const std::string& group, const std::set<std::string>& groups, const trace::GroupRoles& roles) {
  const auto several = [&](const auto& same) { return std::count_if(groups.begin(), groups.end(), same) > 1; };
  if (const trace::Role role = roles.of(group); role != trace::Role::unknown)
    return several([&](const std::string& name) { return roles.of(name) == role; }) ? std::string(name(role)) : group;
  const auto stem = [](const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789") + 1); };
  const std::string own = stem(group);
  const bool one = own.empty() || own == group || !several([&](const std::string& name) { return stem(name) == own; });
  return one ? group : own + "*";
}

}  // namespace

std::vector<Sensitivity::Row> path_classes(const sim::SimInput& input, const sim::SimReport& report) {
  std::map<TimeClass, Picoseconds> time;
  std::map<WorkKind, Picoseconds> computed;
  std::map<int64_t, NodeWorks> works;  // by rank
  for (const sim::PathPiece& piece : report.critical_path) {
    const std::optional<TimeClass> of = class_of(piece);
    if (!of) continue;
    time[*of] += piece.end_ps - piece.start_ps;
    if (of->kind != Kind::compute) continue;
    const NodeWorks& known = works.try_emplace(piece.rank, *input.job.find(piece.rank)).first->second;
    computed[known.of(piece.row)] += piece.end_ps - piece.start_ps;
  }
  const auto collectives = static_cast<size_t>(
      std::count_if(time.begin(), time.end(), [](const auto& entry) { return entry.first.kind == Kind::collective; }));
  const Groups groups = groups_of(report);
  const trace::GroupRoles roles(input.job);
  std::map<TimeClass, Picoseconds> merged;
  for (const auto& [of, on_path] : time) {
    if (of.kind != Kind::collective) {
      merged[of] += on_path;
      continue;
    }
    const std::set<std::string>& same = groups.at(of.type);
    const TimeClass all{of.kind, of.type, "*", {}};
    if (same.size() > 1) merged[all] += on_path;
    TimeClass some = of;
    some.group = collectives > kMostGroups ? "*" : alike(of.group, same, roles);
    if (some != all || same.size() == 1) merged[some] += on_path;
  }
  if (computed.size() > 1 || (!computed.empty() && !computed.contains(WorkKind::other)))
    for (const auto& [work, on_path] : computed) merged[{Kind::compute, trace::CommType::unknown, "*", work}] = on_path;
  std::vector<Sensitivity::Row> rows;
  for (const auto& [of, on_path] : merged)
    rows.push_back({name(of), of, on_path, kLess * static_cast<double>(on_path), 0, false});
  return rows;
}

Result<std::vector<Sensitivity::Row>> link_rows(const sim::SimInput& input) {
  std::vector<Sensitivity::Row> rows;
  if (!prices_transfers(input)) return rows;
  const std::vector<LinkChange> changes = link_changes(input.fabric);
  sim::SimInput priced = copy_of(input);
  priced.decisive_path = true;
  for (const LinkChange& change : changes) priced.other_fabrics.push_back(change.on(input.fabric, 1 - kSlopeStep));
  CHAKRA_ASSIGN(const sim::SimReport report, sim::simulate(std::move(priced)));
  for (size_t c = 0; c < changes.size(); ++c) {
    const double on_path = static_cast<double>(-report.path_longer[c]) / kSlopeStep;
    if (on_path == 0) continue;
    sim::SimInput less = copy_of(input);
    less.node_times = false;
    less.fabric = changes[c].on(input.fabric, 1 - kLess);
    CHAKRA_ASSIGN(const sim::SimReport after, sim::simulate(std::move(less)));
    rows.push_back({changes[c].name,
                    {},
                    static_cast<Picoseconds>(on_path),
                    kLess * on_path,
                    report.makespan_ps - after.makespan_ps,
                    false});
  }
  return rows;
}

Result<Sensitivity> sensitivity(const sim::SimInput& input, const sim::SimReport& before) {
  Sensitivity out;
  out.total_ps = before.makespan_ps;
  out.rows = path_classes(input, before);
  for (size_t i = 0; i < out.rows.size(); ++i) {
    CHAKRA_TRY(keep_going(i + 1, out.rows.size() + 1));
    Sensitivity::Row& row = out.rows[i];
    sim::SimInput less = copy_of(input);
    less.node_times = false;
    scale(less, selector_of(*row.time), 1 - kLess);
    CHAKRA_ASSIGN(const sim::SimReport after, sim::simulate(std::move(less)));
    row.saved_ps = before.makespan_ps - after.makespan_ps;
  }
  CHAKRA_ASSIGN(const std::vector<Sensitivity::Row> links, link_rows(input));
  out.rows.insert(out.rows.end(), links.begin(), links.end());
  for (Sensitivity::Row& row : out.rows)
    row.path_changes = disagree(row.slope_ps, static_cast<double>(row.saved_ps), out.total_ps);
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const auto& a, const auto& b) { return a.saved_ps > b.saved_ps; });
  return out;
}

}  // namespace chakra::whatif
