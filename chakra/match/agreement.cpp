#include "chakra/match/agreement.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/trace/sizes.h"

namespace chakra::match {

using trace::Comm;
using trace::CommType;

namespace {

constexpr size_t kMostJoined = 256;  ///< loose ends that are compared with each other

std::vector<Fact> facts_of(const Channel& channel, uint32_t index) {
  const auto& [from, to, tag] = channel;
  return {{"sender", from}, {"receiver", to}, {"message_tag", tag}, {"index", int64_t{index}}};
}
std::string text_of(const Channel& channel, uint32_t index) {
  const auto& [from, to, tag] = channel;
  return fmt::format("message {} from rank {} to rank {} with tag {}", index, from, to, tag);
}
std::string and_more(size_t count) {
  return count == 0 ? std::string() : fmt::format(" (and {} more after it)", count);
}

/// Return whether members of a collective may contribute different numbers of bytes. In a scatter only the root sends
/// data. The parts of an all-to-all may be uneven: they are listed, or more bytes come out than went in
/// (compare_splits() looks at the sums of the parts).
bool may_differ(const Comm& a, const Comm& b) {
  if (!a.in_split.empty() || !b.in_split.empty()) return true;
  if (a.type == CommType::scatter && b.type == CommType::scatter) return a.bytes == 0 || b.bytes == 0;
  const auto uneven = [](const Comm& c) { return c.out_bytes != 0 && c.in_bytes != 0 && c.out_bytes != c.in_bytes; };
  return a.type == CommType::all_to_all && b.type == CommType::all_to_all && (uneven(a) || uneven(b));
}

/// Return whether both state the bytes of a side and differ. The members of these operations have equal sides.
bool sides_differ(const Comm& a, const Comm& b) {
  const bool equal_sides =
      a.type == CommType::all_reduce || a.type == CommType::all_gather || a.type == CommType::reduce_scatter;
  const auto differ = [](uint64_t x, uint64_t y) { return x != 0 && y != 0 && x != y; };
  return equal_sides && a.type == b.type && (differ(a.in_bytes, b.in_bytes) || differ(a.out_bytes, b.out_bytes));
}

}  // namespace

int64_t root_rank(const Comm& comm, const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of) {
  if (member_of.contains(comm.root)) return comm.root;
  const bool is_place = comm.root >= 0 && comm.root < static_cast<int64_t>(group.ranks.size());
  return is_place ? group.ranks[static_cast<size_t>(comm.root)] : -1;
}

void Agreement::find(const char* tag, Severity severity, NodeRef at, std::string text, std::vector<Fact> facts) {
  Finding finding{tag, severity, -1, -1, std::move(text), std::move(facts)};
  finding.rank = job_.ranks[at.rank].rank;
  if (at.node != trace::kNoNode) finding.node = static_cast<int64_t>(job_.ranks[at.rank].id[at.node]);
  findings_.push_back(std::move(finding));
}

std::string Agreement::describe(NodeRef at) const { return describe(at, at); }

std::string Agreement::describe(NodeRef at, NodeRef beside) const {
  const Comm& c = comm(at);
  const std::string sides =
      sides_differ(c, comm(beside)) ? fmt::format(" ({} bytes in, {} out)", c.in_bytes, c.out_bytes) : std::string();
  return fmt::format("{} of {}{}{}{}{} in node {} of rank {}", trace::name(c.type),
                     show_bytes_apart(c.bytes, comm(beside).bytes).first, sides,
                     c.dtype ? fmt::format(" ({})", dtype(at)) : "",
                     c.root != -1 ? fmt::format(" with root {}", c.root) : "",
                     c.sequence != -1 ? fmt::format(" with sequence number {}", c.sequence) : "",
                     job_.ranks[at.rank].id[at.node], job_.ranks[at.rank].rank);
}

/// The same operation, wherever it runs.
bool Agreement::alike(NodeRef a, NodeRef b) const {
  const Comm &x = comm(a), &y = comm(b);
  return x.type == y.type && (x.bytes == y.bytes || !x.in_split.empty()) && dtype(a) == dtype(b);
}

/// What two members of a collective state differently, as a tag and a name; or null. -1: no root is stated.
std::pair<const char*, const char*> Agreement::difference(NodeRef x, NodeRef y, int64_t root_x, int64_t root_y) const {
  const Comm &c = comm(x), &d = comm(y);
  if (c.type != d.type && c.type != CommType::unknown && d.type != CommType::unknown)
    return {"match.collective.type", "operation"};
  if ((c.bytes != d.bytes && !may_differ(c, d)) || sides_differ(c, d)) return {"match.collective.bytes", "size"};
  if (c.dtype != 0 && d.dtype != 0 && dtype(x) != dtype(y)) return {"match.collective.dtype", "element type"};
  if (c.root != -1 && d.root != -1 && root_x != root_y) return {"match.collective.root", "root"};
  return {};
}

/// The same for the ends of a message, as a tag or null.
const char* Agreement::difference(NodeRef send, NodeRef receive) const {
  if (comm(send).bytes != comm(receive).bytes) return "match.message.bytes";
  return comm(send).dtype != 0 && comm(receive).dtype != 0 && dtype(send) != dtype(receive) ? "match.message.dtype"
                                                                                            : nullptr;
}

namespace {

/// Whether a difference may be one of the parts of an all-to-all, which may be uneven even if nothing says so.
bool is_of_parts(const Comm& c, std::string_view tag) {
  return c.type == CommType::all_to_all && tag == "match.collective.bytes";
}

}  // namespace

/// The collectives of one group, as its members have them.
struct Agreement::GroupView {
  const Agreement& all;
  const Group& group;
  const absl::flat_hash_map<int64_t, size_t>& member_of;
  std::span<const MemberCalls> members;
  bool by_number;

  NodeRef ref(uint32_t m, uint32_t i) const { return {members[m].rank, members[m].calls[i].node}; }
  uint32_t length(uint32_t m) const { return static_cast<uint32_t>(members[m].calls.size()); }
  int64_t rank(uint32_t m) const { return all.job_.ranks[members[m].rank].rank; }
  int64_t root(const Comm& c) const { return c.root == -1 ? -1 : root_rank(c, group, member_of); }

  /// Which of the things that must be equal is not, as a tag and a name; or null.
  std::pair<const char*, const char*> difference(uint32_t a, uint32_t i, uint32_t b, uint32_t j) const {
    const NodeRef x = ref(a, i), y = ref(b, j);
    if (by_number && members[a].calls[i].key != members[b].calls[j].key)
      return {"match.collective.number", "sequence number"};
    return all.difference(x, y, root(all.comm(x)), root(all.comm(y)));
  }
  bool same(uint32_t a, uint32_t i, uint32_t b, uint32_t j) const { return !difference(a, i, b, j).first; }
  /// Whether the members, call by call, differ in the parts of all-to-alls at most.
  bool differ_in_parts() const {
    for (uint32_t m = 1; m < members.size(); ++m) {
      if (length(m) != length(0)) return false;
      for (uint32_t i = 0; i < length(m); ++i)
        if (const char* const tag = difference(0, i, m, i).first; tag && !is_of_parts(all.comm(ref(m, i)), tag))
          return false;
    }
    return true;
  }

  /// The node of a member that has another number than the one that it lacks: it is missing where it should be and is
  /// too many where it is. Without a node: there is none.
  NodeRef renumbered(const Deviation& d) const {
    if (by_number && d.how == Deviation::How::lacks && d.more > 0 && length(d.member) == length(d.reference))
      for (uint32_t i = d.own; i < length(d.member); ++i)
        if (const NodeRef mine = ref(d.member, i); all.alike(mine, ref(d.reference, d.its))) {
          const auto& theirs = members[d.reference].calls;
          const Key key = members[d.member].calls[i].key;
          if (std::none_of(theirs.begin(), theirs.end(), [&](const Call& call) { return call.key == key; }))
            return mine;
        }
    return {members[d.member].rank, trace::kNoNode};
  }
};

Doubt Agreement::compare(const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of,
                         std::span<const MemberCalls> members, bool by_number) {
  const GroupView view{*this, group, member_of, members, by_number};
  const auto same = [&](uint32_t a, uint32_t i, uint32_t b, uint32_t j) { return view.same(a, i, b, j); };
  std::vector<uint32_t> lengths;
  for (uint32_t m = 0; m < members.size(); ++m) lengths.push_back(view.length(m));
  const std::vector<Deviation> found = find_deviations(lengths, same);
  std::vector<bool> told(found.size(), false);
  for (size_t f = 0; f < found.size(); ++f) {
    if (told[f]) continue;
    const Deviation& d = found[f];
    // Others that deviate in the same way there are told with it.
    size_t others = 0;
    for (size_t g = f + 1; g < found.size() && found[g].index == d.index; ++g)
      if (const Deviation& e = found[g]; e.how == d.how && e.more == d.more && e.reference == d.reference &&
                                         (d.how == Deviation::How::lacks || same(d.member, d.own, e.member, e.own))) {
        told[g] = true;
        ++others;
      }
    tell(view, d, others);
  }
  if (found.empty()) return Doubt::none;
  const bool in_place =
      std::all_of(found.begin(), found.end(), [](const Deviation& d) { return d.how == Deviation::How::differs; });
  return by_number || in_place || view.differ_in_parts() ? Doubt::content : Doubt::ends;
}

Doubt Agreement::compare(const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of,
                         std::span<const NodeRef> members) const {
  Doubt worst = Doubt::none;
  const NodeRef* first = nullptr;  // with a known operation, if any has one
  for (const NodeRef& ref : members)
    if (ref.node != trace::kNoNode && (!first || comm(*first).type == CommType::unknown)) first = &ref;
  for (const NodeRef& ref : members) {
    if (ref.node == trace::kNoNode || &ref == first) continue;
    const Comm &c = comm(*first), &d = comm(ref);
    if (c.type != d.type && c.type != CommType::unknown && d.type != CommType::unknown) return Doubt::ends;
    const char* const tag =
        difference(*first, ref, root_rank(c, group, member_of), root_rank(d, group, member_of)).first;
    if (tag && !is_of_parts(d, tag)) worst = Doubt::content;
  }
  return worst;
}

Doubt Agreement::compare(const Message& m) const {
  const bool both = m.send.node != trace::kNoNode && m.recv.node != trace::kNoNode;
  return both && difference(m.send, m.recv) ? Doubt::content : Doubt::none;
}

/// `others`: members that deviate in the same way.
void Agreement::tell(const GroupView& view, const Deviation& d, size_t others) {
  using How = Deviation::How;
  const Group& group = view.group;
  const int64_t rank = view.rank(d.member), its_rank = view.rank(d.reference);
  // As many, but not the same ones.
  const char* tag = !view.by_number && view.length(d.member) == view.length(d.reference) ? "match.collective.order"
                                                                                         : "match.collective.count";
  std::string what;
  NodeRef node = d.how == How::lacks ? view.renumbered(d) : view.ref(d.member, d.own);
  const bool renumbered = d.how == How::lacks && node.node != trace::kNoNode;
  if (renumbered) {
    tag = "match.collective.number";
    what =
        fmt::format("collective {} has the sequence number {} in node {}, {} on rank {}", d.index, comm(node).sequence,
                    job_.ranks[node.rank].id[node.node], comm(view.ref(d.reference, d.its)).sequence, its_rank);
  } else if (d.how == How::lacks) {
    what = fmt::format("lacks collective {}, {}", d.index, describe(view.ref(d.reference, d.its)));
  } else if (d.how == How::extra) {
    what = fmt::format("has a collective {} that rank {} lacks, {}", d.index, its_rank, describe(node));
  } else if (d.how == How::swapped) {
    tag = "match.collective.order";
    const NodeRef its = view.ref(d.reference, d.its);
    what = fmt::format("runs two collectives in the opposite order: number {} is {}, but {}", d.index,
                       describe(node, its), describe(its, node));
  } else {
    const auto [other_tag, name] = view.difference(d.reference, d.its, d.member, d.own);
    tag = other_tag;
    const NodeRef its = view.ref(d.reference, d.its);
    what = fmt::format("differs in the {} of collective {}: {}, but {}", name, d.index, describe(its, node),
                       describe(node, its));
  }
  if ((d.how == How::lacks && !renumbered) || d.how == How::extra)
    loose_.push_back({findings_.size(), rank, d.how == How::lacks,
                      d.how == How::lacks ? view.ref(d.reference, d.its) : node, &group, d.index, d.tie, its_rank});
  const std::string and_others =
      others ? fmt::format(" and {} other{}", others, others == 1 ? "" : "s") : std::string();
  find(tag, Severity::error, node,
       fmt::format("group {}: rank {}{} {}{}", quote(group.name), rank, and_others, what,
                   and_more(d.more - (renumbered ? 1 : 0))),
       facts_of(group, d.index));
}

void Agreement::stray(const Group& group, NodeRef first, const char* tag, std::string text) {
  loose_.push_back({findings_.size(), job_.ranks[first.rank].rank, false, first, &group, 0, false, -1});
  find(tag, Severity::error, first, std::move(text), facts_of(group, 0));
}

std::map<Channel, Doubt> Agreement::compare(const std::map<Channel, Ends>& channels) {
  using How = Deviation::How;
  std::map<Channel, Doubt> doubts;
  for (const auto& [channel, ends] : channels) {
    const auto& [from, to, tag] = channel;
    const std::vector<NodeRef>* of[2] = {&ends.sends, &ends.receives};
    tag_uses_[tag] += ends.sends.size() + ends.receives.size();
    const auto differ = [&](uint32_t a, uint32_t i, uint32_t b, uint32_t j) {
      return difference((*of[a])[i], (*of[b])[j]);
    };
    const uint32_t lengths[2] = {static_cast<uint32_t>(ends.sends.size()), static_cast<uint32_t>(ends.receives.size())};
    for (const Deviation& d : find_deviations(
             lengths, [&](uint32_t a, uint32_t i, uint32_t b, uint32_t j) { return differ(a, i, b, j) == nullptr; })) {
      // The sender counts as the majority: d is about the receiver.
      const std::string what = text_of(channel, d.index);
      Doubt& doubt = doubts[channel];
      doubt = std::max(doubt, d.how == How::differs ? Doubt::content : Doubt::ends);
      if (d.how == How::lacks || d.how == How::extra) {
        const bool is_send = d.how == How::lacks;
        const NodeRef node = is_send ? ends.sends[d.its] : ends.receives[d.own];
        const bool absent = !job_.find(is_send ? to : from);
        if (!absent) loose_messages_.push_back({findings_.size(), channel, d.index, node, is_send});
        find(is_send ? "match.message.no_recv" : "match.message.no_send", absent ? Severity::warning : Severity::error,
             node,
             fmt::format("{} (node {} of rank {}) is never {}{}{}", what, job_.ranks[node.rank].id[node.node],
                         job_.ranks[node.rank].rank, is_send ? "received" : "sent",
                         absent ? ": that rank is not in the job" : "", and_more(d.more)),
             facts_of(channel, d.index));
        if (!absent) {  // it is the other end that lacks something
          findings_.back().rank = is_send ? to : from;
          findings_.back().node = -1;
        }
        continue;
      }
      const NodeRef send = ends.sends[d.its], receive = ends.receives[d.own];
      const char* tag_of = differ(0, d.its, 1, d.own);
      const bool dtypes = d.how == How::differs && std::string_view(tag_of) == "match.message.dtype";
      find(d.how == How::swapped ? "match.message.order" : tag_of, Severity::error, receive,
           dtypes
               ? fmt::format("{}: elements of {} are sent, but of {} are expected{}", what, dtype(send), dtype(receive),
                             and_more(d.more))
               : fmt::format("{}: {} bytes are sent, but {} are expected{}{}", what, comm(send).bytes,
                             comm(receive).bytes, d.how == How::swapped ? ", which come later" : "", and_more(d.more)),
           facts_of(channel, d.index));
    }
  }
  return doubts;
}

Agreement::Sizes Agreement::sizes_of(const Group& group, NodeRef member) const {
  const Comm& c = comm(member);
  const bool gathers = c.type == CommType::all_gather;
  if (!gathers && c.type != CommType::reduce_scatter) return Sizes::fit;
  const uint64_t all = gathers ? c.out_bytes : c.in_bytes, part = gathers ? c.in_bytes : c.out_bytes;
  const size_t ranks = group.ranks.size();
  if (part == 0 || all == 0 || ranks < 2 || (all % part == 0 && all / part == ranks)) return Sizes::fit;
  if (group.assumed && all / part >= ranks) return Sizes::fit;  // not all ranks are here
  return all > part && all % part == 0 ? Sizes::of_other_group : Sizes::impossible;
}

// `match.group.size` (error): a group whose collectives have the sizes of a group of another number of ranks.
void Agreement::report_size(const Group& group, uint32_t index, NodeRef member) {
  const Comm& c = comm(member);
  const std::string sizes = fmt::format("{} in, {} out", show_bytes(static_cast<double>(c.in_bytes)),
                                        show_bytes(static_cast<double>(c.out_bytes)));
  if (sizes_of(group, member) == Sizes::of_other_group)
    find("match.group.size", Severity::error, member,
         fmt::format("collective {} of group {} has the sizes of {} ranks ({}), but the group has {}", index,
                     quote(group.name), std::max(c.in_bytes, c.out_bytes) / std::min(c.in_bytes, c.out_bytes), sizes,
                     group.ranks.size()),
         facts_of(group, index));
  else
    find("match.collective.bytes", Severity::error, member,
         fmt::format("collective {} of group {} cannot have these sizes ({}) on {} ranks", index, quote(group.name),
                     sizes, group.ranks.size()),
         facts_of(group, index));
}

void Agreement::join() {
  drop_.assign(findings_.size(), false);
  join_collectives();
  join_messages();
  size_t kept = 0;
  for (size_t f = 0; f < findings_.size(); ++f)
    if (!drop_[f]) {
      if (kept != f) findings_[kept] = std::move(findings_[f]);
      ++kept;
    }
  findings_.resize(kept);
}

/// What a rank lacks in one group and has too many in another runs in the wrong one.
void Agreement::join_collectives() {
  std::vector<Loose> ends(loose_.begin(),
                          loose_.begin() + static_cast<ptrdiff_t>(std::min(loose_.size(), kMostJoined)));
  for (size_t i = ends.size(); i-- > 0;)
    if (ends[i].tie) {  // of two, either may be wrong
      Loose opposite = ends[i];
      opposite.lacks = !opposite.lacks;
      std::swap(opposite.rank, opposite.other);
      ends.push_back(opposite);
    }
  for (const Loose& lack : ends)
    for (const Loose& extra : ends) {
      if (!lack.lacks || extra.lacks || lack.rank != extra.rank || lack.group == extra.group || drop_[lack.finding] ||
          drop_[extra.finding] || !alike(lack.node, extra.node))
        continue;
      const trace::Trace& t = job_.ranks[extra.node.rank];
      if (t.rank != extra.rank) continue;
      Finding& finding = findings_[lack.finding];
      finding.tag = "match.collective.group";
      finding.rank = extra.rank;
      finding.node = static_cast<int64_t>(t.id[extra.node.node]);
      finding.text = fmt::format("collective {} of group {} runs in group {} on rank {}: {}, but {}", lack.index,
                                 quote(lack.group->name), quote(extra.group->name), extra.rank, describe(lack.node),
                                 describe(extra.node));
      finding.facts = facts_of(*lack.group, lack.index);
      drop_[extra.finding] = true;
      break;
    }
}

/// A send and a receive without counterpart that differ in one thing belong together.
void Agreement::join_messages() {
  const size_t count = std::min(loose_messages_.size(), kMostJoined);
  std::vector<bool> used(count, false);
  const auto uses = [&](int64_t tag) {
    const auto found = tag_uses_.find(tag);
    return found == tag_uses_.end() ? 0 : found->second;
  };
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count && !used[i]; ++j) {
      const LooseMessage &send = loose_messages_[i], &receive = loose_messages_[j];
      if (!send.is_send || receive.is_send || used[j] || comm(send.node).bytes != comm(receive.node).bytes) continue;
      const auto& [from, to, tag] = send.channel;
      const auto& [from2, to2, tag2] = receive.channel;
      if ((from != from2) + (to != to2) + (tag != tag2) != 1) continue;
      // At fault: if the partners differ, the rank that both share; if the tags differ, the end with the rarer tag.
      const bool sender = tag != tag2 ? uses(tag) <= uses(tag2) : to != to2;
      const LooseMessage &wrong = sender ? send : receive, &right = sender ? receive : send;
      Finding& finding = findings_[wrong.finding];
      const trace::Trace& t = job_.ranks[wrong.node.rank];
      finding.tag = tag != tag2 ? "match.message.tag" : "match.message.peer";
      finding.rank = t.rank;
      finding.node = static_cast<int64_t>(t.id[wrong.node.node]);
      finding.text =
          fmt::format("{}: node {} of rank {} {} it, but node {} of rank {} {}", text_of(right.channel, right.index),
                      job_.ranks[right.node.rank].id[right.node.node], job_.ranks[right.node.rank].rank,
                      sender ? "expects" : "sends", t.id[wrong.node.node], t.rank,
                      tag != tag2 ? fmt::format("has the tag {}", std::get<2>(wrong.channel))
                      : sender    ? fmt::format("sends to rank {}", to)
                                  : fmt::format("expects it from rank {}", from2));
      finding.facts = facts_of(right.channel, right.index);
      drop_[right.finding] = true;
      used[i] = used[j] = true;
    }
}

}  // namespace chakra::match
