// Executes a job whose communication takes no time: for tests of generated steps.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::testing {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

/// Return finish times if communication takes no time: the longest path through
/// all ranks' deps, messages and collectives, computed without the simulator.
struct Outcome {
  std::vector<Picoseconds> finish, busy;  ///< per rank
  size_t left = 0;                        ///< nodes that could not run
  std::string disagreement;               ///< between the ends of a message, the members of a collective

  explicit Outcome(const TraceSet& set) : finish(set.ranks.size()), busy(set.ranks.size()), set_(set) {
    for (size_t r = 0; r < set.ranks.size(); ++r) {
      const Trace& t = set.ranks[r];
      waiting_.push_back(trace::reversed(t.deps));
      missing_.emplace_back(t.size());
      start_.emplace_back(t.size());
      meeting_of_.emplace_back(t.size(), SIZE_MAX);
      left += t.size();
      match(r);
    }
    for (size_t r = 0; r < set.ranks.size(); ++r)
      for (const NodeId n : set.ranks[r].nodes()) {
        missing_[r][n] = set.ranks[r].deps.of(n).size();
        if (missing_[r][n] == 0) ready_.emplace_back(r, n);
      }
    while (!ready_.empty()) {
      const auto [r, n] = ready_.back();
      ready_.pop_back();
      start(r, n);
    }
  }

 private:
  using Ref = std::pair<size_t, NodeId>;
  /// Nodes that start together: the members of a collective, or a send and its receive.
  struct Meeting {
    std::vector<Ref> members;
    size_t expected = 0, come = 0;
    Picoseconds time = 0;
  };

  void match(size_t r) {
    const Trace& t = set_.ranks[r];
    std::map<std::string, int64_t> next;
    for (const NodeId n : t.nodes()) {
      if (!is_comm(t.type[n])) continue;
      const trace::Comm& c = *t.comm(n);
      const std::string group(t.strings[c.group]);
      std::string key = t.type[n] == NodeType::coll   ? group
                        : t.type[n] == NodeType::send ? fmt::format("{}>{}#{}", t.rank, c.dst, c.tag)
                                                      : fmt::format("{}>{}#{}", c.src, t.rank, c.tag);
      size_t expected = 2;
      if (t.type[n] == NodeType::coll && group.empty()) {
        expected = set_.ranks.size();
      } else if (t.type[n] == NodeType::coll) {
        const auto found =
            std::find_if(t.groups.begin(), t.groups.end(), [&](const auto& g) { return g.name == group; });
        if (found == t.groups.end() || std::count(found->ranks.begin(), found->ranks.end(), t.rank) != 1) {
          disagreement = fmt::format("rank {} is not in group {}", t.rank, group);
          continue;
        }
        expected = found->ranks.size();
      }
      const int64_t number = next[key]++;
      key += fmt::format(" {}", number);
      const auto [at, added] = meetings_by_key_.try_emplace(key, meetings_.size());
      if (added) meetings_.push_back({{}, expected, 0, 0});
      Meeting& m = meetings_[at->second];
      m.members.emplace_back(r, n);
      meeting_of_[r][n] = at->second;
      const auto& [r0, n0] = m.members[0];
      const trace::Comm& first = *set_.ranks[r0].comm(n0);
      if (first.bytes != c.bytes || first.type != c.type || m.expected != expected || m.members.size() > expected)
        disagreement = key;
    }
  }

  void start(size_t r, NodeId n) {
    const Trace& t = set_.ranks[r];
    if (t.type[n] == NodeType::comp) {
      busy[r] += t.dur_ps[n];
      return end(r, n, start_[r][n] + t.dur_ps[n]);
    }
    if (meeting_of_[r][n] == SIZE_MAX) return;
    Meeting& m = meetings_[meeting_of_[r][n]];
    m.time = std::max(m.time, start_[r][n]);
    const bool send = t.type[n] == NodeType::send;
    if (send) end(r, n, start_[r][n]);  // needs no receiver
    if (++m.come < m.expected) return;
    for (const auto& [rank, node] : m.members)
      if (set_.ranks[rank].type[node] != NodeType::send) end(rank, node, m.time);
  }

  void end(size_t r, NodeId n, Picoseconds time) {
    --left;
    finish[r] = std::max(finish[r], time);
    for (const NodeId next : waiting_[r].of(n)) {
      start_[r][next] = std::max(start_[r][next], time);
      if (--missing_[r][next] == 0) ready_.emplace_back(r, next);
    }
  }

  const TraceSet& set_;
  std::vector<trace::Edges> waiting_;
  std::vector<std::vector<size_t>> missing_, meeting_of_;
  std::vector<std::vector<Picoseconds>> start_;
  std::vector<Meeting> meetings_;
  std::map<std::string, size_t> meetings_by_key_;
  std::vector<Ref> ready_;
};

}  // namespace chakra::testing
