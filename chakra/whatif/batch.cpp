// Another batch of each replica.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/base/times.h"
#include "chakra/whatif/nodes.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Nodes of the optimizer: by their names, those of their callers, and those of the calls that launched them.
std::vector<char> of_optimizer(const Trace& t) {
  std::vector<char> named(t.strings.size(), 0);
  for (StringId id = 0; id < named.size(); ++id)
    named[id] = to_lower(t.strings[id]).find("optimizer") != std::string::npos;
  std::vector<char> is(t.size(), 0);
  for (const NodeId n : trace::topological_order(t.ctrl).order) {
    is[n] = named[t.name[n]];
    for (const NodeId caller : t.ctrl.of(n)) is[n] |= is[caller];
  }
  for (const NodeId n : t.nodes())
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1] && !t.deps.kind.empty(); ++e)
      if (trace::kind_of(t.deps.kind[e]) == trace::EdgeKind::launch) is[n] |= is[t.deps.node[e]];
  return is;
}

class Batch {
 public:
  Batch(sim::SimInput& input, double factor) : in_(input), factor_(factor) {
    for (const Trace& t : in_.job.ranks)
      for (const trace::ProcessGroup& group : t.groups) described_.emplace(group.name, group.description);
  }

  Reached run() {
    for (size_t r = 0; r < in_.job.ranks.size(); ++r) {
      Trace& t = in_.job.ranks[r];
      const NodeKinds kinds(t);
      const std::vector<char> fixed = of_optimizer(t);
      for (const NodeId n : t.nodes()) {
        const std::optional<Kind> kind = kinds.of(n);
        if (!kind || fixed[n]) continue;
        if (trace::is_comm(t.type[n])) communicate(r, n);
        else if (bit(*kind) & (bit(Kind::compute) | bit(Kind::copy) | bit(Kind::unrecorded))) compute(t, n);
      }
    }
    in_.matching.reset();  // of the sizes before
    return reached_;
  }

 private:
  void compute(Trace& t, NodeId n) {
    ++reached_.nodes;
    reached_.time_ps = add_saturated(reached_.time_ps, t.dur_ps[n]);
    if (factor_ != 1) t.dur_ps.edit(n) = times(t.dur_ps[n], factor_);
  }

  /// Gradients and parameters are as large with any batch: what data-parallel groups move stays.
  bool moves_parameters(size_t r, NodeId n) const {
    const Trace& t = in_.job.ranks[r];
    if (t.type[n] != NodeType::coll) return false;
    const uint32_t id = in_.matching->of_comm[r][t.comm_row[n]];
    if (id == trace::kNoRow) return true;
    const match::Group& group = in_.matching->groups[in_.matching->collectives[id].group];
    const auto text = described_.find(group.name);
    return is_data_parallel(group.name) || (text != described_.end() && is_data_parallel(text->second)) ||
           in_.matching->groups.size() == 1;
  }
  void communicate(size_t r, NodeId n) {
    if (moves_parameters(r, n) || factor_ == 1) return;
    Trace& t = in_.job.ranks[r];
    const uint32_t row = t.comm_row[n];
    ++reached_.nodes;
    trace::Comm& comm = t.comms.edit(row);
    for (uint64_t* bytes : {&comm.bytes, &comm.in_bytes, &comm.out_bytes})
      *bytes = static_cast<uint64_t>(static_cast<double>(*bytes) * factor_ + 0.5);
    if (!in_.transfers || !in_.transfers->rows[r][row].known()) return;
    sim::Transfers::Row& known = in_.transfers->rows[r][row];
    reached_.time_ps = add_saturated(reached_.time_ps, known.transfer_ps);
    known.scale(factor_);
  }

  sim::SimInput& in_;
  double factor_;
  std::map<std::string, std::string, std::less<>> described_;
  Reached reached_;
};

}  // namespace

Result<Reached> change_batch(std::string_view value, sim::SimInput& input) {
  double factor = 0;
  if (!parse_decimal(value, factor) || !(factor > 0 && factor <= kMostFactor))
    return fail(Code::usage, "whatif.rule.form",
                fmt::format("{} is not a factor of the batch, above 0 and up to {:g}", quote(value), kMostFactor));
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  return reached_something(Batch(input, factor).run(), "batch", value, "the job computes nothing");
}

}  // namespace chakra::whatif
