#include "chakra/sim/ties.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>

namespace chakra::sim {
namespace {

using trace::ClassJob;
using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// FNV-1a: the same on every machine.
uint64_t flow_of(std::string_view group) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

class TieFinder {
 public:
  TieFinder(const ClassJob& job, const match::GroupTable& table, Prices& prices)
      : job_(job), table_(table), prices_(prices) {}

  Ties run() {
    find_ports();
    find_groups();
    find_ends();
    return std::move(ties_);
  }

 private:
  size_t index_of(int64_t rank) const {
    const auto at = std::lower_bound(job_.ranks.begin(), job_.ranks.end(), rank,
                                     [](const ClassJob::Rank& r, int64_t value) { return r.rank < value; });
    return at != job_.ranks.end() && at->rank == rank ? static_cast<size_t>(at - job_.ranks.begin()) : SIZE_MAX;
  }

  void find_ports() {
    ties_.ports.resize(job_.classes.size());
    for (size_t c = 0; c < job_.classes.size(); ++c) {
      const Trace& t = job_.classes[c];
      absl::flat_hash_map<StringId, uint32_t> port_of;
      std::set<std::tuple<StringId, CommType, uint64_t, int64_t>> seen;
      for (const NodeId n : t.nodes()) {
        const Comm* comm = t.comm(n);
        if (!comm || t.type[n] != NodeType::coll) continue;
        const auto [port, added] = port_of.try_emplace(comm->group, static_cast<uint32_t>(ties_.ports[c].size()));
        if (added) {
          const auto slot = std::find(job_.group_slots[c].begin(), job_.group_slots[c].end(), t.strings[comm->group]);
          ties_.ports[c].push_back(
              {comm->group,
               slot == job_.group_slots[c].end() ? kNobody : static_cast<uint32_t>(slot - job_.group_slots[c].begin()),
               false,
               {}});
        }
        Port& p = ties_.ports[c][port->second];
        p.by_place |= !comm->in_split.empty() || !comm->out_split.empty();
        if (seen.emplace(comm->group, comm->type, comm->bytes, comm->root).second) p.calls.push_back(comm);
      }
    }
  }

  uint32_t group_named(const std::string& name) {
    const auto [found, added] = group_ids_.try_emplace(name, static_cast<uint32_t>(ties_.groups.size()));
    if (!added) return found->second;
    Members& group = ties_.groups.emplace_back();
    group.name = name;
    if (const auto given = table_.find(name); given != table_.end()) group.ranks = given->second;
    else if (const auto of_job = recorded_.find(name); of_job != recorded_.end()) group.ranks = *of_job->second;
    if (group.ranks.empty())
      for (const ClassJob::Rank& r : job_.ranks) group.ranks.push_back(r.rank);
    for (const int64_t rank : group.ranks) {
      const size_t index = index_of(rank);
      group.index.push_back(index == SIZE_MAX ? kNobody : static_cast<uint32_t>(index));
    }
    group.flow = flow_of(group.name);
    group.shape = prices_.shape(group.ranks, group.flow);
    return found->second;
  }

  /// For each rank and port: which group, and which member of it the rank is.
  void find_groups() {
    for (const trace::ProcessGroup& group : job_.groups)
      if (!group.ranks.empty()) recorded_.try_emplace(group.name, &group.ranks);
    std::vector<uint32_t> of_entry(job_.groups.size(),
                                   kNobody);  // groups of the job by number: names are looked up once
    for (const ClassJob::Rank& r : job_.ranks) {
      ties_.first_port.push_back(static_cast<uint32_t>(ties_.port_group.size()));
      for (const Port& port : ties_.ports[r.cls]) {
        if (port.slot == kNobody) {
          ties_.port_group.push_back(group_named(std::string(job_.classes[r.cls].strings[port.name])));
          continue;
        }
        uint32_t& known = of_entry[job_.group_of[r.first_group + port.slot]];
        if (known == kNobody) known = group_named(job_.groups[job_.group_of[r.first_group + port.slot]].name);
        ties_.port_group.push_back(known);
      }
    }
    ties_.port_place.assign(ties_.port_group.size(), kNobody);
    for (uint32_t g = 0; g < ties_.groups.size(); ++g) {
      ties_.groups[g].port.assign(ties_.groups[g].index.size(), kNobody);
      for (uint32_t m = 0; m < ties_.groups[g].index.size(); ++m) {
        const uint32_t r = ties_.groups[g].index[m];
        if (r == kNobody) continue;
        for (uint32_t p = 0; p < ties_.ports[job_.ranks[r].cls].size(); ++p)
          if (ties_.port_group[ties_.first_port[r] + p] == g) {
            ties_.port_place[ties_.first_port[r] + p] = m;
            ties_.groups[g].port[m] = p;
          }
      }
    }
  }

  /// For each rank and peer slot: who is there, the first slot in which he stands, and his first for this rank.
  void find_ends() {
    ties_.end_of.assign(job_.peer_of.size(), kNobody);
    ties_.first.assign(job_.peer_of.size(), kNobody);
    ties_.back.assign(job_.peer_of.size(), kNobody);
    for (size_t s = 0; s < job_.peer_of.size(); ++s)
      if (const size_t index = index_of(job_.peer_of[s]); index != SIZE_MAX)
        ties_.end_of[s] = static_cast<uint32_t>(index);
    std::vector<uint32_t> by_end(job_.peer_of.size());  // each rank's slots, by end
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
      const auto slots = by_end.begin() + job_.ranks[r].first_peer;
      std::iota(slots, slots + peers(r), uint32_t{0});
      std::stable_sort(slots, slots + peers(r), [&](uint32_t a, uint32_t b) { return end(r, a) < end(r, b); });
    }
    const auto slot_for = [&](uint32_t r, uint32_t other) {
      const auto slots = by_end.begin() + job_.ranks[r].first_peer, last = slots + peers(r);
      const auto found = std::lower_bound(slots, last, other, [&](uint32_t s, uint32_t to) { return end(r, s) < to; });
      return found != last && end(r, *found) == other ? *found : kNobody;
    };
    for (uint32_t r = 0; r < job_.ranks.size(); ++r)
      for (uint32_t s = 0; s < peers(r); ++s) {
        const uint32_t slot = job_.ranks[r].first_peer + s;
        if (ties_.end_of[slot] == kNobody) continue;
        ties_.first[slot] = slot_for(r, ties_.end_of[slot]);
        ties_.back[slot] = slot_for(ties_.end_of[slot], r);
      }
  }
  uint32_t end(uint32_t r, uint32_t s) const { return ties_.end_of[job_.ranks[r].first_peer + s]; }
  uint32_t peers(uint32_t r) const { return job_.peer_slots[job_.ranks[r].cls]; }

  const ClassJob& job_;
  const match::GroupTable& table_;
  Prices& prices_;
  Ties ties_;
  absl::flat_hash_map<std::string, uint32_t> group_ids_;
  absl::flat_hash_map<std::string, const std::vector<int64_t>*> recorded_;
};

}  // namespace

Ties find_ties(const ClassJob& job, const match::GroupTable& table, Prices& prices) {
  return TieFinder(job, table, prices).run();
}

std::vector<uint32_t> start_late(const ClassJob& job, Ties& ties, uint32_t exact_members) {
  std::vector<uint32_t> sizes;
  for (Members& group : ties.groups) {
    const auto by_place = [&](size_t m) {
      if (group.index[m] == kNobody || group.port[m] == kNobody) return true;
      const Port& port = ties.ports[job.ranks[group.index[m]].cls][group.port[m]];
      return port.by_place ||
             std::any_of(port.calls.begin(), port.calls.end(), [](const Comm* call) { return call->root >= 0; });
    };
    group.late_start = group.index.size() > exact_members;
    for (size_t m = 0; m < group.index.size() && group.late_start; ++m) group.late_start = !by_place(m);
    if (group.late_start) sizes.push_back(static_cast<uint32_t>(group.index.size()));
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

uint32_t root_place(const Members& group, int64_t root) {
  if (root < 0) return 0;
  const auto rank = std::find(group.ranks.begin(), group.ranks.end(), root);
  if (rank != group.ranks.end()) return static_cast<uint32_t>(rank - group.ranks.begin());
  return root < static_cast<int64_t>(group.ranks.size()) ? static_cast<uint32_t>(root) : 0;
}

std::vector<int64_t> key_of(const Members& group, const std::vector<uint32_t>& colors) {
  std::vector<int64_t> key{group.costs};
  key.reserve(group.index.size() + 1);
  for (size_t m = 0; m < group.index.size(); ++m)
    key.push_back(group.index[m] == kNobody ? -1
                                            : int64_t{colors[group.index[m]]} << 31 | (group.port[m] & 0x7fffffff));
  if (group.late_start) std::sort(key.begin() + 1, key.end());
  return key;
}

}  // namespace chakra::sim
