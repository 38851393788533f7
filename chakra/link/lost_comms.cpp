// Communication whose kernels are not in the recording: c10d recorded the call, but no kernel belongs to it. It stays
// in the graph, without a duration.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "chakra/link/device_parts.h"

namespace chakra::link {
namespace {

class LostComms {
 public:
  explicit LostComms(Linking& l) : l_(l), p_(l.profile()), record_(l.trace.strings.find("record_param_comms")) {}

  void run() {
    l_.comms.first_lost = static_cast<uint32_t>(l_.comms.messages.size());
    if (record_ == 0 || !look_at_kernels()) return;
    for (const Message& message : l_.comms.messages) carried_.insert(message.op);
    find_outer();
    for (const auto& thread : l_.threads.ops)
      for (const uint32_t op : thread)
        if (p_.ops[op].name == record_) look_at(op);
    if (strays_ > 0) report_strays();
    if (lost_.empty() || strays_ > 0 || cpu_threads_did_all()) return l_.comms.turns.clear();
    const auto by_start = [&](uint32_t a, uint32_t b) {
      return std::pair(p_.ops[a].start_ns, a) < std::pair(p_.ops[b].start_ns, b);
    };
    std::sort(lost_.begin(), lost_.end(), by_start);
    for (const uint32_t op : lost_) l_.comms.messages.push_back({kNone, op, false});
    std::sort(l_.comms.turns.begin(), l_.comms.turns.end(),
              [&](const CommTurn& a, const CommTurn& b) { return by_start(a.op, b.op); });
  }

 private:
  /// Kernels that belong to no call may be those that are missed: which call lacks its own is not known.
  void report_strays() {
    if (strays_ >= lost_.size()) return;
    const auto missing = static_cast<int64_t>(lost_.size() - strays_);
    l_.report.findings.push_back(
        {"comm.no_kernel",
         Severity::warning,
         -1,
         -1,
         fmt::format("{} communications have no kernel in the recording and are left out: they cannot be found among "
                     "{} calls, because {} kernels carry no correlation",
                     show_count(missing), show_count(static_cast<int64_t>(lost_.size())),
                     show_count(static_cast<int64_t>(strays_))),
         {{"nodes", missing}}});
  }

  /// The record of c10d around a call, or kNone.
  uint32_t record_around(uint32_t call) const {
    uint32_t op = l_.threads.enclosing_op[call];
    while (op != kNone && p_.ops[op].name != record_) op = l_.threads.parent_op[op];
    return op;
  }

  /// Which calls have kernels. False where a graph launched some: those were recorded when it was captured, if at all.
  bool look_at_kernels() {
    for (uint32_t op = 0; op < p_.device_ops.size(); ++op) {
      const CommKernelRow* row = l_.device.comm_kernel[op];
      if ((row == nullptr || !row->of_c10d) && p_.device_ops[op].comm == trace::kNoRow) continue;
      const uint32_t call = l_.device.call_of_op[op];
      if (call != kNone && l_.waits.roles[call].graph) return false;
      const uint32_t record = call == kNone ? kNone : record_around(call);
      if (record != kNone) kernel_of_.try_emplace(record, op);
      if (call != kNone) launches_.push_back({p_.calls[call].lane, p_.calls[call].start_ns, record == kNone});
      else if (p_.device_ops[op].correlation <= 0) ++strays_;
    }
    std::sort(launches_.begin(), launches_.end());
    return true;
  }

  /// The kernel of a group of calls is launched when the group ends, outside of every record.
  bool may_be_carried(const CpuOp& op) const {
    const auto next = std::lower_bound(launches_.begin(), launches_.end(), std::tuple(op.lane, op.start_ns, false));
    return next != launches_.end() && std::get<0>(*next) == op.lane && std::get<2>(*next);
  }

  /// Records around others, of a barrier around its all-reduce say: the inner one communicates.
  void find_outer() {
    for (const auto& thread : l_.threads.ops)
      for (const uint32_t op : thread)
        if (p_.ops[op].name == record_)
          for (uint32_t o = l_.threads.parent_op[op]; o != kNone; o = l_.threads.parent_op[o])
            if (p_.ops[o].name == record_) carried_.insert(o);
  }

  const CommRecord* said_of(uint32_t op) const {
    if (p_.ops[op].comm != trace::kNoRow) return &p_.comms[p_.ops[op].comm];
    const uint32_t h = l_.match.host_of_op[op];
    return h == kNone ? nullptr : l_.host().comm(l_.host().ops[h]);
  }

  /// Whether CPU threads carry the group's communication out.
  bool is_on_cpu(const CommRecord& said) const {
    for (const auto* groups : {&p_.groups, &std::as_const(l_).host().groups})
      for (const trace::ProcessGroup& group : *groups)
        if (group.name == l_.text(said.group) && !group.backend.empty())
          return !contains(group.backend, "nccl") && !contains(group.backend, "rccl");
    return !l_.comms.host_comms.empty();
  }

  /// Nothing communicated on a device, and CPU threads did it often enough, whatever the groups' backend is said to be.
  bool cpu_threads_did_all() const {
    const bool no_kernel = kernel_of_.empty() && launches_.empty() && strays_ == 0;
    return no_kernel && l_.comms.host_comms.size() >= lost_.size() + on_cpu_;
  }

  void look_at(uint32_t op) {
    const CommRecord* said = said_of(op);
    if (said == nullptr || said->collective == 0 || carried_.contains(op)) return;
    if (comm_kind(l_.text(said->collective)).type == trace::NodeType::invalid) return;
    const auto kernel = kernel_of_.find(op);
    const uint32_t device_op = kernel == kernel_of_.end() ? kNone : kernel->second;
    if (device_op == kNone && may_be_carried(p_.ops[op])) return;
    if (device_op == kNone && is_on_cpu(*said)) {
      ++on_cpu_;
      return;
    }
    l_.comms.turns.push_back({op, device_op, said->group});
    if (device_op == kNone) lost_.push_back(op);
  }

  Linking& l_;
  const Profile& p_;
  StringId record_;
  absl::flat_hash_map<uint32_t, uint32_t> kernel_of_;          ///< record -> its first kernel
  std::vector<std::tuple<uint32_t, int64_t, bool>> launches_;  ///< of kernels: thread, time, outside of every record
  absl::flat_hash_set<uint32_t> carried_;                      ///< records that others stand for
  size_t strays_ = 0;                                          ///< kernels that no call launched
  std::vector<uint32_t> lost_;
  size_t on_cpu_ = 0;  ///< calls of groups that CPU threads serve
};

}  // namespace

void find_lost_comms(Linking& l) { LostComms(l).run(); }

/// Each begins when its call has ended, and those of a group run one after the other.
void add_lost_comms(Linking& l) {
  uint32_t row = l.comms.first_lost;
  absl::flat_hash_map<StringId, std::pair<uint32_t, bool>> last;  // by group: the item, and whether it has no kernel
  for (const CommTurn& turn : l.comms.turns) {
    const bool lost = turn.device_op == kNone;
    uint32_t self = lost ? kNone : l.graph.item_of_device_op[turn.device_op];
    if (lost) {
      const Record& op = l.profile().ops[turn.op];
      self = static_cast<uint32_t>(l.graph.items.size());
      Item item;
      item.kind = Item::Kind::lost_message;
      item.record = row++;
      item.start = op.end_ns();
      item.of = l.graph.item_of_op[turn.op];
      l.graph.items.push_back(item);
      if (item.of != kNone) l.graph.deps.push_back({self, item.of, trace::EdgeKind::launch, false, 0});
    }
    const auto [before, first] = last.try_emplace(turn.group, self, lost);
    if (first) continue;
    if (lost || before->second.second)
      l.graph.deps.push_back({self, before->second.first, trace::EdgeKind::stream, true, 0});
    before->second = {self, lost};
  }
}

}  // namespace chakra::link
