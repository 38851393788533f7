#include "chakra/flight/stops.h"

#include <algorithm>
#include <map>
#include <set>

namespace chakra::flight {
namespace {

Stop stop_of(const std::vector<Dump>& dumps, const CallTable& table, size_t g, int64_t number,
             const std::vector<Call>& calls) {
  const JobGroup& group = table.groups[g];
  Stop stop;
  stop.group = g;
  stop.number = number;
  stop.operation = calls[0].parts[0]->operation;
  for (const Call& call : calls) {
    if (call.state == State::completed) stop.completed.push_back(dumps[call.dump].rank);
    else add_waiting(dumps, call.dump, call.first, stop);
    if (call.state != State::completed) stop.operation = call.parts[0]->operation;
  }
  std::map<size_t, const Call*> of_dump;
  for (const Call& call : calls) of_dump[call.dump] = &call;
  for (const int64_t rank : group.members) {
    const auto dump = table.dump_of.find(rank);
    if (dump == table.dump_of.end()) {
      stop.late.push_back({Late::Why::no_dump, rank});
      continue;
    }
    if (of_dump.contains(dump->second)) continue;
    const auto last = group.last.find(dump->second);
    if (last == group.last.end() || last->second < number) stop.late.push_back({Late::Why::not_called, rank});
    else stop.completed.push_back(rank);  // called, and no longer in the dump
  }
  return stop;
}

/// By dump and entry: the stop that it waits in, or behind which it waits.
class StopOfEntry {
 public:
  StopOfEntry(const std::vector<Dump>& dumps, const CallTable& table, const std::vector<Stop>& stops)
      : dumps_(dumps), table_(table) {
    for (size_t s = 0; s < stops.size(); ++s) {
      if (stops[s].is_message()) messages_[{stops[s].group, stops[s].src, stops[s].dst}] = s;
      else collectives_[stops[s].group] = s;
    }
  }
  size_t operator()(size_t dump, size_t e) const {
    const Entry& entry = dumps_[dump].entries[e];
    const size_t group = table_.group_of.at({dump, entry.group});
    if (!entry.is_message) {
      const auto at = collectives_.find(group);
      return at == collectives_.end() ? kNoStop : at->second;
    }
    const JobGroup& of = table_.groups[group];
    const auto at = messages_.find({group, of.rank_of(entry.src), of.rank_of(entry.dst)});
    return at == messages_.end() ? kNoStop : at->second;
  }

 private:
  const std::vector<Dump>& dumps_;
  const CallTable& table_;
  std::map<size_t, size_t> collectives_;
  std::map<std::tuple<size_t, int64_t, int64_t>, size_t> messages_;
};

/// The first call of a rank before entry `end` that has not ended and belongs to another stop; kNoStop: none.
size_t front_of(const std::vector<std::vector<size_t>>& open, const StopOfEntry& stop_of_entry, size_t dump, size_t end,
                size_t self) {
  for (const size_t e : open[dump]) {
    if (e >= end) break;
    if (const size_t stop = stop_of_entry(dump, e); stop != kNoStop && stop != self) return stop;
  }
  return kNoStop;
}

}  // namespace

void add_waiting(const std::vector<Dump>& dumps, size_t dump, size_t e, Stop& stop) {
  const Entry& entry = dumps[dump].entries[e];
  stop.waiting.push_back(dumps[dump].rank);
  stop.entries.emplace_back(dump, e);
  if (entry.created_ns > 0 && (stop.since_ns == 0 || entry.created_ns < stop.since_ns))
    stop.since_ns = entry.created_ns;
  stop.timeout_ms = std::max(stop.timeout_ms, entry.timeout_ms);
  if (stop.caller.empty()) stop.caller = entry.caller;
}

void find_collective_stops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops) {
  for (size_t g = 0; g < table.groups.size(); ++g)
    for (const auto& [number, calls] : table.groups[g].collectives) {
      const bool ended =
          std::all_of(calls.begin(), calls.end(), [](const Call& call) { return call.state == State::completed; });
      if (ended) continue;
      stops.push_back(stop_of(dumps, table, g, number, calls));
      break;
    }
}

void find_reasons(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops) {
  const StopOfEntry stop_of_entry(dumps, table, stops);
  std::vector<std::vector<size_t>> open(dumps.size());  // by dump: entries that have not ended
  for (size_t d = 0; d < dumps.size(); ++d)
    for (size_t e = 0; e < dumps[d].entries.size(); ++e)
      if (table.states[d][e] != State::completed) open[d].push_back(e);
  for (size_t s = 0; s < stops.size(); ++s) {
    Stop& stop = stops[s];
    for (Late& late : stop.late)
      if (late.why != Late::Why::no_dump)
        late.behind = front_of(open, stop_of_entry, table.dump_of.at(late.rank), SIZE_MAX, s);
    const bool begun = std::any_of(stop.entries.begin(), stop.entries.end(),
                                   [&](const auto& at) { return table.states[at.first][at.second] == State::started; });
    for (const auto& [dump, e] : stop.entries) {
      if (table.states[dump][e] != State::scheduled) continue;
      const size_t behind = front_of(open, stop_of_entry, dump, e, s);
      if (behind != kNoStop || begun) stop.late.push_back({Late::Why::not_begun, dumps[dump].rank, behind});
    }
  }
}

}  // namespace chakra::flight
