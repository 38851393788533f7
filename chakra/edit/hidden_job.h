// Parts that hiding and revealing share. Inside edit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// Replace the attributes of the nodes by those that `change` returns for the attributes of `from`, a trace with the
/// same nodes. `change`: Attr -> std::optional<Attr>, with the name in `from`, and a text that lives until the next
/// call; nullopt removes the attribute.
template <class Change>
void change_attrs(const trace::Trace& from, trace::Trace& to, const Change& change) {
  to.attrs = trace::Attrs();
  const std::span<size_t> begin = to.attr_begin.edit();
  for (const trace::NodeId n : from.nodes()) {
    begin[n] = to.attrs.position();
    const trace::Attrs::Range range = from.attrs_of(n);
    for (auto at = range.begin(); at != range.end(); ++at)
      if (std::optional<trace::Attr> changed = change(*at)) {
        changed->name = to.strings.intern(from.strings[changed->name]);
        to.attrs.add(trace::kept(*changed, to.texts));
      }
  }
  begin[from.size()] = to.attrs.position();
}

/// Change each class, group and slot of a job by classes.
template <class ChangeTrace, class ChangeGroup, class ChangeSlot>
Result<trace::ClassJob> change(const trace::ClassJob& job, const ChangeTrace& change_trace,
                               const ChangeGroup& change_group, const ChangeSlot& change_slot) {
  trace::ClassJob out = job;
  for (trace::Trace& cls : out.classes) {
    CHAKRA_ASSIGN(cls, change_trace(cls));
  }
  for (trace::ProcessGroup& group : out.groups) change_group(group);
  for (std::vector<std::string>& slots : out.group_slots)
    for (std::string& slot : slots) slot = change_slot(slot);
  return out;
}

}  // namespace chakra::edit
