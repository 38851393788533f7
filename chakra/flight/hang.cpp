// Why the job does not go on: the stops that nothing else holds up, circles of them, and where each rank is.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/flight/stops.h"

namespace chakra::flight {
namespace {

using result::Table;
using Column = Table::Kind;

// `flight.hang.order` (error): members of a group whose n-th collectives are different ones.
// `flight.hang.size` (error): a collective or message of other sizes on one rank than on the others.
// `flight.hang.dtype` (error): a collective of another element type on one rank than on the others.
// `flight.hang.missing` (error): ranks that did not call a collective, or their end of a message, that others wait in.
// `flight.hang.no_dump` (error): ranks without a readable dump that others wait for: they died, or a file is absent.
// `flight.hang.not_begun` (error): ranks whose device has not come to a collective that runs on the others.
// `flight.hang.stuck` (error): a collective or message that all members called and that does not end.
// `flight.hang.circle` (error): collectives or messages of which each waits for a rank that is in the next one.
// `flight.hang.behind` (note): a collective or message that only waits for a rank that hangs in another one.
// `flight.dump.absent` (warning): ranks of a group that have no readable dump, in a job that does not wait for them.
class Judge {
 public:
  explicit Judge(const std::vector<Dump>& dumps) : dumps_(dumps) {}

  Verdict run() {
    Verdict verdict;
    table_ = table_of_calls(dumps_, verdict.findings);
    find_differences();
    find_collective_stops(dumps_, table_, stops_);
    find_message_stops(dumps_, table_, stops_, all_);
    for (Stop& stop : stops_)
      if (const auto at = differs_.find(stop.group); !stop.is_message() && at != differs_.end())
        stop.differs = stop.number >= at->second;
    find_reasons(dumps_, table_, stops_);
    find_causes();
    find_absent();
    LimitedFindings limited;
    for (Finding& finding : all_) limited.add(std::move(finding));
    std::move(limited).append_to(verdict.findings);
    verdict.ranks = table_of_ranks();
    return verdict;
  }

 private:
  std::string text_of(const Stop& stop) const {
    const std::string group = table_.groups[stop.group].text();
    if (stop.is_message()) return fmt::format("the message from rank {} to rank {} in {}", stop.src, stop.dst, group);
    return fmt::format("{} {} of {}", stop.operation, stop.number, group);
  }
  static std::string since_of(const Stop& stop) {
    std::string text = fmt::format("since {}", show_utc(stop.since_ns));
    if (stop.timeout_ms > 0) text += fmt::format(" (timeout {} s)", static_cast<double>(stop.timeout_ms) / 1000);
    return text;
  }
  /// What readers of results need of a stop.
  std::vector<Fact> facts_of(const Stop& stop, const std::vector<int64_t>& ranks) const {
    std::vector<Fact> facts{{"group", table_.groups[stop.group].name}, {"operation", stop.operation}};
    if (stop.is_message()) {
      facts.emplace_back("src", stop.src);
      facts.emplace_back("dst", stop.dst);
    } else {
      facts.emplace_back("index", stop.number);
    }
    if (!ranks.empty()) facts.emplace_back("ranks", list_ranks(ranks));
    facts.emplace_back("waiting", list_ranks(stop.waiting));
    facts.emplace_back("since_ns", stop.since_ns);
    return facts;
  }
  void add(std::string_view tag, Severity severity, const std::vector<int64_t>& ranks, std::string text,
           std::vector<Fact> facts) {
    all_.push_back(
        {std::string(tag), severity, ranks.size() == 1 ? ranks[0] : -1, -1, std::move(text), std::move(facts)});
  }

  // ---- members that do not call the same ------------------------------------------------------------------

  void find_differences() {
    for (size_t g = 0; g < table_.groups.size(); ++g)
      for (const auto& [number, calls] : table_.groups[g].collectives) {
        Difference difference;
        if (!find_difference(dumps_, table_.groups[g], calls, difference)) continue;
        differs_[g] = number;  // what comes after it in this group is out of step as well
        Stop stop;
        stop.group = g;
        stop.number = number;
        for (const Call& call : calls) add_waiting(dumps_, call.dump, call.first, stop);
        std::map<std::string, size_t> names;
        for (const Call& call : calls) ++names[call.parts[0]->operation];
        const auto most = std::max_element(names.begin(), names.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        stop.operation = most->first;
        std::string text = fmt::format("collective {} of {}, {}: {}", number, table_.groups[g].text(), since_of(stop),
                                       difference.text);
        for (const Call& call : calls)
          if (!difference.ranks.empty() && dumps_[call.dump].rank == difference.ranks[0] &&
              !call.parts[0]->caller.empty())
            text += fmt::format("; rank {} called it at {}", difference.ranks[0], call.parts[0]->caller);
        add(difference.tag, Severity::error, difference.ranks, std::move(text), facts_of(stop, difference.ranks));
        break;
      }
  }

  // ---- causes -----------------------------------------------------------------------------------------------

  bool is_cause(const Stop& stop) const {
    if (stop.differs) return true;
    if (stop.late.empty()) return stop.beside == kNoStop;
    return std::any_of(stop.late.begin(), stop.late.end(), [](const Late& late) { return late.behind == kNoStop; });
  }
  /// The stop that holds this one up, and the rank that is in both; kNoStop: it is a cause.
  std::pair<size_t, int64_t> next_of(const Stop& stop) const {
    if (is_cause(stop)) return {kNoStop, -1};
    if (stop.late.empty()) return {stop.beside, stop.src};
    return {stop.late[0].behind, stop.late[0].rank};
  }

  /// Follows what holds each stop up, to a cause or into a circle.
  void find_causes() {
    for (const Stop& stop : stops_)
      if (is_cause(stop)) report_cause(stop);
    enum class Mark : uint8_t { unseen, open, done };
    std::vector<Mark> marks(stops_.size(), Mark::unseen);
    for (size_t s = 0; s < stops_.size(); ++s) {
      std::vector<size_t> way;
      size_t at = s;
      while (at != kNoStop && marks[at] == Mark::unseen) {
        marks[at] = Mark::open;
        way.push_back(at);
        at = next_of(stops_[at]).first;
      }
      if (at != kNoStop && marks[at] == Mark::open) {
        const auto first = std::find(way.begin(), way.end(), at);
        report_circle({first, way.end()});
        way.erase(first, way.end());
      }
      for (const size_t w : way) {
        marks[w] = Mark::done;
        if (!is_cause(stops_[w])) report_behind(stops_[w]);
      }
      for (Mark& mark : marks)
        if (mark == Mark::open) mark = Mark::done;
    }
  }

  /// Findings of one rank begin with it.
  static std::string subject(const std::vector<int64_t>& ranks) {
    return ranks.size() == 1 ? std::string() : show_ranks(ranks) + " ";
  }

  void report_cause(const Stop& stop) {
    if (stop.differs) return;  // reported as the difference
    std::vector<int64_t> absent, missing, not_begun;
    for (const Late& late : stop.late) {
      if (late.behind != kNoStop) continue;
      (late.why == Late::Why::no_dump      ? absent
       : late.why == Late::Why::not_called ? missing
                                           : not_begun)
          .push_back(late.rank);
    }
    if (stop.late.empty()) return report_stuck(stop);
    const std::string wait =
        fmt::format("{} wait{} in it {}{}", show_ranks(stop.waiting), stop.waiting.size() == 1 ? "s" : "",
                    since_of(stop), stop.caller.empty() ? "" : fmt::format(", called at {}", stop.caller));
    const std::string what = text_of(stop);
    if (!missing.empty())
      add("flight.hang.missing", Severity::error, missing,
          fmt::format("{}did not call {}; {}{}", subject(missing), what, wait, last_of(stop, missing)),
          facts_of(stop, missing));
    if (!absent.empty())
      add("flight.hang.no_dump", Severity::error, absent,
          fmt::format("{}left no readable dump and may be dead; {}: {}", subject(absent), what, wait),
          facts_of(stop, absent));
    if (!not_begun.empty())
      add("flight.hang.not_begun", Severity::error, not_begun,
          fmt::format("{}called {}, but the device has not begun it: other work on its stream has not ended; {}",
                      subject(not_begun), what, wait),
          facts_of(stop, not_begun));
  }

  /// What a single missing rank did last in the group.
  std::string last_of(const Stop& stop, const std::vector<int64_t>& missing) const {
    if (missing.size() != 1 || stop.is_message()) return {};
    const size_t dump = table_.dump_of.at(missing[0]);
    const auto last = table_.groups[stop.group].last.find(dump);
    if (last != table_.groups[stop.group].last.end()) return fmt::format("; its last call there was {}", last->second);
    if (!dumps_[dump].overwritten()) return "; it made no call in this group";
    return fmt::format("; its last {} records have no call in this group", dumps_[dump].entries.size());
  }

  void report_stuck(const Stop& stop) {
    const bool others = std::any_of(stops_.begin(), stops_.end(),
                                    [&](const Stop& s) { return is_cause(s) && (s.differs || !s.late.empty()); });
    std::string text = fmt::format("all members called {}, and {} not ended it {}", text_of(stop),
                                   stop.waiting.size() == 1 ? fmt::format("rank {} has", stop.waiting[0])
                                                            : fmt::format("{} have", show_ranks(stop.waiting)),
                                   since_of(stop));
    if (!stop.completed.empty()) text += fmt::format("; {} completed it", show_ranks(stop.completed));
    text += "; look for a failed link or device";
    add("flight.hang.stuck", others ? Severity::warning : Severity::error, stop.waiting, std::move(text),
        facts_of(stop, stop.waiting));
  }

  void report_circle(const std::vector<size_t>& circle) {
    std::string text = "ranks wait for each other";
    std::vector<int64_t> ranks;
    for (const size_t s : circle) {
      const auto [behind, rank] = next_of(stops_[s]);
      ranks.push_back(rank);
      text += fmt::format("; {} waits for rank {}, which is in {}", text_of(stops_[s]), rank, text_of(stops_[behind]));
    }
    const Stop& first = stops_[circle[0]];
    add("flight.hang.circle", Severity::error, ranks, fmt::format("{}, {}", text, since_of(first)),
        facts_of(first, ranks));
  }

  void report_behind(const Stop& stop) {
    const auto [behind, rank] = next_of(stop);
    add("flight.hang.behind", Severity::note, {rank},
        fmt::format("{} waits for rank {}, which hangs in {}", text_of(stop), rank, text_of(stops_[behind])),
        facts_of(stop, {rank}));
  }

  void find_absent() {
    std::vector<int64_t> absent;
    for (const JobGroup& group : table_.groups)
      for (const int64_t rank : group.members)
        if (!table_.dump_of.contains(rank)) absent.push_back(rank);
    std::sort(absent.begin(), absent.end());
    absent.erase(std::unique(absent.begin(), absent.end()), absent.end());
    const bool reported = std::any_of(all_.begin(), all_.end(),
                                      [](const Finding& finding) { return finding.tag == "flight.hang.no_dump"; });
    if (!absent.empty() && !reported)
      add("flight.dump.absent", Severity::warning, absent, fmt::format("{}left no readable dump", subject(absent)),
          {{"ranks", list_ranks(absent)}});
  }

  // ---- where each rank is ---------------------------------------------------------------------------------

  std::string call_text(const Entry& entry, size_t d) const {
    const JobGroup& group = table_.groups[table_.group_of.at({d, entry.group})];
    if (!entry.is_message) return fmt::format("{} {} of {}", entry.operation, entry.collective, quote(group.name));
    if (entry.src < 0) return fmt::format("{} of {}", entry.operation, quote(group.name));
    return fmt::format("{} {}->{} of {}", entry.operation, group.rank_of(entry.src), group.rank_of(entry.dst),
                       quote(group.name));
  }

  Table table_of_ranks() const {
    Table table{"Where each rank is",
                {{"rank", Column::count},
                 {"records", Column::count},
                 {"waits in", Column::text},
                 {"state", Column::text},
                 {"since", Column::text},
                 {"completed last", Column::text}},
                {}};
    constexpr std::string_view kStates[] = {"scheduled", "started", "completed"};
    for (size_t d = 0; d < dumps_.size(); ++d) {
      const Dump& dump = dumps_[d];
      const Entry *open = nullptr, *last = nullptr;
      State state = State::completed;
      for (size_t e = 0; e < dump.entries.size(); ++e) {
        if (table_.states[d][e] == State::completed) last = &dump.entries[e];
        else if (!open) {
          open = &dump.entries[e];
          state = table_.states[d][e];
        }
      }
      table.rows.push_back(
          {dump.rank, static_cast<int64_t>(dump.entries.size()), open ? call_text(*open, d) : std::string("nothing"),
           open ? std::string(kStates[static_cast<size_t>(state)]) : std::string(),
           open ? show_utc(open->created_ns) : std::string(), last ? call_text(*last, d) : std::string("nothing")});
    }
    return table;
  }

  const std::vector<Dump>& dumps_;
  CallTable table_;
  std::vector<Stop> stops_;
  std::map<size_t, int64_t> differs_;  ///< by group: the first collective whose members differ
  Findings all_;
};

}  // namespace

Verdict find_hang(const std::vector<Dump>& dumps) { return Judge(dumps).run(); }

}  // namespace chakra::flight
