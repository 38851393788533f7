#include "chakra/xla/device_linker.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::xla {

using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

namespace {

constexpr auto kGiven = static_cast<uint8_t>(EdgeKind::given);

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

Executed::Executed(Program of) : program(std::move(of)), work(program) {
  uint32_t number = 0;
  for (const Computation& c : program.computations)
    for (const Instruction& i : c.instructions) number_of.emplace(i.name, number++);
}

DeviceLinker::DeviceLinker(int64_t rank, int64_t process, std::map<std::vector<int64_t>, uint32_t>& groups)
    : rank_(rank), process_(process), groups_(groups) {
  builder_.trace.rank = rank, builder_.trace.says_rank = true;
}

Result<void> DeviceLinker::add(Executed& executed, int64_t number, const std::vector<const Profile::Event*>& events) {
  std::vector<Occurrences::Event> occurrences;
  Picoseconds start = INT64_MAX;
  for (const Profile::Event* event : events) {
    occurrences.push_back(
        {executed.number_of.at(event->op), event->start, add_saturated(event->start, event->length), event->line});
    start = std::min(start, event->start);
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
    writer.add(unrolled, op);
    const NodeId main = writer.of(op).main;
    if (unrolled.ops[op].deps.size() == 0) builder_.dep(main, before, kGiven);
    if (builder_.trace.type[main] == NodeType::coll)
      builder_.comm(main).sequence = sequence_[builder_.comm(main).group]++;
  }
  set_times(unrolled, run, writer);
  keep_last(unrolled, writer);
  events_ += static_cast<int64_t>(events.size());
  return {};
}

LinkedDevice DeviceLinker::finish() && {
  LinkedDevice device;
  for (const auto& [members, number] : used_)
    builder_.trace.groups.push_back({fmt::format("{}", number), "", "", members, static_cast<int64_t>(members.size())});
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
  t.lane.edit(node) = builder_.lane({trace::Lane::Kind::thread, process_, 0});
  set_time(node, follows ? end_ : 0, start);
  if (follows) {
    for (const NodeId last : last_) builder_.dep(node, last, kGiven);
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
/// if that is later. Other ops last as long as their events.
void DeviceLinker::set_times(const Unrolled& unrolled, const Occurrences& run, const NodeWriter& writer) {
  std::vector<Picoseconds> starts, ends;
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o) {
    starts.push_back(run.event(unrolled.ops[o].event).start);
    ends.push_back(run.event(unrolled.ops[o].event).end);
  }
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o) {
    const Op& op = unrolled.ops[o];
    if (is_mark(op)) {
      for (uint32_t inner = op.before.begin; inner < op.before.end; ++inner)
        starts[o] = std::max(starts[o], ends[inner]);
      Picoseconds next = INT64_MAX;
      for (uint32_t inner = op.after.begin; inner < op.after.end; ++inner) next = std::min(next, starts[inner]);
      ends[o] = std::max(starts[o], next == INT64_MAX ? ends[o] : next);
    }
    const auto [main, end] = writer.of(o);
    // The messages of a permute take its time: the first one, which is a receive if there is one.
    const bool has_messages = end - main > 1;
    set_time(main, starts[o], has_messages ? starts[o] : ends[o]);
    for (NodeId n = main + 1; n < end; ++n) set_time(n, starts[o], n == main + 1 ? ends[o] : starts[o]);
    if (builder_.trace.type[main] != NodeType::coll) put_on_thread(main, run.event(op.event).line);
  }
}

void DeviceLinker::put_on_thread(NodeId node, uint32_t line) {
  const int64_t thread = threads_.try_emplace(line, static_cast<int64_t>(threads_.size())).first->second;
  builder_.trace.lane.edit(node) = builder_.lane({trace::Lane::Kind::stream, rank_, thread});
}

void DeviceLinker::keep_last(const Unrolled& unrolled, const NodeWriter& writer) {
  std::vector<uint8_t> used(unrolled.ops.size(), 0);
  for (const Dep& dep : unrolled.deps) used[dep.op] = 1;
  for (uint32_t o = 0; o < unrolled.ops.size(); ++o) {
    if (used[o]) continue;
    const auto [main, end] = writer.of(o);
    for (NodeId n = end - main > 1 ? main + 1 : main; n < end; ++n) last_.push_back(n);
  }
}

}  // namespace chakra::xla
