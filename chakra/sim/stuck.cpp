#include "chakra/sim/stuck.h"

#include <fmt/core.h>

namespace chakra::sim {
namespace {

constexpr size_t kRanksNamed = 6;

std::string list_of(const std::vector<Wait::Rank>& ranks, size_t named) {
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < named; ++i) {
    text += fmt::format("{}rank {}", i ? ", " : "", ranks[i].rank);
    if (ranks[i].node) text += fmt::format(" (node {})", *ranks[i].node);
    if (!ranks[i].why.empty()) text += ", " + ranks[i].why;
  }
  if (ranks.size() > named) text += fmt::format(" and {} more", show_count(static_cast<int64_t>(ranks.size() - named)));
  return text;
}

}  // namespace

std::string to_text(const Wait& wait) {
  const char* const verb = wait.waiting.size() == 1 ? "waits" : "wait";
  if (wait.type == trace::CommType::unknown) {
    const Wait::Rank& from = wait.missing.front();
    return fmt::format("{} {} for a message {}from rank {} with tag {}{}, {}", list_of(wait.waiting, 1), verb,
                       wait.waiting.size() > 1 ? "each, the first " : "", from.rank, wait.tag,
                       from.node ? fmt::format(" (node {})", *from.node) : "", from.why);
  }
  std::string text =
      fmt::format("{} {} in {} number {} of group {} for {}", list_of(wait.waiting, kRanksNamed), verb,
                  trace::name(wait.type), wait.index, quote(wait.groups.front()), list_of(wait.missing, kRanksNamed));
  if (wait.groups.size() > 1)
    text += fmt::format(" (and the same in {} more groups)", show_count(static_cast<int64_t>(wait.groups.size()) - 1));
  return text;
}

}  // namespace chakra::sim
