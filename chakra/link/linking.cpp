#include "chakra/link/linking.h"

namespace chakra::link {

std::pair<uint32_t, uint32_t> Linking::messages_of(uint32_t device_op) const {
  const std::vector<Message>& rows = comms.messages;
  const auto first =
      std::partition_point(rows.begin(), rows.end(), [&](const Message& m) { return m.device_op < device_op; });
  const auto last = std::partition_point(first, rows.end(), [&](const Message& m) { return m.device_op <= device_op; });
  return {static_cast<uint32_t>(first - rows.begin()), static_cast<uint32_t>(last - rows.begin())};
}

const HostComm* Linking::host_comm(uint32_t record) const {
  const auto found = std::partition_point(comms.host_comms.begin(), comms.host_comms.end(),
                                          [&](const HostComm& comm) { return comm.record < record; });
  return found == comms.host_comms.end() || found->record != record ? nullptr : &*found;
}

ArgumentTexts Linking::arguments_of(uint32_t op) const {
  const bool host_alone = profile().file.empty();
  const uint32_t h = host_alone ? op : match.host_of_op[op];
  if (h != kNone) {
    const trace::Tensors inputs = host().io(host().ops[h]).inputs;
    return {inputs.values, text(inputs.shapes), text(inputs.types)};
  }
  const uint32_t row = profile().ops[op].shapes;
  if (row == trace::kNoRow || row == kShapesUnused) return {};
  const RecordedShapes& all = profile().shapes;
  const RecordedShapes::Row& texts = all.rows[row];
  return {all.texts[texts.values], all.texts[texts.dims], all.texts[texts.types]};
}

}  // namespace chakra::link
