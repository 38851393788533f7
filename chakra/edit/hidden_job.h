// Parts that hiding and revealing share. Inside edit.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// Put an attribute into a trace; a long text goes to the trace's texts.
inline trace::Attr owned(trace::Trace& t, std::string_view name, const trace::Attr& attr) {
  const auto text = attr.text();
  const StringId id = t.strings.intern(name);
  if (text && text->size() > trace::Attrs::kInline) return {id, t.texts.add(*text)};
  return {id, attr.value};
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
