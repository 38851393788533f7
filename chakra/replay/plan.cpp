#include "chakra/replay/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace chakra::replay {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

uint64_t times_bytes(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? UINT64_MAX : product;
}
uint64_t part_of_bytes(uint64_t bytes, uint64_t members) { return bytes / members + (bytes % members != 0); }

class Planner {
 public:
  Planner(const trace::TraceSet& job, const match::Matching& matching, uint32_t rank, const std::vector<bool>& selected)
      : t_(job.ranks[rank]),
        rank_(rank),
        matching_(matching),
        selected_(selected),
        ranks_(static_cast<int64_t>(job.ranks.size())) {}

  Result<RankPlan> run() {
    plan_.trace = &t_;
    plan_.ranks = ranks_;
    plan_.groups = matching_.groups;
    plan_.steps.resize(t_.comms.size());
    plan_.turns.resize(t_.comms.size());
    for (const NodeId n : t_.nodes()) {
      if (!trace::is_comm(t_.type[n])) continue;
      const bool is_coll = t_.type[n] == NodeType::coll;
      const Result<void> planned = is_coll ? collective(n) : message(n);
      if (selected_.empty() || selected_[n]) CHAKRA_TRY(planned);
    }
    number_messages();
    for (RankPlan::Step& step : plan_.steps)
      if (step.operation.kind == Operation::Kind::collective && !step.operation.members.empty())
        step.per_repetition = in_group_[group_of_[step.operation.group]];
    return std::move(plan_);
  }

 private:
  Failure refuse(NodeId n, const char* tag, std::string_view why) const {
    return fail(
        Code::bad_input, tag,
        fmt::format("node {} ({}) of rank {} cannot be replayed: {}", t_.id[n], quote(t_.name_of(n)), t_.rank, why),
        {t_.file});
  }

  Operation& begin(NodeId n) {
    Operation& op = plan_.steps[t_.comm_row[n]].operation;
    const Comm& comm = *t_.comm(n);
    op.dtype = t_.strings[comm.dtype];
    op.node = t_.id[n];
    op.name = t_.name_of(n);
    op.recorded_ps = t_.flags[n] & trace::kHasDuration || t_.dur_ps[n] > 0 ? t_.dur_ps[n] : -1;
    return op;
  }

  Result<void> collective(NodeId n) {
    const uint32_t id = matching_.of_comm[rank_][t_.comm_row[n]];
    if (id == trace::kNoRow)
      return refuse(n, "replay.comm.group", "this rank is not in its group; name the members in a groups file");
    const match::Collective& c = matching_.collectives[id];
    const match::Group& group = plan_.groups[c.group];
    if (!group.known)
      return refuse(
          n, "replay.comm.group",
          fmt::format("the members of group {} are unknown; name them in a groups file (--groups)", quote(group.name)));
    if (c.type == CommType::unknown)
      return refuse(n, "replay.comm.type", "the type of the node is unknown; set the attribute comm_type");
    CHAKRA_TRY(check_members(n, group));
    Operation& op = begin(n);
    op.kind = Operation::Kind::collective;
    op.type = t_.comm(n)->type == CommType::unknown ? c.type : t_.comm(n)->type;
    op.group = group.name;
    op.members = group.ranks;
    const auto own = std::find(group.ranks.begin(), group.ranks.end(), t_.rank);
    op.place = static_cast<uint32_t>(own - group.ranks.begin());
    const auto root = std::find(group.ranks.begin(), group.ranks.end(), c.root);
    if (trace::has_root(op.type) && root != group.ranks.end())
      op.root = static_cast<uint32_t>(root - group.ranks.begin());
    op.index = c.index;
    size(n, c, op);
    if (op.type == CommType::all_to_all) CHAKRA_TRY(split(n, op));
    plan_.turns[t_.comm_row[n]] = {c.group, c.index};
    group_of_[op.group] = c.group;
    uint64_t& count = in_group_[c.group];
    count = std::max<uint64_t>(count, c.index + uint64_t{1});
    return {};
  }

  Result<void> check_members(NodeId n, const match::Group& group) const {
    for (const int64_t rank : group.ranks)
      if (rank < 0 || rank >= ranks_)
        return refuse(n, "replay.comm.group",
                      fmt::format("rank {} of group {} is not one of the {} ranks", rank, quote(group.name), ranks_));
    return {};
  }

  void size(NodeId n, const match::Collective& c, Operation& op) const {
    const Comm& comm = *t_.comm(n);
    const auto members = static_cast<uint64_t>(op.members.size());
    uint64_t bytes = op.type == CommType::all_to_all ? comm.bytes : c.bytes;
    if (bytes == 0 && op.type == CommType::scatter) bytes = times_bytes(comm.out_bytes, members);
    const Sizes sizes = sizes_of(op.type, bytes, members, op.place == op.root);
    op.in_bytes = sizes.in;
    op.out_bytes = op.type == CommType::all_to_all && comm.out_bytes > 0 ? comm.out_bytes : sizes.out;
  }

  /// Parts in elements become parts in bytes. Where only one direction has a list, the other is even.
  Result<void> split(NodeId n, Operation& op) {
    const Comm& comm = *t_.comm(n);
    if (comm.in_split.empty() && comm.out_split.empty()) return {};
    CHAKRA_ASSIGN(op.in_split, parts(n, comm.in_split, op.in_bytes, op.members.size()));
    const auto sum = [](std::span<const uint64_t> of) { return std::accumulate(of.begin(), of.end(), uint64_t{0}); };
    uint64_t out_bytes = comm.out_bytes;
    if (std::vector<uint64_t> in, out; out_bytes == 0 && trace::parse_split(comm.in_split, in) &&
                                       trace::parse_split(comm.out_split, out) && sum(in) > 0)
      out_bytes = op.in_bytes / sum(in) * sum(out);  // of elements of the same size
    else if (out_bytes == 0) out_bytes = op.in_bytes;
    CHAKRA_ASSIGN(op.out_split, parts(n, comm.out_split, out_bytes, op.members.size()));
    op.in_bytes = sum(op.in_split);
    op.out_bytes = sum(op.out_split);
    return {};
  }

  Result<std::span<const uint64_t>> parts(NodeId n, std::string_view text, uint64_t bytes, size_t members) {
    auto& list = *plan_.splits.emplace_back(std::make_unique<std::vector<uint64_t>>());
    if (text.empty()) {
      list.assign(members, bytes / members);
      return std::span<const uint64_t>(list);
    }
    if (!trace::parse_split(text, list) || list.size() != members)
      return refuse(n, "replay.comm.split",
                    fmt::format("its list of parts {} is not a list of {} sizes", quote(text), members));
    const uint64_t elements = std::accumulate(list.begin(), list.end(), uint64_t{0});
    if (elements == 0) return std::span<const uint64_t>(list);
    if (bytes % elements != 0)
      return refuse(n, "replay.comm.split",
                    fmt::format("its parts have {} elements, which does not match {} bytes", elements, bytes));
    for (uint64_t& part : list) part *= bytes / elements;
    return std::span<const uint64_t>(list);
  }

  Result<void> message(NodeId n) {
    const Comm& comm = *t_.comm(n);
    const bool sends = t_.type[n] == NodeType::send;
    Operation& op = begin(n);
    op.kind = sends ? Operation::Kind::send : Operation::Kind::receive;
    op.partner = sends ? comm.dst : comm.src;
    op.tag = comm.tag;
    (sends ? op.in_bytes : op.out_bytes) = comm.bytes;
    if (op.partner < 0 || op.partner >= ranks_)
      return refuse(n, "replay.comm.partner",
                    op.partner < 0 ? std::string("the partner rank is missing")
                                   : fmt::format("rank {} is not one of the {} ranks", op.partner, ranks_));
    if (op.partner == t_.rank) return refuse(n, "replay.comm.partner", "it is a message of the rank to itself");
    return {};
  }

  /// In the order in which match() pairs them.
  void number_messages() {
    using Channel = std::tuple<Operation::Kind, int64_t, int64_t>;  // what this rank does, with whom, tag
    std::map<Channel, uint64_t> next;
    const auto channel = [](const Operation& op) { return Channel{op.kind, op.partner, op.tag}; };
    std::vector<RankPlan::Step*> found;
    for (const NodeId n : trace::topological_order(t_.deps).order)
      if (t_.type[n] == NodeType::send || t_.type[n] == NodeType::recv) {
        found.push_back(&plan_.steps[t_.comm_row[n]]);
        found.back()->operation.index = next[channel(found.back()->operation)]++;
      }
    for (RankPlan::Step* step : found) step->per_repetition = next[channel(step->operation)];
  }

  const Trace& t_;
  uint32_t rank_;
  const match::Matching& matching_;
  const std::vector<bool>& selected_;
  int64_t ranks_;
  RankPlan plan_;
  std::map<std::string_view, uint32_t> group_of_;
  std::map<uint32_t, uint64_t> in_group_;  ///< collectives
};

}  // namespace

Sizes sizes_of(CommType type, uint64_t bytes, uint64_t members, bool is_root) {
  switch (type) {
    case CommType::all_gather: return {bytes, times_bytes(bytes, members)};
    case CommType::gather: return {bytes, is_root ? times_bytes(bytes, members) : 0};
    case CommType::scatter: return {is_root ? bytes : 0, part_of_bytes(bytes, members)};
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block: return {bytes, part_of_bytes(bytes, members)};
    case CommType::reduce: return {bytes, is_root ? bytes : 0};
    case CommType::broadcast: return is_root ? Sizes{bytes, 0} : Sizes{0, bytes};
    case CommType::barrier: return {};
    default: return {bytes, bytes};
  }
}

trace::TraceSet alone(Trace trace, int64_t ranks) {
  trace::TraceSet job;
  const int64_t own = trace.rank;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (rank == own) {
      job.ranks.push_back(std::move(trace));  // NOLINT(bugprone-use-after-move): one rank is its own
      continue;
    }
    trace::Builder nothing;
    nothing.trace.rank = rank;
    job.ranks.push_back(std::move(nothing).finish());
  }
  return job;
}

Result<RankPlan> plan_rank(const trace::TraceSet& job, const match::Matching& matching, uint32_t rank,
                           const std::vector<bool>& selected) {
  CHAKRA_ASSERT(rank < job.ranks.size());
  for (size_t r = 0; r < job.ranks.size(); ++r)
    if (job.ranks[r].rank != static_cast<int64_t>(r))
      return fail(Code::bad_input, "replay.job.ranks",
                  fmt::format("the job has no trace of rank {}: a run needs all ranks, from 0", r));
  CHAKRA_TRY(feed::check_defects(job.ranks[rank]));
  return Planner(job, matching, rank, selected).run();
}

}  // namespace chakra::replay
