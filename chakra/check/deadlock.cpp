// A circle in the ranks' graphs as one (job_graph.h) is a deadlock; without one, none can happen.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "chakra/check/job_graph.h"
#include "chakra/check/proof.h"
#include "chakra/check/rows.h"

namespace chakra::check {
namespace {

using match::NodeRef;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kStepsNamed = 8;

Finding cycle_of(const trace::TraceSet& job, const match::Matching& matching, trace::RankIndex r,
                 const std::vector<NodeId>& cycle, std::string text) {
  const Trace& t = job.ranks[r];
  Finding finding{"check.dep.cycle", Severity::error, t.rank, static_cast<int64_t>(t.id[cycle[0]]), std::move(text)};
  for (size_t i = 0; i < cycle.size() && finding.facts.empty(); ++i)
    finding.facts = facts_of(job, matching, r, cycle[i]);
  return finding;
}

/// Each rank's communication in the order in which it can run; nothing if a rank's own graph has a circle.
std::optional<Communication> order_ranks(const trace::TraceSet& job, const match::Matching& matching,
                                         Findings& findings) {
  bool any = false;
  Communication comms(job.ranks.size());
  std::vector<std::vector<NodeId>> cycles(job.ranks.size());
  std::vector<size_t> never(job.ranks.size());  // nodes that cannot run
  trace::each_rank(job, [&](trace::RankIndex r) {
    const Trace& t = job.ranks[r];
    trace::Order order = trace::topological_order(t.deps);
    never[r] = t.size() - order.order.size();
    cycles[r] = std::move(order.cycle);
    for (const NodeId n : order.order)
      if (trace::is_comm(t.type[n]) && t.comm_row[n] != trace::kNoRow) comms[r].push_back(n);
  });
  for (const trace::RankIndex r : job.indices()) {
    const Trace& t = job.ranks[r];
    for (const trace::Defect& d : t.defects)
      if (d.kind == trace::Defect::Kind::self_dep) {
        findings.push_back(cycle_of(job, matching, r, {d.node}, "waits for itself"));
        any = true;
      }
    const std::vector<NodeId>& cycle = cycles[r];
    if (cycle.empty()) continue;
    any = true;
    std::string path;
    for (size_t i = 0; i < std::min(cycle.size(), kStepsNamed); ++i)
      path += fmt::format("{}{}", i ? " <- " : "", t.id[cycle[i]]);
    if (cycle.size() > kStepsNamed) path += " <- ...";
    findings.push_back(
        cycle_of(job, matching, r, cycle,
                 fmt::format("waits for itself through {} nodes: {} (and {} nodes in or after cycles can never run)",
                             cycle.size(), path, never[r])));
  }
  return any ? std::nullopt : std::optional(std::move(comms));
}

/// Reports a cycle: which rank is blocked on which, and the node at fault.
class Reporter {
 public:
  Reporter(const trace::TraceSet& job, const match::Matching& matching) : job_(job), matching_(matching) {}

  Finding report(const std::vector<Step>& circle) {
    const NodeRef about = culprit(circle);
    const Trace& t = job_.ranks[about.rank];
    return {"check.deadlock",
            Severity::error,
            t.rank,
            static_cast<int64_t>(t.id[about.node]),
            fmt::format("ranks wait for each other in a cycle of {} steps: {}", circle.size(), path(circle, about)),
            facts_of(job_, matching_, about.rank, about.node)};
  }

 private:
  const match::Collective* collective(NodeRef at) const { return collective_of(job_, matching_, at); }

  /// The collective whose order with the next one the fewest ranks share, else the message of the highest rank.
  NodeRef culprit(const std::vector<Step>& circle) {
    std::vector<NodeRef> at_collective;
    for (const Step& step : circle)
      if (step.why != Why::message && collective(step.after)) at_collective.push_back(step.after);
    NodeRef about{trace::kNoRank, kNoNode};
    int64_t least = INT64_MAX;
    // From one collective to the next, on one rank or through messages.
    for (size_t i = 0; i < at_collective.size(); ++i) {
      const NodeRef after = at_collective[i], before = at_collective[(i + 1) % at_collective.size()];
      const int64_t votes = support(*collective(before), *collective(after));
      if (i > 0 && (votes > least || (votes == least && after.rank <= about.rank))) continue;
      least = votes;
      about = after;
    }
    if (!at_collective.empty()) return about;
    for (const Step& step : circle)
      if (step.why == Why::message && (about.node == kNoNode || step.after.rank > about.rank)) about = step.after;
    return about.node == kNoNode ? circle[0].after : about;
  }

  /// Of the ranks that run both collectives, how many run them in this order, less those that run them in the other.
  int64_t support(const match::Collective& before, const match::Collective& after) {
    int64_t votes = 0;
    for (const NodeRef& a : before.members)
      for (const NodeRef& b : after.members)
        if (a.node != kNoNode && b.node != kNoNode && a.rank == b.rank)
          votes += place(a.rank, a.node) < place(b.rank, b.node) ? 1 : -1;
    return votes;
  }
  uint32_t place(trace::RankIndex r, NodeId n) {
    auto [found, added] = places_.try_emplace(r);
    if (added) {
      const std::vector<NodeId> order = trace::topological_order(job_.ranks[r].deps).order;
      found->second.resize(order.size());
      for (uint32_t i = 0; i < order.size(); ++i) found->second[order[i]] = i;
    }
    return found->second[n];
  }

  /// The steps of the circle from the node at fault.
  std::string path(const std::vector<Step>& circle, NodeRef about) const {
    std::string text;
    size_t begin = 0;
    while (begin < circle.size() && (circle[begin].after.rank != about.rank || circle[begin].after.node != about.node))
      ++begin;
    for (size_t i = 0; i < std::min(circle.size(), kStepsNamed); ++i) {
      const Step& step = circle[(begin + i) % circle.size()];
      const Trace& t = job_.ranks[step.after.rank];
      text += fmt::format("{}on rank {} {} waits for {}", i ? "; " : "", t.rank, describe(step.after),
                          describe(step.before));
      if (step.why == Why::message) text += fmt::format(" of rank {}", job_.ranks[step.before.rank].rank);
      if (step.why == Why::group) text += ", which is due before it in its group";
      if (step.why == Why::lane) text += ", which always comes before it on its stream or thread";
    }
    if (circle.size() > kStepsNamed) text += "; ...";
    return text;
  }

  std::string describe(NodeRef at) const {
    const Trace& t = job_.ranks[at.rank];
    const trace::Comm* c = t.comm(at.node);
    if (const match::Collective* of = collective(at))
      return fmt::format("node {} ({} {} of group {})", t.id[at.node], trace::name(of->type), of->index,
                         quote(matching_.groups[of->group].name));
    if (c && t.type[at.node] == NodeType::send)
      return fmt::format("node {} (send to rank {}, tag {})", t.id[at.node], c->dst, c->tag);
    if (c && t.type[at.node] == NodeType::recv)
      return fmt::format("node {} (receive from rank {}, tag {})", t.id[at.node], c->src, c->tag);
    return fmt::format("node {} ({})", t.id[at.node], quote(t.name_of(at.node)));
  }

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> places_;  ///< per rank: place in its order
};

}  // namespace

// `check.dep.cycle` (error): a node that waits for itself.
// `check.deadlock` (error): ranks that are blocked on each other in a cycle.
// `check.deadlock.size` (warning): a job too large to look for circles.
void no_deadlock(const trace::TraceSet& job, const match::Matching& matching, Findings& findings) {
  const std::optional<Communication> comms = order_ranks(job, matching, findings);
  if (!comms) return;
  if (std::any_of(matching.findings.begin(), matching.findings.end(),
                  [](const Finding& f) { return f.severity == Severity::error; }))
    return;  // what belongs together is not known
  if (matching.collectives.empty() && matching.messages.empty()) return;
  if (runs_one_by_one(job, matching, *comms)) return;
  size_t nodes = 0;
  for (const Trace& t : job.ranks) nodes += t.size();
  if (nodes >= UINT32_MAX) {
    findings.push_back({"check.deadlock.size", Severity::warning, -1, -1,
                        "more nodes than can be looked at together: whether the ranks can wait for each other in a "
                        "circle is not known"});
    return;
  }
  const std::vector<Step> circle = find_circle(JobGraph(job, matching));
  if (!circle.empty()) findings.push_back(Reporter(job, matching).report(circle));
}

}  // namespace chakra::check
