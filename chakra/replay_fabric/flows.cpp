#include "chakra/replay_fabric/flows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

namespace chakra::replay_fabric {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr uint32_t kNoOperation = UINT32_MAX;

/// Operations that a node waits for, and the computation between their end and its start.
using Before = std::vector<std::pair<uint32_t, Picoseconds>>;

void join_before(Before& into, const Before& other, Picoseconds later) {
  for (const auto& [operation, delay] : other) {
    const auto at = std::lower_bound(into.begin(), into.end(), operation,
                                     [](const auto& a, uint32_t number) { return a.first < number; });
    const Picoseconds time = add_saturated(delay, later);
    if (at != into.end() && at->first == operation) at->second = std::max(at->second, time);
    else into.insert(at, {operation, time});
  }
}

class Scheduler {
 public:
  Scheduler(const std::vector<replay::RankPlan>& plans, const match::Matching& matching,
            const coll::Selection& selection, const net::Fabric& fabric, double scale,
            const std::vector<std::vector<bool>>& selected)
      : plans_(plans), matching_(matching), rules_(selection), fabric_(fabric), scale_(scale), selected_(selected) {}

  Result<FlowSchedule> run() {
    CHAKRA_TRY(number_operations());
    starts_.resize(plans_.size());
    for (const auto r : ids<trace::RankIndex>(plans_.size())) find_starts(r);
    for (const Source& source : sources_) CHAKRA_TRY(add_flows(source));
    return std::move(out_);
  }

 private:
  /// Where an operation comes from.
  struct Source {
    const match::Collective* collective = nullptr;  ///< else a message
    const match::Message* message = nullptr;
  };

  bool runs(const match::NodeRef& ref) const {
    return selected_.empty() || selected_[ref.rank].empty() || selected_[ref.rank][ref.node];
  }
  const replay::Operation& operation(const match::NodeRef& ref) const {
    return plans_[ref.rank].step(ref.node).operation;
  }

  /// All that run; a table from nodes to them.
  Result<void> number_operations() {
    number_.resize(plans_.size());
    for (size_t r = 0; r < plans_.size(); ++r) number_[r].assign(plans_[r].trace->comms.size(), kNoOperation);
    const auto add = [&](std::span<const match::NodeRef> members, Source source, auto what) -> Result<void> {
      if (std::none_of(members.begin(), members.end(),
                       [&](const auto& ref) { return ref.node != trace::kNoNode && runs(ref); }))
        return {};
      for (const match::NodeRef& ref : members) {
        if (ref.node == trace::kNoNode || !runs(ref))
          return fail(Code::bad_input, "replay.flows.missing", fmt::format("{} lacks one of its members", what()));
        number_[ref.rank][plans_[ref.rank].trace->comm_row[ref.node]] = static_cast<uint32_t>(sources_.size());
      }
      sources_.push_back(source);
      return {};
    };
    for (const match::Collective& c : matching_.collectives) {
      if (c.members.size() < 2) continue;  // nothing moves, so that it is as computation without duration
      CHAKRA_TRY(add(c.members, {&c, nullptr}, [&] {
        return fmt::format("{} number {} of group {}", trace::name(c.type), c.index,
                           quote(matching_.groups[c.group].name));
      }));
    }
    for (const match::Message& m : matching_.messages)
      CHAKRA_TRY(add(std::array{m.send, m.recv}, {nullptr, &m}, [] { return std::string("a message"); }));
    return {};
  }

  Picoseconds time_of(trace::RankIndex r, NodeId n) const {
    const Trace& t = *plans_[r].trace;
    if (trace::is_comm(t.type[n]) || !runs({r, n})) return 0;
    return picoseconds(scale_ * static_cast<double>(std::max<Picoseconds>(0, t.dur_ps[n])) / kPsPerSecond);
  }

  /// Per communication node of a rank: what it waits for.
  void find_starts(trace::RankIndex r) {
    const Trace& t = *plans_[r].trace;
    starts_[r].resize(t.comms.size());
    std::vector<uint32_t> waiting(t.size(), 0);  // who still needs a node's list
    for (const NodeId on : t.deps.node) ++waiting[on];
    std::vector<Before> ends(t.size());
    for (const NodeId n : trace::topological_order(t.deps).order) {
      Before before;
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
        const NodeId on = t.deps.node[e];
        join_before(before, ends[on], t.deps.lag_of(e));
        if (--waiting[on] == 0) Before().swap(ends[on]);
      }
      const bool is_operation = trace::is_comm(t.type[n]) && number_[r][t.comm_row[n]] != kNoOperation;
      if (is_operation) {
        starts_[r][t.comm_row[n]] = before;
        // A rank that sends in it has waited for all before; one that only receives may not have.
        if (always_sends(r, n)) before.clear();
        join_before(before, {{number_[r][t.comm_row[n]], 0}}, 0);
        ends[n] = std::move(before);
      } else {
        const Picoseconds takes = time_of(r, n);
        for (auto& [operation, delay] : before) delay = add_saturated(delay, takes);
        ends[n] = std::move(before);
      }
    }
  }

  bool always_sends(trace::RankIndex r, NodeId n) const {
    const replay::Operation& op = plans_[r].step(n).operation;
    return op.kind == replay::Operation::Kind::send ||
           (op.kind == replay::Operation::Kind::collective && !trace::has_root(op.type) && op.in_split.empty());
  }
  const Before& start(const match::NodeRef& ref) const {
    return starts_[ref.rank][plans_[ref.rank].trace->comm_row[ref.node]];
  }

  Result<void> add_flows(const Source& source) {
    const auto number = static_cast<uint32_t>(out_.operations.size());
    const auto first = static_cast<uint32_t>(out_.flows.size());
    if (source.message) {
      const match::NodeRef send = source.message->send;
      const replay::Operation& op = operation(send);
      out_.operations.push_back({op.type, "", op.index, true, "", first});
      out_.flows.push_back({number, 0, plans_[send.rank].trace->rank, op.partner, op.in_bytes, {}, start(send)});
      return {};
    }
    const match::Collective& c = *source.collective;
    const replay::Operation& op = operation(c.members[0]);
    out_.operations.push_back({op.type, std::string(op.group), op.index, false, "", first});
    std::vector<uint64_t> splits;
    for (const match::NodeRef& ref : c.members) {
      const auto mine = operation(ref).in_split;
      splits.insert(splits.end(), mine.begin(), mine.end());
    }
    if (splits.size() != op.members.size() * op.members.size()) splits.clear();
    const coll::Place place{&fabric_, op.members};
    const coll::Operation wanted{op.type, c.bytes, op.root, splits};
    if (!splits.empty()) return add_chosen(number, c, op, coll::choose(rules_, wanted, place));
    const auto [chosen, is_new] = choices_.try_emplace({c.group, op.type, c.bytes, op.root});
    if (is_new) chosen->second = coll::choose(rules_, wanted, place);
    return add_chosen(number, c, op, chosen->second);
  }

  Result<void> add_chosen(uint32_t number, const match::Collective& c, const replay::Operation& op,
                          const coll::Choice& choice) {
    if (!choice.algorithm)
      return fail(Code::bad_input, "replay.flows.missing",
                  fmt::format("no algorithm supports {}; see 'chakra list collectives'", replay::describe(op)));
    out_.operations.back().algorithm = choice.algorithm->name;
    return add_plan(number, c, choice);
  }

  Result<void> add_plan(uint32_t number, const match::Collective& c, const coll::Choice& choice) {
    const coll::Plan& plan = choice.plan;
    const auto member = [&](uint32_t p) { return choice.order.empty() ? p : choice.order[p]; };
    // Per lane and member: the flows of its last round there.
    std::vector<std::vector<std::vector<uint32_t>>> last(plan.lanes, std::vector<std::vector<uint32_t>>(plan.members));
    std::vector<bool> begun(plan.members, false);
    std::vector<std::vector<uint32_t>> in_round(plan.behind.size());  // flows
    for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
      const coll::Round& round = plan.rounds[k];
      std::map<uint32_t, std::vector<uint32_t>> now;  // member of the plan -> its flows of this round
      std::vector<uint32_t> senders;
      bool too_many = false;
      coll::each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
        if ((too_many |= out_.flows.size() >= kMostFlows)) return;
        const auto id = static_cast<uint32_t>(out_.flows.size());
        const match::NodeRef ref = c.members[member(from)];
        Flow flow{number,
                  k,
                  plans_[ref.rank].trace->rank,
                  plans_[c.members[member(to)].rank].trace->rank,
                  bytes,
                  last[round.lane][from],
                  {}};
        if (round.after >= 0) {
          const auto& other = last[plan.rounds[static_cast<size_t>(round.after)].lane][from];
          flow.after_flows.insert(flow.after_flows.end(), other.begin(), other.end());
        }
        for (const int32_t wait : plan.waits(k))
          for (const uint32_t of : in_round[static_cast<size_t>(wait)])
            if (out_.flows[of].source == flow.source || out_.flows[of].destination == flow.source)
              flow.after_flows.push_back(of);
        std::sort(flow.after_flows.begin(), flow.after_flows.end());
        if (!begun[from]) flow.after_operations = start(ref);
        senders.push_back(from);
        now[from].push_back(id);
        now[to].push_back(id);
        if (!in_round.empty()) in_round[k].push_back(id);
        out_.flows.push_back(std::move(flow));
      });
      if (too_many)
        return fail(Code::bad_input, "replay.flows.large",
                    fmt::format("the job has more than {} flows; leave some out (--steps, --allow-ops)",
                                show_count(kMostFlows)));
      for (auto& [of, flows] : now) last[round.lane][of] = std::move(flows);
      for (const uint32_t from : senders) begun[from] = true;
    }
    return {};
  }

  const std::vector<replay::RankPlan>& plans_;
  const match::Matching& matching_;
  const coll::Selection& rules_;
  const net::Fabric& fabric_;
  double scale_;
  const std::vector<std::vector<bool>>& selected_;
  FlowSchedule out_;
  std::vector<Source> sources_;                ///< by number of the operation
  std::vector<std::vector<uint32_t>> number_;  ///< per rank and row of Trace::comms
  std::map<std::tuple<uint32_t, CommType, uint64_t, uint32_t>, coll::Choice> choices_;  ///< of what repeats
  std::vector<std::vector<Before>> starts_;                                             ///< likewise
};

}  // namespace

Result<FlowSchedule> flows_of(const std::vector<replay::RankPlan>& plans, const match::Matching& matching,
                              const coll::Selection& selection, const net::Fabric& fabric, double scale_compute,
                              const std::vector<std::vector<bool>>& selected) {
  CHAKRA_ASSERT(matching.of_comm.size() == plans.size() && (selected.empty() || selected.size() == plans.size()));
  return Scheduler(plans, matching, selection, fabric, scale_compute, selected).run();
}

result::Table table_of(const FlowSchedule& schedule) {
  using Kind = result::Table::Kind;
  result::Table t{"",
                  {{"flow", Kind::id, "flow", "its number"},
                   {"operation", Kind::id, "operation", "the operation of the flow"},
                   {"type", Kind::text, "type", "the type of the operation, or MESSAGE"},
                   {"group", Kind::text, "group", "the process group; empty for messages"},
                   {"index", Kind::id, "index", "position of the operation in its group"},
                   {"algorithm", Kind::text, "algorithm", "the algorithm of the operation"},
                   {"round", Kind::id, "round", "the round of that"},
                   {"source", Kind::id, "source", "the rank that sends"},
                   {"destination", Kind::id, "destination", "the rank that receives"},
                   {"bytes", Kind::bytes, "bytes", "what it carries"},
                   {"after flows", Kind::text, "after_flows", "flows of the operation that it depends on"},
                   {"after operations", Kind::text, "after_operations",
                    "operations that it depends on, each with the computation in between: 3+500ns"}},
                  {}};
  for (size_t f = 0; f < schedule.flows.size(); ++f) {
    const Flow& flow = schedule.flows[f];
    const FlowOperation& of = schedule.operations[flow.operation];
    std::string flows, operations;
    for (const uint32_t id : flow.after_flows) flows += fmt::format("{}{}", flows.empty() ? "" : " ", id);
    for (const auto& [id, delay] : flow.after_operations)
      operations += fmt::format("{}{}+{}ns", operations.empty() ? "" : " ", id, exact_ns(delay));
    t.rows.push_back({static_cast<int64_t>(f), int64_t{flow.operation},
                      of.is_message ? "MESSAGE" : std::string(trace::name(of.type)), of.group,
                      static_cast<int64_t>(of.index), of.algorithm, int64_t{flow.round}, flow.source, flow.destination,
                      static_cast<int64_t>(std::min<uint64_t>(flow.bytes, INT64_MAX)), flows, operations});
  }
  return t;
}

}  // namespace chakra::replay_fabric
