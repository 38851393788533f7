// Calls that launch device operations: how long they take, and how much later the operation starts. The numbers are
// those of HolisticTraceAnalysis' get_cuda_kernel_launch_stats, with its limits.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/moments.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

constexpr Picoseconds kSlowCall = 50'000'000;    ///< HolisticTraceAnalysis' runtime_cutoff
constexpr Picoseconds kLateStart = 100'000'000;  ///< its launch_delay_cutoff

struct LaunchSums {
  Moments call, operation, delay;
  int64_t launches = 0, early = 0, brief = 0, slow = 0, late = 0;
};

/// From the end of the call to the start of what it launched; 0 where that started before, as HolisticTraceAnalysis
/// has it.
Picoseconds delay_of(const LaunchCall& call, const DeviceOperation& operation) {
  return std::max<Picoseconds>(0, operation.start - call.end);
}

/// A graph has one launch: only the first operation of the graph counts against the call.
void add(LaunchSums& sums, const LaunchCall& call, const DeviceOperation& operation, bool first) {
  sums.operation.add(operation.time());
  if (!first) return;
  const Picoseconds call_time = call.end - call.start, delay = delay_of(call, operation);
  ++sums.launches;
  sums.call.add(call_time);
  sums.delay.add(delay);
  sums.early += operation.start < call.end;
  sums.brief += call_time <= kSlowCall && operation.time() < call_time;
  sums.slow += call_time > kSlowCall;
  sums.late += delay > kLateStart;
}

/// The operation of each call that started first.
std::vector<uint32_t> first_operations(const DeviceWork& work) {
  std::vector<uint32_t> first(work.calls.size(), trace::kNoRow);
  for (uint32_t i = 0; i < work.operations.size(); ++i) {
    const uint32_t call = work.operations[i].call;
    if (call == trace::kNoRow) continue;
    if (first[call] == trace::kNoRow || work.operations[i].start < work.operations[first[call]].start) first[call] = i;
  }
  return first;
}

int64_t correlation_of(const Trace& t, NodeId n, StringId name) {
  const std::optional<trace::Attr> attr = attr_of(t, n, name);
  return attr ? attr->integer().value_or(-1) : -1;
}

// `analyze.no_launch` (finding): device operations whose launch is not recorded: the tables of launches and queue
// lengths leave them out.
void find_without_launch(const Trace& t, const DeviceWork& work, Findings& findings) {
  int64_t count = 0;
  Picoseconds time = 0;
  for (const DeviceOperation& operation : work.operations)
    if (operation.call == trace::kNoRow) {
      ++count;
      time = add_saturated(time, operation.time());
    }
  if (count > 0)
    findings.push_back(
        {"analyze.no_launch", Severity::note, t.rank, -1,
         fmt::format("{} of {} device operations, of {}, have no recorded launch: they are left out of "
                     "the tables of launches and queue lengths",
                     show_count(count), show_count(static_cast<int64_t>(work.operations.size())), show_time(time))});
}

void add_each(const Trace& t, const DeviceWork& work, Table& each) {
  const StringId correlation = t.strings.find("correlation");
  for (const DeviceOperation& operation : work.operations) {
    if (operation.call == trace::kNoRow) continue;
    const LaunchCall& call = work.calls[operation.call];
    each.rows.push_back({t.rank, correlation_of(t, operation.node, correlation), std::string(t.name_of(call.node)),
                         static_cast<int64_t>(t.id[operation.node]), call.end - call.start, operation.time(),
                         delay_of(call, operation)});
  }
}

}  // namespace

Result<std::vector<NamedTable>> launches(const Job& job, Findings& findings) {
  Table by_call{"Launches: the call, the launched operation, and its delay",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"call", Kind::text, "call", "the runtime call"},
                 {"launches", Kind::count, "launches", "calls"},
                 {"operations", Kind::count, "operations", "operations that they launched"},
                 {"call mean", Kind::time_ps, "call_mean_ps", "mean time of a call"},
                 {"call max", Kind::time_ps, "call_max_ps", "longest call"},
                 {"operation mean", Kind::time_ps, "operation_mean_ps", "mean time of an operation"},
                 {"delay mean", Kind::time_ps, "delay_mean_ps",
                  "mean time from the end of the call to the start of the operation"},
                 {"delay max", Kind::time_ps, "delay_max_ps", "longest such time"},
                 {"short", Kind::count, "short", "calls of at most 50 us that take longer than the operation"},
                 {"slow calls", Kind::count, "slow_calls", "calls of more than 50 us"},
                 {"late", Kind::count, "late", "operations that start more than 100 us after the call"},
                 {"early", Kind::count, "early", "operations that start before the call ends"}},
                {}};
  Table each{"Launches, one by one",
             {{"rank", Kind::id, "rank", "the rank"},
              {"correlation", Kind::id, "correlation", "the profiler's id that joins call and operation"},
              {"call", Kind::text, "call", "the runtime call"},
              {"node", Kind::id, "node", "the operation's node in the trace of the rank"},
              {"call duration", Kind::time_ps, "call_duration_ps", "time of the call"},
              {"operation duration", Kind::time_ps, "operation_duration_ps", "time of the operation"},
              {"delay", Kind::time_ps, "delay_ps", "from the end of the call to the start of the operation"}},
             {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    if (!job.schedules[r].measured) continue;
    const DeviceWork& work = device_work(job, r);
    find_without_launch(t, work, findings);
    const std::vector<uint32_t> first = first_operations(work);
    std::map<std::string_view, LaunchSums> names;
    for (uint32_t i = 0; i < work.operations.size(); ++i) {
      const DeviceOperation& operation = work.operations[i];
      if (operation.call == trace::kNoRow) continue;
      const LaunchCall& call = work.calls[operation.call];
      add(names[t.name_of(call.node)], call, operation, first[operation.call] == i);
    }
    std::vector<std::pair<std::string_view, LaunchSums>> order(names.begin(), names.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.launches > b.second.launches; });
    for (const auto& [name, s] : order)
      by_call.rows.push_back({t.rank, std::string(name), s.launches, s.operation.count, s.call.mean_ps(),
                              s.call.largest, s.operation.mean_ps(), s.delay.mean_ps(), s.delay.largest, s.brief,
                              s.slow, s.late, s.early});
    if (job.details) add_each(t, work, each);
  }
  return std::vector<NamedTable>{{"launches", std::move(by_call)}, {"launches_each", std::move(each), true}};
}

}  // namespace chakra::analyze
