// Bytes per second of measured collectives, as nccl-tests defines them, and of messages.
#include <fmt/core.h>

#include <algorithm>
#include <compare>
#include <map>
#include <string_view>
#include <tuple>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using answer::Missing;
using result::Table;
using trace::CommType;
using Kind = Table::Kind;

constexpr std::string_view kTransfer = "transfer: last start to last end", kOwnTime = "own time, waiting included";

/// All collectives of one group, type and size whose time was taken in the same way.
struct Row {
  std::string group;
  CommType type = CommType::unknown;
  uint64_t bytes = 0;
  uint32_t members = 0;  ///< 0: not known
  int64_t count = 0;
  double time_ns = 0;
  bool transfer = false;
};

/// All members are known. A job that lacks ranks does not tell who else is in a group that nobody lists.
bool complete(const Job& job, const match::Group& group) {
  const size_t traces = job.traces.ranks.size();
  return group.known && group.ranks.size() > 1 &&
         (group.size == 0 ? !group.assumed || group.ranks.size() == traces
                          : group.size == static_cast<int64_t>(group.ranks.size()));
}

/// 0: not known.
uint32_t members_of(const Job& job, const match::Group& group) {
  if (group.size > 0) return static_cast<uint32_t>(std::min<int64_t>(group.size, UINT32_MAX));
  return complete(job, group) ? static_cast<uint32_t>(group.ranks.size()) : 0;
}

/// From the last start to the last end, clocks aligned.
void add_transfers(const Job& job, const JobTimes& times, std::vector<Row>& rows) {
  std::map<std::string_view, const match::Group*> groups;
  for (const match::Group& group : job.matching.groups) groups.emplace(group.name, &group);
  for (const CollectiveTimes& c : times.collectives) {
    const auto group = groups.find(c.group);
    if (c.bytes > 0 && group != groups.end() && complete(job, *group->second))
      rows.push_back({c.group, c.type, c.bytes, c.members, c.count, c.transfer_ns, true});
  }
}

/// Where no transfer is known: each member's own time, its waiting for the others included.
void add_own_times(const Job& job, const JobTimes& times, std::vector<Row>& rows) {
  std::map<std::tuple<uint32_t, CommType, uint64_t>, Row> own;
  std::vector<std::vector<trace::CommSpan>> spans;
  for (const trace::Trace& t : job.traces.ranks) spans.push_back(trace::communication_spans(t));
  for (const match::Collective& c : job.matching.collectives) {
    if (c.doubt != match::Doubt::none || c.bytes == 0) continue;
    const match::Group& group = job.matching.groups[c.group];
    const auto measured = [&](const match::NodeRef& ref) {
      return ref.node != trace::kNoNode && job.traces.ranks[ref.rank].has_start(ref.node);
    };
    const auto clock_known = [&](const match::NodeRef& ref) {
      const Clock &clock = times.clocks[ref.rank], &first = times.clocks[c.members[0].rank];
      return clock.known && clock.reference == first.reference;
    };
    const bool transfer = complete(job, group) && c.members.size() > 1 &&
                          std::all_of(c.members.begin(), c.members.end(), measured) &&
                          std::all_of(c.members.begin(), c.members.end(), clock_known);
    if (transfer) continue;
    for (const match::NodeRef& ref : c.members) {
      if (!measured(ref)) continue;
      Row& row = own[{c.group, c.type, c.bytes}];
      row = {group.name, c.type, c.bytes, members_of(job, group), row.count + 1, row.time_ns, false};
      const trace::CommSpan& span = spans[ref.rank][job.traces.ranks[ref.rank].comm_row[ref.node]];
      row.time_ns += static_cast<double>(span.length()) / static_cast<double>(kPsPerNs);
    }
  }
  for (auto& [key, row] : own) rows.push_back(std::move(row));
}

/// What one rank sends to, or receives from, another one in messages of one size.
struct MessageKey {
  bool receives = false;
  int64_t src = -1, dst = -1;
  uint64_t bytes = 0;
  auto operator<=>(const MessageKey&) const = default;
};
struct MessageSums {
  int64_t count = 0;
  Picoseconds time = 0;
};

// `analyze.message_time` (finding): messages that share a kernel with others, and so have no separate time and no
// bandwidth.
Table messages(const Job& job, Findings& findings) {
  std::map<MessageKey, MessageSums> sums;
  for (const trace::Trace& t : job.traces.ranks) {
    int64_t without_time = 0;
    for (const trace::NodeId n : t.nodes()) {
      const trace::Comm* const comm = t.comm(n);
      const bool receives = t.type[n] == trace::NodeType::recv;
      if (!comm || (!receives && t.type[n] != trace::NodeType::send) || !t.has_start(n) || comm->bytes == 0) continue;
      if (whole_communication(t, n) != n) continue;
      if (t.dur_ps[n] <= 0) {
        ++without_time;
        continue;
      }
      MessageSums& row = sums[{receives, receives ? comm->src : t.rank, receives ? t.rank : comm->dst, comm->bytes}];
      ++row.count;
      row.time = add_saturated(row.time, t.dur_ps[n]);
    }
    if (without_time > 0)
      findings.push_back(
          {"analyze.message_time", Severity::note, t.rank, -1,
           fmt::format("{} messages share a kernel with other messages, so they have no separate time and no bandwidth",
                       show_count(without_time))});
  }
  std::vector<std::pair<MessageKey, MessageSums>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  Table table{"Bandwidth of measured messages, by the duration of each end",
              {{"type", Kind::text, "type", "SEND or RECV: the end of the message"},
               {"from", Kind::plain, "from", "the sender", Missing::unknown},
               {"to", Kind::plain, "to", "the receiver", Missing::unknown},
               {"size", Kind::bytes, "size_bytes", "bytes of one"},
               {"count", Kind::count, "count", "how many there are"},
               {"time", Kind::time_ps, "time_ps", "sum of their times"},
               {"bandwidth", Kind::rate_bytes_per_s, "bandwidth", "bytes of all divided by time"}},
              {}};
  const auto rank = [](int64_t number) -> Table::Cell {
    return number < 0 ? Table::Cell(std::string("unknown")) : Table::Cell(number);
  };
  for (const auto& [key, row] : order)
    table.rows.push_back({std::string(key.receives ? "RECV" : "SEND"), rank(key.src), rank(key.dst), cell(key.bytes),
                          row.count, row.time,
                          static_cast<double>(key.bytes) * static_cast<double>(row.count) /
                              (static_cast<double>(row.time) / kPsPerSecond)});
  return table;
}

}  // namespace

Result<std::vector<NamedTable>> bandwidth(const Job& job, Findings& findings) {
  Table table{"Bandwidth of measured collectives",
              {{"type", Kind::text, "type", "the operation"},
               {"group", Kind::text, "group", "the process group"},
               {"size", Kind::bytes, "size_bytes", "bytes of one"},
               {"members", Kind::plain, "members", "ranks of the group", Missing::unknown},
               {"count", Kind::count, "count", "how many there are"},
               {"time", Kind::time_ps, "time_ps", "sum of their times"},
               {"algorithm", Kind::rate_bytes_per_s, "algorithm", "bytes of all divided by time", Missing::unknown},
               {"bus", Kind::rate_bytes_per_s, "bus", "as nccl-tests defines it: comparable with the rate of a link",
                Missing::unknown},
               {"time is", Kind::text, "time_is", "how the time was taken"}},
              {}};
  const JobTimes times = job_times(job.traces, job.matching);
  std::vector<Row> rows;
  add_transfers(job, times, rows);
  add_own_times(job, times, rows);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time_ns > b.time_ns; });
  for (const Row& row : rows) {
    if (row.time_ns <= 0) continue;
    const bool gathers = trace::algorithm_factor(row.type, 2) != 1;
    const double rate = trace::algorithm_factor(row.type, std::max<uint32_t>(row.members, 1)) *
                        static_cast<double>(row.bytes) * static_cast<double>(row.count) / (row.time_ns * 1e-9);
    const double bus = trace::bus_factor(row.type, std::max<uint32_t>(row.members, 1));
    const auto known = [](bool is, Table::Cell value) {
      return is ? std::move(value) : Table::Cell(std::string("unknown"));
    };
    table.rows.push_back({std::string(trace::name(row.type)), group_name(row.group), cell(row.bytes),
                          known(row.members > 0, int64_t{row.members}), row.count,
                          static_cast<Picoseconds>(std::clamp(row.time_ns * 1e3, 0.0, 1e18)),
                          known(row.members > 0 || !gathers, rate), known(row.members > 0, rate * bus),
                          std::string(row.transfer ? kTransfer : kOwnTime)});
  }
  return std::vector<NamedTable>{
      {"bandwidth", std::move(table)}, message_transfers(job, times), {"message_bandwidth", messages(job, findings)}};
}

}  // namespace chakra::analyze
