// Waiting with a known cause: for the rank with most bytes of an uneven all-to-all, and for messages that are not sent
// yet. Transfers of messages without such waiting.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/rows.h"
#include "chakra/analyze/spans.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using Kind = Table::Kind;

constexpr double kCertain = 3;  ///< spreads of clocks: less lateness counts as none
constexpr double kPerNs = static_cast<double>(kPsPerNs);

/// The starts and ends of communication on the clocks of the reference ranks.
class AlignedTimes {
 public:
  AlignedTimes(const Job& job, const JobTimes& times) : job_(job), clocks_(times.clocks) {
    for (const trace::Trace& t : job.traces.ranks) spans_.push_back(trace::communication_spans(t));
  }

  bool measured(const match::NodeRef& ref) const {
    return ref.node != trace::kNoNode && job_.traces.ranks[ref.rank].has_start(ref.node);
  }
  bool known(const match::NodeRef& ref) const { return measured(ref) && clocks_[ref.rank].known; }
  bool comparable(const match::NodeRef& a, const match::NodeRef& b) const {
    return known(a) && known(b) && clocks_[a.rank].reference == clocks_[b.rank].reference;
  }
  const trace::CommSpan& span(const match::NodeRef& ref) const {
    return spans_[ref.rank][job_.traces.ranks[ref.rank].comm_row[ref.node]];
  }
  double start_ns(const match::NodeRef& ref) const {
    const Clock& clock = clocks_[ref.rank];
    return clock.start_ns + static_cast<double>(span(ref).start) / kPerNs / (1 + clock.drift_ppm * 1e-6);
  }
  /// The start of the first on the clock of the rank of the second.
  Picoseconds start_on(const match::NodeRef& of, const match::NodeRef& on) const {
    const Clock& clock = clocks_[on.rank];
    const double ns = (start_ns(of) - clock.start_ns) * (1 + clock.drift_ppm * 1e-6);
    return static_cast<Picoseconds>(std::clamp(ns, -1e15, 1e15) * kPerNs);
  }
  double uncertainty_ns(const match::NodeRef& ref) const { return clocks_[ref.rank].uncertainty_ns; }

 private:
  const Job& job_;
  const std::vector<Clock>& clocks_;
  std::vector<std::vector<trace::CommSpan>> spans_;  ///< by rank and row of Trace::comms
};

/// The member with most bytes, if these are at least kUnbalanced times the mean.
std::optional<size_t> busiest(const std::vector<uint64_t>& bytes) {
  double sum = 0;
  for (const uint64_t each : bytes) sum += static_cast<double>(each);
  const auto most = std::max_element(bytes.begin(), bytes.end());
  if (most == bytes.end() || static_cast<double>(*most) * static_cast<double>(bytes.size()) < kUnbalanced * sum ||
      sum == 0)
    return std::nullopt;
  return static_cast<size_t>(most - bytes.begin());
}

/// How much later than the mean of the members this member starts; 0 if the clocks do not show it.
double lateness_ns(const AlignedTimes& times, const match::Collective& c, size_t member) {
  double sum = 0, uncertainty = 0;
  for (const match::NodeRef& ref : c.members) {
    if (!times.comparable(c.members[0], ref)) return 0;
    sum += times.start_ns(ref);
    uncertainty = std::max(uncertainty, times.uncertainty_ns(ref));
  }
  const double late = times.start_ns(c.members[member]) - sum / static_cast<double>(c.members.size());
  return std::abs(late) <= kCertain * uncertainty ? 0 : late;
}

struct UnevenWait {
  int64_t members = 0, count = 0;
  double late_ns = 0;
};

}  // namespace

/// Experts compute between two all-to-alls. The all-to-all after them is late by the experts' load: its own sent bytes,
/// or the received bytes of the one before.
NamedTable uneven_waits(const Job& job, const JobTimes& times) {
  const AlignedTimes aligned(job, times);
  std::map<std::pair<uint32_t, uint32_t>, const match::Collective*> places;  // group and index
  for (const match::Collective& c : job.matching.collectives) places[{c.group, c.index}] = &c;
  std::map<std::tuple<uint32_t, int64_t>, UnevenWait> waits;  // group and rank
  for (const match::Collective& c : job.matching.collectives) {
    const auto present = [](const match::NodeRef& ref) { return ref.node != trace::kNoNode; };
    if (c.type != trace::CommType::all_to_all || c.doubt == match::Doubt::ends || c.members.size() < 2 ||
        !std::all_of(c.members.begin(), c.members.end(), present))
      continue;
    std::vector<uint64_t> sent, received;
    for (const match::NodeRef& ref : c.members) {
      const trace::Comm& comm = *job.traces.ranks[ref.rank].comm(ref.node);
      sent.push_back(comm.bytes != 0 ? comm.bytes : comm.in_bytes);
      received.push_back(comm.out_bytes);
    }
    const match::Collective* at = &c;
    std::optional<size_t> most = busiest(sent);
    if (!most && (most = busiest(received))) {
      const auto next = places.find({c.group, c.index + 1});
      at = next == places.end() || next->second->members.size() != c.members.size() ? nullptr : next->second;
    }
    if (!most || !at) continue;
    UnevenWait& wait = waits[{c.group, job.traces.ranks[c.members[*most].rank].rank}];
    wait.members = std::ssize(c.members);
    ++wait.count;
    wait.late_ns += lateness_ns(aligned, *at, *most);
  }
  Table table{"Uneven all-to-alls: lateness of the rank with most bytes",
              {{"group", Kind::text, "group", "the process group"},
               {"rank", Kind::id, "rank", "the rank with most bytes, at least 1.1 times the mean"},
               {"members", Kind::count, "members", "ranks of the group"},
               {"collectives", Kind::count, "collectives", "all-to-alls in which it has most bytes"},
               {"late", Kind::time_ps, "late_ps", "sum of its lateness, against the mean start of the members"}},
              {}};
  for (const auto& [key, wait] : waits)
    table.rows.push_back({group_name(job.matching.groups[std::get<0>(key)].name), std::get<1>(key), wait.members,
                          wait.count, static_cast<Picoseconds>(std::clamp(wait.late_ns, -1e15, 1e15) * kPerNs)});
  return {"uneven_waits", std::move(table)};
}

NamedTable message_waits(const Job& job, const JobTimes& times) {
  const AlignedTimes aligned(job, times);
  std::vector<std::vector<Span>> waits(job.traces.ranks.size());
  std::vector<int64_t> messages(job.traces.ranks.size());
  for (const match::Message& m : job.matching.messages) {
    if (m.doubt != match::Doubt::none || !aligned.comparable(m.send, m.recv)) continue;
    const trace::CommSpan& span = aligned.span(m.recv);
    ++messages[m.recv.rank];
    waits[m.recv.rank].emplace_back(span.start, std::min(span.end, aligned.start_on(m.send, m.recv)));
  }
  Table table{"Messages: waiting of receivers for their senders",
              {{"rank", Kind::id, "rank", "the receiver"},
               {"messages", Kind::count, "messages", "messages with known times of both ends"},
               {"waiting", Kind::time_ps, "waiting_ps",
                "time without computation during which a receive waits for a message that is not sent yet"}},
              {}};
  for (size_t r = 0; r < waits.size(); ++r) {
    const trace::Trace& t = job.traces.ranks[r];
    if (messages[r] == 0) continue;
    bool device = false;
    for (const NodeId n : t.nodes()) device |= !t.on_cpu(n) && bound_of(t, n) == Bound::compute;
    std::vector<Span> busy;
    for (const NodeId n : t.nodes())
      if (const Bound b = bound_of(t, n); t.has_start(n) && (b == Bound::compute || (!device && b == Bound::host)))
        busy.emplace_back(job.schedules[r].start[n], job.schedules[r].end[n]);
    table.rows.push_back({t.rank, messages[r], outside(merged(std::move(waits[r])), merged(std::move(busy)))});
  }
  return {"message_waits", std::move(table)};
}

namespace {

/// Both ends of a message last as long as its transfer at least; the end that starts first also waits. A receive ends
/// with the transfer, so clocks show when it began, within their uncertainty. 0: unknown.
Picoseconds transfer_of(const AlignedTimes& aligned, const match::Message& m) {
  const trace::CommSpan &send = aligned.span(m.send), &recv = aligned.span(m.recv);
  const Picoseconds shorter = send.length() <= 0 || recv.length() <= 0 ? std::max(send.length(), recv.length())
                                                                       : std::min(send.length(), recv.length());
  if (!aligned.comparable(m.send, m.recv) || recv.length() <= 0) return shorter;
  const auto least =
      static_cast<Picoseconds>(std::max(aligned.uncertainty_ns(m.send), aligned.uncertainty_ns(m.recv)) * kPerNs);
  return std::min(shorter, std::max(least, recv.end - aligned.start_on(m.send, m.recv)));
}

}  // namespace

NamedTable message_transfers(const Job& job, const JobTimes& times) {
  const AlignedTimes aligned(job, times);
  struct Sum {
    int64_t count = 0;
    Picoseconds time = 0;
  };
  std::map<std::tuple<int64_t, int64_t, uint64_t>, Sum> sums;  // sender, receiver, bytes
  for (const match::Message& m : job.matching.messages) {
    if (m.doubt != match::Doubt::none || m.bytes == 0 || !aligned.measured(m.send) || !aligned.measured(m.recv))
      continue;
    const Picoseconds time = transfer_of(aligned, m);
    if (time <= 0) continue;
    Sum& sum = sums[{job.traces.ranks[m.send.rank].rank, job.traces.ranks[m.recv.rank].rank, m.bytes}];
    ++sum.count;
    sum.time = add_saturated(sum.time, time);
  }
  Table table{"Transfers of messages: the shorter end, without waiting that the clocks show",
              {{"from", Kind::plain, "from", "the sender"},
               {"to", Kind::plain, "to", "the receiver"},
               {"size", Kind::bytes, "size_bytes", "bytes of one"},
               {"count", Kind::count, "count", "messages with times of both ends"},
               {"time", Kind::time_ps, "time_ps", "sum of the transfers: at most the time of the shorter end"},
               {"bandwidth", Kind::rate_bytes_per_s, "bandwidth", "bytes of all divided by time"}},
              {}};
  std::vector<std::pair<std::tuple<int64_t, int64_t, uint64_t>, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  for (const auto& [key, sum] : order) {
    const auto& [from, to, bytes] = key;
    table.rows.push_back(
        {from, to, cell(bytes), sum.count, sum.time,
         static_cast<double>(bytes) * static_cast<double>(sum.count) / (static_cast<double>(sum.time) / kPsPerSecond)});
  }
  return {"message_transfers", std::move(table)};
}

}  // namespace chakra::analyze
