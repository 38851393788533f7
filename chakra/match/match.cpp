#include "chakra/match/match.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace chakra::match {
namespace {

/// A job whose ranks are numbered up to here is taken to have all of them.
constexpr int64_t kMostRanksAssumed = 1 << 20;

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

class Matcher {
 public:
  Matcher(const trace::TraceSet& job, const GroupTable& table) : job_(job), table_(table) {}

  Matching run() {
    out_.of_comm.resize(job_.ranks.size());
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) collect(r);
    for (uint32_t g = 0; g < calls_.size(); ++g) match_group(g);
    match_messages();
    check_recorded_groups();
    if (sizeless_ > 0)
      out_.findings.push_back({"match.collective.size_unknown", Severity::warning, -1, -1,
                               fmt::format("{} collectives move 0 bytes: the traces do not say how much they moved",
                                           show_count(sizeless_))});
    return std::move(out_);
  }

 private:
  using Key = std::pair<int64_t, int64_t>;  // sequence number, and which of those that share it
  struct Call {
    Key key;
    NodeId node;
  };
  /// The collectives of a rank in a group, by key.
  struct RankCalls {
    uint32_t rank;
    bool numbered;
    std::vector<Call> nodes;
  };

  void find(const char* tag, Severity severity, NodeRef at, std::string text) {
    Finding finding{tag, severity, -1, -1, std::move(text)};
    finding.rank = job_.ranks[at.rank].rank;
    if (at.node != trace::kNoNode) finding.node = static_cast<int64_t>(job_.ranks[at.rank].id[at.node]);
    out_.findings.push_back(std::move(finding));
  }
  const Comm& comm(NodeRef at) const { return *job_.ranks[at.rank].comm(at.node); }
  std::string describe(NodeRef at) const {
    const Comm& c = comm(at);
    return fmt::format("{} of {} in node {} of rank {}", trace::name(c.type), show_bytes(static_cast<double>(c.bytes)),
                       job_.ranks[at.rank].id[at.node], job_.ranks[at.rank].rank);
  }

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
    const std::vector<NodeId> order = trace::topological_order(t.deps).order;
    absl::flat_hash_map<uint32_t, bool> numbered;
    for (uint32_t position = 0; position < order.size(); ++position) {
      const NodeId n = order[position];
      const Comm* c = t.comm(n);
      if (!c || !trace::is_comm(t.type[n])) continue;
      if (t.type[n] != NodeType::coll) {
        add_message(r, n);
        continue;
      }
      const uint32_t group = group_of(r, n);
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
      find("match.group.unknown", Severity::error, {r, n},
           fmt::format("nobody says who is in group {}; a groups file can", quote(name)));
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
        find("match.group.members", Severity::error, {r, trace::kNoNode},
             fmt::format("rank {} records {} members of group {}, rank {} records {}{}", job_.ranks[r].rank,
                         members.size(), quote(group.name), job_.ranks[found->second.first].rank,
                         found->second.second.size(), members.size() == found->second.second.size() ? ", others" : ""));
      }
  }

  void match_group(uint32_t g) {
    Group& group = out_.groups[g];
    auto& calls = calls_[g];
    if (!group.known) {
      for (const RankCalls& of : calls) group.ranks.push_back(job_.ranks[of.rank].rank);
      group.known = group.size > 0 && group.size == static_cast<int64_t>(group.ranks.size());
      if (group.size > 0 && !group.known)
        find("match.group.unknown", Severity::error, {calls[0].rank, calls[0].nodes[0].node},
             fmt::format("group {} has {} ranks, nobody says which, and {} take part in it; a groups file can say",
                         quote(group.name), group.size, group.ranks.size()));
    }
    absl::flat_hash_map<int64_t, size_t> member_of;
    for (size_t m = 0; m < group.ranks.size(); ++m) member_of.emplace(group.ranks[m], m);
    // Per member of the group: its collectives, or nothing.
    std::vector<RankCalls*> calls_of(group.ranks.size(), nullptr);
    for (RankCalls& of : calls) {
      if (const auto found = member_of.find(job_.ranks[of.rank].rank); found != member_of.end())
        calls_of[found->second] = &of;
      else
        find("match.rank.not_in_group", Severity::error, {of.rank, of.nodes[0].node},
             fmt::format("rank {} takes part in group {} but is not in it", job_.ranks[of.rank].rank,
                         quote(group.name)));
    }
    const std::vector<Key> keys = common_keys(group, calls_of);
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
    for (size_t m = 0; m < group.ranks.size(); ++m) report_missing(group, m, keys, calls_of, nodes_of);
    for (uint32_t i = 0; i < keys.size(); ++i) {
      Collective c;
      c.group = g;
      c.index = i;
      NodeRef first;
      for (size_t m = 0; m < group.ranks.size(); ++m) {
        const NodeRef ref{calls_of[m] ? calls_of[m]->rank : UINT32_MAX, nodes_of[m][i]};
        c.members.push_back(ref);
        if (ref.node == trace::kNoNode) continue;
        out_.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] =
            static_cast<uint32_t>(out_.collectives.size());
        const Comm& mine = comm(ref);
        c.bytes = std::max(c.bytes, mine.bytes);
        if (mine.root != -1) check_root(group, i, ref, c);
        if (mine.type == CommType::unknown)
          find("match.collective.type_unknown", Severity::warning, ref,
               fmt::format("collective {} of group {} does not say what it does", i, quote(group.name)));
        sizeless_ += mine.bytes == 0 && mine.type != CommType::barrier;
        if (c.type == CommType::unknown) c.type = mine.type;
        if (first.node == trace::kNoNode) first = ref;
        else compare(group, i, first, ref);
      }
      out_.collectives.push_back(std::move(c));
    }
  }

  /// The keys of all members' collectives, ascending. Members whose numbers have nothing in common, or
  /// that have none, are numbered by position.
  std::vector<Key> common_keys(const Group& group, std::vector<RankCalls*>& calls_of) {
    bool by_number = true;
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
        find("match.collective.sequence", Severity::warning, {of->rank, of->nodes[0].node},
             fmt::format("group {}: the sequence numbers of rank {} (from {}) and of rank {} (from {}) have nothing in "
                         "common; collectives are matched by position",
                         quote(group.name), job_.ranks[first->rank].rank, first->nodes[0].key.first,
                         job_.ranks[of->rank].rank, of->nodes[0].key.first));
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

  /// The root is a rank of the job, or else a place in the group.
  void check_root(const Group& group, uint32_t index, NodeRef ref, Collective& c) {
    const int64_t root = comm(ref).root;
    const bool is_rank = std::find(group.ranks.begin(), group.ranks.end(), root) != group.ranks.end();
    if (!is_rank && (root < 0 || root >= static_cast<int64_t>(group.ranks.size())))
      return find("match.collective.root", Severity::error, ref,
                  fmt::format("collective {} of group {} has the root {}, which is not in the group", index,
                              quote(group.name), root));
    const int64_t rank = is_rank ? root : group.ranks[static_cast<size_t>(root)];
    if (c.root >= 0 && c.root != rank)
      return find(
          "match.collective.root", Severity::error, ref,
          fmt::format("collective {} of group {} has the roots {} and {}", index, quote(group.name), c.root, rank));
    c.root = rank;
  }

  void report_missing(const Group& group, size_t m, const std::vector<Key>& keys,
                      const std::vector<RankCalls*>& calls_of, const std::vector<std::vector<NodeId>>& nodes_of) {
    const auto missing = static_cast<size_t>(std::count(nodes_of[m].begin(), nodes_of[m].end(), trace::kNoNode));
    if (missing == 0) return;
    const auto i =
        static_cast<size_t>(std::find(nodes_of[m].begin(), nodes_of[m].end(), trace::kNoNode) - nodes_of[m].begin());
    size_t other = 0;
    while (nodes_of[other][i] == trace::kNoNode) ++other;
    const NodeRef first{calls_of[other]->rank, nodes_of[other][i]};
    if (!job_.find(group.ranks[m]))
      find("match.rank.missing", Severity::warning, first,
           fmt::format("rank {} of group {} is not in the job", group.ranks[m], quote(group.name)));
    else
      find("match.collective.count", Severity::error, first,
           fmt::format("group {}: rank {} lacks {} of {} collectives; the first is number {}, {}", quote(group.name),
                       group.ranks[m], missing, keys.size(), keys[i].first, describe(first)));
  }

  void compare(const Group& group, uint32_t index, NodeRef first, NodeRef other) {
    const Comm &a = comm(first), &b = comm(other);
    const auto differ = [&](const char* tag, const char* what) {
      find(tag, Severity::error, other,
           fmt::format("collective {} of group {}: the {} differ: {}, but {}", index, quote(group.name), what,
                       describe(first), describe(other)));
    };
    const bool uneven = !a.in_split.empty() || !b.in_split.empty();
    const auto dtype = [&](NodeRef at) { return job_.ranks[at.rank].strings[comm(at).dtype]; };
    const bool known = a.type != CommType::unknown && b.type != CommType::unknown;
    if (known && a.type != b.type) differ("match.collective.type", "operations");
    else if (a.bytes != b.bytes && !uneven) differ("match.collective.bytes", "sizes");
    else if (!dtype(first).empty() && !dtype(other).empty() && dtype(first) != dtype(other))
      differ("match.collective.dtype", "element types");
  }

  void add_message(uint32_t r, NodeId n) {
    const Trace& t = job_.ranks[r];
    const Comm& c = *t.comm(n);
    const bool send = t.type[n] == NodeType::send;
    const int64_t peer = send ? c.dst : c.src;
    if (peer < 0) {
      find("match.message.peer_unknown", Severity::warning, {r, n},
           fmt::format("a {} does not say to or from which rank", send ? "send" : "receive"));
      return;
    }
    const Channel channel{send ? t.rank : peer, send ? peer : t.rank, c.tag};
    auto& ends = channels_[channel];
    (send ? ends.sends : ends.receives).push_back({r, n});
  }

  void match_messages() {
    for (const auto& [channel, ends] : channels_) {
      const auto& [from, to, tag] = channel;
      for (size_t i = 0; i < std::max(ends.sends.size(), ends.receives.size()); ++i) {
        Message m;
        if (i < ends.sends.size()) m.send = ends.sends[i];
        if (i < ends.receives.size()) m.recv = ends.receives[i];
        const bool has_send = m.send.node != trace::kNoNode, has_recv = m.recv.node != trace::kNoNode;
        m.bytes = comm(has_send ? m.send : m.recv).bytes;
        const auto id = static_cast<uint32_t>(out_.messages.size());
        for (const NodeRef ref : {m.send, m.recv})
          if (ref.node != trace::kNoNode) out_.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] = id;
        if (!has_recv)
          find("match.message.no_recv", job_.find(to) ? Severity::error : Severity::warning, m.send,
               fmt::format("message {} from rank {} to rank {} with tag {} is never received", i, from, to, tag));
        else if (!has_send)
          find("match.message.no_send", job_.find(from) ? Severity::error : Severity::warning, m.recv,
               fmt::format("message {} from rank {} to rank {} with tag {} is never sent", i, from, to, tag));
        else if (comm(m.send).bytes != comm(m.recv).bytes)
          find("match.message.bytes", Severity::error, m.recv,
               fmt::format("message {} from rank {} to rank {} with tag {}: {} bytes are sent, {} expected", i, from,
                           to, tag, comm(m.send).bytes, comm(m.recv).bytes));
        out_.messages.push_back(m);
      }
    }
  }

  using Channel = std::tuple<int64_t, int64_t, int64_t>;  // from, to, tag
  struct Ends {
    std::vector<NodeRef> sends, receives;
  };

  const trace::TraceSet& job_;
  const GroupTable& table_;
  Matching out_;
  std::map<std::string, uint32_t> group_ids_;
  std::vector<std::vector<RankCalls>> calls_;  ///< per group: of each rank that takes part
  int64_t sizeless_ = 0;
  std::map<Channel, Ends> channels_;
};

}  // namespace

Matching match(const trace::TraceSet& job, const GroupTable& groups) { return Matcher(job, groups).run(); }

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
