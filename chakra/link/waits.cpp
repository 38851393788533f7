// What waits for what: CPU calls that block until device operations end, and device operations that
// wait for those of other streams through events. The recording often does not name the stream or
// event; the rules used then (docs/linking.md, "Waits") are marked inferred.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <tuple>

#include "chakra/link/late_events.h"
#include "chakra/link/linking.h"

namespace chakra::pytorch {
namespace {

enum class CallKind : uint8_t {
  other,
  device_sync,
  stream_sync,
  event_sync,
  wait_event,
  record_event,
  free,
  copy,
  blocking_copy
};

/// Of CUDA and HIP, of SYCL's Unified Runtime and its predecessor PI, of Level Zero and of Ascend's ACL. The first
/// part of a name that is found decides.
constexpr std::pair<std::string_view, CallKind> kCallKinds[] = {
    {"DeviceSynchronize", CallKind::device_sync},   {"CtxSynchronize", CallKind::device_sync},
    {"ThreadSynchronize", CallKind::device_sync},   {"SynchronizeDevice", CallKind::device_sync},
    {"StreamSynchronize", CallKind::stream_sync},   {"SynchronizeStream", CallKind::stream_sync},
    {"QueueFinish", CallKind::stream_sync},         {"QueueSynchronize", CallKind::stream_sync},
    {"ListHostSynchronize", CallKind::stream_sync}, {"StreamWaitEvent", CallKind::wait_event},
    {"EnqueueEventsWait", CallKind::other},         {"EventSynchronize", CallKind::event_sync},
    {"SynchronizeEvent", CallKind::event_sync},     {"EventHostSynchronize", CallKind::event_sync},
    {"FenceHostSynchronize", CallKind::event_sync}, {"EventWait", CallKind::event_sync},
    {"EventsWait", CallKind::event_sync},           {"EventRecord", CallKind::record_event},
};

CallKind kind_of_call(std::string_view name) {
  for (const auto& [part, kind] : kCallKinds)
    if (contains(name, part)) return kind;
  if (contains(name, "Free") && !contains(name, "FreeAsync")) return CallKind::free;
  if (contains(name, "Memcpy") || contains(name, "memcpy"))
    return contains(name, "Async") ? CallKind::copy : CallKind::blocking_copy;
  return CallKind::other;
}

/// Launches that may be outstanding on a stream before the next one blocks (CUDA's hardware channels).
constexpr ptrdiff_t kQueueLimit = 1024;

/// Operations of other streams that a stream is remembered to wait for; beyond them the last to end.
constexpr size_t kMostPending = 32;

/// A call of c10d or NCCL: synchronisation in it belongs to the communication it launches.
bool is_comm_op(std::string_view name) {
  return name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("c10d::");
}

class WaitFinder {
 public:
  explicit WaitFinder(Linking& l) : l_(l), k_(l.kineto) {}

  void run() {
    for (const SyncRecord& sync : k_.syncs)
      if (sync.correlation >= 0) sync_of_.emplace(sync.correlation, &sync);
    call_of_ = RowMap(k_.calls, &number_of);
    for (uint32_t i = 0; i < k_.calls.size(); ++i)
      if (const auto number = number_of(k_.calls[i]))
        if (uint32_t& first = call_of_[*number]; first == kNone) first = i;
    sort_launches();
    kinds_.resize(k_.calls.size());
    absl::flat_hash_map<StringId, CallKind> kind_of_name;
    for (uint32_t i = 0; i < k_.calls.size(); ++i) {
      const auto [found, added] = kind_of_name.try_emplace(k_.calls[i].name, CallKind::other);
      if (added) found->second = kind_of_call(l_.text(k_.calls[i].name));
      kinds_[i] = found->second;
    }
    leave_out_profiler();
    make_recorded_stream_waits();
    for (uint32_t i = 0; i < k_.calls.size(); ++i) {
      look_at(i);
      if (l_.roles[i].graph) order_graph(l_.roles[i]);
    }
    std::sort(l_.events.begin(), l_.events.end(),
              [](const EventEdge& a, const EventEdge& b) { return std::pair(a.op, a.on) < std::pair(b.op, b.on); });
    l_.events.erase(std::unique(l_.events.begin(), l_.events.end(),
                                [](const EventEdge& a, const EventEdge& b) { return a.op == b.op && a.on == b.on; }),
                    l_.events.end());
  }

 private:
  /// Per stream the operations by launch, so that "the last launched before" is a search.
  void sort_launches() {
    for (uint32_t s = 0; s < k_.streams.size(); ++s) add_stream(k_.streams[s].process, k_.streams[s].index, s);
    auto streams = static_cast<uint32_t>(k_.streams.size());
    for (const SyncRecord& sync : k_.syncs)  // a stream may do nothing but wait
      if (sync.kind == SyncRecord::Kind::wait_event && add_stream(sync.device, sync.stream, streams)) ++streams;
    pending_.resize(streams);
    launched_.resize(streams);
    by_correlation_ = l_.stream_ops;
    by_correlation_.resize(streams);
    for (auto& stream : by_correlation_)
      sort_rows(stream,
                [&](uint32_t a, uint32_t b) { return k_.device_ops[a].correlation < k_.device_ops[b].correlation; });
    for (uint32_t i = 0; i < k_.device_ops.size(); ++i)
      launched_[k_.device_ops[i].lane].push_back({l_.launched_at(i), i});
    for (auto& stream : launched_)
      sort_rows(stream, [&](const Launch& a, const Launch& b) {
        if (a.at != b.at) return a.at < b.at;
        return std::pair(k_.device_ops[a.op].start_ns, a.op) < std::pair(k_.device_ops[b.op].start_ns, b.op);
      });
  }

  struct Launch {
    int64_t at;
    uint32_t op;
  };
  /// The last operation launched on a stream before `time`, or kNone.
  uint32_t last_before(size_t stream, int64_t time) const {
    const auto& list = launched_[stream];
    const auto after =
        std::lower_bound(list.begin(), list.end(), time, [](const Launch& launch, int64_t t) { return launch.at < t; });
    return after == list.begin() ? kNone : std::prev(after)->op;
  }
  uint32_t first_after(size_t stream, int64_t time) const {
    const auto& list = launched_[stream];
    const auto after =
        std::upper_bound(list.begin(), list.end(), time, [](int64_t t, const Launch& launch) { return t < launch.at; });
    return after == list.end() ? kNone : after->op;
  }
  /// The thread's last launching call before, or first after, `time`; or kNone.
  uint32_t launch_before(uint32_t thread, int64_t time) const {
    const auto& list = l_.thread_launches[thread];
    const auto after = std::lower_bound(list.begin(), list.end(), time,
                                        [&](uint32_t call, int64_t t) { return k_.calls[call].start_ns < t; });
    return after == list.begin() ? kNone : *std::prev(after);
  }
  uint32_t launch_after(uint32_t thread, int64_t time) const {
    const auto& list = l_.thread_launches[thread];
    const auto after = std::upper_bound(list.begin(), list.end(), time,
                                        [&](int64_t t, uint32_t call) { return t < k_.calls[call].start_ns; });
    return after == list.end() ? kNone : *after;
  }
  uint32_t op_of(uint32_t call) const { return l_.op_order[l_.roles[call].last_op - 1]; }
  uint32_t stream_of(uint32_t op) const { return k_.device_ops[op].lane; }
  int64_t end_of(uint32_t op) const { return k_.device_ops[op].end_ns(); }

  /// A stream's number is unique on its device only; records that do not say theirs mean the only one.
  uint32_t stream_numbered(int64_t device, int64_t number) const {
    const auto found = streams_.find(std::pair(std::max<int64_t>(device, -1), number));
    return found == streams_.end() ? kNone : found->second;
  }
  bool add_stream(int64_t device, int64_t number, uint32_t stream) {
    const bool added = streams_.try_emplace(std::pair(std::max<int64_t>(device, -1), number), stream).second;
    if (added) streams_.try_emplace(std::pair(int64_t{-1}, number), stream);
    return added;
  }

  // ---- what a stream has to do ---------------------------------------------------------------------------

  /// What a stream waits for since a call at this time, until it gets an operation itself.
  struct Pending {
    int64_t at, correlation;
    std::vector<uint32_t> ops;  ///< at most one of each stream, with those of calls before that are pending, too
  };

  /// What a stream had to do before `time`: the last operation launched on it, and what it waits for since.
  std::vector<uint32_t> all_before(size_t stream, int64_t time) const {
    const std::vector<Pending>& list = pending_[stream];
    const auto after =
        std::lower_bound(list.begin(), list.end(), time, [](const Pending& p, int64_t t) { return p.at < t; });
    const uint32_t op = last_before(stream, time);
    const bool waits = after != list.begin() && (op == kNone || std::prev(after)->at > l_.launched_at(op));
    return with_pending(op, waits ? &*std::prev(after) : nullptr);
  }
  static std::vector<uint32_t> with_pending(uint32_t op, const Pending* pending) {
    std::vector<uint32_t> ops;
    if (pending != nullptr) ops = pending->ops;
    if (op != kNone) ops.push_back(op);
    return ops;
  }

  /// Of each stream the operation launched last, of the streams the last to end.
  void unite(std::vector<uint32_t>& ops, const std::vector<uint32_t>& more) const {
    const auto rank = [&](uint32_t op) {
      return std::tuple(stream_of(op), l_.launched_at(op), k_.device_ops[op].start_ns, op);
    };
    ops.insert(ops.end(), more.begin(), more.end());
    std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return rank(a) > rank(b); });
    ops.erase(std::unique(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return stream_of(a) == stream_of(b); }),
              ops.end());
    if (ops.size() <= kMostPending) return;
    std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return end_of(a) > end_of(b); });
    ops.resize(kMostPending);
  }

  /// The waits of streams that cuda_sync records name, as they were asked for.
  void make_recorded_stream_waits() {
    std::vector<uint32_t> calls;
    for (uint32_t call = 0; call < k_.calls.size(); ++call)
      if (kinds_[call] == CallKind::wait_event && stream_wait_of(call) != nullptr) calls.push_back(call);
    std::stable_sort(calls.begin(), calls.end(),
                     [&](uint32_t a, uint32_t b) { return k_.calls[a].start_ns < k_.calls[b].start_ns; });
    for (const uint32_t call : calls) {
      const RuntimeCall& c = k_.calls[call];
      const SyncRecord& sync = *stream_wait_of(call);
      const uint32_t to = stream_numbered(sync.device, sync.stream);
      std::vector<uint32_t> ops = recorded_before(sync);
      std::erase_if(ops, [&](uint32_t op) { return stream_of(op) == to; });
      if (to == kNone || ops.empty()) continue;
      if (const uint32_t op = first_after(to, c.start_ns); op != kNone)
        for (const uint32_t on : ops) l_.events.push_back({op, on, false});
      if (const uint32_t last = last_before(to, c.start_ns);
          !pending_[to].empty() && (last == kNone || pending_[to].back().at > l_.launched_at(last)))
        unite(ops, pending_[to].back().ops);
      pending_[to].push_back({c.start_ns, c.correlation, std::move(ops)});
    }
  }
  /// The record of a call that makes a stream wait for an event, if there is one.
  const SyncRecord* stream_wait_of(uint32_t call) const {
    const auto found = sync_of_.find(k_.calls[call].correlation);
    const bool known = found != sync_of_.end() && found->second->kind == SyncRecord::Kind::wait_event;
    return known ? found->second : nullptr;
  }

  /// The profiler synchronises the device when it stops: such calls behind everything else a thread
  /// does, in no operator, are not the program's.
  void leave_out_profiler() {
    for (size_t thread = 0; thread < k_.threads.size(); ++thread) {
      int64_t last = std::numeric_limits<int64_t>::min();
      for (const uint32_t op : l_.thread_ops[thread]) last = std::max(last, k_.ops[op].end_ns());
      for (const uint32_t call : l_.thread_launches[thread]) last = std::max(last, k_.calls[call].end_ns());
      const auto& calls = l_.thread_calls[thread];
      for (size_t i = calls.size(); i-- > 0 && k_.calls[calls[i]].start_ns >= last;)
        if (kinds_[calls[i]] == CallKind::device_sync) l_.roles[calls[i]].leave_out = true;
    }
  }

  void look_at(uint32_t call) {
    CallRole& role = l_.roles[call];
    if (role.leave_out) return;
    role.first_wait = role.last_wait = static_cast<uint32_t>(l_.waited_for.size());
    switch (kinds_[call]) {
      case CallKind::device_sync:
        role.blocks = true;
        wait_for_device(call, false);
        break;
      case CallKind::free: {  // waits for the device if there is something to wait for
        const RuntimeCall& c = k_.calls[call];
        for (size_t s = 0; s < k_.streams.size() && !role.blocks; ++s)
          if (const uint32_t op = last_before(s, c.start_ns); op != kNone)
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
      case CallKind::wait_event: make_stream_wait(call); break;
      case CallKind::record_event:
      case CallKind::other: wait_for_room(call); break;
    }
    const bool silent = role.blocks && !sync_of_.contains(k_.calls[call].correlation);
    if (silent && (kinds_[call] == CallKind::stream_sync || kinds_[call] == CallKind::device_sync))
      look_elsewhere(call);
    settle(call);
  }

  /// A rule named what a call waits for, but the call went on for longer: then it waited for what ended
  /// in it last.
  void look_elsewhere(uint32_t call) {
    int64_t end = k_.calls[call].start_ns;
    for (const uint32_t op : l_.waits_of(l_.roles[call])) end = std::max(end, end_of(op));
    if (k_.calls[call].end_ns() - end > kUnexplainedNs) wait_for_what_ended_inside(call);
  }

  /// All streams of the thread's device: the one that the record names, else the one it last launched
  /// on, else every device.
  void wait_for_device(uint32_t call, bool inferred) {
    const RuntimeCall& c = k_.calls[call];
    int64_t device = -1;
    if (const auto found = sync_of_.find(c.correlation); found != sync_of_.end() && found->second->device >= 0) {
      device = found->second->device;
    } else if (const uint32_t launch = launch_before(c.lane, c.start_ns); launch != kNone) {
      device = k_.streams[stream_of(op_of(launch))].process;
      inferred |= l_.several_devices;
    }
    for (size_t s = 0; s < k_.streams.size(); ++s)
      if (device < 0 || k_.streams[s].process == device)
        if (const uint32_t op = last_before(s, c.start_ns); op != kNone) add_wait(call, op, inferred);
  }

  void wait_for_stream(uint32_t call) {
    const RuntimeCall& c = k_.calls[call];
    if (const auto found = sync_of_.find(c.correlation); found != sync_of_.end()) {
      if (const uint32_t s = stream_numbered(found->second->device, found->second->stream); s != kNone)
        if (const std::vector<uint32_t> ops = all_before(s, c.start_ns); !ops.empty()) return add_waits(call, ops);
    }
    // Silent recording: the stream that this thread last launched on.
    if (const uint32_t launch = launch_before(c.lane, c.start_ns); launch != kNone) {
      const uint32_t op = last_before(stream_of(op_of(launch)), c.start_ns);
      if (op != kNone && end_of(op) <= c.end_ns() + kToleranceNs) return add_wait(call, op, true);
    }
    wait_for_what_ended_inside(call);
  }

  void wait_for_event(uint32_t call) {
    const RuntimeCall& c = k_.calls[call];
    if (const auto found = sync_of_.find(c.correlation); found != sync_of_.end())
      if (const std::vector<uint32_t> ops = recorded_before(*found->second); !ops.empty()) return add_waits(call, ops);
    wait_for_what_ended_inside(call);
  }

  /// The operation that ended last inside the call, if one did.
  void wait_for_what_ended_inside(uint32_t call) {
    const RuntimeCall& c = k_.calls[call];
    uint32_t best = kNone;
    for (size_t s = 0; s < k_.streams.size(); ++s) {
      const auto& ops = l_.stream_ops[s];  // by start; on a stream also by end
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
    CallRole& role = l_.roles[call];
    if (role.launched() != 1 || role.graph) return;
    const RuntimeCall& c = k_.calls[call];
    const auto& list = launched_[stream_of(op_of(call))];
    const auto self = std::lower_bound(list.begin(), list.end(), c.start_ns,
                                       [](const Launch& launch, int64_t t) { return launch.at < t; });
    if (self - list.begin() < kQueueLimit) return;
    const uint32_t before = (self - kQueueLimit)->op;
    if (end_of(before) <= c.start_ns + kToleranceNs || end_of(before) > c.end_ns() + kToleranceNs) return;
    role.blocks = role.queue_full = true;
    add_wait(call, before, true);
  }

  /// A copy that ended inside its own call, which is documented to return only then.
  void wait_for_copy(uint32_t call) {
    CallRole& role = l_.roles[call];
    if (role.launched() != 1) return;
    const uint32_t op = op_of(call);
    const DeviceOp& copy = k_.device_ops[op];
    const std::string_view name = l_.text(copy.name);
    const bool pageable_to_host = contains(name, "DtoH") && !contains(name, "Pinned");
    const bool pageable_to_device = contains(name, "HtoD") && contains(name, "Pageable");
    if (kinds_[call] == CallKind::copy && pageable_to_device) return wait_for_turn(call, op);
    if (kinds_[call] == CallKind::copy && !pageable_to_host) return;
    if (copy.start_ns >= k_.calls[call].start_ns && copy.end_ns() <= k_.calls[call].end_ns() + kToleranceNs) {
      role.blocks = true;
      add_wait(call, op, false);
    }
  }

  /// A copy from pageable memory is fed by its own call, which therefore waits for the copy's turn on
  /// the stream; what the call does from then on is the host's part of the copy.
  void wait_for_turn(uint32_t call, uint32_t op) {
    const RuntimeCall& c = k_.calls[call];
    const DeviceOp& copy = k_.device_ops[op];
    const uint32_t before = l_.previous[op];
    if (before == kNone || end_of(before) <= c.start_ns || copy.start_ns >= c.end_ns() ||
        copy.start_ns - end_of(before) > kLongestGapNs)
      return;
    l_.roles[call].blocks = true;
    l_.roles[call].feeds_copy = true;
    add_wait(call, before, true);
  }

  void add_waits(uint32_t call, const std::vector<uint32_t>& ops) {
    for (const uint32_t op : ops) add_wait(call, op, false);
  }
  void add_wait(uint32_t call, uint32_t op, bool inferred) {
    // What ended after the call returned was not waited for, whatever a rule says; but the clocks of
    // host and device may differ by some microseconds.
    if (end_of(op) > k_.calls[call].end_ns() + (inferred ? kToleranceNs : kClockSkewNs)) return;
    l_.waited_for.push_back(op);
    l_.roles[call].last_wait = static_cast<uint32_t>(l_.waited_for.size());
    l_.roles[call].wait_inferred |= inferred;
  }

  /// When the wait ended, from what is waited for; counts calls that found nothing.
  void settle(uint32_t call) {
    CallRole& role = l_.roles[call];
    if (!role.blocks) return;
    const RuntimeCall& c = k_.calls[call];
    if (role.first_wait == role.last_wait) {
      l_.report.unattributed_sync_ns += c.dur_ns;
      return;
    }
    std::sort(l_.waited_for.begin() + role.first_wait, l_.waited_for.begin() + role.last_wait,
              [&](uint32_t a, uint32_t b) { return std::pair(end_of(a), a) < std::pair(end_of(b), b); });
    const int64_t end = end_of(l_.waited_for.back());
    if (end > c.start_ns) role.wait_end = std::min(end, c.end_ns());
    else if (c.dur_ns > kUnexplainedNs) l_.report.unattributed_sync_ns += c.dur_ns;
  }

  /// The stream on which the event was recorded. The record has its number, but the device only of the stream that
  /// waits, which does not wait for itself.
  uint32_t source_stream(const SyncRecord& sync) const {
    const bool stream_waits = sync.kind == SyncRecord::Kind::wait_event;
    const uint32_t waiting = stream_waits ? stream_numbered(sync.device, sync.stream) : kNone;
    uint32_t candidate = kNone, candidates = 0;
    for (uint32_t s = 0; s < k_.streams.size(); ++s)
      if (k_.streams[s].index == sync.source_stream && s != waiting) candidate = s, ++candidates;
    if (candidates > 1) {  // of one number on several devices: on the one that the thread used when it recorded
      uint32_t same = stream_numbered(sync.device, sync.source_stream);
      if (const uint32_t call = call_of_.find(sync.source_correlation); call != kNone) {
        const RuntimeCall& record = k_.calls[call];
        if (const uint32_t launch = launch_before(record.lane, record.start_ns); launch != kNone)
          same = stream_numbered(k_.streams[stream_of(op_of(launch))].process, sync.source_stream);
      }
      if (same != kNone && same != waiting) return same;
    }
    // A stream of which nothing else is known may have waited.
    return candidate != kNone ? candidate : stream_numbered(sync.device, sync.source_stream);
  }

  /// What the stream had to do before the event that a cuda_sync record names. Correlations are given
  /// out as calls begin, so they also order what an unrecorded cudaEventRecord stood between.
  std::vector<uint32_t> recorded_before(const SyncRecord& sync) const {
    if (sync.source_correlation < 0) return {};
    const uint32_t s = source_stream(sync);
    if (s == kNone) return {};
    if (const uint32_t call = call_of_.find(sync.source_correlation); call != kNone)
      return all_before(s, k_.calls[call].start_ns);
    const auto& list = by_correlation_[s];
    const auto after = std::lower_bound(list.begin(), list.end(), sync.source_correlation,
                                        [&](uint32_t op, int64_t c) { return k_.device_ops[op].correlation < c; });
    const uint32_t op = after == list.begin() ? kNone : *std::prev(after);
    const auto wait = std::lower_bound(pending_[s].begin(), pending_[s].end(), sync.source_correlation,
                                       [](const Pending& p, int64_t c) { return p.correlation < c; });
    const bool waits =
        wait != pending_[s].begin() && (op == kNone || std::prev(wait)->correlation > k_.device_ops[op].correlation);
    return with_pending(op, waits ? &*std::prev(wait) : nullptr);
  }

  /// Where no record says which stream waits for what.
  void make_stream_wait(uint32_t call) {
    const RuntimeCall& c = k_.calls[call];
    if (stream_wait_of(call) != nullptr || k_.streams.size() < 2) return;
    const uint32_t before = launch_before(c.lane, c.start_ns), after = launch_after(c.lane, c.start_ns);
    // Inside a communication call that launches a kernel, only waits before the launch are the
    // program's; what follows is between streams of the communication library.
    if (const uint32_t comm = enclosing_comm_op(call); comm != kNone) {
      const bool launched = before != kNone && k_.calls[before].start_ns >= k_.ops[comm].start_ns;
      const bool launches = after != kNone && k_.calls[after].start_ns < k_.ops[comm].end_ns();
      if (launched && !launches) return;
    }
    // The stream that waits is the thread's current one: where it launches next, or last launched
    // something that is no communication.
    const uint32_t current = after != kNone ? after : last_compute_launch(c.lane, c.start_ns);
    if (current == kNone) return;
    const uint32_t to = stream_of(op_of(current));
    const uint32_t op = first_after(to, c.start_ns);  // maybe launched by another thread
    if (op == kNone) return;
    uint32_t on = kNone;
    if (before != kNone && stream_of(op_of(before)) != to) {
      on = last_before(stream_of(op_of(before)), c.start_ns);
    } else {  // of the other streams' last operations, the latest that could have been waited for
      for (uint32_t s = 0; s < k_.streams.size(); ++s) {
        if (s == to) continue;
        const uint32_t candidate = last_before(s, c.start_ns);
        if (candidate != kNone && end_of(candidate) <= k_.device_ops[op].start_ns + kToleranceNs &&
            (on == kNone || end_of(candidate) > end_of(on)))
          on = candidate;
      }
    }
    if (on == kNone || end_of(on) > k_.device_ops[op].start_ns + kToleranceNs)
      on = ended_just_before(l_, op, c.start_ns);
    if (on != kNone) l_.events.push_back({op, on, true});
  }

  /// What a graph's operations wait for is not recorded. Where its own stream does not explain a start, it
  /// was the operation of another stream that ended last before it.
  void order_graph(const CallRole& role) {
    std::vector<uint32_t> by_end(l_.op_order.begin() + role.first_op, l_.op_order.begin() + role.last_op);
    std::sort(by_end.begin(), by_end.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(end_of(a), a) < std::pair(end_of(b), b); });
    for (uint32_t i = role.first_op; i < role.last_op; ++i) {
      const uint32_t op = l_.op_order[i], before = l_.previous[op];
      const int64_t start = k_.device_ops[op].start_ns;
      const int64_t free = before == kNone ? std::numeric_limits<int64_t>::min() : end_of(before);
      if (before != kNone && start - free <= 2 * kToleranceNs) continue;
      auto at = std::upper_bound(by_end.begin(), by_end.end(), start + kToleranceNs,
                                 [&](int64_t t, uint32_t o) { return t < end_of(o); });
      while (at != by_end.begin()) {
        const uint32_t on = *--at;
        if (end_of(on) <= free || start - end_of(on) > kLongestGapNs) break;
        if (stream_of(on) == stream_of(op) || k_.device_ops[on].start_ns >= start) continue;
        l_.events.push_back({op, on, true});
        break;
      }
    }
  }

  uint32_t last_compute_launch(uint32_t thread, int64_t time) const {
    const auto& list = l_.thread_launches[thread];
    for (size_t i = list.size(); i-- > 0;)
      if (k_.calls[list[i]].start_ns < time && enclosing_comm_op(list[i]) == kNone) return list[i];
    return kNone;
  }

  /// The outermost communication operator around a call, or kNone.
  uint32_t enclosing_comm_op(uint32_t call) const {
    uint32_t outermost = kNone;
    for (uint32_t op = l_.enclosing_op[call]; op != kNone; op = l_.parent_op[op])
      if (is_comm_op(l_.text(k_.ops[op].name))) outermost = op;
    return outermost;
  }

  Linking& l_;
  const Kineto& k_;
  absl::flat_hash_map<int64_t, const SyncRecord*> sync_of_;
  RowMap call_of_;                                                      ///< by correlation, the first call
  absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t> streams_;  ///< by device (-1: any) and number
  std::vector<std::vector<Launch>> launched_;                           ///< per stream
  std::vector<std::vector<Pending>> pending_;                           ///< per stream, by time
  std::vector<std::vector<uint32_t>> by_correlation_;                   ///< per stream
  std::vector<CallKind> kinds_;
};

}  // namespace

void find_waits(Linking& l) { WaitFinder(l).run(); }

}  // namespace chakra::pytorch
