// In which process group each communication on CPU threads is.
// Reads: host_comms, the groups of both traces, the functional operators around calls, tensors of calls, threads of
// records. Fills: HostComm::group.
//
// A call of c10d has its group as "<Object>". Two sources identify the group: the name or the ranks that a functional
// operator around the call was given, and the threads of the backend. Each group has two threads, which are made with
// the group, so that in ascending order of number the threads follow the order in which the groups were made. Where
// fewer threads than two for each group appear, the arrangement counts in which threads of one group have the
// closest numbers, and which fits the sizes of groups that tensors show. Where several arrangements are equally good,
// they are handed on, with a name for each thread: the ranks together may tell (match/choices.cpp).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "chakra/link/linking.h"
#include "chakra/link/pool.h"

namespace chakra::link {
namespace {

constexpr int64_t kMissingCost = 3;    ///< a thread of a group in use that appears nowhere
constexpr int64_t kFarthestCost = 64;  ///< how far apart threads of one group are, at most
constexpr int64_t kAdjacentCost = 16;  ///< of threads with adjacent numbers in different groups
constexpr int64_t kImpossible = INT64_C(1) << 40;
constexpr size_t kMostGroups = 4096;
constexpr size_t kMostChoices = 256;
constexpr size_t kMostOpenThreads = 64;

class GroupFinder {
 public:
  explicit GroupFinder(Linking& l) : l_(l) {
    for (const HostComm& comm : l_.comms.host_comms)
      if (comm.call != kNone) records_[comm.call].push_back(comm.record);
    for (const auto* groups : {&l.profile().groups, &l.host().groups})
      for (const trace::ProcessGroup& group : *groups) note(group);
  }

  void run() {
    for (HostComm& comm : l_.comms.host_comms)
      if (comm.call != kNone) name_by_operator(comm);
    if (groups_.size() == 1)
      for (HostComm& comm : l_.comms.host_comms)
        if (comm.group == 0) comm.group = groups_[0].name;
    if (groups_.size() > 1 && groups_.size() <= kMostGroups && !l_.profile().file.empty()) name_by_threads();
    for (HostComm& comm : l_.comms.host_comms)
      if (comm.group == 0 && comm.call != kNone) name_by_size(comm);
    if (groups_.empty()) look_for_several();
    if (groups_.size() < 2) return;
    for (HostComm& comm : l_.comms.host_comms)
      if (comm.group == 0 && comm.call != kNone && find_comm_call(l_.text(op_name(comm.call)))->by_messages)
        comm.group = l_.trace.strings.intern(kOpenBarrier);
  }

 private:
  struct Group {
    StringId name;
    int64_t size;
    std::vector<int64_t> ranks;
  };
  struct Thread {
    uint32_t lane;
    int64_t number;
    std::vector<const HostComm*> comms;
  };

  void note(const trace::ProcessGroup& group) {
    if (!group.backend.empty() && !contains(group.backend, "gloo") && !contains(group.backend, "undefined")) return;
    const StringId name = l_.trace.strings.intern(group.name);
    const int64_t size = group.ranks.empty() ? group.size : static_cast<int64_t>(group.ranks.size());
    const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.name == name; });
    if (known == groups_.end()) return groups_.push_back({name, size, group.ranks});
    if (known->ranks.empty()) known->ranks = group.ranks;
    if (known->size == 0) known->size = size;
  }

  // ---- operators -----------------------------------------------------------------------------------------

  /// all_reduce(tensor, "sum", "mesh_tp") and its kin; those of 2.1 to 2.3 have a list of ranks.
  void name_by_operator(HostComm& comm) {
    const bool host_alone = l_.profile().file.empty();
    const uint32_t h = host_alone ? comm.call : l_.match.host_of_op[comm.call];
    uint32_t around = kNone;
    if (host_alone) around = l_.host().ops[h].parent_row == trace::kNoRow ? kNone : l_.host().ops[h].parent_row;
    else around = l_.threads.parent_op[comm.call];
    if (around == kNone) return;
    const std::string_view name = l_.text(host_alone ? l_.host().ops[around].name : l_.profile().ops[around].name);
    if (!contains(name, "c10d_functional")) return;
    const std::vector<std::string_view> values = list_items(l_.arguments_of(around).values);
    for (size_t i = values.size(); i-- > 1 && comm.group == 0;) {
      if (values[i].starts_with('[')) {
        const std::vector<int64_t> ranks = parse_ranks(values[i]);
        for (const Group& group : groups_)
          if (!ranks.empty() && group.ranks == ranks) comm.group = group.name;
      } else if (name.starts_with("_c10d")) {
        for (const Group& group : groups_)
          if (l_.text(group.name) == values[i]) comm.group = group.name;
      }
    }
  }

  // ---- threads -------------------------------------------------------------------------------------------

  void name_by_threads() {
    std::map<uint32_t, Thread> by_lane;
    for (const HostComm& comm : l_.comms.host_comms) {
      const uint32_t lane = l_.profile().ops[comm.record].lane;
      if (!l_.threads.carries_out[lane] || l_.threads.beside[lane]) continue;
      Thread& thread = by_lane[lane];
      thread.lane = lane;
      thread.number = l_.profile().threads[lane].index;
      thread.comms.push_back(&comm);
    }
    for (auto& [lane, thread] : by_lane) threads_.push_back(std::move(thread));
    std::sort(threads_.begin(), threads_.end(), [](const Thread& a, const Thread& b) { return a.number < b.number; });
    if (threads_.empty() || threads_.size() > kThreadsOfGroup * groups_.size()) return;
    const std::vector<StringId> groups = arrange();
    std::map<uint32_t, StringId> group_of;
    for (size_t t = 0; t < threads_.size(); ++t) group_of[threads_[t].lane] = groups[t];
    for (const auto& [lane, name] : hand_on(groups)) group_of[lane] = name;
    for (HostComm& comm : l_.comms.host_comms)
      if (const auto found = group_of.find(l_.profile().ops[comm.record].lane);
          comm.group == 0 && found != group_of.end())
        comm.group = found->second;
  }

  /// What a thread's communication says against its being of a group: 0 or kImpossible.
  int64_t against(const Thread& thread, const Group& group) const {
    for (const HostComm* comm : thread.comms) {
      if (comm->group != 0 && comm->group != group.name) return kImpossible;
      if (comm->call != kNone && !fits(*comm, group)) return kImpossible;
    }
    return 0;
  }
  bool fits(const HostComm& comm, const Group& group) const {
    const CommCallRow* row = find_comm_call(l_.text(op_name(comm.call)));
    const CommCall call = read_comm_call(*row, l_.arguments_of(comm.call));
    if (group.size <= 0) return true;
    if (row->by_messages && !fits_barrier(comm, group)) return false;
    return (call.members < 0 || call.members == group.size) && call.root < group.size && call.peer < group.size;
  }
  /// A monitored barrier: the first of the group receives from all others, then sends to all; they send, then receive.
  bool fits_barrier(const HostComm& comm, const Group& group) const {
    const bool first = (group.ranks.empty() ? 0 : group.ranks[0]) == l_.rank;
    const std::vector<uint32_t>& records = records_.at(comm.call);
    uint32_t earliest = records[0];
    for (const uint32_t record : records)
      if (!l_.profile().file.empty() && l_.profile().ops[record].start_ns < l_.profile().ops[earliest].start_ns)
        earliest = record;
    const bool receives = comm_kind(after_colon(l_.text(op_name(earliest)))).type == trace::NodeType::recv;
    const int64_t others = first ? group.size - 1 : 1;
    return receives == first && std::ssize(records) == 2 * others;
  }
  StringId op_name(uint32_t op) const {
    return l_.profile().file.empty() ? l_.host().ops[op].name : l_.profile().ops[op].name;
  }

  int64_t distance_cost(size_t t) const {
    return std::min<int64_t>(threads_[t].number - threads_[t - 1].number - 1, kFarthestCost);
  }
  /// Groups' threads have other threads of the backend between them.
  int64_t border_cost(size_t t) const { return threads_[t].number - threads_[t - 1].number > 1 ? 0 : kAdjacentCost; }

  /// Per thread its group, 0 where that is not certain: the cheapest arrangement of ascending threads on ascending
  /// groups, at most two each, forwards and backwards. Cost: O(threads x groups).
  std::vector<StringId> arrange() {
    const size_t threads = threads_.size(), groups = groups_.size();
    std::vector<Costs> ahead(threads, Costs(groups, {kImpossible, kImpossible}));
    auto& behind = behind_ = ahead;
    auto& own = own_;
    own.assign(threads, std::vector<int64_t>(groups, 0));
    for (size_t t = 0; t < threads; ++t)
      for (size_t g = 0; g < groups; ++g) own[t][g] = against(threads_[t], groups_[g]);
    for (size_t t = 0; t < threads; ++t) {
      int64_t before = t == 0 ? 0 : kImpossible;  // of arrangements whose last group is an earlier one
      for (size_t g = 0; g < groups; ++g) {
        ahead[t][g][0] = std::min(before + own[t][g] + (t == 0 ? 0 : border_cost(t)), kImpossible);
        if (t == 0) continue;
        ahead[t][g][1] = std::min(ahead[t - 1][g][0] + own[t][g] + distance_cost(t), kImpossible);
        before = std::min({before, ahead[t - 1][g][0] + kMissingCost, ahead[t - 1][g][1]});
      }
    }
    for (size_t t = threads; t-- > 0;) {
      int64_t after = t + 1 == threads ? 0 : kImpossible;  // of arrangements that go on with a later group
      for (size_t g = groups; g-- > 0;) {
        const int64_t border = t + 1 == threads ? 0 : border_cost(t + 1);
        behind[t][g][1] = std::min(after + border, kImpossible);
        behind[t][g][0] = std::min(after + border + kMissingCost, kImpossible);
        if (t + 1 == threads) continue;
        behind[t][g][0] = std::min(behind[t][g][0], own[t + 1][g] + distance_cost(t + 1) + behind[t + 1][g][1]);
        after = std::min(after, own[t + 1][g] + behind[t + 1][g][0]);
      }
    }
    std::vector<StringId> found(threads, 0);
    for (size_t t = 0; t < threads; ++t) {
      int64_t best = kImpossible;
      size_t count = 0;
      for (size_t g = 0; g < groups; ++g) {
        const int64_t cost = std::min(ahead[t][g][0] + behind[t][g][0], ahead[t][g][1] + behind[t][g][1]);
        if (cost < best) best = cost, count = 0;
        if (cost == best && cost < kImpossible) ++count, found[t] = groups_[g].name;
      }
      if (count != 1) found[t] = 0;
      if (t == 0) best_ = best;
    }
    return found;
  }

  /// All arrangements that cost as little as the best, as names of groups per thread. Cost: O(choices x threads).
  void list(std::vector<size_t>& path, size_t position, int64_t cost, std::vector<std::vector<size_t>>& all) const {
    const size_t t = path.size() - 1, g = path.back();
    if (all.size() > kMostChoices || cost >= kImpossible || cost + behind_[t][g][position] != best_) return;
    if (path.size() == threads_.size()) return all.push_back(path);
    const auto go_on = [&](size_t group, size_t at, int64_t more) {
      path.push_back(group);
      list(path, at, cost + more + own_[t + 1][group], all);
      path.pop_back();
    };
    if (position == 0) go_on(g, 1, distance_cost(t + 1));
    for (size_t next = g + 1; next < groups_.size(); ++next)
      go_on(next, 0, border_cost(t + 1) + (position == 0 ? kMissingCost : 0));
  }

  /// Threads without a group get a name each, and the choices there are go into the report.
  std::map<uint32_t, StringId> hand_on(const std::vector<StringId>& groups) {
    std::map<uint32_t, StringId> names;
    std::vector<std::vector<size_t>> all;
    if (std::count(groups.begin(), groups.end(), StringId{0}) == 0 || groups.size() > kMostOpenThreads) return names;
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<size_t> path{g};
      list(path, 0, own_[0][g], all);
    }
    if (all.empty() || all.size() > kMostChoices) return names;
    OpenGroups& open = l_.report.open_groups;
    open.choices.resize(all.size());
    for (size_t t = 0; t < groups.size(); ++t) {
      if (groups[t] != 0) continue;
      open.names.push_back(fmt::format("thread {}", threads_[t].number));
      names[threads_[t].lane] = l_.trace.strings.intern(open.names.back());
      for (size_t c = 0; c < all.size(); ++c) open.choices[c].emplace_back(l_.text(groups_[all[c][t]].name));
    }
    return names;
  }

  // ---- the rest ------------------------------------------------------------------------------------------

  /// The only group that a call's tensors, root and peer fit. A peer that is the same rank in all of them needs none.
  void name_by_size(HostComm& comm) {
    const Group* only = nullptr;
    int64_t count = 0;
    for (const Group& group : groups_)
      if (fits(comm, group)) only = &group, ++count;
    if (count == 1) comm.group = only->name;
  }

  /// Without the names of groups all communication is of one: tensors, or more threads than a group has, may tell that
  /// it is not.
  void look_for_several() const {
    std::string why;
    const Group all{0, l_.profile().world_size, {}};
    std::set<uint32_t> lanes;
    for (const HostComm& comm : l_.comms.host_comms) {
      if (!l_.profile().file.empty())
        if (const uint32_t lane = l_.profile().ops[comm.record].lane;
            l_.threads.carries_out[lane] && !l_.threads.beside[lane])
          lanes.insert(lane);
      if (why.empty() && comm.call != kNone && !fits(comm, all))
        why = fmt::format("the tensors of {} do not match {} ranks", l_.text(op_name(comm.call)), all.size);
    }
    if (why.empty() && lanes.size() > kThreadsOfGroup)
      why = fmt::format("they ran on {} threads, of which a group has {} as a rule", lanes.size(), kThreadsOfGroup);
    if (!why.empty())
      l_.find(
          "pytorch.comm.group_unknown", Severity::warning,
          fmt::format("the recording does not name process groups, so its {} communications count as of one, but {}",
                      show_count(static_cast<int64_t>(l_.comms.host_comms.size())), why));
  }

  Linking& l_;
  std::vector<Group> groups_;
  std::map<uint32_t, std::vector<uint32_t>> records_;  ///< by call, in order
  std::vector<Thread> threads_;
  using Costs = std::vector<std::array<int64_t, 2>>;  ///< per group: as its first or second thread
  std::vector<Costs> behind_;                         ///< per thread: of what comes after it
  std::vector<std::vector<int64_t>> own_;             ///< per thread and group
  int64_t best_ = kImpossible;                        ///< of all arrangements
};

}  // namespace

void find_comm_groups(Linking& l) {
  if (!l.comms.host_comms.empty()) GroupFinder(l).run();
}

}  // namespace chakra::link
