#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "chakra/sim/ties.h"

namespace chakra::sim {
namespace {

using trace::ClassJob;
using trace::Comm;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

class ActorMaker {
 public:
  ActorMaker(ClassJob&& job, const Ties& ties, std::vector<uint32_t>&& colors)
      : job_(std::move(job)), ties_(ties), color_(std::move(colors)) {}

  Folded run() {
    count_ranks();
    join_groups();
    std::vector<uint32_t> last_of(job_.classes.size(), kNobody);  // the last actor of each class takes its trace
    for (uint32_t a = 0; a < stands_for_.size(); ++a) last_of[job_.ranks[stands_for_[a]].cls] = a;
    for (uint32_t a = 0; a < stands_for_.size(); ++a) {
      const uint32_t r = stands_for_[a];
      const uint32_t cls = job_.ranks[r].cls;
      out_.actors.ranks.push_back(last_of[cls] == a ? std::move(job_.classes[cls]) : trace::Trace(job_.classes[cls]));
      put_in(out_.actors.ranks.back(), r);
    }
    for (const ClassJob::Rank& rank : job_.ranks) out_.first_peer.push_back(rank.first_peer);
    out_.peer_of = std::move(job_.peer_of);
    return std::move(out_);
  }

 private:
  void count_ranks() {
    const size_t n = color_.empty() ? 0 : *std::max_element(color_.begin(), color_.end()) + size_t{1};
    stands_for_.assign(n, kNobody);
    out_.count.assign(n, 0);
    for (uint32_t r = 0; r < color_.size(); ++r) {
      out_.ranks.push_back(job_.ranks[r].rank);
      ++out_.count[color_[r]];
      if (stands_for_[color_[r]] == kNobody) stands_for_[color_[r]] = r;
    }
    for (const uint32_t color : color_) out_.actor_of.emplace_back(color);
    for (const uint32_t r : stands_for_) out_.class_of.push_back(job_.ranks[r].cls);
  }

  /// Join groups of the same actors in the same order and in equivalent places.
  void join_groups() {
    Numbering numbers;
    group_of_.resize(ties_.groups.size());
    for (size_t g = 0; g < ties_.groups.size(); ++g) {
      std::vector<int64_t> key = key_of(ties_.groups[g], color_);
      if (key.size() == 1 || std::find(key.begin(), key.end(), -1) != key.end())
        key.push_back(~static_cast<int64_t>(g));
      group_of_[g] = numbers(key);
      if (group_of_[g] == out_.groups.size()) {
        Folded::Group& group = out_.groups.emplace_back();
        group.ranks = ties_.groups[g].ranks;
        group.shape = ties_.groups[g].shape;
        group.flow = ties_.groups[g].flow;
        group.late_start = ties_.groups[g].late_start;
        std::vector<int64_t>& present = out_.table[ties_.groups[g].name];
        std::vector<char> there(stands_for_.size(), 0);
        for (size_t m = 0; m < group.ranks.size(); ++m) {
          const uint32_t r = ties_.groups[g].index[m];
          group.actors.push_back(r == kNobody ? kNobody : color_[r]);
          if (r == kNobody) present.push_back(group.ranks[m]);
          else if (!std::exchange(there[color_[r]], 1)) present.push_back(job_.ranks[stands_for_[color_[r]]].rank);
        }
      }
      out_.groups[group_of_[g]].names.push_back(ties_.groups[g].name);
      out_.groups[group_of_[g]].places.push_back(ties_.groups[g].ranks);
    }
  }

  /// The actor's groups and peers in the place of its class's.
  void put_in(Trace& t, uint32_t r) {
    const ClassJob::Rank& rank = job_.ranks[r];
    t.rank = rank.rank;
    t.groups.clear();  // the table says who is in them
    std::vector<int64_t>& peer = out_.peer.emplace_back(t.comms.size(), -1);
    std::vector<uint32_t>& slot_of = out_.slot.emplace_back(t.comms.size(), kNobody);
    std::vector<uint32_t>& group = out_.group.emplace_back(t.comms.size(), kNobody);
    std::vector<uint32_t>& root = out_.root.emplace_back(t.comms.size(), 0);
    absl::flat_hash_map<StringId, uint32_t> port_of;
    for (uint32_t p = 0; p < ties_.ports[rank.cls].size(); ++p) port_of.emplace(ties_.ports[rank.cls][p].name, p);
    for (const NodeId n : t.nodes()) {
      if (t.comm_row[n] == trace::kNoRow) continue;
      const uint32_t row = t.comm_row[n];
      Comm& c = t.comms.edit(row);
      if (t.type[n] == NodeType::coll) {
        const uint32_t g = ties_.port_group[ties_.first_port[r] + port_of.at(c.group)];
        const Members& members = ties_.groups[g];
        group[row] = group_of_[g];
        c.group = t.strings.intern(out_.groups[group_of_[g]].names.front());
        root[row] = root_place(members, c.root);
        if (c.root >= 0 && c.root != root[row] &&
            std::find(members.ranks.begin(), members.ranks.end(), c.root) == members.ranks.end())
          continue;  // neither a rank nor a place: left for the match to refuse
        if (c.root >= 0 && members.index[root[row]] != kNobody)
          c.root = job_.ranks[stands_for_[color_[members.index[root[row]]]]].rank;
        continue;
      }
      if (t.type[n] != NodeType::send && t.type[n] != NodeType::recv) continue;
      const bool sends = t.type[n] == NodeType::send;
      // The match compares the near end, where a trace states it, with the rank.
      if (int64_t& own = sends ? c.src : c.dst; own >= 0)
        own = job_.peer_of[rank.first_peer + static_cast<size_t>(own)];
      int64_t& end = sends ? c.dst : c.src;
      if (end < 0) continue;
      const auto slot = static_cast<uint32_t>(end);
      slot_of[row] = slot;
      end = peer[row] = job_.peer_of[rank.first_peer + slot];
      const uint32_t other = ties_.end_of[rank.first_peer + slot];
      if (other == kNobody) continue;
      end = job_.ranks[stands_for_[color_[other]]].rank;
      const uint32_t at = rank.first_peer + slot;
      c.tag = tag(sends, color_[r], ties_.first[at], color_[other], ties_.back[at], c.tag);
    }
  }

  /// Messages between the same two actors may be between other ranks: the slots at both ends say which. The
  /// first slots of a channel keep its tag.
  int64_t tag(bool send, uint32_t self, uint32_t slot, uint32_t other, uint32_t back, int64_t tag) {
    const std::tuple channel(send ? self : other, send ? other : self, tag);
    const std::pair slots(send ? slot : back, send ? back : slot);
    auto& known = channels_[channel];
    const auto found = std::find(known.begin(), known.end(), slots);
    const auto which = found - known.begin();
    if (found == known.end()) known.push_back(slots);
    if (which == 0) return tag;
    return tags_
        .try_emplace(std::tuple(std::get<0>(channel), std::get<1>(channel), tag, which),
                     INT64_MAX - static_cast<int64_t>(tags_.size()))
        .first->second;
  }

  ClassJob job_;
  const Ties& ties_;
  std::vector<uint32_t> color_;       ///< per rank
  std::vector<uint32_t> stands_for_;  ///< per actor: the first of its ranks
  std::vector<uint32_t> group_of_;    ///< per group of the ties: into Folded::groups
  Folded out_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, std::vector<std::pair<uint32_t, uint32_t>>> channels_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t, ptrdiff_t>, int64_t> tags_;
};

}  // namespace

Folded make_actors(ClassJob&& job, const Ties& ties, std::vector<uint32_t>&& colors) {
  return ActorMaker(std::move(job), ties, std::move(colors)).run();
}

}  // namespace chakra::sim
