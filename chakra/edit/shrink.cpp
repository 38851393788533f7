// The first ranks of a job.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/edit/edit.h"
#include "chakra/edit/members.h"

namespace chakra::edit {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

class Shrinking {
 public:
  Shrinking(trace::TraceSet& job, const match::GroupTable& groups, int64_t ranks, ElementBytes element)
      : job_(job), matching_(match::match(job, groups)), ranks_(ranks), element_(element) {
    for (const auto& [name, members] : listed_groups(job, groups, matching_)) {
      NewGroup& now = known_[name];
      now.name = name;
      for (const int64_t rank : members)
        if (stays(rank)) now.ranks.push_back(rank);
    }
    for (size_t r = 0; r < job.ranks.size(); ++r) widen_groups(r);
    for (const match::Group& group : matching_.groups) {
      std::vector<int64_t>& left = left_.emplace_back();
      std::copy_if(group.ranks.begin(), group.ranks.end(), std::back_inserter(left),
                   [&](int64_t rank) { return stays(rank); });
    }
  }

  Result<void> run() {
    for (uint32_t r = 0; r < static_cast<uint32_t>(ranks_); ++r) {
      Trace& t = job_.ranks[r];
      describe_groups(t, known_, static_cast<int64_t>(job_.ranks.size()), ranks_);
      for (const NodeId n : t.nodes()) {
        if (!trace::is_comm(t.type[n]) || t.comm_row[n] == trace::kNoRow) continue;
        if (t.type[n] == NodeType::coll) CHAKRA_TRY(collective(r, n));
        else message(t, n);
      }
      for (const NodeId n : t.nodes())  // pieces of communication that is left out take no time, either
        if (const NodeId whole = t.part_of[n]; whole != trace::kNoNode && t.type[n] == NodeType::metadata)
          if (t.type[whole] == NodeType::metadata) t.dur_ps.edit(n) = 0;
    }
    before_ = static_cast<int64_t>(job_.ranks.size());
    job_.ranks.erase(job_.ranks.begin() + ranks_, job_.ranks.end());
    return {};
  }

  void say(Findings& findings) const {
    const auto bytes = [](uint64_t count) { return show_bytes(static_cast<double>(count)); };
    const auto add = [&](const char* tag, Severity severity, int64_t count, std::string text, std::vector<Fact> facts) {
      if (count > 0) findings.push_back({tag, severity, -1, -1, std::move(text), std::move(facts)});
    };
    const auto groups = static_cast<int64_t>(groups_.size());
    add("edit.shrink", Severity::note, 1,
        fmt::format(
            "{} of the {} ranks stay; {} groups have fewer members, and their {} collectives send {} instead of {}",
            ranks_, before_, groups, show_count(fewer_.nodes), bytes(fewer_.now_bytes), bytes(fewer_.bytes)),
        {{"ranks", ranks_}, {"recorded", before_}, {"groups", groups}, {"collectives", fewer_.nodes}});
    add("edit.shrink.messages", Severity::warning, messages_.nodes,
        fmt::format("{} messages with removed ranks, {}, are left out and take no time", show_count(messages_.nodes),
                    bytes(messages_.bytes)),
        {{"messages", messages_.nodes}});
    add("edit.shrink.alone", Severity::warning, alone_.nodes,
        fmt::format("{} collectives of groups with one member left, {}, are left out and take no time",
                    show_count(alone_.nodes), bytes(alone_.bytes)),
        {{"collectives", alone_.nodes}});
    add("edit.shrink.roots", Severity::note, roots_,
        fmt::format("the root of {} collectives was removed: the first member is the root instead", show_count(roots_)),
        {{"collectives", roots_}});
  }
  const NewGroups& known() const { return known_; }

 private:
  bool stays(int64_t rank) const { return rank < ranks_; }

  /// Lists of parts say how many ranks a job had of which not all have a trace.
  void widen_groups(size_t r) {
    const Trace& t = job_.ranks[r];
    for (const NodeId n : t.nodes()) {
      if (t.type[n] != NodeType::coll || t.comm_row[n] == trace::kNoRow || !has_parts(*t.comm(n))) continue;
      const uint32_t id = matching_.of_comm[r][t.comm_row[n]];
      if (id == trace::kNoRow) continue;
      match::Group& group = matching_.groups[matching_.collectives[id].group];
      for (const std::string_view list : {t.comm(n)->in_split, t.comm(n)->out_split})
        for (auto more = std::count(list.begin(), list.end(), ',') + 1;
             group.assumed && more < kMostRanks && more > static_cast<int64_t>(group.ranks.size());)
          group.ranks.push_back(static_cast<int64_t>(group.ranks.size()));
    }
  }

  struct Count {
    int64_t nodes = 0;
    uint64_t bytes = 0;  ///< comm_size, as recorded
    uint64_t now_bytes = 0;
    void add(uint64_t more) {
      ++nodes;
      bytes = add_bytes(bytes, more);
    }
  };

  void leave_out(Trace& t, NodeId n, Count& count) {
    count.add(t.comm(n)->bytes);
    t.type.edit(n) = NodeType::metadata;  // holds no lane
    t.dur_ps.edit(n) = 0;
    t.flags.edit(n) &= static_cast<uint8_t>(~(trace::kHasStart | trace::kHasDuration));
    t.comm_row.edit(n) = trace::kNoRow;
  }

  void message(Trace& t, NodeId n) {
    const Comm& comm = *t.comm(n);
    if (!stays(t.type[n] == NodeType::send ? comm.dst : comm.src)) leave_out(t, n, messages_);
  }

  Result<void> collective(uint32_t r, NodeId n) {
    Trace& t = job_.ranks[r];
    const uint32_t id = matching_.of_comm[r][t.comm_row[n]];
    if (id == trace::kNoRow) return {};  // which planning refuses
    const uint32_t g = matching_.collectives[id].group;
    const match::Group& group = matching_.groups[g];
    const std::vector<int64_t>& left = left_[g];
    const CommType type = type_of(t, n, matching_.collectives[id]);
    const bool parts = type == CommType::all_to_all && has_parts(*t.comm(n));
    if (!group.known || left.size() == group.ranks.size()) return {};
    groups_.insert(group.name);
    if (left.size() == 1) {
      leave_out(t, n, alone_);
      return {};
    }
    CHAKRA_ASSIGN(const int64_t root, root_of(t, n, group));
    const uint64_t then = t.comm(n)->bytes;
    Comm& comm = t.comms.edit(t.comm_row[n]);
    if (root >= 0) comm.root = stays(root) ? root : left.front();
    roots_ += root >= 0 && !stays(root);
    if (parts) CHAKRA_TRY(keep_parts(t, n, group));
    else CHAKRA_TRY(keep_share(t, n, type, group.ranks.size(), left.size()));
    fewer_.add(then);
    fewer_.now_bytes = add_bytes(fewer_.now_bytes, t.comm(n)->bytes);
    return {};
  }

  Result<void> keep_parts(Trace& t, NodeId n, const match::Group& group) {
    CHAKRA_ASSIGN(Parts parts, parts_of(t, n, group.ranks.size()));
    const auto keep = [&](std::vector<uint64_t>& list) {
      size_t kept = 0;
      for (size_t i = 0; i < list.size(); ++i)
        if (stays(group.ranks[i])) list[kept++] = list[i];
      list.resize(kept);
    };
    keep(parts.in);
    keep(parts.out);
    set_parts(t, n, parts);
    return {};
  }

  /// Buffers that have an equal part for each member.
  Result<void> keep_share(Trace& t, NodeId n, CommType type, uint64_t then, uint64_t now) {
    Comm& comm = t.comms.edit(t.comm_row[n]);
    const auto share = [&](uint64_t& bytes) {
      const uint64_t part = part_of(bytes, then, element_(t.strings[comm.dtype]));
      bytes = part > bytes / now ? bytes : part * now;
    };
    if (type == CommType::all_to_all && comm.in_bytes > 0 && comm.out_bytes > 0 && comm.in_bytes != comm.out_bytes)
      return fail(
          Code::bad_input, "edit.parts",
          fmt::format(
              "node {} ({}) of rank {} sends {} bytes and receives {}, without split sizes for the remaining ranks",
              t.id[n], quote(t.name_of(n)), t.rank, comm.in_bytes, comm.out_bytes),
          {t.file});
    switch (type) {
      case CommType::all_gather:
      case CommType::gather: share(comm.out_bytes); break;
      case CommType::all_to_all: share(comm.out_bytes); [[fallthrough]];
      case CommType::scatter:
      case CommType::reduce_scatter:
      case CommType::reduce_scatter_block:
        share(comm.bytes);
        share(comm.in_bytes);
        break;
      default: break;
    }
    return {};
  }

  trace::TraceSet& job_;
  match::Matching matching_;
  const int64_t ranks_;
  const ElementBytes element_;
  int64_t before_ = 0;
  NewGroups known_;
  std::vector<std::vector<int64_t>> left_;  ///< by group of the matching: those of its ranks that stay
  std::set<std::string> groups_;            ///< with fewer members
  Count messages_, alone_, fewer_;          ///< left out; with fewer members
  int64_t roots_ = 0;
};

}  // namespace

// `edit.shrink` (note): the number of ranks that stay, and the traffic of their collectives
// `edit.shrink.messages` (warning): messages with ranks that are gone
// `edit.shrink.alone` (warning): collectives of groups with one member left
// `edit.shrink.roots` (note): collectives that get another root
// `edit.shrink.ranks` (exit 2): more ranks than the job has, or none
Result<trace::TraceSet> shrink(trace::TraceSet job, match::GroupTable& groups, int64_t ranks, ElementBytes element,
                               Findings& findings) {
  const auto there = static_cast<int64_t>(job.ranks.size());
  if (ranks < 1 || ranks > there)
    return fail(Code::usage, "edit.shrink.ranks", fmt::format("a job of {} ranks cannot shrink to {}", there, ranks));
  CHAKRA_ASSERT(job.ranks.front().rank == 0 && job.ranks.back().rank == there - 1);
  Shrinking shrinking(job, groups, ranks, element);
  CHAKRA_TRY(shrinking.run());
  shrinking.say(findings);
  for (auto group = groups.begin(); group != groups.end();) {
    group->second = shrinking.known().at(group->first).ranks;
    group = group->second.empty() ? groups.erase(group) : std::next(group);
  }
  return job;
}

}  // namespace chakra::edit
