// Each CPU thread as a chain of items: nested operators are cut into the pieces during which they
// themselves ran, launches and blocking calls stand at their true place, and the time that no
// operator accounts for is a gap. Communication is not cut for the operators inside it: its time is one.
#include <algorithm>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

class ChainBuilder {
 public:
  ChainBuilder(Linking& l, uint32_t thread, int64_t begin)
      : l_(l), p_(l.profile()), thread_(thread), now_(begin), chain_(l.graph.chains[thread]) {}

  void run() {
    const auto& ops = l_.threads.ops[thread_];
    const auto& calls = l_.threads.calls[thread_];
    size_t call = 0;
    const auto next_call = [&]() -> uint32_t {
      while (call < calls.size() && !in_chain(calls[call])) ++call;
      return call < calls.size() ? calls[call] : kNone;
    };
    for (const uint32_t op : ops) {
      for (uint32_t c; (c = next_call()) != kNone && p_.calls[c].start_ns < p_.ops[op].start_ns; ++call) add_call(c);
      add_op(op);
    }
    for (uint32_t c; (c = next_call()) != kNone; ++call) add_call(c);
    close_until(std::numeric_limits<int64_t>::max());
  }

  bool in_chain(uint32_t call) const {
    const CallRole& role = l_.waits.roles[call];
    return !role.leave_out && (role.blocks || role.launched() > 0);
  }

 private:
  struct Open {
    uint32_t op;
    int64_t end;
    uint32_t item;
    bool fresh;        ///< nothing of it has run yet
    uint32_t follows;  ///< the item before it on the thread, or kNone
  };

  uint32_t add(Item::Kind kind, int64_t start, int64_t end, uint32_t record, uint32_t whole = kNone) {
    Item item;
    item.kind = kind;
    item.start = start;
    item.dur = end - start;
    item.record = record;
    item.lane = thread_;
    item.of = item.continues() ? whole : open_.empty() ? kNone : open_.back().item;
    const auto id = static_cast<uint32_t>(l_.graph.items.size());
    l_.graph.items.push_back(item);
    chain_.push_back(id);
    return id;
  }

  /// The innermost open operator has run from now_ until `time`; without one, the time is a gap.
  void run_until(int64_t time) {
    if (time <= now_) return;
    if (open_.empty()) {
      add(Item::Kind::gap, now_, time, kNone);
    } else {
      Open& top = open_.back();
      if (p_.ops[top.op].annotation) {
        add(Item::Kind::gap, now_, time, kNone);
      } else if (top.fresh) {
        l_.graph.items[top.item].dur = time - now_;
      } else {
        add(Item::Kind::op_rest, now_, time, top.op, top.item);
      }
      top.fresh = false;
    }
    now_ = time;
  }

  void close_until(int64_t time) {
    while (!open_.empty() && open_.back().end <= time) {
      run_until(open_.back().end);
      open_.pop_back();
    }
  }

  /// What begins at `start` and ends at `end` lies in all that is open: where clocks are coarse it may
  /// seem to end after its caller.
  void begin(int64_t start, int64_t end) {
    close_until(start);
    run_until(start);
    if (!open_.empty()) open_.back().fresh = false;
    for (Open& caller : open_) caller.end = std::max(caller.end, end);
  }

  /// What a backend's thread runs while it communicates is a part of that: it follows from what the communication
  /// follows from, takes no time, and nothing waits for it.
  void add_inside(uint32_t op) {
    const uint32_t comm = open_.back().item, around = l_.threads.parent_op[op];
    Item item;
    item.inside = true;
    item.start = p_.ops[op].start_ns;
    item.record = op;
    item.lane = thread_;
    item.of = around == kNone ? comm : l_.graph.item_of_op[around];
    const auto id = static_cast<uint32_t>(l_.graph.items.size());
    l_.graph.item_of_op[op] = id;
    l_.graph.items.push_back(item);
    if (open_.back().follows != kNone)
      l_.graph.deps.push_back({id, open_.back().follows, trace::EdgeKind::program, false, 0});
  }

  void add_op(uint32_t op) {
    const CpuOp& o = p_.ops[op];
    close_until(o.start_ns);
    if (!open_.empty() && p_.ops[open_.back().op].host_comm) return add_inside(op);
    begin(o.start_ns, o.end_ns());
    const auto kind = o.annotation ? Item::Kind::annotation : Item::Kind::op;
    // An operator that seems to begin before a call ended begins at that end.
    const uint32_t before = chain_.empty() ? kNone : chain_.back();
    const uint32_t item = add(kind, now_, now_, op);
    l_.graph.item_of_op[op] = item;
    open_.push_back({op, std::max(o.end_ns(), now_), item, true, before});
  }

  void add_call(uint32_t call) {
    const RuntimeCall& c = p_.calls[call];
    CallRole& role = l_.waits.roles[call];
    begin(c.start_ns, c.end_ns());
    const int64_t start = now_, end = std::max(c.end_ns(), now_);
    const auto inside = [&](int64_t time) { return std::clamp(time, start, end); };
    uint32_t first = kNone;
    if (role.wait_end >= 0) {
      first = add(Item::Kind::call, start, role.split_at >= 0 ? inside(role.split_at) : start, call);
      const auto rest = role.feeds_copy || role.queue_full ? Item::Kind::call_rest : Item::Kind::sync_remainder;
      role.wait_item = add(rest, inside(role.wait_end), end, call, first);
    } else if (role.split_at >= 0) {
      first = add(Item::Kind::call, start, inside(role.split_at), call);
      add(Item::Kind::call_rest, inside(role.split_at), end, call, first);
      role.wait_item = first;
    } else {
      first = add(Item::Kind::call, start, end, call);
      role.wait_item = first;
    }
    role.launch_item = role.queue_full && role.wait_item != kNone ? role.wait_item : first;
    now_ = end;
  }

  Linking& l_;
  const Profile& p_;
  uint32_t thread_;
  int64_t now_;
  std::vector<uint32_t>& chain_;
  std::vector<Open> open_;
};

/// Messages that run beside a thread follow from what asked for them, and from nothing before them.
void add_beside(Linking& l, uint32_t thread) {
  for (const uint32_t op : l.threads.ops[thread]) {
    Item item;
    item.record = op;
    item.lane = thread;
    item.start = l.profile().ops[op].start_ns;
    item.dur = l.profile().ops[op].dur_ns;
    l.graph.item_of_op[op] = static_cast<uint32_t>(l.graph.items.size());
    l.graph.items.push_back(item);
  }
}

}  // namespace

void build_chains(Linking& l) {
  const Profile& p = l.profile();
  l.graph.item_of_op.assign(p.ops.size(), kNone);
  l.graph.chains.assign(p.threads.size(), {});
  l.graph.items.reserve(p.ops.size() * 2 + p.calls.size() + p.device_ops.size());

  // The recording begins with the first thing that is in the graph.
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (const CpuOp& op : p.ops) begin = std::min(begin, op.start_ns);
  for (const DeviceOp& op : p.device_ops) begin = std::min(begin, op.start_ns);
  std::vector<char> used(p.threads.size(), 0);
  for (const CpuOp& op : p.ops) used[op.lane] = 1;
  for (uint32_t call = 0; call < p.calls.size(); ++call)
    if (ChainBuilder(l, p.calls[call].lane, 0).in_chain(call)) {
      used[p.calls[call].lane] = 1;
      begin = std::min(begin, p.calls[call].start_ns);
    }
  l.graph.begin_ns = begin == std::numeric_limits<int64_t>::max() ? 0 : begin;
  for (uint32_t thread = 0; thread < p.threads.size(); ++thread)
    if (thread < l.threads.beside.size() && l.threads.beside[thread]) add_beside(l, thread);
    else if (used[thread]) ChainBuilder(l, thread, l.graph.begin_ns).run();
}

}  // namespace chakra::link
