// The rule for experts with unequal loads.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "chakra/whatif/diagnosis_rules.h"

namespace chakra::whatif {
namespace {

using analyze::Diagnosis;
using analyze::Judgement;
using analyze::kSkewed;
using trace::NodeId;

/// A number that is equal for traces with the same nodes, whatever their work, bytes and times.
uint64_t layout_of(const trace::Trace& t) {
  uint64_t hash = t.size();
  const auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const NodeId n : t.nodes()) {
    add(TextHash{}(t.name_of(n)));
    add(static_cast<uint64_t>(t.type[n]));
    if (const trace::Comm* comm = t.comm(n)) add(static_cast<uint64_t>(comm->type));
  }
  return hash;
}

const trace::Comm* exchange_at(const trace::Trace& t, NodeId n) {
  const trace::Comm* comm = t.comm(n);
  return comm && comm->type == trace::CommType::all_to_all ? comm : nullptr;
}

/// Traces with the same nodes, of ranks on the same device.
struct Peers {
  std::vector<size_t> traces;
  std::vector<size_t> ranks;     ///< the first rank of each trace, in the report
  std::vector<double> of_trace;  ///< number of ranks
  double all = 0;                ///< ranks
};

/// The bytes that each peer sends in uneven all-to-alls.
struct Loads {
  std::vector<double> bytes;  ///< by trace
  double mean = 0;            ///< of the ranks
  double largest = 0;         ///< sum over the all-to-alls: the rank with most
  std::string_view group;     ///< of the trace with most bytes
  size_t most = 0;            ///< this trace
};
Loads loads_of(const std::vector<trace::Trace>& traces, const Peers& peers) {
  Loads loads{std::vector<double>(peers.traces.size()), 0, 0, {}, 0};
  const trace::Trace& first = traces[peers.traces[0]];
  for (const NodeId n : first.nodes()) {
    if (!exchange_at(first, n)) continue;
    double most = 0, sum = 0, least = INFINITY;
    const auto bytes_of = [&](size_t p) { return static_cast<double>(traces[peers.traces[p]].comm(n)->bytes); };
    for (size_t p = 0; p < peers.traces.size(); ++p) {
      const double bytes = bytes_of(p);
      most = std::max(most, bytes), least = std::min(least, bytes), sum += bytes * peers.of_trace[p];
    }
    if (most == least) continue;
    for (size_t p = 0; p < peers.traces.size(); ++p) loads.bytes[p] += bytes_of(p);
    loads.largest += most, loads.mean += sum / peers.all;
  }
  loads.most = static_cast<size_t>(std::max_element(loads.bytes.begin(), loads.bytes.end()) - loads.bytes.begin());
  const trace::Trace& heavy = traces[peers.traces[loads.most]];
  for (const NodeId n : heavy.nodes())
    if (const trace::Comm* comm = exchange_at(heavy, n)) loads.group = heavy.strings[comm->group];
  return loads;
}

/// Give each peer the mean work and the mean bytes, where these differ.
void even_out(const std::vector<trace::Trace>& before, const Peers& peers, std::vector<trace::Trace>& traces) {
  const auto mean_of = [&](const auto& value) {
    double sum = 0;
    for (size_t p = 0; p < peers.traces.size(); ++p)
      sum += static_cast<double>(value(before[peers.traces[p]])) * peers.of_trace[p];
    return sum / peers.all;
  };
  const auto differs = [&](const auto& value) {
    return std::any_of(peers.traces.begin(), peers.traces.end(),
                       [&](size_t t) { return value(before[t]) != value(before[peers.traces[0]]); });
  };
  for (const NodeId n : before[peers.traces[0]].nodes()) {
    const auto ops = [n](const trace::Trace& t) { return t.num_ops.empty() ? 0 : t.num_ops[n]; };
    const auto moved = [n](const trace::Trace& t) { return t.tensor_bytes.empty() ? 0 : t.tensor_bytes[n]; };
    if (differs(ops) || differs(moved)) {
      const double dur = mean_of([n](const trace::Trace&t) { return t.dur_ps[n]; }), op = mean_of(ops),
                   bytes = mean_of(moved);
      for (const size_t t : peers.traces) {
        traces[t].dur_ps.edit(n) = static_cast<Picoseconds>(dur);
        if (!traces[t].num_ops.empty()) traces[t].num_ops.edit(n) = static_cast<uint64_t>(op);
        if (!traces[t].tensor_bytes.empty()) traces[t].tensor_bytes.edit(n) = static_cast<uint64_t>(bytes);
      }
    }
    if (!exchange_at(before[peers.traces[0]], n)) continue;
    const double sent = mean_of([n](const trace::Trace& t) { return t.comm(n)->bytes; });
    for (const size_t t : peers.traces) {
      trace::Comm& comm = traces[t].comms.edit(traces[t].comm_row[n]);
      comm.bytes = static_cast<uint64_t>(sent);
      comm.in_bytes = comm.out_bytes = 0;
      comm.in_split = comm.out_split = {};
    }
  }
}

}  // namespace

Result<Judgement> skewed_expert(DiagnosedRun& run) {
  Judgement j;
  const std::vector<trace::Trace>& traces = traces_of(run.input);
  const std::vector<size_t> trace_of = trace_by_rank(run);
  std::map<size_t, uint64_t> layouts;
  std::map<std::pair<uint64_t, const device::Device*>, Peers> sets;
  std::map<std::pair<size_t, const Peers*>, size_t> places;  // of traces in their sets
  for (size_t r = 0; r < trace_of.size(); ++r) {
    const trace::Trace& t = traces[trace_of[r]];
    const auto [layout, added] = layouts.try_emplace(trace_of[r], 0);
    if (added)
      layout->second =
          std::any_of(t.nodes().begin(), t.nodes().end(), [&](NodeId n) { return exchange_at(t, n) != nullptr; })
              ? layout_of(t)
              : 0;
    if (layout->second == 0) continue;
    Peers& peers = sets[{layout->second, run.input.system.device_of(run.report.ranks[r].rank)}];
    const auto [at, first] = places.try_emplace({trace_of[r], &peers}, peers.traces.size());
    if (first) peers.traces.push_back(trace_of[r]), peers.ranks.push_back(r), peers.of_trace.push_back(0);
    ++peers.of_trace[at->second], ++peers.all;
  }
  std::erase_if(sets, [](const auto& each) { return each.second.all < 2; });
  if (sets.empty()) return Judgement{"no two ranks with all-to-alls have the same nodes", {}};
  std::map<size_t, const Peers*> in_order;  // by first rank
  for (const auto& [key, peers] : sets) in_order[peers.ranks[0]] = &peers;
  for (const auto& [first, each] : in_order) {
    const Peers& peers = *each;
    const Loads loads = loads_of(traces, peers);
    if (loads.mean <= 0 || loads.largest < kSkewed * loads.mean) continue;
    CHAKRA_ASSIGN(const Picoseconds cost, saved_by(run, [&](sim::SimInput& input) -> Result<void> {
                    even_out(traces, peers, traces_of(input));
                    return {};
                  }));
    if (cost <= 0) continue;
    const double ratio = loads.bytes[loads.most] / loads.mean;
    const int64_t rank = run.report.ranks[peers.ranks[loads.most]].rank;
    const bool one = ratio >= kSkewed;
    Diagnosis& d = j.diagnoses.emplace_back(
        row_of(run, "skewed_expert", one ? fmt::format("rank {}", rank) : fmt::format("group {}", loads.group), cost,
               {"ranks", static_cast<int64_t>(peers.ranks[loads.most])}));
    d.sentence =
        one ? fmt::format("The experts of rank {} have {:.1f} times the mean load", rank, ratio)
            : fmt::format("The busiest experts of an all-to-all have {:.1f} times the mean load, on ranks that change",
                          loads.largest / loads.mean);
    d.sentence += fmt::format(
        " (group {}). With even loads, the job takes {} less. A loss for balance, a limit of capacity or copies of "
        "busy experts can even out the load.",
        loads.group, amount(d));
  }
  return j;
}

}  // namespace chakra::whatif
