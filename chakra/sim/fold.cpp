#include "chakra/sim/fold.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

namespace chakra::sim {
namespace {

using trace::ClassJob;
using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr uint32_t kNone = UINT32_MAX;

/// A group that nodes of a class name: what stands in a slot, or the group of that name itself.
struct Port {
  StringId name = 0;  ///< in the class's trace
  uint32_t slot = kNone;
  bool by_place = false;           ///< what a member does depends on its place: it sends uneven shares
  std::vector<const Comm*> calls;  ///< what its nodes do, each differing one once
};

/// A group of the job.
struct Members {
  std::string name;
  std::vector<int64_t> ranks;
  std::vector<uint32_t> index;  ///< parallel to ranks: into ClassJob::ranks, kNone for one that is not there
  std::vector<uint32_t> port;   ///< parallel to ranks: the port by which the member takes part, or kNone
  uint32_t shape = 0;
  uint64_t flow = 0;
};

/// FNV-1a: the same on every machine.
uint64_t flow_of(std::string_view group) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

class Folder {
 public:
  Folder(ClassJob&& job, const match::GroupTable& table, const device::System& system, Prices& prices,
         const net::Fabric& fabric)
      : job_(std::move(job)), table_(table), system_(system), prices_(prices), fabric_(fabric) {}

  Folded run(bool whole) {
    find_ports();
    find_groups();
    find_ends();
    color_.resize(job_.ranks.size());
    if (whole)
      for (uint32_t r = 0; r < color_.size(); ++r) color_[r] = r;
    else refine();
    return actors();
  }

 private:
  size_t index_of(int64_t rank) const {
    const auto at = std::lower_bound(job_.ranks.begin(), job_.ranks.end(), rank,
                                     [](const ClassJob::Rank& r, int64_t value) { return r.rank < value; });
    return at != job_.ranks.end() && at->rank == rank ? static_cast<size_t>(at - job_.ranks.begin()) : SIZE_MAX;
  }

  // ---- what ranks are told apart by ---------------------------------------------------------------------

  void find_ports() {
    ports_.resize(job_.classes.size());
    for (size_t c = 0; c < job_.classes.size(); ++c) {
      const Trace& t = job_.classes[c];
      absl::flat_hash_map<StringId, uint32_t> port_of;
      std::set<std::tuple<StringId, CommType, uint64_t, int64_t>> seen;
      for (NodeId n = 0; n < t.size(); ++n) {
        const Comm* comm = t.comm(n);
        if (!comm || t.type[n] != NodeType::coll) continue;
        const auto [port, added] = port_of.try_emplace(comm->group, static_cast<uint32_t>(ports_[c].size()));
        if (added) {
          const auto slot = std::find(job_.group_slots[c].begin(), job_.group_slots[c].end(), t.strings[comm->group]);
          ports_[c].push_back(
              {comm->group,
               slot == job_.group_slots[c].end() ? kNone : static_cast<uint32_t>(slot - job_.group_slots[c].begin()),
               false,
               {}});
        }
        Port& p = ports_[c][port->second];
        p.by_place |= !comm->in_split.empty() || !comm->out_split.empty();
        if (seen.emplace(comm->group, comm->type, comm->bytes, comm->root).second) p.calls.push_back(comm);
      }
    }
  }

  uint32_t group_named(const std::string& name) {
    const auto [found, added] = group_ids_.try_emplace(name, static_cast<uint32_t>(groups_.size()));
    if (!added) return found->second;
    Members& group = groups_.emplace_back();
    group.name = name;
    if (const auto given = table_.find(name); given != table_.end()) group.ranks = given->second;
    else if (const auto of_job = recorded_.find(name); of_job != recorded_.end()) group.ranks = *of_job->second;
    if (group.ranks.empty())
      for (const ClassJob::Rank& r : job_.ranks) group.ranks.push_back(r.rank);
    for (const int64_t rank : group.ranks) {
      const size_t index = index_of(rank);
      group.index.push_back(index == SIZE_MAX ? kNone : static_cast<uint32_t>(index));
    }
    group.flow = flow_of(group.name);
    group.shape = prices_.shape(group.ranks, group.flow);
    return found->second;
  }

  /// For each rank and port: which group, and which member of it the rank is.
  void find_groups() {
    for (const trace::ProcessGroup& group : job_.groups)
      if (!group.ranks.empty()) recorded_.try_emplace(group.name, &group.ranks);
    std::vector<uint32_t> of_entry(job_.groups.size(), kNone);  // groups of the job by number: names are looked up once
    for (const ClassJob::Rank& r : job_.ranks) {
      first_port_.push_back(static_cast<uint32_t>(port_group_.size()));
      for (const Port& port : ports_[r.cls]) {
        if (port.slot == kNone) {
          port_group_.push_back(group_named(std::string(job_.classes[r.cls].strings[port.name])));
          continue;
        }
        uint32_t& known = of_entry[job_.group_of[r.first_group + port.slot]];
        if (known == kNone) known = group_named(job_.groups[job_.group_of[r.first_group + port.slot]].name);
        port_group_.push_back(known);
      }
    }
    port_place_.assign(port_group_.size(), kNone);
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      groups_[g].port.assign(groups_[g].index.size(), kNone);
      for (uint32_t m = 0; m < groups_[g].index.size(); ++m) {
        const uint32_t r = groups_[g].index[m];
        if (r == kNone) continue;
        for (uint32_t p = 0; p < ports_[job_.ranks[r].cls].size(); ++p)
          if (port_group_[first_port_[r] + p] == g) {
            port_place_[first_port_[r] + p] = m;
            groups_[g].port[m] = p;
          }
      }
    }
  }

  /// For each rank and peer slot: who is there, the first slot in which he stands, and his first for this rank.
  void find_ends() {
    end_of_.assign(job_.peer_of.size(), kNone);
    first_.assign(job_.peer_of.size(), kNone);
    back_.assign(job_.peer_of.size(), kNone);
    for (size_t s = 0; s < job_.peer_of.size(); ++s)
      if (const size_t index = index_of(job_.peer_of[s]); index != SIZE_MAX) end_of_[s] = static_cast<uint32_t>(index);
    std::vector<uint32_t> by_end(job_.peer_of.size());  // each rank's slots, by end
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
      const auto slots = by_end.begin() + job_.ranks[r].first_peer;
      std::iota(slots, slots + peers(r), uint32_t{0});
      std::stable_sort(slots, slots + peers(r), [&](uint32_t a, uint32_t b) { return end(r, a) < end(r, b); });
    }
    const auto slot_for = [&](uint32_t r, uint32_t other) {
      const auto slots = by_end.begin() + job_.ranks[r].first_peer, last = slots + peers(r);
      const auto found = std::lower_bound(slots, last, other, [&](uint32_t s, uint32_t to) { return end(r, s) < to; });
      return found != last && end(r, *found) == other ? *found : kNone;
    };
    for (uint32_t r = 0; r < job_.ranks.size(); ++r)
      for (uint32_t s = 0; s < peers(r); ++s) {
        const uint32_t slot = job_.ranks[r].first_peer + s;
        if (end_of_[slot] == kNone) continue;
        first_[slot] = slot_for(r, end_of_[slot]);
        back_[slot] = slot_for(end_of_[slot], r);
      }
  }
  uint32_t end(uint32_t r, uint32_t s) const { return end_of_[job_.ranks[r].first_peer + s]; }
  uint32_t peers(uint32_t r) const { return job_.peer_slots[job_.ranks[r].cls]; }

  /// The rank that a node names as root, or the place in the group that it names, as a place.
  static uint32_t root_place(const Members& group, int64_t root) {
    if (root < 0) return 0;
    const auto rank = std::find(group.ranks.begin(), group.ranks.end(), root);
    if (rank != group.ranks.end()) return static_cast<uint32_t>(rank - group.ranks.begin());
    return root < static_cast<int64_t>(group.ranks.size()) ? static_cast<uint32_t>(root) : 0;
  }

  /// Of members that run the same trace and begin alike: numbers that differ where they end at other times.
  const std::vector<uint32_t>& roles(const Members& group, uint32_t cls, uint32_t port) {
    bool rooted = false;
    for (const Comm* call : ports_[cls][port].calls) rooted |= call->root >= 0;
    // A root is a rank: groups that stand alike may have theirs at other places.
    const auto key = std::tuple(group.shape, cls, port, rooted ? group.name : std::string());
    const auto [found, added] = roles_.try_emplace(key);
    if (!added) return found->second;
    std::vector<std::vector<int64_t>> ends(group.ranks.size());
    for (const Comm* call : ports_[cls][port].calls) {
      if (call->type == CommType::unknown) continue;
      const coll::Operation op{call->type, call->bytes, root_place(group, call->root), {}};
      const std::vector<Picoseconds>& when = prices_.together(group.shape, op);
      for (size_t m = 0; m < ends.size(); ++m) ends[m].push_back(when[m]);
    }
    Numbering numbers;
    for (const std::vector<int64_t>& of_member : ends) found->second.push_back(numbers(of_member));
    return found->second;
  }

  /// Where a group stands, and who is in it by which port: equal keys, groups that behave alike.
  std::vector<int64_t> key_of(const Members& group) const {
    std::vector<int64_t> key{group.shape};
    key.reserve(group.index.size() + 1);
    for (size_t m = 0; m < group.index.size(); ++m)
      key.push_back(group.index[m] == kNone ? -1
                                            : int64_t{color_[group.index[m]]} << 31 | (group.port[m] & 0x7fffffff));
    return key;
  }

  // ---- refining -------------------------------------------------------------------------------------------

  void refine() {
    Numbering first;
    for (uint32_t r = 0; r < color_.size(); ++r) {
      const device::RankTraits& traits = system_.traits(job_.ranks[r].rank);
      color_[r] = first({job_.ranks[r].cls, std::bit_cast<int64_t>(traits.speed), traits.start_ps, traits.device});
    }
    for (size_t colors = first.size();;) {
      Numbering group_numbers, next;
      std::vector<uint32_t> group_color(groups_.size());
      std::vector<char> uniform(groups_.size());
      for (size_t g = 0; g < groups_.size(); ++g) {
        const std::vector<int64_t> key = key_of(groups_[g]);
        uniform[g] = key.size() > 1 && std::all_of(key.begin() + 1, key.end(),
                                                   [&](int64_t member) { return member == key[1] && member >= 0; });
        group_color[g] = group_numbers(key);
      }
      std::vector<uint32_t> refined(color_.size());
      std::vector<int64_t> key;
      for (uint32_t r = 0; r < color_.size(); ++r) {
        const ClassJob::Rank& rank = job_.ranks[r];
        key.assign(1, color_[r]);
        for (uint32_t p = 0; p < ports_[rank.cls].size(); ++p) {
          const uint32_t group = port_group_[first_port_[r] + p], place = port_place_[first_port_[r] + p];
          key.push_back(group_color[group]);
          const bool alike = uniform[group] && place != kNone && !ports_[rank.cls][p].by_place;
          key.push_back(alike ? roles(groups_[group], rank.cls, p)[place] : place);
        }
        for (uint32_t s = 0; s < peers(r); ++s) {
          const uint32_t slot = rank.first_peer + s;
          key.push_back(end_of_[slot] == kNone ? -1 : int64_t{color_[end_of_[slot]]});
          key.push_back(int64_t{first_[slot]} << 32 | back_[slot]);
          const int64_t both[2] = {rank.rank, job_.peer_of[slot]};
          const bool inside = std::max(both[0], both[1]) < fabric_.size();
          key.push_back(inside ? int64_t{prices_.shape(both)} : -1);
        }
        refined[r] = next(key);
      }
      color_ = std::move(refined);
      if (next.size() == colors) break;
      colors = next.size();
    }
  }

  // ---- what is simulated ------------------------------------------------------------------------------------

  Folded actors() {
    Folded out;
    const size_t n = color_.empty() ? 0 : *std::max_element(color_.begin(), color_.end()) + size_t{1};
    std::vector<uint32_t> stands_for(n, kNone);  // colours are numbered by their first ranks
    out.count.assign(n, 0);
    for (uint32_t r = 0; r < color_.size(); ++r) {
      out.ranks.push_back(job_.ranks[r].rank);
      ++out.count[color_[r]];
      if (stands_for[color_[r]] == kNone) stands_for[color_[r]] = r;
    }
    out.actor_of = color_;

    // Groups of the same actors in the same order that stand alike are one.
    Numbering numbers;
    std::vector<uint32_t> group_of(groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<int64_t> key = key_of(groups_[g]);
      if (key.size() == 1 || std::find(key.begin(), key.end(), -1) != key.end())
        key.push_back(~static_cast<int64_t>(g));
      group_of[g] = numbers(key);
      if (group_of[g] == out.groups.size()) {
        Folded::Group& group = out.groups.emplace_back();
        group.ranks = groups_[g].ranks;
        group.shape = groups_[g].shape;
        group.flow = groups_[g].flow;
        std::vector<int64_t>& present = out.table[groups_[g].name];
        std::vector<char> there(n, 0);
        for (size_t m = 0; m < group.ranks.size(); ++m) {
          const uint32_t r = groups_[g].index[m];
          group.actors.push_back(r == kNone ? kNobody : color_[r]);
          if (r == kNone) present.push_back(group.ranks[m]);
          else if (!std::exchange(there[color_[r]], 1)) present.push_back(job_.ranks[stands_for[color_[r]]].rank);
        }
      }
      out.groups[group_of[g]].names.push_back(groups_[g].name);
      out.groups[group_of[g]].places.push_back(groups_[g].ranks);
    }

    std::vector<uint32_t> last_of(job_.classes.size(), kNone);  // the last actor of each class takes its trace
    for (uint32_t a = 0; a < n; ++a) last_of[job_.ranks[stands_for[a]].cls] = a;
    for (uint32_t a = 0; a < n; ++a) {
      const uint32_t r = stands_for[a];
      const uint32_t cls = job_.ranks[r].cls;
      out.actors.ranks.push_back(last_of[cls] == a ? std::move(job_.classes[cls]) : trace::copy(job_.classes[cls]));
      put_in(out, out.actors.ranks.back(), r, group_of, stands_for);
    }
    return out;
  }

  /// The actor's groups and peers in the place of its class's.
  void put_in(Folded& out, Trace& t, uint32_t r, const std::vector<uint32_t>& group_of,
              const std::vector<uint32_t>& stands_for) {
    const ClassJob::Rank& rank = job_.ranks[r];
    t.rank = rank.rank;
    t.groups.clear();  // the table says who is in them
    std::vector<int64_t>& peer = out.peer.emplace_back(t.comms.size(), -1);
    std::vector<uint32_t>& group = out.group.emplace_back(t.comms.size(), kNobody);
    std::vector<uint32_t>& root = out.root.emplace_back(t.comms.size(), 0);
    absl::flat_hash_map<StringId, uint32_t> port_of;
    for (uint32_t p = 0; p < ports_[rank.cls].size(); ++p) port_of.emplace(ports_[rank.cls][p].name, p);
    for (NodeId n = 0; n < t.size(); ++n) {
      if (t.comm_row[n] == trace::kNoRow) continue;
      const uint32_t row = t.comm_row[n];
      Comm& c = t.comms[row];
      if (t.type[n] == NodeType::coll) {
        const uint32_t g = port_group_[first_port_[r] + port_of.at(c.group)];
        const Members& members = groups_[g];
        group[row] = group_of[g];
        c.group = t.strings.intern(out.groups[group_of[g]].names.front());
        root[row] = root_place(members, c.root);
        if (c.root >= 0 && c.root != root[row] &&
            std::find(members.ranks.begin(), members.ranks.end(), c.root) == members.ranks.end())
          continue;  // neither a rank nor a place: left for the match to refuse
        if (c.root >= 0 && members.index[root[row]] != kNone)
          c.root = job_.ranks[stands_for[color_[members.index[root[row]]]]].rank;
        continue;
      }
      if (t.type[n] != NodeType::send && t.type[n] != NodeType::recv) continue;
      int64_t& end = t.type[n] == NodeType::send ? c.dst : c.src;
      if (end < 0) continue;
      const auto slot = static_cast<uint32_t>(end);
      end = peer[row] = job_.peer_of[rank.first_peer + slot];
      const uint32_t other = end_of_[rank.first_peer + slot];
      if (other == kNone) continue;
      end = job_.ranks[stands_for[color_[other]]].rank;
      const uint32_t at = rank.first_peer + slot;
      c.tag = tag(t.type[n] == NodeType::send, color_[r], first_[at], color_[other], back_[at], c.tag);
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
  const match::GroupTable& table_;
  const device::System& system_;
  Prices& prices_;
  const net::Fabric& fabric_;
  std::vector<std::vector<Port>> ports_;  ///< per class
  std::vector<Members> groups_;
  absl::flat_hash_map<std::string, uint32_t> group_ids_;
  absl::flat_hash_map<std::string, const std::vector<int64_t>*> recorded_;
  std::vector<uint32_t> first_port_;               ///< per rank: into the two below, one entry per port
  std::vector<uint32_t> port_group_, port_place_;  ///< into groups_, and which member
  std::vector<uint32_t> end_of_, first_, back_;    ///< parallel to ClassJob::peer_of
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, std::string>, std::vector<uint32_t>> roles_;
  std::vector<uint32_t> color_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, std::vector<std::pair<uint32_t, uint32_t>>> channels_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t, ptrdiff_t>, int64_t> tags_;
};

}  // namespace

Folded fold(trace::ClassJob&& job, const match::GroupTable& table, const device::System& system, Prices& prices,
            const net::Fabric& fabric, bool whole) {
  return Folder(std::move(job), table, system, prices, fabric).run(whole);
}

}  // namespace chakra::sim
