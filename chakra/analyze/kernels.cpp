// Kernels, copies and memsets by total time, and what runs on the devices at each moment. The same numbers as
// HolisticTraceAnalysis' get_gpu_kernel_breakdown and get_temporal_breakdown.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/moments.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::Trace;
using Kind = Table::Kind;

constexpr size_t kMasks = 1 << kOperationKinds.size();

/// For how long each set of kinds ran at the same time, and nothing; by bits of the kinds.
using TimeOfMask = std::array<Picoseconds, kMasks>;

/// The unions of the intervals of each kind, laid over each other. Cost: O(n log n).
TimeOfMask overlay(const std::vector<const DeviceOperation*>& operations) {
  struct Change {
    Picoseconds time;
    size_t kind;
    int step;
  };
  std::vector<Change> changes;
  changes.reserve(operations.size() * 2);
  for (const DeviceOperation* operation : operations) {
    changes.push_back({operation->start, static_cast<size_t>(operation->kind), 1});
    changes.push_back({operation->end, static_cast<size_t>(operation->kind), -1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  TimeOfMask of{};
  std::array<int64_t, kOperationKinds.size()> running{};
  Picoseconds at = changes.empty() ? 0 : changes.front().time;
  for (const Change& change : changes) {
    size_t mask = 0;
    for (size_t k = 0; k < running.size(); ++k) mask |= running[k] > 0 ? size_t{1} << k : 0;
    of[mask] = add_saturated(of[mask], change.time - at);
    at = change.time;
    running[change.kind] += change.step;
  }
  return of;
}

std::string mask_name(size_t mask) {
  std::string name;
  for (size_t k = 0; k < kOperationKinds.size(); ++k)
    if (mask >> k & 1) name += (name.empty() ? "" : " and ") + std::string(kOperationKinds[k]);
  return name;
}

struct Tables {
  Table kernels{"Kernels, copies and memsets by total time",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"name", Kind::text, "name", "name of the kernel, copy or memset"},
                 {"kind", Kind::text, "kind", "communication, memory or computation"},
                 {"count", Kind::count, "count", "how many there are"},
                 {"sum", Kind::time_ps, "sum_ps", "sum of their times"},
                 {"mean", Kind::time_ps, "mean_ps", "mean of their times"},
                 {"min", Kind::time_ps, "min_ps", "shortest of them"},
                 {"max", Kind::time_ps, "max_ps", "longest of them"},
                 {"std", Kind::time_ps, "std_ps", "standard deviation of a sample"},
                 {"share", Kind::share, "share", "its share of the device time"}},
                {}};
  Table kinds{"Busy time of devices: each moment once",
              {{"rank", Kind::id, "rank", "the rank"},
               {"device", Kind::text, "device", "the device, or any of several"},
               {"kind", Kind::text, "kind", "the kinds that run at the same time"},
               {"time", Kind::time_ps, "time_ps", "how long"},
               {"share", Kind::share, "share", "its share of the busy time"}},
              {}};
  Table idle{"Devices from their first start to their last end",
             {{"rank", Kind::id, "rank", "the rank"},
              {"device", Kind::text, "device", "the device, or any of several"},
              {"span", Kind::time_ps, "span_ps", "from the first start to the last end"},
              {"busy", Kind::time_ps, "busy_ps", "time in which at least one kernel runs"},
              {"idle", Kind::time_ps, "idle_ps", "time in which no kernel runs"},
              {"busy share", Kind::share, "busy_share", "busy / span"}},
             {}};
};

Result<void> add_names(const Trace& t, const DeviceWork& work, Table& table) {
  std::map<std::pair<std::string_view, OperationKind>, Moments> names;
  Picoseconds total = 0;
  for (const DeviceOperation& operation : work.operations) {
    names[{t.name_of(operation.node), operation.kind}].add(operation.time());
    total = add_saturated(total, operation.time());
  }
  std::vector<decltype(names)::const_iterator> order;
  for (auto at = names.cbegin(); at != names.cend(); ++at) order.push_back(at);
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a->second.sum > b->second.sum; });
  std::vector<uint64_t> parts;
  for (const auto& at : order) {
    const Moments& m = at->second;
    parts.push_back(static_cast<uint64_t>(m.sum));
    table.rows.push_back({t.rank, std::string(at->first.first),
                          std::string(kOperationKinds[static_cast<size_t>(at->first.second)]), m.count, m.sum,
                          m.mean_ps(), m.least, m.largest, m.deviation_ps(), share(m.sum, total)});
  }
  if (total >= kLongestPs) return {};
  return check_sum("the time of kernels", static_cast<uint64_t>(total), parts);
}

Result<void> add_device(const Trace& t, const std::string& device,
                        const std::vector<const DeviceOperation*>& operations, Tables& tables) {
  const TimeOfMask of = overlay(operations);
  Picoseconds busy = 0, first = operations[0]->start, last = operations[0]->end;
  for (const DeviceOperation* operation : operations) {
    first = std::min(first, operation->start);
    last = std::max(last, operation->end);
  }
  for (size_t mask = 1; mask < kMasks; ++mask) busy = add_saturated(busy, of[mask]);
  std::vector<std::pair<Picoseconds, size_t>> order;
  for (size_t mask = 1; mask < kMasks; ++mask)
    if (of[mask] > 0) order.emplace_back(-of[mask], mask);
  std::sort(order.begin(), order.end());
  for (const auto& [time, mask] : order)
    tables.kinds.rows.push_back({t.rank, device, mask_name(mask), -time, share(-time, busy)});
  const Picoseconds span = last - first;
  tables.idle.rows.push_back({t.rank, device, span, busy, of[0], share(busy, span)});
  const std::array<uint64_t, 2> parts{static_cast<uint64_t>(busy), static_cast<uint64_t>(of[0])};
  return check_sum("the span of a device", static_cast<uint64_t>(span), parts);
}

Result<void> add_devices(const Trace& t, const DeviceWork& work, Tables& tables) {
  std::map<int64_t, std::vector<const DeviceOperation*>> devices;
  std::vector<const DeviceOperation*> all;
  for (const DeviceOperation& operation : work.operations) {
    devices[device_of(t, operation.node)].push_back(&operation);
    all.push_back(&operation);
  }
  for (const auto& [device, operations] : devices)
    CHAKRA_TRY(add_device(t, device < 0 ? std::string("not said") : fmt::format("{}", device), operations, tables));
  if (devices.size() > 1) CHAKRA_TRY(add_device(t, "any", all, tables));
  return {};
}

// `analyze.scope` (finding): device operations that `--launched` leaves out.
void find_left_out(const Trace& t, const DeviceWork& work, Findings& findings) {
  if (work.left_out > 0)
    findings.push_back({"analyze.scope", Severity::note, t.rank, -1,
                        fmt::format("{} device operations of {} are left out by --launched: they were launched later, "
                                    "or their launch is not recorded",
                                    show_count(work.left_out), show_time(work.left_out_time))});
}

}  // namespace

// `analyze.no_device` (finding): no node runs on a device: no kernels, launches or queues.
Result<std::vector<NamedTable>> kernels(const Job& job, Findings& findings) {
  Tables tables;
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    const DeviceWork& work = device_work(job, r);
    find_left_out(t, work, findings);
    CHAKRA_TRY(add_names(t, work, tables.kernels));
    if (job.schedules[r].measured) CHAKRA_TRY(add_devices(t, work, tables));
    if (work.operations.empty() && work.left_out == 0)
      findings.push_back({"analyze.no_device", Severity::note, t.rank, -1,
                          "no node runs on a device, so there are no kernels, launches or queues"});
  }
  return std::vector<NamedTable>{{"kernels", std::move(tables.kernels)},
                                 {"kernel_kinds", std::move(tables.kinds)},
                                 {"device_time", std::move(tables.idle)}};
}

}  // namespace chakra::analyze
