// Sends and receives: which of them has no partner.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/flight/stops.h"

namespace chakra::flight {
namespace {

struct Ends {
  std::vector<std::pair<size_t, size_t>> sends, receives;  ///< (dump, entry), in order
};
using Pairs = std::map<std::tuple<size_t, int64_t, int64_t>, Ends>;  ///< group, src, dst: ranks of the job

Pairs pairs_of(const std::vector<Dump>& dumps, const CallTable& table) {
  Pairs pairs;
  for (size_t d = 0; d < dumps.size(); ++d)
    for (size_t e = 0; e < dumps[d].entries.size(); ++e) {
      const Entry& entry = dumps[d].entries[e];
      if (!entry.is_message || entry.src < 0 || entry.dst < 0) continue;
      const size_t group = table.group_of.at({d, entry.group});
      const JobGroup& job_group = table.groups[group];
      Ends& ends = pairs[{group, job_group.rank_of(entry.src), job_group.rank_of(entry.dst)}];
      (entry.operation == "send" ? ends.sends : ends.receives).emplace_back(d, e);
    }
  return pairs;
}

/// The ends of one message; kNoStop where one is missing.
struct Message {
  std::pair<size_t, size_t> send{kNoStop, 0}, receive{kNoStop, 0};
};

class MessageStops {
 public:
  MessageStops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops, Findings& findings)
      : dumps_(dumps), table_(table), stops_(stops), findings_(findings) {}

  void run() {
    const size_t first = stops_.size();
    for (const auto& [key, ends] : pairs_of(dumps_, table_)) look_at(key, ends);
    join_batches(first);
  }

 private:
  bool ended(const std::pair<size_t, size_t>& at) const {
    return table_.states[at.first][at.second] == State::completed;
  }
  bool whole(int64_t rank) const {
    const auto dump = table_.dump_of.find(rank);
    return dump != table_.dump_of.end() && !dumps_[dump->second].overwritten();
  }

  /// The n-th send meets the n-th receive, counted from the first where both are known, else among the open ones.
  std::vector<Message> messages_of(int64_t src, int64_t dst, const Ends& ends) const {
    auto sends = ends.sends, receives = ends.receives;
    if (!whole(src) || !whole(dst)) {
      std::erase_if(sends, [&](const auto& at) { return ended(at); });
      std::erase_if(receives, [&](const auto& at) { return ended(at); });
    }
    std::vector<Message> messages(std::max(sends.size(), receives.size()));
    for (size_t i = 0; i < sends.size(); ++i) messages[i].send = sends[i];
    for (size_t i = 0; i < receives.size(); ++i) messages[i].receive = receives[i];
    return messages;
  }

  void look_at(const Pairs::key_type& key, const Ends& ends) {
    const auto& [group, src, dst] = key;
    for (const Message& message : messages_of(src, dst, ends)) {
      const bool sent = message.send.first != kNoStop, received = message.receive.first != kNoStop;
      const bool differs = sent && received && find_size(group, src, dst, message);
      if ((!sent || ended(message.send)) && (!received || ended(message.receive))) {
        if (differs) return;
        continue;
      }
      Stop stop;
      stop.group = group;
      stop.src = src;
      stop.dst = dst;
      stop.operation = !sent ? "recv" : "send";
      stop.differs = differs;
      if (sent) add_end(message.send, stop);
      else add_late(src, stop);
      if (received) add_end(message.receive, stop);
      else add_late(dst, stop);
      stops_.push_back(std::move(stop));
      return;
    }
  }

  void add_end(const std::pair<size_t, size_t>& at, Stop& stop) const {
    if (ended(at)) stop.completed.push_back(dumps_[at.first].rank);
    else add_waiting(dumps_, at.first, at.second, stop);
  }
  void add_late(int64_t rank, Stop& stop) const {
    stop.late.push_back({table_.dump_of.contains(rank) ? Late::Why::not_called : Late::Why::no_dump, rank});
  }

  bool find_size(size_t group, int64_t src, int64_t dst, const Message& message) {
    const Entry& send = dumps_[message.send.first].entries[message.send.second];
    const Entry& receive = dumps_[message.receive.first].entries[message.receive.second];
    const uint64_t out = std::max(send.in.elements(), send.out.elements());
    const uint64_t in = std::max(receive.in.elements(), receive.out.elements());
    if (out == in || out == 0 || in == 0) return false;
    findings_.push_back({"flight.hang.size",
                         Severity::error,
                         -1,
                         -1,
                         fmt::format("rank {} sends {} elements to rank {}, which expects {}, in {}, since {}", src,
                                     show_count(static_cast<int64_t>(out)), dst, show_count(static_cast<int64_t>(in)),
                                     table_.groups[group].text(), show_utc(send.created_ns)),
                         {{"group", table_.groups[group].name}, {"operation", "send"}, {"src", src}, {"dst", dst}}});
    return true;
  }

  /// Messages of a batch end together: of those that lack nothing themselves, all but one wait for the others.
  void join_batches(size_t first) {
    std::map<std::tuple<size_t, uint32_t, int64_t>, std::vector<size_t>> batches;  // dump, its group, number
    for (size_t s = first; s < stops_.size(); ++s)
      for (const auto& [dump, e] : stops_[s].entries)
        batches[{dump, dumps_[dump].entries[e].group, dumps_[dump].entries[e].message}].push_back(s);
    std::vector<size_t> root(stops_.size());
    for (size_t s = 0; s < root.size(); ++s) root[s] = s;
    const auto find = [&](size_t s) {
      while (root[s] != s) s = root[s] = root[root[s]];
      return s;
    };
    for (const auto& [key, members] : batches)
      for (const size_t s : members) {
        const size_t a = find(members[0]), b = find(s);
        root[std::max(a, b)] = std::min(a, b);
      }
    std::map<size_t, size_t> cause;  // by root: a message that lacks something, else the first
    for (size_t s = first; s < stops_.size(); ++s) {
      const auto [at, is_new] = cause.try_emplace(find(s), s);
      const Stop& known = stops_[at->second];
      if (known.late.empty() && !known.differs && (!stops_[s].late.empty() || stops_[s].differs)) at->second = s;
    }
    for (size_t s = first; s < stops_.size(); ++s)
      if (const size_t other = cause.at(find(s)); other != s && stops_[s].late.empty() && !stops_[s].differs)
        stops_[s].beside = other;
  }

  const std::vector<Dump>& dumps_;
  const CallTable& table_;
  std::vector<Stop>& stops_;
  Findings& findings_;
};

}  // namespace

void find_message_stops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops,
                        Findings& findings) {
  MessageStops(dumps, table, stops, findings).run();
}

}  // namespace chakra::flight
