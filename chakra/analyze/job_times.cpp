#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <tuple>

#include "chakra/analyze/analyze.h"
#include "chakra/analyze/meetings.h"
#include "chakra/analyze/message_clocks.h"
#include "chakra/base/quantile.h"
#include "chakra/trace/metadata.h"

namespace chakra::analyze {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::Trace;

constexpr double kNormalSpread = 1.4826;             ///< from the median deviation to a standard deviation
constexpr double kTail = 0.9, kNormalTail = 1.6449;  ///< a share of deviations, and what it is of a normal distribution
constexpr double kOutlierSpreads = 3;
constexpr double kSlopeSpreads = 4;
constexpr double kLeastSpreadNs = 100;    ///< nobody's clock is better than this
constexpr double kCoarseSpreadNs = 1000;  ///< where times are whole microseconds
constexpr int kRounds = 8;

double median(std::vector<double> values) { return values.empty() ? 0 : nth_of(values, values.size() / 2); }

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  return nth_of(values, static_cast<size_t>(share * static_cast<double>(values.size() - 1)));
}

/// y = at_zero + slope * x, and how far the points are from it: of points that are all as good, `spread` and `tail` are
/// the standard deviation; `tail` grows where a tenth of them disagrees with the others.
struct Line {
  double at_zero = 0, slope = 0, spread = 0, tail = 0;
  double at(double x) const { return at_zero + slope * x; }
};

struct Point {
  double x, y;
};

Line robust_line(const std::vector<Point>& points, double least_spread) {
  std::vector<double> ys;
  for (const Point& p : points) ys.push_back(p.y);
  Line line{median(ys), 0, 0};
  const auto spread_of = [&] {
    std::vector<double> away;
    for (const Point& p : points) away.push_back(std::abs(p.y - line.at(p.x)));
    line.tail = quantile(away, kTail) / kNormalTail;
    return std::max(kNormalSpread * median(std::move(away)), least_spread);
  };
  line.spread = spread_of();
  if (points.size() < 3) return line;
  for (int round = 0; round < kRounds; ++round) {
    // The first rounds keep more: a line without slope leaves a drifting clock's ends far away.
    const double reach = line.spread * kOutlierSpreads * (round < 2 ? 3 : 1);
    double n = 0, sx = 0, sy = 0;
    for (const Point& p : points)
      if (std::abs(p.y - line.at(p.x)) <= reach) n += 1, sx += p.x, sy += p.y;
    if (n < 3) break;
    const double mx = sx / n, my = sy / n;
    double sxx = 0, sxy = 0;
    for (const Point& p : points)
      if (std::abs(p.y - line.at(p.x)) <= reach) sxx += (p.x - mx) * (p.x - mx), sxy += (p.x - mx) * (p.y - my);
    // A slope that its own uncertainty could explain is none.
    const double slope = sxx > 0 ? sxy / sxx : 0;
    line.slope = sxx > 0 && std::abs(slope) >= kSlopeSpreads * line.spread / std::sqrt(sxx) ? slope : 0;
    line.at_zero = my - line.slope * mx;
    line.spread = spread_of();
  }
  return line;
}

/// How long at least one of the spans lasts. Cost: O(spans log spans).
double union_of(std::vector<std::pair<double, double>>& spans) {
  std::sort(spans.begin(), spans.end());
  double sum = 0, until = -INFINITY;
  for (const auto& [begin, end] : spans)
    if (end > until) sum += end - std::max(begin, until), until = end;
  return sum;
}

using Arrival = std::pair<double, uint32_t>;  ///< time, place of the rank
/// Late are the members after the longest gap between two arrivals, at most half of the members: with a slow node,
/// several ranks are late together.
size_t first_late_of(const std::vector<Arrival>& arrivals) {
  size_t late = arrivals.size() - 1;
  const auto gap = [&](size_t i) { return arrivals[i].first - arrivals[i - 1].first; };
  for (size_t i = late; i >= (arrivals.size() + 1) / 2; --i)
    if (gap(i) > gap(late)) late = i;
  return late;
}

class JobAnalysis {
 public:
  JobAnalysis(const trace::TraceSet& job, const match::Matching& matching)
      : job_(job), matching_(matching), meetings_(job.ranks.size()) {
    for (const Trace& t : job.ranks) {
      spans_.push_back(trace::communication_spans(t));
      unaligned_.push_back(match::is_unaligned(t));
    }
  }

  JobTimes run() {
    find_zero();
    find_shared();
    align();
    find_starts();
    split();
    return std::move(out_);
  }

 private:
  bool measured(const match::NodeRef& ref) const {
    return ref.node != trace::kNoNode && job_.ranks[ref.rank].has_start(ref.node) && !unaligned_[ref.rank];
  }
  /// When a rank's times count from: nanoseconds since zero_ns_, by its own clock. What does not fit wraps.
  double base_ns(size_t rank) const {
    const uint64_t base = static_cast<uint64_t>(job_.ranks[rank].base_ns);
    return static_cast<double>(static_cast<int64_t>(base - static_cast<uint64_t>(zero_ns_)));
  }
  const trace::CommSpan& span_of(const match::NodeRef& ref) const {
    return spans_[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]];
  }
  /// Nanoseconds since the first end of a collective, by the rank's own clock.
  double start_ns(const match::NodeRef& ref) const {
    return base_ns(ref.rank) + static_cast<double>(span_of(ref).start) / static_cast<double>(kPsPerNs);
  }
  double end_ns(const match::NodeRef& ref) const {
    return base_ns(ref.rank) + static_cast<double>(span_of(ref).end) / static_cast<double>(kPsPerNs);
  }

  void find_zero() {
    bool any = false;
    for (const match::Collective& c : matching_.collectives)
      for (const match::NodeRef& ref : c.members) {
        if (!measured(ref)) continue;
        const trace::CommSpan& span = span_of(ref);
        fine_ |= span.start % kPsPerUs != 0 || span.length() % kPsPerUs != 0;
        const int64_t end = job_.ranks[ref.rank].base_ns + span.end / kPsPerNs;
        zero_ns_ = any ? std::min(zero_ns_, end) : end;
        any = true;
      }
    for (const match::Message& m : matching_.messages)
      for (const match::NodeRef& ref : {m.send, m.recv})
        if (measured(ref)) fine_ |= span_of(ref).start % kPsPerUs != 0;
    for (size_t r = 0; r < job_.ranks.size() && !any; ++r)
      zero_ns_ = r ? std::min(zero_ns_, job_.ranks[r].base_ns) : job_.ranks[r].base_ns;
  }

  /// Ranks that share a clock by their metadata.
  void find_shared() {
    std::map<int64_t, uint32_t> first;
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
      const auto number = trace::metadata_number(job_.ranks[r], trace::kSharedClock);
      const uint32_t of = number ? first.try_emplace(*number, r).first->second : r;
      first_of_.push_back(of);
      sharing_[of].push_back(r);
    }
  }
  const std::vector<uint32_t>& sharing(uint32_t rank) const { return sharing_.at(first_of_[rank]); }
  /// What communication permits for the clock of the rank, and of the ranks that share the clock.
  std::pair<double, double> permitted(uint32_t rank, double slope) const {
    std::pair<double, double> range(-INFINITY, INFINITY);
    for (const uint32_t r : sharing(rank)) {
      const auto [least, most] = meetings_.range(r, slope);
      range = {std::max(range.first, least), std::min(range.second, most)};
    }
    return range;
  }

  using Pairs = std::map<std::pair<uint32_t, uint32_t>, std::vector<Point>>;  ///< known to be added to
  Pairs pairs_of_ends() const {
    Pairs pairs;
    for (const match::Collective& c : matching_.collectives) {
      if (c.doubt != match::Doubt::none || !match::ends_together(c.type)) continue;
      for (size_t a = 0; a < c.members.size(); ++a)
        for (size_t b = a + 1; b < c.members.size() && b < a + kPartners; ++b)
          if (measured(c.members[a]) && measured(c.members[b])) {
            const double x = end_ns(c.members[a]), y = end_ns(c.members[b]);
            pairs[{c.members[a].rank, c.members[b].rank}].push_back({x, y - x});
            pairs[{c.members[b].rank, c.members[a].rank}].push_back({y, x - y});
          }
    }
    return pairs;
  }

  /// From the lowest rank outwards: next comes the rank that shares most collectives with one whose clock
  /// is known; when there is none, the one that messages tell best; then the lowest rank left begins again.
  void align() {
    const size_t ranks = job_.ranks.size();
    if (ranks == 0) return;
    const Pairs pairs = pairs_of_ends();
    out_.clocks.resize(ranks);
    std::vector<Line> clock(ranks);
    std::vector<char> known(ranks, 0);
    for (size_t r = 0; r < ranks; ++r) {
      out_.clocks[r].rank = out_.clocks[r].reference = job_.ranks[r].rank;
      out_.clocks[r].unaligned = unaligned_[r];
      out_.clocks[r].known = r == 0;
    }
    find_bounds();
    find_meetings();
    // Pairs that lead from a known rank: those with most collectives first, then in their order.
    using Pair = Pairs::const_iterator;
    const auto later = [](const Pair& a, const Pair& b) {
      return std::pair(a->second.size(), b->first) < std::pair(b->second.size(), a->first);
    };
    std::priority_queue<Pair, std::vector<Pair>, decltype(later)> next(later);
    const auto learn = [&](uint32_t learned) {
      for (const uint32_t rank : sharing(learned)) {
        clock[rank] = clock[learned];
        if (rank != learned) share_clock(learned, rank);
        known[rank] = 1;
        meetings_.know(rank, clock[rank].at_zero, clock[rank].slope);
      }
      for (const uint32_t rank : sharing(learned))
        for (Pair p = pairs.lower_bound({rank, 0}); p != pairs.end() && p->first.first == rank; ++p)
          if (!known[p->first.second]) next.push(p);
    };
    uint32_t root = 0;  // the reference; all ranks before it are known
    learn(root);
    for (;;) {
      while (!next.empty() && known[next.top()->first.second]) next.pop();
      if (next.empty()) {
        std::optional<uint32_t> to = align_by_messages(root, clock, known);
        if (to) out_.clocks[root].known = true;
        while (!to && root < ranks && known[root]) ++root;
        if (root == ranks) break;
        learn(to.value_or(root));
        continue;
      }
      const auto [from, to] = next.top()->first;
      std::vector<Point> points;  // against the reference rank's clock
      for (const Point& p : next.top()->second) {
        const double reference = to_reference(clock[from], p.x);
        points.push_back({reference, p.x + p.y - reference});
      }
      clock[to] = robust_line(points, fine_ ? kLeastSpreadNs : kCoarseSpreadNs);
      const auto [least, most] = permitted(to, clock[to].slope);
      if (least <= most) clock[to].at_zero = std::clamp(clock[to].at_zero, least, most);
      Clock& c = out_.clocks[to];
      c.known = out_.clocks[from].known = true;
      c.reference = out_.clocks[from].reference;
      c.offset_ns = clock[to].at_zero;
      c.drift_ppm = clock[to].slope * 1e6;
      c.uncertainty_ns = std::max(clock[to].spread, clock[to].tail) + out_.clocks[from].uncertainty_ns;
      c.collectives = static_cast<int64_t>(points.size());
      learn(to);
    }
    clock_ = std::move(clock);
  }

  /// The clock of `rank` is that of `like`.
  void share_clock(uint32_t like, uint32_t rank) {
    const int64_t number = out_.clocks[rank].rank;
    const bool unaligned = out_.clocks[rank].unaligned;
    out_.clocks[like].known = true;
    out_.clocks[rank] = out_.clocks[like];
    out_.clocks[rank].rank = number, out_.clocks[rank].unaligned = unaligned;
    out_.clocks[rank].collectives = out_.clocks[rank].messages = 0;
  }

  void find_bounds() {
    for (const match::Message& m : matching_.messages)
      if (m.doubt == match::Doubt::none && measured(m.send) && measured(m.recv))
        messages_.add(m.send.rank, m.recv.rank, end_ns(m.recv) - start_ns(m.send));
  }

  /// Who cannot end before whom has begun: the members of collectives that wait for all; those that get something from
  /// the root; the root that gets something from the others; the receiver of a message.
  void find_meetings() {
    const auto add = [&](const match::NodeRef& ref, bool start, bool end) {
      if (measured(ref)) meetings_.add(ref.rank, start ? start_ns(ref) : -INFINITY, end ? end_ns(ref) : INFINITY);
    };
    for (const match::Collective& c : matching_.collectives) {
      if (c.doubt != match::Doubt::none) continue;
      const bool all = match::waits_for_all(job_, c), gives = match::root_gives(c.type);
      if (!all && (c.root < 0 || c.bytes == 0 || !(gives || match::root_gets(c.type)))) continue;
      meetings_.begin();
      for (const match::NodeRef& ref : c.members) {
        const bool root = ref.node != trace::kNoNode && job_.ranks[ref.rank].rank == c.root;
        add(ref, all || root == gives, all || root != gives);
      }
    }
    for (const match::Message& m : matching_.messages) {
      meetings_.begin();
      add(m.send, m.doubt == match::Doubt::none, false);
      add(m.recv, false, true);
    }
  }

  /// The next rank whose clock messages tell against those that are known by the root's.
  std::optional<uint32_t> align_by_messages(uint32_t root, std::vector<Line>& clock, const std::vector<char>& known) {
    if (messages_.empty()) return std::nullopt;
    std::vector<MessageClocks::Offset> offsets;
    for (size_t r = 0; r < clock.size(); ++r)
      offsets.push_back(
          {known[r] != 0, known[r] && out_.clocks[r].reference == job_.ranks[root].rank, clock[r].at_zero});
    const std::optional<MessageClocks::Told> told = messages_.next(offsets);
    if (!told) return std::nullopt;
    clock[told->rank] = clock[told->like];
    clock[told->rank].at_zero = told->offset_ns;
    Clock& c = out_.clocks[told->rank];
    const Clock& like = out_.clocks[told->like];
    c.known = true;
    c.reference = like.reference;
    c.offset_ns = told->offset_ns;
    c.drift_ppm = clock[told->rank].slope * 1e6;
    c.uncertainty_ns = std::max(told->uncertainty_ns, fine_ ? kLeastSpreadNs : kCoarseSpreadNs) +
                       std::max(like.uncertainty_ns, out_.clocks[told->other].uncertainty_ns);
    c.messages = told->messages;
    return told->rank;
  }

  /// own = t + at_zero + slope * t, solved for t.
  static double to_reference(const Line& clock, double own) { return (own - clock.at_zero) / (1 + clock.slope); }

  void find_starts() {
    double first = INFINITY;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      out_.clocks[r].start_ns = to_reference(clock_[r], base_ns(r));
      first = std::min(first, out_.clocks[r].start_ns);
    }
    for (Clock& c : out_.clocks) c.start_ns -= first;
  }

  void split() {
    std::map<uint32_t, Straggler> late;
    std::map<uint32_t, std::vector<std::pair<double, double>>> late_spans;  // collectives may wait at the same time
    std::map<std::tuple<uint32_t, CommType, uint64_t>, CollectiveTimes> sums;
    for (const match::Collective& c : matching_.collectives) {
      if (c.doubt != match::Doubt::none || c.members.size() < 2 ||
          !std::all_of(c.members.begin(), c.members.end(), [&](const match::NodeRef& ref) {
            return measured(ref) && out_.clocks[ref.rank].known &&
                   out_.clocks[ref.rank].reference == out_.clocks[c.members[0].rank].reference;
          }))
        continue;
      std::vector<Arrival> arrivals;
      double end = -INFINITY, sum = 0, uncertainty = 0;
      for (const match::NodeRef& ref : c.members) {
        const double start = to_reference(clock_[ref.rank], start_ns(ref));
        arrivals.push_back({start, ref.rank});
        sum += start;
        end = std::max(end, to_reference(clock_[ref.rank], end_ns(ref)));
        uncertainty = std::max(uncertainty, out_.clocks[ref.rank].uncertainty_ns);
      }
      std::sort(arrivals.begin(), arrivals.end());
      const double last = arrivals.back().first;
      CollectiveTimes& times = sums[{c.group, c.type, c.bytes}];
      ++times.count;
      times.members = static_cast<uint32_t>(c.members.size());
      times.wait_ns += last - sum / static_cast<double>(c.members.size());
      times.transfer_ns += std::max(0.0, end - last);
      const size_t first_late = first_late_of(arrivals);
      const double before = arrivals[first_late - 1].first;
      // Within what the clocks are uncertain by, nobody is late.
      if (arrivals[first_late].first - before <= kOutlierSpreads * uncertainty) continue;
      for (const auto& [start, who] : std::span(arrivals).subspan(first_late)) {
        Straggler& straggler = late[who];
        straggler.rank = job_.ranks[who].rank;
        ++straggler.last_at;
        late_spans[who].emplace_back(before, start);
      }
    }
    for (auto& [rank, spans] : late_spans) late[rank].waited_ns = union_of(spans);
    for (auto& [key, times] : sums) {
      times.group = matching_.groups[std::get<0>(key)].name;
      times.type = std::get<1>(key);
      times.bytes = std::get<2>(key);
      out_.collectives.push_back(std::move(times));
    }
    for (const auto& [rank, straggler] : late) out_.stragglers.push_back(straggler);
    std::stable_sort(out_.stragglers.begin(), out_.stragglers.end(),
                     [](const Straggler& a, const Straggler& b) { return a.waited_ns > b.waited_ns; });
  }

  /// In large groups each member is compared with that many others; any tree of pairs will do.
  static constexpr size_t kPartners = 9;

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  std::vector<std::vector<trace::CommSpan>> spans_;  ///< by rank and row of Trace::comms
  int64_t zero_ns_ = 0;
  std::vector<char> unaligned_;  ///< per rank: nothing tells which of its collectives are which of the others
  bool fine_ = false;            ///< some time is not a whole number of microseconds
  MessageClocks messages_;
  Meetings meetings_;
  std::vector<uint32_t> first_of_;                     ///< by rank: the lowest one with its clock
  std::map<uint32_t, std::vector<uint32_t>> sharing_;  ///< by that rank: all of them
  std::vector<Line> clock_;                            ///< per rank, against its reference's
  JobTimes out_;
};

}  // namespace

trace::Trace communication_of(const Trace& t) {
  trace::Builder builder;
  Trace& out = builder.trace;
  out.file = t.file;
  out.rank = t.rank;
  out.says_rank = t.says_rank;
  out.base_ns = t.base_ns;
  out.groups = t.groups;
  if (const auto shared = trace::metadata_number(t, trace::kSharedClock))
    out.metadata.push_back({out.strings.intern(trace::kSharedClock), *shared});
  const std::vector<trace::CommSpan> spans = trace::communication_spans(t);
  for (const NodeId n : trace::topological_order(t.deps).order) {
    const trace::Comm* comm = t.comm(n);
    if (!comm || !trace::is_comm(t.type[n])) continue;
    const NodeId node = builder.add(t.id[n], out.strings.intern(t.name_of(n)), t.type[n]);
    out.flags.edit(node) = t.flags[n];
    const trace::CommSpan& span = spans[t.comm_row[n]];
    out.start_ps.edit(node) = span.start;
    out.dur_ps.edit(node) = span.length();
    trace::Comm& copy = builder.comm(node);
    copy = *comm;
    copy.dtype = out.strings.intern(t.strings[comm->dtype]);
    copy.group = out.strings.intern(t.strings[comm->group]);
    copy.in_split = out.texts.add(comm->in_split);
    copy.out_split = out.texts.add(comm->out_split);
    if (node > 0) builder.dep(node, node - 1, static_cast<uint8_t>(trace::EdgeKind::given));
  }
  return std::move(builder).finish();
}

JobTimes job_times(const trace::TraceSet& job, const match::Matching& matching) {
  CHAKRA_ASSERT(matching.of_comm.size() == job.ranks.size());
  return JobAnalysis(job, matching).run();
}

}  // namespace chakra::analyze
