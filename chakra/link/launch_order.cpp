#include "chakra/link/launch_order.h"

#include <algorithm>
#include <tuple>

namespace chakra::link {
namespace {

/// Operations of other streams that a stream is remembered to wait for; beyond them the last to end.
constexpr size_t kMostPending = 32;

}  // namespace

LaunchOrder::LaunchOrder(const Linking& l) : l_(l), p_(l.profile()), call_of_(p_.calls, &number_of) {
  for (uint32_t i = 0; i < p_.calls.size(); ++i)
    if (const auto number = number_of(p_.calls[i]))
      if (uint32_t& first = call_of_[*number]; first == kNone) first = i;
  sort_launches();
}

/// Per stream the operations by launch, so that "the last launched before" is a search.
void LaunchOrder::sort_launches() {
  for (uint32_t s = 0; s < p_.streams.size(); ++s) add_stream(p_.streams[s].process, p_.streams[s].index, s);
  auto streams = static_cast<uint32_t>(p_.streams.size());
  for (const SyncRecord& sync : p_.syncs)  // a stream may do nothing but wait
    if (sync.kind == SyncRecord::Kind::wait_event && add_stream(sync.device, sync.stream, streams)) ++streams;
  pending_.resize(streams);
  launched_.resize(streams);
  by_correlation_ = l_.device.stream_ops;
  by_correlation_.resize(streams);
  for (auto& stream : by_correlation_)
    sort_rows(stream,
              [&](uint32_t a, uint32_t b) { return p_.device_ops[a].correlation < p_.device_ops[b].correlation; });
  for (uint32_t i = 0; i < p_.device_ops.size(); ++i)
    launched_[p_.device_ops[i].lane].push_back({l_.launched_at(i), i});
  for (auto& stream : launched_)
    sort_rows(stream, [&](const Launch& a, const Launch& b) {
      if (a.at != b.at) return a.at < b.at;
      return std::pair(p_.device_ops[a.op].start_ns, a.op) < std::pair(p_.device_ops[b.op].start_ns, b.op);
    });
}

uint32_t LaunchOrder::last_before(size_t stream, int64_t time) const {
  const auto& list = launched_[stream];
  const auto after =
      std::lower_bound(list.begin(), list.end(), time, [](const Launch& launch, int64_t t) { return launch.at < t; });
  return after == list.begin() ? kNone : std::prev(after)->op;
}

uint32_t LaunchOrder::first_after(size_t stream, int64_t time) const {
  const auto& list = launched_[stream];
  const auto after =
      std::upper_bound(list.begin(), list.end(), time, [](int64_t t, const Launch& launch) { return t < launch.at; });
  return after == list.end() ? kNone : after->op;
}

uint32_t LaunchOrder::launch_before(uint32_t thread, int64_t time) const {
  const auto& list = l_.threads.launches[thread];
  const auto after = std::lower_bound(list.begin(), list.end(), time,
                                      [&](uint32_t call, int64_t t) { return p_.calls[call].start_ns < t; });
  return after == list.begin() ? kNone : *std::prev(after);
}

uint32_t LaunchOrder::launch_after(uint32_t thread, int64_t time) const {
  const auto& list = l_.threads.launches[thread];
  const auto after = std::upper_bound(list.begin(), list.end(), time,
                                      [&](int64_t t, uint32_t call) { return t < p_.calls[call].start_ns; });
  return after == list.end() ? kNone : *after;
}

uint32_t LaunchOrder::stream_numbered(int64_t device, int64_t number) const {
  const auto found = streams_.find(std::pair(std::max<int64_t>(device, -1), number));
  return found == streams_.end() ? kNone : found->second;
}

bool LaunchOrder::add_stream(int64_t device, int64_t number, uint32_t stream) {
  const bool added = streams_.try_emplace(std::pair(std::max<int64_t>(device, -1), number), stream).second;
  if (added) streams_.try_emplace(std::pair(int64_t{-1}, number), stream);
  return added;
}

std::vector<uint32_t> LaunchOrder::all_before(size_t stream, int64_t time) const {
  const std::vector<Pending>& list = pending_[stream];
  const auto after =
      std::lower_bound(list.begin(), list.end(), time, [](const Pending& p, int64_t t) { return p.at < t; });
  const uint32_t op = last_before(stream, time);
  const bool waits = after != list.begin() && (op == kNone || std::prev(after)->at > l_.launched_at(op));
  return with_pending(op, waits ? &*std::prev(after) : nullptr);
}

std::vector<uint32_t> LaunchOrder::with_pending(uint32_t op, const Pending* pending) {
  std::vector<uint32_t> ops;
  if (pending != nullptr) ops = pending->ops;
  if (op != kNone) ops.push_back(op);
  return ops;
}

/// Of each stream the operation launched last, of the streams the last to end.
void LaunchOrder::unite(std::vector<uint32_t>& ops, const std::vector<uint32_t>& more) const {
  const auto rank = [&](uint32_t op) {
    return std::tuple(stream_of(op), l_.launched_at(op), p_.device_ops[op].start_ns, op);
  };
  ops.insert(ops.end(), more.begin(), more.end());
  std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return rank(a) > rank(b); });
  ops.erase(std::unique(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return stream_of(a) == stream_of(b); }),
            ops.end());
  if (ops.size() <= kMostPending) return;
  std::sort(ops.begin(), ops.end(),
            [&](uint32_t a, uint32_t b) { return p_.device_ops[a].end_ns() > p_.device_ops[b].end_ns(); });
  ops.resize(kMostPending);
}

/// The stream on which the event was recorded. The record has its number, but the device only of the stream that
/// waits, which does not wait for itself.
uint32_t LaunchOrder::source_stream(const SyncRecord& sync) const {
  const bool stream_waits = sync.kind == SyncRecord::Kind::wait_event;
  const uint32_t waiting = stream_waits ? stream_numbered(sync.device, sync.stream) : kNone;
  uint32_t candidate = kNone, candidates = 0;
  for (uint32_t s = 0; s < p_.streams.size(); ++s)
    if (p_.streams[s].index == sync.source_stream && s != waiting) candidate = s, ++candidates;
  if (candidates > 1) {  // of one number on several devices: on the one that the thread used when it recorded
    uint32_t same = stream_numbered(sync.device, sync.source_stream);
    if (const uint32_t call = call_of_.find(sync.source_correlation); call != kNone) {
      const RuntimeCall& record = p_.calls[call];
      if (const uint32_t launch = launch_before(record.lane, record.start_ns); launch != kNone)
        same = stream_numbered(p_.streams[stream_of(op_of(launch))].process, sync.source_stream);
    }
    if (same != kNone && same != waiting) return same;
  }
  // A stream of which nothing else is known may have waited.
  return candidate != kNone ? candidate : stream_numbered(sync.device, sync.source_stream);
}

std::vector<uint32_t> LaunchOrder::recorded_before(const SyncRecord& sync) const {
  if (sync.source_correlation < 0) return {};
  const uint32_t s = source_stream(sync);
  if (s == kNone) return {};
  if (const uint32_t call = call_of_.find(sync.source_correlation); call != kNone)
    return all_before(s, p_.calls[call].start_ns);
  const auto& list = by_correlation_[s];
  const auto after = std::lower_bound(list.begin(), list.end(), sync.source_correlation,
                                      [&](uint32_t op, int64_t c) { return p_.device_ops[op].correlation < c; });
  const uint32_t op = after == list.begin() ? kNone : *std::prev(after);
  const auto wait = std::lower_bound(pending_[s].begin(), pending_[s].end(), sync.source_correlation,
                                     [](const Pending& p, int64_t c) { return p.correlation < c; });
  const bool waits =
      wait != pending_[s].begin() && (op == kNone || std::prev(wait)->correlation > p_.device_ops[op].correlation);
  return with_pending(op, waits ? &*std::prev(wait) : nullptr);
}

void LaunchOrder::note_wait(uint32_t stream, const RuntimeCall& call, std::vector<uint32_t> ops) {
  if (const uint32_t last = last_before(stream, call.start_ns);
      !pending_[stream].empty() && (last == kNone || pending_[stream].back().at > l_.launched_at(last)))
    unite(ops, pending_[stream].back().ops);
  pending_[stream].push_back({call.start_ns, call.correlation, std::move(ops)});
}

}  // namespace chakra::link
