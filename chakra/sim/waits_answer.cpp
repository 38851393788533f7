// The answer for a job that cannot finish: which ranks are blocked on which.
#include "chakra/answer/rows.h"
#include "chakra/sim/stuck.h"

namespace chakra::sim {
namespace {

using answer::column;
using answer::rows;
using answer::Unit;

constexpr auto kIsMessage = [](const Wait& wait) { return wait.type == trace::CommType::unknown; };
constexpr auto kIsCollective = [](const Wait& wait) { return !kIsMessage(wait); };
constexpr std::array kNoEnd{column<&Error::tag>("tag", Unit::none, "kind of error"),
                            column<&Error::text>("text", Unit::none, "the error, in words")};
constexpr std::array kWaits{
    column<Wait>(
        "type", Unit::none, "the operation, or message",
        [](const Wait& wait) { return kIsMessage(wait) ? std::string_view("message") : trace::name(wait.type); }),
    column_if<Wait>(kIsMessage, "message_tag", Unit::none, "of a message: its tag",
                    [](const Wait& wait) { return wait.tag; }),
    rows<Wait>("groups", "of a collective: its group, and those in which the same happens", kIsCollective),
    column_if<Wait>(kIsCollective, "index", Unit::id, "of a collective: its position in its group, from 0",
                    [](const Wait& wait) { return wait.index; }),
    rows<Wait>("waiting", "ranks that wait"),
    rows<Wait>("missing", "ranks that they wait for")};
constexpr std::array kWaiting{column<&Wait::Rank::rank>("rank", Unit::id, "the rank"),
                              column<&Wait::Rank::node>("node", Unit::id, "its node; null: unknown")};
constexpr std::array kMissing =
    answer::joined(kWaiting, std::array{column<&Wait::Rank::why>("why", Unit::none, "reason for its absence")});

}  // namespace

answer::Answer answer_of(const Error& error, const std::vector<Wait>& waits) {
  answer::Builder to("sim without an end");
  to.values("error.", &error, kNoEnd);
  to.table("waits", "blocked communication; the error names the first", waits, kWaits);
  to.children(
      "waits", "groups", waits, [](const Wait& wait) -> const auto& { return wait.groups; }, answer::kTextRows);
  to.children(
      "waits", "waiting", waits, [](const Wait& wait) -> const auto& { return wait.waiting; }, kWaiting);
  to.children(
      "waits", "missing", waits, [](const Wait& wait) -> const auto& { return wait.missing; }, kMissing);
  return std::move(to).finish();
}

}  // namespace chakra::sim
