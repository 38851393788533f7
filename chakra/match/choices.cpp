// Which groups communication is in whose recordings leave that open, by what the ranks say together.
#include <absl/hash/hash.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "chakra/base/quantile.h"
#include "chakra/match/match.h"

namespace chakra::match {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::RankIndex;
using trace::Trace;

constexpr double kToleranceNs = 20'000;
constexpr size_t kFewestEnds = 4;  ///< from which the ends of collectives tell who met
constexpr double kApart = 4;       ///< times as far apart as the ends of a group: others
constexpr double kTogether = 2;    ///< no farther: of the group
constexpr double kMostPairs = 4e6;

struct Met {
  uint64_t kind;
  int64_t sequence;
  double start_ns, end_ns;  ///< by the rank's clock
  bool together;
  bool operator<(const Met& other) const { return sequence < other.sequence; }
};
using Calls = std::map<std::string, std::vector<Met>>;  ///< by group

struct Choice {
  size_t row = 0;  ///< of RankWindow::choices
  Calls calls;
};

double spread_of(const std::vector<Met>& a, const std::vector<Met>& b) {
  std::vector<double> apart;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i].together) apart.push_back(b[i].end_ns - a[i].end_ns);
  if (apart.size() < kFewestEnds) return NAN;
  const double median = nth_of(apart, apart.size() / 2);
  for (double& value : apart) value = std::abs(value - median);
  return nth_of(apart, 3 * (apart.size() - 1) / 4);  // nearly all, but for noise
}

class Chooser {
 public:
  Chooser(trace::TraceSet& job, std::span<RankWindow> windows) : job_(job), windows_(windows) {}

  Findings run() {
    if (std::all_of(windows_.begin(), windows_.end(), [](const RankWindow& w) { return w.choices.empty(); })) return {};
    find_members();
    std::tie(first_step_, last_step_) = common_steps(windows_);
    double pairs = 0, all = 0;
    for (const RankIndex r : job_.indices()) list(r);
    for (const auto& choices : left_) all += static_cast<double>(choices.size());
    for (const auto& choices : left_) pairs += static_cast<double>(choices.size()) * all;
    const bool tried = pairs <= kMostPairs;
    if (tried) drop_impossible();
    std::vector<std::vector<Choice>> decided = left_;
    for (const RankIndex r : job_.indices())
      if (!windows_[r].choices.empty()) decide(r, tried, decided[r]);
    left_ = std::move(decided);
    for (const RankIndex r : job_.indices())
      if (!windows_[r].choices.empty()) apply(r);
    return std::move(findings_);
  }

 private:
  void find_members() {
    for (const Trace& t : job_.ranks)
      for (const trace::ProcessGroup& group : t.groups)
        if (auto& members = members_[group.name]; members.empty()) members = group.ranks;
    for (auto& [name, ranks] : members_)
      if (ranks.empty())
        for (const Trace& t : job_.ranks) ranks.push_back(t.rank);
  }
  bool is_member(const std::string& group, RankIndex r) const {
    const auto found = members_.find(group);
    return found != members_.end() &&
           std::find(found->second.begin(), found->second.end(), job_.ranks[r].rank) != found->second.end();
  }

  /// The choices of a rank; a rank that is sure has one.
  void list(RankIndex r) {
    const Trace& t = job_.ranks[r];
    const RankWindow& window = windows_[r];
    Calls calls;
    for (const NodeId n : t.nodes()) {
      const Comm* c = t.comm(n);
      if (!c || t.type[n] != NodeType::coll || !t.has_start(n)) continue;
      const int64_t step = window.steps[n];
      if (step >= 0 && (step < first_step_ || step > last_step_)) continue;
      const bool even = c->type != CommType::all_to_all && c->type != CommType::scatter;
      const double start = static_cast<double>(t.start_ps[n]) / static_cast<double>(kPsPerNs);
      calls[std::string(t.strings[c->group])].push_back(
          {absl::HashOf(static_cast<int>(c->type), even ? c->bytes : 0, t.strings[c->dtype]), c->sequence, start,
           start + static_cast<double>(t.dur_ps[n]) / static_cast<double>(kPsPerNs), ends_together(c->type)});
    }
    std::vector<Choice>& choices = left_.emplace_back();
    for (size_t row = 0; row < std::max<size_t>(1, window.choices.size()); ++row) {
      Choice choice{row, calls};
      for (size_t i = 0; i < (window.choices.empty() ? 0 : window.open.size()); ++i) {
        std::vector<Met> moved = std::move(choice.calls[window.open[i]]);
        choice.calls.erase(window.open[i]);
        std::vector<Met>& to = choice.calls[window.choices[row][i]];
        to.insert(to.end(), moved.begin(), moved.end());
      }
      for (auto& [group, of_group] : choice.calls) std::stable_sort(of_group.begin(), of_group.end());
      choices.push_back(std::move(choice));
    }
  }

  /// Whether two ranks can both be right: in all groups of both they have the same collectives, and one clock beside
  /// the other fits all of these.
  bool agree(RankIndex r, const Choice& a, RankIndex s, const Choice& b) const {
    double least = -INFINITY, most = INFINITY;
    const auto fits = [&](const std::string& group, const Calls& mine, const Calls& theirs) {
      if (!is_member(group, r) || !is_member(group, s)) return true;
      static const std::vector<Met> none;
      const auto find = [&](const Calls& calls) -> const std::vector<Met>& {
        const auto found = calls.find(group);
        return found == calls.end() ? none : found->second;
      };
      const std::vector<Met>&x = find(mine), &y = find(theirs);
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) {
        if (x[i].kind != y[i].kind) return false;
        if (!x[i].together) continue;
        least = std::max(least, y[i].start_ns - x[i].end_ns);
        most = std::min(most, y[i].end_ns - x[i].start_ns);
      }
      return true;
    };
    for (const auto& [group, calls] : a.calls)
      if (!fits(group, a.calls, b.calls)) return false;
    for (const auto& [group, calls] : b.calls)
      if (!a.calls.contains(group) && !fits(group, a.calls, b.calls)) return false;
    return least <= most + kToleranceNs;
  }

  /// Drops choices with which no choice of some other rank agrees, until all that are left have partners.
  void drop_impossible() {
    for (bool again = true; again;) {
      again = false;
      for (const RankIndex r : job_.indices()) {
        if (windows_[r].choices.empty()) continue;
        const size_t before = left_[r].size();
        std::erase_if(left_[r], [&](const Choice& a) {
          for (const RankIndex s : job_.indices())
            if (s != r &&
                std::none_of(left_[s].begin(), left_[s].end(), [&](const Choice& b) { return agree(r, a, s, b); }))
              return true;
          return false;
        });
        again |= left_[r].size() != before;
      }
    }
  }

  const std::vector<int64_t>& members(const std::string& group) const {
    static const std::vector<int64_t> none;
    const auto found = members_.find(group);
    return found == members_.end() ? none : found->second;
  }
  bool same_members(RankIndex r, const Choice& a, const Choice& b) const {
    for (size_t i = 0; i < windows_[r].open.size(); ++i)
      if (members(windows_[r].choices[a.row][i]) != members(windows_[r].choices[b.row][i])) return false;
    return true;
  }
  size_t size_of(RankIndex r, const Choice& a) const {
    size_t sum = 0;
    for (const std::string& group : windows_[r].choices[a.row]) sum += members(group).size();
    return sum;
  }

  /// How far apart the ends of collectives are in the groups of a choice; NaN where too few tell.
  double spread(RankIndex r, const Choice& a) const {
    double worst = 0;
    for (const std::string& group : windows_[r].choices[a.row])
      for (const RankIndex s : job_.indices()) {
        if (s == r || !is_member(group, s)) continue;
        double best = NAN;
        for (const Choice& b : left_[s]) {
          const auto mine = a.calls.find(group), theirs = b.calls.find(group);
          if (mine == a.calls.end() || theirs == b.calls.end()) continue;
          const double apart = spread_of(mine->second, theirs->second);
          if (std::isnan(best) || apart < best) best = apart;
        }
        if (std::isnan(best)) return NAN;
        worst = std::max(worst, best);
      }
    return worst;
  }

  /// Leaves the one that is right, or says that it is open.
  void decide(RankIndex r, bool tried, std::vector<Choice>& left) {
    const std::vector<Choice> all = left;
    while (tried && left.size() > 1 && same_members(r, left[0], left.back())) left.pop_back();
    if (tried && left.size() > 1 &&
        !std::all_of(left.begin(), left.end(), [&](const Choice& c) { return same_members(r, left[0], c); })) {
      std::stable_sort(left.begin(), left.end(),
                       [&](const Choice& a, const Choice& b) { return size_of(r, a) < size_of(r, b); });
      std::optional<size_t> best = 0;
      for (size_t c = 1; c < left.size() && best; ++c) {
        if (same_members(r, left[*best], left[c])) continue;
        const double small = spread(r, left[*best]), large = spread(r, left[c]);
        if (std::isnan(small) || std::isnan(large)) best.reset();
        else if (large <= kTogether * small + kToleranceNs) best = c;
        else if (large <= kApart * small + kToleranceNs) best.reset();
      }
      if (best) left = {left[*best]};
    } else if (left.size() > 1) {
      left.resize(1);
    }
    if (tried && left.size() == 1) return;
    report(r, left.empty() ? all : left, left.empty());
    left.clear();
  }

  // `match.group.open` (error): communication that may be in several groups, by the recordings.
  void report(RankIndex r, const std::vector<Choice>& left, bool contradiction) {
    const RankWindow& window = windows_[r];
    std::string text;
    for (size_t i = 0; i < window.open.size(); ++i) {
      std::vector<std::string> fit;
      for (size_t row = 0; row < window.choices.size(); ++row)
        if (left.empty() || std::any_of(left.begin(), left.end(), [&](const Choice& c) { return c.row == row; }))
          if (std::find(fit.begin(), fit.end(), window.choices[row][i]) == fit.end())
            fit.push_back(window.choices[row][i]);
      text += fmt::format("{}{} (", text.empty() ? "" : ", ", window.open[i]);
      for (size_t f = 0; f < fit.size(); ++f) text += (f ? " or " : "") + quote(fit[f]);
      text += ")";
    }
    findings_.push_back(
        {"match.group.open", Severity::error, job_.ranks[r].rank, -1,
         fmt::format("the groups of the communication on these threads are unknown, since {}: {}; give each group a "
                     "collective of a distinct size, or use functional collectives, which name their group",
                     contradiction || left.empty() ? "no group matches the recordings of the other ranks"
                                                   : "sizes, threads and times match several groups",
                     text)});
  }

  void apply(RankIndex r) {
    Trace& t = job_.ranks[r];
    RankWindow& window = windows_[r];
    std::map<StringId, std::string> chosen;
    if (!left_[r].empty())
      for (size_t i = 0; i < window.open.size(); ++i)
        chosen[t.strings.intern(window.open[i])] = window.choices[left_[r][0].row][i];
    std::map<StringId, std::vector<NodeId>> of_group;
    for (const NodeId n : t.nodes()) {
      if (!t.comm(n) || t.type[n] != NodeType::coll) continue;
      if (const auto name = chosen.find(t.comm(n)->group); name != chosen.end()) {
        const StringId group = t.strings.intern(name->second);
        Comm& c = t.comms.edit(t.comm_row[n]);
        c.group = group;
        const std::vector<int64_t>& ranks = members(name->second);
        if (c.root >= 0 && std::cmp_less(c.root, ranks.size())) c.root = ranks[static_cast<size_t>(c.root)];
      }
      of_group[t.comm(n)->group].push_back(n);
    }
    for (const auto& [name, group] : chosen)
      if (std::find(window.counted.begin(), window.counted.end(), group) == window.counted.end())
        window.counted.push_back(group);
    for (auto& [id, nodes] : of_group) {
      const std::string_view name = t.strings[id];
      if (std::find(window.counted.begin(), window.counted.end(), name) == window.counted.end()) continue;
      std::stable_sort(nodes.begin(), nodes.end(),
                       [&](NodeId a, NodeId b) { return t.comm(a)->sequence < t.comm(b)->sequence; });
      for (size_t i = 0; i < nodes.size(); ++i) t.comms.edit(t.comm_row[nodes[i]]).sequence = static_cast<int64_t>(i);
    }
  }

  trace::TraceSet& job_;
  std::span<RankWindow> windows_;
  std::map<std::string, std::vector<int64_t>> members_;
  int64_t first_step_ = INT64_MIN, last_step_ = INT64_MAX;  ///< only steps that all recorded are compared
  std::vector<std::vector<Choice>> left_;                   ///< per rank
  Findings findings_;
};

}  // namespace

std::pair<int64_t, int64_t> common_steps(std::span<const RankWindow> windows) {
  constexpr std::pair<int64_t, int64_t> kAll{INT64_MIN, INT64_MAX};
  std::pair<int64_t, int64_t> common = kAll;
  for (const RankWindow& window : windows) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (const int64_t step : window.steps)
      if (step >= 0) first = std::min(first, step), last = std::max(last, step);
    if (first > last) return kAll;
    common = {std::max(common.first, first), std::min(common.second, last)};
  }
  return common;
}

Findings choose_groups(trace::TraceSet& job, std::span<RankWindow> windows) {
  CHAKRA_ASSERT(windows.size() == job.ranks.size());
  return Chooser(job, windows).run();
}

}  // namespace chakra::match
