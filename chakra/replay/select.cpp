// Which part of a trace a replay runs.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/analyze/analyze.h"
#include "chakra/replay/select.h"

namespace chakra::replay {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// "all_to_allv", "AllToAll", "ALL_TO_ALL" are the same.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : to_lower(name))
    if (c != '_' && c != '-') plain += c;
  if (plain == "alltoallv") plain = "alltoall";
  if (plain == "isend" || plain == "irecv") plain.erase(0, 1);
  return plain;
}

std::string type_of(const Trace& t, NodeId n) {
  if (t.type[n] == NodeType::send) return "send";
  if (t.type[n] == NodeType::recv) return "recv";
  return plain_name(trace::name(t.comm(n)->type));
}

Result<std::set<std::string>> wanted_types(const std::vector<std::string>& names) {
  std::set<std::string> known{"send", "recv"}, wanted;
  std::string list = "none, send, recv";
  for (const std::string_view type : trace::kCommTypeNames) {
    known.insert(plain_name(type));
    list += fmt::format(", {}", to_lower(type));
  }
  if (names.size() == 1 && plain_name(names[0]) == "none") return wanted;
  for (const std::string& name : names) {
    if (!known.contains(plain_name(name)))
      return fail(Code::usage, "cli.usage", fmt::format("unknown communication type {}; known: {}", quote(name), list));
    wanted.insert(plain_name(name));
  }
  return wanted;
}

/// Communication alone is left out by these; computation stays.
Result<void> by_communication(const Trace& t, const Selection& s, std::vector<bool>& selected) {
  CHAKRA_ASSIGN(const std::set<std::string> types, wanted_types(s.types));
  const std::set<std::string, std::less<>> groups(s.groups.begin(), s.groups.end());
  for (const NodeId n : t.nodes()) {
    if (!trace::is_comm(t.type[n])) continue;
    const trace::Comm& comm = *t.comm(n);
    const bool right_size = (s.min_bytes < 0 || comm.bytes >= static_cast<uint64_t>(s.min_bytes)) &&
                            (s.max_bytes < 0 || comm.bytes <= static_cast<uint64_t>(s.max_bytes));
    const bool right_group = groups.empty() || (t.type[n] == NodeType::coll && groups.contains(t.strings[comm.group]));
    if (!right_size || !right_group || (!s.types.empty() && !types.contains(type_of(t, n)))) selected[n] = false;
  }
  return {};
}

/// A thread's gap between what is selected and what is not belongs to neither.
void leave_out_last_gaps(const Trace& t, std::vector<bool>& selected) {
  const auto is_gap = [&](NodeId n) { return t.name_of(n) == trace::kHostGap; };
  const auto end = [&](NodeId n) { return add_saturated(t.start_ps[n], t.dur_ps[n]); };
  Picoseconds last = 0;
  for (const NodeId n : t.nodes())
    if (selected[n] && t.has_start(n) && !is_gap(n)) last = std::max(last, end(n));
  for (const NodeId n : t.nodes())
    if (selected[n] && t.has_start(n) && is_gap(n) && end(n) > last) selected[n] = false;
}

Result<void> by_step(const Trace& t, std::pair<int64_t, int64_t> range, std::vector<bool>& selected) {
  const analyze::Steps steps = analyze::find_steps(t);
  std::vector<bool> wanted(steps.names.size());
  std::string known;
  bool any = false;
  for (size_t s = 0; s < steps.names.size(); ++s) {
    const auto number = trace::step_number(steps.names[s]);
    wanted[s] = number && *number >= range.first && *number <= range.second;
    any |= wanted[s];
    known += fmt::format("{}{}", known.empty() ? "" : ", ", steps.names[s]);
  }
  if (!any)
    return fail(Code::usage, "cli.usage",
                fmt::format("--steps: rank {} has none of these steps, but {}", t.rank,
                            known.empty() ? "no steps at all" : known));
  for (const NodeId n : t.nodes())
    if (steps.of[n] < 0 || !wanted[static_cast<size_t>(steps.of[n])]) selected[n] = false;
  leave_out_last_gaps(t, selected);
  return {};
}

/// Nodes of the name, what they call, continuations of these, and device operations that those launch.
Result<void> by_name(const Trace& t, const std::string& name, std::vector<bool>& selected) {
  enum : uint8_t { unknown, outside, inside };
  std::vector<uint8_t> state(t.size(), unknown);
  std::vector<NodeId> way;
  for (const NodeId n : t.nodes()) {
    way.clear();
    NodeId at = n;
    while (state[at] == unknown) {  // up the callers; those of a circle are outside
      way.push_back(at);
      state[at] = t.name_of(at) == name ? inside : outside;
      if (state[at] == inside) break;
      const auto callers = t.ctrl.of(at);
      const NodeId whole = t.part_of[at];
      if (whole == trace::kNoNode && callers.empty()) break;
      at = whole != trace::kNoNode ? whole : callers[0];
    }
    for (const NodeId on_way : way) state[on_way] = state[at];
  }
  for (const NodeId n : t.nodes())
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
      if (trace::kind_of(t.deps.kind[e]) == trace::EdgeKind::launch) state[n] = state[t.deps.node[e]];
  if (std::find(state.begin(), state.end(), inside) == state.end())
    return fail(Code::usage, "cli.usage", fmt::format("--subgraph {}: rank {} has no such node", quote(name), t.rank));
  for (const NodeId n : t.nodes())
    if (state[n] != inside) selected[n] = false;
  return {};
}

}  // namespace

Result<std::vector<bool>> select_nodes(const Trace& t, const Selection& selection) {
  std::vector<bool> selected(t.size(), true);
  CHAKRA_TRY(by_communication(t, selection, selected));
  if (selection.steps) CHAKRA_TRY(by_step(t, *selection.steps, selected));
  if (!selection.subgraph.empty()) CHAKRA_TRY(by_name(t, selection.subgraph, selected));
  return selected;
}

}  // namespace chakra::replay
