// Groups of other names than numbers.
#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/astra/astra.h"

namespace chakra::astra {

void number_groups(trace::TraceSet& job, match::GroupTable& groups, Findings& findings) {
  const auto is_number = [](const std::string& name) {
    int64_t number = 0;
    return name.empty() || parse_integer(name, number);
  };
  match::GroupTable taken = groups;
  for (const trace::Trace& t : job.ranks)
    for (const trace::ProcessGroup& g : t.groups)
      if (is_number(g.name)) taken.try_emplace(g.name);
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> numbers;
  int64_t next = 1;
  std::string first;
  for (trace::Trace& t : job.ranks) {
    std::map<StringId, StringId> renamed;
    for (trace::ProcessGroup& g : t.groups) {
      if (is_number(g.name) || g.ranks.empty() || groups.contains(g.name)) continue;
      while (taken.contains(std::to_string(next))) ++next;
      const auto [number, is_new] = numbers.try_emplace({g.name, g.ranks}, std::to_string(next));
      if (is_new) ++next;
      if (first.empty()) first = fmt::format("{} is group {}", quote(g.name), number->second);
      if (const StringId name = t.strings.find(g.name)) renamed[name] = t.strings.intern(number->second);
      g.name = number->second;
    }
    if (renamed.empty()) continue;
    for (trace::Comm& c : t.comms.edit())
      if (const auto to = renamed.find(c.group); to != renamed.end()) c.group = to->second;
  }
  for (const auto& [group, number] : numbers) groups.emplace(number, group.second);
  if (!numbers.empty())
    findings.push_back({"sim.compat.numbered", Severity::note, -1, -1,
                        fmt::format("ASTRA-sim knows groups by number: {} groups of the traces with other names have "
                                    "one each for this run; {}",
                                    numbers.size(), first)});
}

}  // namespace chakra::astra
