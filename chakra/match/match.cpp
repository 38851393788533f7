#include "chakra/match/match.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace chakra::match {
namespace {

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
    return std::move(out_);
  }

 private:
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
    struct Call {
      uint32_t group;
      int64_t sequence;
      uint32_t position;
      NodeId node;
    };
    std::vector<Call> calls;
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
    for (Call& call : calls)
      if (!numbered[call.group]) call.sequence = 0;
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
      return std::tie(a.group, a.sequence, a.position) < std::tie(b.group, b.sequence, b.position);
    });
    for (const Call& call : calls) {
      auto& of_rank = calls_[call.group];
      if (of_rank.empty() || of_rank.back().first != r) of_rank.push_back({r, {}});
      of_rank.back().second.push_back(call.node);
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
      if (group.ranks.empty()) all_ranks(group, recorded->size);
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

  /// All ranks there are, or as many as a group of that size has.
  void all_ranks(Group& group, int64_t size) const {
    for (const Trace& t : job_.ranks) group.ranks.push_back(t.rank);
    for (int64_t rank = 0; static_cast<int64_t>(group.ranks.size()) < size && rank < size; ++rank)
      if (!job_.find(rank)) group.ranks.push_back(rank);
    std::sort(group.ranks.begin(), group.ranks.end());
  }

  void match_group(uint32_t g) {
    Group& group = out_.groups[g];
    auto& calls = calls_[g];
    if (!group.known)
      for (const auto& [r, nodes] : calls) group.ranks.push_back(job_.ranks[r].rank);
    for (const auto& [r, nodes] : calls)
      if (std::find(group.ranks.begin(), group.ranks.end(), job_.ranks[r].rank) == group.ranks.end())
        find("match.rank.not_in_group", Severity::error, {r, nodes[0]},
             fmt::format("rank {} takes part in group {} but is not in it", job_.ranks[r].rank, quote(group.name)));
    // Per member of the group: its nodes, or nothing.
    std::vector<const std::vector<NodeId>*> nodes_of(group.ranks.size(), nullptr);
    std::vector<uint32_t> index_of(group.ranks.size(), UINT32_MAX);
    size_t most = 0, longest = 0;
    for (const auto& [r, nodes] : calls) {
      const auto at = std::find(group.ranks.begin(), group.ranks.end(), job_.ranks[r].rank);
      if (at == group.ranks.end()) continue;
      const auto member = static_cast<size_t>(at - group.ranks.begin());
      nodes_of[member] = &nodes;
      index_of[member] = r;
      if (nodes.size() > most) most = nodes.size(), longest = member;
    }
    for (size_t m = 0; m < group.ranks.size(); ++m) {
      const size_t count = nodes_of[m] ? nodes_of[m]->size() : 0;
      if (count == most) continue;
      const bool absent = !job_.find(group.ranks[m]);
      const NodeRef first_missing{index_of[longest], (*nodes_of[longest])[count]};
      find(absent ? "match.rank.missing" : "match.collective.count", absent ? Severity::warning : Severity::error,
           first_missing,
           absent ? fmt::format("rank {} of group {} is not in the job", group.ranks[m], quote(group.name))
                  : fmt::format(
                        "group {}: rank {} runs {} collectives, rank {} runs {}; the first without a counterpart is {}",
                        quote(group.name), group.ranks[m], count, group.ranks[longest], most, describe(first_missing)));
    }
    for (uint32_t i = 0; i < most; ++i) {
      Collective c;
      c.group = g;
      c.index = i;
      NodeRef first;
      for (size_t m = 0; m < group.ranks.size(); ++m) {
        NodeRef ref{index_of[m], trace::kNoNode};
        if (nodes_of[m] && i < nodes_of[m]->size()) ref.node = (*nodes_of[m])[i];
        c.members.push_back(ref);
        if (ref.node == trace::kNoNode) continue;
        out_.of_comm[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]] =
            static_cast<uint32_t>(out_.collectives.size());
        const Comm& mine = comm(ref);
        c.bytes = std::max(c.bytes, mine.bytes);
        if (mine.root >= 0) c.root = mine.root;
        if (mine.type == CommType::unknown)
          find("match.collective.type_unknown", Severity::warning, ref,
               fmt::format("collective {} of group {} does not say what it does", i, quote(group.name)));
        if (c.type == CommType::unknown) c.type = mine.type;
        if (first.node == trace::kNoNode) first = ref;
        else compare(group, i, first, ref);
      }
      out_.collectives.push_back(std::move(c));
    }
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
  /// Per group and rank that takes part: its collectives in order.
  std::vector<std::vector<std::pair<uint32_t, std::vector<NodeId>>>> calls_;
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
