#include <fmt/core.h>

#include <optional>

#include "chakra/edit/hidden_job.h"
#include "chakra/edit/hide.h"
#include "chakra/work/work.h"

namespace chakra::edit {

// `edit.reveal.unknown` (1): the map of hidden names lacks a name of the job

namespace {

using trace::Attr;
using trace::Trace;

constexpr size_t kTokenDigits = 20;

class Revealer {
 public:
  explicit Revealer(const HiddenTexts& texts) : texts_(texts) {}

  Result<Trace> run(const Trace& t) {
    Trace out = t;
    const StringId tier = t.strings.find("storage_tier");
    for (StringId& name : out.name.edit()) name = out.strings.intern(text(t.strings[name]));
    if (!t.comms.empty())
      for (trace::Comm& comm : out.comms.edit()) comm.group = out.strings.intern(text(t.strings[comm.group]));
    for (trace::ProcessGroup& group : out.groups) group.name = text(group.name);
    std::string revealed;
    if (tier != 0)
      change_attrs(t, out, [&](Attr attr) -> std::optional<Attr> {
        if (const auto hidden = attr.text(); hidden && attr.name == tier) {
          revealed = text(*hidden);
          attr.value = std::string_view(revealed);
        }
        return attr;
      });
    out.metadata.clear();
    for (Attr attr : t.metadata) {
      if (t.strings[attr.name] == kHiddenMark || t.strings[attr.name] == kHiddenLevel) continue;
      if (const auto hidden = attr.text()) attr.value = out.texts.add(text(*hidden));
      out.metadata.push_back(attr);
    }
    if (unknown_)
      return fail(
          Code::bad_input, "edit.reveal.unknown",
          fmt::format("rank {}: the map does not have {}; the map is that of another job, or the job was changed",
                      t.rank, quote(*unknown_)),
          {t.file});
    trace::assert_whole(out);
    return out;
  }

  std::string text(std::string_view name) {
    if (const auto found = texts_.find(name); found != texts_.end()) return found->second;
    const bool made_here = work::is_hidden_name(name) && name.size() - name.rfind('.') == kTokenDigits + 1;
    if (made_here && !unknown_) unknown_ = name;
    return std::string(name);
  }

 private:
  const HiddenTexts& texts_;
  std::optional<std::string> unknown_;
};

}  // namespace

Result<Trace> reveal(const Trace& trace, const HiddenTexts& texts) {
  trace::assert_whole(trace);
  return Revealer(texts).run(trace);
}

Result<trace::ClassJob> reveal(const trace::ClassJob& job, const HiddenTexts& texts) {
  Revealer names(texts);
  return change(
      job, [&](const Trace& cls) { return Revealer(texts).run(cls); },
      [&](trace::ProcessGroup& group) { group.name = names.text(group.name); },
      [&](const std::string& slot) { return names.text(slot); });
}

}  // namespace chakra::edit
