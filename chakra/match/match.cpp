#include "chakra/match/match.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "chakra/match/agreement.h"

namespace chakra::match {
namespace {

/// A job whose ranks are numbered up to here is taken to have all of them.
constexpr int64_t kMostRanksAssumed = 1 << 20;

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// The order in which a rank runs its nodes. Nodes in cycles, which never run, and those after them stand where
/// they would without the dependencies on later rows that close the cycles.
std::vector<NodeId> order_through_cycles(const trace::Edges& deps) {
  trace::Order order = trace::topological_order(deps);
  if (order.cycle.empty()) return std::move(order.order);
  const auto nodes = static_cast<NodeId>(deps.begin.size() - 1);
  std::vector<bool> left(nodes, true);
  for (const NodeId n : order.order) left[n] = false;
  const trace::Edges open = trace::make_edges(nodes, false, [&](const auto& visit) {
    for (NodeId n = 0; n < nodes; ++n)
      for (const NodeId on : deps.of(n))
        if (!(left[n] && left[on] && on > n)) visit(n, on, uint8_t{0}, Picoseconds{0});
  });
  return trace::topological_order(open).order;
}

class Matcher {
 public:
  Matcher(const trace::TraceSet& job, const GroupTable& table) : job_(job), table_(table) {}

  Matching run() {
    out_.of_comm.resize(job_.ranks.size());
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) collect(r);
    for (uint32_t g = 0; g < calls_.size(); ++g) match_group(g);
    match_messages();
    check_recorded_groups();
    agreement_.join();
    if (sizeless_ > 0)
      out_.findings.push_back({"match.collective.size_unknown", Severity::warning, -1, -1,
                               fmt::format("{} collectives move 0 bytes: the traces do not say how much they moved",
                                           show_count(sizeless_))});
    return std::move(out_);
  }

 private:
  /// The collectives of a rank in a group, by key.
  struct RankCalls {
    uint32_t rank;
    bool numbered;
    std::vector<Call> nodes;
  };

  /// The communication nodes of a rank, per group, in the order in which the rank runs them.
  void collect(uint32_t r) {
    const Trace& t = job_.ranks[r];
    out_.of_comm[r].assign(t.comms.size(), trace::kNoRow);
    struct Found {
      uint32_t group;
      int64_t sequence;
      uint32_t position;
      NodeId node;
    };
    std::vector<Found> calls;
    std::vector<uint32_t> group_ids(t.strings.size(), UINT32_MAX);  // per name
    const std::vector<NodeId> order = order_through_cycles(t.deps);
    absl::flat_hash_map<uint32_t, bool> numbered;
    for (uint32_t position = 0; position < order.size(); ++position) {
      const NodeId n = order[position];
      const Comm* c = t.comm(n);
      if (!c || !trace::is_comm(t.type[n])) continue;
      if (t.type[n] != NodeType::coll) {
        add_message(r, n);
        continue;
      }
      uint32_t& group = group_ids[c->group];
      if (group == UINT32_MAX) group = group_of(r, n);
      calls.push_back({group, c->sequence, position, n});
      const auto [found, added] = numbered.emplace(group, c->sequence >= 0);
      if (!added) found->second &= c->sequence >= 0;
    }
    for (Found& call : calls)
      if (!numbered[call.group]) call.sequence = 0;
    std::sort(calls.begin(), calls.end(), [](const Found& a, const Found& b) {
      return std::tie(a.group, a.sequence, a.position) < std::tie(b.group, b.sequence, b.position);
    });
    for (const Found& call : calls) {
      auto& of_group = calls_[call.group];
      if (of_group.empty() || of_group.back().rank != r) of_group.push_back({r, numbered[call.group], {}});
      // Coalesced collectives share a number; among them, order decides.
      auto& of_rank = of_group.back().nodes;
      const bool again = !of_rank.empty() && of_rank.back().key.first == call.sequence;
      of_rank.push_back({{call.sequence, again ? of_rank.back().key.second + 1 : 0}, call.node});
    }
  }

  uint32_t group_of(uint32_t r, NodeId n) {
    const Trace& t = job_.ranks[r];
    const std::string name(t.strings[t.comm(n)->group]);
    if (const auto found = group_ids_.find(name); found != group_ids_.end()) return found->second;
    Group group{name, {}, true};
    if (const auto given = table_.find(name); given != table_.end()) {
      group.ranks = given->second;
    } else if (const trace::ProcessGroup* recorded = recorded_group(name)) {
      group.ranks = recorded->ranks;
      group.size = recorded->size;
      if (group.ranks.empty()) {
        if (group.size > 0 && group.size < static_cast<int64_t>(job_.ranks.size())) group.known = false;
        else all_ranks(group, group.size);
      }
    } else if (name.empty() || name == "0") {
      all_ranks(group, 0);
    } else {
      group.known = false;
      unknown_.emplace_back(static_cast<uint32_t>(out_.groups.size()), NodeRef{r, n});
    }
    const auto id = static_cast<uint32_t>(out_.groups.size());
    out_.groups.push_back(std::move(group));
    calls_.emplace_back();
    group_ids_.emplace(name, id);
    return id;
  }

  const trace::ProcessGroup* recorded_group(std::string_view name) const {
    const trace::ProcessGroup* any = nullptr;
    for (const Trace& t : job_.ranks)
      for (const trace::ProcessGroup& group : t.groups)
        if (group.name == name && (!any || any->ranks.empty())) any = &group;
    return any;
  }

  /// Ranks 0 to the highest there is, or as many as a group of that size has; of a few out of very many
  /// ranks, those that there are.
  void all_ranks(Group& group, int64_t size) const {
    group.assumed = true;
    const auto traces = static_cast<int64_t>(job_.ranks.size());
    const int64_t count = std::max(size, traces > 0 ? job_.ranks.back().rank + 1 : 0);
    if (count <= kMostRanksAssumed)
      for (int64_t rank = 0; rank < count; ++rank) group.ranks.push_back(rank);
    else
      for (const Trace& t : job_.ranks) group.ranks.push_back(t.rank);
  }

  /// Ranks that record different members for one group.
  void check_recorded_groups() {
    std::map<std::string_view, std::pair<uint32_t, std::vector<int64_t>>> known;
    for (uint32_t r = 0; r < job_.ranks.size(); ++r)
      for (const trace::ProcessGroup& group : job_.ranks[r].groups) {
        if (group.ranks.empty() || table_.contains(group.name)) continue;
        std::vector<int64_t> members = group.ranks;
        std::sort(members.begin(), members.end());
        const auto [found, added] = known.try_emplace(group.name, r, members);
        if (added || found->second.second == members) continue;
        agreement_.find(
            "match.group.members", Severity::error, {r, trace::kNoNode},
            fmt::format("rank {} records {} members of group {}, rank {} records {}{}", job_.ranks[r].rank,
                        members.size(), quote(group.name), job_.ranks[found->second.first].rank,
                        found->second.second.size(), members.size() == found->second.second.size() ? ", others" : ""));
      }
  }

  void match_group(uint32_t g) {
    Group& group = out_.groups[g];
    auto& calls = calls_[g];
    for (const auto& [id, first] : unknown_)
      if (id == g)
        agreement_.stray(group, first, "match.group.unknown",
                         fmt::format("nobody says who is in group {}; a groups file can", quote(group.name)));
    if (!group.known) {
      for (const RankCalls& of : calls) group.ranks.push_back(job_.ranks[of.rank].rank);
      group.known = group.size > 0 && group.size == static_cast<int64_t>(group.ranks.size());
      if (group.size > 0 && !group.known)
        agreement_.find("match.group.unknown", Severity::error, {calls[0].rank, calls[0].nodes[0].node},
                        fmt::format("group {} has {} ranks, nobody says which, and {} take part in it; a groups file "
                                    "can say",
                                    quote(group.name), group.size, group.ranks.size()),
                        {{"group", group.name}, {"index", 0}});
    }
    absl::flat_hash_map<int64_t, size_t> member_of;
    for (size_t m = 0; m < group.ranks.size(); ++m) member_of.emplace(group.ranks[m], m);
    // Per member of the group: its collectives, or nothing.
    std::vector<RankCalls*> calls_of(group.ranks.size(), nullptr);
    bool sure = group.known;  // who is in it
    for (RankCalls& of : calls) {
      if (const auto found = member_of.find(job_.ranks[of.rank].rank); found != member_of.end()) {
        calls_of[found->second] = &of;
        continue;
      }
      sure = false;
      agreement_.stray(
          group, {of.rank, of.nodes[0].node}, "match.rank.not_in_group",
          fmt::format("rank {} takes part in group {} but is not in it", job_.ranks[of.rank].rank, quote(group.name)));
    }
    bool by_number = true;
    const std::vector<Key> keys = common_keys(group, calls_of, by_number);
    if (keys.empty()) return;                                       // only of ranks that are not in it
    std::vector<std::vector<NodeId>> nodes_of(group.ranks.size());  // per member, parallel to keys
    for (size_t m = 0; m < group.ranks.size(); ++m) {
      nodes_of[m].assign(keys.size(), trace::kNoNode);
      if (!calls_of[m]) continue;
      size_t at = 0;
      for (const Call& call : calls_of[m]->nodes) {
        while (keys[at] != call.key) ++at;
        nodes_of[m][at] = call.node;
      }
    }
    report_absent(group, calls_of);
    std::vector<MemberCalls> present;
    for (size_t m = 0; m < group.ranks.size(); ++m) {
      const trace::Trace* t = job_.find(group.ranks[m]);
      if (!t) continue;
      present.push_back({static_cast<uint32_t>(t - job_.ranks.data()), {}});
      if (calls_of[m]) present.back().calls = calls_of[m]->nodes;
    }
    std::sort(present.begin(), present.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    const bool agree = agreement_.compare(group, member_of, present, by_number);

    for (uint32_t i = 0; i < keys.size(); ++i) {
      Collective c;
      c.group = g;
      c.index = i;
      bool splits = false;
      for (size_t m = 0; m < group.ranks.size(); ++m) {
        const NodeRef ref{calls_of[m] ? calls_of[m]->rank : UINT32_MAX, nodes_of[m][i]};
        c.members.push_back(ref);
        if (ref.node == trace::kNoNode) continue;
        out_.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] =
            static_cast<uint32_t>(out_.collectives.size());
        const Comm& mine = agreement_.comm(ref);
        c.bytes = std::max(c.bytes, mine.bytes);
        if (mine.root != -1) note_root(group, member_of, i, ref, c, agree && sure);
        if (mine.type == CommType::unknown)
          agreement_.find("match.collective.type_unknown", Severity::warning, ref,
                          fmt::format("collective {} of group {} does not say what it does", i, quote(group.name)),
                          {{"group", group.name}, {"index", int64_t{i}}});
        // Of a scatter, only the root puts in anything.
        sizeless_ += mine.bytes == 0 && mine.type != CommType::barrier && mine.type != CommType::scatter;
        splits |= !mine.in_split.empty() || !mine.out_split.empty();
        if (c.type == CommType::unknown) c.type = mine.type;
      }
      if (agree && sure && c.type == CommType::all_to_all) {
        if (splits) agreement_.compare_splits(group, i, c.members);
        else agreement_.compare_totals(group, i, c.members);
      }
      out_.collectives.push_back(std::move(c));
    }
  }

  /// The keys of all members' collectives, ascending. Members whose numbers have nothing in common, or
  /// that have none, are numbered by position.
  std::vector<Key> common_keys(const Group& group, std::vector<RankCalls*>& calls_of, bool& by_number) {
    const RankCalls* first = nullptr;
    for (const RankCalls* of : calls_of) {
      if (!of) continue;
      by_number &= of->numbered;
      if (!first) first = of;
      const auto shared = [&](const Call& call) {
        const auto found = std::lower_bound(first->nodes.begin(), first->nodes.end(), call.key,
                                            [](const Call& a, const Key& key) { return a.key < key; });
        return found != first->nodes.end() && found->key == call.key;
      };
      if (by_number && std::none_of(of->nodes.begin(), of->nodes.end(), shared)) {
        by_number = false;
        agreement_.find("match.collective.sequence", Severity::warning, {of->rank, of->nodes[0].node},
                        fmt::format("group {}: the sequence numbers of rank {} (from {}) and of rank {} (from {}) have "
                                    "nothing in common; collectives are matched by position",
                                    quote(group.name), job_.ranks[first->rank].rank, first->nodes[0].key.first,
                                    job_.ranks[of->rank].rank, of->nodes[0].key.first),
                        {{"group", group.name}, {"index", 0}});
      }
    }
    std::vector<Key> keys;
    for (RankCalls* of : calls_of) {
      if (!of) continue;
      const auto before = static_cast<ptrdiff_t>(keys.size());
      for (size_t i = 0; i < of->nodes.size(); ++i) {
        if (!by_number) of->nodes[i].key = {static_cast<int64_t>(i), 0};
        keys.push_back(of->nodes[i].key);
      }
      std::inplace_merge(keys.begin(), keys.begin() + before, keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
    return keys;
  }

  void note_root(const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of, uint32_t index, NodeRef ref,
                 Collective& c, bool sure) {
    const int64_t rank = root_rank(agreement_.comm(ref), group, member_of);
    if (rank < 0 && sure)
      agreement_.find("match.collective.root", Severity::error, ref,
                      fmt::format("collective {} of group {} has the root {}, which is not in the group", index,
                                  quote(group.name), agreement_.comm(ref).root),
                      {{"group", group.name}, {"index", int64_t{index}}});
    if (c.root < 0) c.root = rank;
  }

  /// Members of the group that have no trace.
  void report_absent(const Group& group, const std::vector<RankCalls*>& calls_of) {
    int64_t first = -1;
    size_t absent = 0;
    for (const int64_t rank : group.ranks)
      if (!job_.find(rank) && absent++ == 0) first = rank;
    if (absent == 0) return;
    const auto of = std::find_if(calls_of.begin(), calls_of.end(), [](const RankCalls* calls) { return calls; });
    const NodeRef node = of == calls_of.end() ? NodeRef{} : NodeRef{(*of)->rank, (*of)->nodes[0].node};
    agreement_.find("match.rank.missing", Severity::warning, node,
                    fmt::format("rank {}{} of group {} is not in the job", first,
                                absent > 1 ? fmt::format(" (and {} more)", absent - 1) : "", quote(group.name)),
                    {{"group", group.name}, {"index", 0}});
  }

  void add_message(uint32_t r, NodeId n) {
    const Trace& t = job_.ranks[r];
    const Comm& c = *t.comm(n);
    const bool send = t.type[n] == NodeType::send;
    const int64_t peer = send ? c.dst : c.src;
    if (peer < 0) {
      agreement_.find("match.message.peer_unknown", Severity::warning, {r, n},
                      fmt::format("a {} does not say to or from which rank", send ? "send" : "receive"));
      return;
    }
    const Channel channel{send ? t.rank : peer, send ? peer : t.rank, c.tag};
    auto& ends = channels_[channel];
    (send ? ends.sends : ends.receives).push_back({r, n});
  }

  void match_messages() {
    for (const auto& [channel, ends] : channels_)
      for (size_t i = 0; i < std::max(ends.sends.size(), ends.receives.size()); ++i) {
        Message m;
        if (i < ends.sends.size()) m.send = ends.sends[i];
        if (i < ends.receives.size()) m.recv = ends.receives[i];
        m.bytes = agreement_.comm(m.send.node != trace::kNoNode ? m.send : m.recv).bytes;
        const auto id = static_cast<uint32_t>(out_.messages.size());
        for (const NodeRef ref : {m.send, m.recv})
          if (ref.node != trace::kNoNode) out_.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] = id;
        out_.messages.push_back(m);
      }
    agreement_.compare(channels_);
  }

  const trace::TraceSet& job_;
  const GroupTable& table_;
  Matching out_;
  Agreement agreement_{job_, out_.findings};
  std::vector<std::pair<uint32_t, NodeRef>> unknown_;  ///< undescribed groups, and the first node that uses each
  std::map<std::string, uint32_t> group_ids_;
  std::vector<std::vector<RankCalls>> calls_;  ///< per group: of each rank that takes part
  int64_t sizeless_ = 0;
  std::map<Channel, Ends> channels_;
};

}  // namespace

Matching match(const trace::TraceSet& job, const GroupTable& groups) {
  for (const trace::Trace& t : job.ranks) trace::assert_whole(t);
  return Matcher(job, groups).run();
}

bool is_contradiction(const Finding& finding) {
  constexpr std::array<std::string_view, 7> kOnlyWait{
      "match.collective.count", "match.collective.number", "match.collective.group", "match.message.no_send",
      "match.message.no_recv",  "match.message.tag",       "match.message.peer"};
  return finding.severity == Severity::error &&
         std::find(kOnlyWait.begin(), kOnlyWait.end(), finding.tag) == kOnlyWait.end();
}

Result<GroupTable> load_groups(const std::string& path) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  GroupTable table;
  if (spec.kind != Spec::Kind::map)
    return spec.error("match.groups.form", "a groups file is a map from a group's name to its list of ranks");
  for (const auto& [name, list] : spec.fields) {
    if (list.kind != Spec::Kind::list)
      return list.error("match.groups.form", fmt::format("group {} needs a list of ranks", quote(name)));
    std::vector<int64_t> ranks;
    for (const Spec& item : list.items) {
      CHAKRA_ASSIGN(const int64_t rank, item.integer());
      if (rank < 0 || std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
        return item.error("match.groups.rank", fmt::format("rank {} is {} in group {}", rank,
                                                           rank < 0 ? "negative" : "there twice", quote(name)));
      ranks.push_back(rank);
    }
    table.emplace(name, std::move(ranks));
  }
  return table;
}

}  // namespace chakra::match
