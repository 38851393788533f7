// A host trace that holds more than the Kineto trace, where only the order of names matches: other threads, or other
// cycles of the profiler's schedule.
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

constexpr size_t kMostThreads = 256;  // each is looked for on every thread of the host trace

/// A thread of either file: its operators in the order in which they began, and their names.
struct Sequence {
  std::vector<uint32_t> rows;
  std::vector<StringId> names;
  uint32_t other = kNone;  ///< of a Kineto thread: the sequence of the host trace that it is a part of
  size_t at = 0;           ///< where it begins there
};

class PartMatcher {
 public:
  explicit PartMatcher(Linking& l) : l_(l) {}

  bool run() {
    list();
    if (kineto_.empty() || kineto_.size() > kMostThreads || !enough(known_, all_)) return false;
    std::vector<char> taken(host_.size(), 0);
    for (Sequence& lane : kineto_)
      if (!find(lane, taken)) return false;
    return take();
  }

 private:
  void list() {
    host_.resize(l_.host().threads.size());
    absl::flat_hash_set<StringId> names;
    for (const uint32_t h : ops_by_id(l_.host())) {
      const HostOp& op = l_.host().ops[h];
      if (is_host_comm(l_, op)) continue;
      host_[op.thread].rows.push_back(h);
      host_[op.thread].names.push_back(op.name);
      names.insert(op.name);
    }
    sort_thread_ops(l_);
    for (const std::vector<uint32_t>& ops : l_.threads.ops) {
      Sequence lane;
      for (const uint32_t i : ops) {
        const CpuOp& op = l_.profile().ops[i];
        if (op.host_comm) continue;
        ++all_;
        if (!names.contains(op.name)) continue;
        ++known_;
        lane.rows.push_back(i);
        lane.names.push_back(op.name);
      }
      if (!lane.rows.empty()) kineto_.push_back(std::move(lane));
    }
    std::stable_sort(kineto_.begin(), kineto_.end(),
                     [](const Sequence& a, const Sequence& b) { return a.rows.size() > b.rows.size(); });
  }

  uint64_t id(const Sequence& thread, size_t at) const { return l_.host().ops[thread.rows[at]].id; }

  /// The longest thread has to stand in one place only: it says where the others are looked for.
  bool find(Sequence& lane, std::vector<char>& taken) {
    const bool leads = &lane == &kineto_.front();
    for (uint32_t t = 0; t < host_.size(); ++t) {
      if (taken[t] || host_[t].rows.size() < lane.rows.size()) continue;
      size_t longest = 0;
      const std::vector<size_t> found = occurrences(lane.names, host_[t].names, longest);
      if (found.empty()) continue;
      if (leads && (found.size() > 1 || lane.other != kNone)) return false;
      if (lane.other != kNone) continue;
      lane.other = t;
      lane.at = found.front();
      if (!leads)
        for (const size_t at : found)
          if (id(host_[t], at) >= first_) {
            lane.at = at;
            break;
          }
    }
    if (lane.other == kNone) return false;
    taken[lane.other] = 1;
    const Sequence& thread = host_[lane.other];
    if (leads) first_ = id(thread, lane.at);
    last_ = std::max(last_, id(thread, lane.at + lane.rows.size() - 1));
    first_ = std::min(first_, id(thread, lane.at));
    return true;
  }

  bool take() {
    std::vector<char> known(host_.size(), 0);
    for (const Sequence& lane : kineto_) {
      known[lane.other] = 1;
      for (size_t i = 0; i < lane.rows.size(); ++i) {
        const uint32_t h = host_[lane.other].rows[lane.at + i];
        l_.match.host_of_op[lane.rows[i]] = h;
        l_.match.op_of_host[h] = lane.rows[i];
        ++l_.report.matched_host_ops;
      }
    }
    match_host_comm(l_, first_, last_);
    const int64_t host_ops = l_.report.host_ops;
    const Uncovered uncovered = find_uncovered(l_.host().ops, missing(), known, &HostOp::id, first_, last_);
    if (!enough(l_.report.matched_host_ops, host_ops - uncovered.count())) return false;
    leave_out(l_, uncovered, host_ops);
    return true;
  }

  std::vector<uint32_t> missing() const {
    std::vector<uint32_t> rows = ops_by_id(l_.host());
    std::erase_if(rows, [&](uint32_t h) { return l_.match.op_of_host[h] != kNone; });
    return rows;
  }

  Linking& l_;
  std::vector<Sequence> host_, kineto_;  ///< by thread of the host trace; the longest first
  int64_t all_ = 0, known_ = 0;          ///< operators of the Kineto trace, and those whose names the host trace has
  uint64_t first_ = 0, last_ = 0;        ///< ids between which the Kineto trace stands in the host trace
};

}  // namespace

Result<bool> match_part_by_names(Linking& l) {
  if (l.options.iteration || !PartMatcher(l).run()) return false;
  CHAKRA_TRY(check_process(l, false));
  l.find("pytorch.match.by_names", Severity::note,
         "the Kineto trace names no record functions; its operators are matched by the order of their names on each "
         "thread, as a part of the host trace");
  report_missing(l);
  return true;
}

}  // namespace chakra::link
