// Operations and bytes per second over the steps, where nodes say how much work they are.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/rows.h"
#include "chakra/device/device.h"
#include "chakra/work/work.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

struct Sums {
  work::WorkSum work;
  int64_t nodes = 0;
  Picoseconds computing = 0, covered = 0;  ///< time of computation, and of what of it says its work
  Picoseconds first = 0, last = 0;
};

/// From the first ProfilerStep to the last, or all of the trace where there is none.
void find_steps(const Trace& t, const Schedule& s, Sums& sums) {
  sums.first = s.first;
  sums.last = s.last;
  const std::vector<Picoseconds> ends = trace::inclusive_ends(t);
  bool any = false;
  for (const NodeId n : t.nodes()) {
    if (!t.on_cpu(n) || !is_step(t.name_of(n))) continue;
    sums.first = any ? std::min(sums.first, s.start[n]) : s.start[n];
    sums.last = any ? std::max(sums.last, ends[n]) : ends[n];
    any = true;
  }
}

/// Without a device, operators on the host compute.
void add_host_time(const Trace& t, const Schedule& s, const DeviceWork& work, Sums& sums) {
  for (const NodeId n : t.nodes()) {
    const NodeId whole = work.whole[n];
    if (!work.is_operator[whole] || trace::is_comm(t.type[whole]) || s.start[n] < sums.first || s.start[n] > sums.last)
      continue;
    const Picoseconds time = s.end[n] - s.start[n];
    sums.computing = add_saturated(sums.computing, time);
    if (says_work(t, whole)) sums.covered = add_saturated(sums.covered, time);
  }
}

/// Of device operations when they were launched, of nodes on the host when they ran.
Sums add_up(const Trace& t, const Schedule& s, const DeviceWork& work) {
  Sums sums;
  find_steps(t, s, sums);
  const Picoseconds first = sums.first, last = sums.last;
  const auto add = [&](NodeId n, Picoseconds at) {
    if (at < first || at > last || !says_work(t, n)) return false;
    ++sums.nodes;
    sums.work.add(work::work_of(t, n));
    return true;
  };
  for (const NodeId n : t.nodes())
    if (!t.on_device(n) && !trace::is_comm(t.type[n])) add(n, s.start[n]);
  for (const DeviceOperation& operation : work.operations) {
    if (trace::is_comm(t.type[operation.node])) continue;
    const Picoseconds at = operation.call == trace::kNoRow ? operation.start : work.calls[operation.call].start;
    if (at < first || at > last) continue;
    sums.last = std::max(sums.last, operation.end);
    const bool covered = add(operation.node, at);
    if (operation.kind != OperationKind::computation) continue;
    sums.computing = add_saturated(sums.computing, operation.time());
    if (covered) sums.covered = add_saturated(sums.covered, operation.time());
  }
  if (work.operations.empty()) add_host_time(t, s, work, sums);
  return sums;
}

}  // namespace

// `analyze.no_work` (finding): no node has an amount of work: FLOP/s are unknown.
// `analyze.work.above` (warning): the nodes of a rank have more FLOPs than the devices could compute in the time
Result<std::vector<NamedTable>> work(const Job& job, Findings& findings) {
  Table table{"Work over the steps",
              {{"rank", Kind::id, "rank", "the rank"},
               {"time", Kind::time_ps, "time_ps", "from the first step to the end of the last one"},
               {"nodes with work", Kind::count, "nodes_with_work", "nodes with known work"},
               {"covered", Kind::share, "covered",
                "share of computation time (without a device: of operators) in nodes with known work"},
               {"operations", Kind::count, "operations", "operations of these nodes"},
               {"bytes", Kind::bytes, "bytes", "bytes of these nodes"},
               {"operations per s", Kind::rate_ops_per_s, "operations_per_s", "FLOPs / time"},
               {"rate", Kind::rate_bytes_per_s, "rate", "bytes / time"},
               {"device", Kind::text, "device", "the recorded device"},
               {"HFU", Kind::share, "mfu", "share of the peak of the rank's devices; null: unknown"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    const Sums sums = add_up(t, job.schedules[r], device_work(job, r));
    if (sums.nodes == 0) {
      findings.push_back({"analyze.no_work", Severity::note, t.rank, -1,
                          "no node has an amount of work (num_ops, tensor_size), so FLOP/s are unknown"});
      continue;
    }
    if (sums.last <= sums.first) continue;
    const std::optional<device::Device> on = device::recorded_device(t);
    const device::Rates rates =
        device::rates(sums.work, sums.last - sums.first, on ? &*on : nullptr, device::devices_with_work(t));
    if (rates.mfu && *rates.mfu > 1)
      findings.push_back({"analyze.work.above", Severity::warning, t.rank, -1,
                          fmt::format("the FLOPs of the nodes are {} of the peak of {}: the device, its number or the "
                                      "FLOPs are not those of the run",
                                      show_percent(*rates.mfu), on ? on->name : "the device")});
    table.rows.push_back({t.rank, sums.last - sums.first, sums.nodes, share(sums.covered, sums.computing),
                          cell(sums.work.all_ops()), cell(sums.work.bytes), rates.ops_per_s, rates.bytes_per_s,
                          on ? on->name : std::string("not known"),
                          rates.mfu ? Table::Cell(*rates.mfu) : Table::Cell(std::string())});
  }
  return std::vector<NamedTable>{{"work", std::move(table)}};
}

}  // namespace chakra::analyze
