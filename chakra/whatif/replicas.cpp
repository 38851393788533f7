// More or fewer data-parallel replicas.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/base/times.h"
#include "chakra/match/even.h"
#include "chakra/recorded/recorded.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/generated.h"
#include "chakra/whatif/layouts.h"
#include "chakra/whatif/rules.h"
#include "chakra/work/work.h"

namespace chakra::whatif {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr int64_t kMostReplicas = 1 << 16;

uint64_t of_members(uint64_t bytes, size_t members) {
  uint64_t all = 0;
  return __builtin_mul_overflow(bytes, members, &all) ? UINT64_MAX : all;
}

/// What a rank is in a job of replicas: the same number in each replica, and which replica.
struct Seat {
  size_t number = 0, replica = 0;
};

class Replicas {
 public:
  Replicas(sim::SimInput& input, int64_t wanted) : in_(input), wanted_(static_cast<size_t>(wanted)) {
    for (const Trace& t : in_.job.ranks) {
      index_of_.emplace(t.rank, ranks_.size());
      ranks_.push_back(t.rank);
    }
  }

  /// A group of all ranks, with a role that data parallelism without a name may have.
  bool may_be_data(const trace::GroupRoles& roles, const match::Group& group) const {
    const trace::Role role = roles.of(group.name);
    return (role == trace::Role::unknown || role == trace::Role::world) && group.ranks.size() == in_.job.ranks.size();
  }

  /// The data-parallel groups by their roles, else the one group of all ranks.
  Result<void> find(std::string_view pattern) {
    const match::Matching& matching = *in_.matching;
    const trace::GroupRoles roles(in_.job);
    for (uint32_t g = 0; g < matching.groups.size(); ++g) {
      const std::string& name = matching.groups[g].name;
      if (pattern.empty() ? roles.of(name) == trace::Role::dp : recorded::matches_pattern(pattern, name))
        groups_.push_back(g);
    }
    if (groups_.empty() && pattern.empty() && matching.groups.size() == 1 &&
        may_be_data(roles, matching.groups.front()))
      groups_.push_back(0);
    if (groups_.empty())
      return fail(
          Code::bad_input, "whatif.dp.groups",
          pattern.empty()
              ? "no group is data parallel by name or description; name the data-parallel groups with --dp N:PATTERN"
              : fmt::format("no group of the job matches {}", quote(pattern)));
    return seat();
  }

  Result<Reached> run() {
    CHAKRA_TRY(check_groups());
    CHAKRA_TRY(check_transfers());
    CHAKRA_TRY(place());
    for (const match::Collective& c : in_.matching->collectives) even_bytes_.push_back(match::even_bytes(in_.job, c));
    Reached reached;
    match::GroupTable table = new_groups();
    std::vector<Rank> ranks;
    for (size_t p = wanted_; p-- > 0;)  // copies first: those that they copy are changed and moved
      for (size_t g = 0; g < groups_.size(); ++g) {
        CHAKRA_ASSIGN(Rank rank, make({g, p}, reached));
        ranks.push_back(std::move(rank));
      }
    std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) { return a.trace.rank < b.trace.rank; });
    in_.job.ranks.clear();
    in_.system.unlike.clear();
    if (in_.transfers) in_.transfers->rows.clear();
    for (Rank& rank : ranks) {
      if (rank.traits) in_.system.unlike[rank.trace.rank] = *rank.traits;
      if (in_.transfers) in_.transfers->rows.push_back(std::move(rank.transfers));
      in_.job.ranks.push_back(std::move(rank.trace));
    }
    in_.groups = std::move(table);
    in_.matching.reset();
    const int64_t most = in_.job.ranks.back().rank + 1;
    if (in_.transfers && in_.fabric.size() < most)  // which is only asked for its size
      in_.fabric = {{{net::TopologyKind::switch_, most, 1, 0}}};
    return reached;
  }

 private:
  struct Rank {
    Trace trace;
    std::vector<sim::Transfers::Row> transfers;
    std::optional<device::RankTraits> traits;
  };

  /// A copy refers to texts of the trace that it copies, which stays in the job.
  Result<Rank> make(Seat at, Reached& reached) {
    const size_t like = index_of_[in_.matching->groups[groups_[at.number]].ranks[at.replica % old_]];
    Rank rank;
    if (in_.transfers) rank.transfers = scaled_rows(like);
    const auto traits = in_.system.unlike.find(ranks_[like]);
    if (traits != in_.system.unlike.end()) rank.traits = traits->second;
    rank.trace = at.replica < old_ ? std::move(in_.job.ranks[like]) : in_.job.ranks[like];
    rank.trace.rank = rank_at(at);
    CHAKRA_TRY(settle(rank.trace, like, at, reached));
    return rank;
  }

  Result<void> seat() {
    old_ = in_.matching->groups[groups_.front()].ranks.size();
    for (size_t g = 0; g < groups_.size(); ++g) {
      const match::Group& group = in_.matching->groups[groups_[g]];
      if (group.ranks.size() != old_)
        return wrong(fmt::format("groups {} and {} have different sizes",
                                 quote(in_.matching->groups[groups_.front()].name), quote(group.name)));
      for (size_t p = 0; p < group.ranks.size(); ++p)
        if (!seats_.emplace(group.ranks[p], Seat{g, p}).second)
          return wrong(fmt::format("rank {} is in two of them", group.ranks[p]));
    }
    for (const Trace& t : in_.job.ranks)
      if (!seats_.contains(t.rank)) return wrong(fmt::format("rank {} is not in any of them", t.rank));
    if (seats_.size() != in_.job.ranks.size()) return wrong("some of their ranks have no trace");
    return {};
  }
  static Failure wrong(const std::string& why) {
    return fail(Code::bad_input, "whatif.dp.groups",
                fmt::format("the data-parallel groups do not divide the ranks into replicas: {}; --dp N:PATTERN names "
                            "others",
                            why));
  }

  bool is_data(const std::string& name) const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [&](uint32_t g) { return in_.matching->groups[g].name == name; });
  }
  /// The ranks of a group are a number of ranks apart, the same in all groups: then so are those of the new ones, and
  /// all ranks lie as if the job had been started with that many replicas. Else new replicas are numbered after the
  /// ranks that there are, which has no effect where transfers take their recorded time.
  Result<void> place() {
    const std::vector<int64_t>& first = in_.matching->groups[groups_.front()].ranks;
    apart_ = old_ > 1 ? first[1] - first[0] : static_cast<int64_t>(groups_.size());
    const auto apart = static_cast<size_t>(std::max<int64_t>(apart_, 1));
    bool even = ranks_.front() == 0 && ranks_.back() + 1 == std::ssize(ranks_) && groups_.size() % apart == 0;
    for (const auto& [rank, seat] : seats_) {
      const int64_t base = in_.matching->groups[groups_[seat.number]].ranks.front();
      even = even && rank == base + static_cast<int64_t>(seat.replica) * apart_ &&
             base / apart_ % static_cast<int64_t>(old_) == 0;
    }
    if (!even) apart_ = 0;
    if (even || in_.transfers) return {};
    return fail(Code::bad_input, "whatif.dp.place",
                "the ranks of the data-parallel groups are not evenly spaced, so the placement of more or fewer "
                "replicas on the network is unknown; only recorded transfers do not depend on the placement");
  }
  int64_t rank_at(Seat at) const {
    const std::vector<int64_t>& group = in_.matching->groups[groups_[at.number]].ranks;
    const auto replica = static_cast<int64_t>(at.replica);
    if (apart_ > 0) {
      const int64_t block = apart_ * static_cast<int64_t>(old_), base = group.front();
      return base % apart_ + apart_ * (replica + static_cast<int64_t>(wanted_) * (base / block));
    }
    if (at.replica < old_) return group[at.replica];
    return ranks_.back() + 1 + static_cast<int64_t>((at.replica - old_) * groups_.size() + at.number);
  }

  /// Every other group lies in one replica, or has all ranks.
  Result<void> check_groups() const {
    for (const match::Group& group : in_.matching->groups) {
      if (is_data(group.name) || group.ranks.size() == ranks_.size() || group.ranks.empty()) continue;
      const size_t replica = seats_.at(group.ranks.front()).replica;
      for (const int64_t rank : group.ranks)
        if (seats_.at(rank).replica != replica)
          return fail(
              Code::bad_input, "whatif.dp.span",
              fmt::format("group {} has ranks of several replicas, so its members with more replicas are unknown",
                          quote(group.name)));
    }
    return {};
  }
  Result<void> check_transfers() const {
    if (in_.transfers && old_ == 1 && wanted_ > 1)
      return fail(Code::bad_input, "whatif.dp.alone",
                  "the job has one replica, so the recording has no transfer between replicas; price the transfers "
                  "with --network FILE");
    return {};
  }

  match::GroupTable new_groups() const {
    match::GroupTable table;
    for (const match::Group& group : in_.matching->groups) {
      if (group.ranks.empty()) continue;
      if (is_data(group.name) || group.ranks.size() == ranks_.size()) {
        std::vector<int64_t>& members = table[group.name];
        for (size_t p = 0; p < wanted_; ++p)
          for (size_t g = 0; g < groups_.size(); ++g)
            if (!is_data(group.name) || in_.matching->groups[groups_[g]].name == group.name)
              members.push_back(rank_at({g, p}));
        continue;
      }
      const size_t replica = seats_.at(group.ranks.front()).replica;
      for (size_t p = replica; p < wanted_; p += old_)
        for (const int64_t rank : group.ranks)
          table[name_in(group.name, p)].push_back(rank_at({seats_.at(rank).number, p}));
    }
    return table;
  }
  std::string name_in(const std::string& name, size_t replica) const {
    return replica < old_ ? name : fmt::format("{}@{}", name, replica);
  }

  Result<int64_t> moved(int64_t rank, Seat at) const {
    if (rank < 0) return rank;
    const auto seat = seats_.find(rank);
    if (seat == seats_.end() || seat->second.replica != at.replica % old_)
      return fail(Code::bad_input, "whatif.dp.span",
                  fmt::format("a message or root leads to rank {} of another replica", rank));
    return rank_at({seat->second.number, at.replica});
  }

  /// The root of a group with ranks of all replicas: in a replica that is left.
  int64_t root_with(int64_t root) const {
    const auto seat = seats_.find(root);
    return seat == seats_.end() ? root : rank_at({seat->second.number, seat->second.replica % wanted_});
  }

  /// The trace of a rank becomes that of one at another seat.
  Result<void> settle(Trace& t, size_t like, Seat at, Reached& reached) const {
    trace::forget_members(t);  // the table has them
    for (const NodeId n : t.nodes()) {
      if (!trace::is_comm(t.type[n])) continue;
      trace::Comm& comm = t.comms.edit(t.comm_row[n]);
      if (t.type[n] != NodeType::coll) {
        CHAKRA_ASSIGN(comm.src, moved(comm.src, at));
        CHAKRA_ASSIGN(comm.dst, moved(comm.dst, at));
        continue;
      }
      const uint32_t id = in_.matching->of_comm[like][t.comm_row[n]];
      if (id == trace::kNoRow) continue;
      const match::Group& group = in_.matching->groups[in_.matching->collectives[id].group];
      if (is_data(group.name)) {
        ++reached.nodes;
        if (at.replica < old_ && in_.transfers)
          reached.time_ps = add_saturated(reached.time_ps, in_.transfers->rows[like][t.comm_row[n]].transfer_ps);
        resize(t, comm, id, old_, wanted_, true);
      } else if (group.ranks.size() == ranks_.size()) {
        resize(t, comm, id, ranks_.size(), wanted_ * groups_.size(), false);
      } else {
        comm.group = t.strings.intern(name_in(group.name, at.replica));
        CHAKRA_ASSIGN(comm.root, moved(comm.root, at));
      }
    }
    return {};
  }

  /// The sizes and the root of a collective whose group gets other members. A part of sharded data has whole elements.
  void resize(const Trace& t, trace::Comm& comm, uint32_t id, size_t before, size_t now, bool shards) const {
    if (before == now) return;
    if (comm.root >= 0) comm.root = root_with(in_.matching->collectives[id].root);
    const auto element = static_cast<uint64_t>(std::max(work::element_bytes(t.strings[comm.dtype]), 1));
    const auto part_of = [&](uint64_t all) {
      const uint64_t whole = all % element == 0 ? element : 1, parts = whole * now;
      return all / parts * whole + (all % parts != 0 ? whole : 0);
    };
    const bool has_sides = comm.in_bytes > 0 && comm.out_bytes > 0;
    if (comm.type == CommType::all_to_all) {
      match::make_even(comm, even_bytes_[id]);
    } else if (comm.type == CommType::all_gather) {
      if (shards) comm.bytes = part_of(has_sides ? comm.out_bytes : of_members(comm.bytes, before));
      if (has_sides) comm.in_bytes = comm.bytes, comm.out_bytes = of_members(comm.bytes, now);
    } else if (comm.type == CommType::reduce_scatter && has_sides) {
      comm.out_bytes = part_of(comm.in_bytes);
      comm.bytes = comm.in_bytes = of_members(comm.out_bytes, now);
    }
  }

  /// The same rate of the links: time in proportion to what a ring sends.
  std::vector<sim::Transfers::Row> scaled_rows(size_t like) const {
    std::vector<sim::Transfers::Row> rows = in_.transfers->rows[like];
    const Trace& t = in_.job.ranks[like];
    for (NodeId n{0}; n < t.size() && old_ > 1; ++n) {
      if (t.type[n] != NodeType::coll) continue;
      const uint32_t row = t.comm_row[n], id = in_.matching->of_comm[like][row];
      if (id == trace::kNoRow || !rows[row].known()) continue;
      const match::Collective& c = in_.matching->collectives[id];
      if (!is_data(in_.matching->groups[c.group].name)) continue;
      rows[row].scale(trace::bus_factor(c.type, static_cast<uint32_t>(wanted_)) /
                      trace::bus_factor(c.type, static_cast<uint32_t>(old_)));
    }
    return rows;
  }

  sim::SimInput& in_;
  size_t wanted_, old_ = 1;
  std::vector<uint32_t> groups_;  ///< data-parallel ones, into the matching's
  int64_t apart_ = 0;             ///< ranks of a group; 0: not the same everywhere
  std::map<int64_t, Seat> seats_;
  std::vector<int64_t> ranks_;          ///< of the job as it was
  std::map<int64_t, size_t> index_of_;  ///< into it
  std::vector<uint64_t> even_bytes_;    ///< by collective of the matching, if it is an even all-to-all
};

}  // namespace

Result<WantedReplicas> parse_replicas(std::string_view value) {
  const size_t colon = value.find(':');
  int64_t wanted = 0;
  if (!parse_decimal(value.substr(0, colon), wanted) || wanted < 1 || wanted > kMostReplicas)
    return fail(Code::usage, "whatif.rule.form",
                fmt::format("{} does not have the form N or N:PATTERN, with a whole number N from 1 to {}",
                            quote(value), kMostReplicas));
  return WantedReplicas{wanted, colon == std::string_view::npos ? std::string_view() : value.substr(colon + 1)};
}

// `whatif.dp.groups` (1): groups that do not divide the ranks of the job into data-parallel replicas
// `whatif.dp.span` (1): a group or message that joins several replicas beside the data-parallel groups
// `whatif.dp.place` (1): data-parallel groups with an unknown placement of more or fewer replicas on a network
// `whatif.dp.alone` (1): several replicas of a job with one replica, so their communication is unknown
Result<Reached> change_dp(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const WantedReplicas wanted, parse_replicas(value));
  if (auto made = generate_with("dp", value, input)) return *std::move(made);
  if (wanted.pattern.empty()) CHAKRA_TRY(check_other_rule("dp", value, input));
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  CHAKRA_ASSIGN(const std::optional<gen::Layout> layout, common_layout(input.job));
  if (layout && !input.transfers) {
    if (wanted.pattern.empty()) return change_layout(*layout, wanted.number, input);
    return fail(Code::bad_input, "whatif.dp.groups",
                fmt::format("the metadata of the generated job already name the data-parallel groups; leave {} out",
                            quote(wanted.pattern)));
  }
  Replicas replicas(input, wanted.number);
  CHAKRA_TRY(replicas.find(wanted.pattern));
  return replicas.run();
}

}  // namespace chakra::whatif
