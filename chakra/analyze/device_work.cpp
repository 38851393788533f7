#include "chakra/analyze/device_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::Trace;

/// A device operation or a piece of one. A message that another one's kernel carries has no place on a device.
bool is_operation(const Trace& t, NodeId n, bool places) {
  const std::string_view name = t.name_of(n);
  if (!t.on_device(n) || name == trace::kInitialCondition || name == trace::kUnrecorded) return false;
  return !places || t.lane[n] != trace::kNoLane;
}

bool has_streams(const Trace& t) {
  return std::any_of(t.lanes.begin(), t.lanes.end(),
                     [](const trace::Lane& lane) { return lane.kind == trace::Lane::Kind::stream; });
}

/// The names are those by which HolisticTraceAnalysis tells them: ^nccl.*Kernel, ^Memcpy, ^Memset, ^dma; and those of
/// copies of other tools.
OperationKind kind_of(const Trace& t, NodeId n) {
  const std::string_view name = t.name_of(n);
  const bool communication = name.starts_with("nccl") && name.find("Kernel") != std::string_view::npos;
  if (trace::is_comm(t.type[n]) || communication) return OperationKind::communication;
  return name.starts_with("dma") || bound_of(t, n) == Bound::memory ? OperationKind::memory
                                                                    : OperationKind::computation;
}

/// Until when something must have been launched to be in the scope, and whether it must have been launched at all.
struct Limit {
  bool all = true;
  bool included = false;  ///< what is launched at `time` is in
  Picoseconds time = std::numeric_limits<Picoseconds>::max();
};

Limit limit_of(const Trace& t, const Schedule& s, LaunchScope scope) {
  if (scope == LaunchScope::all) return {};
  std::set<std::string_view> names;
  std::vector<NodeId> steps;
  for (const NodeId n : t.nodes())
    if (t.on_cpu(n) && is_step(t.name_of(n))) {
      names.insert(t.name_of(n));
      steps.push_back(n);
    }
  if (names.size() < 2) return {};
  const bool included = scope == LaunchScope::steps;
  const std::vector<Picoseconds> ends = included ? trace::inclusive_ends(t) : std::vector<Picoseconds>();
  Limit limit{false, included, std::numeric_limits<Picoseconds>::min()};
  for (const NodeId n : steps) limit.time = std::max(limit.time, included ? ends[n] : s.start[n]);
  return limit;
}

/// What linking says about calls whose pieces span another time than was recorded.
void correct_calls(const Trace& t, std::vector<LaunchCall>& calls) {
  const StringId late = t.strings.find("call_late_ns"), dur = t.strings.find("call_dur_ns");
  if (late == 0 && dur == 0) return;
  const auto picoseconds = [](int64_t ns) {
    return std::clamp<int64_t>(ns, -kLongestPs / kPsPerNs, kLongestPs / kPsPerNs) * kPsPerNs;
  };
  for (LaunchCall& call : calls) {
    std::optional<int64_t> late_ns, dur_ns;
    for (const trace::Attr& attr : t.attrs_of(call.node)) {
      if (attr.name == late && late != 0) late_ns = attr.integer();
      if (attr.name == dur && dur != 0) dur_ns = attr.integer();
    }
    if (late_ns) call.start = add_saturated(call.start, -picoseconds(*late_ns));
    if (dur_ns) call.end = add_saturated(call.start, std::max<Picoseconds>(0, picoseconds(*dur_ns)));
  }
}

std::vector<char> find_operators(const Trace& t, const DeviceWork& work) {
  std::vector<char> is_operator(t.size(), 0);
  std::vector<char> calls(t.size(), 0);
  for (const LaunchCall& call : work.calls) calls[call.node] = 1;
  const StringId correlation = t.strings.find("correlation");
  for (const NodeId n : t.nodes()) {
    if (!t.on_cpu(n) || work.whole[n] != n || t.type[n] == trace::NodeType::metadata) continue;
    const std::string_view name = t.name_of(n);
    const bool time = name == trace::kHostGap || name == trace::kSyncRemainder || name == trace::kInitialCondition;
    is_operator[n] = !time && !calls[n] && !attr_of(t, n, correlation);
  }
  return is_operator;
}

class Collector {
 public:
  Collector(const Trace& t, const Schedule& s) : t_(t), s_(s) {}

  DeviceWork run(LaunchScope scope) {
    work_.whole = wholes(t_);
    const bool places = has_streams(t_);
    operation_of_.assign(t_.size(), trace::kNoRow);
    call_of_.assign(t_.size(), trace::kNoRow);
    for (const NodeId n : t_.nodes())
      if (is_operation(t_, n, places)) add_operation(n);
    for (const NodeId n : t_.nodes())
      if (const uint32_t call = call_of_[work_.whole[n]]; call != trace::kNoRow)
        work_.calls[call].end = std::max(work_.calls[call].end, s_.end[n]);
    correct_calls(t_, work_.calls);
    keep(limit_of(t_, s_, scope));
    work_.is_operator = find_operators(t_, work_);
    return std::move(work_);
  }

 private:
  void add_operation(NodeId n) {
    const NodeId whole = work_.whole[n];
    uint32_t& at = operation_of_[whole];
    if (at == trace::kNoRow) {
      at = static_cast<uint32_t>(work_.operations.size());
      work_.operations.push_back({whole, trace::kNoRow, kind_of(t_, whole), s_.start[n], s_.end[n]});
    }
    DeviceOperation& operation = work_.operations[at];
    operation.end = std::max({operation.end, operation.start, s_.end[n]});
    if (operation.call != trace::kNoRow) return;
    for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e)
      if (trace::kind_of(t_.deps.kind[e]) == trace::EdgeKind::launch)
        return void(operation.call = call(work_.whole[t_.deps.node[e]]));
  }

  uint32_t call(NodeId n) {
    uint32_t& at = call_of_[n];
    if (at == trace::kNoRow) {
      at = static_cast<uint32_t>(work_.calls.size());
      work_.calls.push_back({n, s_.start[n], s_.end[n], 0, contains_ignoring_case(t_.name_of(n), "GraphLaunch")});
    }
    return at;
  }

  /// What the limit leaves out goes, and calls of which nothing stays.
  void keep(const Limit& limit) {
    std::vector<DeviceOperation> kept;
    for (DeviceOperation& operation : work_.operations) {
      const Picoseconds launched = operation.call == trace::kNoRow ? 0 : work_.calls[operation.call].start;
      const bool in = limit.all || (operation.call != trace::kNoRow &&
                                    (limit.included ? launched <= limit.time : launched < limit.time));
      if (!in) {
        ++work_.left_out;
        work_.left_out_time = add_saturated(work_.left_out_time, operation.time());
        continue;
      }
      if (operation.call != trace::kNoRow) ++work_.calls[operation.call].operations;
      kept.push_back(operation);
    }
    work_.operations = std::move(kept);
    std::vector<uint32_t> row(work_.calls.size(), trace::kNoRow);
    std::vector<LaunchCall> calls;
    for (size_t c = 0; c < work_.calls.size(); ++c) {
      if (work_.calls[c].operations == 0) continue;
      row[c] = static_cast<uint32_t>(calls.size());
      calls.push_back(work_.calls[c]);
    }
    work_.calls = std::move(calls);
    for (DeviceOperation& operation : work_.operations)
      if (operation.call != trace::kNoRow) operation.call = row[operation.call];
  }

  const Trace& t_;
  const Schedule& s_;
  DeviceWork work_;
  std::vector<uint32_t> operation_of_, call_of_;  ///< by node
};

}  // namespace

std::vector<NodeId> wholes(const Trace& t) {
  std::vector<NodeId> whole(t.size());
  for (const NodeId n : t.nodes()) whole[n] = t.part_of[n] < n ? whole[t.part_of[n]] : n;
  return whole;
}

const DeviceWork& device_work(const Job& job, size_t rank) {
  DeviceWorks& works = *job.devices;
  const std::lock_guard lock(works.mutex);
  if (works.scope != job.scope) works.ranks.clear();
  works.scope = job.scope;
  works.ranks.resize(job.traces.ranks.size());
  std::optional<DeviceWork>& work = works.ranks[rank];
  if (!work) work = Collector(job.traces.ranks[rank], job.schedules[rank]).run(job.scope);
  return *work;
}

Picoseconds device_time(const DeviceWork& work) {
  Picoseconds total = 0;
  for (const DeviceOperation& operation : work.operations) total = add_saturated(total, operation.time());
  return total;
}

std::optional<trace::Attr> attr_of(const Trace& t, NodeId n, StringId name) {
  if (name == 0) return std::nullopt;
  for (const trace::Attr& attr : t.attrs_of(n))
    if (attr.name == name) return attr;
  return std::nullopt;
}

bool says_work(const Trace& t, NodeId n) {
  return (!t.num_ops.empty() && t.num_ops[n] > 0) || (!t.tensor_bytes.empty() && t.tensor_bytes[n] > 0);
}

int64_t stream_of(const Trace& t, NodeId n) {
  const bool placed = t.lane[n] != trace::kNoLane && t.lanes[t.lane[n]].kind == trace::Lane::Kind::stream;
  return placed ? t.lanes[t.lane[n]].index : -1;
}

int64_t device_of(const Trace& t, NodeId n) {
  const bool placed = t.lane[n] != trace::kNoLane && t.lanes[t.lane[n]].kind == trace::Lane::Kind::stream;
  return placed ? t.lanes[t.lane[n]].process : -1;
}

}  // namespace chakra::analyze
