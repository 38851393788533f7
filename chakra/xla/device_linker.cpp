#include "chakra/xla/device_linker.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "chakra/trace/metadata.h"

namespace chakra::xla {

using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

namespace {

/// Events that the program does not explain are ops that wait for no other op.
void add_left_over(Executed& executed, const Occurrences& run, Unrolled& unrolled) {
  const std::vector<uint32_t> left = run.left();
  executed.unplaced += left.size();
  for (const uint32_t e : left) {
    Op op;
    uint32_t number = run.event(e).instruction;
    const auto size = [&] {
      return static_cast<uint32_t>(executed.program.computations[op.computation].instructions.size());
    };
    for (; number >= size(); ++op.computation) number -= size();
    op.instruction = number, op.event = e;
    op.deps.begin = op.deps.end = static_cast<uint32_t>(unrolled.deps.size());
    unrolled.ops.push_back(op);
  }
}

bool is_mark(const Op& op) { return op.first != kNone || op.after.size() > 0; }

}  // namespace

DeviceLinker::DeviceLinker(int64_t rank, const Profile& profile, std::map<std::vector<int64_t>, uint32_t>& groups)
    : rank_(rank), profile_(profile), groups_(groups) {
  builder_.trace.rank = rank, builder_.trace.says_rank = true;
}

Result<void> DeviceLinker::add(Executed& executed, int64_t number, const Events& events) {
  const Executions executions = find_executions(executed, profile_, events);
  std::vector<Occurrences::Event> occurrences;
  for (uint32_t e = 0; e < executions.all.size(); ++e) {
    // Kernels of several streams run in another order than the host started them in, which is that of the program.
    const bool gpu = profile_.kind == Profile::Kind::gpu;
    const Profile::Event& first = *executions.all[e].events.front();
    occurrences.push_back({executions.all[e].instruction, gpu ? Picoseconds{e} : first.start, e});
  }
  Occurrences run(executed.program, std::move(occurrences));
  CHAKRA_ASSIGN(Unrolled unrolled, unroll(executed.program, executed.work, &run));
  if (executed.report.name.empty()) executed.report = report_of(executed.program, executed.work, unrolled);
  else count_collectives(executed.program, unrolled, executed.report);
  executed.report.events += static_cast<int64_t>(events.size());
  executed.cut_runs += unrolled.cut_loops > 0;
  add_left_over(executed, run, unrolled);
  CHAKRA_ASSIGN(const int64_t logical, logical_device(executed.program));
  NodeWriter writer(builder_, executed.program, executed.work, executed.communication,
                    device(executed, logical, number));
  const NodeId before = add_time_before(start_of(events));
  add_calls(events, before);
  for (uint32_t op = 0; op < unrolled.ops.size(); ++op) {
    const Execution& execution = executions.all[run.event(unrolled.ops[op].event).number];
    writer.add(unrolled, op, is_cpu() ? "" : execution.longest().name);
    const NodeId main = writer.of(op).main;
    if (builder_.trace.type[main] == NodeType::coll)
      builder_.comm(main).sequence = sequence_[builder_.comm(main).group]++;
    const bool waits = unrolled.ops[op].deps.size() > 0;
    wait_for_start(main, execution.longest(), before, waits);
    if (unrolled.ops[op].first != kNone) continue;
    for (const Profile::Event* const event : execution.events)
      if (event != &execution.longest()) {
        waits_.maybe = is_cpu();
        const NodeId part = writer.add_part(unrolled, op, event->name);
        waits_.maybe = false;
        set_time(part, event->start, add_saturated(event->start, event->length));
        put_on_line(part, *event);
        wait_for_start(part, *event, before, waits);
      }
  }
  set_times(executed, unrolled, executions, run, writer);
  keep_last(unrolled, writer);
  add_other(executions.other, before);
  for (const Profile::Event* const event : executions.other)
    executed.unplaced += !executed.number_of.contains(event->op);
  events_ += static_cast<int64_t>(events.size());
  return {};
}

void DeviceLinker::add_other(const Events& events) {
  if (events.empty()) return;
  const NodeId before = add_time_before(start_of(events));
  add_calls(events, before);
  add_other(events, before);
  events_ += static_cast<int64_t>(events.size());
}

/// One node per event. The first node of each line waits for `before`.
void DeviceLinker::add_other(const Events& events, NodeId before) {
  std::map<uint32_t, Nest> nests;  // by line
  for (const Profile::Event* const event : events) {
    const auto [found, first] = nests.try_emplace(event->line);
    const bool nested = profile_.kind == Profile::Kind::tpu && !profile_.lines[event->line].overlaps;
    if (nested) leave(found->second, event);
    const NodeId node = add_piece(*event, event->start, add_saturated(event->start, event->length), kNoNode);
    wait_for_start(node, *event, before, !first);
    last_.push_back(node);
    if (!nested) continue;
    found->second.open.push_back({event, node});
    found->second.cursor = event->start;
  }
  for (auto& [line, nest] : nests) leave(nest, nullptr);
}

/// Close the open events that are not around `next`, and cut the one that is.
void DeviceLinker::leave(Nest& nest, const Profile::Event* next) {
  const Picoseconds end = next ? add_saturated(next->start, next->length) : 0;
  while (!nest.open.empty()) {
    auto& [event, node, divided] = nest.open.back();
    const Picoseconds own_end = add_saturated(event->start, event->length);
    const bool around = next && end <= own_end;
    const Picoseconds until = around ? next->start : own_end;
    if (!divided) set_time(node, event->start, until);
    else if (nest.cursor < until) add_piece(*event, nest.cursor, until, node);
    nest.cursor = std::max(nest.cursor, until);
    divided = true;
    if (around) return;
    nest.open.pop_back();
  }
}

NodeId DeviceLinker::add_piece(const Profile::Event& event, Picoseconds start, Picoseconds end, NodeId whole) {
  trace::Trace& t = builder_.trace;
  const NodeId node = builder_.add(t.size(), t.strings.intern(event.name), NodeType::comp);
  t.flags.edit(node) |= trace::kSaysCpuOrNot;
  if (whole != kNoNode) t.part_of.edit(node) = whole;
  if (event.step != Profile::kNotStated) builder_.attr({t.strings.intern(trace::kXlaRun), event.step});
  set_time(node, start, end);
  put_on_line(node, event);
  return node;
}

// ---- calls of the host -------------------------------------------------------------------------------------------

/// When the events, or the calls that start these, begin.
Picoseconds DeviceLinker::start_of(const Events& events) const {
  Picoseconds start = INT64_MAX;
  for (const Profile::Event* const event : events) {
    start = std::min(start, event->start);
    if (event->call != Profile::kNoCall) start = std::min(start, profile_.calls[event->call].start);
  }
  return start;
}

NodeId DeviceLinker::add_host_node(std::string_view name, int64_t thread, Picoseconds start, Picoseconds end) {
  trace::Trace& t = builder_.trace;
  const NodeId node = builder_.add(t.size(), t.strings.intern(name), NodeType::comp);
  t.flags.edit(node) = trace::kOnCpu | trace::kSaysCpuOrNot;
  t.lane.edit(node) = builder_.lane({trace::Lane::Kind::thread, profile_.process, thread});
  set_time(node, start, end);
  return node;
}

/// A node for each call that starts one of the events, thread by thread; the time of the host between two calls is a
/// node. The first call of a thread comes behind `before`. A call ends where its event begins, if that is earlier.
void DeviceLinker::add_calls(const Events& events, NodeId before) {
  std::map<std::tuple<int64_t, Picoseconds, uint32_t>, Picoseconds> ends;  // by thread and start
  for (const Profile::Event* const event : events) {
    if (event->call == Profile::kNoCall || host_.node_of.contains(event->call)) continue;
    const Profile::Call& call = profile_.calls[event->call];
    Picoseconds end = add_saturated(call.start, call.length);
    if (event->start >= call.start) end = std::min(end, event->start);
    const auto [found, added] = ends.try_emplace({call.thread, call.start, event->call}, end);
    if (!added) found->second = std::min(found->second, end);
  }
  const trace::Trace& t = builder_.trace;
  const Picoseconds begin = t.start_ps[before] + t.dur_ps[before];
  absl::flat_hash_map<int64_t, NodeId> last;  // by thread, of these calls
  for (const auto& [key, end] : ends) {
    const auto& [thread, start, call] = key;
    Host::Thread& caller = host_.threads[thread];
    const bool behind = caller.last != kNoNode && caller.end <= start;
    const bool own = behind && (last.contains(thread) || !host_.follows);
    NodeId from = own ? caller.last : before;
    if (const Picoseconds idle = own ? caller.end : begin; idle < start) {
      const NodeId gap = add_host_node(trace::kHostGap, thread, idle, start);
      wait(gap, from, EdgeKind::given);
      from = gap;
    }
    const NodeId node = add_host_node(profile_.calls[call].name, thread, start, end);
    wait(node, from, EdgeKind::given);
    if (behind && !own) wait(node, caller.last, EdgeKind::program);
    host_.node_of[call] = last[thread] = caller.last = node;
    caller.end = std::max(caller.end, end);
  }
  for (const auto& [thread, node] : last) last_.push_back(node);
}

/// An event waits for the call that started it. Without one, `before` is the reason if there is no other.
void DeviceLinker::wait_for_start(NodeId node, const Profile::Event& event, NodeId before, bool waits) {
  if (event.call != Profile::kNoCall) wait(node, host_.node_of.at(event.call), EdgeKind::launch);
  else if (!waits) wait(node, before, EdgeKind::given);
}

void DeviceLinker::wait(NodeId node, NodeId on, EdgeKind kind) { waits_.add(node, on, kind); }

LinkedDevice DeviceLinker::finish() && {
  LinkedDevice device;
  for (const auto& [members, number] : used_)
    builder_.trace.groups.push_back({fmt::format("{}", number), "", "", members, static_cast<int64_t>(members.size())});
  device.left_out = waits_.write(builder_, is_cpu());
  device.trace = std::move(builder_).finish();
  device.events = events_;
  return device;
}

Result<int64_t> DeviceLinker::logical_device(const Program& p) const {
  if (p.device_count() == 1) return 0;
  for (int64_t logical = 0; logical < p.device_count(); ++logical)
    if (p.device(logical) == rank_) return logical;
  return fail(Code::bad_input, "xla.devices.other",
              fmt::format("the profile executes program {} on device {}, which the program does not have",
                          quote(p.name), rank_),
              {p.file});
}

Device DeviceLinker::device(const Executed& executed, int64_t logical, int64_t run) {
  Device device;
  device.logical = logical, device.self = rank_, device.tags = executed.tags, device.run = run;
  device.wait = [this](NodeId node, NodeId on, EdgeKind kind) { waits_.add(node, on, kind); };
  const bool alone = executed.program.device_count() == 1;
  device.group = [this, logical, alone](Communication::Key, const Meeting& meeting) {
    const uint32_t group = meeting.group_of[static_cast<size_t>(logical)];
    const std::vector<int64_t> members = alone || group == kNone ? std::vector<int64_t>{rank_} : meeting.groups[group];
    const uint32_t number = groups_.try_emplace(members, static_cast<uint32_t>(groups_.size())).first->second;
    used_.emplace(members, number);
    return builder_.trace.strings.intern(fmt::format("{}", number));
  };
  device.peer = [&executed, logical](Communication::Key key, bool sends, size_t number) {
    const Messages& messages = executed.communication.messages.at(key);
    return (sends ? messages.to : messages.from)[static_cast<size_t>(logical)][number];
  };
  return device;
}

/// The time of the host before a run: since the last run, if that has ended, else since the host began an earlier run.
NodeId DeviceLinker::add_time_before(Picoseconds start) {
  host_.follows = !last_.empty() && start >= end_;
  Picoseconds begin = host_.follows ? end_ : 0;
  NodeId on = kNoNode;
  for (size_t n = host_.begins.size(); !host_.follows && on == kNoNode && n-- > 0;)
    if (host_.begins[n].first <= start) std::tie(begin, on) = host_.begins[n];
  const bool first = !host_.follows && on == kNoNode;
  const NodeId node = add_host_node(first ? trace::kInitialCondition : trace::kHostGap, 0, begin, start);
  if (on != kNoNode) wait(node, on, EdgeKind::given);
  host_.begins.emplace_back(start, node);
  if (!host_.follows) return node;
  for (const NodeId last : last_) wait(node, last, EdgeKind::given);
  last_.clear();
  return node;
}

void DeviceLinker::set_time(NodeId node, Picoseconds start, Picoseconds end) {
  trace::Trace& t = builder_.trace;
  t.flags.edit(node) |= trace::kHasStart | trace::kHasDuration;
  t.start_ps.edit(node) = start, t.dur_ps.edit(node) = std::max<Picoseconds>(0, end - start);
  end_ = std::max(end_, end);
}

/// An instruction of a CPU that other threads compute ends where its first user begins, or where the profile states
/// that it has ended. A mark lasts from the end of the region before to the start of the region behind, the last one
/// until the event ends, if that is later. A -done of a GPU or TPU lasts from the end of what it waits for. Other ops
/// last as long as their events.
void DeviceLinker::set_times(const Executed& executed, const Unrolled& unrolled, const Executions& executions,
                             const Occurrences& run, const NodeWriter& writer) {
  std::vector<Picoseconds> starts, ends;
  const auto execution = [&](const Op& op) -> const Execution& { return executions.all[run.event(op.event).number]; };
  for (const Op& op : unrolled.ops) {
    const Profile::Event& event = execution(op).longest();
    starts.push_back(event.start);
    ends.push_back(add_saturated(event.start, event.length));
  }
  // Other threads go on after the event until the first user begins, or the profile states the end.
  std::vector<Picoseconds> used(starts.size(), INT64_MAX);
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o)
    for (const Dep& dep : unrolled.deps_of(unrolled.ops[o])) used[dep.op] = std::min(used[dep.op], starts[o]);
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o)
    if (const Picoseconds longest = execution(unrolled.ops[o]).longest().longest; longest > 0)
      ends[o] = std::max(ends[o], std::min(used[o], add_saturated(starts[o], longest)));
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o) {
    const Op& op = unrolled.ops[o];
    if (is_mark(op)) {
      for (uint32_t inner = op.before.begin; inner < op.before.end; ++inner)
        starts[o] = std::max(starts[o], ends[inner]);
      Picoseconds next = INT64_MAX;
      for (uint32_t inner = op.after.begin; inner < op.after.end; ++inner) next = std::min(next, starts[inner]);
      ends[o] = std::max(starts[o], next == INT64_MAX ? ends[o] : next);
    } else if (!is_cpu() &&
               executed.program.computations[op.computation].instructions[op.instruction].kind() == Kind::done) {
      for (const Dep& dep : unrolled.deps_of(op))
        if (!is_mark(unrolled.ops[dep.op]))
          for (const Profile::Event* const event : execution(unrolled.ops[dep.op]).events)
            starts[o] = std::max(starts[o], std::min(ends[o], add_saturated(event->start, event->length)));
    }
    // The messages of a permute take its time: the first one, which is a receive if there is one.
    const NodeWriter::OpNodes& nodes = writer.of(o);
    const bool has_messages = nodes.parts - nodes.main > 1;
    set_time(nodes.main, starts[o], has_messages ? starts[o] : ends[o]);
    for (NodeId n = nodes.main + 1; n < nodes.parts; ++n)
      set_time(n, starts[o], n == nodes.main + 1 ? ends[o] : starts[o]);
    const Profile::Event& event = execution(op).longest();
    const bool piece = op.first != kNone;
    put_on_line(nodes.main, event, piece);
    if (has_messages) put_on_line(nodes.main + 1, event);
  }
}

/// Streams of a GPU and lines of a TPU have their own numbers. Communication of a CPU occupies its thread, but is not
/// shown there, and a `piece` of a loop may be the time of other threads.
void DeviceLinker::put_on_line(NodeId node, const Profile::Event& event, bool piece) {
  const NodeType type = builder_.trace.type[node];
  int64_t stream = profile_.lines[event.line].id;
  if (!profile_.lines[event.line].overlaps && event.longest == 0 && !(is_cpu() && piece))
    waits_.on_stream(node, event.line);
  if (is_cpu() && (type == NodeType::coll || type == NodeType::send || type == NodeType::recv)) return;
  if (is_cpu()) stream = threads_.try_emplace(event.line, static_cast<int64_t>(threads_.size())).first->second;
  builder_.trace.lane.edit(node) = builder_.lane({trace::Lane::Kind::stream, rank_, stream});
}

void DeviceLinker::keep_last(const Unrolled& unrolled, const NodeWriter& writer) {
  std::vector<uint8_t> used(unrolled.ops.size(), 0);
  for (const Dep& dep : unrolled.deps) used[dep.op] = 1;
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o) {
    if (used[o]) continue;
    const NodeWriter::OpNodes& nodes = writer.of(o);
    for (NodeId n = nodes.first; n < nodes.end; ++n) last_.push_back(n);
  }
}

}  // namespace chakra::xla
