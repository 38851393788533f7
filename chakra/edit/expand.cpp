#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/edit/edit.h"
#include "chakra/edit/members.h"
#include "chakra/match/even.h"

namespace chakra::edit {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

using Members = std::vector<int64_t>;
bool has(const Members& members, int64_t rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

bool is_uneven(const trace::Comm& comm) {
  const bool sides_differ = comm.in_bytes > 0 && comm.out_bytes > 0 && comm.in_bytes != comm.out_bytes;
  return has_parts(comm) || (comm.type == trace::CommType::all_to_all && sides_differ);
}

class Expansion {
 public:
  Expansion(trace::TraceSet& job, match::GroupTable& groups, int64_t ranks, int64_t like)
      : job_(job), groups_(groups), ranks_(ranks), like_(like) {}

  Result<void> run(Findings& findings) {
    if (like_ < 0 && !job_.ranks.empty()) like_ = job_.ranks.front().rank;
    const Trace* like = job_.find(like_);
    if (!like) return fail(Code::usage, "edit.expand.like", fmt::format("the rank to copy, {}, has no trace", like_));
    if (ranks_ <= job_.ranks.back().rank)
      return fail(Code::usage, "edit.expand.ranks",
                  fmt::format("the job has a rank {}; it needs at least {} ranks", job_.ranks.back().rank,
                              static_cast<uint64_t>(job_.ranks.back().rank) + 1));
    const int64_t copies = ranks_ - static_cast<int64_t>(job_.ranks.size());
    if (ranks_ > kMostRanks || copies * int64_t{like->size()} > kMostNodes)
      return fail(Code::usage, "edit.expand.ranks",
                  fmt::format("{} ranks of {} nodes are too many", ranks_, like->size()));
    for (const Trace& t : job_.ranks) recorded_.insert(t.rank);
    collect_groups();
    collect_sizes();
    std::vector<Trace> made;
    made.reserve(static_cast<size_t>(copies));
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      if (recorded_.contains(rank)) continue;
      CHAKRA_ASSIGN(Trace copy, make(*like, rank));
      made.push_back(std::move(copy));
    }
    for (Trace& t : job_.ranks)
      if (copies > 0) adapt(t);
    for (Trace& t : made) job_.ranks.push_back(std::move(t));
    std::sort(job_.ranks.begin(), job_.ranks.end(), [](const Trace& a, const Trace& b) { return a.rank < b.rank; });
    say(findings, copies);
    return {};
  }

 private:
  /// All groups whose members somebody lists; the table goes first.
  void collect_groups() {
    for (const auto& [name, members] : groups_) known_.emplace(name, members);
    for (const Trace& t : job_.ranks)
      for (const trace::ProcessGroup& group : t.groups)
        if (!group.ranks.empty()) known_.emplace(group.name, group.ranks);
  }

  /// Sizes of uneven all-to-alls as even ones, before any is changed.
  void collect_sizes() {
    const auto uneven = [](const Trace& t) { return std::any_of(t.comms.begin(), t.comms.end(), is_uneven); };
    if (std::none_of(job_.ranks.begin(), job_.ranks.end(), uneven)) return;
    const match::Matching matching = match::match(job_, groups_);
    for (const trace::RankIndex r : job_.indices()) {
      const Trace& t = job_.ranks[r];
      std::vector<uint64_t>& sizes = even_bytes_[t.rank];
      for (size_t row = 0; row < t.comms.size(); ++row) {
        const uint32_t id = matching.of_comm[r][row];
        if (!is_uneven(t.comms[row])) sizes.push_back(t.comms[row].bytes);
        else if (id == trace::kNoRow) sizes.push_back(match::even_bytes(t.comms[row]));
        else sizes.push_back(match::even_bytes(job_, matching.collectives[id]));
      }
    }
  }

  /// The group in which the copy does what `like` does in `name`; empty: the same.
  Result<std::string> counterpart(const std::string& name, const Members& members, int64_t rank) {
    if (has(members, rank)) return name;
    size_t place = 0;
    std::vector<const std::string*> mine;
    for (const auto& [other, its] : known_) {
      if (its.size() != members.size()) continue;
      if (has(its, like_) && !has(its, rank) && other < name) ++place;
      if (has(its, rank) && !has(its, like_)) mine.push_back(&other);
    }
    if (place < mine.size()) return *mine[place];
    if (auto made = continued(name, members, rank)) return *made;
    return fail(
        Code::bad_input, "edit.expand.group",
        fmt::format("rank {} is not in group {} of rank {}, and its own group for that is unknown; give it in a groups "
                    "file",
                    rank, quote(name), like_));
  }

  /// Groups at equal distances, continued over the job.
  std::optional<std::string> continued(const std::string& name, const Members& members, int64_t rank) {
    const auto size = static_cast<int64_t>(members.size());
    const int64_t stride = size > 1 ? members[1] - members[0] : 1;
    if (stride < 1 || stride > ranks_ / size || ranks_ % (size * stride) != 0) return std::nullopt;
    const auto first_of = [&](int64_t r) { return r / (size * stride) * (size * stride) + r % stride; };
    for (int64_t i = 0; i < size; ++i)
      if (members[static_cast<size_t>(i)] != first_of(like_) + i * stride) return std::nullopt;
    const int64_t first = first_of(rank);
    const std::string made = fmt::format("{}@{}", name, first);
    if (groups_.contains(made)) return made;
    if (known_.contains(made)) return std::nullopt;
    Members list(members.size());
    for (int64_t i = 0; i < size; ++i) list[static_cast<size_t>(i)] = first + i * stride;
    groups_.emplace(made, std::move(list));
    return made;
  }

  Result<Trace> make(const Trace& like, int64_t rank) {
    Trace t = like;
    t.rank = rank;
    t.says_rank = true;
    std::map<StringId, StringId> group_of;
    for (const NodeId n : t.nodes()) {
      if (!trace::is_comm(t.type[n]) || t.comm_row[n] == trace::kNoRow) continue;
      if (t.type[n] != NodeType::coll) {
        quieten(t, n);
        continue;
      }
      trace::Comm& comm = t.comms.edit(t.comm_row[n]);
      const std::string name(t.strings[comm.group]);
      const auto known = known_.find(name);
      if (known == known_.end()) {  // all ranks, or nobody knows
        even(t, n, like.rank);
        continue;
      }
      const auto [found, added] = group_of.try_emplace(comm.group, comm.group);
      if (added) {
        CHAKRA_ASSIGN(const std::string other, counterpart(name, known->second, rank));
        found->second = t.strings.intern(other);
      }
      if (found->second != comm.group && comm.root >= 0) {
        const auto place = std::find(known->second.begin(), known->second.end(), comm.root) - known->second.begin();
        const std::string other(t.strings[found->second]);
        const auto its = groups_.contains(other) ? groups_.find(other)->second : known_.find(other)->second;
        if (static_cast<size_t>(place) < its.size()) comm.root = its[static_cast<size_t>(place)];
      }
      comm.group = found->second;
      even(t, n, like.rank);
    }
    for (const auto& [from, to] : group_of)
      if (from != to) describe(like, like.strings[from], t, t.strings[to]);
    return t;
  }

  /// Describes a group of a copy like that of the copied rank, so that the traces need no table of groups.
  void describe(const Trace& like, std::string_view from, Trace& t, std::string_view name) const {
    const auto named = [&](std::string_view wanted) {
      return [wanted](const trace::ProcessGroup& group) { return group.name == wanted; };
    };
    if (std::any_of(t.groups.begin(), t.groups.end(), named(name))) return;
    const auto described = std::find_if(like.groups.begin(), like.groups.end(), named(from));
    trace::ProcessGroup group = described == like.groups.end() ? trace::ProcessGroup{} : *described;
    group.name = name;
    const auto made = groups_.find(name);
    group.ranks = made != groups_.end() ? made->second : known_.find(name)->second;
    group.size = std::ssize(group.ranks);
    t.groups.push_back(std::move(group));
  }

  /// A recorded rank among copies.
  void adapt(Trace& t) {
    const auto copied = [&](int64_t rank) { return rank >= 0 && rank < ranks_ && !recorded_.contains(rank); };
    for (const NodeId n : t.nodes()) {
      if (!trace::is_comm(t.type[n]) || t.comm_row[n] == trace::kNoRow) continue;
      const trace::Comm& comm = t.comms[t.comm_row[n]];
      if (t.type[n] != NodeType::coll) {
        if (copied(t.type[n] == NodeType::send ? comm.dst : comm.src)) quieten(t, n);
        continue;
      }
      const auto known = known_.find(t.strings[comm.group]);
      if (known == known_.end() || std::any_of(known->second.begin(), known->second.end(), copied)) even(t, n, t.rank);
    }
  }

  void quieten(Trace& t, NodeId n) {
    t.type.edit(n) = NodeType::comp;
    t.flags.edit(n) |= trace::kHasDuration;
    t.comm_row.edit(n) = trace::kNoRow;
    ++messages_;
  }
  /// `of`: the rank whose node it is, or was before it was copied.
  void even(Trace& t, NodeId n, int64_t of) {
    const uint32_t row = t.comm_row[n];
    if (!is_uneven(t.comms[row])) return;
    match::make_even(t.comms.edit(row), even_bytes_.at(of)[row]);
    ++splits_;
  }

  void say(Findings& findings, int64_t copies) const {
    findings.push_back({"edit.expand",
                        Severity::note,
                        -1,
                        -1,
                        fmt::format("{} of the {} ranks are copies of rank {}", copies, ranks_, like_),
                        {{"ranks", ranks_}, {"like", like_}, {"copies", copies}}});
    if (messages_ > 0)
      findings.push_back({"edit.expand.messages", Severity::warning, -1, -1,
                          fmt::format("{} messages of copied ranks, or with them, keep their recorded time and move no "
                                      "data, because the partner of a copy is unknown",
                                      show_count(messages_))});
    if (splits_ > 0)
      findings.push_back({"edit.expand.splits", Severity::warning, -1, -1,
                          fmt::format("{} all-to-alls of groups with copied ranks are treated as even, because the "
                                      "parts for copies are unknown",
                                      show_count(splits_))});
  }

  trace::TraceSet& job_;
  match::GroupTable& groups_;
  const int64_t ranks_;
  int64_t like_;
  std::set<int64_t> recorded_;
  std::map<std::string, Members, std::less<>> known_;
  std::map<int64_t, std::vector<uint64_t>> even_bytes_;  ///< by recorded rank and row of Trace::comms
  int64_t messages_ = 0, splits_ = 0;
};

}  // namespace

Result<trace::TraceSet> expand(trace::TraceSet job, match::GroupTable& groups, int64_t ranks, int64_t like,
                               Findings& findings) {
  CHAKRA_TRY(Expansion(job, groups, ranks, like).run(findings));
  return job;
}

}  // namespace chakra::edit
