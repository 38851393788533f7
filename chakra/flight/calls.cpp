#include "chakra/flight/calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <set>

namespace chakra::flight {
namespace {

/// (group, message or collective, number) of a batch on one rank.
using BatchKey = std::tuple<uint32_t, bool, int64_t>;
BatchKey batch_of(const Entry& entry) {
  return {entry.group, entry.is_message, entry.is_message ? entry.message : entry.collective};
}

/// Parts of a batch are recorded without a state: they have that of its end.
std::vector<State> states_of(const Dump& dump) {
  std::map<BatchKey, State> ends;
  for (const Entry& entry : dump.entries)
    if (ends_batch(entry)) ends[batch_of(entry)] = entry.state;
  std::vector<State> states;
  for (const Entry& entry : dump.entries) {
    const auto end = ends.find(batch_of(entry));
    states.push_back(end == ends.end() ? entry.state : end->second);
  }
  return states;
}

// `flight.group.unknown` (warning): records of a group whose members pg_config does not list: members without a call
// cannot be named.
class TableMaker {
 public:
  explicit TableMaker(const std::vector<Dump>& dumps) : dumps_(dumps) {}

  CallTable run(Findings& findings) {
    for (size_t d = 0; d < dumps_.size(); ++d) {
      table_.dump_of[dumps_[d].rank] = d;
      table_.states.push_back(states_of(dumps_[d]));
      for (uint32_t g = 0; g < dumps_[d].groups.size(); ++g) add_group(d, g);
    }
    for (size_t d = 0; d < dumps_.size(); ++d) add_calls(d);
    find_unknown(findings);
    return std::move(table_);
  }

 private:
  /// Groups of one name may have other members: split_group reuses names.
  void add_group(size_t d, uint32_t g) {
    const Group& group = dumps_[d].groups[g];
    std::vector<int64_t> sorted = group.ranks;
    std::sort(sorted.begin(), sorted.end());
    const auto [at, is_new] = by_members_.try_emplace({group.name, sorted}, table_.groups.size());
    if (is_new) {
      JobGroup& added = table_.groups.emplace_back();
      added.name = group.name;
      added.description = group.description;
      added.members = group.ranks;
      added.known = !group.ranks.empty();
    }
    table_.group_of[{d, g}] = at->second;
  }

  void add_calls(size_t d) {
    const Dump& dump = dumps_[d];
    for (size_t e = 0; e < dump.entries.size(); ++e) {
      const Entry& entry = dump.entries[e];
      JobGroup& group = table_.groups[table_.group_of.at({d, entry.group})];
      if (!group.known && (group.members.empty() || group.members.back() != dump.rank))
        group.members.push_back(dump.rank);
      if (entry.is_message) continue;
      std::vector<Call>& calls = group.collectives[entry.collective];
      if (calls.empty() || calls.back().dump != d) {
        Call& call = calls.emplace_back();
        call.dump = d;
        call.first = e;
        call.created_ns = entry.created_ns;
      }
      Call& call = calls.back();
      if (!ends_batch(entry) || call.parts.empty()) call.parts.push_back(&entry);
      call.state = table_.states[d][e];
      call.timeout_ms = std::max(call.timeout_ms, entry.timeout_ms);
      int64_t& last = group.last.try_emplace(d, entry.collective).first->second;
      last = std::max(last, entry.collective);
      if (const auto at = dump.enqueued.find(entry.pg_id); at != dump.enqueued.end()) last = std::max(last, at->second);
    }
  }

  void find_unknown(Findings& findings) const {
    for (const JobGroup& group : table_.groups)
      if (!group.known && !group.members.empty())
        findings.push_back({"flight.group.unknown", Severity::warning, -1, -1,
                            fmt::format("the members of {} are not listed; those of its {} are taken for all",
                                        group.text(), show_ranks(group.members))});
  }

  const std::vector<Dump>& dumps_;
  CallTable table_;
  std::map<std::pair<std::string, std::vector<int64_t>>, size_t> by_members_;
};

}  // namespace

bool ends_batch(const Entry& entry) {
  return entry.operation == "coalesced" || entry.operation == "ALLGATHER_coalesced" ||
         entry.operation == "REDUCE_SCATTER_coalesced";
}

std::string JobGroup::text() const {
  if (description.empty() || description == "undefined") return fmt::format("group {}", quote(name));
  return fmt::format("group {} ({})", quote(name), quote(description));
}

CallTable table_of_calls(const std::vector<Dump>& dumps, Findings& findings) { return TableMaker(dumps).run(findings); }

std::string list_ranks(std::vector<int64_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  constexpr size_t kMostRanges = 16;
  std::string text;
  for (size_t i = 0, ranges = 0; i < ranks.size(); ++ranges) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (ranges == kMostRanges) return text + fmt::format(" and {} more", ranks.size() - i);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (end - i > 1) text += fmt::format("{}{}", end - i > 2 ? "-" : ", ", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string show_ranks(std::vector<int64_t> ranks) {
  const char* const noun = ranks.size() == 1 ? "rank" : "ranks";
  return fmt::format("{} {}", noun, list_ranks(std::move(ranks)));
}

std::string show_utc(int64_t ns) {
  constexpr int64_t kPerSecond = 1'000'000'000, kLatest = int64_t{4102444800} * kPerSecond;  // the year 2100
  if (ns <= 0 || ns >= kLatest) return "an unknown time";
  const std::time_t seconds = ns / kPerSecond;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ns % kPerSecond / 1'000'000);
}

}  // namespace chakra::flight
