// Messages that c10d or NCCL coalesces (batch_isend_irecv, ncclGroupEnd): each is recorded first, then one kernel is
// launched for all of them, outside of every record.
#include <algorithm>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

/// send, recv, or invalid for a record of something else.
trace::NodeType message_in(const Linking& l, uint32_t op) {
  const uint32_t row = l.profile().ops[op].comm;
  StringId collective = row == trace::kNoRow ? 0 : l.profile().comms[row].collective;
  if (const uint32_t h = l.match.host_of_op[op]; collective == 0 && h != kNone)
    if (const CommRecord* record = l.host().comm(l.host().ops[h])) collective = record->collective;
  const trace::NodeType type = collective == 0 ? trace::NodeType::invalid : comm_kind(l.text(collective)).type;
  return type == trace::NodeType::send || type == trace::NodeType::recv ? type : trace::NodeType::invalid;
}

}  // namespace

void find_messages(Linking& l) {
  const StringId record = l.trace.strings.find("record_param_comms");
  const Profile& p = l.profile();
  const auto is_record = [&](uint32_t op) {
    return (record != 0 && p.ops[op].name == record) || (p.ops[op].library_call && p.ops[op].comm != trace::kNoRow);
  };
  std::vector<Message> pending;  // recorded since the last communication kernel
  for (size_t thread = 0; thread < p.threads.size(); ++thread) {
    pending.clear();
    size_t next = 0;
    const std::vector<uint32_t>& ops = l.threads.ops[thread];
    for (const uint32_t call : l.threads.launches[thread]) {
      for (; next < ops.size() && p.ops[ops[next]].start_ns < p.calls[call].start_ns; ++next)
        if (is_record(ops[next]))
          if (const trace::NodeType type = message_in(l, ops[next]); type != trace::NodeType::invalid)
            pending.push_back({kNone, ops[next], type == trace::NodeType::recv});
      if (pending.empty() || l.waits.roles[call].launched() != 1) continue;
      const uint32_t device_op = l.device.op_order[l.waits.roles[call].first_op];
      if (const auto* row = l.device.comm_kernel[device_op]; row == nullptr || !row->of_c10d) continue;
      uint32_t around = l.threads.enclosing_op[call];
      while (around != kNone && !is_record(around)) around = l.threads.parent_op[around];
      if (around == kNone && p.device_ops[device_op].comm == trace::kNoRow)
        for (const Message& message : pending) l.comms.messages.push_back({device_op, message.op, message.receives});
      pending.clear();
    }
  }
  std::stable_sort(l.comms.messages.begin(), l.comms.messages.end(), [](const Message& a, const Message& b) {
    return std::pair(a.device_op, !a.receives) < std::pair(b.device_op, !b.receives);
  });
}

}  // namespace chakra::link
