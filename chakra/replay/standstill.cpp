#include "chakra/replay/standstill.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/replay/wire.h"

namespace chakra::replay {
namespace {

constexpr size_t kWaitsNamed = 6;

/// An operation in which a rank waits, as others need to know it.
struct Wait {
  std::string what;              ///< equal for all who wait in the same
  std::vector<int64_t> members;  ///< who take part
};

struct Answer {
  Doing::State state = Doing::State::works;
  int64_t idle_ms = 0;
  std::vector<Wait> waits;
};

Wait wait_of(const Operation& op, int64_t own) {
  if (op.kind == Operation::Kind::collective)
    return {fmt::format("{} number {} of group {}", trace::name(op.type), op.index, quote(op.group)),
            {op.members.begin(), op.members.end()}};
  const bool sends = op.kind == Operation::Kind::send;
  return {fmt::format("message number {} from rank {} to rank {} with tag {}", op.index, sends ? own : op.partner,
                      sends ? op.partner : own, op.tag),
          {op.partner}};
}

Answer read_answer(std::string_view text) {
  BodyReader read(text);
  Answer answer;
  answer.state = static_cast<Doing::State>(read.number());
  answer.idle_ms = read.number();
  for (int64_t waits = read.number(); waits > 0 && read.ok(); --waits) {
    Wait& wait = answer.waits.emplace_back();
    wait.what = read.text();
    for (int64_t members = read.number(); members > 0 && read.ok(); --members) wait.members.push_back(read.number());
  }
  return answer;
}

}  // namespace

std::string to_answer(const Doing& doing) {
  BodyWriter out;
  out.number(static_cast<int64_t>(doing.state)).number(doing.idle_ms);
  out.number(static_cast<int64_t>(doing.operations.size()));
  for (const Operation* op : doing.operations) {
    const Wait wait = wait_of(*op, doing.rank);
    out.text(wait.what).number(static_cast<int64_t>(wait.members.size()));
    for (const int64_t rank : wait.members) out.number(rank);
  }
  return out.body;
}

std::optional<std::string> who_waits(const Met& answers, int64_t idle_ms) {
  std::map<int64_t, Answer> by_rank;
  for (size_t i = 0; i < answers.ranks.size(); ++i) by_rank[answers.ranks[i]] = read_answer(answers.brought[i]);
  for (const auto& [rank, answer] : by_rank)
    if (answer.state == Doing::State::works || (answer.state == Doing::State::waits && answer.idle_ms < idle_ms))
      return std::nullopt;
  struct Place {
    std::vector<int64_t> waiting;
    std::set<int64_t> missing;
  };
  std::map<std::string, Place> places;
  for (const auto& [rank, answer] : by_rank)
    for (const Wait& wait : answer.waits) {
      Place& place = places[wait.what];
      place.waiting.push_back(rank);
      for (const int64_t member : wait.members) {
        const auto other = by_rank.find(member);
        const bool there =
            other != by_rank.end() && std::any_of(other->second.waits.begin(), other->second.waits.end(),
                                                  [&](const Wait& its) { return its.what == wait.what; });
        if (!there) place.missing.insert(member);
      }
    }
  std::string text;
  size_t named = 0;
  for (const auto& [what, place] : places) {
    if (named++ == kWaitsNamed) break;
    text += fmt::format("{}{} {} in {}", text.empty() ? "" : "; ", show_ranks(place.waiting),
                        place.waiting.size() == 1 ? "waits" : "wait", what);
    if (place.missing.empty()) text += ", where all ranks have arrived: the transfer does not end";
    else text += fmt::format(" for {}", show_ranks({place.missing.begin(), place.missing.end()}));
    for (const int64_t rank : place.missing) {
      const auto other = by_rank.find(rank);
      const bool silent = other == by_rank.end();
      if (silent || other->second.state == Doing::State::has_finished)
        text += fmt::format(", {} {}", place.missing.size() == 1 ? "which" : fmt::format("of which {}", rank),
                            silent ? "does not answer" : "has finished");
    }
  }
  if (places.size() > kWaitsNamed) text += fmt::format("; and {} more", places.size() - kWaitsNamed);
  return text;
}

}  // namespace chakra::replay
