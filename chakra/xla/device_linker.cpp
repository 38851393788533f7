#include "chakra/xla/device_linker.h"

#include <fmt/core.h>

#include <algorithm>

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
  Picoseconds start = INT64_MAX;
  for (const Profile::Event* const event : events) start = std::min(start, event->start);
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
  const NodeId before = add_time_before(start);
  for (uint32_t op = 0; op < unrolled.ops.size(); ++op) {
    const Execution& execution = executions.all[run.event(unrolled.ops[op].event).number];
    writer.add(unrolled, op, is_cpu() ? "" : execution.longest().name);
    const NodeId main = writer.of(op).main;
    if (builder_.trace.type[main] == NodeType::coll)
      builder_.comm(main).sequence = sequence_[builder_.comm(main).group]++;
    if (unrolled.ops[op].first == kNone)
      for (const Profile::Event* const event : execution.events)
        if (event != &execution.longest()) {
          const NodeId part = writer.add_part(unrolled, op, event->name);
          set_time(part, event->start, add_saturated(event->start, event->length));
          put_on_line(part, event->line);
        }
    if (unrolled.ops[op].deps.size() > 0) continue;
    const NodeWriter::OpNodes& nodes = writer.of(op);
    wait(main, before, EdgeKind::given);
    for (NodeId n = nodes.parts; n < nodes.end; ++n) wait(n, before, EdgeKind::given);
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
  add_other(events, add_time_before(events.front()->start));
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
    if (first) wait(node, before, EdgeKind::given);
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
  put_on_line(node, event.line);
  return node;
}

void DeviceLinker::wait(NodeId node, NodeId on, EdgeKind kind) {
  if (is_cpu()) builder_.dep(node, on, static_cast<uint8_t>(kind));
  else waits_.add(node, on, kind);
}

LinkedDevice DeviceLinker::finish() && {
  LinkedDevice device;
  for (const auto& [members, number] : used_)
    builder_.trace.groups.push_back({fmt::format("{}", number), "", "", members, static_cast<int64_t>(members.size())});
  device.left_out = waits_.write(builder_);
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
  if (!is_cpu()) device.wait = [this](NodeId node, NodeId on, EdgeKind kind) { waits_.add(node, on, kind); };
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

/// The time of the host before a run: since the last run, if that has ended, else since the beginning.
NodeId DeviceLinker::add_time_before(Picoseconds start) {
  trace::Trace& t = builder_.trace;
  const bool follows = !last_.empty() && start >= end_;
  const std::string_view name = follows ? trace::kHostGap : trace::kInitialCondition;
  const NodeId node = builder_.add(t.size(), t.strings.intern(name), NodeType::comp);
  t.flags.edit(node) = trace::kOnCpu | trace::kSaysCpuOrNot;
  t.lane.edit(node) = builder_.lane({trace::Lane::Kind::thread, profile_.process, 0});
  set_time(node, follows ? end_ : 0, start);
  if (follows) {
    for (const NodeId last : last_) wait(node, last, EdgeKind::given);
    last_.clear();
  }
  return node;
}

void DeviceLinker::set_time(NodeId node, Picoseconds start, Picoseconds end) {
  trace::Trace& t = builder_.trace;
  t.flags.edit(node) |= trace::kHasStart | trace::kHasDuration;
  t.start_ps.edit(node) = start, t.dur_ps.edit(node) = std::max<Picoseconds>(0, end - start);
  end_ = std::max(end_, end);
}

/// A mark lasts from the end of the region before to the start of the region behind, the last one until the event ends,
/// if that is later. A -done of a GPU or TPU lasts from the end of what it waits for. Other ops last as long as their
/// events.
void DeviceLinker::set_times(const Executed& executed, const Unrolled& unrolled, const Executions& executions,
                             const Occurrences& run, const NodeWriter& writer) {
  std::vector<Picoseconds> starts, ends;
  const auto execution = [&](const Op& op) -> const Execution& { return executions.all[run.event(op.event).number]; };
  for (const Op& op : unrolled.ops) {
    const Profile::Event& event = execution(op).longest();
    starts.push_back(event.start);
    ends.push_back(add_saturated(event.start, event.length));
  }
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
    const uint32_t line = execution(op).longest().line;
    if (!is_cpu() || builder_.trace.type[nodes.main] != NodeType::coll) put_on_line(nodes.main, line);
    if (!is_cpu() && has_messages) put_on_line(nodes.main + 1, line);
  }
}

/// Streams of a GPU and lines of a TPU have their own numbers.
void DeviceLinker::put_on_line(NodeId node, uint32_t line) {
  int64_t stream = profile_.lines[line].id;
  if (is_cpu()) stream = threads_.try_emplace(line, static_cast<int64_t>(threads_.size())).first->second;
  else if (!profile_.lines[line].overlaps) waits_.on_stream(node, line);
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
