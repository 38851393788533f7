#include "chakra/astra/stuck.h"

#include <fmt/core.h>

#include <string>

#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

using trace::NodeId;
using trace::NodeType;

constexpr size_t kWaitsNamed = 6;

/// The first node that has started and not ended.
std::string describe_wait(const Rank& rank) {
  const trace::Trace& t = *rank.trace;
  for (const NodeId n : t.nodes()) {
    if (!rank.feeder.is_ready(n) || rank.ready[rank.tasks[n].needs].contains(n)) continue;
    const trace::Comm* comm = t.comm(n);
    if (t.type[n] == NodeType::coll)
      return fmt::format("in node {} ({} of {} bytes in group {}) for members that do not run the same collective next",
                         t.id[n], trace::name(comm->type), comm->bytes, quote(t.strings[comm->group]));
    if (t.type[n] == NodeType::recv)
      return fmt::format("in node {} for a message of {} bytes with tag {} from rank {}", t.id[n], comm->bytes,
                         comm->tag, comm->src);
    return fmt::format("in node {}", t.id[n]);
  }
  return "for a node that cannot start";
}

}  // namespace

Failure stuck(const Run& run) {
  std::string text;
  size_t unfinished = 0;
  for (const Rank& rank : run.ranks) {
    if (rank.feeder.remaining() == 0) continue;
    if (++unfinished > kWaitsNamed) continue;
    text += fmt::format("; rank {} waits ", rank.trace->rank);
    if (const trace::Order order = trace::topological_order(rank.trace->deps); !order.cycle.empty())
      text += fmt::format("in a cycle at node {}", rank.trace->id[order.cycle[0]]);
    else text += describe_wait(rank);
  }
  if (unfinished > kWaitsNamed) text += fmt::format("; and {} more", unfinished - kWaitsNamed);
  return fail(Code::stuck, "sim.stuck",
              fmt::format("{} of {} ranks cannot finish{}", unfinished, run.ranks.size(), text));
}

}  // namespace chakra::astra
