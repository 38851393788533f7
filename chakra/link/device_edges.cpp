// The items of the device and why they start when they do: launches, order on a stream, events, other
// streams that fill the device, work before the recording; and the CPU calls that wait for them.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/device_parts.h"
#include "chakra/link/linking.h"
#include "chakra/link/unrecorded.h"

namespace chakra::link {
namespace {

using trace::EdgeKind;

/// How long before its end a kernel that fills the device may leave room for others.
constexpr int64_t kTailNs = 100'000;

class DeviceEdges {
 public:
  explicit DeviceEdges(Linking& l) : l_(l), p_(l.profile()) {}

  void run() {
    add_device_items();
    add_lost_comms(l_);
    add_syncs();
  }

 private:
  void dep(uint32_t item, uint32_t on, EdgeKind kind, bool inferred = false, int64_t lag = 0) {
    l_.graph.deps.push_back({item, on, kind, inferred, static_cast<uint32_t>(std::clamp<int64_t>(lag, 0, UINT32_MAX))});
  }
  Item& item(uint32_t id) { return l_.graph.items[id]; }

  uint32_t add_item(Item::Kind kind, int64_t start, int64_t dur, uint32_t record, uint32_t lane) {
    Item added;
    added.kind = kind;
    added.start = start;
    added.dur = dur;
    added.record = record;
    added.lane = lane;
    l_.graph.items.push_back(added);
    return static_cast<uint32_t>(l_.graph.items.size() - 1);
  }

  void add_device_items() {
    l_.graph.item_of_device_op.assign(p_.device_ops.size(), kNone);
    for (const auto& stream : l_.device.stream_ops)
      for (const uint32_t op : stream) {
        const DeviceOp& x = p_.device_ops[op];
        l_.graph.item_of_device_op[op] = add_item(Item::Kind::device, x.start_ns, x.dur_ns, op, x.lane);
      }
    first_item_ = l_.graph.item_of_device_op;
    explain_starts();
    cut_operations();
    find_queues();
    add_edges();
  }

  /// The time at which everything known but overlaps and other streams' load lets an operation begin.
  void explain_starts() {
    explained_.assign(p_.device_ops.size(), kUnknown);
    for (const EventEdge& event : l_.waits.events)
      explain(event.op, p_.device_ops[event.on].end_ns() + l_.constants(event.op).dispatch_gap_ns);
    for (uint32_t op = 0; op < p_.device_ops.size(); ++op) {
      const uint32_t call = l_.device.call_of_op[op], before = l_.device.previous[op];
      if (call != kNone && l_.waits.roles[call].launch_item != kNone)
        explain(op, item(l_.waits.roles[call].launch_item).end() + launch_latency(op));
      if (before != kNone) explain(op, p_.device_ops[before].end_ns() + l_.constants(op).dispatch_gap_ns);
    }
  }
  void explain(uint32_t op, int64_t time) { explained_[op] = std::max(explained_[op], time); }
  int64_t launch_latency(uint32_t op) const {
    const LinkingReport::Constants& constants = l_.constants(op);
    return l_.waits.roles[l_.device.call_of_op[op]].graph ? constants.graph_launch_ns
                                                          : std::max<int64_t>(0, constants.launch_ns);
  }

  /// An operation is cut where something went on that had waited for a part of it.
  struct Cut {
    uint32_t op;
    int64_t at;
    uint32_t item;  ///< that waited
    EdgeKind kind;
  };

  /// An operation that began while another one of its stream ran, and later than everything known explains,
  /// waited for a part of that one. Communication stays whole: its time is not its own.
  std::vector<Cut> cuts_by_overlaps() {
    std::vector<Cut> cuts;
    for (const EventEdge& overlap : l_.device.overlaps) {
      const int64_t start = p_.device_ops[overlap.op].start_ns;
      if (explained_[overlap.op] != kUnknown && start <= explained_[overlap.op] + kToleranceNs) continue;
      if (p_.device_ops[overlap.on].comm != trace::kNoRow || l_.device.comm_kernel[overlap.on] != nullptr) continue;
      cuts.push_back({overlap.on, start, first_item_[overlap.op], EdgeKind::stream});
      explain(overlap.op, start);
    }
    return cuts;
  }

  void cut_operations() {
    std::vector<Cut> cuts = cuts_by_overlaps();
    for (const HostSpin& spin : l_.graph.spins) cuts.push_back({spin.op, spin.at, spin.item, EdgeKind::sync});
    std::stable_sort(cuts.begin(), cuts.end(),
                     [](const Cut& a, const Cut& b) { return std::pair(a.op, a.at) < std::pair(b.op, b.at); });
    for (const Cut& cut : cuts) {
      const uint32_t part = l_.graph.item_of_device_op[cut.op], first = first_item_[cut.op];
      if (cut.at < item(part).end()) {
        const uint32_t rest =
            add_item(Item::Kind::device_rest, cut.at, item(part).end() - cut.at, cut.op, p_.device_ops[cut.op].lane);
        item(part).dur = cut.at - item(part).start;
        item(rest).of = first;
        l_.graph.item_of_device_op[cut.op] = rest;
        add_launch(rest, cut.op);
        dep(rest, part, EdgeKind::stream);
      }
      dep(cut.item, part, cut.kind, true);
    }
  }

  /// The launch of an operation, for its item or a piece of it.
  void add_launch(uint32_t self, uint32_t op) {
    const uint32_t call = l_.device.call_of_op[op];
    if (call == kNone || l_.waits.roles[call].launch_item == kNone) return;
    const uint32_t launch = l_.waits.roles[call].launch_item;
    dep(self, launch, EdgeKind::launch, false, launch_latency(op));
    if (!item(self).continues())
      item(self).of =
          l_.threads.enclosing_op[call] != kNone ? l_.graph.item_of_op[l_.threads.enclosing_op[call]] : launch;
  }

  /// The messages that a kernel carries beside the first, which it stands for itself. They may leave when it
  /// begins, and it has not received its own before all others have come.
  void add_messages(uint32_t self, uint32_t op) {
    const auto [first, last] = l_.messages_of(op);
    for (uint32_t m = first + 1; m < last; ++m) {
      const uint32_t message = add_item(Item::Kind::message, p_.device_ops[op].start_ns, 0, m, kNone);
      add_launch(message, op);
      if (const uint32_t before = l_.device.previous[op]; before != kNone)
        dep(message, l_.graph.item_of_device_op[before], EdgeKind::stream, false, l_.constants(op).dispatch_gap_ns);
      if (l_.comms.messages[m].receives) dep(self, message, EdgeKind::stream);
    }
  }

  void add_edges() {
    for (const EventEdge& event : l_.waits.events)
      dep(first_item_[event.op], l_.graph.item_of_device_op[event.on], EdgeKind::event, event.inferred,
          l_.constants(event.op).dispatch_gap_ns);
    int64_t initial = 0;
    const UnrecordedWork unrecorded(l_);
    for (const auto& stream : l_.device.stream_ops)
      for (const uint32_t op : stream) {
        const DeviceOp& x = p_.device_ops[op];
        const uint32_t self = first_item_[op];
        add_launch(self, op);
        const uint32_t before = l_.device.previous[op];
        if (before != kNone)
          dep(self, l_.graph.item_of_device_op[before], EdgeKind::stream, false, l_.constants(op).dispatch_gap_ns);
        add_messages(self, op);
        const bool any_reason = explained_[op] != kUnknown;
        if (any_reason && x.start_ns > explained_[op] + kUnexplainedNs)
          if (const uint32_t holder = held_up_by(op, explained_[op]); holder != kNone) {
            dep(self, l_.graph.item_of_device_op[holder], EdgeKind::contention, true);
            explain(op, p_.device_ops[holder].end_ns());
          }
        if (any_reason && unrecorded.precedes(op, explained_[op])) add_unrecorded(op);
        // Work that was not recorded: before the first operation of a stream, or before one whose
        // launch was not recorded.
        if ((before == kNone || l_.device.call_of_op[op] == kNone) &&
            (!any_reason || x.start_ns > explained_[op] + kUnexplainedNs)) {
          const uint32_t condition =
              add_item(Item::Kind::initial_condition, l_.graph.begin_ns, x.start_ns - l_.graph.begin_ns, op, x.lane);
          dep(self, condition, EdgeKind::stream, true);
          ++initial;
        }
      }
    if (l_.report.launched_before > 0)
      l_.find("pytorch.device.launched_before", Severity::note,
              fmt::format("{} device operations have no launch in the recording; they run in stream order "
                          "from their measured beginning",
                          show_count(l_.report.launched_before)));
    unrecorded.report(l_);
    if (initial > 0)
      l_.find("pytorch.device.initial_condition", Severity::note,
              fmt::format("{} device operations begin without a recorded reason: work before it "
                          "is assumed",
                          show_count(initial)));
  }

  /// Between an operation and everything known that it waits for (but its launch, which came long before) stands
  /// work that was not recorded.
  void add_unrecorded(uint32_t op) {
    const DeviceOp& x = p_.device_ops[op];
    const int64_t gap = l_.constants(op).dispatch_gap_ns, start = explained_[op], dur = x.start_ns - gap - start;
    const uint32_t work = add_item(Item::Kind::unrecorded, start, dur, op, x.lane);
    dep(work, l_.graph.item_of_device_op[l_.device.previous[op]], EdgeKind::stream, true, gap);
    const auto first = std::partition_point(l_.waits.events.begin(), l_.waits.events.end(),
                                            [&](const EventEdge& event) { return event.op < op; });
    for (auto event = first; event != l_.waits.events.end() && event->op == op; ++event)
      dep(work, l_.graph.item_of_device_op[event->on], EdgeKind::event, true, gap);
    dep(first_item_[op], work, EdgeKind::stream, true, gap);
    explain(op, x.start_ns);
    ++l_.report.unrecorded;
    l_.report.unrecorded_ns += dur;
  }

  /// An operation that could have started at `ready` and did not: the one of another stream of the device
  /// that ran at that time, and around whose end it started. A kernel that fills the device lets others
  /// in while its last blocks run, so that end may be a little later than the start.
  uint32_t held_up_by(uint32_t op, int64_t ready) const {
    const DeviceOp& x = p_.device_ops[op];
    const std::vector<uint32_t>& by_end = l_.device.ops_by_end;
    const auto first = std::lower_bound(by_end.begin(), by_end.end(), x.start_ns - kUnexplainedNs,
                                        [&](uint32_t o, int64_t t) { return p_.device_ops[o].end_ns() < t; });
    uint32_t best = kNone;
    int64_t best_distance = 0;
    for (auto at = first; at != by_end.end() && p_.device_ops[*at].end_ns() <= x.start_ns + kTailNs; ++at) {
      const DeviceOp& y = p_.device_ops[*at];
      const bool same_device = p_.streams[y.lane].process == p_.streams[x.lane].process;
      if (y.lane == x.lane || !same_device || y.start_ns >= x.start_ns) continue;
      if (y.start_ns > ready + kUnexplainedNs && !ends_the_queue(*at, op, ready)) continue;
      const int64_t distance = std::abs(y.end_ns() - x.start_ns);
      if (best == kNone || distance < best_distance) best = *at, best_distance = distance;
    }
    return best;
  }

  /// Whether `y` was the last operation that its stream was given before `op`, and the stream was busy from `ready` to
  /// the start of `op`: then `op` waited for all that was queued there.
  bool ends_the_queue(uint32_t y, uint32_t op, int64_t ready) const {
    if (busy_since_[y] > ready + kUnexplainedNs) return false;
    if (p_.device_ops[y].end_ns() > p_.device_ops[op].start_ns + kToleranceNs) return false;
    const uint32_t next = next_[y];
    return launched_before(y, op) && (next == kNone || launched_before(op, next));
  }

  /// False if a launch is not recorded.
  bool launched_before(uint32_t a, uint32_t b) const {
    const uint32_t first = l_.device.call_of_op[a], second = l_.device.call_of_op[b];
    return first != kNone && second != kNone && p_.calls[first].start_ns < p_.calls[second].start_ns;
  }

  /// When each stream was busy without a pause before its operations, and what follows them.
  void find_queues() {
    busy_since_.resize(p_.device_ops.size());
    next_.assign(p_.device_ops.size(), kNone);
    for (const std::vector<uint32_t>& stream : l_.device.stream_ops)
      for (size_t i = 0; i < stream.size(); ++i) {
        const DeviceOp& x = p_.device_ops[stream[i]];
        busy_since_[stream[i]] = x.start_ns;
        if (i == 0) continue;
        next_[stream[i - 1]] = stream[i];
        if (x.start_ns - p_.device_ops[stream[i - 1]].end_ns() <= kLongestGapNs)
          busy_since_[stream[i]] = busy_since_[stream[i - 1]];
      }
  }

  void add_syncs() {
    for (const CallRole& role : l_.waits.roles) {
      if (!role.blocks || role.wait_item == kNone) continue;
      for (const uint32_t op : l_.waits_of(role))
        dep(role.wait_item, l_.graph.item_of_device_op[op], EdgeKind::sync, role.wait_inferred);
    }
  }

  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

  Linking& l_;
  const Profile& p_;
  std::vector<uint32_t> first_item_;  ///< DeviceOp -> its item, or the first of its pieces
  std::vector<int64_t> explained_;    ///< DeviceOp -> when everything known lets it begin
  std::vector<int64_t> busy_since_;   ///< DeviceOp -> the start of the operations back to back that it ends
  std::vector<uint32_t> next_;        ///< DeviceOp -> the operation after it on its stream, or kNone
};

}  // namespace

void add_device_edges(Linking& l) { DeviceEdges(l).run(); }

}  // namespace chakra::link
