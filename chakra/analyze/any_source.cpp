// Receives from any source: which rank sent what they got. Messages arrive in the order in which they are sent, so each
// receive, in the order of their ends, takes the message that was sent first of those that nobody has received.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using match::NodeRef;
using trace::NodeId;
using trace::NodeType;
using trace::RankIndex;

constexpr double kSameTimeNs = 2e6;  ///< messages sent so close to each other may arrive in either order

struct Sent {
  NodeRef node;
  double start_ns, end_ns;  ///< by the reference's clock
};

class SourceFinder {
 public:
  SourceFinder(trace::TraceSet& job, const match::Matching& matching, const JobTimes& times)
      : job_(job), matching_(matching), times_(times) {}

  // `analyze.source.unknown` (warning): receives from any source that several ranks may have sent to.
  int64_t run(Findings& findings) {
    for (const match::Message& m : matching_.messages) {
      if (m.send.node == trace::kNoNode || m.recv.node == trace::kNoNode) continue;
      trace::Trace& t = job_.ranks[m.recv.rank];
      if (t.comm(m.recv.node)->src >= 0) continue;
      t.comms.edit(t.comm_row[m.recv.node]).src = job_.ranks[m.send.rank].rank;  // nobody else sent it anything
      ++known_;
    }
    for (const RankIndex r : job_.indices()) find_sources(r);
    if (unsure_ > 0)
      findings.push_back(
          {"analyze.source.unknown", Severity::warning, -1, -1,
           fmt::format(
               "{} receives from any source may be of other ranks: clocks are unknown, or messages were sent at "
               "nearly the same time; they count as of the rank that sent first",
               show_count(unsure_))});
    return known_;
  }

 private:
  double time_ns(const NodeRef& at, bool end) const {
    const trace::Trace& t = job_.ranks[at.rank];
    const Clock& clock = times_.clocks[at.rank];
    const double since_ps =
        static_cast<double>(t.start_ps[at.node]) + (end ? static_cast<double>(t.dur_ps[at.node]) : 0);
    return clock.start_ns + since_ps / static_cast<double>(kPsPerNs) / (1 + clock.drift_ppm * 1e-6);
  }

  /// By sender: what it sent to the rank with that tag and nobody has received yet.
  std::map<RankIndex, std::deque<Sent>> sent_to(RankIndex to, int64_t tag) const {
    std::map<RankIndex, std::deque<Sent>> sent;
    for (const match::Message& m : matching_.messages) {
      if (m.send.node == trace::kNoNode || m.recv.node != trace::kNoNode) continue;
      const trace::Trace& t = job_.ranks[m.send.rank];
      const trace::Comm& c = *t.comm(m.send.node);
      if (c.dst != job_.ranks[to].rank || c.tag != tag || !t.has_start(m.send.node)) continue;
      sent[m.send.rank].push_back({m.send, time_ns(m.send, false), time_ns(m.send, true)});
    }
    return sent;
  }

  void find_sources(RankIndex r) {
    trace::Trace& t = job_.ranks[r];
    std::map<int64_t, std::vector<NodeId>> receives;  // by tag
    for (const NodeId n : t.nodes())
      if (t.type[n] == NodeType::recv && t.comm(n) && t.comm(n)->src < 0 && t.has_start(n))
        receives[t.comm(n)->tag].push_back(n);
    for (auto& [tag, nodes] : receives) {
      std::map<RankIndex, std::deque<Sent>> sent = sent_to(r, tag);
      std::stable_sort(nodes.begin(), nodes.end(),
                       [&](NodeId a, NodeId b) { return t.start_ps[a] + t.dur_ps[a] < t.start_ps[b] + t.dur_ps[b]; });
      for (size_t i = 0; i < nodes.size(); ++i) {
        const auto [from, sure] = sender_of({r, nodes[i]}, sent);
        if (from == trace::kNoRank) {  // nor can those after it be told
          unsure_ += static_cast<int64_t>(nodes.size() - i);
          break;
        }
        unsure_ += !sure;
        t.comms.edit(t.comm_row[nodes[i]]).src = job_.ranks[from].rank;
        sent[from].pop_front();
        ++known_;
      }
    }
  }

  /// The rank whose message was sent first, of those sent before the receive ended; whether times leave no doubt.
  std::pair<RankIndex, bool> sender_of(const NodeRef& receive,
                                       const std::map<RankIndex, std::deque<Sent>>& sent) const {
    const Clock& own = times_.clocks[receive.rank];
    const uint64_t bytes = job_.ranks[receive.rank].comm(receive.node)->bytes;
    const double end = time_ns(receive, true);
    const Sent *first = nullptr, *second = nullptr;
    double uncertain = kSameTimeNs;
    for (const auto& [rank, queue] : sent) {
      if (queue.empty() || job_.ranks[rank].comm(queue.front().node.node)->bytes != bytes) continue;
      const Clock& clock = times_.clocks[rank];
      if (!clock.known || clock.reference != own.reference) uncertain = INFINITY;
      else uncertain = std::max(uncertain, clock.uncertainty_ns + own.uncertainty_ns);
      const Sent& s = queue.front();
      if (!first || s.start_ns < first->start_ns) second = first, first = &s;
      else if (!second || s.start_ns < second->start_ns) second = &s;
    }
    if (!first) return {trace::kNoRank, false};
    // A message that was sent after the receive had ended cannot be a rival.
    const bool rival = second && second->start_ns - first->start_ns < uncertain && second->start_ns <= end + uncertain;
    return {first->node.rank, !rival && first->start_ns <= end + uncertain};
  }

  trace::TraceSet& job_;
  const match::Matching& matching_;
  const JobTimes& times_;
  int64_t known_ = 0, unsure_ = 0;
};

}  // namespace

int64_t find_sources(trace::TraceSet& job, const match::Matching& matching, const JobTimes& times, Findings& findings) {
  CHAKRA_ASSERT(times.clocks.size() == job.ranks.size());
  return SourceFinder(job, matching, times).run(findings);
}

}  // namespace chakra::analyze
