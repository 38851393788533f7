#include "chakra/link/stream_waits.h"

#include <algorithm>

#include "chakra/link/late_events.h"

namespace chakra::link {
namespace {

/// A call of c10d or NCCL: synchronisation in it belongs to the communication it launches.
bool is_comm_op(std::string_view name) { return is_comm_record(name) || name.starts_with("c10d::"); }

}  // namespace

/// The waits of streams that cuda_sync records name, as they were asked for.
void StreamWaits::find_recorded() {
  std::vector<uint32_t> calls;
  for (uint32_t call = 0; call < p_.calls.size(); ++call)
    if (calls_.kinds[call] == CallKind::wait_event && stream_wait_of(call) != nullptr) calls.push_back(call);
  std::stable_sort(calls.begin(), calls.end(),
                   [&](uint32_t a, uint32_t b) { return p_.calls[a].start_ns < p_.calls[b].start_ns; });
  for (const uint32_t call : calls) {
    const RuntimeCall& c = p_.calls[call];
    const SyncRecord& sync = *stream_wait_of(call);
    const uint32_t to = order_.stream_numbered(sync.device, sync.stream);
    std::vector<uint32_t> ops = order_.recorded_before(sync);
    std::erase_if(ops, [&](uint32_t op) { return stream_of(op) == to; });
    if (to == kNone || ops.empty()) continue;
    if (const uint32_t op = order_.first_after(to, c.start_ns); op != kNone)
      for (const uint32_t on : ops) l_.waits.events.push_back({op, on, false});
    order_.note_wait(to, c, std::move(ops));
  }
}

/// The record of a call that makes a stream wait for an event, if there is one.
const SyncRecord* StreamWaits::stream_wait_of(uint32_t call) const {
  const auto found = calls_.sync_of.find(p_.calls[call].correlation);
  const bool known = found != calls_.sync_of.end() && found->second->kind == SyncRecord::Kind::wait_event;
  return known ? found->second : nullptr;
}

void StreamWaits::look_at(uint32_t call) {
  const RuntimeCall& c = p_.calls[call];
  if (stream_wait_of(call) != nullptr || p_.streams.size() < 2) return;
  const uint32_t before = order_.launch_before(c.lane, c.start_ns), after = order_.launch_after(c.lane, c.start_ns);
  // Inside a communication call that launches a kernel, only waits before the launch are the
  // program's; what follows is between streams of the communication library.
  if (const uint32_t comm = enclosing_comm_op(call); comm != kNone) {
    const bool launched = before != kNone && p_.calls[before].start_ns >= p_.ops[comm].start_ns;
    const bool launches = after != kNone && p_.calls[after].start_ns < p_.ops[comm].end_ns();
    if (launched && !launches) return;
  }
  // The stream that waits is the thread's current one: where it launches next, or last launched
  // an operation other than communication.
  const uint32_t current = after != kNone ? after : last_compute_launch(c.lane, c.start_ns);
  if (current == kNone) return;
  const uint32_t to = stream_of(order_.op_of(current));
  const uint32_t op = order_.first_after(to, c.start_ns);  // maybe launched by another thread
  if (op == kNone) return;
  uint32_t on = kNone;
  if (before != kNone && stream_of(order_.op_of(before)) != to) {
    on = order_.last_before(stream_of(order_.op_of(before)), c.start_ns);
  } else {  // of the other streams' last operations, the latest that could have been waited for
    for (uint32_t s = 0; s < p_.streams.size(); ++s) {
      if (s == to) continue;
      const uint32_t candidate = order_.last_before(s, c.start_ns);
      if (candidate != kNone && end_of(candidate) <= p_.device_ops[op].start_ns + kToleranceNs &&
          (on == kNone || end_of(candidate) > end_of(on)))
        on = candidate;
    }
  }
  if (on == kNone || end_of(on) > p_.device_ops[op].start_ns + kToleranceNs) on = ended_just_before(l_, op, c.start_ns);
  if (on != kNone) l_.waits.events.push_back({op, on, true});
}

void StreamWaits::order_graph(const CallRole& role) {
  std::vector<uint32_t> by_end(l_.device.op_order.begin() + role.first_op, l_.device.op_order.begin() + role.last_op);
  std::sort(by_end.begin(), by_end.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(end_of(a), a) < std::pair(end_of(b), b); });
  for (uint32_t i = role.first_op; i < role.last_op; ++i) {
    const uint32_t op = l_.device.op_order[i], before = l_.device.previous[op];
    const int64_t start = p_.device_ops[op].start_ns;
    const int64_t free = before == kNone ? std::numeric_limits<int64_t>::min() : end_of(before);
    if (before != kNone && start - free <= 2 * kToleranceNs) continue;
    auto at = std::upper_bound(by_end.begin(), by_end.end(), start + kToleranceNs,
                               [&](int64_t t, uint32_t o) { return t < end_of(o); });
    while (at != by_end.begin()) {
      const uint32_t on = *--at;
      if (end_of(on) <= free || start - end_of(on) > kLongestGapNs) break;
      if (stream_of(on) == stream_of(op) || p_.device_ops[on].start_ns >= start) continue;
      l_.waits.events.push_back({op, on, true});
      break;
    }
  }
}

uint32_t StreamWaits::last_compute_launch(uint32_t thread, int64_t time) const {
  const auto& list = l_.threads.launches[thread];
  for (size_t i = list.size(); i-- > 0;)
    if (p_.calls[list[i]].start_ns < time && enclosing_comm_op(list[i]) == kNone) return list[i];
  return kNone;
}

/// The outermost communication operator around a call, or kNone.
uint32_t StreamWaits::enclosing_comm_op(uint32_t call) const {
  uint32_t outermost = kNone;
  for (uint32_t op = l_.threads.enclosing_op[call]; op != kNone; op = l_.threads.parent_op[op])
    if (is_comm_op(l_.text(p_.ops[op].name))) outermost = op;
  return outermost;
}

void StreamWaits::finish() {
  std::vector<EventEdge>& events = l_.waits.events;
  std::sort(events.begin(), events.end(),
            [](const EventEdge& a, const EventEdge& b) { return std::pair(a.op, a.on) < std::pair(b.op, b.on); });
  events.erase(std::unique(events.begin(), events.end(),
                           [](const EventEdge& a, const EventEdge& b) { return a.op == b.op && a.on == b.on; }),
               events.end());
}

}  // namespace chakra::link
