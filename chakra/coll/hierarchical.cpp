// Dimension by dimension of the fabric, for members that fill a grid: of nodes and what is in them, or of a torus.
#include <bit>
#include <cmath>
#include <numeric>

#include "chakra/coll/algorithms.h"
#include "chakra/coll/fares.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {
namespace {

using Scheme = GridDimension::Scheme;

/// The grid, with this scheme in dimensions of switches.
std::vector<GridDimension> dimensions_of(const Place& place, Scheme on_switches) {
  std::vector<GridDimension> dimensions;
  for (const GridAxis& g : grid_of(place)) {
    const Scheme scheme = g.form == net::RowForm::pairs  ? Scheme::direct
                          : g.form == net::RowForm::star ? on_switches
                                                         : Scheme::ring;
    dimensions.push_back({g.stride, g.extent, scheme});
  }
  return dimensions;
}

/// Dimensions with switches that reduce in all their rows are left to these.
void use_switches(const Place& place, std::vector<GridDimension>& dimensions) {
  for (GridDimension& d : dimensions) {
    GridDimension with = d;
    with.scheme = Scheme::switches;
    std::vector<int64_t> row(d.extent);
    bool all = true;
    for (uint32_t first = 0; first < place.members() && all; ++first) {
      if (first / d.stride % d.extent != 0) continue;
      for (uint32_t c = 0; c < d.extent; ++c) row[c] = place.ranks[first + size_t{c} * d.stride];
      const auto traffic = switch_traffic(CommType::all_reduce, {place.fabric, row});
      all = traffic && traffic->list.empty();
      if (!all) break;
      with.switches.slowdown = std::max(with.switches.slowdown, traffic->slowdown);
      with.switches.way_ps = std::max(with.switches.way_ps, traffic->way_ps);
      with.switches.latency_ps = std::max(with.switches.latency_ps, traffic->latency_ps);
    }
    if (all) d = with;
  }
}

uint32_t rounds_of(const GridDimension& d, Phase::Kind kind) {
  if (d.scheme == Scheme::direct || d.scheme == Scheme::switches) return 1;
  return d.scheme == Scheme::doubling && kind != Phase::Kind::exchange ? doublings(d.extent) : d.extent - 1;
}

/// One leg of a lane's way.
struct Leg {
  Phase::Kind kind;
  uint32_t dimension;
  uint32_t passed;
};

/// Sums along `order`, results back.
std::vector<Leg> way_of(CommType type, std::span<const uint32_t> order) {
  std::vector<Leg> way;
  uint32_t passed = 0;
  for (const uint32_t d : order) {
    way.push_back({type == CommType::all_to_all ? Phase::Kind::exchange : Phase::Kind::reduce_scatter, d, passed});
    passed |= 1u << d;
  }
  if (type == CommType::all_reduce || type == CommType::all_gather)
    for (size_t k = order.size(); k-- > 0;) way.push_back({Phase::Kind::all_gather, order[k], way[k].passed});
  if (type == CommType::all_gather) way.erase(way.begin(), way.begin() + static_cast<ptrdiff_t>(order.size()));
  return way;
}

void set_leg(const Outline& o, const Leg& leg, Phase& phase) {
  phase.kind = leg.kind;
  phase.dimension = leg.dimension;
  phase.passed = leg.passed;
  phase.rounds = rounds_of(o.grid[leg.dimension], leg.kind);
}

/// Chunks follow each other from the inside out and back.
Outline in_chunks(const Operation& op, const Place& place, std::vector<GridDimension> grid) {
  std::vector<uint32_t> inside_out(grid.size());
  std::iota(inside_out.begin(), inside_out.end(), 0u);
  const std::vector<Leg> way = way_of(op.type, inside_out);
  uint32_t rounds = 0;
  for (const Leg& leg : way) rounds += rounds_of(grid[leg.dimension], leg.kind);
  const uint32_t chunks = chunks_of(op, place.members(), rounds);
  Outline o = outline_of(op, place, op.type == CommType::all_gather ? chunks : uint64_t{place.members()} * chunks);
  o.pieces = o.lanes = chunks;
  o.grid = std::move(grid);
  follow_each_other(o, chunks, static_cast<uint32_t>(way.size()), [&](uint32_t leg, Phase& phase) {
    set_leg(o, way[leg], phase);
    phase.down = way[leg].kind == Phase::Kind::all_gather;  // sums go round one way, results the other way
  });
  return o;
}

// ---- all ports at once ---------------------------------------------------------------------------------------

/// Orders of dimensions, each the one before turned by one.
std::vector<uint32_t> turned(uint32_t dimensions, uint32_t by) {
  std::vector<uint32_t> order(dimensions);
  for (uint32_t k = 0; k < dimensions; ++k) order[k] = (by + k) % dimensions;
  return order;
}

/// How long the ports of each dimension take per byte of what goes along an order.
std::vector<double> loads_of(const Outline& o, std::span<const double> seconds, std::span<const uint32_t> order) {
  std::vector<double> loads(o.grid.size());
  double part = 1;
  for (const uint32_t d : order) {
    const double extent = o.grid[d].extent;
    loads[d] = part * (extent - 1) / extent * seconds[d];
    part /= extent;
  }
  return loads;
}

/// Of each dimension, the time per byte over all ports of a member: in a graph as long as the slowest takes when all
/// send to the next one at once.
std::vector<double> port_seconds(const Place& place) {
  std::vector<double> seconds;
  for (const GridAxis& g : grid_of(place)) {
    const double ports = g.form == net::RowForm::pairs                  ? g.extent - 1
                         : g.form == net::RowForm::ring && g.extent > 2 ? 2
                                                                        : 1;
    double second = 0;
    if (place.fabric->graph) {
      std::vector<PricedPlan::Fare> fares;
      Fares(place).of_shift(Targets(g.extent, g.stride), fares);
      for (const PricedPlan::Fare& fare : fares) second = std::max(second, fare.ps_per_byte);
    } else {
      second = 1 / place.fabric->dimensions[g.axis].bytes_per_s();
    }
    seconds.push_back(second / ports);
  }
  return seconds;
}

/// Shares of the orders in `units` parts: each part goes where it makes the busiest ports the least busy.
struct Shares {
  std::vector<uint32_t> of_order;
  double busiest = 0;  ///< seconds per byte of the buffer
};
Shares share_out(const std::vector<std::vector<double>>& loads, uint32_t units) {
  Shares shares{std::vector<uint32_t>(loads.size(), 0), 0};
  std::vector<double> busy(loads.size(), 0);
  for (uint32_t u = 0; u < units; ++u) {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t r = 0; r < loads.size(); ++r) {
      double most = 0;
      for (size_t d = 0; d < busy.size(); ++d) most = std::max(most, busy[d] + loads[r][d] / units);
      if (most < least * (1 - 1e-12)) least = most, best = r;
    }
    ++shares.of_order[best];
    for (size_t d = 0; d < busy.size(); ++d) busy[d] += loads[best][d] / units;
    shares.busiest = least;
  }
  return shares;
}

constexpr uint64_t kUnitBytes = uint64_t{1} << 20;
constexpr uint32_t kMostUnits = 32;

/// The fewest units, of `most` at most, with which the ports are within 2 % of as evenly busy as with any number.
Shares best_shares(const std::vector<std::vector<double>>& loads, uint32_t most) {
  std::vector<Shares> tried;
  double least = std::numeric_limits<double>::infinity();
  const auto few = static_cast<uint32_t>(loads.size());
  for (uint32_t units = few; units <= std::max(few, most); ++units) {
    tried.push_back(share_out(loads, units));
    least = std::min(least, tried.back().busiest);
  }
  return *std::find_if(tried.begin(), tried.end(), [&](const Shares& s) { return s.busiest <= 1.02 * least; });
}

// ---- blocks --------------------------------------------------------------------------------------------------

/// emit(first, count, step) for runs of blocks that have given places in some dimensions (whose sum is `base`) and any
/// place in those of `free`: the dimensions of the longest run of neighbours are one run, the others are walked.
template <class Emit>
void each_run(const Outline& o, uint32_t free, uint64_t base, const Emit& emit) {
  if (free == 0) return emit(base, 1, 1);
  uint32_t best = 0;
  uint64_t longest = 0;
  for (uint32_t d = 0; d < o.grid.size(); ++d) {
    uint64_t run = 1;
    for (uint32_t e = d; e < o.grid.size() && free >> e & 1; ++e) run *= o.grid[e].extent;
    if (run > longest && free >> d & 1) longest = run, best = d;
  }
  uint32_t others = free;
  for (uint32_t e = best; e < o.grid.size() && free >> e & 1; ++e) others &= ~(1u << e);
  std::vector<uint32_t> walked, at;
  for (uint32_t d = 0; d < o.grid.size(); ++d)
    if (others >> d & 1) walked.push_back(d);
  at.assign(walked.size(), 0);
  for (;;) {
    uint64_t first = base;
    for (size_t w = 0; w < walked.size(); ++w) first += uint64_t{at[w]} * o.grid[walked[w]].stride;
    emit(first, longest, o.grid[best].stride);
    size_t w = 0;
    while (w < at.size() && ++at[w] == o.grid[walked[w]].extent) at[w++] = 0;
    if (w == at.size()) return;
  }
}

/// What a member does in a round of a phase.
class Sender {
 public:
  Sender(const Outline& o, const Phase& phase, uint32_t member, Moves& moves)
      : o_(o),
        phase_(phase),
        d_(o.grid[phase.dimension]),
        i_(member),
        c_(member / d_.stride % d_.extent),
        moves_(moves) {
    for (uint32_t d = 0; d < o.grid.size(); ++d) {
      if (d == phase.dimension) continue;
      if (phase.passed >> d & 1) base_ += uint64_t{i_ / o.grid[d].stride % o.grid[d].extent} * o.grid[d].stride;
      else free_ |= 1u << d;
    }
  }

  void round(uint32_t k) const {
    if (phase_.kind == Phase::Kind::exchange) return exchanges(k);
    const bool sums = phase_.kind == Phase::Kind::reduce_scatter;
    if (d_.scheme == Scheme::direct || d_.scheme == Scheme::switches) {
      for (uint32_t q = 1; q < d_.extent; ++q) {
        const uint32_t to = turn(c_, q, d_.extent);
        send(to, sums ? to : c_, 1, sums);
      }
    } else if (d_.scheme == Scheme::doubling) {
      const DoublingStep step = doubling_step(c_, k, d_.extent, sums);
      send(step.to, step.first, step.count, sums);
    } else {
      const int64_t r = k, way = phase_.down ? -1 : 1;
      // Sums: what ends at member c has come all the way; results begin at their member.
      send(turn(c_, way, d_.extent), turn(c_, sums ? way * (-r - 1) : -way * r, d_.extent), 1, sums);
    }
  }

 private:
  uint32_t member(uint32_t coordinate) const { return i_ - c_ * d_.stride + coordinate * d_.stride; }

  /// The blocks of `count` coordinates from `from` on.
  void send(uint32_t to, uint32_t from, uint32_t count, bool reduce) const {
    for (uint32_t x = 0; x < count; ++x)
      each_run(o_, free_, base_ + uint64_t{turn(from, x, d_.extent)} * d_.stride,
               [&](uint64_t first, uint64_t blocks, uint64_t step) {
                 moves_.push_back({i_, member(to), first * o_.pieces + phase_.slice, blocks, step * o_.pieces, reduce});
               });
  }

  void exchanges(uint32_t k) const {
    if (d_.scheme != Scheme::direct) return exchange(turn(c_, k + 1, d_.extent));
    for (uint32_t q = 1; q < d_.extent; ++q) exchange(turn(c_, q, d_.extent));
  }
  /// What comes from the members that differ from this one inside the dimension, and goes to `to` and those further
  /// out.
  void exchange(uint32_t to) const {
    const uint32_t inner = i_ % d_.stride, outer = d_.stride * d_.extent;
    for (uint32_t x = 0; x < d_.stride; ++x)
      moves_.push_back(
          {i_, member(to),
           (uint64_t{i_ - inner + x} * o_.members + inner + uint64_t{to} * d_.stride) * o_.pieces + phase_.slice,
           o_.members / outer, uint64_t{outer} * o_.pieces, false});
  }

  const Outline& o_;
  const Phase& phase_;
  const GridDimension& d_;
  const uint32_t i_, c_;
  Moves& moves_;
  uint64_t base_ = 0;
  uint32_t free_ = 0;
};

}  // namespace

Outline hierarchical(const Operation& op, const Place& place) {
  return in_chunks(op, place, dimensions_of(place, Scheme::ring));
}
Outline hierarchical_direct(const Operation& op, const Place& place) {
  return in_chunks(op, place, dimensions_of(place, Scheme::direct));
}
Outline hierarchical_doubling(const Operation& op, const Place& place) {
  return in_chunks(op, place, dimensions_of(place, Scheme::doubling));
}
Outline hierarchical_in_network(const Operation& op, const Place& place) {
  std::vector<GridDimension> grid = dimensions_of(place, Scheme::doubling);
  use_switches(place, grid);
  return in_chunks(op, place, std::move(grid));
}
bool reduces_in_grid(const Place& place) {
  if (!place.fabric || place.fabric->reductions.empty() || grid_of(place).size() < 2) return false;
  std::vector<GridDimension> grid = dimensions_of(place, Scheme::doubling);
  use_switches(place, grid);
  return std::any_of(grid.begin(), grid.end(), [](const GridDimension& d) { return d.scheme == Scheme::switches; });
}

/// Parts of the buffer run through the dimensions in different orders, half of each either way round rings, so that all
/// ports are busy in every phase; units of one order follow each other (orders that balance dimensions: Rashidi et al.,
/// "Themis", 2022).
Outline multidimensional(const Operation& op, const Place& place) {
  Outline parts;
  parts.grid = dimensions_of(place, Scheme::doubling);
  const std::vector<double> seconds = port_seconds(place);
  const auto dimensions = static_cast<uint32_t>(parts.grid.size());
  std::vector<std::vector<double>> loads;
  for (uint32_t r = 0; r < dimensions; ++r) loads.push_back(loads_of(parts, seconds, turned(dimensions, r)));
  const uint64_t whole = op.type == CommType::all_gather ? multiply_bytes(op.bytes, place.members()) : op.bytes;
  const Shares shares = best_shares(loads, static_cast<uint32_t>(std::min<uint64_t>(whole / kUnitBytes, kMostUnits)));
  // Only rings have two ways round.
  const bool rings = std::any_of(parts.grid.begin(), parts.grid.end(),
                                 [](const GridDimension& d) { return d.scheme == Scheme::ring && d.extent > 2; });
  const uint32_t ways = rings ? 2 : 1;
  const uint32_t units = ways * std::accumulate(shares.of_order.begin(), shares.of_order.end(), 0u);
  Outline o = outline_of(op, place, op.type == CommType::all_gather ? units : uint64_t{place.members()} * units);
  o.pieces = o.lanes = units;
  o.grid = std::move(parts.grid);
  uint32_t lane = 0;
  for (uint32_t r = 0; r < dimensions; ++r)
    for (uint32_t w = 0; w < ways; ++w) {
      const std::vector<Leg> way = way_of(op.type, turned(dimensions, r));
      const auto set = [&](uint32_t leg, Phase& phase) {
        set_leg(o, way[leg], phase);
        phase.down = w == 1;
      };
      follow_each_other(o, shares.of_order[r], static_cast<uint32_t>(way.size()), set, lane);
      lane += shares.of_order[r];
    }
  return o;
}

void hierarchical_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const Phase& phase = phase_of(o, k);
  const GridDimension& d = o.grid[phase.dimension];
  head.stride = d.stride;
  head.extent = d.extent;
  head.lane = phase.lane;
  head.after = k == phase.first ? phase.after : -1;
  for (uint32_t i = 0; i < senders; ++i) Sender(o, phase, i, moves).round(k - phase.first);
}

/// Where switches reduce, what in_network has a port carry for a row: an all-reduce half of it on each way.
void hierarchical_in_network_traffic(const Outline& o, uint32_t k, Round& round) {
  const Phase& phase = phase_of(o, k);
  const GridDimension& d = o.grid[phase.dimension];
  if (d.scheme != Scheme::switches) return;
  const double n = d.extent, units = o.type == CommType::all_reduce ? (n + 1) / 2 : n;
  const double bytes = static_cast<double>(round.bytes) * units * d.switches.slowdown;
  round.shift = round.shifts = round.apart = 1;
  round.bytes = bytes < 0x1p64 ? static_cast<uint64_t>(std::round(bytes)) : UINT64_MAX;
  round.latency_ps = d.switches.latency_of(phase.kind == Phase::Kind::reduce_scatter || o.type == CommType::all_gather);
}

}  // namespace chakra::coll
