// The constants of a device, from operations whose start nothing else delayed, and what follows from
// them for where inside a call its launch stands.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

// Used where a recording has too few operations to tell (docs/explanation/linking.md, "Constants").
constexpr int64_t kDefaultLaunchNs = 2'000;
constexpr int64_t kDefaultGraphLaunchNs = 14'000;
constexpr size_t kFewestSamples = 3;
// What takes longer than this is a delay by something else, not the constant.
constexpr int64_t kLongestLaunchNs = 50'000;
constexpr int64_t kLongestGraphLaunchNs = 200'000;
/// A launch that started its operation this long before it returned did not launch it at its end.
constexpr int64_t kInsideNs = 20'000;

/// An operation that starts this much later than the dispatch gap after its stream became free had been
/// waiting for it.
constexpr int64_t kQueuedNs = 2'000;

/// Whether an operation that started inside its launching call had to wait on the device, and may have
/// been launched at any time since the call began: for its stream, for an event, or for an operation of
/// another stream that ran since the call began. Copies behind kernels take longer to start than
/// kernels do; where the call lasted much longer than that, what passes for a gap (kLongestGapNs) tells
/// it from a coincidence.
bool was_queued(const Linking& l, const RuntimeCall& c, uint32_t op) {
  const std::vector<DeviceOp>& ops = l.profile().device_ops;
  const int64_t start = ops[op].start_ns, gap = l.constants(op).dispatch_gap_ns;
  const auto just_before = [&](int64_t end) {
    return end + gap + (end > c.start_ns + kInsideNs ? kLongestGapNs : kQueuedNs) >= start;
  };
  if (const uint32_t before = l.device.previous[op]; before != kNone && just_before(ops[before].end_ns())) return true;
  const auto event = std::lower_bound(l.waits.events.begin(), l.waits.events.end(), op,
                                      [](const EventEdge& e, uint32_t o) { return e.op < o; });
  for (auto e = event; e != l.waits.events.end() && e->op == op; ++e)
    if (just_before(ops[e->on].end_ns())) return true;
  const auto device_of = [&](const DeviceOp& x) { return l.profile().streams[x.lane].process; };
  auto at = std::upper_bound(l.device.ops_by_end.begin(), l.device.ops_by_end.end(), start,
                             [&](int64_t t, uint32_t o) { return t < ops[o].end_ns(); });
  while (at != l.device.ops_by_end.begin()) {
    const DeviceOp& other = ops[*--at];
    if (other.end_ns() <= c.start_ns + kInsideNs || !just_before(other.end_ns())) return false;
    if (other.start_ns <= c.start_ns + kInsideNs && device_of(other) == device_of(ops[op])) return true;
  }
  return false;
}

/// Mean of the samples but the lowest and highest twentieth.
int64_t trimmed_mean(std::vector<int64_t>& samples) {
  std::sort(samples.begin(), samples.end());
  const size_t cut = samples.size() / 20;
  double sum = 0;
  for (size_t i = cut; i < samples.size() - cut; ++i) sum += static_cast<double>(samples[i]);
  return std::llround(sum / static_cast<double>(samples.size() - 2 * cut));
}

struct Samples {
  std::vector<int64_t> launch, copy_launch, graph_launch, gap, graph_gap;
};

// `pytorch.constants.early` (finding): operations of a device begin before their launching calls return, within the
// rounding of the recording's times: the launch latency is negative, and the launch is moved into the call.
void settle(Linking& l, LinkingReport::Constants& row, Samples& samples) {
  if (samples.launch.size() < kFewestSamples)
    samples.launch.insert(samples.launch.end(), samples.copy_launch.begin(), samples.copy_launch.end());
  // Inside a graph the device may be faster from one kernel to the next; but where nothing else runs, it alone tells.
  if (samples.gap.size() < kFewestSamples)
    samples.gap.insert(samples.gap.end(), samples.graph_gap.begin(), samples.graph_gap.end());
  const auto pick = [&](std::vector<int64_t>& list, int64_t fallback, bool used, const char* what, int64_t& value,
                        int64_t& count) {
    if (list.size() >= kFewestSamples) {
      count = static_cast<int64_t>(list.size());
      value = trimmed_mean(list);
      return;
    }
    value = fallback;
    if (used)
      l.find("pytorch.constants.default", Severity::note,
             fmt::format("device {}: only {} operations determine the {}, fewer than {}; the default of {} ns is used",
                         row.device, list.size(), what, kFewestSamples, fallback));
  };
  pick(samples.launch, kDefaultLaunchNs, row.used_launch, "launch latency", row.launch_ns, row.launch_samples);
  if (row.used_launch && row.launch_ns < 0)
    l.find("pytorch.constants.early", Severity::note,
           fmt::format("device {}: operations begin {} before their launching call returns (mean of {}); their launch "
                       "is moved into the call by that time",
                       row.device, show_time(-row.launch_ns * kPsPerNs), row.launch_samples));
  pick(samples.graph_launch, kDefaultGraphLaunchNs, row.used_graph, "graph-launch latency", row.graph_launch_ns,
       row.graph_samples);
  pick(samples.gap, kVendors[l.profile().vendor].dispatch_gap_ns, row.used_gap, "dispatch gap", row.dispatch_gap_ns,
       row.gap_samples);
}

/// A row of constants per device, without values.
std::vector<Samples> add_devices(Linking& l) {
  std::vector<Samples> samples;
  for (const trace::Lane& stream : l.profile().streams) {
    const auto known = std::find_if(l.report.constants.begin(), l.report.constants.end(),
                                    [&](const auto& row) { return row.device == stream.process; });
    l.device.constants_of_stream.push_back(static_cast<uint32_t>(known - l.report.constants.begin()));
    if (known == l.report.constants.end()) {
      l.report.constants.emplace_back().device = stream.process;
      samples.emplace_back();
    }
  }
  return samples;
}

/// What the operations launched in the window tell of their device.
void collect(Linking& l, std::vector<Samples>& samples) {
  const Profile& p = l.profile();
  std::vector<char> waits_for_event(p.device_ops.size(), 0);
  for (const EventEdge& event : l.waits.events) waits_for_event[event.op] = 1;
  for (const EventEdge& overlap : l.device.overlaps) waits_for_event[overlap.op] = 1;  // or for a part of another one
  const auto tells = [&](int64_t time) {
    return !l.scope.fit_window ||
           (time + l.scope.zero_ns >= l.scope.fit_window->first && time + l.scope.zero_ns < l.scope.fit_window->second);
  };
  for (uint32_t op = 0; op < p.device_ops.size(); ++op) {
    const DeviceOp& x = p.device_ops[op];
    LinkingReport::Constants& row = l.report.constants[l.device.constants_of_stream[x.lane]];
    Samples& mine = samples[l.device.constants_of_stream[x.lane]];
    const uint32_t call = l.device.call_of_op[op], before = l.device.previous[op];
    const int64_t free_since = before == kNone ? std::numeric_limits<int64_t>::min() : p.device_ops[before].end_ns();
    row.used_gap |= before != kNone;
    if (call != kNone) {
      const CallRole& role = l.waits.roles[call];
      const RuntimeCall& c = p.calls[call];
      const bool first = l.device.op_order[role.first_op] == op;
      (role.graph ? row.used_graph : row.used_launch) |= first;
      if (!tells(c.start_ns)) continue;
      if (!first || waits_for_event[op]) {
      } else if (role.graph) {
        const int64_t latency = x.start_ns - c.start_ns;
        if (free_since < c.start_ns && latency >= 0 && latency <= kLongestGraphLaunchNs)
          mine.graph_launch.push_back(latency);
      } else if (const int64_t latency = x.start_ns - c.end_ns();
                 free_since < c.start_ns && latency > -kInsideNs && latency <= kLongestLaunchNs) {
        (x.kind == DeviceOp::Kind::copy ? mine.copy_launch : mine.launch).push_back(latency);
      }
      // Launched well before the stream became free: only the dispatch separates the two.
      if (before != kNone && !waits_for_event[op] && c.end_ns() + kLongestGapNs < free_since &&
          x.start_ns - free_since <= kLongestGapNs)
        (role.graph ? mine.graph_gap : mine.gap).push_back(std::max<int64_t>(0, x.start_ns - free_since));
    } else if (before != kNone && x.start_ns - free_since <= kLongestGapNs && tells(x.start_ns)) {
      mine.gap.push_back(std::max<int64_t>(0, x.start_ns - free_since));
    }
  }
}

/// Where launches happen inside their calls.
void split_calls(Linking& l) {
  const Profile& p = l.profile();
  for (uint32_t call = 0; call < p.calls.size(); ++call) {
    CallRole& role = l.waits.roles[call];
    if (role.launched() == 0 || role.queue_full) continue;
    const RuntimeCall& c = p.calls[call];
    const uint32_t op = l.device.op_order[role.first_op];
    const int64_t start = p.device_ops[op].start_ns;
    const int64_t launch_ns = l.constants(op).launch_ns;
    const bool inside = start < c.end_ns() - kInsideNs || role.wait_end >= 0;
    if (role.graph) {
      role.split_at = c.start_ns;
    } else if (inside) {
      // An operation that had not to wait tells when it was launched.
      role.split_at = was_queued(l, c, op)
                          ? c.start_ns
                          : std::clamp(start - std::max<int64_t>(0, launch_ns), c.start_ns, c.end_ns());
    } else if (launch_ns < 0) {  // the device begins before the call returns
      role.split_at = std::max(c.start_ns, c.end_ns() + launch_ns);
    }
    if (role.wait_end >= 0) role.wait_end = std::max(role.wait_end, role.split_at);
  }
}

}  // namespace

void estimate_constants(Linking& l) {
  std::vector<Samples> samples = add_devices(l);
  collect(l, samples);
  for (size_t i = 0; i < samples.size(); ++i) settle(l, l.report.constants[i], samples[i]);
  split_calls(l);
}

}  // namespace chakra::link
