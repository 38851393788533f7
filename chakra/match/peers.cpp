// Messages of which one rank's recording does not tell with whom they are: what the other ranks sent and received.
#include <map>
#include <tuple>
#include <vector>

#include "chakra/match/match.h"

namespace chakra::match {
namespace {

using trace::Comm;
using trace::NodeId;
using trace::NodeType;
using trace::RankIndex;
using trace::Trace;

/// Messages of one kind: from, to, tag, bytes.
using Kind = std::tuple<int64_t, int64_t, int64_t, uint64_t>;

class PeerChooser {
 public:
  PeerChooser(trace::TraceSet& job, std::span<const RankWindow> windows) : job_(job), windows_(windows) {}

  int64_t run() {
    for (const RankIndex r : job_.indices()) list(r);
    int64_t chosen = 0;
    for (bool again = !open_.empty(); again;) {
      again = false;
      for (Open& end : open_) {
        const size_t before = end.ranks.size();
        std::erase_if(end.ranks, [&](int64_t peer) {
          if (has_partner(end, peer)) return false;
          --counts_[kind(end, peer)].open[end.sends];
          return true;
        });
        again |= end.ranks.size() != before;
        if (end.ranks.size() != 1) continue;
        choose(end);
        ++chosen;
      }
      std::erase_if(open_, [](const Open& end) { return end.ranks.empty(); });
    }
    return chosen;
  }

 private:
  struct Open {
    RankIndex rank;
    NodeId node;
    bool sends;
    std::vector<int64_t> ranks;  ///< one of these is the other end
  };
  struct Count {
    int64_t known[2] = {0, 0}, open[2] = {0, 0};  ///< receives and sends; those that may be of the kind
  };

  Comm& comm(const Open& end) {
    Trace& t = job_.ranks[end.rank];
    return t.comms.edit(t.comm_row[end.node]);
  }
  Kind kind(const Open& end, int64_t peer) const {
    const Trace& t = job_.ranks[end.rank];
    const Comm& c = *t.comm(end.node);
    return end.sends ? Kind(t.rank, peer, c.tag, c.bytes) : Kind(peer, t.rank, c.tag, c.bytes);
  }

  void list(RankIndex r) {
    const Trace& t = job_.ranks[r];
    for (const NodeId n : t.nodes()) {
      const Comm* c = t.comm(n);
      if (!c || (t.type[n] != NodeType::send && t.type[n] != NodeType::recv)) continue;
      Open end{r, n, t.type[n] == NodeType::send, {}};
      if (const int64_t peer = end.sends ? c->dst : c->src; peer >= 0) {
        ++counts_[kind(end, peer)].known[end.sends];
      } else if (const auto found = windows_[r].peers.find(t.id[n]); found != windows_[r].peers.end()) {
        end.ranks = found->second;
        for (const int64_t rank : end.ranks) ++counts_[kind(end, rank)].open[end.sends];
        open_.push_back(std::move(end));
      }
    }
  }

  /// Whether the other rank has more of the other ends, or may have, than this rank is known to have of this end.
  bool has_partner(const Open& end, int64_t peer) {
    const Count& count = counts_[kind(end, peer)];
    return count.known[!end.sends] + count.open[!end.sends] > count.known[end.sends];
  }

  void choose(Open& end) {
    Count& count = counts_[kind(end, end.ranks[0])];
    --count.open[end.sends];
    ++count.known[end.sends];
    (end.sends ? comm(end).dst : comm(end).src) = end.ranks[0];
    end.ranks.clear();
  }

  trace::TraceSet& job_;
  std::span<const RankWindow> windows_;
  std::map<Kind, Count> counts_;
  std::vector<Open> open_;
};

}  // namespace

int64_t choose_peers(trace::TraceSet& job, std::span<const RankWindow> windows) {
  CHAKRA_ASSERT(windows.size() == job.ranks.size());
  return PeerChooser(job, windows).run();
}

}  // namespace chakra::match
