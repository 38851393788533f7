#include "chakra/match/match.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "chakra/match/agreement.h"
#include "chakra/match/groups.h"

namespace chakra::match {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::RankIndex;
using trace::Trace;

/// The order in which a rank runs its communication. Nodes in cycles, which never run, and those after them stand where
/// they would without the dependencies on later rows that close the cycles.
std::vector<NodeId> order_of_communication(const Trace& t) {
  const auto of = [&](std::vector<NodeId> order) {
    std::erase_if(order, [&](NodeId n) { return t.comm(n) == nullptr || !trace::is_comm(t.type[n]); });
    order.shrink_to_fit();
    return order;
  };
  const trace::Edges& deps = t.deps;
  trace::Order order = trace::topological_order(deps);
  if (order.cycle.empty()) return of(std::move(order.order));
  const auto nodes = static_cast<uint32_t>(deps.begin.size() - 1);
  std::vector<bool> left(nodes, true);
  for (const NodeId n : order.order) left[n] = false;
  const trace::Edges open = trace::make_edges(nodes, false, [&](const auto& visit) {
    for (const NodeId n : ids<NodeId>(nodes))
      for (const NodeId on : deps.of(n))
        if (!(left[n] && left[on] && on > n)) visit(n, on, uint8_t{0}, Picoseconds{0});
  });
  return of(trace::topological_order(open).order);
}

// `match.window.part` (error): collectives that only some members recorded, since ranks recorded different parts of
// the job; the others are compared.
/// Where ranks recorded different parts of the job, only collectives that are in all parts are compared.
void keep_common(const trace::TraceSet& job, Agreement& agreement, const Group& group, size_t all,
                 std::vector<MemberCalls>& members) {
  if (std::none_of(members.begin(), members.end(), [&](const MemberCalls& m) { return is_partial(job.ranks[m.rank]); }))
    return;
  Key low{INT64_MIN, 0}, high{INT64_MAX, 0};
  const MemberCalls* first = nullptr;
  for (const MemberCalls& m : members) {
    if (!m.calls.empty() && !first) first = &m;
    low = std::max(low, m.calls.empty() ? Key{INT64_MAX, 0} : m.calls.front().key);
    high = std::min(high, m.calls.empty() ? Key{INT64_MIN, 0} : m.calls.back().key);
  }
  size_t common = 0;
  for (MemberCalls& m : members) {
    const auto before = [](const Call& call, const Key& key) { return call.key < key; };
    const auto begin = std::lower_bound(m.calls.begin(), m.calls.end(), low, before);
    const auto end =
        low > high ? begin : std::lower_bound(begin, m.calls.end(), Key{high.first, high.second + 1}, before);
    m.calls = {begin, end};
    common = std::max(common, m.calls.size());
  }
  if (all == common || !first) return;
  agreement.find("match.window.part", Severity::error, {first->rank, trace::kNoNode},
                 fmt::format("group {}: the ranks recorded different parts of the job; {} of {} collectives are in "
                             "all of them, and only these are compared; 'chakra link --steps A:B' keeps steps that "
                             "all ranks recorded",
                             quote(group.name), common, all),
                 {{"group", group.name}, {"common", static_cast<int64_t>(common)}});
}

// `match.message.own_rank` (warning): a send states another source than the rank of its file, or a receive another
// destination
/// Sends and receives, by channel.
class MessageMatcher {
 public:
  MessageMatcher(const trace::TraceSet& job, Agreement& agreement) : job_(job), agreement_(agreement) {}

  void add(RankIndex r, NodeId n) {
    const Trace& t = job_.ranks[r];
    const Comm& c = *t.comm(n);
    const bool send = t.type[n] == NodeType::send;
    const int64_t peer = send ? c.dst : c.src;
    if (peer < 0 && !send) {
      anonymous_[t.rank].push_back({r, n});
      return;
    }
    if (peer < 0) {
      agreement_.find("match.message.peer_unknown", Severity::warning, {r, n}, "a send has no destination rank");
      return;
    }
    if (const int64_t own = send ? c.src : c.dst; own >= 0 && own != t.rank)
      agreement_.find("match.message.own_rank", Severity::warning, {r, n},
                      fmt::format("a {} states rank {} as its {}; the rank of the file counts",
                                  send ? "send" : "receive", own, send ? "source" : "destination"));
    const Channel channel{send ? t.rank : peer, send ? peer : t.rank, c.tag};
    auto& ends = channels_[channel];
    (send ? ends.sends : ends.receives).push_back({r, n});
  }

  void run(Matching& out) {
    find_senders();
    const std::map<Channel, Doubt> doubts = agreement_.compare(channels_);
    for (const auto& [channel, ends] : channels_) {
      const auto found = doubts.find(channel);
      for (size_t i = 0; i < std::max(ends.sends.size(), ends.receives.size()); ++i) {
        Message m;
        if (i < ends.sends.size()) m.send = ends.sends[i];
        if (i < ends.receives.size()) m.recv = ends.receives[i];
        m.bytes = agreement_.comm(m.send.node != trace::kNoNode ? m.send : m.recv).bytes;
        if (found != doubts.end()) m.doubt = found->second == Doubt::ends ? Doubt::ends : agreement_.compare(m);
        const auto id = static_cast<uint32_t>(out.messages.size());
        for (const NodeRef ref : {m.send, m.recv})
          if (ref.node != trace::kNoNode) out.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] = id;
        out.messages.push_back(m);
      }
    }
  }

 private:
  /// Receives from any source take the messages that have no other receive, if these are of one rank and tag.
  void find_senders() {
    for (const auto& [rank, receives] : anonymous_) {
      Ends* only = nullptr;
      size_t senders = 0;
      for (auto& [channel, ends] : channels_) {
        const auto& [from, to, tag] = channel;
        if (to != rank || ends.sends.size() <= ends.receives.size()) continue;
        only = &ends;
        ++senders;
      }
      for (const NodeRef& receive : receives) {
        if (senders == 1 && only->receives.size() < only->sends.size()) only->receives.push_back(receive);
        else agreement_.find("match.message.peer_unknown", Severity::warning, receive, "a receive has no source rank");
      }
    }
  }

  const trace::TraceSet& job_;
  Agreement& agreement_;
  std::map<Channel, Ends> channels_;
  std::map<int64_t, std::vector<NodeRef>> anonymous_;  ///< by rank: receives from any source
};

class Matcher {
 public:
  Matcher(const trace::TraceSet& job, const GroupTable& table) : job_(job), table_(table) {}

  Matching run() {
    out_.of_comm.resize(job_.ranks.size());
    std::vector<std::vector<NodeId>> orders(job_.ranks.size());
    trace::each_rank(job_, [&](RankIndex r) { orders[r] = order_of_communication(job_.ranks[r]); });
    for (const RankIndex r : job_.indices()) collect(r, orders[r]);
    for (uint32_t g = 0; g < calls_.size(); ++g) match_group(g);
    messages_.run(out_);
    doubt_groups(check_recorded_groups(job_, table_, agreement_));
    agreement_.join();
    if (sizeless_ > 0)
      out_.findings.push_back(
          {"match.collective.size_unknown", Severity::warning, -1, -1,
           fmt::format("the sizes of {} are missing or 0, and count as 0 bytes", show_count(sizeless_, "collective"))});
    return std::move(out_);
  }

 private:
  using MemberOf = absl::flat_hash_map<int64_t, size_t>;  ///< rank -> member of the group
  /// The collectives of a rank in a group, by key.
  struct RankCalls {
    RankIndex rank;
    bool numbered;
    std::vector<Call> nodes;
  };

  /// The communication nodes of a rank, per group, in the order in which the rank runs them.
  void collect(RankIndex r, const std::vector<NodeId>& order) {
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
    absl::flat_hash_map<uint32_t, bool> numbered;
    for (uint32_t position = 0; position < order.size(); ++position) {
      const NodeId n = order[position];
      const Comm* c = t.comm(n);
      if (t.type[n] != NodeType::coll) {
        messages_.add(r, n);
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

  uint32_t group_of(RankIndex r, NodeId n) {
    const Trace& t = job_.ranks[r];
    const std::string name(t.strings[t.comm(n)->group]);
    if (const auto found = group_ids_.find(name); found != group_ids_.end()) return found->second;
    bool undescribed = false;
    Group group = find_group(job_, table_, name, undescribed);
    if (undescribed) unknown_.emplace_back(static_cast<uint32_t>(out_.groups.size()), NodeRef{r, n});
    const auto id = static_cast<uint32_t>(out_.groups.size());
    out_.groups.push_back(std::move(group));
    calls_.emplace_back();
    group_ids_.emplace(name, id);
    return id;
  }

  void match_group(uint32_t g) {
    Group& group = out_.groups[g];
    settle_members(g);
    MemberOf member_of;
    for (size_t m = 0; m < group.ranks.size(); ++m) member_of.emplace(group.ranks[m], m);
    bool sure = group.known;  // who is in it
    std::vector<RankCalls*> calls_of = calls_by_member(g, member_of, sure);
    bool by_number = true;
    const std::vector<Key> keys = common_keys(group, calls_of, by_number);
    if (keys.empty()) return;  // only of ranks that are not in it
    report_absent(group, calls_of);
    std::vector<MemberCalls> members = present(group, calls_of);
    if (by_number) keep_common(job_, agreement_, group, keys.size(), members);
    const Doubt doubt = agreement_.compare(group, member_of, members, by_number);
    const bool agree = doubt == Doubt::none;
    if (group.known && !sure) doubtful_.insert(group.name);
    std::vector<size_t> next(group.ranks.size(), 0);  // per member: its call that is to be taken next
    for (uint32_t i = 0; i < keys.size(); ++i) {
      Collective c;
      c.group = g;
      c.index = i;
      if (doubt == Doubt::ends) c.doubt = Doubt::ends;
      for (size_t m = 0; m < group.ranks.size(); ++m) {
        c.members.push_back({calls_of[m] ? calls_of[m]->rank : trace::kNoRank, trace::kNoNode});
        if (!calls_of[m] || next[m] == calls_of[m]->nodes.size() || calls_of[m]->nodes[next[m]].key != keys[i])
          continue;
        c.members.back().node = calls_of[m]->nodes[next[m]++].node;
      }
      if (doubt == Doubt::content) c.doubt = agreement_.compare(group, member_of, c.members);
      add_collective(std::move(c), member_of, agree && sure);
    }
  }

  /// The members of a group that is not described are the ranks that take part.
  void settle_members(uint32_t g) {
    Group& group = out_.groups[g];
    const std::vector<RankCalls>& calls = calls_[g];
    for (const auto& [id, first] : unknown_)
      if (id == g)
        agreement_.stray(
            group, first, "match.group.unknown",
            fmt::format("the members of group {} are unknown; name them in a groups file", quote(group.name)));
    if (group.known) return;
    for (const RankCalls& of : calls) group.ranks.push_back(job_.ranks[of.rank].rank);
    group.known = group.size > 0 && group.size == static_cast<int64_t>(group.ranks.size());
    if (group.size > 0 && !group.known)
      agreement_.find("match.group.unknown", Severity::error, {calls[0].rank, calls[0].nodes[0].node},
                      fmt::format("group {} has {} unknown ranks, but {} ranks take part in it; name them in a "
                                  "groups file",
                                  quote(group.name), group.size, group.ranks.size()),
                      {{"group", group.name}, {"index", 0}});
  }

  /// Per member of the group: its collectives, or null. `sure` becomes false where other ranks also take part.
  std::vector<RankCalls*> calls_by_member(uint32_t g, const MemberOf& member_of, bool& sure) {
    const Group& group = out_.groups[g];
    std::vector<RankCalls*> calls_of(group.ranks.size(), nullptr);
    for (RankCalls& of : calls_[g]) {
      if (const auto found = member_of.find(job_.ranks[of.rank].rank); found != member_of.end()) {
        calls_of[found->second] = &of;
        continue;
      }
      sure = false;
      agreement_.stray(
          group, {of.rank, of.nodes[0].node}, "match.rank.not_in_group",
          fmt::format("rank {} takes part in group {} but is not in it", job_.ranks[of.rank].rank, quote(group.name)));
    }
    return calls_of;
  }

  /// Members that are in the job, by ascending rank.
  std::vector<MemberCalls> present(const Group& group, const std::vector<RankCalls*>& calls_of) const {
    std::vector<MemberCalls> present;
    for (size_t m = 0; m < group.ranks.size(); ++m) {
      const Trace* t = job_.find(group.ranks[m]);
      if (!t) continue;
      present.push_back({RankIndex(t - job_.ranks.data()), {}});
      if (calls_of[m]) present.back().calls = calls_of[m]->nodes;
    }
    std::sort(present.begin(), present.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    return present;
  }

  /// Of what its members say, fills what is said of all. `agree`: they do, and are all that there are.
  void add_collective(Collective&& c, const MemberOf& member_of, bool agree) {
    const Group& group = out_.groups[c.group];
    bool splits = false;
    for (const NodeRef ref : c.members) {
      if (ref.node == trace::kNoNode) continue;
      out_.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] = static_cast<uint32_t>(out_.collectives.size());
      const Comm& mine = agreement_.comm(ref);
      c.bytes = std::max(c.bytes, mine.bytes);
      if (mine.root != -1) note_root(group, member_of, c.index, ref, c, agree);
      if (mine.type == CommType::unknown)
        agreement_.find("match.collective.type_unknown", Severity::warning, ref,
                        fmt::format("collective {} of group {} has no type", c.index, quote(group.name)),
                        {{"group", group.name}, {"index", int64_t{c.index}}});
      // In a scatter, only the root sends data.
      sizeless_ += mine.bytes == 0 && mine.type != CommType::barrier && mine.type != CommType::scatter;
      splits |= !mine.in_split.empty() || !mine.out_split.empty();
      if (c.type == CommType::unknown) c.type = mine.type;
      find_size(c, ref);
    }
    if (agree && c.type == CommType::all_to_all) {
      if (!splits) agreement_.compare_totals(group, c.index, c.members);
      else if (!agreement_.compare_splits(group, c.index, c.members)) c.doubt = std::max(c.doubt, Doubt::content);
    }
    out_.collectives.push_back(std::move(c));
  }

  /// Of each group, the first member with sizes of another number of members is reported.
  void find_size(Collective& c, NodeRef ref) {
    Group& group = out_.groups[c.group];
    const Agreement::Sizes sizes = agreement_.sizes_of(group, ref);
    if (sizes == Agreement::Sizes::fit) return;
    c.doubt = std::max(c.doubt, Doubt::content);
    if (sizes == Agreement::Sizes::of_other_group) doubtful_.insert(group.name);
    if (!group.odd) agreement_.report_size(group, c.index, ref);
    group.odd = true;
  }

  /// Also those whose members are not sure.
  void doubt_groups(std::set<std::string>&& contradicted) {
    doubtful_.merge(contradicted);
    if (doubtful_.empty()) return;
    for (Collective& c : out_.collectives)
      if (doubtful_.contains(out_.groups[c.group].name)) c.doubt = std::max(c.doubt, Doubt::content);
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
                                    "no number in common; collectives are matched by position",
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

  void note_root(const Group& group, const MemberOf& member_of, uint32_t index, NodeRef ref, Collective& c, bool sure) {
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

  const trace::TraceSet& job_;
  const GroupTable& table_;
  Matching out_;
  Agreement agreement_{job_, out_.findings};
  std::vector<std::pair<uint32_t, NodeRef>> unknown_;  ///< undescribed groups, and the first node that uses each
  std::map<std::string, uint32_t> group_ids_;
  std::set<std::string> doubtful_;             ///< groups of which it is not sure who is in them
  std::vector<std::vector<RankCalls>> calls_;  ///< per group: of each rank that takes part
  int64_t sizeless_ = 0;
  MessageMatcher messages_{job_, agreement_};
};

}  // namespace

Matching match(const trace::TraceSet& job, const GroupTable& groups) {
  for (const trace::Trace& t : job.ranks) trace::assert_whole(t);
  return Matcher(job, groups).run();
}

bool waits_for_all(const trace::TraceSet& job, const Collective& collective) {
  if (!ends_together(collective.type)) return false;
  if (collective.type == CommType::barrier) return true;
  return collective.bytes > 0 &&
         std::all_of(collective.members.begin(), collective.members.end(), [&](const NodeRef& member) {
           return member.node == trace::kNoNode || job.ranks[member.rank].comm(member.node)->in_split.empty();
         });
}

bool is_contradiction(const Finding& finding) {
  constexpr std::array<std::string_view, 8> kOnlyWait{
      "match.window.part",     "match.collective.count", "match.collective.number", "match.collective.group",
      "match.message.no_send", "match.message.no_recv",  "match.message.tag",       "match.message.peer"};
  return finding.severity == Severity::error &&
         std::find(kOnlyWait.begin(), kOnlyWait.end(), finding.tag) == kOnlyWait.end();
}

}  // namespace chakra::match
