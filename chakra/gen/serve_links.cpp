// Which part of the cache goes from which rank of prefill to which of decode.
#include <algorithm>
#include <map>

#include "chakra/base/real.h"
#include "chakra/gen/serve_plan.h"

namespace chakra::gen {
namespace {

struct Range {
  int64_t first, end;
};
int64_t common(const Range& x, const Range& y) {
  return std::max<int64_t>(0, std::min(x.end, y.end) - std::max(x.first, y.first));
}
/// The heads of the cache that a tensor-parallel rank has: a part of them, or a copy of one.
Range heads_of(int64_t heads, int64_t tp, int64_t rank) {
  if (heads >= tp) return {rank * heads / tp, (rank + 1) * heads / tp};
  const int64_t head = rank / (tp / heads);
  return {head, head + 1};
}
int64_t copies(int64_t heads, int64_t tp) { return std::max<int64_t>(tp / heads, 1); }

struct RankPlace {
  int64_t tp, dp, stage;
};
RankPlace place(const Side& side, int64_t rank) {
  const int64_t at = rank - side.first_rank;
  return {side.mesh.place(at, Axis::tp), side.mesh.place(at, Axis::dp), side.mesh.place(at, Axis::pp)};
}
int64_t rank_at(const Side& side, const RankPlace& p) {
  const auto along = [&](Axis axis, int64_t n) { return n * side.mesh.stride[index(axis)]; };
  return side.first_rank + along(Axis::tp, p.tp) + along(Axis::dp, p.dp) + along(Axis::pp, p.stage);
}
Range sequences(const Side& side, int64_t replica) {
  return {replica * side.sequences, (replica + 1) * side.sequences};
}
int64_t stage_of(const Side& side, int64_t layer) {
  const auto& first = side.first_layers;
  return std::upper_bound(first.begin(), first.end(), layer) - first.begin() - 1;
}

/// Heads that a rank of prefill gives to one of decode. Of several copies of a head each goes to some of those that
/// need it.
int64_t heads_given(int64_t heads, int64_t from_tp, int64_t from, int64_t to_tp, int64_t to) {
  const int64_t alike = copies(heads, from_tp);
  if (alike > 1 && from % alike != to % alike) return 0;
  return common(heads_of(heads, from_tp, from), heads_of(heads, to_tp, to));
}

}  // namespace

Links ServePlan::links(size_t side, int64_t rank) const {
  Links result;
  if (!separate()) return result;
  const Side &own = sides[side], &other = sides[1 - side];
  const bool gives = side == 0;
  const RankPlace me = place(own, rank);
  const int64_t own_tp = own.mesh.of(Axis::tp), other_tp = other.mesh.of(Axis::tp);
  std::map<int64_t, int64_t> position;  // of ranks among the peers
  const auto link = [&](std::vector<Link>& links, const RankPlace& at, int64_t both, double width) {
    const int64_t peer = rank_at(other, at);
    position.try_emplace(peer, 0);
    links.push_back({peer, both, width});
  };
  const auto each_partner = [&](const auto& visit) {
    const Range mine = sequences(own, me.dp);
    for (int64_t dp = mine.first / other.sequences; dp <= (mine.end - 1) / other.sequences; ++dp)
      for (int64_t tp = 0; tp < other_tp; ++tp) visit(dp, tp, common(mine, sequences(other, dp)));
  };
  const auto at = [](int64_t n) { return static_cast<size_t>(n); };
  for (int64_t layer = own.first_layers[at(me.stage)]; layer < own.first_layers[at(me.stage) + 1]; ++layer) {
    std::vector<Link>& links = result.layers.emplace_back();
    const Extent all = cache(attention(layer));
    const auto heads = static_cast<int64_t>(all.count);
    each_partner([&](int64_t dp, int64_t tp, int64_t both) {
      const int64_t given =
          gives ? heads_given(heads, own_tp, me.tp, other_tp, tp) : heads_given(heads, other_tp, tp, own_tp, me.tp);
      if (given > 0) link(links, {tp, dp, stage_of(other, layer)}, both, real(given) * all.unit);
    });
  }
  if (me.stage == (gives ? own.stages() - 1 : 0))
    each_partner([&](int64_t dp, int64_t tp, int64_t both) {
      const bool meet = gives ? tp % own_tp == me.tp : me.tp % other_tp == tp;
      if (meet) link(result.tokens, {tp, dp, gives ? 0 : other.stages() - 1}, both, 0);
    });
  for (auto& [peer, at_peers] : position) {
    at_peers = static_cast<int64_t>(result.peers.size());
    result.peers.push_back(peer);
  }
  const auto number = [&](std::vector<Link>& links) {
    for (Link& l : links) l.peer = position[l.peer];
  };
  std::for_each(result.layers.begin(), result.layers.end(), number);
  number(result.tokens);
  return result;
}

double ServePlan::cache_bytes(const Link& link, const ServePass& pass, const Attention& a) const {
  return remaining_tokens(pass, a) * real(link.sequences) / real(sides[0].sequences) * link.width * cache_element();
}
double ServePlan::token_bytes(const Link& link, const ServePass& pass) const {
  return kTokenBytes * pass.ends * real(link.sequences) / real(sides[0].sequences);
}

}  // namespace chakra::gen
