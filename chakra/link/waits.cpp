// What waits for what: CPU calls that block until device operations end, and device operations that
// wait for those of other streams through events. The recording often does not name the stream or
// event; the rules used then (docs/explanation/linking.md, "Waits") are marked inferred.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "chakra/link/stream_waits.h"

namespace chakra::link {
namespace {

/// Launches that may be outstanding on a stream before the next one blocks (CUDA's hardware channels).
constexpr ptrdiff_t kQueueLimit = 1024;

class WaitFinder {
 public:
  explicit WaitFinder(Linking& l) : l_(l), p_(l.profile()), order_(l), streams_(l, calls_, order_) {}

  void run() {
    for (const SyncRecord& sync : p_.syncs)
      if (sync.correlation >= 0) calls_.sync_of.emplace(sync.correlation, &sync);
    find_kinds();
    leave_out_profiler();
    streams_.find_recorded();
    for (uint32_t i = 0; i < p_.calls.size(); ++i) {
      look_at(i);
      if (l_.waits.roles[i].graph) streams_.order_graph(l_.waits.roles[i]);
    }
    streams_.finish();
  }

 private:
  void find_kinds() {
    calls_.kinds.resize(p_.calls.size());
    absl::flat_hash_map<StringId, CallKind> kind_of_name;
    for (uint32_t i = 0; i < p_.calls.size(); ++i) {
      const auto [found, added] = kind_of_name.try_emplace(p_.calls[i].name, CallKind::other);
      if (added) found->second = call_kind(l_.text(p_.calls[i].name));
      calls_.kinds[i] = found->second;
    }
  }

  uint32_t stream_of(uint32_t op) const { return p_.device_ops[op].lane; }
  int64_t end_of(uint32_t op) const { return p_.device_ops[op].end_ns(); }

  /// The profiler synchronises the device when it stops: such calls behind everything else a thread
  /// does, in no operator, are not the program's.
  void leave_out_profiler() {
    for (size_t thread = 0; thread < p_.threads.size(); ++thread) {
      int64_t last = std::numeric_limits<int64_t>::min();
      for (const uint32_t op : l_.threads.ops[thread]) last = std::max(last, p_.ops[op].end_ns());
      for (const uint32_t call : l_.threads.launches[thread]) last = std::max(last, p_.calls[call].end_ns());
      const auto& calls = l_.threads.calls[thread];
      for (size_t i = calls.size(); i-- > 0 && p_.calls[calls[i]].start_ns >= last;)
        if (calls_.kinds[calls[i]] == CallKind::device_sync) l_.waits.roles[calls[i]].leave_out = true;
    }
  }

  void look_at(uint32_t call) {
    CallRole& role = l_.waits.roles[call];
    if (role.leave_out) return;
    role.first_wait = role.last_wait = static_cast<uint32_t>(l_.waits.waited_for.size());
    switch (calls_.kinds[call]) {
      case CallKind::device_sync:
        role.blocks = true;
        wait_for_device(call, false);
        break;
      case CallKind::free: {  // waits for the device if there is something to wait for
        const RuntimeCall& c = p_.calls[call];
        for (size_t s = 0; s < p_.streams.size() && !role.blocks; ++s)
          if (const uint32_t op = order_.last_before(s, c.start_ns); op != kNone)
            role.blocks = end_of(op) > c.start_ns && end_of(op) <= c.end_ns() + kToleranceNs;
        if (role.blocks) wait_for_device(call, true);
        break;
      }
      case CallKind::stream_sync:
        role.blocks = true;
        wait_for_stream(call);
        break;
      case CallKind::event_sync:
        role.blocks = true;
        wait_for_event(call);
        break;
      case CallKind::copy:
      case CallKind::blocking_copy: wait_for_copy(call); break;
      case CallKind::wait_event: streams_.look_at(call); break;
      case CallKind::record_event:
      case CallKind::other: wait_for_room(call); break;
    }
    const bool silent = role.blocks && !calls_.sync_of.contains(p_.calls[call].correlation);
    if (silent && (calls_.kinds[call] == CallKind::stream_sync || calls_.kinds[call] == CallKind::device_sync))
      look_elsewhere(call);
    settle(call);
  }

  /// A rule named what a call waits for, but the call went on for longer: then it waited for what ended
  /// in it last.
  void look_elsewhere(uint32_t call) {
    int64_t end = p_.calls[call].start_ns;
    for (const uint32_t op : l_.waits_of(l_.waits.roles[call])) end = std::max(end, end_of(op));
    if (p_.calls[call].end_ns() - end > kUnexplainedNs) wait_for_what_ended_inside(call);
  }

  /// All streams of the thread's device: the one that the record names, else the one it last launched
  /// on, else every device.
  void wait_for_device(uint32_t call, bool inferred) {
    const RuntimeCall& c = p_.calls[call];
    int64_t device = -1;
    if (const auto found = calls_.sync_of.find(c.correlation);
        found != calls_.sync_of.end() && found->second->device >= 0) {
      device = found->second->device;
    } else if (const uint32_t launch = order_.launch_before(c.lane, c.start_ns); launch != kNone) {
      device = p_.streams[stream_of(order_.op_of(launch))].process;
      inferred |= l_.device.several_devices;
    }
    for (size_t s = 0; s < p_.streams.size(); ++s)
      if (device < 0 || p_.streams[s].process == device)
        if (const uint32_t op = order_.last_before(s, c.start_ns); op != kNone) add_wait(call, op, inferred);
  }

  void wait_for_stream(uint32_t call) {
    const RuntimeCall& c = p_.calls[call];
    if (const auto found = calls_.sync_of.find(c.correlation); found != calls_.sync_of.end()) {
      if (const uint32_t s = order_.stream_numbered(found->second->device, found->second->stream); s != kNone)
        if (const std::vector<uint32_t> ops = order_.all_before(s, c.start_ns); !ops.empty())
          return add_waits(call, ops);
    }
    // Silent recording: the stream that this thread last launched on.
    if (const uint32_t launch = order_.launch_before(c.lane, c.start_ns); launch != kNone) {
      const uint32_t op = order_.last_before(stream_of(order_.op_of(launch)), c.start_ns);
      if (op != kNone && end_of(op) <= c.end_ns() + kToleranceNs) return add_wait(call, op, true);
    }
    wait_for_what_ended_inside(call);
  }

  void wait_for_event(uint32_t call) {
    const RuntimeCall& c = p_.calls[call];
    if (const auto found = calls_.sync_of.find(c.correlation); found != calls_.sync_of.end())
      if (const std::vector<uint32_t> ops = order_.recorded_before(*found->second); !ops.empty())
        return add_waits(call, ops);
    wait_for_what_ended_inside(call);
  }

  /// The operation that ended last inside the call, if one did.
  void wait_for_what_ended_inside(uint32_t call) {
    const RuntimeCall& c = p_.calls[call];
    uint32_t best = kNone;
    for (size_t s = 0; s < p_.streams.size(); ++s) {
      const auto& ops = l_.device.stream_ops[s];  // by start; on a stream also by end
      auto after = std::upper_bound(ops.begin(), ops.end(), c.end_ns() + kToleranceNs,
                                    [&](int64_t t, uint32_t op) { return t < end_of(op); });
      if (after == ops.begin()) continue;
      const uint32_t op = *std::prev(after);
      if (end_of(op) > c.start_ns && l_.launched_at(op) < c.start_ns && (best == kNone || end_of(op) > end_of(best)))
        best = op;
    }
    if (best != kNone) add_wait(call, best, true);
  }

  /// A launch behind as many outstanding ones as the queue holds waits until there is room.
  void wait_for_room(uint32_t call) {
    CallRole& role = l_.waits.roles[call];
    if (role.launched() != 1 || role.graph) return;
    const RuntimeCall& c = p_.calls[call];
    const auto& list = order_.launches(stream_of(order_.op_of(call)));
    const auto self = std::lower_bound(list.begin(), list.end(), c.start_ns,
                                       [](const LaunchOrder::Launch& launch, int64_t t) { return launch.at < t; });
    if (self - list.begin() < kQueueLimit) return;
    const uint32_t before = (self - kQueueLimit)->op;
    if (end_of(before) <= c.start_ns + kToleranceNs || end_of(before) > c.end_ns() + kToleranceNs) return;
    role.blocks = role.queue_full = true;
    add_wait(call, before, true);
  }

  /// A copy that ended inside its own call, which is documented to return only then.
  void wait_for_copy(uint32_t call) {
    CallRole& role = l_.waits.roles[call];
    if (role.launched() != 1) return;
    const uint32_t op = order_.op_of(call);
    const DeviceOp& copy = p_.device_ops[op];
    const CopyKind kind = copy_kind(l_.text(copy.name));
    if (calls_.kinds[call] == CallKind::copy && kind == CopyKind::pageable_to_device) return wait_for_turn(call, op);
    if (calls_.kinds[call] == CallKind::copy && kind != CopyKind::pageable_to_host) return;
    if (copy.start_ns >= p_.calls[call].start_ns && copy.end_ns() <= p_.calls[call].end_ns() + kToleranceNs) {
      role.blocks = true;
      add_wait(call, op, false);
    }
  }

  /// A copy from pageable memory is fed by its own call, which therefore waits for the copy's turn on
  /// the stream; what the call does from then on is the host's part of the copy.
  void wait_for_turn(uint32_t call, uint32_t op) {
    const RuntimeCall& c = p_.calls[call];
    const DeviceOp& copy = p_.device_ops[op];
    const uint32_t before = l_.device.previous[op];
    if (before == kNone || end_of(before) <= c.start_ns || copy.start_ns >= c.end_ns() ||
        copy.start_ns - end_of(before) > kLongestGapNs)
      return;
    l_.waits.roles[call].blocks = true;
    l_.waits.roles[call].feeds_copy = true;
    add_wait(call, before, true);
  }

  void add_waits(uint32_t call, const std::vector<uint32_t>& ops) {
    for (const uint32_t op : ops) add_wait(call, op, false);
  }
  void add_wait(uint32_t call, uint32_t op, bool inferred) {
    // What ended after the call returned was not waited for, whatever a rule says; but the clocks of
    // host and device may differ by some microseconds.
    if (end_of(op) > p_.calls[call].end_ns() + (inferred ? kToleranceNs : kClockSkewNs)) return;
    l_.waits.waited_for.push_back(op);
    l_.waits.roles[call].last_wait = static_cast<uint32_t>(l_.waits.waited_for.size());
    l_.waits.roles[call].wait_inferred |= inferred;
  }

  /// When the wait ended, from what is waited for; counts calls that found nothing.
  void settle(uint32_t call) {
    CallRole& role = l_.waits.roles[call];
    if (!role.blocks) return;
    const RuntimeCall& c = p_.calls[call];
    if (role.first_wait == role.last_wait) {
      l_.report.unattributed_sync_ns += c.dur_ns;
      return;
    }
    std::sort(l_.waits.waited_for.begin() + role.first_wait, l_.waits.waited_for.begin() + role.last_wait,
              [&](uint32_t a, uint32_t b) { return std::pair(end_of(a), a) < std::pair(end_of(b), b); });
    const int64_t end = end_of(l_.waits.waited_for.back());
    if (end > c.start_ns) role.wait_end = std::min(end, c.end_ns());
    else if (c.dur_ns > kUnexplainedNs) l_.report.unattributed_sync_ns += c.dur_ns;
  }

  Linking& l_;
  const Profile& p_;
  CallIndex calls_;
  LaunchOrder order_;
  StreamWaits streams_;
};

}  // namespace

void find_waits(Linking& l) { WaitFinder(l).run(); }

}  // namespace chakra::link
