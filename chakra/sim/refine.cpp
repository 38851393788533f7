#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "chakra/sim/equal_links.h"
#include "chakra/sim/run_size.h"
#include "chakra/sim/ties.h"

namespace chakra::sim {
namespace {

using trace::ClassJob;
using trace::Comm;
using trace::CommType;

using Mates = std::vector<std::vector<uint32_t>>;

class Refiner {
 public:
  Refiner(const ClassJob& job, const Ties& ties, const Mates& mates, const device::System& system, Prices& prices,
          const net::Fabric& fabric, double most_nodes, EqualLinks* links)
      : job_(job),
        ties_(ties),
        mates_(mates),
        system_(system),
        prices_(prices),
        fabric_(fabric),
        most_nodes_(most_nodes),
        links_(links),
        color_(job.ranks.size()) {}

  std::vector<uint32_t> run() {
    for (size_t colors = first_colors(), links = count_links();;) {
      const size_t refined = refine_once();
      const bool stable = refined == colors && count_links() == links;
      if (stable || size_of_run(job_, color_).nodes > most_nodes_) return std::move(color_);
      colors = refined;
      links = count_links();
    }
  }

 private:
  /// What needs no look at others. Returns how many colours there are.
  size_t first_colors() {
    Numbering first;
    for (uint32_t r = 0; r < color_.size(); ++r) {
      const device::RankTraits& traits = system_.traits(job_.ranks[r].rank);
      color_[r] = first({job_.ranks[r].cls, std::bit_cast<int64_t>(traits.speed), traits.start_ps, traits.device});
    }
    return first.size();
  }

  size_t count_links() const { return links_ ? links_->count() : 0; }

  /// Splits colours by those of the groups and peers, and of links. Returns how many colours there are.
  size_t refine_once() {
    Numbering group_numbers, next;
    std::vector<uint32_t> group_color(ties_.groups.size());
    std::vector<char> uniform(ties_.groups.size());
    for (size_t g = 0; g < ties_.groups.size(); ++g) {
      const std::vector<int64_t> key = key_of(ties_.groups[g], color_);
      uniform[g] = key.size() > 1 && std::all_of(key.begin() + 1, key.end(),
                                                 [&](int64_t member) { return member == key[1] && member >= 0; });
      group_color[g] = group_numbers(key);
    }
    const std::vector<std::vector<int64_t>> nodes = node_colors();
    const std::vector<uint32_t> traffic = links_ ? links_->split(color_) : std::vector<uint32_t>();
    std::vector<uint32_t> refined(color_.size());
    std::vector<int64_t> key;
    for (uint32_t r = 0; r < color_.size(); ++r) {
      const ClassJob::Rank& rank = job_.ranks[r];
      key.assign(1, color_[r]);
      if (!traffic.empty()) key.push_back(traffic[r]);
      if (!nodes.empty()) key.insert(key.end(), nodes[r].begin(), nodes[r].end());
      for (uint32_t p = 0; p < ties_.ports[rank.cls].size(); ++p) {
        const uint32_t group = ties_.port_group[ties_.first_port[r] + p],
                       place = ties_.port_place[ties_.first_port[r] + p];
        key.push_back(group_color[group]);
        const bool alike = (uniform[group] || ties_.groups[group].late_start) && place != kNobody &&
                           !ties_.ports[rank.cls][p].by_place;
        key.push_back(alike ? roles(ties_.groups[group], rank.cls, p)[place] : place);
      }
      for (uint32_t s = 0; s < peers(r); ++s) {
        const uint32_t slot = rank.first_peer + s;
        key.push_back(ties_.end_of[slot] == kNobody ? -1 : int64_t{color_[ties_.end_of[slot]]});
        key.push_back(int64_t{ties_.first[slot]} << 32 | ties_.back[slot]);
        add_path(key, rank.rank, job_.peer_of[slot]);
      }
      refined[r] = next(key);
    }
    color_ = std::move(refined);
    return next.size();
  }
  /// What a message takes; on shared links EqualLinks compares more.
  void add_path(std::vector<int64_t>& key, int64_t from, int64_t to) const {
    if (std::max(from, to) >= fabric_.size()) return key.push_back(-1);
    for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
      const net::Path path = fabric_.alone(a, b);
      key.push_back(path.latency_ps);
      key.push_back(std::bit_cast<int64_t>(path.bytes_per_s));
    }
  }
  uint32_t peers(uint32_t r) const { return job_.peer_slots[job_.ranks[r].cls]; }

  /// Per rank, for each tier of its node: equal numbers, equal users. Empty where there are no such tiers.
  std::vector<std::vector<int64_t>> node_colors() const {
    if (mates_.empty()) return {};
    Numbering numbers;
    std::vector<std::vector<int64_t>> of_rank(color_.size());
    for (const std::vector<uint32_t>& users : mates_) {
      std::vector<int64_t> key;
      for (const uint32_t r : users) key.push_back(color_[r]);
      std::sort(key.begin(), key.end());
      const uint32_t number = numbers(key);
      for (const uint32_t r : users) of_rank[r].push_back(number);
    }
    return of_rank;
  }

  /// Of members that run the same trace and begin at equal times: numbers that differ where they end at other times.
  const std::vector<uint32_t>& roles(const Members& group, uint32_t cls, uint32_t port) {
    bool rooted = false;
    for (const Comm* call : ties_.ports[cls][port].calls) rooted |= call->root >= 0;
    // A root is a rank: groups in equivalent places may have their roots at different places.
    const auto key = std::tuple(group.costs, cls, port, rooted ? group.name : std::string());
    const auto [found, added] = roles_.try_emplace(key);
    if (!added) return found->second;
    std::vector<std::vector<int64_t>> ends(group.ranks.size());
    for (const Comm* call : ties_.ports[cls][port].calls) {
      if (call->type == CommType::unknown) continue;
      const coll::Operation op{call->type, call->bytes, root_place(group, call->root), {}};
      const std::vector<Picoseconds>& when = prices_.together(group.shape, op);
      for (size_t m = 0; m < ends.size(); ++m) ends[m].push_back(when[m]);
    }
    for (const std::vector<int64_t>& of_member : ends) found->second.push_back(role_numbers_(of_member));
    return found->second;
  }

  const ClassJob& job_;
  const Ties& ties_;
  const Mates& mates_;
  const device::System& system_;
  Prices& prices_;
  const net::Fabric& fabric_;
  const double most_nodes_;
  EqualLinks* const links_;
  std::vector<uint32_t> color_;  ///< per rank
  Numbering role_numbers_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, std::string>, std::vector<uint32_t>> roles_;
};

}  // namespace

std::vector<uint32_t> refine(const ClassJob& job, const Ties& ties, const Mates& mates, const device::System& system,
                             Prices& prices, const net::Fabric& fabric, double most_nodes, EqualLinks* links) {
  return Refiner(job, ties, mates, system, prices, fabric, most_nodes, links).run();
}

}  // namespace chakra::sim
