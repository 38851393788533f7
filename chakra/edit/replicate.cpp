// A job several times.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/edit/edit.h"
#include "chakra/edit/members.h"

namespace chakra::edit {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

class Replication {
 public:
  Replication(const trace::TraceSet& job, const match::GroupTable& groups, int64_t times, ElementBytes element)
      : job_(job),
        matching_(match::match(job, groups)),
        listed_(listed_groups(job, groups, matching_)),
        ranks_(static_cast<int64_t>(job.ranks.size())),
        times_(times),
        element_(element) {}

  Result<trace::TraceSet> run() {
    CHAKRA_TRY(check_groups());
    trace::TraceSet made;
    for (int64_t replica = 0; replica < times_; ++replica) {
      const NewGroups known = groups_in(replica);
      for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
        Trace t = job_.ranks[r];
        t.rank += replica * ranks_;
        t.says_rank = true;
        describe_groups(t, known, ranks_, ranks_ * times_);
        CHAKRA_TRY(settle(t, r, replica));
        made.ranks.push_back(std::move(t));
      }
    }
    return made;
  }

  match::GroupTable table(const match::GroupTable& groups) const {
    match::GroupTable made;
    for (int64_t replica = 0; replica < times_; ++replica)
      for (const auto& [name, now] : groups_in(replica))
        if (groups.contains(name)) made.emplace(now.name, now.ranks);
    return made;
  }

  void say(Findings& findings) const {
    int64_t grown = 0;
    for (const match::Group& group : matching_.groups) grown += group.known && is_whole(group.ranks);
    findings.push_back(
        {"edit.replicate",
         Severity::note,
         -1,
         -1,
         fmt::format("{} ranks repeat the work of {} recorded ranks, in {} replicas; {} groups of all ranks have "
                     "members in all replicas, {} others are copied",
                     ranks_ * times_, ranks_, times_, grown, static_cast<int64_t>(matching_.groups.size()) - grown),
         {{"ranks", ranks_ * times_}, {"recorded", ranks_}, {"replicas", times_}, {"groups", grown}}});
    if (grown == 0)
      findings.push_back({"edit.replicate.apart", Severity::warning, -1, -1,
                          "no collective is of all ranks, so no replica communicates with another"});
  }

 private:
  bool is_rank(int64_t rank) const { return rank >= 0 && rank < ranks_; }
  /// Each rank once.
  bool is_whole(std::vector<int64_t> members) const {
    std::sort(members.begin(), members.end());
    return static_cast<int64_t>(members.size()) == ranks_ && members.front() == 0 && members.back() == ranks_ - 1 &&
           std::adjacent_find(members.begin(), members.end()) == members.end();
  }
  std::string name_in(const std::string& name, int64_t replica) const {
    return replica == 0 ? name : fmt::format("{}@{}", name, replica);
  }

  Result<void> check_groups() const {
    for (const match::Group& group : matching_.groups) {
      const auto beyond = std::find_if(group.ranks.begin(), group.ranks.end(), [&](int64_t r) { return !is_rank(r); });
      if (group.known && beyond != group.ranks.end())
        return fail(
            Code::bad_input, "edit.replicate.group",
            fmt::format("rank {} of group {} is not one of the {} recorded ranks: only a whole job can be copied",
                        *beyond, quote(group.name), ranks_));
    }
    for (const auto& [name, members] : listed_)
      for (int64_t replica = 1; !is_whole(members) && replica < times_; ++replica)
        if (listed_.contains(name_in(name, replica)))
          return fail(Code::bad_input, "edit.replicate.group",
                      fmt::format("the copy of group {} in replica {} would have the name of another group, {}",
                                  quote(name), replica, quote(name_in(name, replica))));
    return {};
  }

  /// Members of a group that grows stand replica by replica.
  NewGroups groups_in(int64_t replica) const {
    NewGroups groups;
    for (const auto& [name, members] : listed_) {
      const bool whole = is_whole(members);
      NewGroup& now = groups[name];
      now.name = whole ? name : name_in(name, replica);
      for (int64_t i = whole ? 0 : replica; i < (whole ? times_ : replica + 1); ++i)
        for (const int64_t rank : members)
          if (is_rank(rank)) now.ranks.push_back(rank + i * ranks_);
    }
    return groups;
  }

  Result<void> settle(Trace& t, uint32_t r, int64_t replica) const {
    const auto moved = [&](int64_t& rank) { rank += rank < 0 ? 0 : replica * ranks_; };
    for (const NodeId n : t.nodes()) {
      if (!trace::is_comm(t.type[n]) || t.comm_row[n] == trace::kNoRow) continue;
      if (t.type[n] != NodeType::coll) {
        Comm& comm = t.comms.edit(t.comm_row[n]);
        int64_t& partner = t.type[n] == NodeType::send ? comm.dst : comm.src;
        if (partner >= ranks_)
          return fail(Code::bad_input, "edit.replicate.partner",
                      fmt::format("node {} ({}) of rank {} is a message with rank {}, which is not one of the {} "
                                  "recorded ranks",
                                  t.id[n], quote(t.name_of(n)), job_.ranks[r].rank, partner, ranks_),
                      {t.file});
        moved(partner);
        continue;
      }
      const uint32_t id = matching_.of_comm[r][t.comm_row[n]];
      if (id == trace::kNoRow) continue;  // which planning refuses
      const match::Collective& c = matching_.collectives[id];
      const match::Group& group = matching_.groups[c.group];
      if (!group.known) continue;  // likewise
      CHAKRA_ASSIGN(int64_t root, root_of(t, n, group));
      Comm& comm = t.comms.edit(t.comm_row[n]);
      if (is_whole(group.ranks)) {
        if (root >= 0) comm.root = root;
        CHAKRA_TRY(share(t, n, type_of(t, n, c), static_cast<uint64_t>(replica)));
      } else {
        moved(root);
        if (root >= 0) comm.root = root;
        comm.group = t.strings.intern(name_in(group.name, replica));
      }
    }
    return {};
  }

  /// Divide the sizes, so that a member sends and receives as much as before.
  Result<void> share(Trace& t, NodeId n, CommType type, uint64_t replica) const {
    Comm& comm = t.comms.edit(t.comm_row[n]);
    const auto part = [&](uint64_t bytes) {
      return part_of(bytes, static_cast<uint64_t>(times_), element_(t.strings[comm.dtype]));
    };
    switch (type) {
      case CommType::all_gather:
      case CommType::gather:
        comm.bytes = part(comm.bytes);
        comm.in_bytes = part(comm.in_bytes);
        break;
      case CommType::scatter:
      case CommType::reduce_scatter:
      case CommType::reduce_scatter_block: comm.out_bytes = part(comm.out_bytes); break;
      case CommType::all_to_all: {
        if (!has_parts(comm)) break;
        CHAKRA_ASSIGN(Parts parts, parts_of(t, n, job_.ranks.size()));
        divide(parts.in, replica);
        divide(parts.out, replica);
        set_parts(t, n, parts);
        break;
      }
      default: break;
    }
    return {};
  }

  /// The remainder of a part goes to replicas in turn, so that each member sends and gets as much as before, and what
  /// one sends is what the other gets.
  void divide(std::vector<uint64_t>& list, uint64_t replica) const {
    const auto times = static_cast<uint64_t>(times_);
    const std::vector<uint64_t> recorded = std::move(list);
    list.clear();
    for (uint64_t other = 0; other < times; ++other)
      for (const uint64_t part : recorded) list.push_back(part / times + ((replica + other) % times < part % times));
  }

  const trace::TraceSet& job_;
  const match::Matching matching_;
  const GroupLists listed_;
  const int64_t ranks_, times_;
  const ElementBytes element_;
};

}  // namespace

// `edit.replicate` (note): the number of ranks that repeat the ranks of a job, and the groups that grew
// `edit.replicate.apart` (warning): replicas of a job without a group of all ranks
// `edit.replicate.group` (exit 1): a group with ranks that the job lacks, or with the name that a copy would have
// `edit.replicate.partner` (exit 1): a message with a rank that the job lacks
// `edit.replicate.ranks` (exit 2): no replica, or more ranks than can be
Result<trace::TraceSet> replicate(trace::TraceSet job, match::GroupTable& groups, int64_t times, ElementBytes element,
                                  Findings& findings) {
  const auto ranks = static_cast<int64_t>(job.ranks.size());
  int64_t nodes = 0;
  for (const Trace& t : job.ranks) nodes += t.size();
  if (ranks == 0 || times < 1 || times > kMostRanks / ranks || times > kMostNodes / std::max<int64_t>(1, nodes))
    return fail(
        Code::usage, "edit.replicate.ranks",
        fmt::format("cannot make {} replicas of {} ranks with {} nodes: too many, or zero", times, ranks, nodes));
  CHAKRA_ASSERT(job.ranks.front().rank == 0 && job.ranks.back().rank == ranks - 1);
  Replication replication(job, groups, times, element);
  CHAKRA_ASSIGN(trace::TraceSet made, replication.run());
  replication.say(findings);
  groups = replication.table(groups);
  return made;
}

}  // namespace chakra::edit
