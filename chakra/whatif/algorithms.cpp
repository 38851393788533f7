// Collectives that a changed network does by another algorithm.
#include <fmt/core.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

std::string described(const sim::CollectiveReport& c) {
  return fmt::format("{}{}", c.algorithm->name, c.near ? ", members in the order of the network" : "");
}

}  // namespace

/// Where a link is slow or gone, another algorithm may be the fastest: then the change is not the link's alone.
// `whatif.algorithm.changed` (finding): a collective is done by another algorithm than on the network without the
// change of a link
void compare_algorithms(const sim::SimReport& before, const sim::SimReport& now, Findings& findings) {
  using Key = std::tuple<std::string, trace::CommType, uint64_t, uint32_t>;
  const auto key = [](const sim::CollectiveReport& c) { return Key(c.group, c.type, c.bytes, c.members); };
  std::map<Key, const sim::CollectiveReport*> known;
  for (const sim::CollectiveReport& c : before.collectives) known.emplace(key(c), &c);
  struct Changed {
    int64_t kinds = 0;
    const sim::CollectiveReport* first = nullptr;
  };
  std::map<std::tuple<std::string_view, std::string, std::string>, Changed> changes;  // operation, before, now
  for (const sim::CollectiveReport& c : now.collectives) {
    const auto found = known.find(key(c));
    if (found == known.end() || !c.algorithm || !found->second->algorithm) continue;
    if (described(c) == described(*found->second)) continue;
    Changed& changed = changes[{trace::name(c.type), described(*found->second), described(c)}];
    if (changed.kinds++ == 0) changed.first = &c;
  }
  for (const auto& [names, changed] : changes) {
    const auto& [operation, old_way, new_way] = names;
    const std::string others = changed.kinds > 1 ? fmt::format(" and {} more", changed.kinds - 1) : "";
    findings.push_back({"whatif.algorithm.changed", Severity::note, -1, -1,
                        fmt::format("{} of {} among {} ranks{}: {} on the whole network, {} on the changed one; a part "
                                    "of the difference may be the algorithm's",
                                    operation, show_bytes(static_cast<double>(changed.first->bytes)),
                                    changed.first->members, others, old_way, new_way)});
  }
}

}  // namespace chakra::whatif
