#include "chakra/match/windows.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>

#include "chakra/base/quantile.h"
#include "chakra/match/match.h"
#include "chakra/match/shifts.h"

namespace chakra::match {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::RankIndex;
using trace::Trace;

constexpr std::string_view kPartial = "recorded_part", kUnaligned = "recorded_unaligned";
constexpr size_t kMostReferences = 8;    ///< other members that a member is compared with
constexpr double kInsideNs = 1'000'000;  ///< so far inside of a recording, a collective would have been recorded
constexpr size_t kMostRanksNamed = 6;

bool has_mark(const Trace& t, std::string_view mark) {
  return std::any_of(t.metadata.begin(), t.metadata.end(),
                     [&](const trace::Attr& attr) { return t.strings[attr.name] == mark && attr.integer() == 1; });
}
void put_mark(Trace& t, std::string_view mark) {
  if (!has_mark(t, mark)) t.metadata.push_back({t.strings.intern(mark), int64_t{1}});
}

/// The collectives of a rank in a group.
struct Member {
  RankIndex rank;
  std::vector<NodeId> nodes;  ///< by sequence number
  RecordedCalls calls;        ///< parallel
  bool counted = false;       ///< its numbers count from the beginning of the recording
  bool placed = false;        ///< where it stands among the others is known
  int64_t first = 0;          ///< the number of its first collective that all members would give it
  int64_t last() const { return first + std::ssize(calls) - 1; }
};

class Aligner {
 public:
  Aligner(trace::TraceSet& job, std::span<const RankWindow> windows) : job_(job), windows_(windows) {
    for (const Trace& t : job.ranks) zero_ns_ = std::min(zero_ns_, t.base_ns);
  }

  Findings run() {
    for (const RankIndex r : job_.indices()) collect(r);
    offsets_.resize(job_.ranks.size());
    for (auto& [name, members] : groups_)
      if (is_counted(members)) place(members);
    learn_clocks();
    for (auto& [name, members] : groups_)
      if (is_counted(members)) place(members);  // by the clocks that other groups tell
    for (auto& [name, members] : groups_) {
      if (is_counted(members)) number(members);
      find_parts(members);
    }
    compare_steps_of_messages();
    mark();
    return std::move(findings_);
  }

 private:
  using Members = std::vector<Member>;

  double ns_of(RankIndex r, double ns_since_base) const {
    const uint64_t base = static_cast<uint64_t>(job_.ranks[r].base_ns) - static_cast<uint64_t>(zero_ns_);
    return static_cast<double>(static_cast<int64_t>(base)) + ns_since_base;
  }
  double start_ns(RankIndex r, NodeId n) const {
    return ns_of(r, static_cast<double>(job_.ranks[r].start_ps[n]) / static_cast<double>(kPsPerNs));
  }

  /// Of groups whose collectives all have numbers and times.
  void collect(RankIndex r) {
    const Trace& t = job_.ranks[r];
    std::map<std::string_view, Member> members;
    std::map<std::string_view, bool> whole;
    for (const NodeId n : t.nodes()) {
      const Comm* c = t.comm(n);
      if (!c || t.type[n] != NodeType::coll) continue;
      const std::string_view group = t.strings[c->group];
      if (stands_for_others(r, group)) continue;
      Member& member = members[group];
      const auto [found, added] = whole.try_emplace(group, true);
      found->second &= c->sequence >= 0 && t.has_start(n);
      member.nodes.push_back(n);
    }
    for (auto& [group, member] : members) {
      if (!whole[group]) continue;
      member.rank = r;
      std::stable_sort(member.nodes.begin(), member.nodes.end(),
                       [&](NodeId a, NodeId b) { return t.comm(a)->sequence < t.comm(b)->sequence; });
      for (const NodeId n : member.nodes) member.calls.push_back(call_of(r, n));
      const std::vector<std::string>& counted = windows_[r].counted;
      member.counted = std::find(counted.begin(), counted.end(), group) != counted.end();
      member.first = t.comm(member.nodes[0])->sequence;
      groups_[std::string(group)].push_back(std::move(member));
    }
  }

  bool stands_for_others(RankIndex r, std::string_view group) const {
    const std::vector<std::string>& open = windows_[r].open;
    return std::find(open.begin(), open.end(), group) != open.end();
  }

  RecordedCall call_of(RankIndex r, NodeId n) const {
    const Trace& t = job_.ranks[r];
    const Comm& c = *t.comm(n);
    const bool even = c.type != CommType::all_to_all && c.type != CommType::scatter && c.type != CommType::unknown;
    RecordedCall call;
    call.kind = absl::HashOf(static_cast<int>(c.type), even ? c.bytes : 0, t.strings[c.dtype]);
    call.step = windows_[r].steps[n];
    call.end_ns = start_ns(r, n) + static_cast<double>(t.dur_ps[n]) / static_cast<double>(kPsPerNs);
    call.together = ends_together(c.type);
    return call;
  }

  /// Some member has no recorded numbers, or members have none in common.
  bool is_counted(const Members& members) const {
    if (members.size() < 2) return false;
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (const Member& m : members) {
      if (m.counted) return true;
      low = std::max(low, number_of(m, 0));
      high = std::min(high, number_of(m, m.nodes.size() - 1));
    }
    return low > high;
  }
  int64_t number_of(const Member& m, size_t i) const { return job_.ranks[m.rank].comm(m.nodes[i])->sequence; }

  std::optional<double> clock_between(RankIndex a, RankIndex b) const {
    if (!offsets_[a] || !offsets_[b] || offsets_[a]->first != offsets_[b]->first) return std::nullopt;
    return offsets_[b]->second - offsets_[a]->second;
  }

  /// Each member by those that stand already, from the first on.
  void place(Members& members) {
    if (!members[0].placed) members[0].first = 0;
    members[0].placed = true;
    std::vector<size_t> placed{0};
    for (size_t m = 1; m < members.size(); ++m)
      if (members[m].placed) placed.push_back(m);
    for (size_t m = 1; m < members.size(); ++m) {
      Member& member = members[m];
      std::optional<std::pair<size_t, Shift>> best;
      for (size_t p = 0; p < std::min(placed.size(), kMostReferences) && !member.placed; ++p) {
        const Member& other = members[placed[p]];
        const auto shift = find_shift(other.calls, member.calls, clock_between(other.rank, member.rank));
        if (shift && (!best || shift->pairs > best->second.pairs)) best = {placed[p], *shift};
        if (best && 2 * best->second.pairs >= member.calls.size()) break;
      }
      if (!best) continue;
      const Member& other = members[best->first];
      member.placed = true;
      member.first = other.first + best->second.shift;
      placed.push_back(m);
      if (best->second.pairs > 0) {
        known_[other.rank].push_back({member.rank, best->second.offset_ns});
        known_[member.rank].push_back({other.rank, -best->second.offset_ns});
      }
    }
  }

  /// How far the second one's clock is ahead, by the middle one of their common numbers.
  std::optional<double> offset_by_numbers(const Member& a, const Member& b) const {
    std::vector<double> apart;
    for (size_t i = 0, j = 0; i < a.nodes.size() && j < b.nodes.size();) {
      const int64_t x = number_of(a, i), y = number_of(b, j);
      if (x == y) apart.push_back(b.calls[j].end_ns - a.calls[i].end_ns);
      i += x <= y;
      j += y <= x;
    }
    if (apart.empty()) return std::nullopt;
    return nth_of(apart, apart.size() / 2);
  }

  /// What groups with recorded numbers or known places tell of the clocks, from the lowest rank outwards.
  void learn_clocks() {
    for (const auto& [name, members] : groups_)
      if (members.size() > 1 && !is_counted(members))
        for (size_t m = 1; m < members.size(); ++m) {
          const std::optional<double> offset = offset_by_numbers(members[0], members[m]);
          if (!offset) continue;
          known_[members[0].rank].push_back({members[m].rank, *offset});
          known_[members[m].rank].push_back({members[0].rank, -*offset});
        }
    for (const RankIndex first : job_.indices()) {
      if (offsets_[first]) continue;
      offsets_[first] = {first, 0.0};
      std::queue<RankIndex> next;
      for (next.push(first); !next.empty(); next.pop())
        for (const auto& [rank, offset] : known_[next.front()])
          if (!offsets_[rank]) {
            offsets_[rank] = {first, offsets_[next.front()]->second + offset};
            next.push(rank);
          }
    }
  }

  /// Numbers from 0 on; those of members that nothing places stay.
  void number(Members& members) {
    int64_t lowest = 0;
    for (const Member& m : members)
      if (m.placed) lowest = std::min(lowest, m.first);
    for (Member& m : members) {
      if (!m.placed) {
        unaligned_.insert(m.rank);
        m.first = 0;
      } else {
        m.first -= lowest;
      }
      Trace& t = job_.ranks[m.rank];
      for (size_t i = 0; i < m.nodes.size(); ++i)
        t.comms.edit(t.comm_row[m.nodes[i]]).sequence = m.first + static_cast<int64_t>(i);
    }
  }

  /// Whether a member's recording ends before, or begins after, what it lacks.
  void find_parts(Members& members) {
    if (members.size() < 2) return;
    int64_t low = INT64_MAX, high = INT64_MIN;
    const auto ends = [&](const Member& m) { return std::pair(number_of(m, 0), number_of(m, m.nodes.size() - 1)); };
    const Member *earliest = nullptr, *latest = nullptr;
    for (const Member& m : members) {
      const auto [first, last] = ends(m);
      if (first < low) low = first, earliest = &m;
      if (last > high) high = last, latest = &m;
    }
    for (const Member& m : members) {
      const auto [first, last] = ends(m);
      if ((first > low && !recorded(m, *earliest, first, true)) || (last < high && !recorded(m, *latest, last, false)))
        partial_.insert(m.rank);
    }
  }
  /// Whether `m` would have recorded the one of `other` just before its number `end`, or just after it.
  bool recorded(const Member& m, const Member& other, int64_t end, bool before) const {
    const std::optional<double> offset = clock_between(other.rank, m.rank);
    if (!offset) return false;
    const auto of_other = std::partition_point(other.nodes.begin(), other.nodes.end(), [&](NodeId n) {
      const int64_t sequence = job_.ranks[other.rank].comm(n)->sequence;
      return before ? sequence < end : sequence <= end;
    });
    if (before ? of_other == other.nodes.begin() : of_other == other.nodes.end()) return false;
    const double start = start_ns(other.rank, before ? *(of_other - 1) : *of_other) + *offset;
    const RankWindow& window = windows_[m.rank];
    return before ? start > ns_of(m.rank, static_cast<double>(window.begin_ns)) + kInsideNs
                  : start < ns_of(m.rank, static_cast<double>(window.end_ns)) - kInsideNs;
  }

  /// Messages have no numbers: if ranks recorded different steps, their messages cannot be distinguished.
  void compare_steps_of_messages() {
    std::map<int64_t, std::pair<int64_t, int64_t>> steps;  // rank -> first and last step of its messages
    const auto any_messages = [](const Trace& t) {
      return std::any_of(t.type.begin(), t.type.end(),
                         [](NodeType type) { return type == NodeType::send || type == NodeType::recv; });
    };
    std::optional<std::pair<int64_t, int64_t>> of_all;
    for (const RankIndex r : job_.indices()) {
      if (!any_messages(job_.ranks[r])) continue;
      std::pair<int64_t, int64_t> range{INT64_MAX, INT64_MIN};
      for (const int64_t step : windows_[r].steps)
        if (step >= 0) range = {std::min(range.first, step), std::max(range.second, step)};
      if (range.first > range.second) continue;
      if (!of_all) of_all = range;
      else if (*of_all != range) unaligned_.insert(r);
    }
  }

  // `match.window.unaligned` (warning): a rank with an unknown part of the job and an unknown clock.
  void mark() {
    std::string names;
    size_t count = 0;
    for (const RankIndex r : job_.indices()) {
      if (partial_.contains(r)) put_mark(job_.ranks[r], kPartial);
      if (!unaligned_.contains(r)) continue;
      put_mark(job_.ranks[r], kUnaligned);
      if (++count <= kMostRanksNamed) names += fmt::format("{}{}", names.empty() ? "" : ", ", job_.ranks[r].rank);
    }
    if (count == 0) return;
    findings_.push_back(
        {"match.window.unaligned", Severity::warning, -1, -1,
         fmt::format(
             "the recorded part of the job of rank {}{} is unknown: neither sequence numbers nor steps, sizes or times "
             "align it with rank {}; its clock is unknown, and its communication is matched by position",
             names, count > kMostRanksNamed ? ", ..." : "", job_.ranks[0].rank)});
  }

  trace::TraceSet& job_;
  std::span<const RankWindow> windows_;
  int64_t zero_ns_ = INT64_MAX;
  std::map<std::string, Members> groups_;
  std::map<RankIndex, std::vector<std::pair<RankIndex, double>>> known_;  ///< how far ahead others' clocks are
  std::vector<std::optional<std::pair<RankIndex, double>>> offsets_;      ///< per rank: against which, and by how much
  std::set<RankIndex> partial_, unaligned_;
  Findings findings_;
};

}  // namespace

Findings align_windows(trace::TraceSet& job, std::span<const RankWindow> windows) {
  CHAKRA_ASSERT(windows.size() == job.ranks.size());
  return Aligner(job, windows).run();
}

bool is_partial(const Trace& trace) { return has_mark(trace, kPartial); }
bool is_unaligned(const Trace& trace) { return has_mark(trace, kUnaligned); }

void copy_windows(const Trace& communication, Trace& to) {
  if (is_partial(communication)) put_mark(to, kPartial);
  if (is_unaligned(communication)) put_mark(to, kUnaligned);
  absl::flat_hash_map<uint64_t, const Comm*> by_id;
  for (const NodeId n : communication.nodes())
    if (const Comm* comm = communication.comm(n)) by_id.emplace(communication.id[n], comm);
  for (const NodeId n : to.nodes()) {
    const Comm* comm = to.comm(n);
    if (!comm) continue;
    const auto found = by_id.find(to.id[n]);
    if (found == by_id.end()) continue;
    const Comm& from = *found->second;
    const std::string_view group = communication.strings[from.group];
    if (from.sequence == comm->sequence && from.root == comm->root && from.src == comm->src && from.dst == comm->dst &&
        group == to.strings[comm->group])
      continue;
    const StringId name = to.strings.intern(group);
    Comm& copy = to.comms.edit(to.comm_row[n]);
    copy.sequence = from.sequence;
    copy.root = from.root;
    copy.src = from.src;
    copy.dst = from.dst;
    copy.group = name;
  }
}

}  // namespace chakra::match
