#include "chakra/match/groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace chakra::match {
namespace {

using trace::Trace;

/// A job whose ranks are numbered up to here is taken to have all of them.
constexpr int64_t kMostRanksAssumed = 1 << 20;

const trace::ProcessGroup* recorded_group(const trace::TraceSet& job, std::string_view name) {
  const trace::ProcessGroup* any = nullptr;
  for (const Trace& t : job.ranks)
    for (const trace::ProcessGroup& group : t.groups)
      if (group.name == name && (!any || any->ranks.empty())) any = &group;
  return any;
}

/// Ranks 0 to the highest there is, or as many as a group of that size has; of a few out of very many
/// ranks, those that there are.
void all_ranks(const trace::TraceSet& job, Group& group, int64_t size) {
  group.assumed = true;
  const auto traces = static_cast<int64_t>(job.ranks.size());
  const int64_t count = std::max(size, traces > 0 ? job.ranks.back().rank + 1 : 0);
  if (count <= kMostRanksAssumed)
    for (int64_t rank = 0; rank < count; ++rank) group.ranks.push_back(rank);
  else
    for (const Trace& t : job.ranks) group.ranks.push_back(t.rank);
}

/// The members in their order, without duplicates (match.group.repeated).
std::vector<int64_t> once(const std::vector<int64_t>& ranks) {
  std::set<int64_t> seen;
  std::vector<int64_t> members;
  for (const int64_t rank : ranks)
    if (seen.insert(rank).second) members.push_back(rank);
  return members;
}

}  // namespace

Group find_group(const trace::TraceSet& job, const GroupTable& table, const std::string& name, bool& undescribed) {
  Group group{name, {}, true};
  undescribed = false;
  if (const auto given = table.find(name); given != table.end()) {
    group.ranks = given->second;
  } else if (const trace::ProcessGroup* recorded = recorded_group(job, name)) {
    group.ranks = once(recorded->ranks);
    group.size = recorded->size;
    if (group.ranks.empty()) {
      if (group.size > 0 && group.size < static_cast<int64_t>(job.ranks.size())) group.known = false;
      else all_ranks(job, group, group.size);
    }
  } else if (name.empty() || name == "0") {
    all_ranks(job, group, 0);
  } else {
    group.known = false;
    undescribed = true;
  }
  return group;
}

// `match.group.repeated` (error): a rank records a member twice in a group
// `match.group.order` (warning): ranks record the members of a group in different orders, which decide the neighbours
std::set<std::string> check_recorded_groups(const trace::TraceSet& job, const GroupTable& table, Agreement& agreement) {
  std::set<std::string> contradicted;
  struct First {
    uint32_t rank = 0;
    std::vector<int64_t> members, order;  ///< members: sorted
  };
  std::map<std::string_view, First> known;
  for (const trace::RankIndex r : job.indices())
    for (const trace::ProcessGroup& group : job.ranks[r].groups) {
      if (group.ranks.empty() || table.contains(group.name)) continue;
      std::vector<int64_t> members = group.ranks;
      std::sort(members.begin(), members.end());
      if (const auto twice = std::adjacent_find(members.begin(), members.end()); twice != members.end())
        agreement.find("match.group.repeated", Severity::error, {r, trace::kNoNode},
                       fmt::format("records rank {} twice in group {}", *twice, quote(group.name)));
      const auto [found, added] = known.try_emplace(group.name, First{r, members, group.ranks});
      const First& first = found->second;
      if (first.members == members) {
        if (!added && first.order != group.ranks)
          agreement.find("match.group.order", Severity::warning, {r, trace::kNoNode},
                         fmt::format("records the members of group {} in another order than rank {}; the order "
                                     "decides which members are neighbours in a ring",
                                     quote(group.name), job.ranks[first.rank].rank));
        continue;
      }
      contradicted.insert(group.name);
      agreement.find("match.group.members", Severity::error, {r, trace::kNoNode},
                     fmt::format("rank {} records {} members of group {}, rank {} records {}{}", job.ranks[r].rank,
                                 members.size(), quote(group.name), job.ranks[first.rank].rank, first.members.size(),
                                 members.size() == first.members.size() ? ", others" : ""));
    }
  return contradicted;
}

Result<GroupTable> load_groups(const std::string& path) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  GroupTable table;
  if (spec.kind != Spec::Kind::map)
    return spec.error("match.groups.form", "a groups file must be a map from group names to lists of ranks");
  for (const auto& [name, list] : spec.fields) {
    if (list.kind != Spec::Kind::list)
      return list.error("match.groups.form", fmt::format("group {} needs a list of ranks", quote(name)));
    std::vector<int64_t> ranks;
    for (const Spec& item : list.items) {
      CHAKRA_ASSIGN(const int64_t rank, item.integer());
      if (rank < 0 || std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
        return item.error("match.groups.rank", fmt::format("rank {} is {} in group {}", rank,
                                                           rank < 0 ? "negative" : "a duplicate", quote(name)));
      ranks.push_back(rank);
    }
    table.emplace(name, std::move(ranks));
  }
  return table;
}

}  // namespace chakra::match
