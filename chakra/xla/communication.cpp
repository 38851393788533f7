#include "chakra/xla/communication.h"

#include <fmt/core.h>

namespace chakra::xla {
namespace {

constexpr uint64_t kMostMembers = 1 << 26;  ///< of all groups of a program

Result<Meeting> meeting_of(const Program& p, const Instruction& i) {
  CHAKRA_ASSIGN(const auto groups, groups_of(p, i));
  Meeting meeting;
  meeting.group_of.assign(static_cast<size_t>(p.device_count()), kNone);
  for (const auto& group : groups) {
    auto& ranks = meeting.groups.emplace_back();
    for (const int64_t logical : group) {
      uint32_t& of = meeting.group_of[static_cast<size_t>(logical)];
      if (of != kNone)
        return fail(Code::bad_input, "xla.groups",
                    fmt::format("the groups of {} are invalid: a device is in two groups", quote(i.name)), {p.file});
      of = static_cast<uint32_t>(meeting.groups.size() - 1);
      ranks.push_back(p.device(logical));
    }
  }
  return meeting;
}

Result<Messages> messages_of(const Program& p, const Instruction& i) {
  CHAKRA_ASSIGN(const auto pairs, pairs_of(p, i));
  Messages messages;
  messages.to.resize(static_cast<size_t>(p.device_count()));
  messages.from.resize(static_cast<size_t>(p.device_count()));
  for (const auto& [source, target] : pairs) {
    if (source == target) continue;  // a copy
    if (i.kind() != Kind::recv) messages.to[static_cast<size_t>(source)].push_back(p.device(target));
    if (i.kind() != Kind::send) messages.from[static_cast<size_t>(target)].push_back(p.device(source));
  }
  return messages;
}

}  // namespace

Result<Communication> communication_of(const Program& p) {
  Communication all;
  uint64_t members = 0;
  for (uint32_t c = 0; c < p.computations.size(); ++c)
    for (uint32_t row = 0; row < p.computations[c].instructions.size(); ++row) {
      const Instruction& i = p.computations[c].instructions[row];
      const bool meets = i.kind() == Kind::collective;
      if (!meets && i.kind() != Kind::permute && i.kind() != Kind::send && i.kind() != Kind::recv) continue;
      if ((members += static_cast<uint64_t>(p.device_count())) > kMostMembers)
        return fail(Code::bad_input, "xla.program.large", "the program has too many collectives for its devices",
                    {p.file});
      if (meets) {
        CHAKRA_ASSIGN(all.meetings[Communication::Key(c, row)], meeting_of(p, i));
      } else {
        CHAKRA_ASSIGN(all.messages[Communication::Key(c, row)], messages_of(p, i));
      }
    }
  return all;
}

}  // namespace chakra::xla
